//! Turns a [`Spec`] into an ordered list of mounts.
//!
//! Symbolic links of the host are resolved here, once, and recreated in the jail, so that all spellings of a path work. Later
//! steps open only resolved paths and reject links: a command can create links in the folders it may write to, and must not
//! redirect the mounts of the next jail with them.

use super::error::{Context, SetupError, SetupResult};
use super::spec::{Overlay, Spec};
use rustix::io::Errno;
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// The kernel's limit.
const MAX_LINKS: usize = 40;

/// What is mounted at each path in the jail. A map sorted by path has parents before their children.
pub(super) type MountPlan = BTreeMap<PathBuf, Mount>;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Mount {
    /// A file or folder of the host, with everything mounted below it.
    Host {
        from: PathBuf,
        write: bool,
    },
    Overlay(Overlay),
    /// A symbolic link as on the host.
    Symlink(PathBuf),
    /// A new, empty, writable folder that is deleted with the jail.
    Scratch {
        mode: u32,
    },
    /// A new, empty folder that the command cannot write to.
    Empty,
    /// Like `Empty`, over a folder of the host.
    Covered,
    Dev,
    Proc,
}

pub(super) fn from_spec(spec: &Spec) -> SetupResult<MountPlan> {
    let mut mount_plan = MountPlan::from([
        ("/tmp".into(), Mount::Scratch { mode: 0o1777 }),
        ("/var/tmp".into(), Mount::Scratch { mode: 0o1777 }),
        ("/run".into(), Mount::Empty),
        ("/dev".into(), Mount::Dev),
        ("/dev/shm".into(), Mount::Scratch { mode: 0o1777 }),
        ("/proc".into(), Mount::Proc),
    ]);
    let mut host = Host::new(spec);
    for path in &spec.read {
        match host.resolve(path) {
            Ok(real) => {
                mount_plan.insert(real.clone(), Mount::Host { from: real, write: false });
            }
            Err(Unresolved::Errno(_)) => {}
            Err(error) => return Err(error).with_context(|| path.display().to_string()),
        }
    }
    for path in &spec.write {
        let real = host.resolve(path).with_context(|| path.display().to_string())?;
        mount_plan.insert(real.clone(), Mount::Host { from: real, write: true });
    }
    for overlay in &spec.overlays {
        let mut resolve = |path: &Path| host.resolve(path).with_context(|| path.display().to_string());
        let (lower, upper, work) = (resolve(&overlay.lower)?, resolve(&overlay.upper)?, resolve(&overlay.work)?);
        let at = host.resolve_mount_point(&overlay.at)?;
        let or_read_only = overlay.or_read_only;
        mount_plan.insert(at.clone(), Mount::Overlay(Overlay { lower, upper, work, at, or_read_only }));
    }
    for bind in &spec.binds {
        let from = host.resolve(&bind.from).with_context(|| bind.from.display().to_string())?;
        mount_plan.insert(host.resolve_mount_point(&bind.at)?, Mount::Host { from, write: bind.write });
    }
    // Records the links in the path of the working directory. If it does not exist, entering it fails later.
    let _ = host.resolve(&spec.dir);
    for (at, to) in std::mem::take(&mut host.links) {
        mount_plan.entry(at).or_insert(Mount::Symlink(to));
    }
    // Before `drop_redundant`: a listed path below a cover needs its own mount.
    cover(&mut mount_plan, &mut host, &spec.covered)?;
    drop_redundant(&mut mount_plan);
    for path in &spec.pinned {
        let real = host.resolve(path).with_context(|| path.display().to_string())?;
        mount_plan.entry(real.clone()).or_insert(Mount::Host { from: real, write: true });
    }
    reject_replaced(&mount_plan)?;
    Ok(mount_plan)
}

/// Puts an empty folder over each covered path that a listed folder contains. A covered path that is itself listed stays visible.
fn cover(mount_plan: &mut MountPlan, host: &mut Host, covered: &[PathBuf]) -> SetupResult<()> {
    for path in covered {
        let real = match host.resolve(path) {
            Ok(real) => real,
            Err(Unresolved::Errno(Errno::NOENT)) => continue,
            Err(error) => return Err(error).with_context(|| path.display().to_string()),
        };
        let around = real.ancestors().skip(1).find_map(|above| mount_plan.get(above));
        if matches!(around, Some(Mount::Host { .. } | Mount::Overlay(_))) {
            mount_plan.entry(real).or_insert(Mount::Covered);
        }
    }
    Ok(())
}

/// Drops entries that a mount of a parent folder already provides with the same rights, and links inside such mounts.
fn drop_redundant(mount_plan: &mut MountPlan) {
    let redundant: Vec<PathBuf> = mount_plan
        .iter()
        .filter(|(at, mount)| {
            let around = at.ancestors().skip(1).find_map(|above| mount_plan.get_key_value(above));
            match (mount, around) {
                (Mount::Symlink(_), Some((_, Mount::Host { .. } | Mount::Overlay(_)))) => true,
                (Mount::Host { from, write }, Some((above, Mount::Host { from: outer, write: outer_write }))) => {
                    write == outer_write && from == *at && outer == above
                }
                _ => false,
            }
        })
        .map(|(at, _)| at.clone())
        .collect();
    redundant.iter().for_each(|at| {
        mount_plan.remove(at);
    });
}

/// Rejects entries that would replace `/`, `/proc` or `/dev`.
fn reject_replaced(mount_plan: &MountPlan) -> SetupResult<()> {
    for fresh in ["/", "/proc", "/dev"] {
        let fresh = Path::new(fresh);
        let replaced = mount_plan.get(fresh).is_some_and(|mount| !matches!(mount, Mount::Dev | Mount::Proc));
        let inside =
            || mount_plan.keys().find(|at| *at != fresh && *at != Path::new("/dev/shm") && at.starts_with(fresh));
        let nested = if fresh == Path::new("/") || replaced { None } else { inside() };
        if replaced || nested.is_some() {
            let at = nested.map_or(fresh, PathBuf::as_path).display().to_string();
            return Err(SetupError::new(at, "is created fresh in every jail and cannot be listed"));
        }
    }
    Ok(())
}

/// Resolves paths of the host and remembers each component.
struct Host {
    links: BTreeMap<PathBuf, PathBuf>,
    no_links: HashSet<PathBuf>,
    /// Folders in which a command in the jail can create links.
    exposed: Vec<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
enum Unresolved {
    #[error("{0}")]
    Errno(#[from] Errno),
    #[error("`{0}` is a link in a folder that can be written to from inside")]
    Planted(PathBuf),
    #[error("is not an absolute path")]
    Relative,
}

impl Host {
    fn new(spec: &Spec) -> Host {
        let written = spec.write.iter().chain(spec.binds.iter().filter(|bind| bind.write).map(|bind| &bind.from));
        let layers = spec.overlays.iter().flat_map(|overlay| [&overlay.upper, &overlay.work]);
        let mut host = Host { links: BTreeMap::new(), no_links: HashSet::new(), exposed: Vec::new() };
        let real = |path: &PathBuf| host.walk(path).map_or_else(|_| path.clone(), |(real, _)| real);
        let exposed = written.chain(layers).map(real).collect();
        Host { exposed, ..host }
    }

    /// The path without links; records the links.
    fn resolve(&mut self, path: &Path) -> Result<PathBuf, Unresolved> {
        match self.walk(path)? {
            (real, None) => Ok(real),
            (_, Some(errno)) => Err(errno.into()),
        }
    }

    /// Resolves a mount point that need not exist on the host. Its last component is not followed, even if it is a link.
    fn resolve_mount_point(&mut self, at: &Path) -> SetupResult<PathBuf> {
        let (Some(parent), Some(name)) = (at.parent(), at.file_name()) else {
            return Err(SetupError::new(at.display().to_string(), "is not a valid mount point"));
        };
        let (real, _) = self.walk(parent).with_context(|| at.display().to_string())?;
        Ok(real.join(name))
    }

    /// Resolves the existing part of a path and appends the rest unchanged, together with the error that ended it.
    fn walk(&mut self, path: &Path) -> Result<(PathBuf, Option<Errno>), Unresolved> {
        if !path.is_absolute() {
            return Err(Unresolved::Relative);
        }
        let mut real = PathBuf::from("/");
        let mut remaining = parts(path);
        let mut missing = None;
        let mut links = 0;
        while let Some(part) = remaining.pop_front() {
            if part == ".." {
                real.pop();
                continue;
            }
            let next = real.join(&part);
            if missing.is_some() || self.no_links.contains(&next) {
                real = next;
                continue;
            }
            match rustix::fs::readlink(&next, Vec::new()) {
                Ok(target) => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(Errno::LOOP.into());
                    }
                    if self.exposed.iter().any(|folder| next != *folder && next.starts_with(folder)) {
                        return Err(Unresolved::Planted(next));
                    }
                    let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
                    if target.is_absolute() {
                        real = PathBuf::from("/");
                    }
                    let mut expanded = parts(&target);
                    expanded.append(&mut remaining);
                    remaining = expanded;
                    self.links.insert(next, target);
                }
                // It exists and is not a link.
                Err(Errno::INVAL) => {
                    self.no_links.insert(next.clone());
                    real = next;
                }
                Err(errno) => {
                    missing = Some(errno);
                    real = next;
                }
            }
        }
        Ok((real, missing))
    }
}

fn parts(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Bind;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn empty(dir: &Path) -> Spec {
        let mut spec = Spec::new(dir);
        spec.read.clear();
        spec
    }

    fn scratch() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap();
        (dir, real)
    }

    #[test]
    fn links_in_a_path_are_recreated_and_their_targets_are_mounted() {
        let (_dir, root) = scratch();
        fs::create_dir_all(root.join("data/work")).unwrap();
        symlink("data", root.join("short")).unwrap();
        let mut spec = empty(&root);
        spec.write.push(root.join("short/work"));
        let mount_plan = from_spec(&spec).map_err(|failure| failure.to_string()).unwrap();
        assert_eq!(mount_plan[&root.join("short")], Mount::Symlink("data".into()));
        assert_eq!(mount_plan[&root.join("data/work")], Mount::Host { from: root.join("data/work"), write: true });
    }

    #[test]
    fn a_path_inside_a_mount_with_the_same_rights_is_not_mounted_again() {
        let (_dir, root) = scratch();
        fs::create_dir_all(root.join("a/b/c")).unwrap();
        let mut spec = empty(&root);
        spec.read = vec![root.join("a"), root.join("a/b/c"), root.join("missing")];
        spec.write = vec![root.join("a/b")];
        let mount_plan = from_spec(&spec).map_err(|failure| failure.to_string()).unwrap();
        let write = |path: &str| match mount_plan.get(&root.join(path)) {
            Some(Mount::Host { write, .. }) => Some(*write),
            _ => None,
        };
        assert_eq!([write("a"), write("a/b"), write("a/b/c")], [Some(false), Some(true), Some(false)]);
        assert_eq!(write("missing"), None);
        spec.write.clear();
        let mount_plan = from_spec(&spec).map_err(|failure| failure.to_string()).unwrap();
        assert_eq!(mount_plan.keys().filter(|at| at.starts_with(&root)).count(), 1, "only the folder around all");
    }

    #[test]
    fn a_link_in_a_writable_folder_is_not_followed() {
        let (_dir, root) = scratch();
        fs::create_dir_all(root.join("work")).unwrap();
        fs::create_dir_all(root.join("secret")).unwrap();
        symlink(root.join("secret"), root.join("work/target")).unwrap();
        for nested in [
            Spec { write: vec![root.join("work"), root.join("work/target")], ..empty(&root) },
            Spec {
                write: vec![root.join("work")],
                binds: vec![Bind { from: root.join("work/target/x"), at: "/x".into(), write: false }],
                ..empty(&root)
            },
        ] {
            let refusal = from_spec(&nested).map(drop).map_err(|failure| failure.to_string()).unwrap_err();
            assert!(refusal.contains("is a link in a folder that can be written to"), "{refusal}");
        }
    }

    #[test]
    fn root_proc_and_dev_cannot_be_listed() {
        for listed in ["/", "/proc", "/dev", "/proc/1", "/dev/null"] {
            let spec = Spec { write: vec![listed.into()], ..empty(Path::new("/")) };
            let refusal = from_spec(&spec).map(drop).map_err(|failure| failure.to_string()).unwrap_err();
            assert!(refusal.contains("created fresh"), "{listed}: {refusal}");
        }
    }
}
