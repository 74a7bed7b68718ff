//! Other programs that do the same job, installed from their registry when they are measured.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Backlog.md: tasks as Markdown files, a program from the npm registry.
pub struct Backlog {
    program: PathBuf,
    pub repository: PathBuf,
}

const VERSION: &str = "1.52.0";

impl Backlog {
    /// Installs it and makes a repository with so many tasks; nothing where there is no npm.
    pub fn with_tasks(folder: &Path, tasks: u64) -> Option<Backlog> {
        let package = format!("backlog.md@{VERSION}");
        let prefix = folder.join("peer");
        quiet(Command::new("npm").args(["install", "--no-audit", "--no-fund", "--prefix"]).arg(&prefix).arg(package))?;
        let repository = folder.join("peer-repository");
        std::fs::create_dir(&repository).ok()?;
        let backlog = Backlog { program: prefix.join("node_modules/.bin/backlog"), repository };
        let git =
            ["-c", "user.name=b", "-c", "user.email=b@localhost", "commit", "--quiet", "--allow-empty", "-m", "b"];
        quiet(Command::new("git").args(["init", "--quiet"]).current_dir(&backlog.repository))?;
        quiet(Command::new("git").args(git).current_dir(&backlog.repository))?;
        quiet(backlog.command(&["init", "bench", "--defaults"]).current_dir(&backlog.repository))?;
        for n in 1..=tasks {
            let text = format!(
                "---\nid: TASK-{n}\ntitle: Task {n}\nstatus: To Do\nassignee: []\ncreated_date: '2026-11-15 12:00'\n\
                 labels: []\ndependencies: []\nordinal: {n}000\n---\n\n## Description\n\nText of task {n}.\n"
            );
            std::fs::write(backlog.repository.join(format!("backlog/tasks/task-{n} - Task-{n}.md")), text).ok()?;
        }
        Some(backlog)
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(args);
        command
    }
}

/// mergetrain: a merge queue for branches of agents, from the Python registry, in an environment of its own.
pub fn mergetrain(folder: &Path) -> Option<PathBuf> {
    let place = folder.join("mergetrain");
    quiet(Command::new("python3").args(["-m", "venv"]).arg(&place))?;
    quiet(Command::new(place.join("bin/pip")).args(["install", "--quiet", "mergetrain==3.7.1"]))?;
    Some(place.join("bin/mergetrain"))
}

/// Programs from the Rust registry that make worktrees, built when they are asked for, which takes minutes the first time:
/// the newest ones that the Rust of this project builds.
pub fn worktree_maker(folder: &Path, package: &str, program: &str) -> Option<PathBuf> {
    let mut install = Command::new("cargo");
    install.args(["install", "--quiet", "--locked", "--root"]).arg(folder);
    quiet(install.arg("--target-dir").arg(folder.join("build")).arg(package))?;
    Some(folder.join("bin").join(program))
}

fn quiet(command: &mut Command) -> Option<()> {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().ok()?;
    status.success().then_some(())
}
