//! `flower main rescue`

use super::page;
use crate::cli::Context;
use crate::cli::output::plain;
use flower_contract::error::Problem;
use flower_contract::request::Rescue;
use flower_contract::view::{MainView, RescueView, WorktreeView};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Move changes that were made in MAIN by hand into a worktree, and reset MAIN
///
/// Takes commits and changes of tracked files. Untracked files stay in MAIN, unless you name them.
#[derive(clap::Args)]
pub(super) struct RescueArgs {
    /// The name of the worktree; by default rescue-1, rescue-2, …
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    /// Untracked files or folders of MAIN that are moved too
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
}

#[derive(Serialize)]
struct Rescued {
    #[serde(flatten)]
    main: MainView,
    worktree: WorktreeView,
    files: Vec<String>,
    left: Vec<String>,
}

pub(super) async fn run(context: &Context, args: RescueArgs) -> Result<(), Problem> {
    let client = context.client().await?.with_long_timeout();
    let paths = args.paths.iter().map(|path| absolute(path)).collect::<Result<_, _>>()?;
    let body = Rescue { name: args.name, paths };
    let RescueView { worktree, files, left, main } = client.post(&super::address(context, "/rescue"), &body).await?;
    context.answer(&Rescued { main, worktree, files, left }, |r| {
        let style = context.style;
        let name = &r.worktree.name;
        let mut text = format!("the changes are in worktree {} now:\n", style.bold(name));
        text.extend(r.files.iter().map(|file| format!("  {}\n", plain(file))));
        if !r.left.is_empty() {
            text.push_str(&style.mark("changed again in the meantime, and left in MAIN:"));
            text.push('\n');
            text.extend(r.left.iter().map(|file| format!("  {}\n", plain(file))));
        }
        text.push_str(&page(&r.main, style));
        text + &style.dim(&format!("land it: `flower land {name}`\n"))
    })
}

/// The daemon has another working directory.
fn absolute(path: &Path) -> Result<String, Problem> {
    let whole = std::path::absolute(path).ok().and_then(|path| path.into_os_string().into_string().ok());
    whole.ok_or_else(|| {
        let message = format!("`{}` cannot be sent: its path is not UTF-8", path.display());
        Problem::usage(message, "name the folder that it is in")
    })
}
