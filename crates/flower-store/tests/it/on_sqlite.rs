//! Behaviour with unsuitable files: of another program, of a newer flower, or no database at all.

use crate::databases::{self, Database};
use crate::given::*;
use crate::ledger::Ledger;
use flower_store::{StoreError, migrate};
use std::fs;

fn refused(db: &Database) -> StoreError {
    Ledger::open_at(db, db.home.path()).err().expect("it does not open")
}

#[test]
fn a_database_of_a_newer_flower_is_left_alone() {
    let db = databases::sqlite();
    let ledger = Ledger::open(&db);
    ledger.done(brief("one"));
    ledger.close();
    let newer = migrate::newest() + 1;
    db.conn().execute("UPDATE flower_schema SET version = $1", &[newer.into()]).unwrap();
    let StoreError::Newer { found, known } = refused(&db) else { panic!("{}", refused(&db)) };
    assert_eq!((found, known), (newer, migrate::newest()));
    db.conn().execute("UPDATE flower_schema SET version = $1", &[migrate::newest().into()]).unwrap();
    assert_eq!(Ledger::open(&db).verified(), 2, "nothing was changed");
}

#[test]
fn a_file_that_is_no_database_is_left_alone() {
    let db = databases::sqlite();
    let path = db.home.path().join("flower.db");
    for content in ["this is a letter, not a database\n".repeat(100), "SQLite format 3\0 or nearly so".repeat(50)] {
        fs::write(&path, &content).unwrap();
        assert!(matches!(refused(&db), StoreError::Corrupt(_)), "{}", refused(&db));
        assert_eq!(fs::read(&path).unwrap(), content.as_bytes(), "nothing was written to it");
    }
}

#[test]
fn a_database_of_another_program_is_left_alone() {
    let db = databases::sqlite();
    db.conn().script("CREATE TABLE events (id INTEGER PRIMARY KEY, name TEXT)").unwrap();
    assert!(matches!(refused(&db), StoreError::Corrupt(_)), "{}", refused(&db));
    assert!(!db.conn().has_table("flower_schema").unwrap());
}

#[test]
fn a_missing_folder_is_unreachable() {
    let mut db = databases::sqlite();
    db.location = flower_store::Location::Sqlite(db.home.path().join("missing/flower.db"));
    assert!(matches!(refused(&db), StoreError::Unreachable(_)), "{}", refused(&db));
}

#[test]
fn a_rebuild_mends_the_word_index() {
    let db = databases::sqlite();
    let ledger = Ledger::open(&db);
    a_life(&ledger);
    db.conn().script("INSERT INTO search_index (search_index) VALUES ('delete-all')").unwrap();
    assert_eq!(ledger.search("uploads").len(), 0, "the index is empty");
    ledger.rebuild(true);
    assert_eq!(ledger.search("uploads").len(), 2);
    let check = "INSERT INTO search_index (search_index) VALUES ('integrity-check')";
    db.conn().script(check).expect("the index is whole");
}

// Damage inside the file is reported as such, and no further command is acknowledged.
#[test]
fn a_damaged_page_is_not_taken_for_an_empty_one() {
    let db = databases::sqlite();
    let ledger = Ledger::open(&db);
    a_life(&ledger);
    ledger.close();
    let path = db.home.path().join("flower.db");
    let mut bytes = fs::read(&path).unwrap();
    let page = 4096;
    for byte in &mut bytes[page..] {
        *byte = 0xa5;
    }
    fs::write(&path, bytes).unwrap();
    assert!(matches!(refused(&db), StoreError::Corrupt(_)), "{}", refused(&db));
}
