//! The store on SQLite and on PostgreSQL.

#[macro_use]
mod databases;

mod append;
mod chance;
#[path = "../../../flower-core/tests/it/commands/mod.rs"]
mod commands;
mod given;
mod ledger;
mod lists;
mod live;
mod load_world;
mod migrations;
mod on_postgres;
mod on_sqlite;
mod proof;
mod rebuild;
mod search;
mod tamper;
