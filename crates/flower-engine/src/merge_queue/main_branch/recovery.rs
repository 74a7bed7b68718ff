//! The three ways out when somebody else has been at MAIN: take it in, put it back, or make it a worktree. None of them loses
//! anything.

use super::checkout::{self, RemoveOnDrop, scratch_index};
use super::{MainLock, Moved, Seen, Target};
use crate::MergeQueue;
use crate::own_refs::SAVED;
use crate::projects::ProjectChoice;
use crate::worktrees::NewWorktree;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{LandingView, MainView, RescueView};
use flower_core::landing::{self, Priority, Source};
use flower_core::main_branch::{Alarm, Settlement, Step};
use flower_core::policy::{self, Action};
use flower_core::worktree::{Seal, WorktreeKind};
use flower_core::{Caller, Command, Main};
use flower_git::repository::Repository;
use flower_git::{Change, CommitId, NewCommit, OwnRef, Repo, TreeId};
use std::fs;
use std::time::Duration;

const ADDING: Duration = Duration::from_secs(10 * 60);

impl MergeQueue {
    /// Takes commits that were made in MAIN by hand in, through the checks.
    pub async fn adopt_main(&self, caller: &Caller, choice: &ProjectChoice) -> Result<LandingView, Problem> {
        policy::require_action(caller, Action::AdoptMain)?;
        let project = self.projects.require(choice).await?;
        let lock = self.lock_main(&project).await?;
        let (main, seen) = self.check_main(&lock).await?;
        let refused = |message: String, hint: &str| Err(Problem::new(ProblemKind::Refused, message, hint));
        let Some(found) = seen.tip.clone().filter(|tip| tip.as_str() != main.tip) else {
            return match &main.alarm {
                Some(alarm) if alarm.what == Alarm::Dirty => refused(
                    "nothing was committed in MAIN; files are changed".into(),
                    "make them a worktree: `flower main rescue`, and land that",
                ),
                Some(alarm) => refused(alarm.text.clone(), "put it back: `flower main restore`"),
                None => {
                    refused("MAIN is where it should be; there is nothing to adopt".into(), "`flower main` shows it")
                }
            };
        };
        let repo = Repo::main(&lock.repository);
        if repo.is_ancestor(&found, &CommitId::parse(&main.tip)?).await? {
            return refused(
                "MAIN's branch was moved back; there is nothing new in it".into(),
                "put it right: `flower main restore`",
            );
        }
        let subject = repo.subject(&found).await?;
        let request = landing::Request {
            project,
            source: Source::Adopted,
            worktree: None,
            worktree_number: None,
            commit: found.into(),
            title: flower_core::text::cut(&format!("Adopt: {subject}"), 200),
            briefs: Vec::new(),
            priority: Priority::High,
            reverts: None,
        };
        drop(lock);
        self.enqueue(caller, request).await
    }

    /// Puts MAIN back to where the log has it. What was there is kept.
    pub async fn restore_main(&self, caller: &Caller, choice: &ProjectChoice) -> Result<MainView, Problem> {
        policy::require_action(caller, Action::RestoreMain)?;
        let project = self.projects.require(choice).await?;
        let lock = self.lock_main(&project).await?;
        let (main, seen) = self.check_main(&lock).await?;
        let kept = self.save(&lock, &seen).await?;
        self.put_back_main(&lock, &main, &seen, kept.as_ref()).await?;
        let step = Step::Settle { how: Settlement::Restored, tip: main.tip.clone(), worktree: None };
        self.store.execute(caller, Command::Main { project: project.clone(), step }).await?;
        self.wake();
        let (main, seen) = self.check_main(&lock).await?;
        let mut view = self.view_main(&lock, main, seen).await?;
        if let Some(kept) = kept {
            view.notes.insert(0, format!("what was there is kept as {}", kept_ref(&kept)?));
        }
        Ok(view)
    }

    /// Makes whatever was done in MAIN by hand a worktree of its own; MAIN is clean after.
    pub async fn rescue_main(
        &self,
        caller: &Caller,
        choice: &ProjectChoice,
        name: Option<String>,
    ) -> Result<RescueView, Problem> {
        policy::require_action(caller, Action::RescueMain)?;
        let project = self.projects.require(choice).await?;
        let (kept, files) = {
            let lock = self.lock_main(&project).await?;
            let (main, seen) = self.check_main(&lock).await?;
            let Some(kept) = self.save(&lock, &seen).await? else {
                return Err(Problem::new(
                    ProblemKind::Refused,
                    "there is nothing in MAIN to be rescued",
                    "`flower main` shows how it stands",
                ));
            };
            let files = checkout::changes(&lock.repository, &CommitId::parse(&main.tip)?, &kept).await?;
            (kept, files.iter().map(Change::name).collect::<Vec<_>>())
        };
        let name = match name {
            Some(name) => name,
            None => self.free_worktree_name(&project).await?,
        };
        // First it is safe elsewhere; only then MAIN changes.
        let wanted = NewWorktree {
            name,
            kind: WorktreeKind::Ephemeral,
            seal: if self.worktrees.protection().await.missing.is_empty() { Seal::Sealed } else { Seal::Linked },
            from: Some(kept.to_string()),
            brief: None,
            no_setup: true,
            lfs_pointers: true,
        };
        let worktree = self.worktrees.create(caller, &project, wanted).await?;
        let lock = self.lock_main(&project).await?;
        let (main, seen) = self.check_main(&lock).await?;
        let left = self.put_back_main(&lock, &main, &seen, Some(&kept)).await?;
        let (how, worktree_name) = (Settlement::Rescued, Some(worktree.name.clone()));
        let step = Step::Settle { how, tip: main.tip.clone(), worktree: worktree_name };
        self.store.execute(caller, Command::Main { project, step }).await?;
        self.wake();
        let (main, seen) = self.check_main(&lock).await?;
        let main = self.view_main(&lock, main, seen).await?;
        Ok(RescueView { worktree, files, left, main })
    }

    async fn free_worktree_name(&self, project: &str) -> Result<String, Problem> {
        let taken: Vec<String> = self.worktrees.live(project).await?.into_iter().map(|w| w.name).collect();
        let repository = self.worktrees.repository(project).await?;
        for name in (1..1_000).map(|n| format!("rescue-{n}")) {
            let branch = OwnRef::branch(&flower_core::worktree::branch(&name))?;
            if !taken.contains(&name) && Repo::main(&repository).tip(&branch).await?.is_none() {
                return Ok(name);
            }
        }
        Err(Problem::usage("there are too many rescued worktrees", "name it: `--as NAME`"))
    }

    /// Commits everything that is in MAIN's checkout, through an index of its own, and keeps it. Nothing if there is nothing new.
    async fn save(&self, lock: &MainLock, seen: &Seen) -> Result<Option<CommitId>, Problem> {
        let repo = Repo::main(&lock.repository);
        let main = CommitId::parse(&self.worktrees.main_of(&lock.project).await?.tip)?;
        // What the checkout is based on, which need not be MAIN's branch.
        let head = repo.head().await?.unwrap_or_else(|| main.clone());
        let mut kept = None;
        if !seen.dirty.is_empty() {
            let tree = tree_of_checkout(&self.home, &lock.repository).await?;
            let committer = repo.identity().await?;
            let message = "Changes that were made in MAIN by hand\n";
            let new = NewCommit { tree: &tree, parents: &[&head], message, committer: &committer, author: None };
            kept = Some(repo.clone().durable().commit_tree(new).await?);
        } else if head != main {
            kept = Some(head);
        }
        let tip = seen.tip.clone().filter(|tip| *tip != main && Some(tip) != kept.as_ref());
        for commit in kept.iter().chain(&tip) {
            repo.set_ref(&kept_ref(commit)?, commit).await?;
        }
        Ok(kept.or(tip))
    }

    /// Branch, HEAD and files as the log has them. Files that changed once more since they were saved stay, and are named.
    async fn put_back_main(
        &self,
        lock: &MainLock,
        main: &Main,
        seen: &Seen,
        saved: Option<&CommitId>,
    ) -> Result<Vec<String>, Problem> {
        let repository = &lock.repository;
        let recorded = CommitId::parse(&main.tip)?;
        let mut left = Vec::new();
        match &seen.tip {
            Some(tip) if *tip != recorded => {
                let changes = checkout::changes(repository, tip, &recorded).await?;
                match self.move_main(lock, main, tip, &Target::Recorded(main), &changes).await? {
                    Moved::Yes { .. } => self.close_journal(&lock.project),
                    Moved::Conflict => {
                        return Err(Problem::new(
                            ProblemKind::Conflict,
                            "MAIN's branch moves in this moment",
                            "end what moves it, and try again",
                        ));
                    }
                }
            }
            Some(_) => {}
            None => lock.recreate_branch(main).await?,
        }
        if seen.head.as_ref() != Some(&main.branch) {
            lock.attach_head(main).await?;
        }
        if let Some(saved) = saved {
            left = checkout::put_back(&self.home, repository, saved, &recorded).await?;
        }
        Ok(left)
    }
}

/// Everything that git would add, as a tree; the operator's own index stays as it is.
async fn tree_of_checkout(home: &crate::home::Home, repository: &Repository) -> Result<TreeId, Problem> {
    let index = scratch_index(home);
    let _remove = RemoveOnDrop(index.clone());
    // With what is known of the files, so that not all of them are read again.
    let own = repository.git_dir.join("index");
    if own.exists() {
        fs::copy(&own, &index).map_err(|error| crate::home::problem(&own, &error))?;
    }
    let repo = Repo::main(repository).with_index(&index).with_deadline(ADDING);
    repo.add_all().await?;
    Ok(repo.write_tree().await?)
}

/// Where something that was found in MAIN stays.
fn kept_ref(commit: &CommitId) -> Result<OwnRef, Problem> {
    Ok(OwnRef::parse(&format!("{SAVED}/{commit}"))?)
}
