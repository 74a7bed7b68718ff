//! The store, on both databases: every body here is two tests.

#[macro_use]
mod databases;

mod append;
mod chance;
#[path = "../../../flower-core/tests/commands/mod.rs"]
mod commands;
mod given;
mod ledger;
mod lists;
mod live;
mod on_postgres;
mod on_sqlite;
mod proof;
mod rebuild;
mod search;
mod slice;
mod tamper;
