//! The schema and its migrations. Migrations are added, never edited. All pending migrations and the refill of the
//! tables run in one transaction: a kill leaves the old database or the new one.

use super::conn::{Conn, params};
use super::error::StoreError;
use super::rebuild;

struct Migration {
    version: u64,
    sqlite: &'static str,
    postgres: &'static str,
}

macro_rules! migration {
    ($version:literal, $name:literal) => {
        Migration {
            version: $version,
            sqlite: include_str!(concat!("../migrations/sqlite/", $name, ".sql")),
            postgres: include_str!(concat!("../migrations/postgres/", $name, ".sql")),
        }
    };
}

const MIGRATIONS: &[Migration] = &[
    migration!(1, "0001_ledger"),
    migration!(2, "0002_briefs"),
    migration!(3, "0003_search"),
    migration!(4, "0004_worktrees"),
    migration!(5, "0005_indexes"),
    migration!(6, "0006_landings"),
    migration!(7, "0007_dispatch"),
    migration!(8, "0008_agents"),
    migration!(9, "0009_review"),
    migration!(10, "0010_approvals"),
    migration!(11, "0011_moves"),
];

/// Increased when the same events give different rows than before; an older database is then refilled at the next
/// start.
const PROJECTION: u64 = 3;

/// The newest schema version that this program supports.
pub fn newest() -> u64 {
    MIGRATIONS.len() as u64
}

/// Migrates the database to the newest version. `progress` is called with the number of events read for a refill.
pub fn migrate(conn: &mut Conn, progress: &mut dyn FnMut(u64)) -> Result<(), StoreError> {
    migrate_to(conn, newest(), progress)
}

/// Migrates the database to `target`. Only tests of upgrades use a target older than the newest version.
pub fn migrate_to(conn: &mut Conn, target: u64, progress: &mut dyn FnMut(u64)) -> Result<(), StoreError> {
    if state(conn)? == (target, PROJECTION) {
        return Ok(());
    }
    conn.begin_write()?;
    let result = in_transaction(conn, target, progress);
    conn.script(if result.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
    result
}

fn in_transaction(conn: &mut Conn, target: u64, progress: &mut dyn FnMut(u64)) -> Result<(), StoreError> {
    // Read again inside the lock: another server may have migrated while this one waited for it.
    let (version, projection) = state(conn)?;
    if version > target {
        return Err(StoreError::Newer { found: version, known: target });
    }
    if !conn.has_table("flower_schema")? {
        conn.script("CREATE TABLE flower_schema (version BIGINT NOT NULL, projection BIGINT NOT NULL)")?;
        conn.script("INSERT INTO flower_schema (version, projection) VALUES (0, 0)")?;
    }
    for migration in MIGRATIONS.iter().filter(|m| m.version > version && m.version <= target) {
        conn.script(match conn {
            Conn::Sqlite(_) => migration.sqlite,
            Conn::Postgres(_) => migration.postgres,
        })?;
    }
    let fresh = version == 0;
    if !fresh && target == newest() && (version < target || projection != PROJECTION) {
        rebuild::refill(conn, progress)?;
    }
    conn.execute("UPDATE flower_schema SET version = $1, projection = $2", params![target, PROJECTION])?;
    Ok(())
}

/// Schema version and projection version; both are zero for a new database.
fn state(conn: &mut Conn) -> Result<(u64, u64), StoreError> {
    if !conn.has_table("flower_schema")? {
        if conn.has_table("events")? {
            return Err(StoreError::Corrupt("it has a table `events`, but not one of flower's".into()));
        }
        return Ok((0, 0));
    }
    let row = conn.row("SELECT version, projection FROM flower_schema", &[])?;
    let row = row.ok_or_else(|| StoreError::Corrupt("flower_schema is empty".into()))?;
    Ok((row.int(0)?, row.int(1)?))
}
