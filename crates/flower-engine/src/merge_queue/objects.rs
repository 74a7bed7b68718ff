//! Reads every object that a landing would add to MAIN's repository, also those that a later commit removed again: MAIN's
//! history would keep them.

use crate::profiles::NamedSecret;
use aho_corasick::AhoCorasick;
use flower_contract::error::Problem;
use flower_core::text::{TITLE_CHARS, cut};
use flower_git::repository::Repository;
use flower_git::{CommitId, GitError, ObjectId, Repo, TreeId};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

/// Larger files are not scanned, and need approval.
pub(super) const LARGE_FILE_BYTES: u64 = 8 << 20;
const SCAN_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// Reasons that are recorded; more would not tell more.
const MAX_REASONS: usize = 20;
/// Shorter secrets occur by chance.
const MIN_SECRET_BYTES: usize = 8;

/// What the new objects of a landing contain.
#[derive(Debug, Default)]
pub(super) struct NewContent {
    /// The commits, without merge commits.
    pub(super) own: Vec<CommitId>,
    /// Subjects of the commits, without merge commits, newest first.
    pub(super) subjects: Vec<String>,
    pub(super) merges: Vec<MergeCommit>,
    /// Why the landing is refused.
    pub(super) forbidden: Vec<String>,
    /// Number of files that were too large to be scanned.
    pub(super) large_files: u64,
    /// The name of a secret of flower or of the operator, and where it occurs.
    pub(super) secret: Option<(String, String)>,
}

/// A commit with two parents or more.
#[derive(Clone, Debug)]
pub(super) struct MergeCommit {
    pub(super) commit: CommitId,
    pub(super) tree: TreeId,
    pub(super) parents: Vec<CommitId>,
}

/// Scans everything that `commit` has and `main` has not.
pub(super) async fn scan(
    repository: &Repository,
    main: &CommitId,
    commit: &CommitId,
    secrets: &SecretFinder,
) -> Result<NewContent, Problem> {
    let repo = Repo::main(repository).with_deadline(SCAN_TIMEOUT);
    let new = repo.new_objects(commit, main, LARGE_FILE_BYTES).await?;
    let mut found = NewContent { large_files: new.large, ..NewContent::default() };
    let mut leaked: Option<(String, String, String)> = None;
    for object in repo.read_objects(&new.ids).await?.iter() {
        let object = object?;
        match object.kind {
            "commit" => found.add_commit(&CommitId::parse(object.id)?, object.content)?,
            "tree" => found.scan_tree(object.content, object.id.len() / 2),
            _ => {}
        }
        if leaked.is_none()
            && let Some(name) = secrets.name_in(object.content)
        {
            leaked = Some((name.to_owned(), object.kind.to_owned(), object.id.to_owned()));
        }
    }
    if let Some((name, kind, id)) = leaked {
        let place = place_of(&repo, main, commit, &kind, &id).await;
        // A path can contain a secret too.
        let place = if secrets.name_in(&place).is_some() { "in a file that is named by it".to_owned() } else { place };
        found.secret = Some((name, place));
    }
    Ok(found)
}

/// Where an object of a landing is, in words.
async fn place_of(repo: &Repo, main: &CommitId, commit: &CommitId, kind: &str, id: &str) -> String {
    match kind {
        "commit" => format!("in the message of commit {}", id.get(..12).unwrap_or(id)),
        "tree" => "in the name of a file".to_owned(),
        _ => {
            let listing = repo.list_files(commit).await;
            let now = listing.ok().and_then(|listing| {
                let path = listing.entries().find(|entry| entry.id == id)?.path.to_string_lossy().into_owned();
                Some(format!("in `{path}`"))
            });
            match now {
                Some(place) => place,
                // A later commit has removed or changed the file, and the history would keep it.
                None => match older_path(repo, main, commit, id).await {
                    Some((at, path)) => format!("in `{}` of the older commit {}", path.to_string_lossy(), at.short()),
                    None => "in an older commit".to_owned(),
                },
            }
        }
    }
}

async fn older_path(repo: &Repo, main: &CommitId, commit: &CommitId, id: &str) -> Option<(CommitId, OsString)> {
    repo.path_of_object(commit, main, &ObjectId::parse(id).ok()?).await.ok().flatten()
}

impl NewContent {
    fn add_commit(&mut self, id: &CommitId, content: &[u8]) -> Result<(), GitError> {
        let text = String::from_utf8_lossy(content);
        let (header, message) = text.split_once("\n\n").unwrap_or((&text, ""));
        let named = |key: &str| -> Vec<String> {
            header.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix(' ')).map(str::to_owned).collect()
        };
        let parents = named("parent");
        if parents.len() < 2 {
            self.own.push(id.clone());
            self.subjects.push(cut(message.lines().next().unwrap_or_default(), TITLE_CHARS));
        } else {
            let tree = TreeId::parse(&named("tree").into_iter().next().unwrap_or_default())?;
            let parents = parents.iter().map(|parent| CommitId::parse(parent)).collect::<Result<_, _>>()?;
            self.merges.push(MergeCommit { commit: id.clone(), tree, parents });
        }
        Ok(())
    }

    /// Reads modes and names as they are stored: git's own listing would hide unusual ones.
    fn scan_tree(&mut self, mut content: &[u8], id_bytes: usize) {
        const MODES: [&[u8]; 6] = [b"100644", b"100664", b"100755", b"120000", b"40000", b"160000"];
        while let Some(space) = content.iter().position(|&byte| byte == b' ') {
            let Some(end) = content.iter().position(|&byte| byte == 0) else { break };
            let (mode, name) = (&content[..space], content.get(space + 1..end).unwrap_or_default());
            let shown = String::from_utf8_lossy(name).escape_default().to_string();
            if !MODES.contains(&mode) {
                self.forbid(format!("`{shown}` has the mode {}", String::from_utf8_lossy(mode)));
            }
            if name.contains(&b'/') {
                self.forbid(format!("`{shown}` is no file name"));
            } else if let Some(why) = crate::path_policy::forbidden(OsStr::from_bytes(name)) {
                self.forbid(why);
            }
            content = content.get(end + 1 + id_bytes..).unwrap_or_default();
        }
    }

    fn forbid(&mut self, why: String) {
        if self.forbidden.len() < MAX_REASONS && !self.forbidden.contains(&why) {
            self.forbidden.push(why);
        }
    }
}

/// Searches for all secrets in one pass.
pub(super) struct SecretFinder {
    finder: AhoCorasick,
    names: Vec<String>,
}

impl SecretFinder {
    pub(super) fn new(secrets: &[NamedSecret]) -> Result<SecretFinder, Problem> {
        // An empty pattern would match every text.
        let real: Vec<&NamedSecret> = secrets.iter().filter(|secret| !secret.value.is_empty()).collect();
        let finder = AhoCorasick::new(real.iter().map(|secret| &secret.value))
            .map_err(|error| Problem::bug(format!("the secrets cannot be searched for: {error}")))?;
        Ok(SecretFinder { finder, names: real.into_iter().map(|secret| secret.name.clone()).collect() })
    }

    /// The name of a secret that the text contains.
    pub(super) fn name_in(&self, text: impl AsRef<[u8]>) -> Option<&str> {
        let found = self.finder.find(text.as_ref())?;
        self.names.get(found.pattern().as_usize()).map(String::as_str)
    }
}

/// Secrets that must not land, as they would occur in a file: flower's token, and the values in MAIN's ignored `.env` files whose
/// names suggest a secret.
pub(super) async fn own_secrets(
    home: &crate::home::Home,
    repository: &Repository,
) -> Result<Vec<NamedSecret>, Problem> {
    let mut all: Vec<NamedSecret> = Vec::new();
    let token = std::fs::read_to_string(home.token()).ok();
    all.extend(
        token.map(|token| NamedSecret { name: "flower's token".into(), value: token.trim().as_bytes().to_vec() }),
    );
    let entries = std::fs::read_dir(&repository.root).into_iter().flatten().flatten();
    let entries: Vec<_> = entries.filter(|entry| entry.file_name().as_bytes().starts_with(b".env")).collect();
    let tracked = if entries.is_empty() { Vec::new() } else { Repo::main(repository).tracked(".env*").await? };
    // A tracked file such as `.env.example` contains no secret.
    let is_tracked = |name: &OsStr| tracked.iter().any(|known| known == name);
    for entry in entries.into_iter().filter(|entry| !is_tracked(&entry.file_name())) {
        let small = entry.metadata().is_ok_and(|found| found.is_file() && found.len() < 1 << 20);
        let Some(text) = small.then(|| std::fs::read_to_string(entry.path()).ok()).flatten() else { continue };
        for line in text.lines() {
            let Some((key, value)) = line.trim().trim_start_matches("export ").split_once('=') else { continue };
            let value = value.trim().trim_matches(['"', '\'']);
            if value.len() >= MIN_SECRET_BYTES && names_a_secret(key) {
                let file = entry.file_name();
                let name = format!("`{}` of MAIN's `{}`", key.trim(), file.to_string_lossy());
                all.push(NamedSecret { name, value: value.as_bytes().to_vec() });
            }
        }
    }
    all.retain(|secret| secret.value.len() >= MIN_SECRET_BYTES);
    Ok(all)
}

fn names_a_secret(key: &str) -> bool {
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
            let named = |(at, value): (usize, &&[u8])| NamedSecret { name: at.to_string(), value: value.to_vec() };
            let secrets: Vec<_> = secrets.iter().enumerate().map(named).collect();
            SecretFinder::new(&secrets).unwrap().name_in(text).is_some()
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
        let mut found = NewContent::default();
        let entry = |mode: &str, name: &str| [mode.as_bytes(), b" ", name.as_bytes(), b"\0", &[7; 20]].concat();
        let good = [entry("100644", "a.txt"), entry("40000", "src"), entry("160000", "lib")].concat();
        found.scan_tree(&good, 20);
        assert_eq!(found.forbidden, Vec::<String>::new());
        let bad = [entry("104755", "su"), entry("100644", ".GIT"), entry("100644", "a/b")].concat();
        found.scan_tree(&bad, 20);
        assert_eq!(found.forbidden.len(), 3, "{:?}", found.forbidden);
    }
}
