//! Refs of MAIN's repository: where they are, which there are, and how they move together.

use flower_contract::error::Problem;
use flower_git::repository::Repository;

/// The newest commit of a branch in MAIN's repository, if it is there.
pub(crate) async fn tip(repository: &Repository, full_name: &str) -> Result<Option<String>, Problem> {
    let args = ["rev-parse", "--verify", "--quiet", "--end-of-options", full_name];
    let output = flower_git::in_main(repository).args(args).output().await?;
    Ok((output.code == 0).then(|| output.line()))
}

/// Names and objects of all refs that begin so.
pub(crate) async fn refs_below(repository: &Repository, prefix: &str) -> Result<Vec<(String, String)>, Problem> {
    let args = ["for-each-ref", "--format=%(refname) %(objectname)", prefix];
    let text = flower_git::in_main(repository).args(args).line().await?;
    Ok(text.lines().filter_map(|line| line.split_once(' ')).map(|(n, o)| (n.to_owned(), o.to_owned())).collect())
}

/// Carries out lines of `git update-ref --stdin`, all or none of them.
pub(crate) async fn update_refs(repository: &Repository, lines: Vec<String>) -> Result<(), Problem> {
    if lines.is_empty() {
        return Ok(());
    }
    let input = lines.join("\n") + "\n";
    flower_git::in_main(repository).args(["update-ref", "--stdin"]).input(input).run().await?;
    Ok(())
}
