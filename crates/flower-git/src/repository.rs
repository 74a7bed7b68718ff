//! Finds the repository that a directory belongs to, without starting git.

use std::fs;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// MAIN's checkout, also if the search began in a linked worktree.
    pub root: PathBuf,
    /// The directory that all its worktrees share.
    pub git_dir: PathBuf,
}

impl Repository {
    /// The repository around `start`, if there is one.
    pub fn discover(start: &Path) -> Option<Repository> {
        let start = start.canonicalize().ok()?;
        start.ancestors().find_map(Repository::at)
    }

    /// Whether the directory is a repository without a checkout.
    pub fn is_bare(dir: &Path) -> bool {
        dir.join("HEAD").is_file() && dir.join("objects").is_dir() && dir.join("refs").is_dir()
    }

    fn at(dir: &Path) -> Option<Repository> {
        let dot_git = dir.join(".git");
        if dot_git.is_dir() {
            let is_repository = dot_git.join("HEAD").is_file() && dot_git.join("objects").is_dir();
            return is_repository.then(|| Repository { root: dir.to_owned(), git_dir: dot_git });
        }
        // A linked worktree: `.git` is a file that leads to its private directory, which names the common one.
        let private = dir.join(fs::read_to_string(&dot_git).ok()?.strip_prefix("gitdir:")?.trim());
        let git_dir = match fs::read_to_string(private.join("commondir")) {
            Ok(common) => private.join(common.trim()),
            Err(_) => private,
        };
        let git_dir = git_dir.canonicalize().ok()?;
        let root = if git_dir.file_name().is_some_and(|name| name == ".git") { git_dir.parent()? } else { dir };
        Some(Repository { root: root.to_owned(), git_dir })
    }

    /// A project name made from the folder's; other characters become `-`.
    pub fn default_name(&self) -> String {
        let folder = self.root.file_name().map_or_else(String::new, |name| name.to_string_lossy().to_lowercase());
        let plain: String = folder
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' })
            .take(40)
            .collect();
        let plain = plain.trim_matches(['-', '.']).to_owned();
        if plain.is_empty() { "project".to_owned() } else { plain }
    }
}
