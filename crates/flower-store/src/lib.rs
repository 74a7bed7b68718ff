//! The store: one append-only log, the tables made from it, and the only code that speaks to a database.

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
pub mod rebuild;
pub mod search;
pub mod tables;
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
use flower_core::{Caller, Command, Recorded, Topic};
use head::{HeadFile, Proof};
use log::Tail;
use rebuild::Rebuilt;
use std::path::Path;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use tokio::sync::{Semaphore, oneshot, watch};
use writer::{Job, QUEUE, Writer};
use writer_cache::WriterCache;

/// Readers at once; each has a connection of its own.
const READERS: usize = 4;

/// The open store. Cheap to clone; the writer ends when the last one is gone.
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
    /// Opens the database, brings its schema up to date, compares it with the head file and starts the writer.
    /// `home` is the folder of the head file and the blobs. Blocks; `progress` hears of a long refill.
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

    /// Decides and records one command. An answer means that it is on disk.
    pub async fn submit(&self, caller: Caller, command: Command) -> Result<Vec<Recorded>, StoreError> {
        let recorded = self.job(|reply| Job::Submit { caller, command, reply }).await?;
        recorded.iter().for_each(log_change);
        Ok(recorded)
    }

    /// Keeps something beside the log; `None` forgets it.
    pub async fn remember(&self, key: String, value: Option<String>) -> Result<(), StoreError> {
        self.job(|reply| Job::Remember { key, value, reply }).await
    }

    /// Forgets what is kept beside the log and nobody will ask for any more.
    pub async fn tidy(&self, before: String) -> Result<(), StoreError> {
        self.job(|reply| Job::Tidy { before, reply }).await
    }

    /// Refills the tables from the log; without `keep` only compares.
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

    /// Asks questions on a connection that is not the writer's, on a view that does not move meanwhile.
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

    /// Checks the whole chain and what the head file proves of it.
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

    /// Becomes a text when nothing can be acknowledged any more.
    pub fn fatal(&self) -> watch::Receiver<Option<String>> {
        self.inner.fatal.clone()
    }

    /// Why nothing is written, if the log is not the one that was recorded.
    pub fn cut(&self) -> Option<String> {
        self.inner.cut.borrow().clone()
    }

    /// Lets the writer finish what it has taken. Waits for it only if this is the last handle.
    pub fn close(self) {
        let Some(inner) = Arc::into_inner(self.inner) else { return };
        let thread = inner.writer.lock().expect("no panic while held").take();
        // With the way to it the writer ends.
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

    /// A connection on which a view of the database is open.
    fn reader(&self) -> Result<Conn, StoreError> {
        loop {
            let idle = self.idle.lock().expect("no panic while held").pop();
            let Some(mut conn) = idle else { break };
            // One that was cut while it lay idle says so only now.
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
        // Closing a connection to PostgreSQL waits for it, which a thread of the runtime must not do.
        idle.retain(|conn| matches!(conn, Conn::Postgres(_)));
        if !idle.is_empty() {
            std::thread::spawn(move || drop(idle));
        }
    }
}

/// Streams whose changes are followed in the daemon's log by their number: `landing/7`.
const FOLLOWED: [&str; 4] = ["landing/", "dispatch/", "agent/", "worktree/"];

fn log_change(event: &Recorded) {
    let is_followed = FOLLOWED.iter().any(|stream| event.stream.starts_with(stream));
    if is_followed && tracing::enabled!(tracing::Level::INFO) {
        // Text that others wrote could break the line, or pose as one of ours.
        tracing::info!(stream = %event.stream, seq = event.seq, "{}: {:?}", event.kind, event.description().summary);
    }
}
