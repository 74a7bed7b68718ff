//! A worktree that a jail may write to, and around it everything that it must not touch.

use crate::common::Output;
use crate::common::skip::{is_skipped_by, skip_in_this_run};
use flower_jail::Spec;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// Makes two tests of one body: inside a jail of root, and of an ordinary user.
macro_rules! as_both {
    ($name:ident, $body:expr) => {
        mod $name {
            use super::*;

            #[test]
            fn root() {
                let body: fn(World) = $body;
                World::new($crate::jail::world::Who::Root).into_iter().for_each(body);
            }

            #[test]
            fn user() {
                let body: fn(World) = $body;
                World::new($crate::jail::world::Who::User).into_iter().for_each(body);
            }
        }
    };
}

/// For machines that allow no namespaces, such as some containers.
const SKIP: &str = "FLOWER_TEST_SKIP_MOUNT";
/// Id of the ordinary user `nobody`, if the tests run as root.
const USER: u32 = 65534;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Who {
    Root,
    User,
}

pub struct World {
    folder: TempDir,
    pub who: Who,
    pub spec: Spec,
}

impl World {
    /// Unless it cannot be had here.
    pub fn new(who: Who) -> Option<World> {
        if is_skipped_by(SKIP) {
            return None;
        }
        if who == Who::Root && !rustix::process::getuid().is_root() {
            skip_in_this_run("the tests do not run as root");
            return None;
        }
        Some(World::make(who))
    }

    fn make(who: Who) -> World {
        let folder = TempDir::with_prefix("flower-jail-").expect("a temporary folder");
        let root = folder.path().canonicalize().expect("a path");
        let mut spec = Spec::new(root.join("worktree"));
        spec.write.push(root.join("worktree"));
        spec.env.insert("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into());
        spec.env.insert("HOME".into(), root.join("worktree").to_str().expect("UTF-8").into());
        spec.pass_env.clear();
        let world = World { folder, who, spec };
        for name in ["worktree", "home", "user", "main"] {
            fs::create_dir(world.path(name)).expect("a folder");
        }
        world.git(&["init", "--quiet", "--initial-branch", "main"]);
        fs::create_dir(world.path("main/src")).expect("a folder");
        fs::write(world.path("main/README.md"), "hello\n").expect("a file");
        fs::write(world.path("main/src/lib.rs"), "pub fn one() -> u32 { 1 }\n").expect("a file");
        world.git(&["add", "."]);
        world.git(&["commit", "--quiet", "--message", "begin"]);
        world.own();
        world
    }

    fn git(&self, args: &[&str]) {
        let identity = ["-c", "user.name=Tester", "-c", "user.email=tester@example.com"];
        let git = Command::new("git").args(identity).args(args).current_dir(self.path("main")).status();
        assert!(git.expect("git runs").success(), "git {args:?}");
    }

    /// A path in the folder around everything.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("a path").join(name)
    }

    pub fn text(&self, name: &str) -> String {
        self.path(name).to_str().expect("UTF-8").to_owned()
    }

    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, content).expect("a file");
        self.own();
        path
    }

    pub fn folder(&self, name: &str) -> PathBuf {
        fs::create_dir_all(self.path(name)).expect("a folder");
        self.own();
        self.path(name)
    }

    /// Gives everything here to the user who runs the jail.
    pub fn own(&self) {
        if self.who == Who::Root || !rustix::process::getuid().is_root() {
            return;
        }
        for path in everything(self.folder.path()) {
            lchown(&path, Some(USER), Some(USER)).expect("given away");
        }
    }

    /// A command of the user under test.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        if self.who == Who::User && rustix::process::getuid().is_root() {
            command.uid(USER).gid(USER);
        }
        command.current_dir(self.folder.path()).env("HOME", self.path("user")).env("FLOWER_HOME", self.path("home"));
        command
    }

    /// Where the jail's description lies, as it is now.
    pub fn spec_file(&self) -> PathBuf {
        let file = self.path("home/spec.json");
        self.spec.save(&file).expect("saved");
        self.own();
        file
    }

    /// The words before a command that put it inside.
    pub fn prefix(&self) -> Vec<std::ffi::OsString> {
        flower_jail::command(&self.flower(), &self.spec_file())
    }

    /// A command inside.
    pub fn jail(&self, args: &[&str]) -> Command {
        let prefix = self.prefix();
        let mut command = self.command(&prefix[0]);
        command.args(&prefix[1..]).args(args).stdin(Stdio::null());
        command
    }

    /// A shell script inside.
    pub fn run(&self, script: &str) -> Output {
        self.jail(&["sh", "-c", script]).output().expect("flower runs").into()
    }

    /// What a script inside says, if it succeeds.
    pub fn ok(&self, script: &str) -> String {
        let output = self.run(script);
        assert_eq!(output.code, 0, "{script}: {output:?}");
        output.stdout
    }

    /// The program, at a place where every user can run it.
    pub fn flower(&self) -> PathBuf {
        let built = PathBuf::from(env!("CARGO_BIN_EXE_flower"));
        let open = |path: &Path| fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o001 != 0);
        if self.who == Who::Root || built.ancestors().all(open) {
            return built;
        }
        let copy = self.path("flower");
        if !copy.exists() {
            fs::copy(&built, &copy).expect("a copy");
        }
        copy
    }

    /// Everything about every file in a folder: all that an attack could change.
    pub fn fingerprint(&self, name: &str) -> BTreeMap<PathBuf, String> {
        let describe = |path: PathBuf| {
            let meta = fs::symlink_metadata(&path).expect("there");
            let content = match meta.file_type() {
                kind if kind.is_file() => fs::read(&path).expect("readable"),
                kind if kind.is_symlink() => {
                    fs::read_link(&path).expect("a link").into_os_string().into_encoded_bytes()
                }
                _ => Vec::new(),
            };
            let mut names = vec![0; 4096];
            let length = rustix::fs::llistxattr(&path, &mut names).unwrap_or(0);
            let about = (meta.mode(), meta.uid(), meta.gid(), meta.nlink(), meta.mtime(), meta.mtime_nsec());
            (path, format!("{about:?} {:?} {:?}", names.get(..length), String::from_utf8_lossy(&content)))
        };
        everything(&self.path(name)).into_iter().map(describe).collect()
    }
}

/// Does not outlive its test, even one that panics.
pub struct Running(pub Child);

impl std::ops::Deref for Running {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl std::ops::DerefMut for Running {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The folder itself and all below it.
fn everything(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    let mut next = 0;
    while let Some(path) = found.get(next).cloned() {
        next += 1;
        if path.is_dir() && !path.is_symlink() {
            found.extend(fs::read_dir(&path).expect("readable").map(|entry| entry.expect("an entry").path()));
        }
    }
    found
}
