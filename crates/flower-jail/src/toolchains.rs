//! Paths that all jails may read: the system, and the compilers and interpreters in the user's home. Never a folder with
//! credentials.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// The system. `/proc`, `/dev`, `/tmp` and `/run` are not listed, because each jail has its own.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix",
    "/sys",
    // Often a link into `/run`, which is empty in a jail.
    "/etc/resolv.conf",
    // The programs of NixOS.
    "/run/current-system",
];

/// Below the home: folders that contain programs only.
const BELOW_HOME: &[&str] = &[
    ".rustup",
    ".cargo/bin",
    ".nvm",
    ".pyenv",
    ".rbenv",
    ".asdf",
    ".volta",
    ".sdkman",
    ".deno",
    ".bun",
    "go/bin",
    "sdk",
    ".local/bin",
    ".local/lib",
    ".local/share/mise",
    ".local/share/uv/python",
    ".local/share/uv/tools",
    ".local/share/pnpm",
];

/// Variables with the locations of toolchains.
const LOCATION_VARIABLES: &[&str] = &[
    "RUSTUP_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "RBENV_ROOT",
    "ASDF_DATA_DIR",
    "VOLTA_HOME",
    "SDKMAN_DIR",
    "DENO_INSTALL",
    "BUN_INSTALL",
    "GOROOT",
    "JAVA_HOME",
];

/// Below the home: neither these paths nor folders that contain them are listed.
const CREDENTIALS: &[&str] = &[
    ".aws",
    ".azure",
    ".claude",
    ".claude.json",
    ".codex",
    ".config",
    ".docker",
    ".gemini",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".local/share/keyrings",
    ".local/share/uv/credentials",
    ".netrc",
    ".npmrc",
    ".password-store",
    ".pypirc",
    ".ssh",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".m2",
    ".gradle",
    ".composer",
    ".condarc",
    ".yarnrc.yml",
    ".bunfig.toml",
    ".pip",
];

/// Folders inside of those above that contain downloads and build results only.
const CACHES_BESIDE_CREDENTIALS: &[&str] = &[
    ".m2/repository",
    ".m2/wrapper",
    ".gradle/caches",
    ".gradle/wrapper",
    ".composer/cache/files",
    ".composer/cache/repo",
];

/// Harmless variables that programs expect.
const PASSED_VARIABLES: &[&str] =
    &["PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "COLORTERM", "TZ", "NO_COLOR"];

pub(super) struct Tools {
    pub(super) read: Vec<PathBuf>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) pass_env: Vec<String>,
}

pub(super) fn of_current_user() -> Tools {
    let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = var("HOME").filter(|home| home.is_absolute());
    let mut read: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
    let mut add = |path: PathBuf| {
        if may_be_listed(&path, home.as_deref()) && !read.contains(&path) && path.exists() {
            read.push(path);
        }
    };
    let mut env = BTreeMap::new();
    for name in LOCATION_VARIABLES {
        if let Some(path) = var(name) {
            env.extend(path.to_str().map(|path| ((*name).to_owned(), path.to_owned())));
            add(path);
        }
    }
    if let Some(home) = &home {
        BELOW_HOME.iter().for_each(|below| add(home.join(below)));
        // Programs of rustup search below the home, which may be another folder in the jail.
        if let Some(rustup) = home.join(".rustup").to_str().filter(|path| Path::new(path).exists()) {
            env.entry("RUSTUP_HOME".to_owned()).or_insert_with(|| rustup.to_owned());
        }
    }
    std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).for_each(add);
    Tools { read, env, pass_env: PASSED_VARIABLES.iter().map(|name| (*name).to_owned()).collect() }
}

/// Whether a path may be readable in a jail: an absolute path that neither contains nor is inside a path with credentials. The
/// given and the resolved spelling of path and home are checked, so that a link cannot bypass the check.
pub fn may_be_listed(path: &Path, home: Option<&Path>) -> bool {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let homes = home.map(|home| [home.to_owned(), home.canonicalize().unwrap_or_else(|_| home.to_owned())]);
    [path, &real].into_iter().all(|path| {
        let plain = path.is_absolute() && !path.components().any(|part| part == Component::ParentDir);
        plain
            // `/`, and folders of which each jail has its own.
            && path.components().count() > 1
            && !["/proc", "/dev", "/tmp", "/var", "/var/tmp", "/run", "/home"].iter().any(|top| path == Path::new(top))
            && !path.starts_with("/proc")
            && !path.starts_with("/dev")
            && homes.iter().flatten().all(|home| {
                let secret = |below: &&str| {
                    let secret = home.join(below);
                    path.starts_with(&secret) || secret.starts_with(path)
                };
                !home.starts_with(path) && !CREDENTIALS.iter().any(secret)
            })
    })
}

/// Whether a folder may be a cache in a jail: it may be listed, or it is a known folder without credentials beside files with some.
pub fn may_be_cache(path: &Path, home: Option<&Path>) -> bool {
    if may_be_listed(path, home) {
        return true;
    }
    let (Some(home), Ok(real)) = (home, path.canonicalize()) else { return false };
    let home = home.canonicalize().unwrap_or_else(|_| home.to_owned());
    CACHES_BESIDE_CREDENTIALS.iter().any(|below| real == home.join(below))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_folder_with_credentials_is_listed() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        let listed = |path: &Path| may_be_listed(path, Some(home));
        for good in [".rustup", ".cargo/bin", ".local/bin", ".nvm/versions/node/v22/bin", "work/tools/bin"] {
            assert!(listed(&home.join(good)), "{good}");
        }
        for bad in ["", ".cargo", ".config", ".config/gh/bin", ".ssh", ".local/share", ".local", ".npmrc", ".aws/x"] {
            assert!(!listed(&home.join(bad)), "{bad}");
        }
        for bad in ["/", "/home", "/tmp", "/proc/self/cwd", "relative/bin", ".", "/usr/../etc"] {
            assert!(!listed(Path::new(bad)), "{bad}");
        }
        std::fs::create_dir_all(home.join(".ssh")).unwrap();
        std::os::unix::fs::symlink(home.join(".ssh"), home.join("bin")).unwrap();
        assert!(!listed(&home.join("bin")), "a link leads to credentials");
    }

    #[test]
    fn a_cache_beside_credentials_is_none_of_them() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path();
        let cache = |below: &str| may_be_cache(&home.join(below), Some(home));
        for below in CACHES_BESIDE_CREDENTIALS.iter().copied().chain([".cache/pip", ".m2/other", ".ssh"]) {
            std::fs::create_dir_all(home.join(below)).unwrap();
        }
        for good in CACHES_BESIDE_CREDENTIALS.iter().copied().chain([".cache/pip"]) {
            assert!(cache(good), "{good}");
        }
        for bad in ["", ".m2", ".m2/other", ".m2/repository/..", ".gradle", ".composer", ".composer/cache", ".ssh"] {
            assert!(!cache(bad), "{bad}");
        }
        std::fs::remove_dir(home.join(".m2/repository")).unwrap();
        std::os::unix::fs::symlink(home.join(".ssh"), home.join(".m2/repository")).unwrap();
        assert!(!cache(".m2/repository"), "a link leads to credentials");
    }
}
