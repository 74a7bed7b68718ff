//! `flower init`

mod settings;

use crate::cli::Context;
use crate::cli::output::plain;
use flower_contract::error::Problem;
use flower_contract::request::NewProject;
use flower_contract::view::ProjectView;

/// Make the repository around the working directory a project
///
/// If the repository has no flower.toml, one is proposed from its contents. You are asked whether to land it; with --yes it
/// lands at once. Without a terminal it is only shown.
#[derive(clap::Args)]
pub(crate) struct InitArgs {
    /// The name of the project; by default that of the folder
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Do not propose a flower.toml
    #[arg(long)]
    no_settings: bool,
}

pub(crate) async fn run(context: &Context, args: InitArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    let body = NewProject { dir: context.dir.clone(), name: args.name.or_else(|| context.project.clone()) };
    let project: ProjectView = client.post("/api/projects", &body).await?;
    context.answer(&project, |p| {
        let mut text = format!("{} is a project: {}\n", context.style.bold(&p.name), p.root);
        if !p.programs.is_empty() {
            text.push_str("its git configuration names programs, which flower does not run:\n");
            text.extend(p.programs.iter().map(|key| format!("  {}\n", plain(key))));
        }
        text
    })?;
    if args.no_settings { Ok(()) } else { settings::offer(context, &client, &project.name).await }
}
