//! `flower worktree`

mod archive;
mod list;
mod new;
mod open;
mod path;
mod remove;
mod restore;
mod shell;
mod show;
mod sync;

use crate::cli::Context;
use crate::client::escape;
use clap::Subcommand;
use flower_contract::error::Problem;

/// Worktrees: directories for work beside MAIN
#[derive(clap::Args)]
#[command(
    after_help = "A worktree is a directory with a branch of its own, `flower/NAME`. To you it is an ordinary git \
                        worktree of MAIN's repository.\nPrograms inside a sealed worktree (`flower worktree shell NAME`) see a \
                        private repository; the kernel prevents them from reaching MAIN."
)]
pub(crate) struct WorktreeArgs {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Subcommand)]
enum Verb {
    New(new::NewArgs),
    Show(show::ShowArgs),
    Path(path::PathArgs),
    Open(open::OpenArgs),
    Shell(shell::ShellArgs),
    Sync(sync::SyncArgs),
    Remove(remove::RemoveArgs),
    Restore(restore::RestoreArgs),
    Archive(archive::ArchiveArgs),
}

pub(crate) async fn run(context: &Context, args: WorktreeArgs) -> Result<(), Problem> {
    match args.verb {
        None => list::run(context).await,
        Some(Verb::New(args)) => new::run(context, args).await,
        Some(Verb::Show(args)) => show::run(context, &args).await,
        Some(Verb::Path(args)) => path::run(context, &args).await,
        Some(Verb::Open(args)) => open::run(context, &args).await,
        Some(Verb::Shell(args)) => shell::run(context, &args).await,
        Some(Verb::Sync(args)) => sync::run(context, &args).await,
        Some(Verb::Remove(args)) => remove::run(context, &args).await,
        Some(Verb::Restore(args)) => restore::run(context, &args).await,
        Some(Verb::Archive(args)) => archive::run(context, &args).await,
    }
}

/// The address of one worktree, or of something below it.
fn address(context: &Context, name: &str, below: &str) -> String {
    format!("/api/worktrees/{}{below}?{}", escape(name), context.project_query())
}
