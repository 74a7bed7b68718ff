//! The hooks that flower installs in MAIN's repository. The branch hook refuses to move MAIN's branch by hand, and says what to do
//! instead; it is a courtesy, because the watch finds every move. The index hook keeps the operator's git out of repositories
//! that were made in a worktree.

use crate::MergeQueue;
use crate::worktrees::disk::{self, read_small_text};
use crate::worktrees::gitlinks::WORKTREE_CONFIG_MARKER;
use flower_contract::error::Problem;
use flower_contract::view::MainHook;
use flower_git::CommitId;
use flower_git::repository::Repository;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const BRANCH_HOOK: &str = "reference-transaction";
const INDEX_HOOK: &str = "post-index-change";
/// The file of MAIN's `.git` in which the branch hook notes the commits that git tried to move MAIN to, the newest last.
const NOTE: &str = "flower-tried";
/// Earlier commits that a note keeps.
const KEPT_LINES: u8 = 15;
/// More than the note of any hash has.
const MAX_NOTE_BYTES: u64 = 4096;
/// More than a hook or the configuration of a repository has.
const MAX_HOOK_BYTES: u64 = 1 << 20;
/// A line of every hook of flower begins with this.
const MARKER: &str = "# flower: keeps ";

impl MergeQueue {
    /// Records MAIN's tip, if the log does not have it, and installs the hooks.
    pub(crate) async fn install_hooks_in(&self, project: &str) -> Result<(), Problem> {
        self.record_main(project).await?;
        let main = self.worktrees.main_of(project).await?;
        install(&self.worktrees.repository(project).await?, &main.branch)
    }

    /// Installs the hooks of all projects at every start, because another program may have removed them.
    pub async fn install_hooks(&self) {
        for project in self.projects.list().await.unwrap_or_default() {
            if let Err(problem) = self.install_hooks_in(&project.name).await {
                tracing::debug!("{}: {}", project.name, problem.message);
            }
        }
    }
}

/// Whether the branch hook is in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HookState {
    Installed,
    /// git uses the hooks of another folder, such as that of a hook manager.
    Elsewhere(String),
    Absent,
}

impl HookState {
    pub(super) fn view(&self) -> MainHook {
        match self {
            HookState::Installed => MainHook::Installed,
            HookState::Elsewhere(_) => MainHook::Elsewhere,
            HookState::Absent => MainHook::Absent,
        }
    }

    pub(super) fn note(&self) -> Option<String> {
        match self {
            HookState::Installed => None,
            HookState::Elsewhere(path) => Some(format!(
                "hooks are taken from `{path}` (core.hooksPath): no hook refuses moves of MAIN's branch by hand; it is watched"
            )),
            HookState::Absent => Some("no hook refuses moves of MAIN's branch by hand; it is watched".to_owned()),
        }
    }
}

pub(super) fn state(repository: &Repository) -> HookState {
    if let Some(path) = hooks_path(repository) {
        return HookState::Elsewhere(path);
    }
    match read_small_text(&hooks_dir(repository).join(BRANCH_HOOK), MAX_HOOK_BYTES) {
        Some(text) if text.contains(MARKER) => HookState::Installed,
        _ => HookState::Absent,
    }
}

/// Installs the hooks. A hook that is there already is kept under another name, and called by flower's.
pub(super) fn install(repository: &Repository, branch: &str) -> Result<(), Problem> {
    if hooks_path(repository).is_some() {
        return Ok(());
    }
    let folder = hooks_dir(repository);
    for (name, text) in [(BRANCH_HOOK, branch_hook(branch)), (INDEX_HOOK, index_hook())] {
        install_one(&folder, name, &text)
            .map_err(|error| crate::home::repository_problem(&folder.join(name), &error))?;
    }
    Ok(())
}

fn install_one(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    let hook = folder.join(name);
    fs::create_dir_all(folder)?;
    match read_small_text(&hook, MAX_HOOK_BYTES) {
        Some(now) if now == text => return Ok(()),
        Some(now) if now.contains(MARKER) => {}
        _ if fs::symlink_metadata(&hook).is_ok() => fs::rename(&hook, folder.join(chained(name)))?,
        _ => {}
    }
    let draft = folder.join(format!("{name}.draft"));
    let _ = fs::remove_file(&draft);
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o755).open(&draft)?;
    file.write_all(text.as_bytes())?;
    fs::rename(&draft, &hook)
}

/// The commits that git tried to move MAIN's branch to by hand, the newest first. Any program that can write to MAIN's `.git` can
/// write the note, so it proves nothing.
pub(super) fn tried(repository: &Repository) -> Vec<CommitId> {
    let text = disk::read_small(&repository.git_dir.join(NOTE), MAX_NOTE_BYTES).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let mut commits: Vec<CommitId> = Vec::new();
    for commit in text.lines().rev().filter_map(|line| CommitId::parse(line).ok()) {
        if !commits.contains(&commit) {
            commits.push(commit);
        }
    }
    commits
}

/// Forgets what [`tried`] returns, and drafts that a killed hook left.
pub(super) fn forget_tried(repository: &Repository) -> io::Result<()> {
    for entry in fs::read_dir(&repository.git_dir)?.flatten() {
        let name = entry.file_name();
        let is_ours = name.to_str().is_some_and(|name| name == NOTE || name.starts_with(&format!("{NOTE}.")));
        if is_ours && entry.file_type().is_ok_and(|kind| !kind.is_dir()) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// The name of the hook that was there before flower.
fn chained(name: &str) -> String {
    format!("{name}.before-flower")
}

/// Removes flower's hooks, and puts those that were there before back.
pub(crate) fn uninstall(repository: &Repository) -> io::Result<()> {
    forget_tried(repository)?;
    let folder = hooks_dir(repository);
    for name in [BRANCH_HOOK, INDEX_HOOK] {
        let (hook, chained) = (folder.join(name), folder.join(chained(name)));
        if !read_small_text(&hook, MAX_HOOK_BYTES).is_some_and(|text| text.contains(MARKER)) {
            continue;
        }
        if fs::symlink_metadata(&chained).is_ok() { fs::rename(chained, hook) } else { fs::remove_file(hook) }?;
    }
    Ok(())
}

fn hooks_dir(repository: &Repository) -> PathBuf {
    repository.git_dir.join("hooks")
}

/// `core.hooksPath` in the repository's own configuration.
fn hooks_path(repository: &Repository) -> Option<String> {
    let text = read_small_text(&repository.git_dir.join("config"), MAX_HOOK_BYTES)?;
    let mut section = String::new();
    for line in text.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']').trim().to_ascii_lowercase();
        } else if let Some((key, value)) = line.split_once('=')
            && section == "core"
            && key.trim().eq_ignore_ascii_case("hookspath")
        {
            return Some(value.trim().trim_matches('"').to_owned());
        }
    }
    None
}

/// Marks gitlinks in the index of a worktree `skip-worktree` as soon as `git add` has added one: the next command would run git in
/// the repository that it names, and with it the programs in that repository's configuration. The daemon does the same, a moment
/// later.
fn index_hook() -> String {
    let chained = chained(INDEX_HOOK);
    format!(
        r#"#!/bin/sh
{MARKER}git out of repositories that were made inside of a worktree.
# `flower project remove` takes it away again. What was here before is called after it.
here=$(dirname "$0")
own="${{GIT_DIR:-$(git rev-parse --git-dir)}}/config.worktree"
if [ -z "$FLOWER_MARKS" ] && grep -qs '{WORKTREE_CONFIG_MARKER}' "$own"; then
    export FLOWER_MARKS=1
    git ls-files --stage -t -z 2>/dev/null | sed -z -n 's/^[^S] 160000 [0-9a-f]* [0-3]	//p' |
        git update-index --skip-worktree -z --stdin 2>/dev/null
fi
if [ -x "$here/{chained}" ]; then
    "$here/{chained}" "$@"
fi
"#
    )
}

fn branch_hook(branch: &str) -> String {
    let chained = chained(BRANCH_HOOK);
    // git allows a single quote in the name of a branch, and it would end the string in the script.
    let branch = branch.replace('\'', r"'\''");
    format!(
        r#"#!/bin/sh
{MARKER}MAIN's branch from being moved by hand.
# `flower project remove` takes it away again. What was here before is called after it.
here=$(dirname "$0")
moves=$(cat)
if [ "$1" = prepared ]; then
    main='refs/heads/{branch}'
    while read -r old new ref; do
        [ "$ref" = "$main" ] || continue
        case "$new" in
        # It stays where it is, as when `git gc` packs it: first it is written there, then its own file goes.
        *[!0]*) [ "$new" = "$(git rev-parse --verify --quiet "$main")" ] && continue ;;
        *) grep -qsxF "$old $main" "$here/../packed-refs" && continue ;;
        esac
        # flower puts files that git has written already back, if all of them are those of this commit.
        case "$new" in
        *[!0]*)
            note="$here/../{NOTE}"
            {{ if [ -f "$note" ] && [ ! -L "$note" ]; then tail -n {KEPT_LINES} "$note"; fi; echo "$new"; }} 2>/dev/null >"$note.$$" &&
                mv -f "$note.$$" "$note" 2>/dev/null
            ;;
        esac
        echo "flower: $main only moves by landing." >&2
        echo "  work in a worktree:            flower worktree new NAME, then: flower land NAME" >&2
        echo "  what you have here already:    flower main rescue" >&2
        echo "  commits of the remote:         flower main pull" >&2
        echo "  files that git wrote already:  flower puts them back, if you changed nothing else" >&2
        echo "  by hand all the same:          git -c core.hooksPath=/dev/null …, then: flower main adopt" >&2
        exit 1
    done <<END
$moves
END
fi
if [ -x "$here/{chained}" ]; then
    printf '%s\n' "$moves" | "$here/{chained}" "$@"
fi
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository() -> (tempfile::TempDir, Repository) {
        let dir = tempfile::tempdir().unwrap();
        let git_dir = dir.path().join(".git");
        fs::create_dir_all(&git_dir).unwrap();
        fs::write(git_dir.join("config"), "[core]\n\tbare = false\n").unwrap();
        let repository = Repository { root: dir.path().to_owned(), git_dir };
        (dir, repository)
    }

    #[test]
    fn uninstalling_restores_the_hooks_from_before() {
        let (_dir, repository) = repository();
        assert_eq!(state(&repository), HookState::Absent);
        install(&repository, "main").unwrap();
        install(&repository, "trunk").unwrap();
        assert_eq!(state(&repository), HookState::Installed);
        uninstall(&repository).unwrap();
        assert_eq!(fs::read_dir(hooks_dir(&repository)).unwrap().count(), 0);
        let own = hooks_dir(&repository).join(BRANCH_HOOK);
        fs::write(&own, "#!/bin/sh\necho mine\n").unwrap();
        install(&repository, "main").unwrap();
        assert_eq!(state(&repository), HookState::Installed);
        uninstall(&repository).unwrap();
        assert_eq!(fs::read_to_string(own).unwrap(), "#!/bin/sh\necho mine\n");
        assert_eq!(fs::read_dir(hooks_dir(&repository)).unwrap().count(), 1);
    }

    #[test]
    fn the_hooks_of_a_hook_manager_are_not_touched() {
        let (_dir, repository) = repository();
        fs::write(repository.git_dir.join("config"), "[core]\n\thooksPath = .husky\n").unwrap();
        install(&repository, "main").unwrap();
        assert_eq!(state(&repository), HookState::Elsewhere(".husky".into()));
        assert!(!hooks_dir(&repository).exists());
    }
}
