//! `flower worktree new`

use super::show::page;
use crate::cli::Context;
use crate::cli::output::is_dumb_terminal;
use crate::client::Client;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::request::NewWorktree;
use flower_contract::view::{ProjectView, SetupState, WorktreeView};
use flower_core::worktree::{Seal, WorktreeKind};
use std::io::{IsTerminal, Write};
use std::time::Duration;

/// Create a worktree: a directory with a branch of its own
#[derive(clap::Args)]
pub(crate) struct NewArgs {
    /// The name, of lower-case letters, digits and `-`
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
    name: String,
    /// Keep the worktree after its work has landed
    #[arg(long, conflicts_with = "ephemeral")]
    lane: bool,
    /// Remove the worktree once its work is in MAIN (the default)
    #[arg(long)]
    ephemeral: bool,
    /// Programs inside have a private repository and cannot reach MAIN (the default)
    #[arg(long, conflicts_with = "linked")]
    sealed: bool,
    /// A plain git worktree: programs inside can write to MAIN
    #[arg(long)]
    linked: bool,
    /// The branch, tag or commit to start from; by default MAIN's branch
    #[arg(long, value_name = "REF")]
    from: Option<String>,
    /// The brief of the worktree
    #[arg(long, value_name = "N", value_parser = crate::cli::input::number)]
    brief: Option<u64>,
    /// Do not run the setup commands of flower.toml
    #[arg(long)]
    no_setup: bool,
    /// In a repository with LFS, check out pointers instead of files
    #[arg(long)]
    lfs_pointers: bool,
}

pub(super) async fn run(context: &Context, args: NewArgs) -> Result<(), Problem> {
    let client = context.client().await?.with_long_timeout();
    let body = NewWorktree {
        name: args.name.clone(),
        kind: args.lane.then_some(WorktreeKind::Lane),
        seal: args.linked.then_some(Seal::Linked),
        from: args.from,
        brief: args.brief,
        no_setup: args.no_setup,
        lfs_pointers: args.lfs_pointers,
    };
    let address = format!("/api/worktrees?{}", context.project_query());
    let made = client.post::<WorktreeView>(&address, &body);
    let mut seen = 0;
    let mut progress = Progress::new(context);
    let made = tokio::select! {
        made = made => made,
        never = follow_setup(context, &client, &args.name, &mut seen, &mut progress) => match never {},
    };
    progress.clear();
    let worktree = made?;
    if worktree.setup.is_some() {
        show_setup(context, &client, &args.name, &mut seen, &mut progress).await;
    }
    let failed = worktree.setup.clone().filter(|setup| setup.state == SetupState::Failed);
    context.answer(&worktree, |w| {
        let hint = format!("work in it: `flower worktree shell {}`\n", w.name);
        page(w, context.style) + &context.style.dim(&hint)
    })?;
    match failed {
        None => Ok(()),
        Some(setup) => Err(Problem::new(
            ProblemKind::Refused,
            format!(
                "the worktree was created, but its setup failed: `{}` ended with {}",
                setup.command.unwrap_or_default(),
                setup.code.unwrap_or_default()
            ),
            format!("its output is above; try again inside: `flower worktree shell {}`", args.name),
        )),
    }
}

/// Prints what the creation waits for, and the output of the setup commands, until it is dropped.
async fn follow_setup(
    context: &Context,
    client: &Client,
    name: &str,
    seen: &mut usize,
    progress: &mut Progress,
) -> std::convert::Infallible {
    let mut last = String::new();
    for round in 1_u64.. {
        tokio::time::sleep(Duration::from_millis(200)).await;
        show_setup(context, client, name, seen, progress).await;
        if round.is_multiple_of(5)
            && let Some(note) = copy_progress(client).await
            && note != last
        {
            progress.clear();
            eprintln!("{}", crate::cli::output::plain(&note));
            last = note;
        }
        if round.is_multiple_of(5) {
            progress.show(&format!("creating worktree `{name}`: {} s", round / 5));
        }
    }
    std::future::pending().await
}

/// A line on the terminal that is replaced by the next one. Nothing without a terminal.
struct Progress {
    is_animated: bool,
    is_shown: bool,
}

impl Progress {
    fn new(context: &Context) -> Progress {
        let is_animated = !context.json && std::io::stderr().is_terminal() && !is_dumb_terminal();
        Progress { is_animated, is_shown: false }
    }

    fn show(&mut self, text: &str) {
        if self.is_animated {
            eprint!("\r\x1b[K{text}");
            let _ = std::io::stderr().flush();
            self.is_shown = true;
        }
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            eprint!("\r\x1b[K");
        }
    }
}

/// The progress of copying MAIN's objects for worktrees.
async fn copy_progress(client: &Client) -> Option<String> {
    let projects: Vec<ProjectView> = client.get("/api/projects").await.ok()?;
    let notes = projects.into_iter().filter_map(|project| Some(format!("{}: {}", project.name, project.lending?)));
    notes.reduce(|all, note| format!("{all}\n{note}"))
}

/// Prints the output of the setup commands from position `seen` on.
async fn show_setup(context: &Context, client: &Client, name: &str, seen: &mut usize, progress: &mut Progress) {
    loop {
        let address = format!("{}&after={seen}", super::address(context, name, "/setup-log"));
        let Ok(bytes) = client.bytes(&address).await else { return };
        if bytes.is_empty() {
            return;
        }
        *seen += bytes.len();
        // The output is progress of its own.
        progress.clear();
        progress.is_animated = false;
        let text = crate::cli::output::plain(&String::from_utf8_lossy(&bytes));
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}
