//! `flower completions`

use crate::cli::{Context, command};
use clap_complete::Shell;
use flower_contract::error::Problem;

/// Print a completion script for a shell
#[derive(clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(context: &Context, args: &CompletionsArgs) -> Result<(), Problem> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(), "flower", &mut script);
    context.print_bytes(&script)
}
