//! From the lists of a [`Spec`] to what is put where, in the order in which it must happen.
//!
//! The host's own links are followed here, once, and repeated inside, so that every spelling of a path works. From then on
//! paths are without links, and each is opened with the demand that it stays so: what runs inside can plant links in
//! the folders it may write to, and must not divert the next jail by them.

use super::failure::{During, Failure, Step};
use super::spec::{Overlay, Spec};
use rustix::io::Errno;
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// What the kernel allows, too.
const MOST_LINKS: usize = 40;

/// What stands at a path inside. A map by path puts parents before what lies below them.
pub(super) type Places = BTreeMap<PathBuf, Place>;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A file or folder of the host, with everything mounted below it.
    Host {
        from: PathBuf,
        write: bool,
    },
    Overlay(Overlay),
    /// A link as on the host.
    Link(PathBuf),
    /// Fresh, empty, writable and gone with the jail.
    Scratch {
        mode: u32,
    },
    /// Fresh and empty; only flower puts things there.
    Empty,
    /// The same over a folder of the host.
    Covered,
    Devices,
    Processes,
}

pub(super) fn of(spec: &Spec) -> Step<Places> {
    let mut places = Places::from([
        ("/tmp".into(), Place::Scratch { mode: 0o1777 }),
        ("/var/tmp".into(), Place::Scratch { mode: 0o1777 }),
        ("/run".into(), Place::Empty),
        ("/dev".into(), Place::Devices),
        ("/dev/shm".into(), Place::Scratch { mode: 0o1777 }),
        ("/proc".into(), Place::Processes),
    ]);
    let mut host = Host::new(spec);
    for path in &spec.read {
        match host.resolve(path) {
            Ok(real) => {
                places.insert(real.clone(), Place::Host { from: real, write: false });
            }
            Err(Unresolved::Errno(_)) => {}
            Err(error) => return Err(error).during_with(|| path.display().to_string()),
        }
    }
    for path in &spec.write {
        let real = host.resolve(path).during_with(|| path.display().to_string())?;
        places.insert(real.clone(), Place::Host { from: real, write: true });
    }
    for overlay in &spec.overlays {
        let mut resolve = |path: &Path| host.resolve(path).during_with(|| path.display().to_string());
        let (lower, upper, work) = (resolve(&overlay.lower)?, resolve(&overlay.upper)?, resolve(&overlay.work)?);
        let at = host.resolve_place(&overlay.at)?;
        let or_read_only = overlay.or_read_only;
        places.insert(at.clone(), Place::Overlay(Overlay { lower, upper, work, at, or_read_only }));
    }
    for bind in &spec.binds {
        let from = host.resolve(&bind.from).during_with(|| bind.from.display().to_string())?;
        places.insert(host.resolve_place(&bind.at)?, Place::Host { from, write: bind.write });
    }
    // The working directory may be spelled through links, too. If it is not there, entering it says so.
    let _ = host.resolve(&spec.dir);
    for (at, to) in std::mem::take(&mut host.links) {
        places.entry(at).or_insert(Place::Link(to));
    }
    // Before anything is dropped: what is listed below a cover needs a mount of its own.
    cover(&mut places, &mut host, &spec.covered)?;
    drop_redundant(&mut places);
    for path in &spec.pinned {
        let real = host.resolve(path).during_with(|| path.display().to_string())?;
        places.entry(real.clone()).or_insert(Place::Host { from: real, write: true });
    }
    refuse_covering(&places)?;
    Ok(places)
}

/// Puts an empty folder over what must not be visible, wherever a listed folder would show it. A place that is listed itself is
/// shown on purpose.
fn cover(places: &mut Places, host: &mut Host, covered: &[PathBuf]) -> Step<()> {
    for path in covered {
        let real = match host.resolve(path) {
            Ok(real) => real,
            Err(Unresolved::Errno(Errno::NOENT)) => continue,
            Err(error) => return Err(error).during_with(|| path.display().to_string()),
        };
        let around = real.ancestors().skip(1).find_map(|above| places.get(above));
        if matches!(around, Some(Place::Host { .. } | Place::Overlay(_))) {
            places.entry(real).or_insert(Place::Covered);
        }
    }
    Ok(())
}

/// What is visible anyway, with the same rights, needs no mount of its own; and links of the host are already there.
fn drop_redundant(places: &mut Places) {
    let redundant: Vec<PathBuf> = places
        .iter()
        .filter(|(at, place)| {
            let around = at.ancestors().skip(1).find_map(|above| places.get_key_value(above));
            match (place, around) {
                (Place::Link(_), Some((_, Place::Host { .. } | Place::Overlay(_)))) => true,
                (Place::Host { from, write }, Some((above, Place::Host { from: outer, write: outer_write }))) => {
                    write == outer_write && from == *at && outer == above
                }
                _ => false,
            }
        })
        .map(|(at, _)| at.clone())
        .collect();
    redundant.iter().for_each(|at| {
        places.remove(at);
    });
}

/// The fresh root, its processes and its devices are not up for replacement.
fn refuse_covering(places: &Places) -> Step<()> {
    for fresh in ["/", "/proc", "/dev"] {
        let fresh = Path::new(fresh);
        let replaced = places.get(fresh).is_some_and(|place| !matches!(place, Place::Devices | Place::Processes));
        let inside = || places.keys().find(|at| *at != fresh && *at != Path::new("/dev/shm") && at.starts_with(fresh));
        let intruder = if fresh == Path::new("/") || replaced { None } else { inside() };
        if replaced || intruder.is_some() {
            let at = intruder.map_or(fresh, PathBuf::as_path).display().to_string();
            return Err(Failure::new(at, "is made anew in every jail and cannot be listed"));
        }
    }
    Ok(())
}

/// The host's paths, each component looked at once.
struct Host {
    links: BTreeMap<PathBuf, PathBuf>,
    no_links: HashSet<PathBuf>,
    /// Folders in which something inside can plant links.
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

    /// The path without links; the links are noted.
    fn resolve(&mut self, path: &Path) -> Result<PathBuf, Unresolved> {
        match self.walk(path)? {
            (real, None) => Ok(real),
            (_, Some(errno)) => Err(errno.into()),
        }
    }

    /// A place that need not be there on the host. Its own name is taken as it is, even if the host has a link there.
    fn resolve_place(&mut self, at: &Path) -> Step<PathBuf> {
        let (Some(parent), Some(name)) = (at.parent(), at.file_name()) else {
            return Err(Failure::new(at.display().to_string(), "is no place for a mount"));
        };
        let (real, _) = self.walk(parent).during_with(|| at.display().to_string())?;
        Ok(real.join(name))
    }

    /// As far as the host has it; the rest is appended as it is, together with the reason.
    fn walk(&mut self, path: &Path) -> Result<(PathBuf, Option<Errno>), Unresolved> {
        if !path.is_absolute() {
            return Err(Unresolved::Relative);
        }
        let mut real = PathBuf::from("/");
        let mut ahead = parts(path);
        let mut missing = None;
        let mut links = 0;
        while let Some(part) = ahead.pop_front() {
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
                    if links > MOST_LINKS {
                        return Err(Errno::LOOP.into());
                    }
                    if self.exposed.iter().any(|folder| next != *folder && next.starts_with(folder)) {
                        return Err(Unresolved::Planted(next));
                    }
                    let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
                    if target.is_absolute() {
                        real = PathBuf::from("/");
                    }
                    let mut onward = parts(&target);
                    onward.append(&mut ahead);
                    ahead = onward;
                    self.links.insert(next, target);
                }
                // It is there, and no link.
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
    fn links_on_the_way_are_repeated_and_what_they_lead_to_is_shown() {
        let (_dir, root) = scratch();
        fs::create_dir_all(root.join("data/work")).unwrap();
        symlink("data", root.join("short")).unwrap();
        let mut spec = empty(&root);
        spec.write.push(root.join("short/work"));
        let places = of(&spec).map_err(|failure| failure.to_string()).unwrap();
        assert_eq!(places[&root.join("short")], Place::Link("data".into()));
        assert_eq!(places[&root.join("data/work")], Place::Host { from: root.join("data/work"), write: true });
    }

    #[test]
    fn what_is_visible_anyway_is_not_mounted_twice() {
        let (_dir, root) = scratch();
        fs::create_dir_all(root.join("a/b/c")).unwrap();
        let mut spec = empty(&root);
        spec.read = vec![root.join("a"), root.join("a/b/c"), root.join("missing")];
        spec.write = vec![root.join("a/b")];
        let places = of(&spec).map_err(|failure| failure.to_string()).unwrap();
        let write = |path: &str| match places.get(&root.join(path)) {
            Some(Place::Host { write, .. }) => Some(*write),
            _ => None,
        };
        assert_eq!([write("a"), write("a/b"), write("a/b/c")], [Some(false), Some(true), Some(false)]);
        assert_eq!(write("missing"), None);
        spec.write.clear();
        let places = of(&spec).map_err(|failure| failure.to_string()).unwrap();
        assert_eq!(places.keys().filter(|at| at.starts_with(&root)).count(), 1, "only the folder around all");
    }

    #[test]
    fn a_link_planted_from_inside_is_not_followed() {
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
            let refusal = of(&nested).map(drop).map_err(|failure| failure.to_string()).unwrap_err();
            assert!(refusal.contains("is a link in a folder that can be written to"), "{refusal}");
        }
    }

    #[test]
    fn what_is_fresh_in_every_jail_cannot_be_listed() {
        for listed in ["/", "/proc", "/dev", "/proc/1", "/dev/null"] {
            let spec = Spec { write: vec![listed.into()], ..empty(Path::new("/")) };
            let refusal = of(&spec).map(drop).map_err(|failure| failure.to_string()).unwrap_err();
            assert!(refusal.contains("made anew"), "{listed}: {refusal}");
        }
    }
}
