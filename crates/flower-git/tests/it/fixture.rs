//! A repository in a temporary folder, made with plain git.

use flower_git::repository::Repository;
use flower_git::{CommitId, Repo};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names that take care: one is two lines, the other is no UTF-8.
pub const LINES: &[u8] = b"two\nlines";
pub const NO_TEXT: &[u8] = b"no\xfftext";

pub struct Fixture {
    pub dir: tempfile::TempDir,
    pub repository: Repository,
    pub repo: Repo,
}

impl Fixture {
    /// Without commits.
    pub fn new() -> Fixture {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("main");
        fs::create_dir(&root).unwrap();
        let repository = Repository { git_dir: root.join(".git"), root };
        let fixture = Fixture { repo: Repo::main(&repository), repository, dir };
        fixture.git(&["init", "--quiet", "--initial-branch=main"]);
        fixture
    }

    pub fn root(&self) -> &Path {
        &self.repository.root
    }

    /// A folder beside the repository.
    pub fn beside(&self, name: &str) -> PathBuf {
        let path = self.dir.path().canonicalize().unwrap().join(name);
        fs::create_dir_all(&path).unwrap();
        path
    }

    /// What plain git answers.
    pub fn git(&self, args: &[&str]) -> String {
        git_in(self.root(), args)
    }

    pub fn write(&self, name: &[u8], content: &str) {
        let path = self.root().join(OsStr::from_bytes(name));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Commits everything that is there.
    pub fn commit(&self, message: &str) -> CommitId {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", message]);
        self.head()
    }

    /// Writes one file and commits it.
    pub fn commit_file(&self, name: &str, content: &str) -> CommitId {
        self.write(name.as_bytes(), content);
        self.commit(&format!("Write {name}"))
    }

    pub fn head(&self) -> CommitId {
        CommitId::parse(&self.git(&["rev-parse", "HEAD"])).unwrap()
    }
}

pub fn git_in(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "protocol.file.allow=always"])
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// An id that no object has.
pub fn nothing() -> CommitId {
    CommitId::parse(&"12".repeat(20)).unwrap()
}

/// A launcher that enters no jail: it runs what follows in this folder.
pub fn launcher(dir: &Path) -> Vec<std::ffi::OsString> {
    let script = format!("cd '{}' && exec \"$@\"", dir.display());
    ["sh", "-c", script.as_str(), "sh"].map(Into::into).to_vec()
}
