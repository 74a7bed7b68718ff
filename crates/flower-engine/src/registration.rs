//! Registers repositories as projects of this flower, and removes them. Each repository has one daemon at a time.

mod moves;
mod notices;

use crate::Setup;
use crate::home::{Home, repository_problem, require_writable};
use crate::lock::{Holder, Lock, LockError};
use crate::merge_queue::main_branch::hook;
use crate::projects::{ProjectChoice, bare, utf8};
use crate::repository_mark;
use crate::worktrees::disk;
use crate::{Access, MergeQueue, Projects, Worktrees};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{ProjectView, RemovedProject};
use flower_core::policy::{self, Action, Read};
use flower_core::{Caller, Command};
use flower_git::lfs;
use flower_git::repository::Repository;
use flower_store::Store;
use moves::Origin;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The lock's file in `.git`.
const LOCK: &str = "flower.lock";

/// The locks that exclude other daemons from the repositories of this one.
#[derive(Debug, Default)]
pub struct RepositoryLocks {
    /// By the repository's root: the lock and its file.
    held: Mutex<HashMap<PathBuf, (Lock, PathBuf)>>,
    /// Held during a registration, so that a free name stays free until it is recorded.
    registering: tokio::sync::Mutex<()>,
}

impl RepositoryLocks {
    pub fn take(&self, repository: &Repository, home: &Path) -> Result<(), Problem> {
        let mut held = self.held.lock().expect("no panic while held");
        let path = repository.git_dir.join(LOCK);
        if held.get(&repository.root).is_some_and(|(lock, _)| lock.is_at(&path)) {
            return Ok(());
        }
        // The lock moves with its file. On another file system there is a new file, which is not locked.
        let moved = held.iter().find(|(_, (lock, _))| lock.is_at(&path)).map(|(root, _)| root.clone());
        if let Some((lock, _)) = moved.and_then(|root| held.remove(&root)) {
            held.insert(repository.root.clone(), (lock, path));
            return Ok(());
        }
        let lock = Lock::acquire(&path, &Holder::this_process(home, None)).map_err(|error| match error {
            LockError::Held(holder) => {
                let who = holder.map_or_else(String::new, |h| format!(" of {} (process {})", h.home, h.pid));
                Problem::new(
                    ProblemKind::Conflict,
                    format!("another flower{who} serves {}", repository.root.display()),
                    "use that one, or stop it first: `FLOWER_HOME=… flower down`",
                )
            }
            LockError::Io(error) => repository_problem(&path, &error),
        })?;
        held.insert(repository.root.clone(), (lock, path));
        Ok(())
    }

    /// Whether the lock of the repository is held, also if it was moved since.
    fn holds(&self, repository: &Repository) -> bool {
        let path = repository.git_dir.join(LOCK);
        self.held.lock().expect("no panic while held").values().any(|(lock, _)| lock.is_at(&path))
    }

    /// Releases a repository that was moved or deleted.
    fn forget(&self, root: &Path) {
        self.held.lock().expect("no panic while held").remove(root);
    }

    /// Releases a repository and deletes the lock's file.
    pub fn release(&self, root: &Path) {
        let held = self.held.lock().expect("no panic while held").remove(root);
        if let Some((lock, path)) = held
            && let Err(error) = lock.remove(&path)
        {
            tracing::warn!("{} stays behind: {error}", path.display());
        }
    }
}

pub struct Registration {
    store: Store,
    home: Home,
    access: Arc<Access>,
    projects: Arc<Projects>,
    worktrees: Arc<Worktrees>,
    merge_queue: Arc<MergeQueue>,
    repositories: RepositoryLocks,
}

impl Registration {
    pub(crate) fn new(
        setup: &Setup,
        access: &Arc<Access>,
        projects: &Arc<Projects>,
        worktrees: &Arc<Worktrees>,
        merge_queue: &Arc<MergeQueue>,
    ) -> Registration {
        Registration {
            store: setup.store.clone(),
            home: setup.home.clone(),
            access: access.clone(),
            projects: projects.clone(),
            worktrees: worktrees.clone(),
            merge_queue: merge_queue.clone(),
            repositories: RepositoryLocks::default(),
        }
    }

    /// Locks the repositories of all projects. A repository that another daemon serves, or that does not exist any more, does not
    /// prevent the start.
    pub async fn take_repositories(&self) {
        let projects = match self.projects.list().await {
            Ok(projects) => projects,
            Err(problem) => {
                tracing::warn!("projects cannot be read: {}", problem.message);
                return;
            }
        };
        match self.projects.folders().await {
            Ok(folders) => folders.iter().for_each(|(project, folder)| self.home.set_folder(project, folder)),
            Err(problem) => tracing::warn!("projects cannot be read: {}", problem.message),
        }
        for project in projects {
            let taken = || {
                let repository = self.worktrees.repository_of(&project)?;
                // A clone that was made in its place since has neither. It is not known to be the project's until `flower up` in it,
                // and a lock would make it known at the next start.
                let is_known = repository.git_dir.join(LOCK).exists() || repository_mark::read(&repository).is_some();
                if !is_known {
                    tracing::warn!(
                        "{} has no mark of this flower, so it may be another repository; `flower up` in it makes it the project's",
                        repository.root.display()
                    );
                    return Ok(());
                }
                self.repositories.take(&repository, self.home.dir())?;
                // An earlier daemon may have been killed while it stored a content, and no other one serves the repository.
                let drafts = lfs::drafts(&lfs::contents(&repository));
                disk::delete(&drafts).map_err(|error| repository_problem(&drafts, &error))?;
                self.mark(&project, &repository)
            };
            if let Err(problem) = taken() {
                tracing::warn!("project {}: {}", project.name, problem.message);
            }
        }
    }

    /// The projects that the caller may read.
    pub async fn list(&self, caller: &Caller) -> Result<Vec<ProjectView>, Problem> {
        let reader = self.access.reader(caller).await?;
        let mut projects = self.projects.list().await?;
        projects.retain(|project| reader.may(Read::Project { name: &project.name }));
        for project in &mut projects {
            project.lending = self.worktrees.lending_note(&project.name);
            project.missing = self.worktrees.repository_of(project).err().map(|problem| problem.message);
        }
        Ok(projects)
    }

    /// Registers the repository around `dir`, unless it is a project already.
    pub async fn register(&self, caller: &Caller, dir: &Path, name: Option<String>) -> Result<ProjectView, Problem> {
        // The rules would refuse this too, but only after the repository is locked.
        policy::require_action(caller, Action::RegisterProject)?;
        let Some(repository) = Repository::discover(dir) else {
            if Repository::is_bare(dir) {
                return Err(bare(dir));
            }
            return Err(Problem::new(
                ProblemKind::Refused,
                format!("{} is not inside a git repository", dir.display()),
                "go to one, or make one: `git init`",
            ));
        };
        if let Some(problem) = self.home.problem_inside(&repository.root) {
            return Err(problem);
        }
        let root = utf8(&repository.root)?;
        let _one_at_a_time = self.repositories.registering.lock().await;
        let mut known = self.projects.at_root(&repository.root).await?;
        let mut moved_from = None;
        let mut copy_of = None;
        match &known {
            Some(known) => drop(self.worktrees.repository(known).await?),
            None => match self.find_origin(&repository).await? {
                Origin::New => {}
                Origin::Copy(of) => copy_of = Some(of),
                Origin::Moved(project) => {
                    self.move_to(caller, &project, &repository).await?;
                    (moved_from, known) = (Some(project.root), Some(project.name));
                }
            },
        }
        let is_new = known.is_none();
        let name = match (name, known) {
            (Some(name), Some(known)) if name != known => {
                return Err(Problem::new(
                    ProblemKind::Conflict,
                    format!("{root} is project `{known}` already"),
                    format!("to call it `{name}`: `flower project rename {known} {name}`"),
                ));
            }
            (_, Some(known)) => known,
            (Some(name), None) => name,
            (None, None) => self.free_name(&repository).await?,
        };
        self.repositories.take(&repository, self.home.dir())?;
        let registered = self.store.execute(caller, Command::RegisterProject { name: name.clone(), root }).await;
        if registered.is_err() && is_new {
            self.repositories.release(&repository.root);
        }
        registered?;
        self.mark(&self.projects.get(&name).await?, &repository)?;
        if copy_of.is_some() {
            self.worktrees.tidy_copy(&name, &repository).await?;
        }
        // A repository without commits gets its hooks once it has some.
        if let Err(problem) = self.merge_queue.install_hooks_in(&name).await {
            tracing::debug!("{name}: {}", problem.message);
        }
        self.worktrees.start_lending(&name, &repository);
        let mut project = self.projects.get(&name).await?;
        project.lending = self.worktrees.lending_note(&name);
        // flower's git runs none of these programs; the operator should know that others do.
        project.programs = flower_git::programs(&repository).await.unwrap_or_default();
        project.notices = self.notices(&name).await.unwrap_or_default();
        project.notices.extend(copy_of.map(|of| moves::copy_notice(&of)));
        project.moved_from = moved_from;
        Ok(project)
    }

    /// Removes a project and everything of flower from its repository. Branches with work that is not in MAIN stay, and so do the
    /// archives of its worktrees.
    pub async fn remove(&self, caller: &Caller, name: &str) -> Result<RemovedProject, Problem> {
        policy::require_action(caller, Action::RemoveProject)?;
        let (root, repository) = self.repository_to_clean(name).await?;
        self.worktrees.wait_for_removals(name).await?;
        let remains = self.worktrees.remains_after_removal(name, repository.as_ref()).await?;
        let mut in_main = Vec::new();
        if let Some(repository) = &repository {
            require_writable(repository)?;
            self.worktrees.pack_archives(name, repository).await?;
            // A removed project has no MAIN to compare with.
            in_main = self.worktrees.branches_in_main(name, repository).await?;
        }
        self.store.execute(caller, Command::RemoveProject { name: name.to_owned() }).await?;
        if let Some(repository) = &repository {
            self.worktrees.clean_repository(repository, &in_main).await?;
            hook::uninstall(repository)
                .and_then(|()| repository_mark::remove(repository))
                .map_err(|error| repository_problem(&repository.git_dir, &error))?;
        }
        crate::worktrees::reclaim(&self.home, &self.home.in_project(self.home.objects(), name));
        // A new project of this name has folders of its own.
        self.home.set_folder(name, name);
        match repository {
            Some(_) => self.repositories.release(&root),
            None => self.repositories.forget(&root),
        }
        Ok(remains)
    }

    /// What [`Registration::remove`] would leave behind now.
    pub async fn preview_removal(&self, caller: &Caller, name: &str) -> Result<RemovedProject, Problem> {
        policy::require_action(caller, Action::RemoveProject)?;
        let (_, repository) = self.repository_to_clean(name).await?;
        self.worktrees.remains_after_removal(name, repository.as_ref()).await
    }

    /// The project's root, and its repository if it still exists.
    async fn repository_to_clean(&self, name: &str) -> Result<(PathBuf, Option<Repository>), Problem> {
        let project = self.projects.get(name).await?;
        let repository = self.worktrees.repository_of(&project).ok();
        Ok((PathBuf::from(project.root), repository))
    }

    /// The project for something new. Registers the repository around the caller if it is no project yet; outside of a repository, the
    /// only project.
    pub async fn project_for_new(&self, caller: &Caller, choice: &ProjectChoice) -> Result<String, Problem> {
        if let Some(name) = self.projects.find(choice).await? {
            return Ok(name);
        }
        if let Some(dir) = &choice.dir
            && Repository::discover(dir).is_some()
        {
            return self.register(caller, dir, None).await.map(|project| project.name);
        }
        self.projects.require(choice).await
    }

    /// The folder's name, with a number appended if another project has it.
    async fn free_name(&self, repository: &Repository) -> Result<String, Problem> {
        let base = repository.default_name();
        let taken: Vec<String> = self.projects.list().await?.into_iter().map(|p| p.name).collect();
        let numbered = (2..).map(|n| format!("{base}-{n}"));
        let free = std::iter::once(base.clone()).chain(numbered).find(|name| !taken.contains(name));
        Ok(free.expect("there are always more numbers"))
    }
}
