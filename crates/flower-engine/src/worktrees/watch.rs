//! Watches worktrees for commits with inotify, so that sealed ones are mirrored at once and the page shows the change.

use super::paths::WorktreePaths;
use crate::Worktrees;
use crate::dir_watcher::DirWatcher;
use crate::notify::ChangeHints;
use flower_core::WorktreeId;
use flower_core::worktree::{Seal, Stage};
use flower_store::worktrees;
use rustix::fs::inotify::WatchFlags;
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::task::{Id, JoinSet};

/// git writes several files for one commit; they are handled together.
const SETTLE_TIME: Duration = Duration::from_millis(100);
/// A worktree whose event is dropped is mirrored when it is observed next.
const MAX_QUEUED_EVENTS: usize = 1024;
/// Worktrees that are mirrored at the same time.
const MAX_CONCURRENT: usize = 8;

#[derive(Debug, Default)]
pub(super) struct WorktreeWatch {
    watcher: OnceLock<Arc<DirWatcher<WorktreeId>>>,
}

impl WorktreeWatch {
    /// Watches the directories of a worktree. The kernel ends the watch of a deleted directory.
    pub(super) fn add(&self, place: &WorktreePaths, number: WorktreeId) {
        let Some(watcher) = self.watcher.get() else { return };
        // HEAD, the index, packed refs, and the branch of a sealed worktree; and the operator's own index, because `git add -A` puts
        // repositories into it as gitlinks.
        let dirs: Vec<PathBuf> = match place.seal {
            Seal::Sealed => {
                let private = [place.private(), place.private().join("refs/heads/flower")];
                private.into_iter().chain(place.admin()).collect()
            }
            Seal::Linked => place.admin().into_iter().collect(),
        };
        for dir in dirs {
            watcher.watch(&dir, WatchFlags::MOVED_TO | WatchFlags::CLOSE_WRITE, number);
        }
    }
}

impl Worktrees {
    /// Handles every change of a worktree until the daemon ends. Without inotify, worktrees are mirrored when they are observed.
    pub async fn run_watch(self: Arc<Self>) {
        let (watcher, mut changes) = match DirWatcher::start("worktree-watch", MAX_QUEUED_EVENTS) {
            Ok(open) => open,
            Err(error) => return tracing::warn!("worktrees are not watched: {error}"),
        };
        let _ = self.watch.watcher.set(watcher);
        let Ok(live) = self.store.read(|conn| worktrees::live(conn, None)).await else { return };
        let mut waiting: BTreeSet<WorktreeId> =
            live.iter().filter(|w| w.stage == Stage::Ready).map(|w| w.number).collect();
        let mut tasks = JoinSet::new();
        let mut busy: HashMap<Id, WorktreeId> = HashMap::new();
        loop {
            // At most one task for each worktree, so that one with a slow import does not delay the others.
            let idle = waiting.iter().copied().filter(|number| !busy.values().any(|other| other == number));
            let next: Vec<WorktreeId> = idle.take(MAX_CONCURRENT - busy.len()).collect();
            for number in next {
                waiting.remove(&number);
                let worktrees = self.clone();
                busy.insert(tasks.spawn(async move { worktrees.handle_change(number).await }).id(), number);
            }
            tokio::select! {
                Some(done) = tasks.join_next_with_id() => {
                    busy.remove(&done.map_or_else(|error| error.id(), |(id, ())| id));
                }
                change = changes.recv() => {
                    let Some(number) = change else { return };
                    waiting.insert(number);
                    tokio::time::sleep(SETTLE_TIME).await;
                    while let Ok(more) = changes.try_recv() {
                        waiting.insert(more);
                    }
                }
            }
        }
    }

    /// Mirrors a worktree that has changed. Adds its watches again, because git deletes and makes folders as it packs refs.
    async fn handle_change(&self, number: WorktreeId) {
        let Ok(Some(worktree)) = self.store.read(move |conn| worktrees::worktree(conn, number)).await else { return };
        if worktree.stage != Stage::Ready {
            return;
        }
        let Ok(place) = self.paths(&worktree).await else { return };
        self.watch.add(&place, number);
        // Before the mirror, because the operator's next command may follow at once.
        if worktree.seal == Seal::Sealed
            && let Err(problem) = super::gitlinks::protect_operator(&place).await
        {
            tracing::warn!("{}: {}", worktree.name, problem.message);
        }
        if worktree.seal == Seal::Sealed
            && let Err(problem) = self.mirror(&place).await
        {
            tracing::warn!("{}: {}", worktree.name, problem.message);
        }
        self.hints.publish(ChangeHints::WORKTREES);
    }
}
