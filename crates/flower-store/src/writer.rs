//! The only writer: a thread that receives commands and commits all that have gathered in one transaction, so that many
//! waiting commands cost one fsync.

use super::conn::Conn;
use super::dialect::Location;
use super::ephemeral;
use super::error::StoreError;
use super::head::{HeadFile, Proof};
use super::index::Index;
use super::live::Live;
use super::load_world;
use super::log;
use super::rebuild::{self, Rebuilt};
use super::writer_cache::WriterCache;
use flower_core::{Caller, Command, Recorded, World, decide, policy};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tokio::sync::{oneshot, watch};

/// Maximum commands that wait at once; further ones are refused as busy.
pub const QUEUE: usize = 1_024;
/// Maximum commands in one transaction.
const GROUP: usize = 256;
/// Clients that were answered by one commit tend to submit again at once. After at least this many answers the writer
/// waits briefly for them, so that they share one fsync instead of two.
const WORTH_GATHERING: usize = 8;
const GATHER: Duration = Duration::from_micros(100);
/// Time without a command after which the writer does work that can wait, because it then delays no client.
const QUIET: Duration = Duration::from_millis(20);
/// Minimum pages of SQLite's write-ahead log for a checkpoint when no command waits, and at any time: 4 and 64 MB.
const WORTH_IT: u64 = 1_000;
const TOO_MANY: u64 = 16_000;

pub type Now = Arc<dyn Fn() -> String + Send + Sync>;
type Reply<T> = oneshot::Sender<Result<T, StoreError>>;
/// The result of each command of a group.
type Results = Vec<Result<Vec<Recorded>, StoreError>>;

pub enum Job {
    Submit {
        caller: Caller,
        command: Command,
        reply: Reply<Vec<Recorded>>,
    },
    Rebuild {
        keep: bool,
        reply: Reply<Rebuilt>,
    },
    /// Stores a value outside the log, or deletes it.
    Remember {
        key: String,
        value: Option<String>,
        reply: Reply<()>,
    },
    /// Deletes values outside the log that are not needed any more.
    Tidy {
        before: String,
        reply: Reply<()>,
    },
    /// Continues after a loss: records what was proved and what was found.
    AcceptLoss {
        caller: Caller,
        reply: Reply<Vec<Recorded>>,
    },
}

pub struct Writer {
    pub location: Location,
    pub head: HeadFile,
    pub live: Arc<Live>,
    pub now: Now,
    /// Set when no further command can be acknowledged; the daemon then ends.
    pub fatal: watch::Sender<Option<String>>,
    /// Set while the log does not match the head file. Nothing is appended then, because it would overwrite the
    /// evidence.
    pub cut: watch::Sender<Option<String>>,
    /// The connection failed; a new one is needed before the next command.
    pub lost_touch: bool,
    pub cache: WriterCache,
}

impl Writer {
    pub fn run(mut self, mut conn: Conn, jobs: &mpsc::Receiver<Job>) {
        let mut group = Vec::new();
        let mut answered = 0;
        while let Some(first) = self.next(&mut conn, jobs) {
            let mut gathered = answered < WORTH_GATHERING;
            let mut next = Some(first);
            while let Some(job) = next.take() {
                match job {
                    Job::Submit { caller, command, reply } => group.push((caller, command, reply)),
                    Job::Rebuild { keep, reply } => {
                        self.commit_group(&mut conn, &mut group);
                        self.cache = WriterCache::default();
                        let rebuilt = rebuild::rebuild(&mut conn, keep, &mut |_| {});
                        self.note_fatal(rebuilt.as_ref().err());
                        // The caller may have stopped waiting for the answer.
                        let _ = reply.send(rebuilt);
                    }
                    Job::Remember { key, value, reply } => {
                        self.commit_group(&mut conn, &mut group);
                        let kept = alone(&mut conn, |conn| match &value {
                            Some(value) => ephemeral::put(conn, &key, value),
                            None => ephemeral::forget(conn, &key),
                        });
                        let _ = reply.send(kept);
                    }
                    Job::Tidy { before, reply } => {
                        self.commit_group(&mut conn, &mut group);
                        let _ = reply.send(alone(&mut conn, |conn| ephemeral::tidy(conn, &before)));
                    }
                    Job::AcceptLoss { caller, reply } => {
                        self.commit_group(&mut conn, &mut group);
                        let _ = reply.send(self.accept_loss(&mut conn, &caller));
                    }
                }
                if group.len() < GROUP {
                    next = jobs.try_recv().ok();
                }
                if next.is_none() && !gathered && group.len() < answered {
                    gathered = true;
                    std::thread::sleep(GATHER);
                    next = jobs.try_recv().ok();
                }
            }
            answered = group.len();
            self.commit_group(&mut conn, &mut group);
            self.checkpoint(&mut conn, TOO_MANY);
            if self.fatal.borrow().is_some() {
                conn.leave_files();
                break;
            }
            if self.lost_touch || conn.is_broken() {
                match self.location.connect() {
                    Ok(fresh) => {
                        conn = fresh;
                        self.lost_touch = false;
                    }
                    Err(error) => tracing::warn!("the database is out of reach: {error}"),
                }
            }
        }
    }

    /// The next job, or `None` when all senders are gone. Makes checkpoints while there is no job.
    fn next(&self, conn: &mut Conn, jobs: &mpsc::Receiver<Job>) -> Option<Job> {
        match jobs.recv_timeout(QUIET) {
            Ok(job) => Some(job),
            Err(mpsc::RecvTimeoutError::Disconnected) => None,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                self.checkpoint(conn, WORTH_IT);
                if self.fatal.borrow().is_some() {
                    conn.leave_files();
                    return None;
                }
                jobs.recv().ok()
            }
        }
    }

    /// Commits the group, and answers each command only after the commit.
    fn commit_group(&mut self, conn: &mut Conn, group: &mut Vec<(Caller, Command, Reply<Vec<Recorded>>)>) {
        if group.is_empty() {
            return;
        }
        let commands: Vec<(&Caller, &Command)> = group.iter().map(|(caller, command, _)| (caller, command)).collect();
        let results = match self.transact(conn, &commands) {
            Ok(results) => results,
            // One command failed the whole transaction: each command gets its own transaction.
            Err(StoreError::Sql(_)) if commands.len() > 1 => {
                commands.iter().map(|one| self.transact(conn, &[*one]).and_then(only)).collect()
            }
            Err(error) => {
                // A closed connection is noticed only when it is used again.
                self.lost_touch = matches!(error, StoreError::Unreachable(_));
                commands.iter().map(|_| Err(error.clone())).collect()
            }
        };
        for ((_, _, reply), result) in group.drain(..).zip(results) {
            let _ = reply.send(result);
        }
    }

    /// Runs one transaction. An outer error is the database's, and nothing was stored; inner errors are refusals.
    fn transact(&mut self, conn: &mut Conn, commands: &[(&Caller, &Command)]) -> Result<Results, StoreError> {
        if self.fatal.borrow().is_some() {
            return Err(StoreError::Closed);
        }
        let done = self.try_transact(conn, commands);
        self.note_fatal(done.as_ref().err());
        done
    }

    fn try_transact(&mut self, conn: &mut Conn, commands: &[(&Caller, &Command)]) -> Result<Results, StoreError> {
        if let Some(cut) = self.cut.borrow().clone() {
            return Err(StoreError::LogCut(cut));
        }
        conn.begin_write()?;
        // The cache is empty if this transaction fails.
        let mut cache = std::mem::take(&mut self.cache);
        let results = match self.in_transaction(conn, &mut cache, commands) {
            Ok(results) => results,
            Err(error) => {
                // The transaction is lost in any case; the first error is the one to report.
                let _ = conn.script("ROLLBACK");
                return Err(error);
            }
        };
        if let Err(error) = conn.script("COMMIT") {
            let _ = conn.script("ROLLBACK");
            return Err(error);
        }
        if let Err(error) = self.head.write(&cache.tail) {
            tracing::warn!("the head file cannot be written; the log's tail is not proved outside: {error}");
        }
        self.cache = cache;
        let events: Vec<Recorded> = results.iter().flatten().flatten().cloned().collect();
        self.publish(conn, events);
        Ok(results)
    }

    fn in_transaction(
        &mut self,
        conn: &mut Conn,
        cache: &mut WriterCache,
        commands: &[(&Caller, &Command)],
    ) -> Result<Results, StoreError> {
        cache.refresh(conn)?;
        let at = (self.now)();
        let mut index = Index::default();
        let mut results = Vec::with_capacity(commands.len());
        for (caller, command) in commands {
            match execute(conn, cache, &mut index, caller, command, &at) {
                Err(StoreError::Refused(refusal)) => results.push(Err(StoreError::Refused(refusal))),
                Err(error) => return Err(error),
                Ok(events) => results.push(Ok(events)),
            }
        }
        cache.projector.flush(conn)?;
        index.flush(conn)?;
        if results.iter().flatten().any(|events| !events.is_empty()) {
            conn.announce(cache.tail.seq)?;
        }
        Ok(results)
    }

    fn publish(&self, conn: &mut Conn, events: Vec<Recorded>) {
        if self.live.push(events).is_err() {
            // Another server on the same database has committed in between.
            catch_up(conn, &self.live);
        }
    }

    fn accept_loss(&mut self, conn: &mut Conn, caller: &Caller) -> Result<Vec<Recorded>, StoreError> {
        let Proof::Broken { proved, found } = Proof::of(conn, self.head.read())? else {
            return Ok(Vec::new());
        };
        let command = Command::AcceptLoss {
            proved_seq: proved.seq,
            proved_hash: proved.hash,
            found_seq: found.seq,
            found_hash: found.hash,
        };
        // A caller without the right must be refused before any commit, because a commit overwrites the proof of what
        // was lost.
        policy::require(&World::default(), caller, &command)?;
        // The tables still contain the lost events. After a kill at this point the loss must be accepted again.
        self.cache = WriterCache::default();
        let rebuilt = rebuild::rebuild(conn, true, &mut |_| {});
        self.note_fatal(rebuilt.as_ref().err());
        rebuilt?;
        let cut = self.cut.send_replace(None);
        let recorded = self.transact(conn, &[(caller, &command)]).and_then(only);
        if recorded.is_err() {
            self.cut.send_replace(cut);
        }
        recorded
    }

    /// Moves SQLite's write-ahead log into the database. Committed data is safe already, but a failing disk must be
    /// noticed here as well.
    fn checkpoint(&self, conn: &mut Conn, pages: u64) {
        if self.fatal.borrow().is_some() {
            return;
        }
        if let Err(error) = conn.checkpoint(pages) {
            tracing::warn!("the log was not moved into the database: {error}");
            self.note_fatal(Some(&error));
        }
    }

    fn note_fatal(&self, error: Option<&StoreError>) {
        if let Some(error) = error.filter(|error| error.is_fatal()) {
            self.fatal.send_replace(Some(error.to_string()));
        }
    }
}

/// Decides one command on the state of the transaction, and records its events.
fn execute(
    conn: &mut Conn,
    cache: &mut WriterCache,
    index: &mut Index,
    caller: &Caller,
    command: &Command,
    at: &str,
) -> Result<Vec<Recorded>, StoreError> {
    let WriterCache { tail, versions, projector } = cache;
    let mut world = load_world::load(conn, projector, caller, command)?;
    let drafts = decide(&world, caller, command)?;
    if let Command::Heartbeat { dispatch, fence, moment } = command {
        world.record_heartbeat(*dispatch, *fence, moment.heartbeat());
        let (fence, beat) = world.beats[dispatch].clone();
        ephemeral::record_heartbeat(conn, *dispatch, fence, beat)?;
    }
    let events = log::append(conn, tail, versions, caller, at, &drafts)?;
    for event in &events {
        projector.apply(conn, event, index)?;
    }
    Ok(events)
}

/// Changes state outside the log, in a separate transaction.
fn alone(conn: &mut Conn, work: impl FnOnce(&mut Conn) -> Result<(), StoreError>) -> Result<(), StoreError> {
    conn.begin_write()?;
    let done = work(conn);
    conn.script(if done.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
    done
}

/// Adds the missing events of the log to the live events.
pub fn catch_up(conn: &mut Conn, live: &Live) {
    const PAGE: u64 = 500;
    loop {
        match log::after(conn, live.head(), PAGE) {
            Ok(events) if events.is_empty() => return,
            Ok(events) => {
                if live.push(events).is_err() {
                    return;
                }
            }
            Err(error) => {
                tracing::warn!("live events are late: {error}");
                return;
            }
        }
    }
}

fn only(mut results: Results) -> Result<Vec<Recorded>, StoreError> {
    results.pop().unwrap_or(Err(StoreError::Closed))
}
