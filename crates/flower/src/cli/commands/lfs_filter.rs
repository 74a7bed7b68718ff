//! `flower lfs-filter`: flower's own git starts it for files of LFS.

use flower_contract::error::Problem;
use flower_git::lfs::{Lfs, serve};
use std::path::PathBuf;

/// Convert files of LFS for git, which speaks on standard input and output
#[derive(clap::Args)]
pub(crate) struct LfsFilterArgs {
    /// Store the contents that are added
    #[arg(long, value_name = "DIR", conflicts_with = "contents")]
    store: Option<PathBuf>,
    /// Write contents instead of pointers
    #[arg(long, value_name = "DIR")]
    contents: Option<PathBuf>,
}

pub(crate) fn run(args: LfsFilterArgs) -> Result<(), Problem> {
    let lfs = match (args.store, args.contents) {
        (Some(dir), _) => Lfs::Store(dir),
        (None, Some(dir)) => Lfs::Contents(dir),
        (None, None) => Lfs::Pointers,
    };
    Ok(serve(&lfs, std::io::stdin().lock(), std::io::stdout().lock())?)
}
