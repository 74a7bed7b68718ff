//! `flower project rename`

use crate::cli::Context;
use crate::client::escape;
use flower_contract::error::Problem;
use flower_contract::request::RenameProject;
use flower_contract::view::ProjectView;

/// Give a project another name
///
/// Briefs, worktrees and waiting landings stay. The folders of its worktrees keep their paths. A command or link with the old name
/// is refused and names the new one; no other project can take the old name.
#[derive(clap::Args)]
pub(crate) struct RenameArgs {
    /// The name that the project has
    old: String,
    /// The name that it gets
    new: String,
}

pub(super) async fn run(context: &Context, args: RenameArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    let address = format!("/api/projects/{}/rename", escape(&args.old));
    let renamed: ProjectView = client.post(&address, &RenameProject { name: args.new }).await?;
    context.answer(&renamed, |renamed| {
        let style = context.style;
        format!("project {} is called {} now\n", style.bold(&args.old), style.bold(&renamed.name))
    })
}
