//! A jail to write in, and a terminal around it.

use crate::common::PATIENCE;
use crate::common::skip::is_skipped_by;
use flower_engine::terminal::{Size, Terminal, TerminalSpec};
use flower_jail::Spec;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// For machines that allow no namespaces, such as some containers.
const SKIP: &str = "FLOWER_TEST_SKIP_MOUNT";

pub struct World {
    folder: TempDir,
}

/// Runs the body unless there can be no jail here.
pub fn with_world(body: impl AsyncFnOnce(World)) {
    if is_skipped_by(SKIP) {
        return;
    }
    let folder = TempDir::with_prefix("flower-terminal-").expect("a temporary folder");
    std::fs::create_dir(folder.path().join("worktree")).expect("a folder");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(body(World { folder }));
}

impl World {
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("a path").join(name)
    }

    pub fn scrollback(&self) -> PathBuf {
        self.path("scrollback")
    }

    fn launcher(&self) -> Vec<OsString> {
        let mut spec = Spec::new(self.path("worktree"));
        spec.write.push(self.path("worktree"));
        spec.env.insert("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into());
        spec.env.insert("PS1".into(), "ready> ".into());
        spec.pass_env.push("GIVEN".into());
        spec.save(&self.path("spec.json")).expect("saved");
        flower_jail::command(Path::new(env!("CARGO_BIN_EXE_flower")), &self.path("spec.json"))
    }

    pub fn start(&self, command: &[&str]) -> Arc<Terminal> {
        self.start_masked(command, |bytes| bytes.to_vec())
    }

    pub fn start_masked(
        &self,
        command: &[&str],
        mask: impl Fn(&[u8]) -> Vec<u8> + Send + Sync + 'static,
    ) -> Arc<Terminal> {
        let command: Vec<OsString> = command.iter().map(OsString::from).collect();
        let spec = TerminalSpec {
            launcher: &self.launcher(),
            command: &command,
            dir: &self.path("worktree"),
            env: &[("GIVEN".into(), "present".into()), ("KEPT_OUT".into(), "absent".into())],
            size: Size { columns: 90, rows: 30 },
            scrollback: &self.scrollback(),
            mask: Arc::new(mask),
        };
        Terminal::start(spec).expect("it starts")
    }

    /// An interactive shell that is ready.
    pub async fn shell(&self) -> Session {
        let terminal = self.start(&["bash", "--norc", "-i"]);
        let mut session = Session::of(terminal);
        session.sees("ready> ").await;
        session
    }
}

/// A user who types and reads the screen.
pub struct Session {
    pub terminal: Arc<Terminal>,
    output: flower_engine::terminal::Output,
    pub screen: String,
    seen: usize,
}

impl Session {
    pub fn of(terminal: Arc<Terminal>) -> Session {
        let output = terminal.output(0);
        Session { terminal, output, screen: String::new(), seen: 0 }
    }

    pub async fn types(&self, keys: &str) {
        self.terminal.write(keys.as_bytes()).await.expect("typed");
    }

    /// Waits until the screen shows it, after what was seen before.
    pub async fn sees(&mut self, text: &str) {
        loop {
            if let Some(at) = self.screen[self.seen..].find(text) {
                self.seen += at + text.len();
                return;
            }
            let next = tokio::time::timeout(PATIENCE / 3, self.output.next()).await;
            let Ok(Some((_, bytes))) = next else { panic!("no `{text}` on the screen:\n{}", self.screen) };
            self.screen.push_str(&String::from_utf8_lossy(&bytes));
        }
    }

    pub async fn ends(&self) -> i32 {
        let ended = tokio::time::timeout(PATIENCE / 3, self.terminal.ended()).await;
        ended.unwrap_or_else(|_| panic!("it does not end:\n{}", self.screen))
    }
}

pub async fn pause(milliseconds: u64) {
    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
}
