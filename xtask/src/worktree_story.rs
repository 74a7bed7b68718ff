//! The part of the demo that is about worktrees: two sealed ones, work in each, attacks on MAIN, one removed and restored.

use crate::stage::{Stage, refuse};

/// What an agent that means harm would try, as shell commands; `MAIN` is MAIN's directory.
const ATTACKS: [(&str, &str); 10] = [
    ("write a file of MAIN", "echo owned > MAIN/index.html"),
    ("delete it", "rm MAIN/index.html"),
    ("rename it", "mv MAIN/index.html MAIN/gone.html"),
    ("hard-link it into the worktree", "ln MAIN/index.html here.html"),
    ("change MAIN's permissions", "chmod 777 MAIN"),
    ("move MAIN's branch", "echo 'ref: refs/heads/owned' > MAIN/.git/HEAD"),
    ("delete MAIN's objects", "rm -r MAIN/.git/objects/* && test -z \"$(ls MAIN/.git/objects)\""),
    ("plant a hook", "mkdir -p MAIN/.git/hooks && echo id > MAIN/.git/hooks/post-commit"),
    ("push to MAIN", "git push --quiet MAIN HEAD:main"),
    ("make .git lead elsewhere", "rm -f .git && git init --quiet ."),
];

/// Whether it could be played: some machines cannot seal.
pub(crate) fn play(stage: &Stage) -> Result<bool, String> {
    stage.scene("Two streams of work, each sealed from MAIN and from each other");
    if let Some(missing) = cannot_seal(stage)? {
        eprintln!("\nThis machine cannot seal worktrees, so this part is left out: {missing}");
        return Ok(false);
    }
    stage.flower("operator", &["worktree", "new", "price", "--brief", "2"])?;
    stage.flower("operator", &["worktree", "new", "cart", "--lane"])?;
    commit(stage, "price", "echo '<p>9.90 EUR</p>' > price.html", "Show the price")?;
    commit(stage, "cart", "echo '<p>your cart</p>' > cart.html", "A cart")?;
    stage.flower("operator", &["worktree"])?;
    stage.git(&["log", "--oneline", "--graph", "--all", "--not", "--glob=refs/flower/*"])?;

    stage.scene("Ten attacks on MAIN from inside: the kernel refuses each");
    let before = stage.git_quiet(&["rev-parse", "HEAD"])?;
    for (what, attack) in ATTACKS {
        stage.attack("price", what, attack)?;
    }
    refuse(stage.git_quiet(&["rev-parse", "HEAD"])? != before, "MAIN has moved")?;
    refuse(!stage.git_quiet(&["status", "--porcelain"])?.is_empty(), "MAIN's files have changed")?;
    stage.git(&["fsck", "--no-progress", "--no-dangling"])?;
    eprintln!("MAIN is as it was.");

    stage.scene("A worktree is removed and brought back, with everything that was not committed");
    let shell = ["worktree", "shell", "price", "--", "sh", "-c", "echo 'ask about tax' > notes.txt"];
    stage.flower("operator", &shell)?;
    stage.flower("operator", &["worktree", "remove", "price"])?;
    stage.flower("operator", &["worktree", "restore", "price"])?;
    stage.flower("operator", &["worktree", "shell", "price", "--", "cat", "notes.txt", "price.html"])?;
    stage.flower("operator", &["worktree", "remove", "cart"])?;
    stage.until_removed("cart")?;
    stage.flower("operator", &["worktree", "archive"])?;
    let notes = stage.quiet(&["worktree", "shell", "price", "--", "cat", "notes.txt"])?;
    refuse(notes.trim() != "ask about tax", "what was not committed did not come back")?;
    stage.flower("operator", &["doctor"])?;
    Ok(true)
}

fn commit(stage: &Stage, worktree: &str, work: &str, message: &str) -> Result<(), String> {
    let script = format!("{work} && git add . && git commit --quiet --message '{message}' && git log --oneline -1");
    stage.flower("operator", &["worktree", "shell", worktree, "--", "sh", "-c", &script])
}

/// Why worktrees cannot be sealed here, if so.
fn cannot_seal(stage: &Stage) -> Result<Option<String>, String> {
    let findings: serde_json::Value = serde_json::from_str(&stage.quiet_whatever(&["doctor", "--json"])?)
        .map_err(|error| format!("no JSON: {error}"))?;
    let jail = findings.as_array().into_iter().flatten().find(|finding| finding["check"] == "jail");
    Ok(jail.filter(|jail| jail["state"] != "ok").map(|jail| jail["evidence"].as_str().unwrap_or_default().to_owned()))
}
