//! The repository's own hooks, such as those of husky or pre-commit, on commits inside of a worktree. They run in the jail. Like all
//! hooks they are a courtesy: `git commit --no-verify` skips them, and only checks guard MAIN.

use super::disk;
use super::paths::WorktreePaths;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

/// Hooks that examine or change a commit before it is made.
const NAMES: &[&str] = &["pre-commit", "prepare-commit-msg", "commit-msg"];
/// Hooks are scripts; what is larger is a program that is not copied.
const MAX_HOOK_BYTES: u64 = 1 << 20;

/// Makes the hooks of a new private repository call the project's own first: those of a folder in the worktree, if `core.hooksPath`
/// names one, otherwise copies of MAIN's.
pub(super) fn install(place: &WorktreePaths, hooks_path: Option<&str>) -> io::Result<()> {
    let folders = match in_worktree(&place.repository.root, hooks_path) {
        Some(inside) => {
            // husky generates its folder `_` with every install; the hooks themselves are beside it.
            let beside = inside.ends_with("_").then(|| inside.parent().map(Path::to_owned)).flatten();
            let folders = std::iter::once(inside).chain(beside);
            folders.map(|folder| format!("\"$top\"/{}", quoted(&folder))).collect()
        }
        None => {
            let from = hooks_path.map_or_else(|| place.repository.git_dir.join("hooks"), PathBuf::from);
            let copies = place.private().join("project-hooks");
            copy(&from, &copies)?;
            vec![quoted(&copies)]
        }
    };
    let hooks = place.private().join("hooks");
    for name in NAMES {
        let file = hooks.join(name);
        let own = fs::read_to_string(&file).unwrap_or_default();
        let rest = own.strip_prefix("#!/bin/sh\n").unwrap_or(&own);
        fs::write(&file, format!("#!/bin/sh\n{}{rest}", call(name, &folders)))?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

/// The folder of `core.hooksPath` relative to the top of the worktree, if it lies in it.
fn in_worktree(root: &Path, hooks_path: Option<&str>) -> Option<PathBuf> {
    let path = Path::new(hooks_path?);
    let inside = if path.is_absolute() { path.strip_prefix(root).ok()?.to_owned() } else { path.to_owned() };
    let is_plain = inside.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    (is_plain && !inside.starts_with(".git")).then(|| inside.components().collect())
}

/// Copies scripts that can be executed. Links could lead out of the folder, so they are not followed.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    disk::make_private(to)?;
    for name in NAMES {
        let hook = from.join(name);
        let Ok(found) = fs::symlink_metadata(&hook) else { continue };
        if found.is_file() && found.len() <= MAX_HOOK_BYTES && found.permissions().mode() & 0o100 != 0 {
            fs::copy(&hook, to.join(name))?;
        }
    }
    Ok(())
}

/// The part of a hook that calls the project's, from the first folder that has it.
fn call(name: &str, folders: &[String]) -> String {
    let files: Vec<String> = folders.iter().map(|folder| format!("{folder}/{name}")).collect();
    format!(
        "top=$(git rev-parse --show-toplevel)\nfor hook in {}; do\n    [ -f \"$hook\" ] || continue\n    \
         if [ -x \"$hook\" ]; then \"$hook\" \"$@\" || exit $?; else sh -e \"$hook\" \"$@\" || exit $?; fi\n    break\ndone\n",
        files.join(" ")
    )
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}
