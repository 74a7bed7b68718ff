//! What is known of an agent, and what becomes of one that dies, hangs or is stopped.
