//! A separate database for every test, of both kinds.

use crate::skip::is_skipped_by;
use flower_store::{Conn, Location};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::TempDir;

/// Makes two tests of one body: one on SQLite, one on PostgreSQL.
macro_rules! on_both {
    ($name:ident, $body:expr) => {
        mod $name {
            use super::*;

            #[test]
            fn sqlite() {
                let body: fn(Database) = $body;
                body($crate::databases::sqlite());
            }

            #[test]
            fn postgres() {
                let body: fn(Database) = $body;
                if let Some(database) = $crate::databases::postgres() {
                    body(database);
                }
            }
        }
    };
}

/// A database that is deleted when dropped. `home` is the folder of the head file and the blobs.
pub struct Database {
    pub location: Location,
    pub home: TempDir,
    // Dropped last, because it removes the schema that the other fields use.
    _schema: Option<Schema>,
}

impl Database {
    pub fn conn(&self) -> Conn {
        self.location.connect().expect("a test's database can be reached")
    }
}

pub fn sqlite() -> Database {
    let home = home();
    Database { location: Location::Sqlite(home.path().join("flower.db")), home, _schema: None }
}

/// `None` if PostgreSQL tests are explicitly skipped; a missing PostgreSQL without that setting is an error.
pub fn postgres() -> Option<Database> {
    let base = match std::env::var("FLOWER_TEST_POSTGRES") {
        Ok(base) => base,
        Err(_) if is_skipped_by("FLOWER_TEST_SKIP_POSTGRES") => return None,
        Err(_) => panic!("no PostgreSQL for this test: run `cargo xtask test`, which starts one"),
    };
    let schema = Schema::create(&base);
    let join = if base.contains('?') { '&' } else { '?' };
    let url = format!("{base}{join}options=-csearch_path%3D{}", schema.name);
    let location = Location::parse(&url).expect("FLOWER_TEST_POSTGRES is the URL of a database");
    Some(Database { location, home: home(), _schema: Some(schema) })
}

fn home() -> TempDir {
    // In memory if possible: waiting for the disk at hundreds of commits proves nothing in these tests.
    let memory = PathBuf::from("/dev/shm");
    let folder = if memory.is_dir() { memory } else { std::env::temp_dir() };
    TempDir::with_prefix_in("flower-test-", folder).expect("a folder for the test")
}

struct Schema {
    base: String,
    name: String,
}

impl Schema {
    fn create(base: &str) -> Schema {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("test_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let schema = Schema { base: base.to_owned(), name };
        // A killed test may have left a schema of this name.
        schema.run(&format!("DROP SCHEMA IF EXISTS {0} CASCADE; CREATE SCHEMA {0}", schema.name)).expect("a schema");
        schema
    }

    fn run(&self, sql: &str) -> Result<(), postgres::Error> {
        let mut client = postgres::Client::connect(&self.base, postgres::NoTls)?;
        client.batch_execute("SET client_min_messages = warning")?;
        client.batch_execute(sql)
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        // Schemas that remain are deleted with the temporary cluster.
        let _ = self.run(&format!("SET lock_timeout = '5s'; DROP SCHEMA {} CASCADE", self.name));
    }
}
