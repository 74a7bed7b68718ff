//! The part of the demo that is about landing: four streams of work come to MAIN, one of them broken, one in conflict; the
//! daemon is killed in the middle. At the end every commit of MAIN's history is checked once more, from git alone.

use std::fs;

use crate::run::{Program, seconds};
use crate::stage::{Stage, refuse};

/// What every version of the shop must pass: each page closes what it opens.
pub(crate) const CHECK: &str = "#!/bin/sh\n# Every page closes what it opens.\nsleep 0.5\nfor page in *.html; do\n    grep -q '</' \"$page\" || { echo \"$page is not closed\"; exit 1; }\ndone\n";
pub(crate) const SETTINGS: &str = "[checks]\npages = { run = \"sh check.sh\", timeout = \"1m\" }\n";

pub(crate) fn play(stage: &mut Stage) -> Result<(), String> {
    stage.scene("Four streams of work come to MAIN through its queue; the daemon is killed in the middle");
    let began = stage.git_quiet(&["rev-parse", "HEAD"])?;
    stage.flower("operator", &["project", "approve", "--yes"])?;
    for worktree in ["roses", "broken", "clash"] {
        stage.flower("operator", &["worktree", "new", worktree])?;
    }
    commit(stage, "roses", "echo '<h1>Flowers and roses</h1>' > index.html", "Roses on the front page")?;
    commit(stage, "broken", "echo '<p>tulips' > tulips.html", "Tulips")?;
    commit(stage, "clash", "echo '<h1>Flowers for sale</h1>' > index.html", "A better headline")?;
    for worktree in ["price", "roses", "broken", "clash"] {
        stage.flower("operator", &["land", worktree])?;
    }
    stage.flower("operator", &["queue"])?;
    stage.kill_daemon()?;
    stage.start_daemon()?;
    stage.until_queue_is_empty()?;
    stage.flower("operator", &["queue", "--all"])?;

    stage.scene("What was kept out is told why, mended, and lands");
    let state = |stage: &Stage, worktree: &str| -> Result<String, String> {
        let all: serde_json::Value =
            serde_json::from_str(&stage.quiet(&["queue", "--all", "--json"])?).map_err(|error| error.to_string())?;
        let newest = all.as_array().into_iter().flatten().find(|landing| landing["worktree"] == worktree);
        Ok(newest.and_then(|landing| landing["state"].as_str()).unwrap_or("absent").to_owned())
    };
    for (worktree, expected) in
        [("price", "landed"), ("roses", "landed"), ("broken", "rejected"), ("clash", "rejected")]
    {
        let found = state(stage, worktree)?;
        refuse(found != expected, &format!("`{worktree}` is {found} instead of {expected}"))?;
    }
    stage.flower("operator", &["queue", "log", "3"])?;
    commit(stage, "broken", "echo '<p>tulips</p>' > tulips.html", "Tulips, closed")?;
    stage.flower("operator", &["land", "broken", "--wait"])?;
    stage.refused("operator", 4, &["worktree", "sync", "clash"])?;
    let settle = "git merge --quiet origin/main || echo '<h1>Flowers and roses for sale</h1>' > index.html";
    commit(stage, "clash", settle, "Both headlines in one")?;
    stage.flower("operator", &["land", "clash", "--wait"])?;

    stage.scene("The proof: every commit on MAIN's first-parent history passes its check");
    stage.git(&["log", "--graph", "--oneline", "main"])?;
    stage.flower("operator", &["main", "log"])?;
    stage.flower("operator", &["main", "verify"])?;
    prove(stage, began.trim())?;
    refuse(!stage.git_quiet(&["status", "--porcelain"])?.is_empty(), "MAIN's files have changed")?;
    stage.flower("operator", &["main"])
}

/// Checks out every commit that landed, and runs the check on it.
fn prove(stage: &Stage, began: &str) -> Result<(), String> {
    let range = format!("{began}..main");
    let commits = stage.git_quiet(&["log", "--first-parent", "--reverse", "--format=%H %s", &range])?;
    refuse(commits.lines().count() != 4, &format!("four landings were expected:\n{commits}"))?;
    let dir = stage.root().join("proof");
    for line in commits.lines() {
        let (commit, subject) = line.split_once(' ').unwrap_or((line, ""));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir(&dir).map_err(|error| error.to_string())?;
        let work_tree = format!("--work-tree={}", dir.display());
        let index = stage.root().join("proof.index");
        let _ = fs::remove_file(&index);
        Program::new("git", seconds(20))
            .directory(stage.repository())
            .env("GIT_INDEX_FILE", index.display().to_string())
            .args([work_tree.as_str(), "read-tree", "--reset", "-u", commit])
            .output()?;
        Program::new("sh", seconds(30)).directory(&dir).args(["check.sh"]).output()?;
        eprintln!("  {} passes: {subject}", &commit[..12]);
    }
    Ok(())
}

fn commit(stage: &Stage, worktree: &str, work: &str, message: &str) -> Result<(), String> {
    let script =
        format!("{{ {work}; }} && git add . && git commit --quiet --message '{message}' && git log --oneline -1");
    stage.flower("operator", &["worktree", "shell", worktree, "--", "sh", "-c", &script])
}
