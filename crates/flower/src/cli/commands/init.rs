//! `flower init`

mod settings;
mod trial;

use crate::cli::Context;
use crate::cli::output::plain;
use flower_contract::error::Problem;
use flower_contract::request::NewProject;
use flower_contract::view::ProjectView;
use std::path::PathBuf;

/// Make the repository around the working directory a project
///
/// If MAIN has no flower.toml, the one that lies in its checkout is taken, or one is proposed from the files of the
/// repository. It is shown, and on a terminal you are asked whether to try it, edit it or land it. Trying runs its checks in
/// a jail on a copy of MAIN, says how long they take, or why they fail and what would mend that.
///
/// Without a terminal it is only shown, unless --try or --yes says that its commands may run. --yes lands it; with --try it
/// lands only if all checks pass.
#[derive(clap::Args)]
pub(crate) struct InitArgs {
    /// The name of the project; by default that of the folder
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Do not propose a flower.toml
    #[arg(long, conflicts_with_all = ["file", "print", "trying"])]
    no_settings: bool,
    /// Take this file instead of a proposal; `-` is standard input. It replaces the flower.toml that MAIN has
    #[arg(long, value_name = "FILE", conflicts_with = "print")]
    file: Option<PathBuf>,
    /// Print the proposal to standard output, and do nothing else
    #[arg(long, conflicts_with = "trying")]
    print: bool,
    /// Try the checks in a jail before anything lands
    #[arg(long = "try")]
    trying: bool,
}

pub(crate) async fn run(context: &Context, args: InitArgs) -> Result<(), Problem> {
    // A file that cannot be read is an error before the repository becomes a project.
    let own = args.file.as_deref().map(settings::read_file).transpose()?;
    if context.remote()?.is_none() {
        super::up::require_home_outside(context)?;
    }
    let client = context.client().await?;
    let body = NewProject { dir: context.dir.clone(), name: args.name.or_else(|| context.project.clone()) };
    let project: ProjectView = client.post("/api/projects", &body).await?;
    if args.print {
        return settings::print(context, &client, &project.name).await;
    }
    // As JSON the project is the last word: an error leaves standard output empty.
    if !context.json {
        answer(context, &project)?;
    }
    if !args.no_settings {
        let offer = settings::Offer { context, client: &client, project: &project.name, trying: args.trying };
        offer.make(own).await?;
    }
    if context.json { answer(context, &project) } else { Ok(()) }
}

fn answer(context: &Context, project: &ProjectView) -> Result<(), Problem> {
    context.answer(project, |p| {
        let mut text = format!("{} is a project: {}\n", context.style.bold(&p.name), p.root);
        if let Some(from) = &p.moved_from {
            text.push_str(&format!("its repository was moved here from {}\n", plain(from)));
        }
        if !p.programs.is_empty() {
            text.push_str("its git configuration names programs, which flower does not run:\n");
            text.extend(p.programs.iter().map(|key| format!("  {}\n", plain(key))));
        }
        text
    })
}
