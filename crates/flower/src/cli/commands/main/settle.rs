//! `flower main settle`

use crate::cli::Context;
use crate::cli::landing::short;
use crate::cli::output::plain;
use flower_contract::error::Problem;
use flower_contract::request::Settle;
use flower_contract::view::SettleView;

/// Make a worktree in which commits of MAIN's remote that do not merge are settled
///
/// The worktree begins at the remote's commit, and MAIN is merged there. Settle the conflicts, commit, and land the worktree.
#[derive(clap::Args)]
pub(super) struct SettleArgs {
    /// The name of the worktree; by default settle-1, settle-2, …
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
}

pub(super) async fn run(context: &Context, args: SettleArgs) -> Result<(), Problem> {
    let client = context.client().await?.with_long_timeout();
    let body = Settle { name: args.name };
    let settle: SettleView = client.post(&super::address(context, "/settle"), &body).await?;
    context.answer(&settle, |s| {
        let (style, name) = (context.style, &s.worktree.name);
        let (commit, remote) = (short(&s.commit), plain(&s.remote));
        let mut text = format!("{commit} of {remote} and MAIN are merged in worktree {}, but for:\n", style.bold(name));
        text.extend(s.paths.iter().map(|path| format!("  {}\n", plain(path))));
        text + &style.dim(&format!(
            "settle it: `flower worktree shell {name}`, edit these files, `git commit -a`; then land it: `flower land {name}`\n"
        ))
    })
}
