//! `flower demo`

use crate::demo;
use flower_contract::error::{Problem, ProblemKind};

/// Demonstrate flower on a scratch repository; needs no key and no network
///
/// The repository is a small flower shop with eight briefs. flower starts a scripted agent for each, in a sealed worktree. One
/// agent dies, one runs out of context, one breaks the check, two change the same lines, one asks a question, one requests a
/// permission, two share a worktree, and one attacks MAIN. The daemon is killed once. All eight briefs land, and MAIN's page,
/// which is requested all the time, never fails. The story takes less than a minute. It uses a temporary directory, not your
/// FLOWER_HOME. At the end the daemon of the demo runs until you press Enter, so that you can look around; then all its files
/// and processes are removed.
#[derive(clap::Args)]
pub(crate) struct DemoArgs {
    /// End at once instead of waiting for Enter
    #[arg(long)]
    no_wait: bool,
}

pub(crate) fn run(args: &DemoArgs) -> Result<(), Problem> {
    let flower = std::env::current_exe().map_err(|error| {
        Problem::unreachable(format!("flower does not find itself: {error}"), "start it by its path")
    })?;
    demo::play(&flower, !args.no_wait)
        .map_err(|message| Problem::new(ProblemKind::Refused, message, "`flower doctor` says what the machine lacks"))
}
