//! A client that nobody here wrote.
