//! Worktrees. To the operator each is a linked git worktree of MAIN's repository; programs inside a sealed one see a private
//! repository and nothing else.

mod caches;
mod checkout;
pub(crate) mod commits;
pub(crate) mod create;
pub(crate) mod disk;
mod doctor;
mod ensure;
pub(crate) mod facts;
pub(crate) mod gitlinks;
pub(crate) mod import_error;
mod incoming;
pub(crate) mod inspect;
pub(crate) mod landed;
mod lending;
pub(crate) mod lfs;
pub(crate) mod limits;
mod locks;
mod mirror;
mod object_store;
pub(crate) mod observe;
mod operators_commits;
mod partial;
pub(crate) mod paths;
pub(crate) mod private;
mod project_hooks;
mod reconcile;
mod relink;
pub(crate) mod remove;
mod restore;
pub(crate) mod setup;
mod shell;
mod special_files;
pub(crate) mod uncommitted;
mod uninstall;
mod watch;

pub use create::NewWorktree;
pub use observe::Protection;

use super::projects::ProjectChoice;
use crate::Setup;
use crate::clock::BootClock;
use crate::home::Home;
use crate::keyed_locks::KeyedLocks;
use crate::notify::ChangeHints;
use crate::repository_mark;
use crate::{Access, Networks, Projects};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{ArchiveView, ProjectView, WorktreeView};
use flower_core::policy::Read;
use flower_core::{Caller, Refusal, Worktree};
use flower_git::repository::Repository;
use flower_store::Store;
use flower_store::worktrees;
use paths::WorktreePaths;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::{Mutex as AsyncMutex, OnceCell};

pub struct Worktrees {
    store: Store,
    home: Home,
    clock: BootClock,
    hints: ChangeHints,
    url: String,
    access: Arc<Access>,
    projects: Arc<Projects>,
    networks: Arc<Networks>,
    /// By directory of a repository or worktree: held while it changes. `git worktree add` takes no lock of its own.
    locks: KeyedLocks<PathBuf>,
    /// By project and worktree: held while flower makes the worktree or changes it.
    work_locks: KeyedLocks<(String, String)>,
    /// Whether the kernel can build a jail, tested once.
    protection: OnceCell<Protection>,
    watch: watch::WorktreeWatch,
    lending: Arc<lending::Lending>,
}

impl Worktrees {
    pub(crate) fn new(
        setup: &Setup,
        access: &Arc<Access>,
        projects: &Arc<Projects>,
        networks: &Arc<Networks>,
    ) -> Worktrees {
        Worktrees {
            store: setup.store.clone(),
            home: setup.home.clone(),
            clock: setup.clock.clone(),
            hints: setup.hints.clone(),
            url: setup.url.clone(),
            access: access.clone(),
            projects: projects.clone(),
            networks: networks.clone(),
            locks: KeyedLocks::default(),
            work_locks: KeyedLocks::default(),
            protection: OnceCell::default(),
            watch: watch::WorktreeWatch::default(),
            lending: Arc::default(),
        }
    }

    /// The lock for making a worktree or changing it while no agent works there.
    pub(crate) fn work_lock(&self, project: &str, worktree: &str) -> Arc<AsyncMutex<()>> {
        self.work_locks.of(&(project.to_owned(), worktree.to_owned()))
    }

    /// The lock for merging into a worktree.
    fn sync_lock(&self, place: &WorktreePaths) -> Arc<AsyncMutex<()>> {
        self.locks.of(place.folder.join("sync").as_path())
    }

    fn lock_of(&self, of: &Path) -> Arc<AsyncMutex<()>> {
        self.locks.of(of)
    }
}

impl Worktrees {
    /// The live worktrees of one project or of all, with their state now.
    pub async fn list(&self, caller: &Caller, choice: &ProjectChoice) -> Result<Vec<WorktreeView>, Problem> {
        let reader = self.access.reader(caller).await?;
        let project = self.projects.find(choice).await?;
        let mut live = self.store.read(move |conn| worktrees::live(conn, project.as_deref())).await?;
        live.retain(|worktree| reader.may(Read::Worktree { project: &worktree.project, name: &worktree.name }));
        self.observe_all(live).await
    }

    pub async fn show(&self, choice: &ProjectChoice, name: &str) -> Result<WorktreeView, Problem> {
        let worktree = self.find(choice, name).await?;
        self.observe(worktree).await
    }

    /// The archives of removed worktrees.
    pub async fn archives(&self, choice: &ProjectChoice) -> Result<Vec<ArchiveView>, Problem> {
        let project = self.projects.find(choice).await?;
        let removed = self.store.read(move |conn| worktrees::removed(conn, project.as_deref())).await?;
        Ok(removed.into_iter().filter_map(ArchiveView::new).collect())
    }

    /// The live worktree of this name in the chosen project; without a project, the only one of this name.
    pub(crate) async fn find(&self, choice: &ProjectChoice, name: &str) -> Result<Worktree, Problem> {
        let project = self.projects.find(choice).await?;
        let name = name.to_owned();
        let found = self.store.read(move |conn| {
            let mut live = worktrees::live(conn, project.as_deref())?;
            let known: Vec<String> = live.iter().map(|worktree| worktree.name.clone()).collect();
            live.retain(|worktree| worktree.name == name);
            Ok((live, known, name))
        });
        let (mut live, known, name) = found.await?;
        match live.len() {
            1 => Ok(live.remove(0)),
            0 => Err(Refusal::NoWorktree { name, known }.into()),
            _ => Err(Problem::usage(
                format!("there is a worktree `{name}` in several projects"),
                format!(
                    "say `--project NAME`; one of: {}",
                    live.iter().map(|w| w.project.as_str()).collect::<Vec<_>>().join(", ")
                ),
            )),
        }
    }

    pub(crate) async fn paths(&self, worktree: &Worktree) -> Result<WorktreePaths, Problem> {
        let repository = self.repository(&worktree.project).await?;
        WorktreePaths::new(&self.home, repository, worktree, self.covered().await?)
    }

    /// Folders that no jail shows: flower's own and every project.
    pub(crate) async fn covered(&self) -> Result<Vec<PathBuf>, Problem> {
        let roots = self.projects.list().await?.into_iter().map(|project| PathBuf::from(project.root));
        Ok(std::iter::once(self.home.dir().to_owned()).chain(roots).collect())
    }

    /// The repository of a project. Fails if it is no longer at its path.
    pub(super) async fn repository(&self, project: &str) -> Result<Repository, Problem> {
        self.repository_of(&self.projects.get(project).await?)
    }

    /// The repository of a project. Fails if it is no longer at its path, or another project's is there.
    pub(crate) fn repository_of(&self, project: &ProjectView) -> Result<Repository, Problem> {
        let (root, name) = (PathBuf::from(&project.root), &project.name);
        let moved = format!("if it was moved: `flower project move {name} PATH`, or `flower up` in it");
        let Some(repository) = Repository::discover(&root).filter(|found| found.root == root) else {
            return Err(Problem {
                kind: ProblemKind::Refused,
                message: format!("{} is no repository any more", root.display()),
                hints: vec![
                    moved,
                    format!("if it was deleted: `flower project remove {name}`; what is recorded about it stays"),
                ],
            });
        };
        // The mark of another flower says that it has served the repository since, which is allowed.
        match repository_mark::read(&repository) {
            Some(mark) if mark.home == self.home.dir() && mark.registered != project.at => Err(Problem::new(
                ProblemKind::Refused,
                format!("{} is the repository of another project than `{name}`", root.display()),
                moved,
            )),
            _ => Ok(repository),
        }
    }
}

/// Deletes a path in the background. It is renamed first, so that its name is free at once.
pub(crate) fn reclaim(home: &Home, path: &Path) {
    let trash = home.trash().join(crate::home::random_hex());
    let doomed = match disk::make_private(&home.trash()).and_then(|()| disk::rename(path, &trash)) {
        Ok(()) => trash,
        // Nothing to delete. A path that appears later is not the one that was meant.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
        Err(_) => path.to_owned(),
    };
    tokio::task::spawn_blocking(move || {
        if let Err(error) = disk::delete(&doomed) {
            tracing::warn!("{} stays behind: {error}", doomed.display());
        }
    });
}
