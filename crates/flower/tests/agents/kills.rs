//! The daemon dies, and its agents go on.
