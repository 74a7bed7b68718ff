//! Hears when something is committed inside of a worktree, so that the branch of a sealed one is mirrored at once and whoever
//! looks on sees it. The kernel tells; nothing is polled.

use super::paths::WorktreePaths;
use crate::Worktrees;
use crate::dir_watcher::DirWatcher;
use crate::notify::ChangeHints;
use flower_core::worktree::{Seal, Stage};
use flower_store::worktrees;
use rustix::fs::inotify::WatchFlags;
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::task::{Id, JoinSet};

/// git writes several files for one commit.
const SETTLE: Duration = Duration::from_millis(100);
/// Numbers that wait; a worktree whose number does not fit is mirrored with the next look at it.
const QUEUE: usize = 1024;
/// Worktrees that are mirrored at the same time.
const MOST_AT_ONCE: usize = 8;

/// What is being listened to.
#[derive(Debug, Default)]
pub(super) struct Watch {
    ear: OnceLock<Arc<DirWatcher<u64>>>,
}

impl Watch {
    /// Listens to a worktree. What goes away takes its watch along.
    pub(super) fn add(&self, place: &WorktreePaths, number: u64) {
        let Some(ear) = self.ear.get() else { return };
        // HEAD, the index and packed refs; and the branch itself, which a linked worktree moves in MAIN's repository. The operator's
        // own index is heard, too, since `git add -A` puts repositories into it as gitlinks.
        let dirs: Vec<PathBuf> = match place.seal {
            Seal::Sealed => {
                let private = [place.private(), place.private().join("refs/heads/flower")];
                private.into_iter().chain(place.admin()).collect()
            }
            Seal::Linked => place.admin().into_iter().collect(),
        };
        for dir in dirs {
            ear.watch(&dir, WatchFlags::MOVED_TO | WatchFlags::CLOSE_WRITE, number);
        }
    }
}

impl Worktrees {
    /// Looks at every worktree whenever it moves. Without the kernel's help they are mirrored when somebody looks.
    pub async fn run_watch(self: Arc<Self>) {
        let (ear, mut told) = match DirWatcher::start("worktree-watch", QUEUE) {
            Ok(open) => open,
            Err(error) => return tracing::warn!("worktrees are not watched: {error}"),
        };
        let _ = self.watch.ear.set(ear);
        let Ok(live) = self.store.read(|conn| worktrees::live(conn, None)).await else { return };
        let mut waiting: BTreeSet<u64> = live.iter().filter(|w| w.stage == Stage::Ready).map(|w| w.number).collect();
        let mut at_work = JoinSet::new();
        let mut busy: HashMap<Id, u64> = HashMap::new();
        loop {
            // One at a time for each worktree, so that one with much to bring keeps no other waiting.
            let idle = waiting.iter().copied().filter(|number| !busy.values().any(|other| other == number));
            let next: Vec<u64> = idle.take(MOST_AT_ONCE - busy.len()).collect();
            for number in next {
                waiting.remove(&number);
                let app = self.clone();
                busy.insert(at_work.spawn(async move { app.has_moved(number).await }).id(), number);
            }
            tokio::select! {
                Some(done) = at_work.join_next_with_id() => {
                    busy.remove(&done.map_or_else(|error| error.id(), |(id, ())| id));
                }
                heard = told.recv() => {
                    let Some(number) = heard else { return };
                    waiting.insert(number);
                    tokio::time::sleep(SETTLE).await;
                    while let Ok(more) = told.try_recv() {
                        waiting.insert(more);
                    }
                }
            }
        }
    }

    /// Also listens anew: git deletes and makes its folders as it packs refs.
    async fn has_moved(&self, number: u64) {
        let Ok(Some(worktree)) = self.store.read(move |conn| worktrees::worktree(conn, number)).await else { return };
        if worktree.stage != Stage::Ready {
            return;
        }
        let Ok(place) = self.place(&worktree).await else { return };
        self.watch.add(&place, number);
        // First, because the operator's next command may come at once.
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
