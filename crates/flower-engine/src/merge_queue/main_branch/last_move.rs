//! Which command of git has moved MAIN's branch, from its reflog.

use flower_git::CommitId;
use flower_git::repository::Repository;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

/// More than one entry of a reflog has.
const MAX_TAIL_BYTES: u64 = 16 * 1024;
/// Commands that a person uses. Other programs can write any word.
const COMMANDS: [&str; 9] = ["am", "cherry-pick", "commit", "fetch", "merge", "pull", "rebase", "reset", "revert"];

/// The command that has moved the branch to this commit, such as `pull`. `None` if the reflog does not say it.
pub(super) fn command(repository: &Repository, branch: &str, tip: &CommitId) -> Option<&'static str> {
    let file = repository.git_dir.join("logs/refs/heads").join(branch);
    let mut file = File::open(file).ok().filter(|file| file.metadata().is_ok_and(|found| found.is_file()))?;
    let end = file.seek(SeekFrom::End(0)).ok()?;
    file.seek(SeekFrom::Start(end.saturating_sub(MAX_TAIL_BYTES))).ok()?;
    let mut tail = Vec::new();
    file.take(MAX_TAIL_BYTES).read_to_end(&mut tail).ok()?;
    let tail = String::from_utf8_lossy(&tail);
    let (moved, message) = tail.lines().next_back()?.split_once('\t')?;
    let is_it = moved.split(' ').nth(1) == Some(tip.as_str());
    let word = message.split([' ', ':']).next().filter(|_| is_it)?;
    COMMANDS.into_iter().find(|command| *command == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_newest_entry_names_the_command() {
        let dir = tempfile::tempdir().unwrap();
        let repository = Repository { root: dir.path().to_owned(), git_dir: dir.path().to_owned() };
        let logs = dir.path().join("logs/refs/heads");
        fs::create_dir_all(&logs).unwrap();
        let (old, new) = ("a".repeat(40), "b".repeat(40));
        let tip = CommitId::parse(&new).unwrap();
        for (message, command_word) in [
            ("pull: Fast-forward", Some("pull")),
            ("pull --rebase (finish): refs/heads/main onto x", Some("pull")),
            ("commit (amend): x", Some("commit")),
            ("reset: moving to HEAD~1", Some("reset")),
            ("rm -rf: x", None),
            ("", None),
        ] {
            let line = format!("{old} {new} T <t@x> 1 +0000\t{message}\n");
            fs::write(logs.join("main"), format!("{}{line}", line.repeat(200))).unwrap();
            assert_eq!(command(&repository, "main", &tip), command_word, "{message}");
            assert_eq!(command(&repository, "main", &CommitId::parse(&old).unwrap()), None);
        }
        assert_eq!(command(&repository, "other", &tip), None);
    }
}
