//! An open store with a blocking interface, and a clock that advances one second per reading.

use crate::databases::Database;
use flower_core::{Caller, Command, Recorded, Refusal};
use flower_store::head::HeadFile;
use flower_store::log::{self, Tail};
use flower_store::rebuild::Rebuilt;
use flower_store::search::Hit;
use flower_store::{Conn, Location, Now, Store, StoreError, Verdict};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::runtime::{Builder, Runtime};

pub struct Ledger {
    pub store: Store,
    pub runtime: Runtime,
}

impl Ledger {
    pub fn open(database: &Database) -> Ledger {
        Ledger::open_at(database, database.home.path()).expect("the store opens")
    }

    /// Opens the store with the head file and the blobs in another folder than the database's own.
    pub fn open_at(database: &Database, home: &Path) -> Result<Ledger, StoreError> {
        let store = Store::open(&database.location, home, clock(), &mut |_| {})?;
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
        Ok(Ledger { store, runtime })
    }

    pub fn submit(&self, caller: &Caller, command: &Command) -> Result<Vec<Recorded>, StoreError> {
        self.runtime.block_on(self.store.submit(caller.clone(), command.clone()))
    }

    /// Submits a command as the operator, which must succeed.
    #[expect(clippy::needless_pass_by_value, reason = "hundreds of calls read better without a `&`")]
    pub fn done(&self, command: Command) -> Vec<Recorded> {
        self.submit(&crate::given::operator(), &command).unwrap_or_else(|error| panic!("{command:?}: {error}"))
    }

    pub fn refused(&self, caller: &Caller, command: &Command) -> Refusal {
        match self.submit(caller, command) {
            Err(StoreError::Refused(refusal)) => refusal,
            other => panic!("{command:?} was not refused: {other:?}"),
        }
    }

    pub fn read<T: Send + 'static>(&self, ask: impl FnOnce(&mut Conn) -> Result<T, StoreError> + Send + 'static) -> T {
        self.runtime.block_on(self.store.read(ask)).expect("an answer")
    }

    pub fn events(&self) -> Vec<Recorded> {
        self.read(all_events)
    }

    pub fn search(&self, typed: &str) -> Vec<Hit> {
        let typed = typed.to_owned();
        self.read(move |conn| flower_store::search::search(conn, &typed, 50))
    }

    pub fn verify(&self) -> Verdict {
        self.runtime.block_on(self.store.verify()).expect("a verdict")
    }

    /// Verifies a log that must be valid, and returns the number of events.
    pub fn verified(&self) -> u64 {
        let verdict = self.verify();
        assert_eq!(verdict.fault, None);
        verdict.verified
    }

    pub fn rebuild(&self, keep: bool) -> Rebuilt {
        self.runtime.block_on(self.store.rebuild(keep)).expect("a rebuild")
    }

    pub fn accept_loss(&self, caller: &Caller) -> Result<Vec<Recorded>, StoreError> {
        self.runtime.block_on(self.store.accept_loss(caller.clone()))
    }

    /// Waits until the writer has closed the database.
    pub fn close(self) {
        self.store.close();
    }
}

pub fn all_events(conn: &mut Conn) -> Result<Vec<Recorded>, StoreError> {
    let mut all: Vec<Recorded> = Vec::new();
    loop {
        let page = log::after(conn, all.last().map_or(0, |event| event.seq), 500)?;
        if page.is_empty() {
            return Ok(all);
        }
        all.extend(page);
    }
}

pub fn is_postgres(database: &Database) -> bool {
    matches!(database.location, Location::Postgres(_))
}

/// The content of the head file.
pub fn head(home: &Path) -> Option<Tail> {
    HeadFile::open(&home.join("head")).expect("a head file").read()
}

fn clock() -> Now {
    let seconds = AtomicU64::new(0);
    Arc::new(move || {
        let s = seconds.fetch_add(1, Ordering::Relaxed);
        let (day, hour, minute, second) = (1 + s / 86_400, s / 3_600 % 24, s / 60 % 60, s % 60);
        format!("2026-11-{day:02}T{hour:02}:{minute:02}:{second:02}.000000Z")
    })
}
