//! The environment of the demo: a scratch repository and a daemon. Shows the commands that it runs as the operator.

use std::cell::RefCell;
use std::fs;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::narration::Narration;
use super::program::{Program, Running, minutes, seconds};
use super::repository;

/// Longer than any step takes on a busy machine.
const STEP_TIMEOUT: Duration = seconds(90);

pub(crate) struct DemoEnv {
    flower: PathBuf,
    root: PathBuf,
    repository: PathBuf,
    daemon: Option<Running>,
    began: Instant,
    /// The number of the last event that was shown, and the state of the narration.
    shown: RefCell<(u64, Narration)>,
}

impl DemoEnv {
    pub(crate) fn new(flower: &Path, root: &Path) -> Result<Self, String> {
        let repository = repository::create(root)?;
        let env = Self {
            flower: flower.to_owned(),
            root: root.to_owned(),
            repository,
            daemon: None,
            began: Instant::now(),
            shown: RefCell::default(),
        };
        fs::create_dir(env.home()).map_err(|error| format!("no home: {error}"))?;
        let config = env.home().join("config.toml");
        fs::write(config, repository::profile(flower)).map_err(|error| format!("no profile: {error}"))?;
        Ok(env)
    }

    pub(crate) fn scene(&self, title: &str, why: &str) {
        eprintln!("\n\n{}\n{why}", styled("1", &format!("== {title}")));
    }

    pub(crate) fn start_daemon(&mut self) -> Result<(), String> {
        self.show(&["up"]);
        let log = self.root.join("daemon.log");
        let daemon = self.program(minutes(60)).args(["up", "--foreground"]).leftover(&self.root);
        self.daemon = Some(daemon.serve(&log, "TERM")?);
        let start = Instant::now();
        // The socket of a killed daemon may still exist, so only a response proves that the daemon runs.
        while self.program(seconds(10)).env("FLOWER_URL", self.url()).args(["status"]).output().is_err() {
            if start.elapsed() > seconds(20) {
                let log = fs::read_to_string(&log).unwrap_or_default();
                return Err(format!("the daemon did not start:\n{log}"));
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Kills the daemon without a warning, as a crash would.
    pub(crate) fn kill_daemon(&mut self) -> Result<(), String> {
        let status = self.json(&["status", "--json"])?;
        let pid = status["pid"].as_u64().ok_or("the daemon does not say its process id")?;
        eprintln!("\n{}", styled("1", &format!("$ kill -9 {pid}")));
        Program::new("sh", seconds(5)).args(["-c", "kill -9 \"$1\"", "kill", &pid.to_string()]).output()?;
        let mut daemon = self.daemon.take().ok_or("no daemon runs")?;
        let start = Instant::now();
        while daemon.ended()?.is_none() {
            fail_if(start.elapsed() > seconds(5), "the daemon survived")?;
            thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// Runs a command and shows it with its output.
    pub(crate) fn flower(&self, args: &[&str]) -> Result<(), String> {
        self.show(args);
        eprint!("{}", self.quiet(args)?);
        Ok(())
    }

    /// Like [`Self::flower`], with the first line of the output only.
    pub(crate) fn brief(&self, args: &[&str]) -> Result<(), String> {
        self.show(args);
        eprintln!("{}", self.quiet(args)?.lines().next().unwrap_or_default());
        Ok(())
    }

    /// Runs a command and returns its output without showing it.
    pub(crate) fn quiet(&self, args: &[&str]) -> Result<String, String> {
        self.program(seconds(60)).args(args).output()
    }

    /// Like [`Self::quiet`], parsed as JSON.
    pub(crate) fn json(&self, args: &[&str]) -> Result<Value, String> {
        serde_json::from_str(&self.quiet(args)?).map_err(|error| format!("no JSON: {error}"))
    }

    /// Shows events until the condition holds.
    pub(crate) fn until(&self, what: &str, mut condition: impl FnMut() -> Result<bool, String>) -> Result<(), String> {
        let start = Instant::now();
        eprintln!();
        loop {
            let done = condition()?;
            self.show_events()?;
            if done {
                return Ok(());
            }
            if start.elapsed() > STEP_TIMEOUT {
                let agents = self.quiet(&["agent", "--all"])?;
                let log = fs::read_to_string(self.root.join("daemon.log")).unwrap_or_default();
                return Err(format!("not in {} s: {what}\n{agents}\n{log}", STEP_TIMEOUT.as_secs()));
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until these briefs are in MAIN.
    pub(crate) fn until_landed(&self, wanted: &[u64]) -> Result<(), String> {
        self.until(&format!("briefs {wanted:?} land"), || {
            let briefs = self.json(&["brief", "--json"])?;
            let landed = |number: &u64| {
                let mut all = briefs.as_array().into_iter().flatten();
                all.any(|brief| brief["number"] == *number && brief["status"] == "landed")
            };
            Ok(wanted.iter().all(landed))
        })
    }

    fn show_events(&self) -> Result<(), String> {
        let (last, narration) = &mut *self.shown.borrow_mut();
        let events = self.json(&["trace", "--json", "--limit", "500", "--after", &last.to_string()])?;
        for event in events.as_array().into_iter().flatten() {
            *last = event["seq"].as_u64().unwrap_or(*last);
            if let Some(line) = narration.line(event) {
                let time = format!("{:5.1} s", self.began.elapsed().as_secs_f32());
                eprintln!("  {}  {line}", styled("2", &time));
            }
        }
        Ok(())
    }

    pub(crate) fn git(&self, args: &[&str]) -> Result<String, String> {
        Program::new("git", seconds(20)).directory(&self.repository).args(args).output()
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn repository(&self) -> &Path {
        &self.repository
    }

    /// Writes a file of the operator and returns its path.
    pub(crate) fn file(&self, name: &str, text: &str) -> Result<String, String> {
        let path = self.root.join(name);
        fs::write(&path, text).map_err(|error| format!("could not write `{}`: {error}", path.display()))?;
        Ok(path.display().to_string())
    }

    pub(crate) fn wait_for_enter(&self, page: &str) -> Result<(), String> {
        let link = self.link()?;
        let (shop, home, flower) = (self.repository.display(), self.home(), self.flower.display());
        eprintln!("\nLook around.");
        eprintln!("  MAIN's page     {page}");
        let opened = if open_in_browser(&link) { ", open in your browser" } else { "" };
        eprintln!("  flower's page   {link}{opened}");
        eprintln!(
            "  its commands    export FLOWER_HOME={} PATH={}:$PATH",
            home.display(),
            flower_folder(&flower.to_string())
        );
        eprintln!("                  cd {shop} && flower status && flower agent log play-1");
        eprintln!("  your own        cd YOUR-REPOSITORY && flower up && flower agent profiles");
        eprintln!("\nPress Enter to end.");
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).map_err(|error| format!("no terminal: {error}"))?;
        Ok(())
    }

    /// A link that opens the page once.
    pub(crate) fn link(&self) -> Result<String, String> {
        let up = self.json(&["up", "--json"])?;
        up["open_url"].as_str().map(str::to_owned).ok_or_else(|| "no address to open".to_owned())
    }

    /// Stops the daemon. Fails if processes of it or its agents are left.
    pub(crate) fn close(mut self) -> Result<(), String> {
        self.quiet(&["down"])?;
        self.daemon = None;
        let start = Instant::now();
        loop {
            let left = processes_of(&self.root);
            if left.is_empty() {
                return Ok(());
            }
            fail_if(start.elapsed() > seconds(10), &format!("these are left running: {}", left.join("; ")))?;
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn show(&self, args: &[&str]) {
        let root = format!("{}/", self.root.display());
        let words: Vec<String> = args
            .iter()
            .map(|word| word.replace(&root, ""))
            .map(|word| if word.contains(' ') { format!("\"{word}\"") } else { word })
            .collect();
        eprintln!("\n{}", styled("1", &format!("$ flower {}", words.join(" "))));
    }

    fn program(&self, deadline: Duration) -> Program {
        Program::new(&self.flower, deadline)
            .directory(&self.repository)
            .env("FLOWER_HOME", self.home())
            .without_env("FLOWER_URL")
            .without_env("FLOWER_TOKEN")
            .without_env("FLOWER_DATABASE_URL")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// With FLOWER_URL set, commands do not start a daemon.
    fn url(&self) -> String {
        let port = fs::read_to_string(self.home().join("port")).unwrap_or_default();
        format!("http://127.0.0.1:{}", port.trim().parse::<u16>().unwrap_or(1))
    }
}

pub(crate) fn fail_if(bad: bool, message: &str) -> Result<(), String> {
    if bad { Err(message.to_owned()) } else { Ok(()) }
}

/// Opens the address with the desktop's program, if there is a display.
fn open_in_browser(address: &str) -> bool {
    let has_screen = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    has_screen && Program::new("xdg-open", seconds(10)).args([address]).output().is_ok()
}

fn flower_folder(flower: &str) -> &str {
    flower.rsplit_once('/').map_or(flower, |(folder, _)| folder)
}

fn styled(code: &str, text: &str) -> String {
    let is_plain = !std::io::stderr().is_terminal() || std::env::var_os("NO_COLOR").is_some();
    if is_plain { text.to_owned() } else { format!("\u{1b}[{code}m{text}\u{1b}[0m") }
}

/// Processes with `root` in their command line or environment, except guards of this program.
fn processes_of(root: &Path) -> Vec<String> {
    let root = root.display().to_string();
    let read = |pid: &str, file: &str| {
        let bytes = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).replace('\0', " ").trim().to_owned()
    };
    let all =
        fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let pids = all.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    let others = pids.filter(|pid| *pid != std::process::id().to_string());
    others
        .filter(|pid| !read(pid, "cmdline").contains(" guard "))
        .filter(|pid| read(pid, "cmdline").contains(&root) || read(pid, "environ").contains(&root))
        .map(|pid| format!("{pid} {}", read(&pid, "cmdline")))
        .collect()
}
