//! `cargo xtask demo`: builds flower and plays its main job on a scratch repository. The operator is played by this program;
//! the agents are started by flower, each in its own jail, and speak ACP and MCP as real ones do.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use serde_json::Value;

use crate::bloom;
use crate::install;
use crate::news::shortened;
use crate::probe::{Probe, Seen};
use crate::run::{Program, minutes, seconds, target_folder};
use crate::scratch::Scratch;
use crate::shop::{GUESTS, HISTORY, PRICES, SALE, SEASONS, SUMMER, WANTED};
use crate::stage::{Stage, refuse};

pub(crate) const HELP: &str = "\
Usage: cargo xtask demo [--no-wait]

Builds flower and plays its main job on a scratch repository, a small flower shop: eight briefs, and agents that flower
starts for them, each in a sealed worktree. One dies, one runs out of context, one breaks the check, two want the same
lines, one asks a question, one asks for a permission, two share a worktree, and one attacks MAIN. The daemon is killed
on the way. All eight land, and MAIN's page, which is looked at all the time, never fails.
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
    let mut page = Probe::start(stage.repository().join("site"))?;
    story(&mut stage)?;
    ending(&stage, &page.end())?;
    eprintln!("\nThe story took {:.1} s.", start.elapsed().as_secs_f32());
    if wait {
        stage.wait_for_enter(&page.url())?;
    }
    stage.close()?;
    eprintln!("The daemon has ended with all its agents, and the scratch directory is gone.");
    Ok(())
}

pub(crate) fn build() -> Result<PathBuf, String> {
    eprintln!("== Building flower and its page (a few minutes the first time)");
    install::require_node()?;
    bloom::build()?;
    Program::cargo(minutes(30)).args(["build", "--release", "--locked", "--package", "flower"]).run()?;
    Ok(target_folder().join("release/flower"))
}

pub(crate) fn story(stage: &mut Stage) -> Result<(), String> {
    stage
        .scene("A repository becomes a project", "Its checks decide what lands. They run once somebody has read them.");
    stage.start_daemon()?;
    require_jail(stage)?;
    stage.flower(&["project", "approve", "--yes"])?;

    stage.scene(
        "Work is written down as briefs",
        "A brief that needs another waits for it. The rest needs no hand at all.",
    );
    for wanted in &WANTED {
        let spec = wanted.spec.replace("{main}", &stage.repository().display().to_string());
        let file = stage.file(wanted.file, &spec)?;
        stage.brief(&[&["brief", "new", wanted.title], wanted.options, &["--spec", &file]].concat())?;
    }
    eprintln!("\nThe agents of this story are scripted, in the specs. This is `cart.md`:\n");
    let [_, cart, ..] = &WANTED;
    for line in cart.spec.lines() {
        eprintln!("    {}", shortened(line));
    }

    stage.scene(
        "Four plans are accepted, and flower starts agents",
        "Each gets a sealed worktree. One will die, one will forget, one will break the check.",
    );
    for brief in ["1", "2", "3", "4"] {
        stage.brief(&["brief", "accept", brief])?;
    }
    stage.until_landed(&[PRICES, 2, 3])?;
    stage.until("the history goes on with a fresh agent", || {
        let agents = stage.json(&["agent", "--json"])?;
        let mut all = agents.as_array().into_iter().flatten();
        Ok(all.any(|a| a["brief"] == HISTORY && a["refreshes"] == 1 && a["state"] == "working"))
    })?;
    stage.flower(&["agent"])?;

    stage.scene(
        "The daemon is killed with an agent at work",
        "Nothing that was recorded is lost, and the agent goes on.",
    );
    let before = stage.json(&["trace", "--json", "--limit", "1000"])?;
    stage.kill_daemon()?;
    stage.start_daemon()?;
    stage.until_landed(&[HISTORY])?;
    let after = stage.json(&["trace", "--json", "--limit", "1000"])?;
    let recorded = before.as_array().map_or(&[][..], Vec::as_slice);
    let is_kept = after.as_array().is_some_and(|after| after.starts_with(recorded));
    refuse(!is_kept, "the trace is not what it was before the kill")?;
    stage.flower(&["log", "verify"])?;

    stage.scene(
        "Two want the front page, and each waits for you",
        "A question and a permission are for a person to decide.",
    );
    for brief in ["6", "7"] {
        stage.brief(&["brief", "accept", brief])?;
    }
    stage.until("a question and a permission", || {
        let waiting = stage.json(&["inbox", "--json"])?;
        let has = |kind: &str| waiting.as_array().into_iter().flatten().any(|item| item["kind"] == kind);
        Ok(has("question") && has("permission"))
    })?;
    stage.flower(&["inbox"])?;
    eprintln!("\nNothing lands while you decide, so that both are written against the same front page.");
    stage.flower(&["freeze", "one moment"])?;
    stage.flower(&["agent", "deny", "1", "it is summer anyway"])?;
    until_handed_back(stage, SUMMER)?;
    stage.flower(&["brief", "answer", &SALE.to_string(), "1", "Ten, and not one more."])?;
    until_handed_back(stage, SALE)?;
    stage.flower(&["queue"])?;
    stage.flower(&["thaw"])?;
    stage.until_landed(&[SUMMER, SALE])?;

    stage.scene(
        "Two agents in one worktree, and one that attacks MAIN",
        "What one has reserved the other cannot commit. What is MAIN's nobody in a seal can reach.",
    );
    let main = stage.git(&["rev-parse", "HEAD"])?;
    let seasons = SEASONS.to_string();
    stage.brief(&["brief", "accept", &seasons])?;
    stage.brief(&["dispatch", &seasons, "--agent", "play", "--agents", "2"])?;
    stage.brief(&["brief", "accept", &GUESTS.to_string()])?;
    stage.until_landed(&[SEASONS, GUESTS])?;
    let short = |text: &str| text.replace(&format!("{}/", stage.root().display()), "");
    let show = |refused: &[(String, String)]| {
        for (what, said) in refused {
            eprintln!("  {:40} {}", cut(&short(what), 40), cut(&short(said), 56));
        }
    };
    let beside = agent_of(stage, SEASONS, 1)?;
    let refused = refusals(stage, &beside)?;
    eprintln!("\nWhat {beside} was told when it went for the other's page:");
    show(&refused);
    refuse(refused.len() != 2, &format!("two refusals were expected: {refused:?}"))?;
    let attacker = agent_of(stage, GUESTS, 0)?;
    let attacks = refusals(stage, &attacker)?;
    eprintln!("\nWhat {attacker} was told when it went for MAIN; its honest work landed:");
    show(&attacks);
    refuse(attacks.len() != 10, &format!("{} of ten attacks were refused", attacks.len()))?;
    let moved = stage.git(&["rev-list", "--first-parent", "--count", &format!("{}..main", main.trim())])?;
    refuse(moved.trim() != "2", "somebody but two landings has moved MAIN")
}

/// What it all led to.
fn ending(stage: &Stage, seen: &Seen) -> Result<(), String> {
    stage.scene("What it came to", "Nobody typed `land`.");
    stage.flower(&["brief"])?;
    stage.flower(&["agent", "--all"])?;
    stage.flower(&["agent", "spend"])?;
    stage.flower(&["main", "log"])?;
    stage.flower(&["main", "verify"])?;
    let briefs = stage.json(&["brief", "--json"])?;
    let landed = briefs.as_array().into_iter().flatten().filter(|brief| brief["status"] == "landed").count();
    refuse(landed != WANTED.len(), "not everything has landed")?;
    refuse(!stage.git(&["status", "--porcelain"])?.is_empty(), "MAIN's files have changed")?;

    eprintln!("\nEvery commit on MAIN passes its check, taken from git alone:");
    prove(stage)?;
    let Seen { looks, answers, gaps, mixed, editions, failures, slowest } = seen;
    refuse(!failures.is_empty(), &format!("MAIN's page failed: {failures:?}"))?;
    refuse(editions.last() != Some(&4), &format!("MAIN's page ended at another edition: {editions:?}"))?;
    eprintln!(
        "\nMAIN's page was looked at {looks} times meanwhile: {answers} answers, the slowest after {slowest:.0?}."
    );
    eprintln!(
        "git writes file after file: {mixed} looks met two editions, {gaps} a file on its way, whole at the next look."
    );
    eprintln!("\nSeen: eight briefs that landed by themselves. An agent that died and one that ran out of context,");
    eprintln!("both replaced. A broken branch and a conflict, both mended by agents that flower asked for.");
    eprintln!("A killed daemon, and ten attacks that came to nothing.");
    Ok(())
}

fn until_handed_back(stage: &Stage, brief: u64) -> Result<(), String> {
    stage.until(&format!("brief {brief} is handed back"), || {
        let queue = stage.json(&["queue", "--json"])?;
        let mut waiting = queue.as_array().into_iter().flatten();
        Ok(waiting.any(|landing| landing["briefs"].as_array().is_some_and(|briefs| briefs.contains(&brief.into()))))
    })
}

/// Without it no agent is started.
fn require_jail(stage: &Stage) -> Result<(), String> {
    let findings = stage.json(&["doctor", "--json"]).unwrap_or_default();
    let jail = findings.as_array().into_iter().flatten().find(|finding| finding["check"] == "jail");
    match jail.filter(|jail| jail["state"] != "ok") {
        Some(jail) => {
            Err(format!("this machine cannot seal worktrees: {}", jail["evidence"].as_str().unwrap_or_default()))
        }
        None => Ok(()),
    }
}

/// The name of an agent that worked on a brief first.
fn agent_of(stage: &Stage, brief: u64, member: u64) -> Result<String, String> {
    let agents = stage.json(&["agent", "--all", "--json"])?;
    let all = agents.as_array().into_iter().flatten();
    let ours = all.rev().find(|agent| agent["brief"] == brief && agent["member"] == member);
    let name = ours.and_then(|agent| agent["name"].as_str());
    name.map(str::to_owned).ok_or_else(|| format!("nobody worked on brief {brief}: {agents}"))
}

/// What an agent tried in vain, and what it was told.
fn refusals(stage: &Stage, agent: &str) -> Result<Vec<(String, String)>, String> {
    let log = stage.json(&["agent", "log", agent, "--all", "--json"])?;
    let failed = log.as_array().into_iter().flatten().filter(|entry| entry["status"] == "failed");
    let parts = |entry: &Value| {
        let text = entry["text"].as_str().unwrap_or_default();
        let (what, said) = text.split_once('\n').unwrap_or((text, ""));
        (what.to_owned(), said.to_owned())
    };
    Ok(failed.map(parts).collect())
}

fn cut(text: &str, most: usize) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    if line.chars().count() <= most { line.to_owned() } else { line.chars().take(most - 1).chain(['…']).collect() }
}

/// Checks out every commit on MAIN's first-parent history, and runs the check on it.
fn prove(stage: &Stage) -> Result<(), String> {
    let commits = stage.git(&["log", "--first-parent", "--reverse", "--format=%H %s", "main"])?;
    let (tree, index) = (stage.root().join("proof"), stage.root().join("proof.index"));
    for line in commits.lines() {
        let (commit, subject) = line.split_once(' ').unwrap_or((line, ""));
        let _ = fs::remove_dir_all(&tree);
        let _ = fs::remove_file(&index);
        fs::create_dir(&tree).map_err(|error| error.to_string())?;
        Program::new("git", seconds(20))
            .directory(stage.repository())
            .env("GIT_INDEX_FILE", index.display().to_string())
            .args([&format!("--work-tree={}", tree.display()), "read-tree", "--reset", "-u", commit])
            .output()?;
        Program::new("sh", seconds(30)).directory(&tree).args(["check.sh"]).output()?;
        eprintln!("  {}  {}", commit.get(..12).unwrap_or(commit), shortened(subject));
    }
    refuse(commits.lines().count() != WANTED.len() + 1, &format!("eight landings were expected:\n{commits}"))
}
