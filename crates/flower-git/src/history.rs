//! Reads commits: lists, messages, authors and ancestry.

use crate::trees::path_of;
use crate::{CommitId, Committish, GitError, ObjectId, Repo, TreeId};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;

/// Which commits are listed.
#[derive(Clone, Debug)]
pub struct Log {
    tip: String,
    without: Vec<String>,
    limit: u64,
    first_parent: bool,
    no_merges: bool,
    trailers: Vec<&'static str>,
}

impl Log {
    /// Up to `limit` commits that `tip` reaches, newest first.
    pub fn of(tip: &impl Committish, limit: u64) -> Log {
        Log {
            tip: tip.name().to_owned(),
            without: Vec::new(),
            limit,
            first_parent: false,
            no_merges: false,
            trailers: Vec::new(),
        }
    }

    /// Leaves out commits that this one reaches.
    pub fn without(mut self, commit: &impl Committish) -> Log {
        self.without.push(format!("^{}", commit.name()));
        self
    }

    /// Follows the first parent of each merge only.
    pub fn first_parent(mut self) -> Log {
        self.first_parent = true;
        self
    }

    /// Leaves out merges.
    pub fn no_merges(mut self) -> Log {
        self.no_merges = true;
        self
    }

    /// Also reads the trailers with these keys.
    pub fn trailers(mut self, keys: &[&'static str]) -> Log {
        self.trailers = keys.to_vec();
        self
    }
}

/// One commit of a [`Log`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    pub commit: CommitId,
    pub parents: Vec<CommitId>,
    /// When it was committed, as in `2026-01-31T12:00:00+01:00`.
    pub at: String,
    pub author: String,
    /// The first line of its message.
    pub subject: String,
    /// For each requested key its values, separated by commas.
    pub trailers: Vec<String>,
}

/// The author of a commit and the time, in git's raw form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Author {
    pub name: String,
    pub email: String,
    pub date: String,
}

impl Repo {
    /// Whether `new` is `old` or descends from it. Fails if the commit does not exist.
    pub async fn is_ancestor(&self, old: &impl Committish, new: &impl Committish) -> Result<bool, GitError> {
        self.git().args(["merge-base", "--is-ancestor", old.name(), new.name()]).succeeds().await
    }

    /// The best common ancestors; empty if there is none, or a commit does not exist.
    pub async fn merge_bases(&self, one: &CommitId, other: &CommitId) -> Result<Vec<CommitId>, GitError> {
        let output = self.git().args(["merge-base", "--all", one.as_str(), other.as_str()]).output().await?;
        output.line().lines().map(CommitId::parse).collect()
    }

    /// One of the best common ancestors; `None` if there is none, or a commit does not exist.
    pub async fn merge_base(&self, one: &CommitId, other: &CommitId) -> Result<Option<CommitId>, GitError> {
        let output = self.git().args(["merge-base", "--end-of-options", one.as_str(), other.as_str()]).output().await?;
        if output.code == 0 { CommitId::parse(&output.line()).map(Some) } else { Ok(None) }
    }

    /// Whether the repository has a commit.
    pub async fn has_commit(&self, commit: &CommitId) -> Result<bool, GitError> {
        Ok(self.git().args(["cat-file", "-e", &format!("{commit}^{{commit}}")]).output().await?.code == 0)
    }

    /// The tree of a commit. Fails if the commit does not exist.
    pub async fn tree_of(&self, commit: &CommitId) -> Result<TreeId, GitError> {
        let tree = format!("{commit}^{{tree}}");
        TreeId::parse(&self.git().args(["rev-parse", "--verify", "--end-of-options", &tree]).line().await?)
    }

    /// The first parent of a commit; `None` if it has none or does not exist.
    pub async fn first_parent(&self, commit: &CommitId) -> Result<Option<CommitId>, GitError> {
        let output = self.git().args(["rev-parse", "--verify", "--quiet", &format!("{commit}^1")]).output().await?;
        if output.code == 0 { CommitId::parse(&output.line()).map(Some) } else { Ok(None) }
    }

    /// The commits of a log. Fails if a commit or ref does not exist.
    pub async fn log(&self, log: &Log) -> Result<Vec<LogEntry>, GitError> {
        const FIELDS: usize = 5;
        let trailer = |key: &&str| format!("%x00%(trailers:key={key},valueonly,separator=%x2C)");
        let trailers: String = log.trailers.iter().map(trailer).collect();
        let mut git = self.git().args(["log", "-z", &format!("--max-count={}", log.limit)]);
        git = git.args(log.first_parent.then_some("--first-parent")).args(log.no_merges.then_some("--no-merges"));
        git = git.args([format!("--format=%H%x00%P%x00%cI%x00%an%x00%s{trailers}")]);
        let output = git.args(["--end-of-options", &log.tip]).args(&log.without).args(["--"]).run().await?;
        // No field contains NUL, so each commit has the same number of items.
        let fields: Vec<String> = texts(&output.stdout);
        let entry = |fields: &[String]| {
            Ok(LogEntry {
                commit: CommitId::parse(&fields[0])?,
                parents: fields[1].split_whitespace().map(CommitId::parse).collect::<Result<_, _>>()?,
                at: fields[2].clone(),
                author: fields[3].clone(),
                subject: fields[4].clone(),
                trailers: fields[FIELDS..].iter().map(|values| values.trim().to_owned()).collect(),
            })
        };
        fields.chunks_exact(FIELDS + log.trailers.len()).map(entry).collect()
    }

    /// Up to `limit` commits that changed one of `paths`, on the first-parent history of `tip` since `base`, newest first. Paths are
    /// taken as they are, without patterns.
    pub async fn commits_touching(
        &self,
        tip: &CommitId,
        base: Option<&CommitId>,
        paths: &[&OsStr],
        limit: u64,
    ) -> Result<Vec<CommitId>, GitError> {
        let limit = format!("--max-count={limit}");
        let args = ["--literal-pathspecs", "log", "--first-parent", "-m", "--format=%H", &limit, "--end-of-options"];
        let base = base.map(|base| format!("^{base}"));
        let text = self.git().args(args).args([tip.as_str()]).args(base).args(["--"]).args(paths).line().await?;
        text.lines().map(CommitId::parse).collect()
    }

    /// Up to `limit` commits that `new` has and `old` has not, newest first and without merges, each with the paths that it
    /// changed.
    pub async fn changed_paths(
        &self,
        old: &CommitId,
        new: &CommitId,
        limit: u64,
    ) -> Result<Vec<(CommitId, Vec<OsString>)>, GitError> {
        let (limit, range) = (format!("--max-count={limit}"), format!("{old}..{new}"));
        let args = ["log", "-z", "--format=%H", "--no-merges", "--no-renames", "--raw", &limit];
        let output = self.git().args(args).args(["--end-of-options", &range, "--"]).run().await?;
        let mut items = output.items();
        let mut commits: Vec<(CommitId, Vec<OsString>)> = Vec::new();
        while let Some(item) = items.next() {
            // git writes a line break between a commit and its first path.
            let item = item.strip_prefix(b"\n").unwrap_or(item);
            match (item.starts_with(b":"), commits.last_mut()) {
                // A path follows only after this metadata, so it can have any characters.
                (true, Some((_, paths))) => paths.extend(items.next().map(|path| OsString::from_vec(path.to_vec()))),
                _ => commits.push((CommitId::parse(&String::from_utf8_lossy(item))?, Vec::new())),
            }
        }
        Ok(commits)
    }

    /// The newest commit of `commit` without `main` that added or removed an object, and the object's path in it.
    pub async fn path_of_object(
        &self,
        commit: &CommitId,
        main: &CommitId,
        object: &ObjectId,
    ) -> Result<Option<(CommitId, OsString)>, GitError> {
        let find = format!("--find-object={object}");
        let args = ["log", "-1", "-z", "-m", "--name-only", "--no-renames", "--format=%H", &find];
        let not_main = format!("^{main}");
        let output = self.git().args(args).args([commit.as_str(), &not_main, "--"]).run().await?;
        let mut items = output.items();
        let Some(head) = items.next() else { return Ok(None) };
        let id = CommitId::parse(String::from_utf8_lossy(head).trim())?;
        let path = items.map(|path| path.trim_ascii_start()).find(|path| !path.is_empty());
        Ok(path.map(|path| (id, path_of(path))))
    }

    /// The number of commits that only `left` has, and that only `right` has.
    pub async fn count_apart(&self, left: &impl Committish, right: &impl Committish) -> Result<(u64, u64), GitError> {
        let range = format!("{}...{}", left.name(), right.name());
        let line = self.git().args(["rev-list", "--left-right", "--count", &range, "--"]).line().await?;
        let mut numbers = line.split_whitespace().map(|word| word.parse().unwrap_or(0));
        Ok((numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)))
    }

    /// Up to `limit` commits that `tip` has and `without` has not, newest first.
    pub async fn new_commits(
        &self,
        tip: &CommitId,
        without: &CommitId,
        limit: usize,
    ) -> Result<Vec<CommitId>, GitError> {
        let (limit, exclude) = (format!("--max-count={limit}"), format!("^{without}"));
        let args = ["rev-list", &limit, "--end-of-options", tip.as_str(), &exclude, "--"];
        self.git().args(args).line().await?.lines().map(CommitId::parse).collect()
    }

    /// All commits but merges that `tip` has and `without` has not, parents before children, each with its parents.
    pub async fn commits_to_replay(
        &self,
        tip: &CommitId,
        without: &CommitId,
    ) -> Result<Vec<(CommitId, Vec<CommitId>)>, GitError> {
        let exclude = format!("^{without}");
        let args = ["rev-list", "--reverse", "--topo-order", "--no-merges", "--parents", tip.as_str(), &exclude];
        let text = self.git().args(args).line().await?;
        let commit = |line: &str| {
            let mut ids = line.split(' ').map(CommitId::parse);
            let first = ids.next().ok_or(GitError::Unreadable("rev-list"))??;
            Ok((first, ids.collect::<Result<_, _>>()?))
        };
        text.lines().map(commit).collect()
    }

    /// The whole message of a commit, without its last line break. Fails if the commit does not exist.
    pub async fn message(&self, commit: &CommitId) -> Result<String, GitError> {
        self.git().args(["log", "--max-count=1", "--format=%B", "--end-of-options", commit.as_str()]).line().await
    }

    /// The first line of a commit's message. Fails if the commit does not exist.
    pub async fn subject(&self, commit: &CommitId) -> Result<String, GitError> {
        self.git().args(["log", "--max-count=1", "--format=%s", "--end-of-options", commit.as_str()]).line().await
    }

    /// The author of a commit. Fails if the commit does not exist.
    pub async fn author(&self, commit: &CommitId) -> Result<Author, GitError> {
        let format = "--format=%an%x00%ae%x00%ad";
        let args = ["log", "--max-count=1", format, "--date=raw", "--end-of-options", commit.as_str()];
        let text = self.git().args(args).line().await?;
        let mut parts = text.split('\0').map(str::to_owned);
        let mut next = || parts.next().unwrap_or_default();
        Ok(Author { name: next(), email: next(), date: next() })
    }

    /// Checks that every object that a ref reaches exists. The inner error is git's message.
    pub async fn check_connectivity(&self) -> Result<Result<(), String>, GitError> {
        let args = ["fsck", "--no-dangling", "--no-progress", "--connectivity-only"];
        let output = self.git().args(args).output().await?;
        Ok(if output.code == 0 { Ok(()) } else { Err(output.stderr) })
    }
}

/// Splits at NUL.
fn texts(bytes: &[u8]) -> Vec<String> {
    let mut fields: Vec<String> =
        bytes.split(|&byte| byte == 0).map(|field| String::from_utf8_lossy(field).into_owned()).collect();
    fields.pop();
    fields
}
