//! The store: one append-only log and the tables derived from it. Only this crate accesses a database.

#![forbid(unsafe_code)]

pub mod agents;
pub mod blobs;
pub mod briefs;
pub mod conn;
pub mod dialect;
pub mod dispatches;
pub mod ephemeral;
pub mod error;
pub mod head;
pub mod index;
pub mod landings;
mod listen;
pub mod live;
mod load_world;
pub mod log;
pub mod migrate;
pub mod projection;
pub mod projects;
pub mod questions;
pub mod rebuild;
mod rows;
pub mod scratchpads;
pub mod search;
pub mod tokens;
pub mod verify;
pub mod worktrees;
mod writer;
mod writer_cache;

pub use conn::Conn;
pub use dialect::Location;
pub use error::StoreError;
pub use live::{Follower, Live, LiveEvent};
pub use verify::Verdict;
pub use writer::Now;

use blobs::Blobs;
use flower_contract::error::Problem;
use flower_core::{Aggregate, Caller, Command, Recorded, Topic};
use head::{HeadFile, Proof};
use log::Tail;
use rebuild::Rebuilt;
use std::path::Path;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use tokio::sync::{Semaphore, oneshot, watch};
use writer::{Job, QUEUE, Writer};
use writer_cache::WriterCache;

/// Maximum concurrent readers; each has its own connection.
const READERS: usize = 4;

/// A handle of the open store. It is cheap to clone; the writer ends when the last handle is dropped.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    location: Location,
    head_path: std::path::PathBuf,
    blobs: Blobs,
    live: Arc<Live>,
    jobs: mpsc::SyncSender<Job>,
    readers: Semaphore,
    idle: Mutex<Vec<Conn>>,
    fatal: watch::Receiver<Option<String>>,
    cut: watch::Receiver<Option<String>>,
    writer: Mutex<Option<std::thread::JoinHandle<()>>>,
}

impl Store {
    /// Opens the database, migrates its schema, compares it with the head file and starts the writer. `home` is the
    /// folder of the head file and the blobs. Blocks; `progress` is called with the number of events read during a long
    /// refill.
    pub fn open(
        location: &Location,
        home: &Path,
        now: Now,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Store, StoreError> {
        let mut conn = location.connect()?;
        conn.settle()?;
        migrate::migrate(&mut conn, progress)?;
        let head_path = home.join("head");
        let head = HeadFile::open(&head_path).map_err(|error| blobs::io_error(&head_path, &error))?;
        let tail = Tail::read(&mut conn)?;
        let cut = match Proof::of(&mut conn, head.read())? {
            Proof::Broken { proved, found } => Some(format!(
                "event {} was recorded, but the log ends with event {} or has another in its place",
                proved.seq, found.seq
            )),
            Proof::Holds { .. } => None,
            Proof::Absent => {
                head.write(&tail).map_err(|error| blobs::io_error(&head_path, &error))?;
                None
            }
        };
        let live = Arc::new(Live::new(tail.seq));
        listen::start(location, &live)?;
        let (jobs, receiver) = mpsc::sync_channel(QUEUE);
        let fatal = watch::Sender::new(None);
        let watching = fatal.subscribe();
        let cut = watch::Sender::new(cut);
        let watching_cut = cut.subscribe();
        let writer = Writer {
            location: location.clone(),
            head,
            live: live.clone(),
            now,
            fatal,
            cut,
            lost_touch: false,
            cache: WriterCache::default(),
        };
        let thread = std::thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || writer.run(conn, &receiver))
            .map_err(|error| StoreError::Unreachable(error.to_string()))?;
        let inner = Inner {
            location: location.clone(),
            head_path,
            blobs: Blobs::new(home.join("blobs")),
            live,
            jobs,
            readers: Semaphore::new(READERS),
            idle: Mutex::new(Vec::new()),
            fatal: watching,
            cut: watching_cut,
            writer: Mutex::new(Some(thread)),
        };
        Ok(Store { inner: Arc::new(inner) })
    }

    /// Decides and records one command. When it returns events, they are on disk.
    pub async fn submit(&self, caller: Caller, command: Command) -> Result<Vec<Recorded>, StoreError> {
        let recorded = self.job(|reply| Job::Submit { caller, command, reply }).await?;
        recorded.iter().for_each(log_change);
        Ok(recorded)
    }

    /// Decides and records one command. A refusal or failure is a problem for the door that sent the command.
    pub async fn execute(&self, caller: &Caller, command: Command) -> Result<Vec<Recorded>, Problem> {
        Ok(self.submit(caller.clone(), command).await?)
    }

    /// Executes a command that creates a thing, and returns the state of that thing.
    pub async fn create<A: Aggregate>(&self, caller: &Caller, command: Command) -> Result<A, Problem> {
        created(&self.execute(caller, command).await?)
    }

    /// Stores a value outside the log; `None` deletes it.
    pub async fn remember(&self, key: String, value: Option<String>) -> Result<(), StoreError> {
        self.job(|reply| Job::Remember { key, value, reply }).await
    }

    /// Deletes values outside the log that are not needed any more.
    pub async fn tidy(&self, before: String) -> Result<(), StoreError> {
        self.job(|reply| Job::Tidy { before, reply }).await
    }

    /// Refills the tables from the log. If `keep` is false, it only compares.
    pub async fn rebuild(&self, keep: bool) -> Result<Rebuilt, StoreError> {
        self.job(|reply| Job::Rebuild { keep, reply }).await
    }

    pub async fn accept_loss(&self, caller: Caller) -> Result<Vec<Recorded>, StoreError> {
        self.job(|reply| Job::AcceptLoss { caller, reply }).await
    }

    async fn job<T>(&self, make: impl FnOnce(oneshot::Sender<Result<T, StoreError>>) -> Job) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.inner.jobs.try_send(make(reply)).map_err(|error| match error {
            mpsc::TrySendError::Full(_) => StoreError::Busy,
            mpsc::TrySendError::Disconnected(_) => StoreError::Closed,
        })?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// Runs queries in a read transaction, on a connection other than the writer's.
    pub async fn read<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&mut Conn) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let inner = self.inner.clone();
        let permit = inner.readers.acquire().await.map_err(|_| StoreError::Closed)?;
        let worker = self.inner.clone();
        let answer = tokio::task::spawn_blocking(move || worker.read(ask)).await;
        drop(permit);
        answer.map_err(|_| StoreError::Closed)?
    }

    /// Verifies the whole chain, and the part of it that the head file proves.
    pub async fn verify(&self) -> Result<Verdict, StoreError> {
        let head = HeadFile::open(&self.inner.head_path).ok().and_then(|file| file.read());
        self.read(move |conn| verify::verify(conn, head)).await
    }

    pub fn live(&self) -> &Live {
        &self.inner.live
    }

    /// Waits for events that change one of these topics.
    pub fn follow(&self, topics: &'static [Topic], settle: Duration) -> Follower {
        Follower::new(self.inner.live.clone(), topics, settle)
    }

    pub fn blobs(&self) -> &Blobs {
        &self.inner.blobs
    }

    /// Has a reason once the writer can acknowledge no further command.
    pub fn fatal(&self) -> watch::Receiver<Option<String>> {
        self.inner.fatal.clone()
    }

    /// Why writing is disabled, if the log does not match the head file.
    pub fn cut(&self) -> Option<String> {
        self.inner.cut.borrow().clone()
    }

    /// Lets the writer finish the jobs it has received. Waits for it only if this is the last handle.
    pub fn close(self) {
        let Some(inner) = Arc::into_inner(self.inner) else { return };
        let thread = inner.writer.lock().expect("no panic while held").take();
        // Dropping the sender of jobs ends the writer.
        drop(inner);
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

impl Inner {
    fn read<T>(&self, ask: impl FnOnce(&mut Conn) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let mut conn = self.reader()?;
        let answer = ask(&mut conn);
        let ended = conn.script("COMMIT");
        if self.fatal.borrow().is_some() {
            conn.leave_files();
        }
        if ended.is_ok() && !conn.is_broken() {
            self.idle.lock().expect("no panic while held").push(conn);
        }
        answer
    }

    /// A connection with an open read transaction.
    fn reader(&self) -> Result<Conn, StoreError> {
        loop {
            let idle = self.idle.lock().expect("no panic while held").pop();
            let Some(mut conn) = idle else { break };
            // A connection that was closed while idle reports it only when it is used.
            if conn.begin_read().is_ok() {
                return Ok(conn);
            }
        }
        let mut conn = self.location.connect()?;
        conn.begin_read()?;
        Ok(conn)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let mut idle = std::mem::take(self.idle.get_mut().expect("no panic while held"));
        if self.fatal.borrow().is_some() {
            idle.iter().for_each(Conn::leave_files);
        }
        // Closing a connection to PostgreSQL blocks, which a thread of the runtime must not do.
        idle.retain(|conn| matches!(conn, Conn::Postgres(_)));
        if !idle.is_empty() {
            std::thread::spawn(move || drop(idle));
        }
    }
}

/// Prefixes of the streams whose changes are written to the daemon's log, such as `landing/7`.
const FOLLOWED: [&str; 4] = ["landing/", "dispatch/", "agent/", "worktree/"];

fn log_change(event: &Recorded) {
    let is_followed = FOLLOWED.iter().any(|stream| event.stream.starts_with(stream));
    if is_followed && tracing::enabled!(tracing::Level::INFO) {
        // Debug format, because text by other authors could contain line breaks or imitate a log line.
        tracing::info!(stream = %event.stream, seq = event.seq, "{}: {:?}", event.kind, event.description().summary);
    }
}

/// The thing that a command created, by the events of that command.
pub fn created<A: Aggregate>(events: &[Recorded]) -> Result<A, Problem> {
    let created = events.iter().find_map(|recorded| A::created_by(&recorded.event().ok()?, &recorded.context()));
    created.ok_or_else(|| Problem::bug(format!("the command created no {}", A::NOUN)))
}
