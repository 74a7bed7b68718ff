//! The watch over MAIN: whoever else moves its branch or edits in it is noticed. The kernel tells of git's own files at once;
//! everything else is looked for every ten seconds.

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

/// git writes several files for one move.
const SETTLE: Duration = Duration::from_millis(100);
const EVERY: Duration = Duration::from_secs(10);
/// Looking takes at most this part of the time, however large the checkout is.
const SHARE: u32 = 100;
const QUEUE: usize = 256;

#[derive(Debug, Default)]
pub struct Watch {
    ear: OnceLock<Arc<DirWatcher<String>>>,
}

impl Watch {
    /// Listens to a project's repository.
    pub(crate) fn add(&self, project: &str, repository: &Repository, branch: &str) {
        let Some(ear) = self.ear.get() else { return };
        let changes = WatchFlags::MOVED_TO
            | WatchFlags::MOVED_FROM
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::CREATE
            | WatchFlags::DELETE;
        // HEAD, packed refs and the index; the folder of the branch; the files of the first level.
        let branch = repository.git_dir.join("refs/heads").join(branch);
        let folders = [Some(repository.git_dir.as_path()), branch.parent(), Some(&repository.root)];
        for dir in folders.into_iter().flatten() {
            ear.watch(dir, changes, project.to_owned());
        }
    }
}

impl MergeQueue {
    /// Until the daemon ends.
    pub async fn run_watch(self: Arc<Self>) {
        let mut told = match DirWatcher::start("main-watch", QUEUE) {
            Ok((ear, told)) => {
                let _ = self.watch.ear.set(ear);
                told
            }
            Err(error) => {
                tracing::warn!("MAIN is only looked at every {EVERY:?}: {error}");
                mpsc::channel(1).1
            }
        };
        let mut due: HashMap<String, Instant> = HashMap::new();
        loop {
            let mut heard = BTreeSet::new();
            let heard_first = tokio::time::timeout(EVERY / 10, async {
                match told.recv().await {
                    Some(first) => first,
                    // Nobody tells.
                    None => std::future::pending().await,
                }
            });
            if let Ok(first) = heard_first.await {
                tokio::time::sleep(SETTLE).await;
                heard.insert(first);
                while let Ok(more) = told.try_recv() {
                    heard.insert(more);
                }
            }
            let Ok(projects) = self.projects.list().await else { continue };
            let now = Instant::now();
            for project in projects {
                let is_due = due.get(&project.name).is_none_or(|due| *due <= now);
                if is_due || heard.contains(&project.name) {
                    let took = self.look_at_main(&project.name, &PathBuf::from(&project.root)).await;
                    // Also after a call: a checkout in which much happens is not looked at without pause.
                    due.insert(project.name, Instant::now() + EVERY.max(took * SHARE));
                }
            }
        }
    }

    /// How long it took, without the wait for the lock of MAIN.
    async fn look_at_main(&self, project: &str, root: &Path) -> Duration {
        let _pass = passes::begin("main_watch", &self.store);
        let mut began = Instant::now();
        // A repository without commits, or one that is gone, is not watched until it is there.
        if Repository::discover(root).is_none_or(|found| found.root != root) {
            return began.elapsed();
        }
        let looked = async {
            let lock = self.lock_main(project).await?;
            began = Instant::now();
            let (main, _) = self.check_main(&lock).await?;
            self.watch.add(project, &lock.repository, &main.branch);
            Ok::<_, flower_contract::error::Problem>(())
        };
        if let Err(problem) = looked.await {
            tracing::debug!("MAIN of {project}: {}", problem.message);
        }
        began.elapsed()
    }
}
