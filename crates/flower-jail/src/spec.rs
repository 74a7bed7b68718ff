//! The description of a jail: plain data, written by flower and read by `flower jail`.

use super::toolchains;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Larger than any spec; bounds the memory that a wrong file can take.
const MAX_BYTES: u64 = 4 << 20;

/// Paths that are not listed do not exist in the jail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The working directory in the jail.
    pub dir: PathBuf,
    /// Visible at the same path, read-only. Paths that do not exist are left out.
    #[serde(default)]
    pub read: Vec<PathBuf>,
    /// Visible at the same path and writable; must exist.
    #[serde(default)]
    pub write: Vec<PathBuf>,
    #[serde(default)]
    pub binds: Vec<Bind>,
    #[serde(default)]
    pub overlays: Vec<Overlay>,
    /// Folders that are empty in the jail although a listed folder contains them. Listed paths below them are still visible.
    #[serde(default)]
    pub covered: Vec<PathBuf>,
    /// Folders below writable ones that the command cannot rename, replace or delete; must exist.
    #[serde(default)]
    pub pinned: Vec<PathBuf>,
    #[serde(default)]
    pub network: Network,
    /// The environment of the command; no other variables are inherited.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Variables taken from the environment of `flower jail`, so that secrets are in no file and in no argument.
    #[serde(default)]
    pub pass_env: Vec<String>,
    /// Folders that are appended to `PATH`.
    #[serde(default)]
    pub programs: Vec<PathBuf>,
    #[serde(default)]
    pub limits: Limits,
    /// A shared lock is held on this file while the jail runs.
    #[serde(default)]
    pub lock: Option<PathBuf>,
}

/// A file or folder that is mounted at another path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bind {
    pub from: PathBuf,
    pub at: PathBuf,
    pub write: bool,
}

/// An overlay mount, for build caches: reads come from `lower`, writes go to `upper`. `work` is an empty folder on the file
/// system of `upper`. If overlayfs is not available, a line on standard error says so.
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

/// In which network namespace the jail runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// A new one with only a loopback device, which ends with the jail.
    #[default]
    Own,
    /// The one that the daemon behind the socket gives for a request. Only what the daemon forwards leaves it.
    Joined { socket: PathBuf, request: String },
    /// The host's, without restriction.
    Host,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Processes and threads that exist at the same time.
    pub processes: u32,
    /// The size of each file.
    pub file_bytes: u64,
    /// Open descriptors of each process.
    pub open_files: u64,
    /// Memory of all processes together.
    pub memory_bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        // Far above the needs of large builds and browsers, far below what harms the machine.
        Limits { processes: 4096, file_bytes: 16 << 30, open_files: 65536, memory_bytes: total_memory() / 4 * 3 }
    }
}

fn total_memory() -> u64 {
    let system = rustix::system::sysinfo();
    system.totalram * u64::from(system.mem_unit)
}

impl Spec {
    /// Lists the system, the toolchains of the user and harmless environment variables. `dir` itself is not listed yet.
    pub fn new(dir: impl Into<PathBuf>) -> Spec {
        let tools = toolchains::of_current_user();
        Spec {
            dir: dir.into(),
            read: tools.read,
            write: Vec::new(),
            binds: Vec::new(),
            overlays: Vec::new(),
            covered: Vec::new(),
            pinned: Vec::new(),
            network: Network::Own,
            env: tools.env,
            pass_env: tools.pass_env,
            programs: Vec::new(),
            limits: Limits::default(),
            lock: None,
        }
    }

    /// Hides folders inside listed ones and removes listed paths below them. Paths that are listed afterwards are visible.
    pub fn cover(&mut self, folders: &[PathBuf]) {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let home = std::env::var_os("HOME").map(|home| real(Path::new(&home)));
        // A folder that contains the user's home (a repository of dotfiles) must not hide the toolchains below it.
        let hides = |folder: &PathBuf| !home.as_ref().is_some_and(|home| home.starts_with(folder));
        let hidden: Vec<PathBuf> = folders.iter().map(|folder| real(folder)).filter(hides).collect();
        self.read.retain(|path| !hidden.iter().any(|folder| real(path).starts_with(folder)));
        self.covered.extend_from_slice(folders);
    }

    /// Writes the spec atomically to a file that only this user can read.
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
        io::Read::read_to_end(&mut io::Read::take(fs::File::open(path)?, MAX_BYTES), &mut text)?;
        Ok(serde_json::from_slice(&text)?)
    }
}

/// The words to put before a command to run it in the jail.
pub fn command(flower: &Path, spec_file: &Path) -> Vec<OsString> {
    vec![flower.into(), "jail".into(), "--spec".into(), spec_file.into(), "--".into()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_saved_spec_loads_unchanged_and_is_readable_by_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("spec.json");
        let mut spec = Spec::new("/work");
        spec.binds.push(Bind { from: "/a".into(), at: "/b".into(), write: true });
        spec.network = Network::Joined { socket: "/run/x".into(), request: "{}".into() };
        for _ in 0..2 {
            spec.save(&file).unwrap();
            assert_eq!(Spec::load(&file).unwrap(), spec);
            assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no draft is left");
        }
    }

    // An unknown field could be a restriction.
    #[test]
    fn unknown_fields_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("spec.json");
        fs::write(&file, r#"{"dir": "/", "no_gpu": true}"#).unwrap();
        assert!(Spec::load(&file).unwrap_err().to_string().contains("no_gpu"));
    }
}
