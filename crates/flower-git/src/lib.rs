//! git as a typed library. No other crate starts git.
//!
//! [`Repo`] works on one of three kinds of repository. Only the operator and flower write MAIN's repository and its linked worktrees:
//! each command there names every folder itself, so that no file in a directory can redirect it, and overrides all settings that
//! could make git run a program. An agent's private repository is untrusted, so git runs there inside the agent's jail.
//!
//! [`CommitId`], [`TreeId`], [`ObjectId`], [`RefName`] and [`OwnRef`] are validated when they are created: a name that was read from
//! a file or a request never becomes an option of git or another revision.

#![forbid(unsafe_code)]

mod checkout;
mod command;
mod config;
mod error;
mod guard;
mod history;
mod ids;
pub mod lfs;
mod main_branch;
mod named_paths;
mod objects;
mod packs;
mod partial;
mod process;
mod refs;
mod remotes;
mod repo;
pub mod repository;
mod trees;

pub use checkout::{Merge, Status};
pub use config::{Identity, OperatorsSettings};
pub use error::GitError;
pub use guard::programs;
pub use history::{Author, Log, LogEntry};
pub use ids::{AnyObject, CommitId, Committish, Head, ObjectId, OwnRef, RefName, TreeId, Treeish};
pub use main_branch::MainBranch;
pub use named_paths::{NamedPath, named_paths};
pub use objects::{Answers, NewObjects, Object, Objects, Question, Questions};
pub use packs::{Revisions, Transfer};
pub use partial::Completion;
pub use refs::RefUpdates;
pub use remotes::Push;
pub use repo::Repo;
pub use trees::{Change, ChangeKind, MergedTrees, NewCommit, TreeEntry, TreeListing};

use process::Run;
use std::time::Duration;

/// Whether `git-lfs` is installed.
pub fn has_lfs() -> bool {
    process::find_program("git-lfs").is_some()
}

/// The version of git that is installed, as in `2.47.3`.
pub async fn version() -> Result<String, GitError> {
    let mut run = Run::new("git".into(), Duration::from_secs(10));
    run.args.push("--version".into());
    let line = run.output().await?.require_success()?.line();
    Ok(line.split_whitespace().nth(2).unwrap_or_default().to_owned())
}
