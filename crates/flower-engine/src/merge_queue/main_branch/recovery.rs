//! Settles an alarm in one of three ways: adopts the commits made by hand, restores MAIN, or rescues the changes into a worktree.
//! Nothing is lost in any of them.

use super::checkout::{self, RemoveOnDrop, scratch_index};
use super::{MainLock, MainStatus, MainUpdate, UpdateTarget};
use super::{hook, open_merge};
use crate::MergeQueue;
use crate::own_refs::SAVED;
use crate::projects::ProjectChoice;
use crate::worktrees::{NewWorktree, disk};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{LandingView, MainView, RescueView};
use flower_core::landing::{self, Priority, Source};
use flower_core::main_branch::{Alarm, Settlement, Step};
use flower_core::policy::{self, Action};
use flower_core::text::{TITLE_CHARS, cut};
use flower_core::worktree::{Seal, WorktreeKind};
use flower_core::{Caller, Command, Main};
use flower_git::lfs::{Lfs, contents};
use flower_git::repository::Repository;
use flower_git::{Change, CommitId, NewCommit, OwnRef, Repo, TreeId};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const ADD_TIMEOUT: Duration = Duration::from_secs(10 * 60);

impl MergeQueue {
    /// Queues the commits that were made in MAIN by hand, so that they pass the checks.
    pub async fn adopt_main(self: &Arc<Self>, caller: &Caller, choice: &ProjectChoice) -> Result<LandingView, Problem> {
        policy::require_action(caller, Action::AdoptMain)?;
        let project = self.projects.require(choice).await?;
        let lock = self.lock_main(&project).await?;
        let (main, status) = self.check_main(&lock).await?;
        let refused = |message: String, hint: &str| Err(Problem::new(ProblemKind::Refused, message, hint));
        let Some(found) = status.tip.clone().filter(|tip| tip.as_str() != main.tip) else {
            return match &main.alarm {
                Some(alarm) if alarm.what == Alarm::Dirty => refused(
                    "nothing was committed in MAIN; files are changed".into(),
                    "move them into a worktree: `flower main rescue`, and land that",
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
            title: cut(&format!("Adopt: {subject}"), TITLE_CHARS),
            briefs: Vec::new(),
            priority: Priority::High,
            reverts: None,
        };
        drop(lock);
        self.enqueue_or_join(caller, request).await
    }

    /// Resets MAIN to the recorded tip. Its changes are saved under a ref.
    pub async fn restore_main(&self, caller: &Caller, choice: &ProjectChoice) -> Result<MainView, Problem> {
        policy::require_action(caller, Action::RestoreMain)?;
        let project = self.projects.require(choice).await?;
        let lock = self.lock_main(&project).await?;
        let (main, status) = self.check_main(&lock).await?;
        let saved = self.save_changes(&lock, &main, &status, &[]).await?;
        let stashed = open_merge::rebase(&lock.repository, &main.branch).and_then(|rebase| rebase.stashed);
        self.reset_main(&lock, &main, &status, saved.as_ref()).await?;
        let step = Step::Settle { how: Settlement::Restored, tip: main.tip.clone(), worktree: None };
        self.store.execute(caller, Command::Main { project: project.clone(), step }).await?;
        self.wake();
        let (main, status) = self.check_main(&lock).await?;
        let mut view = self.view_main(&lock, main, status).await?;
        if let Some(saved) = saved {
            view.notes.insert(0, format!("what was there is kept as {}", saved_ref(&saved)?));
        }
        if let Some(stashed) = stashed {
            view.notes.insert(0, format!("what git had put aside for the rebase is kept as {}", saved_ref(&stashed)?));
        }
        Ok(view)
    }

    /// Moves the changes that were made in MAIN by hand to a new worktree, and resets MAIN. Untracked files are moved only if
    /// `paths` names them or a folder above.
    pub async fn rescue_main(
        &self,
        caller: &Caller,
        choice: &ProjectChoice,
        name: Option<String>,
        paths: &[String],
    ) -> Result<RescueView, Problem> {
        policy::require_action(caller, Action::RescueMain)?;
        let project = self.projects.require(choice).await?;
        let (saved, files) = {
            let lock = self.lock_main(&project).await?;
            let (main, status) = self.check_main(&lock).await?;
            let named = paths.iter().map(|path| path_in_main(&lock.repository, path)).collect::<Result<Vec<_>, _>>()?;
            let Some(saved) = self.save_changes(&lock, &main, &status, &named).await? else {
                return Err(nothing_to_rescue(&lock.repository, &main).await?);
            };
            let files = checkout::changes(&lock.repository, &CommitId::parse(&main.tip)?, &saved).await?;
            (saved, files.iter().map(Change::name).collect::<Vec<_>>())
        };
        let name = match name {
            Some(name) => name,
            None => self.free_worktree_name(&project, "rescue").await?,
        };
        // The worktree is made first, so that a failure leaves MAIN as it is.
        let wanted = self.worktree_from(name, &saved).await;
        let worktree = self.worktrees.create(caller, &project, wanted).await?;
        let lock = self.lock_main(&project).await?;
        let (main, status) = self.check_main(&lock).await?;
        let left = self.reset_main(&lock, &main, &status, Some(&saved)).await?;
        let (how, worktree_name) = (Settlement::Rescued, Some(worktree.name.clone()));
        let step = Step::Settle { how, tip: main.tip.clone(), worktree: worktree_name };
        self.store.execute(caller, Command::Main { project, step }).await?;
        self.wake();
        let (main, status) = self.check_main(&lock).await?;
        let main = self.view_main(&lock, main, status).await?;
        Ok(RescueView { worktree, files, left, main })
    }

    /// A worktree that begins at this commit, as strongly protected as possible.
    pub(super) async fn worktree_from(&self, name: String, commit: &CommitId) -> NewWorktree {
        NewWorktree {
            name,
            kind: WorktreeKind::Ephemeral,
            seal: if self.worktrees.protection().await.missing.is_empty() { Seal::Sealed } else { Seal::Linked },
            from: Some(commit.to_string()),
            brief: None,
            no_setup: true,
            lfs_pointers: true,
        }
    }

    pub(super) async fn free_worktree_name(&self, project: &str, word: &str) -> Result<String, Problem> {
        let taken: Vec<String> = self.worktrees.live(project).await?.into_iter().map(|w| w.name).collect();
        let repository = self.worktrees.repository(project).await?;
        for name in (1..1_000).map(|n| format!("{word}-{n}")) {
            let branch = OwnRef::branch(&flower_core::worktree::branch(&name))?;
            if !taken.contains(&name) && Repo::main(&repository).tip(&branch).await?.is_none() {
                return Ok(name);
            }
        }
        Err(Problem::usage(format!("there are too many worktrees `{word}-…`"), "name it: `--as NAME`"))
    }

    /// Saves what differs from the recorded MAIN under refs: uncommitted changes as a new commit, the commit that is checked out, the
    /// tip of the branch, and what an open merge merges. Returns the commit with the most recent of these, or `None` if nothing differs.
    async fn save_changes(
        &self,
        lock: &MainLock,
        main: &Main,
        status: &MainStatus,
        named: &[PathBuf],
    ) -> Result<Option<CommitId>, Problem> {
        let repo = Repo::main(&lock.repository);
        let stashed = open_merge::rebase(&lock.repository, &main.branch).and_then(|rebase| rebase.stashed);
        let main = CommitId::parse(&main.tip)?;
        // The checkout need not be on MAIN's branch.
        let head = repo.head().await?.unwrap_or_else(|| main.clone());
        let mut saved = None;
        let tree = tree_of_checkout(&self.home, &lock.repository, &main, named).await?;
        if tree != repo.tree_of(&head).await? {
            let committer = repo.identity().await?;
            let message = "Changes that were made in MAIN by hand\n";
            let new = NewCommit { tree: &tree, parents: &[&head], message, committer: &committer, author: None };
            saved = Some(repo.clone().durable().commit_tree(new).await?);
        } else if head != main {
            saved = Some(head);
        }
        let tip = status.tip.clone().filter(|tip| *tip != main && Some(tip) != saved.as_ref());
        for commit in saved.iter().chain(&tip).chain(&stashed).chain(&open_merge::heads(&lock.repository)) {
            repo.set_ref(&saved_ref(commit)?, commit).await?;
        }
        Ok(saved.or(tip))
    }

    /// Resets branch, HEAD and files to what the log has. Returns the files that changed again after they were saved, which stay.
    async fn reset_main(
        &self,
        lock: &MainLock,
        main: &Main,
        status: &MainStatus,
        saved: Option<&CommitId>,
    ) -> Result<Vec<String>, Problem> {
        let repository = &lock.repository;
        let recorded = CommitId::parse(&main.tip)?;
        let mut left = Vec::new();
        match &status.tip {
            Some(tip) if *tip != recorded => {
                let changes = checkout::changes(repository, tip, &recorded).await?;
                match self.move_main(lock, main, tip, &UpdateTarget::Recorded(main), &changes).await? {
                    MainUpdate::Done => self.close_journal(&lock.project),
                    MainUpdate::Conflict => {
                        return Err(Problem::new(
                            ProblemKind::Conflict,
                            "MAIN's branch moved during the reset",
                            "end the program that moves it, and try again",
                        ));
                    }
                }
            }
            Some(_) => {}
            None => lock.recreate_branch(main).await?,
        }
        if status.head.as_ref() != Some(&main.branch) {
            lock.attach_head(main).await?;
        }
        if let Some(saved) = saved {
            left = checkout::restore_files(&self.home, repository, saved, &recorded).await?;
        }
        open_merge::forget(repository, &main.branch)
            .and_then(|()| hook::forget_tried(repository))
            .map_err(|error| crate::home::problem(&repository.git_dir, &error))?;
        Ok(left)
    }
}

/// A tree of the tracked files as they are in the checkout, with untracked ones that are named or in the way of a file that MAIN
/// has. The operator's index does not change.
async fn tree_of_checkout(
    home: &crate::home::Home,
    repository: &Repository,
    main: &CommitId,
    named: &[PathBuf],
) -> Result<TreeId, Problem> {
    let index = scratch_index(home);
    let _remove = RemoveOnDrop(index.clone());
    // What is added of LFS is a pointer, and its content is stored.
    let repo = copy_of_index(repository, &index)?.with_lfs(Lfs::Store(contents(repository)));
    repo.add_tracked().await?;
    if !named.is_empty() {
        repo.add(named).await.map_err(|error| {
            let hint = "name untracked files of MAIN that git does not ignore; `git status` lists them";
            Problem::new(ProblemKind::Refused, error.to_string(), hint)
        })?;
    }
    let tree = repo.write_tree().await?;
    // What stands in the way could not be put aside otherwise, and would stay as a change.
    let changes = checkout::changes(repository, &tree, main).await?;
    let in_the_way: Vec<PathBuf> =
        checkout::obstacles(repository, &changes).into_iter().map(|(_, path)| path).collect();
    if in_the_way.is_empty() {
        return Ok(tree);
    }
    repo.add_ignored(&in_the_way).await?;
    Ok(repo.write_tree().await?)
}

/// git with a copy of MAIN's index, which spares git from reading unchanged files.
pub(super) fn copy_of_index(repository: &Repository, index: &Path) -> Result<Repo, Problem> {
    let own = repository.git_dir.join("index");
    if own.exists() {
        disk::copy_index(&own, index).map_err(|error| crate::home::problem(&own, &error))?;
    }
    Ok(Repo::main(repository).with_index(index).with_deadline(ADD_TIMEOUT))
}

/// A path of a request, from the root of MAIN. It may be absolute.
fn path_in_main(repository: &Repository, path: &str) -> Result<PathBuf, Problem> {
    let given = Path::new(path);
    // The folder may be named by another way, through a link.
    let folder = given.parent().filter(|_| given.is_absolute()).and_then(|folder| folder.canonicalize().ok());
    let real = folder.zip(given.file_name()).map(|(folder, name)| folder.join(name));
    let given = real.as_deref().unwrap_or(given);
    let below = if given.is_absolute() { given.strip_prefix(&repository.root).ok() } else { Some(given) };
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(name) if name != ".git");
    match below {
        Some(below) if below.components().next().is_some() && below.components().all(is_plain) => Ok(below.to_owned()),
        _ => Err(Problem::new(
            ProblemKind::Invalid,
            format!("`{path}` is not in MAIN's checkout"),
            format!("name files below {}", repository.root.display()),
        )),
    }
}

async fn nothing_to_rescue(repository: &Repository, main: &Main) -> Result<Problem, Problem> {
    if let Some(put_back) = &main.put_back {
        return Ok(Problem::new(ProblemKind::Refused, "there is nothing in MAIN to be rescued", put_back.note()));
    }
    let untracked = Repo::main(repository).with_deadline(ADD_TIMEOUT).untracked().await?;
    let (message, hint) = match untracked.first() {
        None => ("there is nothing in MAIN to be rescued", "`flower main` shows the state of MAIN".to_owned()),
        Some(first) => (
            "no tracked file of MAIN is changed; untracked files stay where they are, unless you name them",
            format!("to move one into a worktree: `flower main rescue {}`", first.to_string_lossy()),
        ),
    };
    Ok(Problem::new(ProblemKind::Refused, message, hint))
}

/// The ref that keeps a commit found in MAIN.
pub(super) fn saved_ref(commit: &CommitId) -> Result<OwnRef, Problem> {
    Ok(OwnRef::parse(&format!("{SAVED}/{commit}"))?)
}
