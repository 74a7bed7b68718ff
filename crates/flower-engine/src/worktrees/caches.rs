//! Caches of build tools inside a jail: reads come from the operator's, writes go to the worktree's own layer.
//!
//! Only folders of downloaded packages, browsers and build results are listed. The settings of these tools, which can contain
//! credentials, stay outside (`.m2/settings.xml`, `.gradle/gradle.properties`, `auth.json` of Composer, …).

use super::paths::WorktreePaths;
use flower_jail::{Overlay, Spec, may_be_cache};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

struct Cache {
    /// The name of the layer in the worktree's folder.
    name: &'static str,
    /// Where programs inside find it, below their home. Also where the operator's is, unless something below says otherwise.
    at: &'static str,
    /// Variables of the operator that name its place, each with the path below.
    variables: &'static [(&'static str, &'static str)],
    /// Further places below the operator's home.
    elsewhere: &'static [&'static str],
    /// Variables that lead programs inside to it, each with a path below the home.
    announced: &'static [(&'static str, &'static str)],
}

/// A cache at the same place for everybody.
const fn plain(name: &'static str, at: &'static str, variables: &'static [(&'static str, &'static str)]) -> Cache {
    Cache { name, at, variables, elsewhere: &[], announced: &[] }
}

/// Inside the jail pnpm sees home and worktree on different file systems, and would put its store into the worktree.
const PNPM_STORE: &str = ".local/share/pnpm/store";

const CACHES: &[Cache] = &[
    plain("cargo-registry", ".cargo/registry", &[("CARGO_HOME", "registry")]),
    plain("cargo-git", ".cargo/git", &[("CARGO_HOME", "git")]),
    plain("npm", ".npm/_cacache", &[("npm_config_cache", "_cacache"), ("NPM_CONFIG_CACHE", "_cacache")]),
    Cache {
        name: "pnpm-store",
        at: PNPM_STORE,
        variables: &[
            ("pnpm_config_store_dir", ""),
            ("npm_config_store_dir", ""),
            ("NPM_CONFIG_STORE_DIR", ""),
            ("PNPM_HOME", "store"),
            ("XDG_DATA_HOME", "pnpm/store"),
        ],
        elsewhere: &[".pnpm-store"],
        // pnpm up to version 10 reads this one. npm warns about it, so it is not set for those without pnpm.
        announced: &[("npm_config_store_dir", PNPM_STORE)],
    },
    plain("pnpm", ".cache/pnpm", &[("XDG_CACHE_HOME", "pnpm")]),
    plain("yarn", ".cache/yarn", &[("YARN_CACHE_FOLDER", ""), ("XDG_CACHE_HOME", "yarn")]),
    plain("yarn-berry", ".yarn/berry/cache", &[("YARN_GLOBAL_FOLDER", "cache")]),
    plain("yarn-metadata", ".yarn/berry/metadata", &[("YARN_GLOBAL_FOLDER", "metadata")]),
    plain("corepack", ".cache/node/corepack", &[("COREPACK_HOME", ""), ("XDG_CACHE_HOME", "node/corepack")]),
    plain("bun", ".bun/install/cache", &[("BUN_INSTALL_CACHE_DIR", ""), ("BUN_INSTALL", "install/cache")]),
    plain("go-mod", "go/pkg/mod", &[("GOMODCACHE", ""), ("GOPATH", "pkg/mod")]),
    plain("go-build", ".cache/go-build", &[("GOCACHE", ""), ("XDG_CACHE_HOME", "go-build")]),
    plain("maven", ".m2/repository", &[]),
    plain("maven-wrapper", ".m2/wrapper", &[("MAVEN_USER_HOME", "wrapper")]),
    plain("gradle", ".gradle/caches", &[("GRADLE_USER_HOME", "caches")]),
    plain("gradle-wrapper", ".gradle/wrapper", &[("GRADLE_USER_HOME", "wrapper")]),
    // Not `vcs`: its clones of private repositories have configuration files of git.
    Cache {
        name: "composer-files",
        at: ".cache/composer/files",
        variables: &[
            ("COMPOSER_CACHE_DIR", "files"),
            ("COMPOSER_HOME", "cache/files"),
            ("XDG_CACHE_HOME", "composer/files"),
        ],
        elsewhere: &[".composer/cache/files"],
        announced: &[("COMPOSER_CACHE_DIR", ".cache/composer")],
    },
    Cache {
        name: "composer-repo",
        at: ".cache/composer/repo",
        variables: &[
            ("COMPOSER_CACHE_DIR", "repo"),
            ("COMPOSER_HOME", "cache/repo"),
            ("XDG_CACHE_HOME", "composer/repo"),
        ],
        elsewhere: &[".composer/cache/repo"],
        announced: &[("COMPOSER_CACHE_DIR", ".cache/composer")],
    },
    plain("pip", ".cache/pip", &[("PIP_CACHE_DIR", ""), ("XDG_CACHE_HOME", "pip")]),
    plain("uv", ".cache/uv", &[("UV_CACHE_DIR", ""), ("XDG_CACHE_HOME", "uv")]),
    Cache {
        name: "conda",
        at: ".conda/pkgs",
        variables: &[("CONDA_PKGS_DIRS", "")],
        elsewhere: &["miniconda3/pkgs", "miniforge3/pkgs", "anaconda3/pkgs", "micromamba/pkgs"],
        announced: &[("CONDA_PKGS_DIRS", ".conda/pkgs")],
    },
    plain(
        "playwright",
        ".cache/ms-playwright",
        &[("PLAYWRIGHT_BROWSERS_PATH", ""), ("XDG_CACHE_HOME", "ms-playwright")],
    ),
    plain("puppeteer", ".cache/puppeteer", &[("PUPPETEER_CACHE_DIR", ""), ("XDG_CACHE_HOME", "puppeteer")]),
    plain("cypress", ".cache/Cypress", &[("CYPRESS_CACHE_FOLDER", ""), ("XDG_CACHE_HOME", "Cypress")]),
];

/// Variables for every jail, with paths below the home.
const ALWAYS_ANNOUNCED: &[(&str, &str)] = &[("pnpm_config_store_dir", PNPM_STORE)];

/// Adds the operator's caches to a worktree's jail.
pub(super) fn add(spec: &mut Spec, place: &WorktreePaths, home: &Path) -> io::Result<()> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let mut announced = ALWAYS_ANNOUNCED.to_vec();
    for (cache, lower) in existing(home, &variable) {
        let own = place.folder.join("caches").join(cache.name);
        let (upper, work) = (own.join("upper"), own.join("work"));
        fs::create_dir_all(&upper)?;
        fs::create_dir_all(&work)?;
        spec.overlays.push(Overlay { lower, upper, work, at: home.join(cache.at), or_read_only: false });
        announced.extend(cache.announced);
    }
    for (name, below) in announced {
        spec.env.insert(name.to_owned(), home.join(below).to_string_lossy().into_owned());
    }
    // uv cannot link from its cache into the worktree, which is another file system inside, and would warn about it each time.
    spec.env.insert("UV_LINK_MODE".to_owned(), "copy".to_owned());
    Ok(())
}

/// The caches that the operator has, each with its place.
fn existing<'a>(
    home: &'a Path,
    variable: &'a dyn Fn(&str) -> Option<PathBuf>,
) -> impl Iterator<Item = (&'static Cache, PathBuf)> + 'a {
    CACHES.iter().filter_map(move |cache| {
        let named = cache.variables.iter().filter_map(move |(name, below)| {
            // GOPATH and CONDA_PKGS_DIRS are lists, of which the first is written to.
            let first = std::env::split_paths(&variable(name)?).next()?;
            Some(if below.is_empty() { first } else { first.join(below) })
        });
        let usual = std::iter::once(&cache.at).chain(cache.elsewhere).map(|below| home.join(below));
        let is_usable = |path: &PathBuf| path.is_dir() && may_be_cache(path, Some(home));
        named.chain(usual).find(is_usable).map(|lower| (cache, lower))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(home: &Path, variables: &[(&str, PathBuf)]) -> Vec<(&'static str, PathBuf)> {
        let variable =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_owned());
        existing(home, &variable).map(|(cache, lower)| (cache.name, lower)).collect()
    }

    #[test]
    fn each_cache_is_found_at_its_usual_place() {
        let dir = tempfile::tempdir().unwrap();
        for cache in CACHES {
            fs::create_dir_all(dir.path().join(cache.at)).unwrap();
        }
        let all: Vec<_> = CACHES.iter().map(|cache| (cache.name, dir.path().join(cache.at))).collect();
        assert_eq!(found(dir.path(), &[]), all);
    }

    #[test]
    fn a_variable_names_another_place() {
        let dir = tempfile::tempdir().unwrap();
        let (home, data) = (dir.path().join("home"), dir.path().join("data"));
        let mut tried = 0;
        for cache in CACHES {
            fs::create_dir_all(home.join(cache.at)).unwrap();
            for (name, below) in cache.variables {
                let place = data.join(name);
                let expected = if below.is_empty() { place.clone() } else { place.join(below) };
                fs::create_dir_all(&expected).unwrap();
                let of_this = |(known, _): &(&str, PathBuf)| *known == cache.name;
                let lower = found(&home, &[(name, place)]).into_iter().find(of_this);
                assert_eq!(lower, Some((cache.name, expected)), "{name}");
                tried += 1;
            }
        }
        assert!(tried > 30);
        // What a variable names and does not exist is no reason to hide the usual place.
        let usual = (String::from("pip"), home.join(".cache/pip"));
        let pip = found(&home, &[("PIP_CACHE_DIR", data.join("absent"))]).into_iter().find(|(name, _)| *name == "pip");
        assert_eq!(pip.map(|(name, lower)| (name.to_owned(), lower)), Some(usual));
    }

    #[test]
    fn no_variable_shows_a_folder_with_credentials() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        for below in [".ssh", ".config/gh", ".m2/private", ".gradle/private", "go/pkg/mod"] {
            fs::create_dir_all(home.join(below)).unwrap();
        }
        std::os::unix::fs::symlink(home.join(".ssh"), home.join("link")).unwrap();
        let bad = ["", ".ssh", ".config", ".config/gh", ".m2", ".m2/private", ".gradle", ".gradle/private", "link"];
        for below in bad {
            let found = found(&home, &[("GOMODCACHE", home.join(below)), ("PIP_CACHE_DIR", home.join(below))]);
            assert_eq!(found, [("go-mod", home.join("go/pkg/mod"))], "{below}");
        }
        for place in ["/", "relative", "/proc/self"] {
            assert_eq!(found(&home, &[("PIP_CACHE_DIR", place.into())]).len(), 1, "{place}");
        }
    }
}
