//! `flower project move`

use crate::cli::Context;
use crate::cli::output::plain;
use crate::client::{Client, escape};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::request::MoveProject;
use flower_contract::view::ProjectView;
use flower_engine::repository_mark;
use flower_git::repository::Repository;
use std::path::{Path, PathBuf};

/// Say where the repository of a project is now
///
/// Move it first, such as with `mv`. Worktrees, waiting landings and everything else of the project go on as before. `flower up` in
/// the moved repository does the same. Agents and other programs in its worktrees must have ended.
#[derive(clap::Args)]
#[command(allow_missing_positional = true)]
pub(crate) struct MoveArgs {
    /// The project; by default the one whose repository is at PATH
    name: Option<String>,
    /// The top folder of the repository, where it is now
    path: PathBuf,
}

pub(super) async fn run(context: &Context, args: MoveArgs) -> Result<(), Problem> {
    let path = context.dir.join(&args.path);
    let client = context.client().await?;
    let name = match args.name.or_else(|| context.project.clone()) {
        Some(name) => name,
        None => project_of(&client, &path).await?,
    };
    let address = format!("/api/projects/{}/move", escape(&name));
    let moved: ProjectView = client.post(&address, &MoveProject { path }).await?;
    context.answer(&moved, |moved| {
        let (name, root) = (context.style.bold(&moved.name), plain(&moved.root));
        match &moved.moved_from {
            Some(from) => format!("project {name} is at {root} now; it was at {}\n", plain(from)),
            None => format!("project {name} is at {root}\n"),
        }
    })
}

/// The project that the repository is marked as, or else the only one whose repository is not at its path.
async fn project_of(client: &Client, path: &Path) -> Result<String, Problem> {
    let mut projects: Vec<ProjectView> = client.get("/api/projects").await?;
    let mark = Repository::discover(path).as_ref().and_then(repository_mark::read);
    if let Some(marked) = mark.and_then(|mark| projects.iter().find(|project| project.at == mark.registered)) {
        return Ok(marked.name.clone());
    }
    projects.retain(|project| project.missing.is_some());
    let names: Vec<&str> = projects.iter().map(|project| project.name.as_str()).collect();
    match names.as_slice() {
        [only] => Ok((*only).to_owned()),
        [] => Err(Problem::new(
            ProblemKind::Refused,
            "the repository of every project is at its path",
            "`flower project` lists them",
        )),
        several => Err(Problem::usage(
            "it is not clear which project was moved",
            format!("name it: `flower project move NAME {}`; one of: {}", path.display(), several.join(", ")),
        )),
    }
}
