//! Agents in a terminal for those who are not at it: what they print, what they leave, and why their work was refused.

use crate::agent_bounds::stage::{Stage, play, shell};
use crate::common::guide::{config, terminal_profiles};
use crate::common::skip::skip;
use crate::common::work::{put, says};
use crate::common::{Flower, eventually};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

#[test]
fn the_output_is_read_while_it_runs_and_afterwards() {
    let script = "printf '\\033[32mreading\\033[0m the brief\\r\\n'; printf '10%%\\r90%%\\r'; echo 'all of it'
        printf 'continue? '; while [ ! -e go ]; do sleep 0.05; done; rm go; echo; echo the end";
    let stage = Stage::new(&(play("play", &[], "") + &shell("term", "pty", script, "")));
    let work = stage.plays("term", "Prints", "say nothing");
    let name = stage.agent_of(work);
    stage.hears(&name, "\"output\": reading the brief");
    stage.hears(&name, "continue?");
    let log = stage.ok(&["agent", "log", &name]);
    assert!(log.contains("reading the brief") && log.contains("all of it") && !log.contains("10%"), "{log}");
    assert!(!log.contains('\u{1b}'), "{log:?}");
    // Without a terminal of the reader's own.
    let following = {
        let mut command = stage.command(&["agent", "log", &name, "--follow"]);
        command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::piped());
        command.spawn().expect("flower runs")
    };
    let tree = stage.shown_dispatch(work)["worktree"].as_str().expect("a worktree").to_owned();
    fs::write(stage.worktree(&tree).join("go"), "").expect("a file");
    let followed = following.wait_with_output().expect("it ends with the agent");
    let followed = String::from_utf8_lossy(&followed.stdout).into_owned();
    assert!(followed.contains("the end") && followed.contains("exit code 0"), "{followed}");
    stage.becomes(&name, "stopped");
    let log = stage.ok(&["agent", "log", &name]);
    for words in ["reading the brief", "all of it", "continue?", "the end"] {
        assert!(log.contains(words), "{words}: {log}");
    }
}

#[test]
fn litter_stays_and_commits_count() {
    let script = "echo x > done.txt; git add done.txt; git commit -qm done; echo y > litter.tmp";
    let stage = Stage::new(&(play("play", &[], "") + &shell("term", "pty", script, "")));
    let work = stage.plays("term", "Litter", "say nothing");
    stage.lands(work);
    let name = stage.agent_of(work);
    assert_eq!(stage.agent(&name)["restarts"], 0);
    says(&stage.shown_dispatch(work)["result"]["summary"], "left in the worktree: `litter.tmp`");
    says(&json!(stage.said(&name)), "left in the worktree: `litter.tmp`");
}

#[test]
fn a_file_of_lfs_whose_content_did_not_change_is_committed() {
    let is_installed = Command::new("git-lfs").arg("version").output().is_ok_and(|out| out.status.success());
    if !is_installed {
        return skip("git-lfs is missing");
    }
    let flower = Flower::new();
    flower.git(&flower.repo, &["lfs", "install", "--local", "--skip-repo"]);
    put(&flower, &flower.repo.join(".gitattributes"), "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    let script = "printf content > a.bin; git add a.bin; git commit -qm done
        while [ ! -e go ]; do sleep 0.05; done; rm go";
    let stage = Stage::of(flower, &(play("play", &[], "") + &shell("term", "pty", script, "")));
    let work = stage.plays("term", "Large", "say nothing");
    let (name, tree) = (stage.agent_of(work), stage.shown_dispatch(work)["worktree"].as_str().expect("one").to_owned());
    eventually("the commit comes out", || {
        let shown = stage.run(&["worktree", "show", &tree, "--json"]).stdout;
        let shown: Value = serde_json::from_str(&shown).unwrap_or_default();
        (shown["ahead"] == 1 && shown["dirty"] == false).then_some(())
    });
    let file = stage.worktree(&tree).join("a.bin");
    fs::remove_file(&file).expect("a file");
    fs::write(&file, "content").expect("the same content");
    fs::write(stage.worktree(&tree).join("go"), "").expect("a file");
    stage.lands(work);
    assert_eq!(stage.agent(&name)["restarts"], 0);
}

/// What is not committed of tracked files, or without any commit, is work that was forgotten. The next run is told.
#[test]
fn the_reason_of_a_refusal_is_in_the_next_prompt() {
    let script = "if grep -q 'your work was not taken' \"$1\"; then grep 'not committed' \"$1\"
        git add -A; git commit -qm mended; else echo x > new.txt; fi";
    let profile = format!(
        "[agents.term]\nprotocol = \"pty\"\ncommand = [\"sh\", \"-c\", '''\n{script}''', \"term\", \"{{prompt_file}}\"]\n"
    );
    let stage = Stage::new(&(play("play", &[], "") + &profile));
    let work = stage.plays("term", "Forgets", "say nothing");
    stage.lands(work);
    let name = stage.agent_of(work);
    assert_eq!(stage.agent(&name)["restarts"], 1);
    let printed = stage.texts(&name, "output").concat();
    assert!(printed.contains("something is not committed: `new.txt`"), "{}", stage.said(&name));
}

/// The profiles of terminal agents in the guide, as they stand there, with a program of the same name that does what its options
/// say.
#[test]
fn the_profiles_of_the_guide_start_their_programs() {
    let agents = &terminal_profiles();
    assert!(agents.len() >= 3, "{agents:?}");
    let mut flower = Flower::new();
    let bin = flower.dir().join("bin");
    fs::create_dir(&bin).expect("a folder");
    for (name, profile) in agents {
        assert_eq!(profile["protocol"].as_str(), Some("pty"), "{name}");
        let program = profile["command"][0].as_str().expect("a program");
        // The prompt is one of the arguments: a file, or the text itself.
        let script = format!(
            "#!/bin/sh\nfor word; do\nif [ -f \"$word\" ]; then word=$(cat \"$word\"); fi\n\
             case \"$word\" in 'flower: agent='*) found=$word ;; esac\ndone\n\
             if [ -z \"$found\" ]; then echo \"no prompt: $*\"; exit 9; fi\n\
             echo {program} reads its prompt\necho \"$found\" | head -1 > {program}.txt\ngit add {program}.txt\n\
             git commit -qm {program}\n"
        );
        fs::write(bin.join(program), script).expect("a program");
        fs::set_permissions(bin.join(program), fs::Permissions::from_mode(0o755)).expect("it can be run");
        for key in profile.get("env").and_then(toml::Value::as_array).into_iter().flatten() {
            flower.env(key.as_str().expect("a variable"), "a-key-for-a-test");
        }
    }
    let path = std::env::var("PATH").expect("a path");
    flower.env("PATH", &format!("{}:{path}", bin.display()));
    let stage = Stage::of(flower, &(play("play", &[], "") + &config(agents)));
    for (name, profile) in agents {
        let brief = stage.brief(name, "say nothing").to_string();
        stage.ok(&["dispatch", &brief, "--agent", name]);
        eventually(&format!("brief {brief} of {name} lands"), || {
            (stage.get(&format!("/api/briefs/{brief}"))["status"] == "landed").then_some(())
        });
        let program = profile["command"][0].as_str().expect("a program");
        let first = fs::read_to_string(stage.repo.join(format!("{program}.txt"))).expect("it has landed");
        assert!(first.starts_with("flower: agent="), "{first}");
    }
}
