//! git as a typed library, and the only place that starts it.
//!
//! [`Repo`] is git in one of three places. MAIN's repository and the operator's side of a worktree are written by the operator
//! and flower alone: each command there names every folder itself, so that nothing found in a directory leads elsewhere, and
//! switches off whatever a configuration could make git run. An agent's private repository cannot be trusted, so git runs there
//! inside the agent's jail.
//!
//! [`CommitId`], [`TreeId`], [`ObjectId`], [`RefName`] and [`OwnRef`] are checked when they are made: a name that was read from
//! a file or a request never becomes an option of git or another revision.

#![forbid(unsafe_code)]

mod checkout;
mod command;
mod config;
mod error;
mod guard;
mod history;
mod ids;
mod main_branch;
mod named_paths;
mod objects;
mod packs;
mod process;
mod refs;
mod remotes;
mod repo;
pub mod repository;
mod trees;

pub use checkout::{Merge, Status};
pub use config::Identity;
pub use error::GitError;
pub use guard::programs;
pub use history::{Author, Log, LogEntry};
pub use ids::{AnyObject, CommitId, Committish, Head, ObjectId, OwnRef, RefName, TreeId, Treeish};
pub use main_branch::MainBranch;
pub use named_paths::{NamedPath, named_paths};
pub use objects::{Answers, NewObjects, Object, Objects, Question, Questions};
pub use packs::{Revisions, Transfer};
pub use refs::RefUpdates;
pub use remotes::Push;
pub use repo::Repo;
pub use trees::{Change, ChangeKind, MergedTrees, NewCommit, TreeEntry, TreeListing};

use process::Run;
use std::time::Duration;

/// The version of git that is installed, as in `2.47.3`.
pub async fn version() -> Result<String, GitError> {
    let mut run = Run::new("git".into(), Duration::from_secs(10));
    run.args.push("--version".into());
    let line = run.output().await?.require_success()?.line();
    Ok(line.split_whitespace().nth(2).unwrap_or_default().to_owned())
}
