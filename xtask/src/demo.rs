//! `cargo xtask demo`: builds flower and plays its main job on a scratch repository, as a user and an agent would.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::run::{Program, minutes, repository_root, seconds};
use crate::scratch::Scratch;
use crate::stage::{Stage, refuse};
use crate::{dispatch_story, landing_story, worktree_story};

pub(crate) const HELP: &str = "\
Usage: cargo xtask demo [--no-wait]

Builds flower and plays its main job on a scratch repository: briefs, plans, questions, an agent with a token of its own,
a killed daemon, sealed worktrees, attacks on MAIN, four landings with one broken and one in conflict, and agents that are
dispatched, speak MCP, share a worktree, hand back and mend what failed its check. Every command is shown with its answer.
At the end the daemon stays up until you press Enter, so that you can look around; afterwards nothing is left behind.

  --no-wait    end at once instead";

pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let wait = match arguments {
        [] => true,
        [only] if only == "--no-wait" => false,
        _ => return Err(format!("these arguments are not understood: {}\n\n{HELP}", arguments.join(" "))),
    };
    let flower = build()?;
    let start = Instant::now();
    let scratch = Scratch::new("flower-demo")?;
    let mut stage = Stage::new(&flower, scratch.path())?;
    story(&mut stage)?;
    eprintln!("\nThe story took {:.1} s.", start.elapsed().as_secs_f32());
    if wait {
        stage.wait_for_enter()?;
    }
    stage.close()?;
    eprintln!("The daemon has ended and the scratch directory is gone.");
    Ok(())
}

fn build() -> Result<PathBuf, String> {
    eprintln!("== Building flower (a few minutes the first time)");
    Program::cargo(minutes(30)).args(["build", "--release", "--locked", "--package", "flower"]).run()?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository_root().join("target"), PathBuf::from);
    Ok(target.join("release/flower"))
}

fn story(stage: &mut Stage) -> Result<(), String> {
    stage.scene("A repository becomes a project");
    stage.start_daemon()?;
    stage.flower("operator", &["init"])?;

    stage.scene("Work is written down as briefs");
    stage.flower("operator", &["brief", "new", "Flower shop", "--kind", "epic"])?;
    let plan = stage.file("price.md", "# Show the price\n\n- every flower has one\n- in euros\n")?;
    stage.flower("operator", &["brief", "new", "Show the price", "--epic", "1", "--spec", &plan])?;
    let cart = stage.file("cart.md", "# A cart\n\nNeeds prices.\n")?;
    stage.flower("operator", &["brief", "new", "A cart", "--epic", "1", "--needs", "2", "--spec", &cart])?;
    stage.flower("operator", &["brief", "accept", "2"])?;
    stage.flower("operator", &["brief", "accept", "3"])?;
    stage.refused("operator", 1, &["brief", "needs", "2", "3"])?;
    stage.flower("operator", &["brief"])?;

    stage.scene("An agent joins with a token of its own, bound to brief 2");
    stage.agent("rose", 2)?;
    stage.flower("operator", &["brief", "status", "2", "in_progress"])?;
    let pad = stage.file("pad.md", "Prices are in prices.json; the template shows them.\n")?;
    stage.flower("rose", &["scratchpad", "new", "Where prices come from", "--brief", "2", "--text", &pad])?;
    stage.flower("rose", &["brief", "ask", "2", "With or without tax?"])?;
    stage.flower("operator", &["inbox"])?;
    stage.flower("operator", &["brief", "answer", "2", "1", "With tax, always."])?;
    let better = stage.file("price2.md", "# Show the price\n\n- every flower has one\n- in euros, with tax\n")?;
    stage.flower("rose", &["brief", "refine", "2", "--spec", &better, "--base", "1", "--why", "tax decided"])?;
    stage.flower("operator", &["brief", "diff", "2"])?;
    stage.refused("rose", 4, &["brief", "refine", "2", "--spec", &plan, "--base", "1"])?;
    stage.refused("rose", 1, &["brief", "accept", "2"])?;
    stage.refused("rose", 1, &["brief", "note", "3", "not my brief"])?;
    let shot = stage.picture("shot.gif")?;
    stage.flower("rose", &["brief", "note", "2", "This is how it looks.", "--image", &shot])?;

    stage.scene("The daemon is killed in the middle; nothing is lost");
    let before = stage.quiet(&["trace", "--json"])?;
    stage.kill_daemon()?;
    stage.start_daemon()?;
    let after = stage.quiet(&["trace", "--json"])?;
    refuse(before != after, "the trace is not what it was before the kill")?;
    stage.flower("operator", &["log", "verify"])?;

    let sealed = worktree_story::play(stage)?;
    if sealed {
        landing_story::play(stage)?;
        dispatch_story::play(stage)?;
        stage.scene("Brief 2 has landed; what waited for it can begin");
    } else {
        stage.scene("The result is reviewed; what waited for it can begin");
        stage.flower("operator", &["brief", "status", "2", "in_review"])?;
        stage.flower("operator", &["brief", "accept", "2"])?;
    }
    stage.flower("operator", &["brief", "--ready"])?;
    stage.flower("operator", &["brief", "show", "2"])?;
    stage.flower("operator", &["search", "euors"])?;

    stage.scene("The log can be taken elsewhere, and a change in it is found");
    let export = stage.quiet(&["log", "export"])?;
    let file = stage.file("log.jsonl", &export)?;
    stage.flower("operator", &["log", "verify", "--file", &file])?;
    let forged = stage.file("forged.jsonl", &export.replace("With tax, always.", "Without tax."))?;
    stage.refused("operator", 1, &["log", "verify", "--file", &forged])?;
    stage.flower("operator", &["log", "rebuild"])?;
    stage.flower("operator", &["status"])?;
    check(stage, sealed)
}

/// What the story must have led to, whatever was printed.
fn check(stage: &Stage, sealed: bool) -> Result<(), String> {
    let briefs = stage.json(&["brief", "--json"])?;
    let statuses: Vec<&str> = briefs.as_array().into_iter().flatten().filter_map(|b| b["status"].as_str()).collect();
    let expected: &[&str] =
        if sealed { &["draft", "landed", "planned", "landed", "landed"] } else { &["draft", "done", "planned"] };
    refuse(statuses != expected, &format!("the briefs ended as {statuses:?}"))?;
    refuse(briefs[2]["dispatchable"]["ok"] != true, "brief 3 cannot be dispatched, although brief 2 is met")
}

/// The scratch repository that everything is played on.
pub(crate) fn scratch_repository(root: &Path) -> Result<PathBuf, String> {
    let repository = root.join("shop");
    fs::create_dir(&repository).map_err(|error| format!("no scratch repository: {error}"))?;
    let git = |args: &[&str]| {
        Program::new("git", seconds(20))
            .directory(&repository)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .args(["-c", "user.name=Demo", "-c", "user.email=demo@localhost"])
            .args(args)
            .output()
            .map_err(|error| format!("{error}\nThe demo needs git: install it and try again."))
    };
    git(&["init", "--quiet", "--initial-branch=main"])?;
    git(&["config", "user.name", "Demo"])?;
    git(&["config", "user.email", "demo@localhost"])?;
    fs::write(repository.join("index.html"), "<h1>Flowers</h1>\n").map_err(|error| error.to_string())?;
    fs::write(repository.join("check.sh"), landing_story::CHECK).map_err(|error| error.to_string())?;
    fs::write(repository.join("flower.toml"), landing_story::SETTINGS).map_err(|error| error.to_string())?;
    git(&["add", "."])?;
    git(&["commit", "--quiet", "--message", "A shop"])?;
    Ok(repository)
}
