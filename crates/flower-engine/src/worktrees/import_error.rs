//! Why commits of a worktree cannot be imported into MAIN's repository, and what to do about it inside.

use super::limits::{
    IMPORT_TIMEOUT, MAX_FILE_BYTES, MAX_FILES, MAX_MEMORY_BYTES, MAX_PACKED_BYTES, MAX_UNPACKED_BYTES, in_gb,
};
use flower_contract::error::{Problem, ProblemKind};
use flower_git::GitError;
use thiserror::Error;

#[derive(Clone, Debug, Error)]
pub(crate) enum ImportError {
    #[error("its new commits are more than {} GB", in_gb(MAX_PACKED_BYTES))]
    Packed,
    #[error("unpacking its new commits takes more than {} GB of memory", in_gb(MAX_MEMORY_BYTES))]
    Memory,
    #[error("looking through its new commits takes more than {} minutes", IMPORT_TIMEOUT.as_secs() / 60)]
    Time,
    #[error("a file in its new commits has more than {} GB", in_gb(MAX_FILE_BYTES))]
    File,
    #[error("it has more than {MAX_FILES} files that MAIN has not")]
    Files,
    #[error("its files would fill more than {} GB that MAIN does not", in_gb(MAX_UNPACKED_BYTES))]
    Unpacked,
    #[error("`{0}` and `{1}` differ only in upper and lower case or in composed characters")]
    CaseCollision(String, String),
    #[error("the address of a submodule would run a program: `{0}`")]
    Submodule(String),
    #[error("`{0}` would become a submodule, which MAIN does not have there")]
    Gitlink(String),
    #[error("it has brought {} of commits into MAIN's repository, and with {} more it would be over {}", size(*before), size(*more), size(*most))]
    Total { before: u64, more: u64, most: u64 },
    #[error("the content {} of LFS in its new commits has more than {} GB", short(.0), in_gb(MAX_FILE_BYTES))]
    LargeContent(String),
    #[error("the content {} of LFS in its new commits has another hash or size than its pointer says", short(.0))]
    Content(String),
    #[error("git finds fault with its new commits: {0}")]
    Fault(String),
    /// git failed for a reason that need not lie in the commits.
    #[error(transparent)]
    Git(#[from] GitError),
}

impl ImportError {
    /// Classifies a failure of git while it read the commits.
    pub(super) fn of(error: GitError) -> ImportError {
        match &error {
            GitError::Deadline { .. } => ImportError::Time,
            GitError::Failed { stderr, .. } if stderr.contains("exceeds maximum allowed size") => ImportError::Packed,
            GitError::Failed { stderr, .. } if is_out_of_memory(stderr) => ImportError::Memory,
            GitError::Failed { stderr, .. } => fault(stderr).map_or(ImportError::Git(error), ImportError::Fault),
            _ => ImportError::Git(error),
        }
    }

    /// Whether the same commits would be refused again.
    pub(super) fn is_final(&self) -> bool {
        !matches!(self, ImportError::Git(_))
    }

    pub(super) fn problem(self, worktree: &str) -> Problem {
        let enter = format!("`flower worktree shell {worktree}`");
        let hint = match &self {
            ImportError::Git(error) => return error.clone().into(),
            // Only the newest commit is inspected for these, so a further commit can correct them.
            ImportError::Files | ImportError::Unpacked | ImportError::CaseCollision(..) | ImportError::Submodule(_) => {
                format!("mend it inside ({enter}) and commit: then it comes out by itself")
            }
            ImportError::Gitlink(path) => format!(
                "add its files instead of the repository, or none of it: {enter}, then `git rm --cached {path}`, keep \
                 `{path}` in `.gitignore` or delete its `.git`, and commit"
            ),
            ImportError::Total { .. } => format!(
                "take large files out of its commits inside ({enter}), or go on in a new worktree that begins at this branch: \
                 `flower worktree new NAME --from flower/{worktree}`, then `flower worktree remove {worktree}`"
            ),
            _ => format!(
                "take it out of every commit inside ({enter}, then `git rebase -i` or `git reset`): then the rest comes \
                 out by itself"
            ),
        };
        Problem::new(ProblemKind::Refused, self.to_string(), hint)
    }
}

impl From<std::io::Error> for ImportError {
    fn from(error: std::io::Error) -> ImportError {
        ImportError::Git(GitError::Io { command: "index-pack".into(), error: error.to_string() })
    }
}

/// The begin of a hash.
fn short(oid: &str) -> &str {
    oid.get(..12).unwrap_or(oid)
}

/// A size for people.
fn size(bytes: u64) -> String {
    match bytes {
        0..0x10_0000 => format!("{} KB", bytes.div_ceil(1024)),
        0x10_0000..0x4000_0000 => format!("{} MB", bytes >> 20),
        _ => format!("{} GB", bytes >> 30),
    }
}

fn is_out_of_memory(stderr: &str) -> bool {
    ["Out of memory", "out of memory", "Cannot allocate memory", "cannot allocate memory"]
        .iter()
        .any(|sign| stderr.contains(sign))
}

/// What is wrong with an object according to git's checks, if that is why git failed.
fn fault(stderr: &str) -> Option<String> {
    let lines = || stderr.lines().map(|line| line.trim_start_matches("error: ").trim_start_matches("fatal: "));
    // As in `object 1234: hasDotgit: contains '.git'`.
    let checked = lines().find_map(|line| {
        let (object, rest) = line.strip_prefix("object ")?.split_once(": ")?;
        let (check, words) = rest.split_once(": ")?;
        Some(match check {
            "hasDotgit" => format!("a file or folder is named like git's own `.git` (in {object})"),
            "hasDot" | "hasDotdot" | "fullPathname" | "emptyName" => {
                format!("a name would lead out of its folder (in {object})")
            }
            _ => format!("{words} (in {object})"),
        })
    });
    let missing = || {
        let signs =
            ["missing ", "bad object", "did not receive expected", "unresolved delta", "unable to read", "corrupt"];
        lines().find(|line| signs.iter().any(|sign| line.contains(sign))).map(str::to_owned)
    };
    checked.or_else(missing).map(|words| plain(&words))
}

/// A text from inside a worktree, made safe for display: without control characters and of bounded length.
pub(super) fn plain(words: &str) -> String {
    words.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_git_are_translated() {
        let said = |stderr: &str| fault(stderr);
        let dotgit = "error: object 12ab: hasDotgit: contains '.git'\nfatal: fsck error in packed object";
        assert_eq!(said(dotgit).unwrap(), "a file or folder is named like git's own `.git` (in 12ab)");
        let url = "error: object 12ab: gitmodulesUrl: disallowed submodule url: -u\u{1b}[2J\nfatal: fsck error";
        assert_eq!(said(url).unwrap(), "disallowed submodule url: -u\u{fffd}[2J (in 12ab)");
        assert!(said("fatal: did not receive expected object 12ab").is_some());
        assert_eq!(said("fatal: write error: No space left on device"), None);
    }
}
