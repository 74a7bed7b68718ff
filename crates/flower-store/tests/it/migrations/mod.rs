//! Upgrades: a database of any older version becomes one of the newest, completely or not at all.

mod history;
mod killed;
mod samples;

use crate::databases::Database;
use flower_core::{BriefId, ScratchpadId, World};
use flower_store::briefs::{self, Filter};
use flower_store::projection::TABLES;
use flower_store::{Conn, Store, StoreError, agents, log, migrate, rebuild, search, verify};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[test]
fn samples_of_every_version_become_the_newest_on_sqlite() {
    upgrade_every_sample(|| Some(crate::databases::sqlite()));
}

#[test]
fn samples_of_every_version_become_the_newest_on_postgres() {
    upgrade_every_sample(crate::databases::postgres);
}

fn upgrade_every_sample(database: fn() -> Option<Database>) {
    for version in 1..=migrate::newest() {
        let Some(database) = database() else { return };
        let mut conn = database.conn();
        migrate::migrate_to(&mut conn, version, &mut |_| {}).unwrap();
        conn.script(&samples::load(version)).unwrap_or_else(|error| panic!("sample {version}: {error}"));
        // All samples were written with the first form of the tables.
        conn.script("UPDATE flower_schema SET projection = 1").unwrap();
        let before = all_rows(&mut conn, "events");
        let mut heard = 0;
        migrate::migrate(&mut conn, &mut |events| heard = events).unwrap_or_else(|error| panic!("{version}: {error}"));
        assert_eq!(all_rows(&mut conn, "events"), before, "the log of version {version} is as it was");
        if version < migrate::newest() {
            assert_eq!(heard, before.len() as u64, "progress is reported for version {version}");
        }
        let verdict = verify::verify(&mut conn, None).unwrap();
        assert_eq!((verdict.fault, verdict.verified), (None, before.len() as u64), "version {version}");
        check_tables(&mut conn);
        assert_eq!(rebuild::rebuild(&mut conn, true, &mut |_| {}).unwrap().mended, [""; 0], "version {version}");
        assert!(!search::search(&mut conn, "uploads", 10).unwrap().is_empty(), "version {version}");
        let now = Arc::new(|| panic!("opening writes nothing"));
        let store = Store::open(&database.location, database.home.path(), now, &mut |_| {}).expect("it opens");
        assert_eq!(store.cut(), None);
    }
}

on_both!(migrating_step_by_step_equals_migrating_at_once, |database: Database| {
    let mut conn = database.conn();
    assert!(!conn.has_table("events").unwrap());
    for version in 1..=migrate::newest() {
        migrate::migrate_to(&mut conn, version, &mut |_| {}).unwrap();
        if version == 1 {
            history::write(&mut conn, 3);
        }
        assert_eq!(schema_version(&mut conn), version);
        let older = migrate::migrate_to(&mut conn, version - 1, &mut |_| {});
        assert!(matches!(older, Err(StoreError::Newer { found, .. }) if found == version), "there is no way back");
    }
    migrate::migrate(&mut conn, &mut |_| panic!("there is nothing left to do")).unwrap();
    for table in TABLES {
        assert!(conn.has_table(table).unwrap(), "{table}");
    }
    check_tables(&mut conn);
    assert_eq!(rebuild::rebuild(&mut conn, false, &mut |_| {}).unwrap().mended, [""; 0]);
});

// An error, like a kill, leaves no partial migration.
on_both!(a_failed_migration_leaves_the_old_database, |database: Database| {
    let mut conn = database.conn();
    migrate::migrate_to(&mut conn, 1, &mut |_| {}).unwrap();
    history::write(&mut conn, 2);
    let damaged =
        "INSERT INTO events SELECT seq + 1, stream, version + 100, kind, schema, actor_type, actor_name, door, at,
         brief, '{\"not\": \"this\"}', hash, prev FROM events ORDER BY seq DESC LIMIT 1";
    conn.script(damaged).unwrap();
    let error = migrate::migrate(&mut conn, &mut |_| {}).expect_err("an event cannot be read");
    assert!(matches!(error, StoreError::Corrupt(_)), "{error}");
    assert_eq!(schema_version(&mut conn), 1);
    for table in TABLES {
        assert!(!conn.has_table(table).unwrap(), "{table} of a migration that failed");
    }
});

/// Every row of a table as text, sorted.
pub fn all_rows(conn: &mut Conn, table: &str) -> BTreeSet<String> {
    let rows = conn.rows(&format!("SELECT * FROM {table}"), &[]).unwrap();
    rows.iter().map(|row| format!("{row:?}")).collect()
}

pub fn schema_version(conn: &mut Conn) -> u64 {
    conn.row("SELECT version FROM flower_schema", &[]).unwrap().expect("a row").int(0).unwrap()
}

/// Checks that the tables agree with the events.
pub fn check_tables(conn: &mut Conn) {
    let mut world = World::default();
    let mut last = 0;
    loop {
        let page = log::after(conn, last, 500).unwrap();
        let Some(end) = page.last() else { break };
        last = end.seq;
        page.iter().for_each(|event| world.apply(event).unwrap());
    }
    let briefs = briefs::list(conn, &Filter::default(), BriefId(0), 10_000).unwrap();
    assert_eq!(briefs, world.briefs.values().cloned().collect::<Vec<_>>());
    let projects = flower_store::projects::all(conn).unwrap().into_iter().map(|project| (project.name, project.root));
    assert_eq!(projects.collect::<BTreeMap<_, _>>(), world.projects);
    for (former, now) in &world.former_names {
        assert_eq!(flower_store::projects::renamed(conn, former).unwrap().as_ref(), Some(now));
    }
    assert_eq!(all_rows(conn, "former_names").len(), world.former_names.len());
    let tokens = flower_store::tokens::all(conn).unwrap().into_iter().filter(|token| token.revoked_at.is_none());
    assert_eq!(tokens.map(|token| (token.id, token.agent)).collect::<BTreeMap<_, _>>(), world.tokens);
    let pads = flower_store::scratchpads::list(conn, None, ScratchpadId(0), 10_000).unwrap();
    let pads: Vec<_> = pads.iter().map(|pad| (pad.number, pad.brief, pad.version)).collect();
    assert_eq!(pads, world.scratchpads.values().map(|p| (p.number, p.brief, p.version)).collect::<Vec<_>>());
    assert_eq!(all_rows(conn, "links").len(), world.links.len());
    let agents = agents::all(conn, None, 10_000).unwrap().into_iter().map(|agent| (agent.number, agent));
    assert_eq!(agents.collect::<BTreeMap<_, _>>(), world.agents);
    let waiting = world.permissions.values().filter(|permission| permission.allowed.is_none());
    assert_eq!(agents::permissions(conn).unwrap(), waiting.cloned().collect::<Vec<_>>());
}
