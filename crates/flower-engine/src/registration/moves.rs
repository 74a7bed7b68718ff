//! Repositories that were moved or copied, and projects that get another name.

use crate::Registration;
use crate::failpoint;
use crate::home::{repository_problem, require_writable};
use crate::lock;
use crate::merge_queue::main_branch::RecoveryCause;
use crate::projects::utf8;
use crate::repository_mark::{self, Mark};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{NoticeKind, ProjectView, RepositoryNotice};
use flower_core::policy::{self, Action};
use flower_core::{Caller, Command, Refusal, text};
use flower_git::repository::Repository;
use flower_git::{CommitId, Repo};
use std::path::Path;

/// Where a repository that is no project comes from.
pub(super) enum Origin {
    New,
    /// Of the repository of this project, which is still at its path.
    Copy(ProjectView),
    /// It is the repository of this project, which is not at its path any more.
    Moved(ProjectView),
}

impl Registration {
    /// Records that the repository of a project is at `path` now.
    pub async fn relocate(&self, caller: &Caller, name: &str, path: &Path) -> Result<ProjectView, Problem> {
        policy::require_action(caller, Action::MoveProject)?;
        let project = self.projects.get(name).await?;
        let top = path.canonicalize().ok();
        let Some(repository) = Repository::discover(path).filter(|found| Some(&found.root) == top.as_ref()) else {
            return Err(Problem::new(
                ProblemKind::Refused,
                format!("{} is not the top folder of a git repository", path.display()),
                format!("name the folder that `{}` was moved to", project.root),
            ));
        };
        let _one_at_a_time = self.repositories.registering.lock().await;
        let here = repository.root == Path::new(&project.root);
        match self.worktrees.repository_of(&project) {
            Ok(now) if !here && !repository_mark::is_same(&now, &repository) => {
                return Err(Problem::new(
                    ProblemKind::Conflict,
                    format!("the repository of `{name}` is still at {}", project.root),
                    format!(
                        "a copy becomes a project of its own: `flower up` in it; to move the repository there, move {} away first",
                        repository.root.display()
                    ),
                ));
            }
            _ => self.require_same_history(&project, &repository).await?,
        }
        self.move_to(caller, &project, &repository).await?;
        let mut moved = self.projects.get(name).await?;
        moved.moved_from = (!here).then_some(project.root);
        Ok(moved)
    }

    /// Gives a project another name. Its folders in FLOWER_HOME, and so its worktrees, stay where they are.
    pub async fn rename(&self, caller: &Caller, name: &str, to: &str) -> Result<ProjectView, Problem> {
        policy::require_action(caller, Action::RenameProject)?;
        // The rules record this form, and the folder must be found under it.
        let to = text::name("project", to)?;
        let to = to.as_str();
        let _one_at_a_time = self.repositories.registering.lock().await;
        let projects = self.projects.list().await?;
        self.projects.get(name).await?;
        // The rules refuse this too, but only after the other project's folder was changed.
        if let Some(other) = projects.into_iter().find(|project| project.name == to && to != name) {
            return Err(Refusal::ProjectTaken { name: other.name, root: other.root }.into());
        }
        let pause = self.merge_queue.pause(name).await?;
        let folders = self.projects.folders().await?;
        let folder = folders.into_iter().find(|(project, _)| project == name).map(|(_, folder)| folder);
        // Before the rename is visible: a request that follows at once finds the folders.
        self.home.set_folder(to, folder.as_deref().unwrap_or(name));
        let command = Command::RenameProject { name: name.to_owned(), to: to.to_owned() };
        if let Err(error) = self.store.execute(caller, command).await {
            if name != to {
                self.home.set_folder(to, to);
            }
            return Err(error);
        }
        drop(pause);
        if name != to {
            self.home.set_folder(name, name);
            self.worktrees.forget_lending(name);
        }
        if let Ok(repository) = self.worktrees.repository(to).await {
            self.worktrees.start_lending(to, &repository);
        }
        self.merge_queue.wake();
        self.projects.get(to).await
    }

    /// Whether the repository is a project's that was moved here, or a copy.
    pub(super) async fn find_origin(&self, repository: &Repository) -> Result<Origin, Problem> {
        let projects = self.projects.list().await?;
        let Some(mark) = repository_mark::read(repository) else {
            return self.find_unmarked(repository, projects).await;
        };
        let Some(project) = projects.into_iter().find(|project| project.at == mark.registered) else {
            return Ok(Origin::New);
        };
        let root = Path::new(&project.root);
        let there = Repository::discover(root).filter(|found| found.root == root);
        let Some(there) = there.filter(|there| repository_mark::read(there).as_ref() == Some(&mark)) else {
            // A forged mark does not make another repository the project's.
            let is_it = self.has_main(&project, repository).await? != Some(false);
            return Ok(if is_it { Origin::Moved(project) } else { Origin::New });
        };
        if repository_mark::is_same(&there, repository) {
            return Err(Problem::new(
                ProblemKind::Conflict,
                format!(
                    "{} is the repository of project `{}` by another path",
                    repository.root.display(),
                    project.name
                ),
                format!("work at {}", project.root),
            ));
        }
        Ok(Origin::Copy(project))
    }

    /// A repository that this flower served before it marked repositories has its lock file only. It is the one of the project that
    /// misses its repository, if it has the commit at which MAIN is recorded.
    async fn find_unmarked(&self, repository: &Repository, projects: Vec<ProjectView>) -> Result<Origin, Problem> {
        let home = lock::last_home(&repository.git_dir.join(super::LOCK));
        if home.as_deref() != Some(self.home.dir()) {
            return Ok(Origin::New);
        }
        let mut matching = Vec::new();
        for project in projects {
            if self.worktrees.repository_of(&project).is_err()
                && self.has_main(&project, repository).await? == Some(true)
            {
                matching.push(project);
            }
        }
        Ok(match <[ProjectView; 1]>::try_from(matching) {
            Ok([project]) => Origin::Moved(project),
            Err(_) => Origin::New,
        })
    }

    /// Whether the repository has the commit at which MAIN of the project is recorded; `None` if none is recorded.
    async fn has_main(&self, project: &ProjectView, repository: &Repository) -> Result<Option<bool>, Problem> {
        let Some(main) = self.worktrees.recorded_main(&project.name).await? else { return Ok(None) };
        Ok(Some(Repo::main(repository).has_commit(&CommitId::parse(&main.tip)?).await?))
    }

    async fn require_same_history(&self, project: &ProjectView, repository: &Repository) -> Result<(), Problem> {
        if self.has_main(project, repository).await? != Some(false) {
            return Ok(());
        }
        let name = &project.name;
        Err(Problem::new(
            ProblemKind::Refused,
            format!(
                "{} is another repository: it does not have the commit at which MAIN of `{name}` is recorded",
                repository.root.display()
            ),
            format!(
                "name the folder that {} was moved to; a new repository becomes a project with `flower up`",
                project.root
            ),
        ))
    }

    /// Records the new path, and repairs what names the old one. The caller holds the lock of registrations.
    pub(super) async fn move_to(
        &self,
        caller: &Caller,
        project: &ProjectView,
        repository: &Repository,
    ) -> Result<(), Problem> {
        policy::require_action(caller, Action::MoveProject)?;
        let (name, from) = (&project.name, Path::new(&project.root));
        let root = utf8(&repository.root)?;
        let pause = self.merge_queue.pause(name).await?;
        self.worktrees.require_no_jail(name, repository).await?;
        require_writable(repository)?;
        let was_held = self.repositories.holds(repository);
        self.repositories.take(repository, self.home.dir())?;
        // Paths are repaired before the move is recorded: a move that a kill ends is recognised and repeated, with the old path known.
        let moved = async {
            self.mark(project, repository)?;
            failpoint::here("move.marked");
            self.worktrees.relink(name, repository, from).await?;
            failpoint::here("move.relinked");
            self.store.execute(caller, Command::MoveProject { name: name.clone(), root }).await
        };
        if let Err(error) = moved.await {
            if !was_held {
                self.repositories.forget(&repository.root);
            }
            return Err(error);
        }
        failpoint::here("move.recorded");
        if from != repository.root {
            self.repositories.forget(from);
        }
        drop(pause);
        // A repository without commits has no hooks yet.
        if let Err(problem) = self.merge_queue.install_hooks_in(name).await {
            tracing::debug!("{name}: {}", problem.message);
        }
        self.worktrees.start_lending(name, repository);
        self.merge_queue.recover_landings_of(name, RecoveryCause::Failure).await;
        self.merge_queue.wake_now(name);
        Ok(())
    }

    /// Writes into the repository which project it is.
    pub(super) fn mark(&self, project: &ProjectView, repository: &Repository) -> Result<(), Problem> {
        let mark = Mark { home: self.home.dir().to_owned(), registered: project.at.clone() };
        repository_mark::write(repository, &mark).map_err(|error| repository_problem(&repository.git_dir, &error))
    }
}

pub(super) fn copy_notice(of: &ProjectView) -> RepositoryNotice {
    RepositoryNotice {
        kind: NoticeKind::Copy,
        text: format!(
            "this is a copy of {}, the repository of project `{}`, and a project of its own; branches of worktrees that came with \
             it stay",
            of.root, of.name
        ),
        next: Some("list them: `git branch --list 'flower/*'`".to_owned()),
    }
}
