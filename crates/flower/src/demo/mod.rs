//! `flower demo`: demonstrates flower on a scratch repository. This program acts as the operator; flower starts scripted agents, each in
//! its own jail, which speak ACP and MCP as real ones do. `cargo xtask` compiles these files too, for the pictures of the README.

pub(crate) mod env;
mod guard;
mod narration;
mod page_probe;
pub(crate) mod program;
pub(crate) mod repository;
pub(crate) mod scratch;

use std::fs;
use std::path::Path;
use std::time::Instant;

use serde_json::Value;

use env::{DemoEnv, fail_if};
use narration::shortened;
use page_probe::{PageProbe, ProbeReport};
use program::{Program, seconds};
use repository::{BRIEFS, GUESTS, HISTORY, PRICES, SALE, SEASONS, SUMMER};
use scratch::Scratch;

/// Plays the story with this program. With `wait`, the daemon runs until Enter is pressed.
pub(crate) fn play(flower: &Path, wait: bool) -> Result<(), String> {
    let start = Instant::now();
    let scratch = Scratch::new("flower-demo")?;
    let mut env = DemoEnv::new(flower, scratch.path())?;
    let mut page = PageProbe::start(env.repository().join("site"))?;
    demonstrate(&mut env)?;
    show_results(&env, &page.end())?;
    eprintln!("\nThe story took {:.1} s.", start.elapsed().as_secs_f32());
    if wait {
        env.wait_for_enter(&page.url())?;
    }
    env.close()?;
    eprintln!("The daemon has ended with all its agents, and the scratch directory is gone.");
    Ok(())
}

pub(crate) fn demonstrate(env: &mut DemoEnv) -> Result<(), String> {
    env.scene(
        "A repository becomes a project",
        "Its checks decide what lands. They run once the operator has approved them.",
    );
    env.start_daemon()?;
    require_jail(env)?;
    env.flower(&["project", "approve", "--yes"])?;

    env.scene(
        "Work is written down as briefs",
        "A brief that needs another waits for it. The others are dispatched automatically.",
    );
    for wanted in &BRIEFS {
        let spec = wanted.spec.replace("{main}", &env.repository().display().to_string());
        let file = env.file(wanted.file, &spec)?;
        env.brief(&[&["brief", "new", wanted.title], wanted.options, &["--spec", &file]].concat())?;
    }
    eprintln!("\nThe agents of this story are scripted, in the specs. This is `cart.md`:\n");
    let [_, cart, ..] = &BRIEFS;
    for line in cart.spec.lines() {
        eprintln!("    {}", shortened(line));
    }

    env.scene(
        "Four plans are accepted, and flower starts agents",
        "Each gets a sealed worktree. One will die, one will fill its context, one will break the check.",
    );
    for brief in ["1", "2", "3", "4"] {
        env.brief(&["brief", "accept", brief])?;
    }
    env.until_landed(&[PRICES, 2, 3])?;
    env.until("the history goes on with a fresh agent", || {
        let agents = env.json(&["agent", "--json"])?;
        let mut all = agents.as_array().into_iter().flatten();
        Ok(all.any(|a| a["brief"] == HISTORY && a["refreshes"] == 1 && a["state"] == "working"))
    })?;
    env.flower(&["agent"])?;

    env.scene(
        "The daemon is killed with an agent at work",
        "Nothing that was recorded is lost, and the agent goes on.",
    );
    let before = env.json(&["trace", "--json", "--limit", "1000"])?;
    env.kill_daemon()?;
    env.start_daemon()?;
    env.until_landed(&[HISTORY])?;
    let after = env.json(&["trace", "--json", "--limit", "1000"])?;
    let recorded = before.as_array().map_or(&[][..], Vec::as_slice);
    let is_kept = after.as_array().is_some_and(|after| after.starts_with(recorded));
    fail_if(!is_kept, "the trace is not what it was before the kill")?;
    env.flower(&["log", "verify"])?;

    env.scene(
        "Two want the front page, and each waits for you",
        "A question and a permission are for a person to decide.",
    );
    for brief in ["6", "7"] {
        env.brief(&["brief", "accept", brief])?;
    }
    env.until("a question and a permission", || {
        let waiting = env.json(&["inbox", "--json"])?;
        let has = |kind: &str| waiting.as_array().into_iter().flatten().any(|item| item["kind"] == kind);
        Ok(has("question") && has("permission"))
    })?;
    env.flower(&["inbox"])?;
    eprintln!("\nNothing lands while you decide, so that both are written against the same front page.");
    env.flower(&["freeze", "one moment"])?;
    env.flower(&["agent", "deny", "1", "it is summer anyway"])?;
    until_handed_back(env, SUMMER)?;
    env.flower(&["brief", "answer", &SALE.to_string(), "1", "Ten, and not one more."])?;
    until_handed_back(env, SALE)?;
    env.flower(&["queue"])?;
    env.flower(&["thaw"])?;
    env.until_landed(&[SUMMER, SALE])?;

    env.scene(
        "Two agents in one worktree, and one that attacks MAIN",
        "An agent cannot commit paths that the other has reserved. No process in a sealed worktree can reach MAIN.",
    );
    let main = env.git(&["rev-parse", "HEAD"])?;
    let seasons = SEASONS.to_string();
    env.brief(&["brief", "accept", &seasons])?;
    env.brief(&["dispatch", &seasons, "--agent", "play", "--agents", "2"])?;
    env.brief(&["brief", "accept", &GUESTS.to_string()])?;
    env.until_landed(&[SEASONS, GUESTS])?;
    let short = |text: &str| text.replace(&format!("{}/", env.root().display()), "");
    let show = |refused: &[(String, String)]| {
        for (what, said) in refused {
            eprintln!("  {:40} {}", cut(&short(what), 40), cut(&short(said), 56));
        }
    };
    let beside = agent_of(env, SEASONS, 1)?;
    let refused = refusals(env, &beside)?;
    eprintln!("\nResponses to {beside} when it tried to commit the other agent's page:");
    show(&refused);
    fail_if(refused.len() != 2, &format!("two refusals were expected: {refused:?}"))?;
    let attacker = agent_of(env, GUESTS, 0)?;
    let attacks = refusals(env, &attacker)?;
    eprintln!("\nResponses to {attacker} when it attacked MAIN; its regular work landed:");
    show(&attacks);
    fail_if(attacks.len() != 10, &format!("{} of ten attacks were refused", attacks.len()))?;
    let moved = env.git(&["rev-list", "--first-parent", "--count", &format!("{}..main", main.trim())])?;
    fail_if(moved.trim() != "2", "MAIN was moved by something other than the two landings")
}

/// Shows the results and checks them.
fn show_results(env: &DemoEnv, seen: &ProbeReport) -> Result<(), String> {
    env.scene("The result", "The operator did not run `flower land` once.");
    env.flower(&["brief"])?;
    env.flower(&["agent", "--all"])?;
    env.flower(&["agent", "spend"])?;
    env.flower(&["main", "log"])?;
    env.flower(&["main", "verify"])?;
    let briefs = env.json(&["brief", "--json"])?;
    let landed = briefs.as_array().into_iter().flatten().filter(|brief| brief["status"] == "landed").count();
    fail_if(landed != BRIEFS.len(), "not everything has landed")?;
    fail_if(!env.git(&["status", "--porcelain"])?.is_empty(), "MAIN's files have changed")?;

    eprintln!("\nEvery commit on MAIN passes its check, taken from git alone:");
    prove(env)?;
    let ProbeReport { rounds, answers, gaps, mixed, editions, failures, slowest } = seen;
    fail_if(!failures.is_empty(), &format!("MAIN's page failed: {failures:?}"))?;
    fail_if(editions.last() != Some(&4), &format!("MAIN's page ended at another edition: {editions:?}"))?;
    eprintln!(
        "\nMAIN's page was requested in {rounds} rounds meanwhile: {answers} responses, the slowest after {slowest:.0?}."
    );
    eprintln!(
        "git writes one file after the other: {mixed} rounds met two editions, {gaps} requests an incomplete file that was complete at the next request."
    );
    eprintln!("\nSeen: eight briefs that landed by themselves. An agent that died and one that ran out of context,");
    eprintln!("both replaced. A broken branch and a conflict, both mended by agents that flower asked for.");
    eprintln!("A killed daemon, and ten attacks that came to nothing.");
    Ok(())
}

fn until_handed_back(env: &DemoEnv, brief: u64) -> Result<(), String> {
    env.until(&format!("brief {brief} is handed back"), || {
        let queue = env.json(&["queue", "--json"])?;
        let mut waiting = queue.as_array().into_iter().flatten();
        Ok(waiting.any(|landing| landing["briefs"].as_array().is_some_and(|briefs| briefs.contains(&brief.into()))))
    })
}

/// flower starts agents only where jails work.
fn require_jail(env: &DemoEnv) -> Result<(), String> {
    let findings = env.json(&["doctor", "--json"]).unwrap_or_default();
    let jail = findings.as_array().into_iter().flatten().find(|finding| finding["check"] == "jail");
    match jail.filter(|jail| jail["state"] != "ok") {
        Some(jail) => {
            Err(format!("this machine cannot seal worktrees: {}", jail["evidence"].as_str().unwrap_or_default()))
        }
        None => Ok(()),
    }
}

/// The name of the newest agent on a brief with this member number.
fn agent_of(env: &DemoEnv, brief: u64, member: u64) -> Result<String, String> {
    let agents = env.json(&["agent", "--all", "--json"])?;
    let all = agents.as_array().into_iter().flatten();
    let ours = all.rev().find(|agent| agent["brief"] == brief && agent["member"] == member);
    let name = ours.and_then(|agent| agent["name"].as_str());
    name.map(str::to_owned).ok_or_else(|| format!("no agent worked on brief {brief}: {agents}"))
}

/// The failed tool calls of an agent, each with the response.
fn refusals(env: &DemoEnv, agent: &str) -> Result<Vec<(String, String)>, String> {
    let log = env.json(&["agent", "log", agent, "--all", "--json"])?;
    let failed = log.as_array().into_iter().flatten().filter(|entry| entry["status"] == "failed");
    let parts = |entry: &Value| {
        let text = entry["text"].as_str().unwrap_or_default();
        let (what, said) = text.split_once('\n').unwrap_or((text, ""));
        (what.to_owned(), said.to_owned())
    };
    Ok(failed.map(parts).collect())
}

fn cut(text: &str, max: usize) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    if line.chars().count() <= max { line.to_owned() } else { line.chars().take(max - 1).chain(['…']).collect() }
}

/// Checks out every commit on MAIN's first-parent history, and runs the check on it.
fn prove(env: &DemoEnv) -> Result<(), String> {
    let commits = env.git(&["log", "--first-parent", "--reverse", "--format=%H %s", "main"])?;
    let (tree, index) = (env.root().join("proof"), env.root().join("proof.index"));
    for line in commits.lines() {
        let (commit, subject) = line.split_once(' ').unwrap_or((line, ""));
        let _ = fs::remove_dir_all(&tree);
        let _ = fs::remove_file(&index);
        fs::create_dir(&tree).map_err(|error| error.to_string())?;
        Program::new("git", seconds(20))
            .directory(env.repository())
            .env("GIT_INDEX_FILE", index.display().to_string())
            .args([&format!("--work-tree={}", tree.display()), "read-tree", "--reset", "-u", commit])
            .output()?;
        Program::new("sh", seconds(30)).directory(&tree).args(["check.sh"]).output()?;
        eprintln!("  {}  {}", commit.get(..12).unwrap_or(commit), shortened(subject));
    }
    fail_if(commits.lines().count() != BRIEFS.len() + 1, &format!("eight landings were expected:\n{commits}"))
}
