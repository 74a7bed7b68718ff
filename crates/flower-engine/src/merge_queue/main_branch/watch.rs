//! Watches MAIN for moves of its branch and edits in its checkout by other programs. inotify reports changes of git's own files
//! at once; everything else is found by an examination every ten seconds.

use crate::MergeQueue;
use crate::dir_watcher::DirWatcher;
use crate::passes;
use flower_git::repository::Repository;
use rustix::fs::inotify::WatchFlags;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// git writes several files for one move; they are examined together.
const SETTLE_TIME: Duration = Duration::from_millis(100);
const POLL_INTERVAL: Duration = Duration::from_secs(10);
/// The pause after an examination is at least this many times its duration: at most 1 % of the time for any checkout.
const PAUSE_FACTOR: u32 = 100;
const MAX_QUEUED_EVENTS: usize = 256;

#[derive(Debug, Default)]
pub(crate) struct MainWatch {
    watcher: OnceLock<Arc<DirWatcher<String>>>,
}

impl MainWatch {
    /// Watches the directories of a project's repository.
    pub(crate) fn add(&self, project: &str, repository: &Repository, branch: &str) {
        let Some(watcher) = self.watcher.get() else { return };
        let changes = WatchFlags::MOVED_TO
            | WatchFlags::MOVED_FROM
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::CREATE
            | WatchFlags::DELETE;
        // HEAD, packed refs and the index; the branch itself; the top level of the checkout.
        let branch = repository.git_dir.join("refs/heads").join(branch);
        let folders = [Some(repository.git_dir.as_path()), branch.parent(), Some(&repository.root)];
        for dir in folders.into_iter().flatten() {
            watcher.watch(dir, changes, project.to_owned());
        }
    }
}

impl MergeQueue {
    /// Examines MAIN of every project, after each change and regularly, until the daemon ends.
    pub async fn run_watch(self: Arc<Self>) {
        let mut changes = match DirWatcher::start("main-watch", MAX_QUEUED_EVENTS) {
            Ok((watcher, changes)) => {
                let _ = self.watch.watcher.set(watcher);
                changes
            }
            Err(error) => {
                tracing::warn!("no inotify, MAIN is examined every {POLL_INTERVAL:?} only: {error}");
                mpsc::channel(1).1
            }
        };
        let mut due: HashMap<String, Instant> = HashMap::new();
        loop {
            let mut changed = BTreeSet::new();
            let first_change = tokio::time::timeout(POLL_INTERVAL / 10, async {
                match changes.recv().await {
                    Some(first) => first,
                    // There is no watcher: wait for the timeout.
                    None => std::future::pending().await,
                }
            });
            if let Ok(first) = first_change.await {
                tokio::time::sleep(SETTLE_TIME).await;
                changed.insert(first);
                while let Ok(more) = changes.try_recv() {
                    changed.insert(more);
                }
            }
            let Ok(projects) = self.projects.list().await else { continue };
            let now = Instant::now();
            for project in projects {
                let is_due = due.get(&project.name).is_none_or(|due| *due <= now);
                if is_due || changed.contains(&project.name) {
                    let took = self.examine_main(&project.name, &PathBuf::from(&project.root)).await;
                    due.insert(project.name, Instant::now() + POLL_INTERVAL.max(took * PAUSE_FACTOR));
                }
            }
        }
    }

    /// Returns how long the examination took, without the wait for MAIN's lock.
    async fn examine_main(&self, project: &str, root: &Path) -> Duration {
        let _pass = passes::begin("main_watch", &self.store);
        let mut began = Instant::now();
        // The repository was moved or deleted.
        if Repository::discover(root).is_none_or(|found| found.root != root) {
            return began.elapsed();
        }
        let examined = async {
            let lock = self.lock_main(project).await?;
            began = Instant::now();
            let (main, _) = self.check_main(&lock).await?;
            self.watch.add(project, &lock.repository, &main.branch);
            Ok::<_, flower_contract::error::Problem>(())
        };
        if let Err(problem) = examined.await {
            tracing::debug!("MAIN of {project}: {}", problem.message);
        }
        began.elapsed()
    }
}
