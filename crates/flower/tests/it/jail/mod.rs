//! The jail on the real kernel: what must not get out, what must still work, and that it refuses to start by halves. Every
//! body is two tests: as root and as an ordinary user, where the tests run as root.

#[macro_use]
mod world;

mod attacks;
mod descriptors;
mod ending;
mod files;
mod kernel;
mod limits;
mod network;
mod processes;
mod refusals;
mod secrets;
mod terminal;
mod tools;
mod works;
