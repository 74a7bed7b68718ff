//! Where the demo's story is played: a scratch repository, a daemon, the operator and agents, each command shown.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::demo::scratch_repository;
use crate::run::{Program, Running, minutes, seconds};

pub(crate) struct Stage {
    flower: PathBuf,
    root: PathBuf,
    repository: PathBuf,
    daemon: Option<Running>,
    tokens: HashMap<String, String>,
}

impl Stage {
    pub(crate) fn new(flower: &Path, root: &Path) -> Result<Self, String> {
        let repository = scratch_repository(root)?;
        let (flower, root) = (flower.to_owned(), root.to_owned());
        Ok(Self { flower, root, repository, daemon: None, tokens: HashMap::new() })
    }

    pub(crate) fn scene(&self, title: &str) {
        eprintln!("\n== {title}");
    }

    pub(crate) fn start_daemon(&mut self) -> Result<(), String> {
        eprintln!("\n$ flower up");
        let log = self.root.join("daemon.log");
        let daemon = self.program(minutes(60)).args(["up", "--foreground"]).leftover(&self.root);
        self.daemon = Some(daemon.serve(&log, "TERM")?);
        let start = Instant::now();
        // The socket of a killed daemon may still lie there, so that only an answer counts.
        while self.program(seconds(10)).env("FLOWER_URL", self.url()).args(["status"]).output().is_err() {
            if start.elapsed() > seconds(20) {
                let log = fs::read_to_string(&log).unwrap_or_default();
                return Err(format!("the daemon did not start:\n{log}"));
            }
            thread::sleep(Duration::from_millis(50));
        }
        let said = fs::read_to_string(&log).unwrap_or_default();
        for line in said.lines().filter(|line| line.starts_with("project") || line.starts_with("open")) {
            eprintln!("{line}");
        }
        Ok(())
    }

    /// As a crash would: no warning, no farewell.
    pub(crate) fn kill_daemon(&mut self) -> Result<(), String> {
        let status = self.json(&["status", "--json"])?;
        let pid = status["pid"].as_u64().ok_or("the daemon does not say its process id")?;
        eprintln!("\n$ kill -9 {pid}");
        Program::new("kill", seconds(5)).args(["-9", &pid.to_string()]).output()?;
        let mut daemon = self.daemon.take().ok_or("no daemon runs")?;
        let start = Instant::now();
        while daemon.ended()?.is_none() {
            refuse(start.elapsed() > seconds(5), "the daemon survived")?;
            thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// Runs a command as the operator or an agent and shows it with its answer.
    pub(crate) fn flower(&self, who: &str, args: &[&str]) -> Result<(), String> {
        self.show(who, args);
        let answer = self.as_actor(who).args(args).output()?;
        eprint!("{answer}");
        Ok(())
    }

    /// Asks for work as the operator, shows all but the packet, and gives the token that stands in it.
    pub(crate) fn dispatch(&self, args: &[&str]) -> Result<String, String> {
        self.show("operator", args);
        let answer = self.quiet(args)?;
        let (page, packet) = answer.split_once("\n\n").unwrap_or((&answer, ""));
        eprintln!("{page}\n(the packet, {} lines to paste into any agent)", packet.lines().count());
        let token = packet.split_once("FLOWER_TOKEN=").and_then(|(_, rest)| rest.split_whitespace().next());
        token.map(str::to_owned).ok_or_else(|| format!("no token stands in the packet:\n{packet}"))
    }

    /// Makes a packet, and gives the name of whoever gets it.
    pub(crate) fn packet(&mut self, dispatch: u64, member: bool) -> Result<String, String> {
        let number = dispatch.to_string();
        let mut args = vec!["dispatch", "packet", &number, "--json"];
        args.extend(member.then_some("--member"));
        self.show("operator", &args);
        let packet = self.json(&args)?;
        let text = |name: &str| packet[name].as_str().map(str::to_owned).ok_or(format!("a packet without its {name}"));
        let agent = text("agent")?;
        eprintln!("(the packet of {agent}, with a token that is shown once)");
        self.is_agent(&agent, text("token")?);
        Ok(agent)
    }

    pub(crate) fn is_agent(&mut self, name: &str, token: String) {
        self.tokens.insert(name.to_owned(), token);
    }

    /// A program that runs inside a worktree with its user's own token; shown, and not started yet.
    pub(crate) fn inside(&self, who: &str, worktree: &str, command: &[&str]) -> Program {
        let args: Vec<&str> = ["worktree", "shell", worktree, "--"].iter().chain(command).copied().collect();
        self.show(who, &args);
        self.as_actor(who).args(args)
    }

    /// Runs a command that must be refused with this exit code.
    pub(crate) fn refused(&self, who: &str, code: i32, args: &[&str]) -> Result<(), String> {
        self.show(who, args);
        match self.as_actor(who).args(args).output() {
            Ok(_) => Err("that should have been refused".to_owned()),
            Err(message) => {
                let (line, said) = message.split_once('\n').unwrap_or((&message, ""));
                eprintln!("{said}");
                refuse(!line.contains(&format!("exit status: {code}")), &format!("expected exit code {code}: {line}"))
            }
        }
    }

    /// Runs a command as the operator and gives its answer without showing it.
    pub(crate) fn quiet(&self, args: &[&str]) -> Result<String, String> {
        self.program(seconds(60)).args(args).output()
    }

    /// The same, as a document.
    pub(crate) fn json(&self, args: &[&str]) -> Result<serde_json::Value, String> {
        serde_json::from_str(&self.quiet(args)?).map_err(|error| format!("no JSON: {error}"))
    }

    /// The same, whatever its exit code.
    pub(crate) fn quiet_whatever(&self, args: &[&str]) -> Result<String, String> {
        let out = self.root.join("answer");
        let shell = ["-c", "\"$@\" > \"$0\" 2>/dev/null; true"];
        self.in_home(Program::new("sh", seconds(60)).args(shell))
            .args([out.as_os_str(), self.flower.as_os_str()])
            .args(args)
            .output()?;
        fs::read_to_string(&out).map_err(|error| format!("no answer: {error}"))
    }

    /// Runs something inside a worktree that must not succeed, and shows what it is told. `MAIN` stands for MAIN's directory.
    pub(crate) fn attack(&self, worktree: &str, what: &str, script: &str) -> Result<(), String> {
        let script = script.replace("MAIN", &self.repository.display().to_string());
        let tried = self.as_actor("operator").args(["worktree", "shell", worktree, "--", "sh", "-c", &script]).output();
        let Err(message) = tried else { return Err(format!("an attack succeeded: {what}")) };
        let (_, said) = message.split_once('\n').unwrap_or((&message, ""));
        let said = said.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        eprintln!("  {what:32} {}", said.replace(&format!("{}/", self.root.display()), ""));
        Ok(())
    }

    /// Shows what git says about MAIN.
    pub(crate) fn git(&self, args: &[&str]) -> Result<(), String> {
        eprintln!("\noperator $ git {}", args.join(" "));
        let answer = self.git_quiet(args)?;
        eprint!("{answer}");
        Ok(())
    }

    pub(crate) fn git_quiet(&self, args: &[&str]) -> Result<String, String> {
        Program::new("git", seconds(20)).directory(&self.repository).args(args).output()
    }

    pub(crate) fn until_removed(&self, worktree: &str) -> Result<(), String> {
        let start = Instant::now();
        while self.quiet(&["worktree", "--json"])?.contains(&format!("\"name\": \"{worktree}\"")) {
            refuse(start.elapsed() > seconds(20), "the worktree does not go")?;
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    pub(crate) fn until_queue_is_empty(&self) -> Result<(), String> {
        let start = Instant::now();
        while self.quiet(&["queue", "--json"])?.trim() != "[]" {
            refuse(start.elapsed() > seconds(60), "the queue does not get empty")?;
            thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn repository(&self) -> &Path {
        &self.repository
    }

    /// Makes a worker's token, bound to one brief.
    pub(crate) fn agent(&mut self, name: &str, brief: u64) -> Result<(), String> {
        let brief = brief.to_string();
        let args = ["token", "new", "--agent", name, "--brief", &brief];
        self.show("operator", &args);
        let token = self.quiet(&args)?;
        eprintln!("(a token, shown once)");
        self.is_agent(name, token.trim().to_owned());
        Ok(())
    }

    pub(crate) fn file(&self, name: &str, text: &str) -> Result<String, String> {
        let path = self.root.join(name);
        fs::write(&path, text).map_err(|error| format!("could not write `{}`: {error}", path.display()))?;
        Ok(path.display().to_string())
    }

    /// The smallest picture there is: one pixel.
    pub(crate) fn picture(&self, name: &str) -> Result<String, String> {
        const PIXEL: &[u8] = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00,\
            \x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;";
        let path = self.root.join(name);
        fs::write(&path, PIXEL).map_err(|error| format!("could not write `{}`: {error}", path.display()))?;
        Ok(path.display().to_string())
    }

    pub(crate) fn wait_for_enter(&self) -> Result<(), String> {
        let up = self.json(&["up", "--json"])?;
        eprintln!("\nLook around: {}", up["open_url"].as_str().unwrap_or_default());
        eprintln!(
            "or, in another terminal: cd {} && FLOWER_HOME={} {} brief",
            self.repository.display(),
            self.home().display(),
            self.flower.display()
        );
        eprintln!("Press Enter to end.");
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).map_err(|error| format!("no terminal: {error}"))?;
        Ok(())
    }

    pub(crate) fn close(mut self) -> Result<(), String> {
        self.quiet(&["down"])?;
        self.daemon = None;
        Ok(())
    }

    fn show(&self, who: &str, args: &[&str]) {
        let root = format!("{}/", self.root.display());
        let words: Vec<String> = args
            .iter()
            .map(|word| word.replace(&root, ""))
            .map(|word| if word.contains(' ') { format!("\"{word}\"") } else { word })
            .collect();
        eprintln!("\n{who} $ flower {}", words.join(" "));
    }

    fn as_actor(&self, who: &str) -> Program {
        let program = self.program(seconds(60));
        match self.tokens.get(who) {
            Some(token) => program.env("FLOWER_TOKEN", token),
            None => program,
        }
    }

    fn program(&self, deadline: Duration) -> Program {
        self.in_home(Program::new(&self.flower, deadline))
    }

    fn in_home(&self, program: Program) -> Program {
        program
            .directory(&self.repository)
            .env("FLOWER_HOME", self.home())
            .without_env("FLOWER_URL")
            .without_env("FLOWER_TOKEN")
            .without_env("FLOWER_DATABASE_URL")
    }

    fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// With an address, no command starts a daemon of its own.
    fn url(&self) -> String {
        let port = fs::read_to_string(self.home().join("port")).unwrap_or_default();
        format!("http://127.0.0.1:{}", port.trim().parse::<u16>().unwrap_or(1))
    }
}

pub(crate) fn refuse(bad: bool, message: &str) -> Result<(), String> {
    if bad { Err(message.to_owned()) } else { Ok(()) }
}
