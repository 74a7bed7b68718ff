//! Finds projects: the repositories that this flower serves.

use crate::Setup;
use crate::repository_mark;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::ProjectView;
use flower_core::Refusal;
use flower_git::repository::Repository;
use flower_store::Store;
use std::path::{Path, PathBuf};

/// How a caller names a project.
#[derive(Clone, Debug, Default)]
pub struct ProjectChoice {
    pub name: Option<String>,
    /// A directory inside of the project's repository.
    pub dir: Option<PathBuf>,
}

/// Finds projects by name, by directory, or as the only one.
pub struct Projects {
    store: Store,
}

impl Projects {
    pub(crate) fn new(setup: &Setup) -> Projects {
        Projects { store: setup.store.clone() }
    }

    pub async fn list(&self) -> Result<Vec<ProjectView>, Problem> {
        let projects = self.store.read(flower_store::projects::all).await?;
        Ok(projects
            .into_iter()
            .map(|p| ProjectView {
                name: p.name,
                root: p.root,
                at: p.at,
                programs: Vec::new(),
                lending: None,
                notices: Vec::new(),
                missing: None,
                moved_from: None,
            })
            .collect())
    }

    /// The folder of each project below FLOWER_HOME.
    pub(crate) async fn folders(&self) -> Result<Vec<(String, String)>, Problem> {
        let projects = self.store.read(flower_store::projects::all).await?;
        Ok(projects.into_iter().map(|project| (project.name, project.folder)).collect())
    }

    /// The project by name, or else by directory. `None` if the directory belongs to no project.
    pub async fn find(&self, choice: &ProjectChoice) -> Result<Option<String>, Problem> {
        if let Some(name) = &choice.name {
            return self.get(name).await.map(|project| Some(project.name));
        }
        match choice.dir.as_deref().and_then(Repository::discover) {
            Some(repository) => match self.at_root(&repository.root).await? {
                Some(name) => Ok(Some(name)),
                None => self.moved_to(&repository).await,
            },
            None => Ok(None),
        }
    }

    /// The project by name or directory, or else the only one. Fails if there is none or several.
    pub(super) async fn require(&self, choice: &ProjectChoice) -> Result<String, Problem> {
        if let Some(name) = self.find(choice).await? {
            return Ok(name);
        }
        if let Some(dir) = choice.dir.as_deref().filter(|dir| Repository::is_bare(dir)) {
            return Err(bare(dir));
        }
        let projects = self.list().await?;
        match projects.as_slice() {
            [only] => Ok(only.name.clone()),
            [] => Err(Problem::new(
                ProblemKind::Refused,
                "there is no project yet",
                "go to a git repository and run `flower init`",
            )),
            several => Err(Problem::usage(
                "it is not clear which project is meant",
                format!("say `--project NAME`; known: {}", names(several)),
            )),
        }
    }

    pub(super) async fn get(&self, name: &str) -> Result<ProjectView, Problem> {
        let projects = self.list().await?;
        let known = projects.iter().map(|p| p.name.clone()).collect();
        if let Some(found) = projects.into_iter().find(|project| project.name == name) {
            return Ok(found);
        }
        let former = name.to_owned();
        let name = name.to_owned();
        Err(match self.store.read(move |conn| flower_store::projects::renamed(conn, &former)).await? {
            Some(now) => Refusal::RenamedProject { name, now },
            None => Refusal::NoProject { name, known },
        }
        .into())
    }

    /// The project that the repository is marked as, if it has no repository at its path.
    async fn moved_to(&self, repository: &Repository) -> Result<Option<String>, Problem> {
        let Some(mark) = repository_mark::read(repository) else { return Ok(None) };
        let marked = self.list().await?.into_iter().find(|project| project.at == mark.registered);
        let is_there = |project: &ProjectView| {
            let root = Path::new(&project.root);
            Repository::discover(root).is_some_and(|found| found.root == root)
        };
        Ok(marked.filter(|project| !is_there(project)).map(|project| project.name))
    }

    pub(crate) async fn at_root(&self, root: &Path) -> Result<Option<String>, Problem> {
        let root = utf8(root)?;
        Ok(self.store.read(move |conn| flower_store::projects::at_root(conn, &root)).await?)
    }
}

/// The error for a repository without a checkout.
pub(crate) fn bare(dir: &Path) -> Problem {
    Problem::new(
        ProblemKind::Refused,
        format!("{} is a bare repository, and MAIN is a checkout", dir.display()),
        "clone it, and run `flower up` in the clone",
    )
}

fn names(projects: &[ProjectView]) -> String {
    projects.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join(", ")
}

pub(crate) fn utf8(path: &Path) -> Result<String, Problem> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        Problem::new(ProblemKind::Invalid, format!("{} is not UTF-8", path.display()), "rename that folder")
    })
}
