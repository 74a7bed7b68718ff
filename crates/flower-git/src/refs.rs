//! Reads refs, and updates them in transactions.

use crate::process::Output;
use crate::{AnyObject, CommitId, GitError, ObjectId, OwnRef, RefName, Repo, TreeId};
use std::collections::BTreeSet;

/// A transaction on flower's own refs. Equal changes count once.
#[derive(Clone, Debug, Default)]
pub struct RefUpdates {
    /// Lines for `git update-ref --stdin`.
    lines: BTreeSet<String>,
}

impl RefUpdates {
    pub fn new() -> RefUpdates {
        RefUpdates::default()
    }

    /// Sets a ref unconditionally.
    pub fn set(&mut self, name: &OwnRef, to: &impl AnyObject) {
        self.lines.insert(format!("update {name} {}", to.name()));
    }

    /// Moves a ref that is at `old`. Fails if it is not.
    pub fn swap(&mut self, name: &OwnRef, to: &CommitId, old: &CommitId) {
        self.lines.insert(format!("update {name} {to} {old}"));
    }

    /// Creates a ref. Fails if it exists.
    pub fn create(&mut self, name: &OwnRef, at: &CommitId) {
        self.lines.insert(format!("create {name} {at}"));
    }

    /// Deletes a ref unconditionally. Succeeds if it does not exist.
    pub fn delete(&mut self, name: &OwnRef) {
        self.lines.insert(format!("delete {name}"));
    }

    /// Deletes a ref that is at `old`. Fails if it is not.
    pub fn delete_at(&mut self, name: &OwnRef, old: &impl AnyObject) {
        self.lines.insert(format!("delete {name} {}", old.name()));
    }
}

impl Repo {
    /// The commit that a ref is at; `None` if there is no such ref.
    pub async fn tip(&self, name: &RefName) -> Result<Option<CommitId>, GitError> {
        let output = self.resolve(name).await?;
        if output.code == 0 { CommitId::parse(&output.line()).map(Some) } else { Ok(None) }
    }

    /// The commit that a ref is at. The inner error is git's message, which may be empty.
    pub async fn tip_or_reason(&self, name: &RefName) -> Result<Result<CommitId, String>, GitError> {
        let output = self.resolve(name).await?;
        match CommitId::parse(&output.line()) {
            Ok(commit) if output.code == 0 => Ok(Ok(commit)),
            _ => Ok(Err(output.stderr)),
        }
    }

    /// The tree that a ref is at; `None` if there is no such ref.
    pub async fn tree_at(&self, name: &RefName) -> Result<Option<TreeId>, GitError> {
        let output = self.resolve(name).await?;
        if output.code == 0 { TreeId::parse(&output.line()).map(Some) } else { Ok(None) }
    }

    async fn resolve(&self, name: &RefName) -> Result<Output, GitError> {
        let args = ["rev-parse", "--verify", "--quiet", "--end-of-options", name.as_str()];
        self.git().args(args).output().await
    }

    /// The commit that is checked out; nothing before the first one.
    pub async fn head(&self) -> Result<Option<CommitId>, GitError> {
        let output = self.git().args(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).output().await?;
        if output.code == 0 { CommitId::parse(&output.line()).map(Some) } else { Ok(None) }
    }

    /// Whether this branch is checked out.
    pub async fn is_on(&self, branch: &RefName) -> Result<bool, GitError> {
        let output = self.git().args(["symbolic-ref", "--quiet", "HEAD"]).output().await?;
        Ok(output.code == 0 && output.line() == branch.as_str())
    }

    /// All refs below `prefix`, with their objects, ordered by name.
    pub async fn refs_below(&self, prefix: &str) -> Result<Vec<(RefName, ObjectId)>, GitError> {
        let args = ["for-each-ref", "--format=%(refname) %(objectname)", prefix];
        let text = self.git().args(args).line().await?;
        let pairs = text.lines().filter_map(|line| line.split_once(' '));
        pairs.map(|(name, object)| Ok((RefName::listed(name), ObjectId::parse(object)?))).collect()
    }

    /// Like [`Repo::refs_below`], without refs that are not flower's own.
    pub async fn own_refs_below(&self, prefix: &str) -> Result<Vec<(OwnRef, ObjectId)>, GitError> {
        let all = self.refs_below(prefix).await?.into_iter();
        Ok(all.filter_map(|(name, object)| Some((OwnRef::of(name).ok()?, object))).collect())
    }

    /// flower's own refs below `prefix` whose commits this one reaches.
    pub async fn own_refs_reached_by(
        &self,
        prefix: &str,
        commit: &CommitId,
    ) -> Result<Vec<(OwnRef, ObjectId)>, GitError> {
        let merged = format!("--merged={commit}");
        let args = ["for-each-ref", "--format=%(refname) %(objectname)", &merged, prefix];
        let text = self.git().args(args).line().await?;
        let pairs = text.lines().filter_map(|line| line.split_once(' '));
        let own = pairs.filter_map(|(name, object)| Some((OwnRef::parse(name).ok()?, object)));
        own.map(|(name, object)| Ok((name, ObjectId::parse(object)?))).collect()
    }

    /// Whether a ref below one of these prefixes reaches this commit. False for other objects, such as trees.
    pub async fn is_reachable_from(&self, object: &impl AnyObject, prefixes: &[&str]) -> Result<bool, GitError> {
        let contains = format!("--contains={}", object.name());
        let args = ["for-each-ref", "--count=1", "--format=%(refname)", &contains];
        let output = self.git().args(args).args(prefixes).output().await?;
        Ok(output.code == 0 && !output.stdout.is_empty())
    }

    /// Sets a ref unconditionally, or creates it.
    pub async fn set_ref(&self, name: &OwnRef, to: &impl AnyObject) -> Result<(), GitError> {
        self.git().args(["update-ref", name.as_str(), to.name()]).run().await.map(drop)
    }

    /// Deletes a ref that is at `old`. Fails if it is not.
    pub async fn delete_ref(&self, name: &OwnRef, old: &CommitId) -> Result<(), GitError> {
        self.git().args(["update-ref", "-d", name.as_str(), old.as_str()]).run().await.map(drop)
    }

    /// Makes all of the changes or none.
    pub async fn update_refs(&self, updates: RefUpdates) -> Result<(), GitError> {
        if updates.lines.is_empty() {
            return Ok(());
        }
        let input: String = updates.lines.iter().map(|line| format!("{line}\n")).collect();
        self.git().args(["update-ref", "--stdin"]).input(input).run().await.map(drop)
    }

    /// Sets the remote-tracking branch of this name at `origin`.
    pub async fn set_origin(&self, branch: &str, commit: &CommitId) -> Result<(), GitError> {
        let name = RefName::parse(&format!("refs/remotes/origin/{branch}"))?;
        self.git().args(["update-ref", name.as_str(), commit.as_str()]).run().await.map(drop)
    }
}
