//! `cargo xtask pictures`: what the README shows, taken from the real program with the demo's story in it.

use std::fs;

use crate::bloom;
use crate::demo;
use crate::install;
use crate::run::{Program, repository_root, seconds};
use crate::scratch::Scratch;
use crate::stage::Stage;

pub(crate) const HELP: &str = "\
Usage: cargo xtask pictures

Plays the demo's story, leaves some agents at work, and takes the pictures in `docs/pictures` from the page and the terminal.
Make them anew when the page has changed.";

/// Work that is under way in the pictures, each with what its agent does.
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
    let mut stage = Stage::new(&flower, scratch.path())?;
    demo::story(&mut stage)?;
    leave_work_under_way(&stage)?;

    let pictures = repository_root().join("docs/pictures");
    fs::create_dir_all(&pictures).map_err(|error| error.to_string())?;
    let said = stage.in_a_terminal(&[&["status"], &["agent"], &["queue", "--all", "--limit", "5"]])?;
    let terminal = scratch.path().join("terminal.txt");
    fs::write(&terminal, said).map_err(|error| error.to_string())?;
    let links = (0..2).map(|_| stage.link()).collect::<Result<Vec<_>, _>>()?.join(" ");
    bloom::npm(&["run", "pictures"])
        .env("FLOWER_LINKS", links)
        .env("FLOWER_BRIEF", crate::shop::SALE.to_string())
        .env("FLOWER_TERMINAL", terminal)
        .env("FLOWER_PICTURES", &pictures)
        .run()?;
    stage.close()?;
    for entry in fs::read_dir(&pictures).map_err(|error| error.to_string())?.flatten() {
        let size = entry.metadata().map_or(0, |found| found.len());
        eprintln!("{} KB  {}", size / 1024, entry.path().display());
    }
    Ok(())
}

/// How often the page was changed since its pictures were taken, as far as git knows.
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

fn leave_work_under_way(stage: &Stage) -> Result<(), String> {
    for (title, play) in UNDER_WAY {
        let spec = format!("# {title}\n\n```play\n{play}\nhand-back done\n```\n");
        let file = stage.file(&format!("{}.md", title.replace(' ', "-")), &spec)?;
        let brief = stage.json(&["brief", "new", title, "--spec", &file, "--json"])?;
        let number = brief["number"].to_string();
        stage.quiet(&["brief", "accept", &number])?;
        stage.quiet(&["dispatch", &number, "--agent", "play"])?;
    }
    stage.until("somebody asks", || {
        let waiting = stage.json(&["inbox", "--json"])?;
        Ok(waiting.as_array().is_some_and(|items| !items.is_empty()))
    })?;
    // The others have committed by then.
    Program::new("sleep", seconds(10)).args(["3"]).run()
}
