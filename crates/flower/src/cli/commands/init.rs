//! `flower init`

use crate::cli::Context;
use crate::error::Problem;
use crate::request::NewProject;
use crate::view::ProjectView;

/// Make the repository around the working directory a project
#[derive(clap::Args)]
pub(crate) struct InitArgs {
    /// What to call it; otherwise as its folder
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

pub(crate) async fn run(context: &Context, args: InitArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    let body = NewProject { dir: context.dir.clone(), name: args.name.or_else(|| context.project.clone()) };
    let project: ProjectView = client.post("/api/projects", &body).await?;
    context.answer(&project, |p| format!("{} is a project: {}\n", context.style.bold(&p.name), p.root))
}
