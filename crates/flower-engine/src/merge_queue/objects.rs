//! What a landing would add to MAIN's repository, object by object: also what a later commit took out again, because history
//! keeps it.

use aho_corasick::AhoCorasick;
use flower_contract::error::Problem;
use flower_git::repository::Repository;
use flower_git::{CommitId, GitError, Repo, TreeId};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

/// Larger files are not looked into, and need the operator.
pub(super) const LARGE: u64 = 8 << 20;
const DEADLINE: Duration = Duration::from_secs(10 * 60);

/// What was found in all of them.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// First lines of its commits, but for merges; newest first.
    pub(super) subjects: Vec<String>,
    /// Commits with two parents or more.
    pub(super) merges: Vec<Merge>,
    /// Why it is never let in.
    pub(super) forbidden: Vec<String>,
    /// Files that are too large to look into.
    pub(super) large: u64,
    /// Whether one of our own secrets is in it.
    pub(super) secret: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Merge {
    pub(super) commit: CommitId,
    pub(super) tree: TreeId,
    pub(super) parents: Vec<CommitId>,
}

/// Looks at everything that `commit` has and `main` has not.
pub(super) async fn inspect(
    repository: &Repository,
    main: &CommitId,
    commit: &CommitId,
    secrets: &AhoCorasick,
) -> Result<Found, Problem> {
    let repo = Repo::main(repository).with_deadline(DEADLINE);
    let new = repo.new_objects(commit, main, LARGE).await?;
    let mut found = Found { large: new.large, ..Found::default() };
    for object in repo.read_objects(&new.ids).await?.iter() {
        let object = object?;
        match object.kind {
            "commit" => found.take_commit(&CommitId::parse(object.id)?, object.content)?,
            "tree" => found.take_tree(object.content, object.id.len() / 2),
            _ => {}
        }
        found.secret = found.secret || secrets.is_match(object.content);
    }
    Ok(found)
}

impl Found {
    fn take_commit(&mut self, id: &CommitId, content: &[u8]) -> Result<(), GitError> {
        let text = String::from_utf8_lossy(content);
        let (header, message) = text.split_once("\n\n").unwrap_or((&text, ""));
        let named = |key: &str| -> Vec<String> {
            header.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix(' ')).map(str::to_owned).collect()
        };
        let parents = named("parent");
        if parents.len() < 2 {
            self.subjects.push(flower_core::text::cut(message.lines().next().unwrap_or_default(), 200));
        } else {
            let tree = TreeId::parse(&named("tree").into_iter().next().unwrap_or_default())?;
            let parents = parents.iter().map(|parent| CommitId::parse(parent)).collect::<Result<_, _>>()?;
            self.merges.push(Merge { commit: id.clone(), tree, parents });
        }
        Ok(())
    }

    /// Modes and names as they are stored, before git makes them look harmless.
    fn take_tree(&mut self, mut content: &[u8], id_bytes: usize) {
        const MODES: [&[u8]; 6] = [b"100644", b"100664", b"100755", b"120000", b"40000", b"160000"];
        while let Some(space) = content.iter().position(|&byte| byte == b' ') {
            let Some(end) = content.iter().position(|&byte| byte == 0) else { break };
            let (mode, name) = (&content[..space], content.get(space + 1..end).unwrap_or_default());
            let shown = String::from_utf8_lossy(name).escape_default().to_string();
            if !MODES.contains(&mode) {
                self.note(format!("`{shown}` has the mode {}", String::from_utf8_lossy(mode)));
            }
            if name.contains(&b'/') {
                self.note(format!("`{shown}` is no file name"));
            } else if let Some(why) = crate::path_policy::forbidden(OsStr::from_bytes(name)) {
                self.note(why);
            }
            content = content.get(end + 1 + id_bytes..).unwrap_or_default();
        }
    }

    fn note(&mut self, why: String) {
        /// Enough to see what it is about.
        const MOST: usize = 20;
        if self.forbidden.len() < MOST && !self.forbidden.contains(&why) {
            self.forbidden.push(why);
        }
    }
}

/// Searches for all `secrets` in one pass.
pub(super) fn secret_finder(secrets: &[Vec<u8>]) -> Result<AhoCorasick, Problem> {
    // An empty pattern would match every text.
    AhoCorasick::new(secrets.iter().filter(|secret| !secret.is_empty()))
        .map_err(|error| Problem::bug(format!("the secrets cannot be searched for: {error}")))
}

/// The values of our own secrets, as they would stand in a file: flower's tokens, and what MAIN's ignored `.env` files hold
/// under names that speak of secrets.
pub(super) async fn secrets(home: &crate::home::Home, repository: &Repository) -> Result<Vec<Vec<u8>>, Problem> {
    /// Shorter ones occur by chance.
    const LEAST: usize = 8;
    let mut all: Vec<Vec<u8>> = Vec::new();
    all.extend(std::fs::read_to_string(home.token()).ok().map(|token| token.trim().as_bytes().to_vec()));
    let entries = std::fs::read_dir(&repository.root).into_iter().flatten().flatten();
    let entries: Vec<_> = entries.filter(|entry| entry.file_name().as_bytes().starts_with(b".env")).collect();
    let tracked = if entries.is_empty() { Vec::new() } else { Repo::main(repository).tracked(".env*").await? };
    // What is tracked is no secret, such as an example of it.
    let is_tracked = |name: &OsStr| tracked.iter().any(|known| known == name);
    for entry in entries.into_iter().filter(|entry| !is_tracked(&entry.file_name())) {
        let small = entry.metadata().is_ok_and(|found| found.is_file() && found.len() < 1 << 20);
        let Some(text) = small.then(|| std::fs::read_to_string(entry.path()).ok()).flatten() else { continue };
        for line in text.lines() {
            let Some((key, value)) = line.trim().trim_start_matches("export ").split_once('=') else { continue };
            let value = value.trim().trim_matches(['"', '\'']);
            if value.len() >= LEAST && speaks_of_secrets(key) {
                all.push(value.as_bytes().to_vec());
            }
        }
    }
    all.retain(|secret| secret.len() >= LEAST);
    Ok(all)
}

fn speaks_of_secrets(key: &str) -> bool {
    let key = key.to_ascii_uppercase();
    let words =
        ["SECRET", "TOKEN", "PASS", "PWD", "KEY", "CREDENTIAL", "PRIVATE", "AUTH", "DSN", "DATABASE_URL", "CANARY"];
    words.iter().any(|word| key.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_found_where_they_are() {
        let finds = |text: &[u8], secrets: &[&[u8]]| {
            let secrets: Vec<_> = secrets.iter().map(|secret| secret.to_vec()).collect();
            secret_finder(&secrets).unwrap().is_match(text)
        };
        assert!(finds(b"aab", &[b"ab"]));
        assert!(finds(b"xxcanary", &[b"canary"]));
        assert!(finds(b"x\xffcanary\0", &[b"other", b"canary"]));
        assert!(!finds(b"canar", &[b"canary"]));
        assert!(!finds(b"", &[b"a"]));
        assert!(!finds(b"abc", &[b""]));
        assert!(!finds(b"abc", &[]));
    }

    #[test]
    fn trees_are_read_as_they_are_stored() {
        let mut found = Found::default();
        let entry = |mode: &str, name: &str| [mode.as_bytes(), b" ", name.as_bytes(), b"\0", &[7; 20]].concat();
        let good = [entry("100644", "a.txt"), entry("40000", "src"), entry("160000", "lib")].concat();
        found.take_tree(&good, 20);
        assert_eq!(found.forbidden, Vec::<String>::new());
        let bad = [entry("104755", "su"), entry("100644", ".GIT"), entry("100644", "a/b")].concat();
        found.take_tree(&bad, 20);
        assert_eq!(found.forbidden.len(), 3, "{:?}", found.forbidden);
    }
}
