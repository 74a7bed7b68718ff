//! `sample_000V.sql`: the content of a database of version V, as plain statements for both databases. It was written
//! once, when V was the newest version, and is never edited: it represents the databases of users.

use crate::databases;
use crate::migrations::history;
use flower_core::event::KINDS;
use flower_store::conn::Value;
use flower_store::projection::TABLES;
use flower_store::{Conn, migrate};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

pub fn load(version: u64) -> String {
    fs::read_to_string(path(version)).unwrap_or_else(|error| {
        panic!(
            "{error}: schema version {version} has no sample. Write {} with \
             `cargo nextest run -p flower-store --test it --run-ignored only write_missing_samples` \
             and commit it with the migration.",
            path(version).display()
        )
    })
}

fn path(version: u64) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/migrations/sample_{version:04}.sql"))
}

/// Writes the sample of the newest version only: older samples cannot be written again, because tables are written in
/// their current form.
#[test]
#[ignore = "writes files: run it when you add a migration"]
fn write_missing_samples() {
    let newest = databases::sqlite();
    let mut conn = newest.conn();
    migrate::migrate_to(&mut conn, 1, &mut |_| {}).unwrap();
    history::write(&mut conn, 3);
    migrate::migrate(&mut conn, &mut |_| {}).unwrap();
    for version in (1..=migrate::newest()).filter(|&version| !path(version).exists()) {
        let old = databases::sqlite();
        let mut old = old.conn();
        migrate::migrate_to(&mut old, version, &mut |_| {}).unwrap();
        let mut sql =
            format!("-- A database of schema version {version}. Never edited: it stands for those that people have.\n");
        for table in ["events"].iter().chain(TABLES).filter(|table| old.has_table(table).unwrap()) {
            dump(&mut conn, table, &mut sql);
        }
        let missing: Vec<_> = KINDS.iter().filter(|kind| !sql.contains(&format!("'{kind}'"))).collect();
        assert!(missing.is_empty(), "teach history.rs to write {missing:?} first");
        fs::write(path(version), sql).unwrap();
    }
}

fn dump(conn: &mut Conn, table: &str, sql: &mut String) {
    let columns = conn.rows(&format!("SELECT name FROM pragma_table_info('{table}')"), &[]).unwrap();
    let columns: Vec<String> = columns.iter().map(|row| row.text(0).unwrap()).collect();
    let columns = columns.join(", ");
    for row in conn.rows(&format!("SELECT {columns} FROM {table} ORDER BY {columns}"), &[]).unwrap() {
        let values: Vec<String> = row.0.iter().map(literal).collect();
        writeln!(sql, "INSERT INTO {table} ({columns}) VALUES ({});", values.join(", ")).unwrap();
    }
}

fn literal(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Int(n) => n.to_string(),
        Value::Real(x) => x.to_string(),
        Value::Text(text) => format!("'{}'", text.replace('\'', "''")),
    }
}
