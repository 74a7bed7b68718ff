//! The sources and programs that xtask has fetched.

use crate::common::Flower;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names the folder.
const VARIABLE: &str = "FLOWER_REAL_REPOSITORIES";
/// Where certificates and toolchains are, which the cleared environment of a test lacks.
const PASSED: &[&str] = &[
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "CARGO_HTTP_CAINFO",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
];

pub(super) struct Sources {
    folder: PathBuf,
}

impl Sources {
    pub(super) fn find() -> Sources {
        let folder = std::env::var_os(VARIABLE).unwrap_or_else(|| panic!("{VARIABLE} names no folder; xtask sets it"));
        Sources { folder: folder.into() }
    }

    /// Why a piece is missing, if it is.
    pub(super) fn missing(&self, piece: &str) -> Option<String> {
        if self.folder.join(piece).exists() {
            return None;
        }
        let reason = std::fs::read_to_string(self.folder.join(format!("{piece}.missing")));
        Some(format!("`{piece}` was not fetched: {}", reason.unwrap_or_default().trim()))
    }

    pub(super) fn has_program(&self, program: &str) -> bool {
        std::env::split_paths(&self.path()).any(|folder| folder.join(program).is_file())
    }

    pub(super) fn set_environment(&self, flower: &mut Flower) {
        flower.env("PATH", &self.path());
        for name in PASSED {
            if let Ok(value) = std::env::var(name) {
                flower.env(name, &value);
            }
        }
        // The home of a test is empty; toolchains and cargo's cache are in that of the user.
        let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
        for (name, below) in [("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo"), ("PYENV_ROOT", ".pyenv")] {
            let place = std::env::var_os(name).map_or_else(|| home.join(below), PathBuf::from);
            if place.is_dir() {
                flower.env(name, place.to_str().expect("UTF-8"));
            }
        }
    }

    pub(super) fn copy(&self, piece: &str, to: &Path) {
        std::fs::create_dir_all(to).expect("a folder");
        let copied = Command::new("cp")
            .args(["--recursive", "--no-target-directory"])
            .arg(self.folder.join(piece))
            .arg(to)
            .status();
        assert!(copied.expect("cp runs").success(), "{piece}");
    }

    /// Runs a program outside, to assemble a repository.
    pub(super) fn run(&self, dir: &Path, program: &str, args: &[&str]) {
        let output = Command::new(program).args(args).current_dir(dir).env("PATH", self.path()).output();
        let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
        assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn path(&self) -> String {
        let before = std::env::var("PATH").unwrap_or_default();
        format!("{}:{before}", self.folder.join("programs").display())
    }
}
