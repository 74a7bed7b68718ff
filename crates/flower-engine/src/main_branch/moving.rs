//! Moves MAIN's branch: forward to a commit that passed its checks, or back to where the log has it.
//!
//! Only a branch that no longer exists is made again elsewhere, in `put_right.rs`. A move needs MAIN's lock. A journal is
//! on disk before the branch moves. The branch itself is the only commit point: after a crash, recovery asks git where the
//! branch is, and finishes the move if it has happened.

use super::served::{self, Change, Staged};
use crate::App;
use crate::failpoint;
use crate::landing::VerifiedCommit;
use crate::worktrees::refs::tip;
use flower_contract::error::{Problem, ProblemKind};
use flower_core::landing::Step;
use flower_core::{Caller, Command, Main};
use flower_git::repository::Repository;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::{Mutex, OwnedMutexGuard};

/// Proof that nobody else looks at or moves this MAIN meanwhile.
pub(crate) struct MainTurn {
    pub(crate) project: String,
    pub(crate) repository: Repository,
    _guard: OwnedMutexGuard<()>,
}

/// Where it may go.
pub(crate) enum Target<'a> {
    Verified(&'a VerifiedCommit),
    /// Back to where the log has it.
    Recorded(&'a Main),
}

/// How an attempt ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Moved {
    /// These files were left alone, because somebody has edited them.
    Yes { left: Vec<String> },
    /// It is not where it was thought to be; nothing happened.
    Elsewhere,
}

/// What a move was left unfinished by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    /// An earlier daemon, of which nothing runs any more.
    Crash,
    /// A file or a lock in the way, in this one.
    Trouble,
}

#[derive(Debug, Serialize, Deserialize)]
struct Journal {
    branch: String,
    old: String,
    new: String,
    landing: Option<u64>,
    note: Option<String>,
    #[serde(default)]
    commands: Option<String>,
    /// What MAIN was before, if not what its branch said: the tip that the log had.
    onto: String,
}

impl App {
    pub(crate) async fn main_turn(&self, project: &str) -> Result<MainTurn, Problem> {
        let repository = self.repository(project).await?;
        let turn: Arc<Mutex<()>> = self.landings.turn(project);
        let _guard = turn.lock_owned().await;
        Ok(MainTurn { project: project.to_owned(), repository, _guard })
    }

    /// Moves MAIN's branch from `old`, and its checkout with it: `changes` are what differs between the two. What comes after, [`App::close_journal`] ends.
    pub(crate) async fn move_main(
        &self,
        turn: &MainTurn,
        main: &Main,
        old: &str,
        target: &Target<'_>,
        changes: &[Change],
    ) -> Result<Moved, Problem> {
        let (new, verified) = match target {
            Target::Verified(verified) => (verified.commit(), Some(verified)),
            Target::Recorded(main) => (main.tip.as_str(), None),
        };
        let journal = Journal {
            branch: main.branch.clone(),
            old: old.to_owned(),
            new: new.to_owned(),
            landing: verified.map(|verified| verified.landing()),
            note: verified.and_then(|verified| verified.note()),
            commands: verified.and_then(|verified| verified.commands()),
            onto: main.tip.clone(),
        };
        if self.is_moving(&turn.project) {
            return Err(Problem::new(
                ProblemKind::Conflict,
                "an earlier move of MAIN is not finished yet",
                "it is tried again by itself; `flower main` shows how it stands",
            ));
        }
        served::require_index(&turn.repository).await?;
        failpoint::here("main.before_journal");
        let branch = format!("refs/heads/{}", main.branch);
        let swap = async {
            self.write_journal(&turn.project, &journal)?;
            failpoint::here("main.journal");
            let args = ["update-ref", "-m", "flower: landing", &branch, new, old];
            Ok::<_, Problem>(flower_git::in_main(&turn.repository).args(args).output().await?)
        };
        // What the checkout is to be is made ready beside it meanwhile; whatever moves it begins with the branch.
        let (staged, swap) = tokio::join!(Staged::prepare(&turn.repository, old, new, changes), swap);
        let swap = swap?;
        if swap.code != 0 {
            self.close_journal(&turn.project);
            if tip(&turn.repository, &branch).await?.as_deref() != Some(old) {
                return Ok(Moved::Elsewhere);
            }
            return Err(Problem::new(
                ProblemKind::Conflict,
                format!("git does not move `{}`: {}", main.branch, swap.stderr),
                "is another git at work there? `flower doctor` looks for locks that nobody holds",
            ));
        }
        failpoint::here("main.moved");
        let left = served::bring(&self.home, &turn.repository, staged, (old, new), changes).await?;
        failpoint::here("main.tree");
        Ok(Moved::Yes { left })
    }

    /// Everything that a journal speaks of is recorded.
    pub(crate) fn close_journal(&self, project: &str) {
        let path = self.journal(project);
        if let Err(error) = std::fs::remove_file(&path)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!("{}: {error}", path.display());
        }
        failpoint::here("main.journal_gone");
    }

    /// What git has done is finished and recorded; what it has not done did not happen.
    pub(crate) async fn recover_main(&self, project: &str, since: Since) -> Result<(), Problem> {
        let turn = self.main_turn(project).await?;
        let Some(journal) = self.read_journal(project) else { return Ok(()) };
        let branch = format!("refs/heads/{}", journal.branch);
        let landed = match tip(&turn.repository, &branch).await? {
            Some(now) if now == journal.new => true,
            Some(now) => {
                let args = ["merge-base", "--is-ancestor", &journal.new, &now];
                // Somebody went on from it, or from elsewhere.
                flower_git::in_main(&turn.repository).args(args).succeeds().await.unwrap_or(false)
            }
            None => false,
        };
        if landed {
            let lock = turn.repository.git_dir.join("index.lock");
            // The git that held it was ours, and is gone: nothing that an earlier daemon started runs any more.
            if since == Since::Crash
                && let Err(error) = std::fs::remove_file(&lock)
                && error.kind() != std::io::ErrorKind::NotFound
            {
                tracing::warn!("{}: {error}", lock.display());
            }
            let changes = served::changes(&turn.repository, &journal.old, &journal.new).await?;
            let staged = Staged::prepare(&turn.repository, &journal.old, &journal.new, &changes).await;
            served::bring(&self.home, &turn.repository, staged, (&journal.old, &journal.new), &changes).await?;
            if let Some(number) = journal.landing {
                let Journal { onto, new: merge_commit, note, commands, .. } = journal;
                let step = Step::Land { onto, merge_commit, note, commands };
                self.submit(&Caller::system(), Command::Landing { number, step }).await?;
            }
        }
        self.close_journal(project);
        Ok(())
    }

    fn journal(&self, project: &str) -> PathBuf {
        self.home.landings().join(format!("{project}.journal"))
    }

    fn write_journal(&self, project: &str, journal: &Journal) -> Result<(), Problem> {
        let path = self.journal(project);
        let text = serde_json::to_string(journal).expect("plain data");
        crate::worktrees::disk::make_private(&self.home.landings())
            .and_then(|()| crate::home::write_private(&path, &text))
            .and_then(|()| sync_folder(&self.home.landings()))
            .map_err(|error| self.home.problem(&path, &error))
    }

    fn read_journal(&self, project: &str) -> Option<Journal> {
        let text = std::fs::read(self.journal(project)).ok()?;
        serde_json::from_slice(&text).inspect_err(|error| tracing::warn!("the journal of {project}: {error}")).ok()
    }

    /// Whether a move is under way, or was when flower ended.
    pub(crate) fn is_moving(&self, project: &str) -> bool {
        self.journal(project).exists()
    }
}

/// A file's name is on disk only once its folder is.
fn sync_folder(path: &Path) -> std::io::Result<()> {
    std::fs::File::open(path)?.sync_all()
}
