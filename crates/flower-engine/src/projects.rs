//! Projects: the repositories that this flower serves. Each repository has one daemon at a time.

use super::{App, require_operator};
use crate::lock::{Holder, Lock, LockError};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{ProjectView, RemovedProject};
use flower_core::policy::Read;
use flower_core::{Caller, Command, Refusal};
use flower_git::repository::Repository;
use flower_store::tables;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// How a caller says which project it means.
#[derive(Clone, Debug, Default)]
pub struct ProjectChoice {
    pub name: Option<String>,
    /// A directory; the repository around it counts.
    pub dir: Option<PathBuf>,
}

/// The locks that keep other daemons off the repositories of this one.
#[derive(Debug, Default)]
pub struct RepositoryLocks {
    /// By the repository's root: the lock and its file.
    held: Mutex<HashMap<PathBuf, (Lock, PathBuf)>>,
    /// One at a time, so that a name found to be free still is when it is taken.
    registering: tokio::sync::Mutex<()>,
}

impl RepositoryLocks {
    pub fn take(&self, repository: &Repository, home: &Path) -> Result<(), Problem> {
        let mut held = self.held.lock().expect("no panic while held");
        if held.contains_key(&repository.root) {
            return Ok(());
        }
        let path = repository.git_dir.join("flower.lock");
        let lock = Lock::take(&path, &Holder::this_process(home, None)).map_err(|error| match error {
            LockError::Held(holder) => {
                let who = holder.map_or_else(String::new, |h| format!(" of {} (process {})", h.home, h.pid));
                Problem::new(
                    ProblemKind::Conflict,
                    format!("another flower{who} serves {}", repository.root.display()),
                    "use that one, or stop it first: `FLOWER_HOME=… flower down`",
                )
            }
            LockError::Io(error) => Problem::unreachable(
                format!("{}: {error}", path.display()),
                "make the repository writable for you, then try again",
            ),
        })?;
        held.insert(repository.root.clone(), (lock, path));
        Ok(())
    }

    /// Lets another flower have the repository, and leaves nothing of ours in it.
    pub fn release(&self, root: &Path) {
        let held = self.held.lock().expect("no panic while held").remove(root);
        if let Some((lock, path)) = held
            && let Err(error) = lock.remove(&path)
        {
            tracing::warn!("{} stays behind: {error}", path.display());
        }
    }
}

impl App {
    /// Those that the caller may read.
    pub async fn projects_for(&self, caller: &Caller) -> Result<Vec<ProjectView>, Problem> {
        let reader = self.reader(caller).await?;
        let mut projects = self.projects().await?;
        projects.retain(|project| reader.may(Read::Project { name: &project.name }));
        Ok(projects)
    }

    pub async fn projects(&self) -> Result<Vec<ProjectView>, Problem> {
        let projects = self.store.read(tables::projects).await?;
        Ok(projects
            .into_iter()
            .map(|p| {
                let lending = self.lending_note(&p.name);
                ProjectView { name: p.name, root: p.root, at: p.at, programs: Vec::new(), lending }
            })
            .collect())
    }

    /// Makes the repository around `dir` a project, or finds that it is one.
    pub async fn register_project(
        &self,
        caller: &Caller,
        dir: &Path,
        name: Option<String>,
    ) -> Result<ProjectView, Problem> {
        // The rules would refuse it too, but only after its lock was taken.
        require_operator(caller, "register a project")?;
        let Some(repository) = Repository::discover(dir) else {
            if Repository::is_bare(dir) {
                return Err(Problem::new(
                    ProblemKind::Refused,
                    format!("{} is a bare repository; MAIN is a checkout that can be served", dir.display()),
                    "clone it, and run `flower init` in the clone",
                ));
            }
            return Err(Problem::new(
                ProblemKind::Refused,
                format!("{} is not inside a git repository", dir.display()),
                "go to one, or make one: `git init`",
            ));
        };
        let root = utf8(&repository.root)?;
        let _turn = self.repositories.registering.lock().await;
        let known = self.project_at(&repository.root).await?;
        let is_new = known.is_none();
        let name = match (name, known) {
            (Some(name), Some(known)) if name != known => {
                return Err(Problem::new(
                    ProblemKind::Conflict,
                    format!("{root} is project `{known}` already"),
                    format!("to call it `{name}`: `flower project remove {known}`, then `flower init --name {name}`"),
                ));
            }
            (_, Some(known)) => known,
            (Some(name), None) => name,
            (None, None) => self.free_name(&repository).await?,
        };
        self.repositories.take(&repository, self.home.dir())?;
        let registered = self.submit(caller, Command::RegisterProject { name: name.clone(), root }).await;
        if registered.is_err() && is_new {
            self.repositories.release(&repository.root);
        }
        registered?;
        // One without commits gets its fence once it has some.
        if let Err(problem) = self.look_after_main(&name).await {
            tracing::debug!("{name}: {}", problem.message);
        }
        self.lend_soon(&name, &repository);
        let mut project = self.project(&name).await?;
        // None of them runs; who else works there should know of them.
        project.programs = flower_git::programs(&repository).await.unwrap_or_default();
        Ok(project)
    }

    /// Gives the repository back as it was. Branches with work that is not in MAIN stay, and so does what is kept of its
    /// worktrees.
    pub async fn remove_project(&self, caller: &Caller, name: &str) -> Result<RemovedProject, Problem> {
        require_operator(caller, "remove a project")?;
        let (root, repository) = self.repository_to_leave(name).await?;
        let stays = self.what_stays(name, repository.as_ref()).await?;
        if let Some(repository) = &repository {
            self.pack_archives(name, repository).await?;
        }
        self.submit(caller, Command::RemoveProject { name: name.to_owned() }).await?;
        if let Some(repository) = &repository {
            self.leave_repository(name, repository).await?;
        }
        super::worktrees::reclaim(&self.home, &self.home.objects().join(name));
        self.repositories.release(&root);
        Ok(stays)
    }

    /// What `remove_project` would leave behind now.
    pub async fn preview_removal(&self, caller: &Caller, name: &str) -> Result<RemovedProject, Problem> {
        require_operator(caller, "remove a project")?;
        let (_, repository) = self.repository_to_leave(name).await?;
        self.what_stays(name, repository.as_ref()).await
    }

    /// The project's root, and its repository unless that is gone: then nothing has to be given back.
    async fn repository_to_leave(&self, name: &str) -> Result<(PathBuf, Option<Repository>), Problem> {
        let root = PathBuf::from(self.project(name).await?.root);
        let repository = Repository::discover(&root).filter(|found| found.root == root);
        Ok((root, repository))
    }

    /// The project a caller means, if it is one: by name, else by directory.
    pub async fn find_project(&self, choice: &ProjectChoice) -> Result<Option<String>, Problem> {
        if let Some(name) = &choice.name {
            return self.project(name).await.map(|project| Some(project.name));
        }
        match choice.dir.as_deref().and_then(Repository::discover) {
            Some(repository) => self.project_at(&repository.root).await,
            None => Ok(None),
        }
    }

    /// The project for something new. A repository that is none yet becomes one; outside of any, the only project there is.
    pub async fn project_for_new(&self, caller: &Caller, choice: &ProjectChoice) -> Result<String, Problem> {
        if let Some(name) = self.find_project(choice).await? {
            return Ok(name);
        }
        if let Some(dir) = &choice.dir
            && Repository::discover(dir).is_some()
        {
            return self.register_project(caller, dir, None).await.map(|project| project.name);
        }
        self.require_project(choice).await
    }

    /// The one project that is meant; outside of any, the only one there is.
    pub(super) async fn require_project(&self, choice: &ProjectChoice) -> Result<String, Problem> {
        if let Some(name) = self.find_project(choice).await? {
            return Ok(name);
        }
        let projects = self.projects().await?;
        match projects.as_slice() {
            [only] => Ok(only.name.clone()),
            [] => Err(Problem::new(
                ProblemKind::Refused,
                "there is no project yet",
                "go to a git repository and run `flower init`",
            )),
            several => Err(Problem::usage(
                "it is not clear which project is meant",
                format!("say `--project NAME`; there is: {}", names(several)),
            )),
        }
    }

    pub(super) async fn project(&self, name: &str) -> Result<ProjectView, Problem> {
        let projects = self.projects().await?;
        let known = projects.iter().map(|p| p.name.clone()).collect();
        let found = projects.into_iter().find(|project| project.name == name);
        found.ok_or_else(|| Refusal::NoProject { name: name.to_owned(), known }.into())
    }

    async fn project_at(&self, root: &Path) -> Result<Option<String>, Problem> {
        let root = utf8(root)?;
        Ok(self.store.read(move |conn| tables::project_at(conn, &root)).await?)
    }

    /// The folder's name, with a number behind it where another project has it.
    async fn free_name(&self, repository: &Repository) -> Result<String, Problem> {
        let wish = repository.default_name();
        let taken: Vec<String> = self.projects().await?.into_iter().map(|p| p.name).collect();
        let numbered = (2..).map(|n| format!("{wish}-{n}"));
        let free = std::iter::once(wish.clone()).chain(numbered).find(|name| !taken.contains(name));
        Ok(free.expect("there are always more numbers"))
    }
}

fn names(projects: &[ProjectView]) -> String {
    projects.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn utf8(path: &Path) -> Result<String, Problem> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        Problem::new(ProblemKind::Invalid, format!("{} is not UTF-8", path.display()), "rename that folder")
    })
}
