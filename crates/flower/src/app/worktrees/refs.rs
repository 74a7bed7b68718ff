//! Refs of MAIN's repository: where they are, which there are, and how they move together.

use crate::error::Problem;
use crate::git;
use crate::repository::Repository;

/// The newest commit of a branch in MAIN's repository, if it is there.
pub(in crate::app) async fn tip(repository: &Repository, full_name: &str) -> Result<Option<String>, Problem> {
    let args = ["rev-parse", "--verify", "--quiet", "--end-of-options", full_name];
    let output = git::in_main(repository).args(args).output().await?;
    Ok((output.code == 0).then(|| output.line()))
}

/// Names and objects of all refs that begin so.
pub(in crate::app) async fn refs_below(
    repository: &Repository,
    prefix: &str,
) -> Result<Vec<(String, String)>, Problem> {
    let args = ["for-each-ref", "--format=%(refname) %(objectname)", prefix];
    let text = git::in_main(repository).args(args).line().await?;
    Ok(text.lines().filter_map(|line| line.split_once(' ')).map(|(n, o)| (n.to_owned(), o.to_owned())).collect())
}

/// Carries out lines of `git update-ref --stdin`, all or none of them.
pub(in crate::app) async fn update_refs(repository: &Repository, lines: Vec<String>) -> Result<(), Problem> {
    if lines.is_empty() {
        return Ok(());
    }
    let input = lines.join("\n") + "\n";
    git::in_main(repository).args(["update-ref", "--stdin"]).input(input).run().await?;
    Ok(())
}
