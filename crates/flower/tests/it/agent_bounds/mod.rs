//! Agents that flower runs, with a real daemon, real git and a real jail: what they ask for, what they use up, what is written
//! down of them, what they try, and what else may go wrong with them. Each is the scripted one, or a shell.

mod attacks;
mod bad_input;
mod context;
mod full_disk;
mod logs;
mod masking;
mod oddities;
mod outages;
mod overhead;
mod permissions;
mod spend;
mod stage;
mod terminal;
mod terminal_http;
mod terminal_log;
