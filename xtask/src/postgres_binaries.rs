//! Finds the programs of PostgreSQL.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::run::{Program, seconds};

pub(crate) const MIN_VERSION: u32 = 14;

/// The directory that holds `initdb`, `postgres` and their companions.
pub(crate) struct Binaries {
    directory: PathBuf,
}

impl Binaries {
    /// The newest version in Debian's folder, which is not in PATH, or else the one in PATH.
    pub(crate) fn find() -> Option<Self> {
        let debian = std::fs::read_dir("/usr/lib/postgresql").ok();
        let mut versions: Vec<PathBuf> =
            debian.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path().join("bin"))).collect();
        versions.sort_by_key(|directory| std::cmp::Reverse(version(directory)));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let candidates = versions.into_iter().chain(std::env::split_paths(&path));
        candidates.filter(|directory| version(directory) >= Some(MIN_VERSION)).map(|directory| Self { directory }).find(
            |found| {
                let needed = ["initdb", "createdb", "pg_isready"];
                needed.iter().all(|name| found.directory.join(name).exists())
            },
        )
    }

    /// One of the programs, without environment variables that would change its behaviour (PGHOST, locale).
    pub(crate) fn program(&self, name: &str, deadline: Duration) -> Program {
        Program::new(self.directory.join(name), deadline)
            .without_any_env()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("LC_ALL", "C")
    }
}

fn version(directory: &Path) -> Option<u32> {
    let postgres = directory.join("postgres");
    if !postgres.exists() {
        return None;
    }
    let output = Program::new(postgres, seconds(30)).args(["--version"]).output();
    major_version(&output.ok()?)
}

/// Reads `postgres (PostgreSQL) 15.4 (Debian 15.4-1)` and `postgres (PostgreSQL) 18beta1`.
fn major_version(output: &str) -> Option<u32> {
    let number = output.split_whitespace().nth(2)?;
    let end = number.find(|c: char| !c.is_ascii_digit());
    number[..end.unwrap_or(number.len())].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_postgres_prints_them() {
        for (output, expected) in [
            ("postgres (PostgreSQL) 15.4 (Debian 15.4-1)\n", Some(15)),
            ("postgres (PostgreSQL) 18beta1\n", Some(18)),
            ("postgres (PostgreSQL) 9.6.24\n", Some(9)),
            ("something else\n", None),
        ] {
            assert_eq!(major_version(output), expected, "{output}");
        }
    }
}
