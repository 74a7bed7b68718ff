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
#[path = "../../../flower/tests/it/common/skip.rs"]
#[expect(dead_code, reason = "no test of the store depends on the user or the length of a run")]
mod skip;
mod tamper;
