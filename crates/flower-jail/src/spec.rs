//! What a jail shows and allows: plain data, written by flower and read by `flower jail`.

use super::toolchains;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Longer than any; a file that somebody else put there does not fill the memory.
const MOST_BYTES: u64 = 4 << 20;

/// Everything that is not listed does not exist inside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The working directory inside.
    pub dir: PathBuf,
    /// Visible at the same path, read-only. What is not there is left out.
    #[serde(default)]
    pub read: Vec<PathBuf>,
    /// Visible at the same path and writable; must be there.
    #[serde(default)]
    pub write: Vec<PathBuf>,
    #[serde(default)]
    pub binds: Vec<Bind>,
    #[serde(default)]
    pub overlays: Vec<Overlay>,
    /// Folders that are empty inside although a listed one contains them. What is listed below them is still visible.
    #[serde(default)]
    pub covered: Vec<PathBuf>,
    /// Folders below writable ones that nothing inside can rename, replace or delete; must be there.
    #[serde(default)]
    pub pinned: Vec<PathBuf>,
    #[serde(default)]
    pub network: Network,
    /// Further TCP ports to connect to, with [`Network::Web`].
    #[serde(default)]
    pub connect: Vec<u16>,
    /// Ports of the host's loopback that are reached at the same port inside, with [`Network::Closed`].
    #[serde(default)]
    pub forward: Vec<u16>,
    /// TCP ports that may be bound, with [`Network::Web`].
    #[serde(default)]
    pub listen: Vec<u16>,
    /// Set inside; nothing is inherited.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Names taken from the environment of whoever starts the jail: so secrets are in no file and in no argument.
    #[serde(default)]
    pub pass_env: Vec<String>,
    /// Folders behind those of `PATH`, whoever sets it.
    #[serde(default)]
    pub programs: Vec<PathBuf>,
    #[serde(default)]
    pub limits: Limits,
    /// A shared lock is held on this file while anything runs inside.
    #[serde(default)]
    pub lock: Option<PathBuf>,
}

/// A file or folder that appears somewhere else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bind {
    pub from: PathBuf,
    pub at: PathBuf,
    pub write: bool,
}

/// A folder that is read from `lower`, while everything written goes to `upper`: build caches. `work` is an empty folder
/// on the file system of `upper`. Where overlayfs cannot be had, a line on standard error says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overlay {
    pub lower: PathBuf,
    pub upper: PathBuf,
    pub work: PathBuf,
    pub at: PathBuf,
    /// Without overlayfs: show `lower` read-only instead of leaving the folder out.
    #[serde(default)]
    pub or_read_only: bool,
}

/// From the narrowest to the widest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// A network of its own, with nothing but its own loopback and the ports of `forward`.
    #[default]
    Closed,
    /// TCP to the ports of the web and of `connect`, names by DNS. UDP is not restricted.
    Web,
    Open,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Processes and threads at one time.
    pub processes: u32,
    /// The size of any one file.
    pub file_bytes: u64,
    /// Descriptors of any one process.
    pub open_files: u64,
    /// Memory of all processes together.
    pub memory_bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        // Far above what large builds and browsers need, far below what hurts the machine.
        Limits { processes: 4096, file_bytes: 16 << 30, open_files: 65536, memory_bytes: memory() / 4 * 3 }
    }
}

/// Of the machine.
fn memory() -> u64 {
    let system = rustix::system::sysinfo();
    system.totalram * u64::from(system.mem_unit)
}

impl Spec {
    /// The system, the toolchains of the user and the harmless part of the environment; `dir` itself is not yet in it.
    pub fn new(dir: impl Into<PathBuf>) -> Spec {
        let tools = toolchains::of_this_user();
        Spec {
            dir: dir.into(),
            read: tools.read,
            write: Vec::new(),
            binds: Vec::new(),
            overlays: Vec::new(),
            covered: Vec::new(),
            pinned: Vec::new(),
            network: Network::Closed,
            connect: Vec::new(),
            forward: Vec::new(),
            listen: Vec::new(),
            env: tools.env,
            pass_env: tools.pass_env,
            programs: Vec::new(),
            limits: Limits::default(),
            lock: None,
        }
    }

    /// Hides folders wherever a listed one shows them, and lists nothing below them. What is listed afterwards is visible.
    pub fn cover(&mut self, folders: &[PathBuf]) {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let home = std::env::var_os("HOME").map(|home| real(Path::new(&home)));
        // A folder around the user's home, as of a repository of dotfiles, does not take the toolchains below it away.
        let hides = |folder: &PathBuf| !home.as_ref().is_some_and(|home| home.starts_with(folder));
        let hidden: Vec<PathBuf> = folders.iter().map(|folder| real(folder)).filter(hides).collect();
        self.read.retain(|path| !hidden.iter().any(|folder| real(path).starts_with(folder)));
        self.covered.extend_from_slice(folders);
    }

    /// Writes it where only this user can read it, whole or not at all.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let mut draft = path.as_os_str().to_owned();
        draft.push(format!(".{}", std::process::id()));
        let draft = PathBuf::from(draft);
        let _ = fs::remove_file(&draft);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        fs::rename(&draft, path)
    }

    pub fn load(path: &Path) -> io::Result<Spec> {
        let mut text = Vec::new();
        io::Read::read_to_end(&mut io::Read::take(fs::File::open(path)?, MOST_BYTES), &mut text)?;
        Ok(serde_json::from_slice(&text)?)
    }
}

/// What stands before a command so that it runs inside.
pub fn command(flower: &Path, spec_file: &Path) -> Vec<OsString> {
    vec![flower.into(), "jail".into(), "--spec".into(), spec_file.into(), "--".into()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_spec_comes_back_as_it_was_saved_and_only_we_can_read_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("spec.json");
        let mut spec = Spec::new("/work");
        spec.binds.push(Bind { from: "/a".into(), at: "/b".into(), write: true });
        spec.network = Network::Web;
        for _ in 0..2 {
            spec.save(&file).unwrap();
            assert_eq!(Spec::load(&file).unwrap(), spec);
            assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no draft is left");
        }
    }

    // A field that this flower does not know could be a restriction.
    #[test]
    fn unknown_fields_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("spec.json");
        fs::write(&file, r#"{"dir": "/", "no_gpu": true}"#).unwrap();
        assert!(Spec::load(&file).unwrap_err().to_string().contains("no_gpu"));
    }
}
