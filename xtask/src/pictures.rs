//! `cargo xtask pictures`: takes the README's pictures from the real program with the data of the demo.

use std::fs;
use std::path::Path;

use crate::bloom;
use crate::demo;
use crate::install;
use crate::run::{Program, repository_root, seconds};
use crate::story::env::DemoEnv;
use crate::story::scratch::Scratch;
use crate::story::{demonstrate, repository};

pub(crate) const HELP: &str = "\
Usage: cargo xtask pictures

Runs the demo, leaves some agents at work, and takes the pictures in `docs/pictures` from the page and the terminal.
Run it again when the page has changed.";

/// Titles of briefs that are in progress in the pictures, and the scripts of their agents.
const UNDER_WAY: [(&str, &str); 4] = [
    (
        "Gift cards",
        "write site/cards.html <html>\\n</html>\ncommit Gift cards\nwrite site/card.css a\ncommit Their style\nsleep 90",
    ),
    ("Opening hours", "write site/hours.html <html>\\n</html>\ncommit Hours\nquestion Also on Sundays?\nwait"),
    ("Delivery", "usage 61000 100000\nwrite site/delivery.html <html>\\n</html>\ncommit Delivery\nsleep 90"),
    ("Newsletter", "usage 32000 100000\nsleep 90"),
];

pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    if !arguments.is_empty() {
        return Err(format!("these arguments are not understood: {}\n\n{HELP}", arguments.join(" ")));
    }
    install::require_tools()?;
    let flower = demo::build()?;
    let scratch = Scratch::new("flower-pictures")?;
    let mut env = DemoEnv::new(&flower, scratch.path())?;
    demonstrate(&mut env)?;
    leave_work_under_way(&env)?;

    let pictures = repository_root().join("docs/pictures");
    fs::create_dir_all(&pictures).map_err(|error| error.to_string())?;
    let said = in_a_terminal(&env, &flower, &[&["status"], &["agent"], &["queue", "--all", "--limit", "5"]])?;
    let terminal = scratch.path().join("terminal.txt");
    fs::write(&terminal, said).map_err(|error| error.to_string())?;
    let links = (0..2).map(|_| env.link()).collect::<Result<Vec<_>, _>>()?.join(" ");
    bloom::npm(&["run", "pictures"])
        .env("FLOWER_LINKS", links)
        .env("FLOWER_BRIEF", repository::SALE.to_string())
        .env("FLOWER_TERMINAL", terminal)
        .env("FLOWER_PICTURES", &pictures)
        .run()?;
    env.close()?;
    for entry in fs::read_dir(&pictures).map_err(|error| error.to_string())?.flatten() {
        let size = entry.metadata().map_or(0, |found| found.len());
        eprintln!("{} KB  {}", size / 1024, entry.path().display());
    }
    Ok(())
}

/// Number of commits to the page since the pictures were taken.
pub(crate) fn changes_since() -> usize {
    let git = |args: &[&str]| {
        let git = Program::new("git", seconds(20)).directory(repository_root()).args(args);
        git.output().unwrap_or_default()
    };
    let taken = git(&["log", "-1", "--format=%H", "--", "docs/pictures"]);
    match taken.trim() {
        "" => 0,
        taken => git(&["log", "--format=%h", &format!("{taken}..HEAD"), "--", "bloom/src"]).lines().count(),
    }
}

fn leave_work_under_way(env: &DemoEnv) -> Result<(), String> {
    for (title, play) in UNDER_WAY {
        let spec = format!("# {title}\n\n```play\n{play}\nhand-back done\n```\n");
        let file = env.file(&format!("{}.md", title.replace(' ', "-")), &spec)?;
        let brief = env.json(&["brief", "new", title, "--spec", &file, "--json"])?;
        let number = brief["number"].to_string();
        env.quiet(&["brief", "accept", &number])?;
        env.quiet(&["dispatch", &number, "--agent", "play"])?;
    }
    env.until("an agent asks a question", || {
        let waiting = env.json(&["inbox", "--json"])?;
        Ok(waiting.as_array().is_some_and(|items| !items.is_empty()))
    })?;
    // Gives the other agents time to commit.
    Program::new("sleep", seconds(10)).args(["3"]).run()
}

/// Commands and their output as a terminal shows them, in colour.
fn in_a_terminal(env: &DemoEnv, flower: &Path, commands: &[&[&str]]) -> Result<String, String> {
    let mut text = String::new();
    for args in commands {
        text.push_str(&format!("\u{1b}[1m$ flower {}\u{1b}[0m\n", args.join(" ")));
        let line = format!("stty cols 112; '{}' {}", flower.display(), args.join(" "));
        let shown = Program::new("script", seconds(30)).args(["--quiet", "--return", "--command", &line, "/dev/null"]);
        let shown = shown.directory(env.repository()).env("FLOWER_HOME", env.home()).output()?;
        text.push_str(&format!("{}\n\n", shown.trim_end().replace('\r', "")));
    }
    Ok(text)
}
