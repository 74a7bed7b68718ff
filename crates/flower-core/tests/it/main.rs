//! The rules: examples, properties, simulations and stored forms.

mod agents;
mod attention;
mod commands;
mod fences;
mod golden;
mod no_io;
mod properties;
mod recall;
mod recalls;
mod rights;
mod simulation;
