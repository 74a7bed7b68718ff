//! The hooks that flower puts into MAIN's repository. The fence refuses to move MAIN's branch by hand, and says what to do
//! instead: a courtesy, because the watch finds every move. The other keeps the operator's git out of repositories that were
//! made in a worktree.

use super::{hooks, text_of};
use crate::MergeQueue;
use crate::worktrees::gitlinks::WORKTREE_CONFIG_SIGN;
use flower_contract::error::Problem;
use flower_git::repository::Repository;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

const FENCE: &str = "reference-transaction";
const INDEX_HOOK: &str = "post-index-change";
/// Every hook of flower's has this line, with or without more behind it.
const SIGN: &str = "# flower: keeps ";

impl MergeQueue {
    /// From here on MAIN is looked after: where it is now is recorded, and the fence stands.
    pub(crate) async fn install_hooks_in(&self, project: &str) -> Result<(), Problem> {
        self.record_main(project).await?;
        let main = self.worktrees.main_of(project).await?;
        put_up(&self.worktrees.repository(project).await?, &main.branch)
    }

    /// At every start: somebody may have taken one down.
    pub async fn install_hooks(&self) {
        for project in self.projects.list().await.unwrap_or_default() {
            if let Err(problem) = self.install_hooks_in(&project.name).await {
                tracing::debug!("{}: {}", project.name, problem.message);
            }
        }
    }
}

/// Whether the fence stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fence {
    Stands,
    /// Another manager of hooks has taken over; its own place.
    Elsewhere(String),
    Absent,
}

impl Fence {
    pub(super) fn word(&self) -> &'static str {
        match self {
            Fence::Stands => "installed",
            Fence::Elsewhere(_) => "elsewhere",
            Fence::Absent => "absent",
        }
    }

    pub(super) fn note(&self) -> Option<String> {
        match self {
            Fence::Stands => None,
            Fence::Elsewhere(path) => {
                Some(format!("hooks are taken from `{path}` (core.hooksPath): MAIN is watched, but has no fence"))
            }
            Fence::Absent => Some("MAIN has no fence against moves by hand; it is watched".to_owned()),
        }
    }
}

pub(super) fn state(repository: &Repository) -> Fence {
    if let Some(path) = other_place(repository) {
        return Fence::Elsewhere(path);
    }
    match text_of(&hooks(repository).join(FENCE)) {
        Some(text) if text.contains(SIGN) => Fence::Stands,
        _ => Fence::Absent,
    }
}

/// Puts the hooks up, in front of those that are there already.
pub(super) fn put_up(repository: &Repository, branch: &str) -> Result<(), Problem> {
    if other_place(repository).is_some() {
        return Ok(());
    }
    let folder = hooks(repository);
    for (name, text) in [(FENCE, fence(branch)), (INDEX_HOOK, index_hook())] {
        install(&folder, name, &text).map_err(|error| crate::home::problem(&folder.join(name), &error))?;
    }
    Ok(())
}

fn install(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    let hook = folder.join(name);
    fs::create_dir_all(folder)?;
    match text_of(&hook) {
        Some(now) if now == text => return Ok(()),
        Some(now) if now.contains(SIGN) => {}
        _ if fs::symlink_metadata(&hook).is_ok() => fs::rename(&hook, folder.join(chained(name)))?,
        _ => {}
    }
    let draft = folder.join(format!("{name}.draft"));
    let _ = fs::remove_file(&draft);
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o755).open(&draft)?;
    file.write_all(text.as_bytes())?;
    fs::rename(&draft, &hook)
}

/// What was there before flower.
fn chained(name: &str) -> String {
    format!("{name}.before-flower")
}

/// Leaves the hooks as they were before flower.
pub(crate) fn take_down(repository: &Repository) -> io::Result<()> {
    let folder = hooks(repository);
    for name in [FENCE, INDEX_HOOK] {
        let (hook, chained) = (folder.join(name), folder.join(chained(name)));
        if !text_of(&hook).is_some_and(|text| text.contains(SIGN)) {
            continue;
        }
        if fs::symlink_metadata(&chained).is_ok() { fs::rename(chained, hook) } else { fs::remove_file(hook) }?;
    }
    Ok(())
}

/// `core.hooksPath`, as the repository's own configuration has it.
fn other_place(repository: &Repository) -> Option<String> {
    let text = text_of(&repository.git_dir.join("config"))?;
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

/// Marks gitlinks of a worktree's index `skip-worktree` as soon as `git add` has taken one in: the next command would run
/// git in the repository behind it, and with it what its configuration names. The daemon does the same, a moment later.
fn index_hook() -> String {
    let chained = chained(INDEX_HOOK);
    format!(
        r#"#!/bin/sh
{SIGN}git out of repositories that were made inside of a worktree.
# `flower project remove` takes it away again. What was here before is called after it.
here=$(dirname "$0")
own="${{GIT_DIR:-$(git rev-parse --git-dir)}}/config.worktree"
if [ -z "$FLOWER_MARKS" ] && grep -qs '{WORKTREE_CONFIG_SIGN}' "$own"; then
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

fn fence(branch: &str) -> String {
    let chained = chained(FENCE);
    // A branch's name has no quote that could end this one: git refuses such names only in part, so it is said anew.
    let branch = branch.replace('\'', r"'\''");
    format!(
        r#"#!/bin/sh
{SIGN}MAIN's branch from being moved by hand.
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
        echo "flower: $main only moves by landing." >&2
        echo "  work in a worktree:            flower worktree new NAME, then: flower land NAME" >&2
        echo "  what you have here already:    flower main rescue" >&2
        echo "  commits of the remote:         flower main pull" >&2
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
    fn hooks_are_as_before_once_it_is_taken_down() {
        let (_dir, repository) = repository();
        assert_eq!(state(&repository), Fence::Absent);
        put_up(&repository, "main").unwrap();
        put_up(&repository, "trunk").unwrap();
        assert_eq!(state(&repository), Fence::Stands);
        take_down(&repository).unwrap();
        assert_eq!(fs::read_dir(hooks(&repository)).unwrap().count(), 0);
        let own = hooks(&repository).join(FENCE);
        fs::write(&own, "#!/bin/sh\necho mine\n").unwrap();
        put_up(&repository, "main").unwrap();
        assert_eq!(state(&repository), Fence::Stands);
        take_down(&repository).unwrap();
        assert_eq!(fs::read_to_string(own).unwrap(), "#!/bin/sh\necho mine\n");
        assert_eq!(fs::read_dir(hooks(&repository)).unwrap().count(), 1);
    }

    #[test]
    fn another_manager_of_hooks_is_left_alone() {
        let (_dir, repository) = repository();
        fs::write(repository.git_dir.join("config"), "[core]\n\thooksPath = .husky\n").unwrap();
        put_up(&repository, "main").unwrap();
        assert_eq!(state(&repository), Fence::Elsewhere(".husky".into()));
        assert!(!hooks(&repository).exists());
    }
}
