//! Finds files of a repository that git reads because its configuration names them: hooks, attributes, and further configuration.

use crate::GitError;
use crate::process::Run;
use crate::repository::Repository;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// A path inside a repository that a setting of git names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPath {
    pub key: String,
    pub path: PathBuf,
}

/// Paths below the repository's root that its own or the operator's configuration names. Reading runs no program.
pub async fn named_paths(repository: &Repository) -> Result<Vec<NamedPath>, GitError> {
    let mut run = Run::new("git".into(), Duration::from_secs(10));
    run.args.extend(["config", "--list", "--includes", "-z"].map(Into::into));
    run.dir = Some(repository.git_dir.clone());
    run.env.extend([("GIT_DIR".into(), repository.git_dir.clone().into()), ("LC_ALL".into(), "C".into())]);
    for name in ["HOME", "XDG_CONFIG_HOME"] {
        run.env.extend(std::env::var_os(name).map(|value| (name.into(), value)));
    }
    let output = run.output().await?.require_success()?;
    Ok(output.items().filter_map(|item| named_path(repository, item)).collect())
}

/// From `key\nvalue`.
fn named_path(repository: &Repository, item: &[u8]) -> Option<NamedPath> {
    let end = item.iter().position(|&byte| byte == b'\n')?;
    let (key, value) = (String::from_utf8_lossy(&item[..end]).into_owned(), &item[end + 1..]);
    // Paths are relative to the checkout. Those of included files are relative to the including file, which is taken to be the
    // repository's own: other files, and what they name, lie outside of it.
    let from = match key.as_str() {
        "core.hookspath" | "core.attributesfile" | "core.excludesfile" | "blame.ignorerevsfile" => &repository.root,
        _ if key == "include.path" || (key.starts_with("includeif.") && key.ends_with(".path")) => &repository.git_dir,
        _ => return None,
    };
    let value = match value.strip_prefix(b"~/") {
        Some(below) => PathBuf::from(std::env::var_os("HOME")?).join(OsStr::from_bytes(below)),
        None => from.join(OsStr::from_bytes(value)),
    };
    let path = plain(&value).strip_prefix(&repository.root).ok()?.to_owned();
    // git's own folder is not part of any tree.
    (!path.starts_with(".git")).then_some(NamedPath { key, path })
}

/// Resolves `.` and `..` in a path.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_below_the_root_are_found_in_every_spelling() {
        let repository = Repository { root: "/r/main".into(), git_dir: "/r/main/.git".into() };
        let path = |item: &str| named_path(&repository, item.as_bytes()).map(|named| named.path);
        for (item, expected) in [
            ("core.hookspath\ntools/hooks", Some("tools/hooks")),
            ("core.hookspath\n./tools/../hooks/", Some("hooks")),
            ("core.hookspath\n/r/main/x", Some("x")),
            ("core.attributesfile\nattributes", Some("attributes")),
            ("include.path\n../.gitconfig", Some(".gitconfig")),
            ("includeif.gitdir:/r/.path\n../conf", Some("conf")),
            // The whole checkout.
            ("core.hookspath\n.", Some("")),
            ("core.hookspath\n.git/hooks", None),
            ("include.path\nmore", None),
            ("core.hookspath\n/elsewhere", None),
            ("core.hookspath\n../other", None),
            ("user.name\ntools", None),
        ] {
            assert_eq!(path(item), expected.map(PathBuf::from), "{item}");
        }
    }
}
