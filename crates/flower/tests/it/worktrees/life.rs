//! From `new` to the commits that come out: what both sides see of one worktree.

use super::*;
use crate::common::{Flower, eventually};
use serde_json::json;

#[test]
fn every_field_of_the_contract_is_there() {
    let flower = with_one(&["--lane"]);
    let listed = &flower.json(&["worktree"])[0];
    let shown = show(&flower, "one");
    for one in [listed, &shown] {
        assert_eq!(one["name"], "one");
        assert_eq!(one["branch"], "flower/one");
        assert_eq!(one["path"], tree(&flower, "one").canonicalize().unwrap().to_str().unwrap());
        assert_eq!((&one["sort"], &one["seal"]), (&json!("lane"), &json!("sealed")));
        assert_eq!((&one["secrets"], &one["protection"]), (&json!("keyless"), &json!("kernel")));
        assert_eq!((&one["agents"], &one["briefs"]), (&json!([]), &json!([])));
        assert_eq!((&one["ahead"], &one["behind"], &one["dirty"]), (&json!(0), &json!(0), &json!(false)));
        assert_eq!((&one["state"], &one["notes"]), (&json!("ready"), &json!([])));
        assert!(one.get("site").is_some(), "{one}");
    }
    let path = flower.ok(&["worktree", "path", "one"]);
    assert_eq!(path, format!("{}\n", shown["path"].as_str().unwrap()));
    // What people read has the same in it.
    let page = flower.ok(&["worktree"]) + &flower.ok(&["worktree", "show", "one"]);
    for word in ["one", "ready", "sealed", "clean", "flower/one"] {
        assert!(page.contains(word), "{word}: {page}");
    }
    new(&flower, "two", &["--linked"]);
    let two = show(&flower, "two");
    assert_eq!((&two["sort"], &two["seal"]), (&json!("ephemeral"), &json!("linked")));
    assert_eq!(two["protection"], "watched");
    says(&two["protection_reason"], "can write MAIN");
    assert_eq!(flower.fails(&["worktree", "show", "three"], 3)["kind"], "not_found");
    assert_eq!(flower.fails(&["worktree", "new", "one"], 4)["kind"], "conflict");
}

#[test]
fn commits_come_out_when_the_shell_ends() {
    for seal in ["--sealed", "--linked"] {
        let flower = with_one(&[seal]);
        let dir = tree(&flower, "one");
        let listed = git(&flower, &flower.repo, &["worktree", "list", "--porcelain"]);
        assert!(listed.contains(&format!("worktree {}\n", dir.canonicalize().unwrap().display())), "{listed}");
        assert!(listed.contains("branch refs/heads/flower/one"), "{listed}");
        assert_eq!(git(&flower, &dir, &["status", "--porcelain"]), "");

        inside_ok(&flower, "one", "echo more >> README.md; echo new > new.txt");
        assert_eq!(git(&flower, &dir, &["status", "--porcelain"]), "M README.md\n?? new.txt".replace("M ", " M "));
        assert!(git(&flower, &dir, &["diff"]).contains("+more"), "{seal}");
        assert_eq!(show(&flower, "one")["dirty"], true);
        let head = inside_ok(&flower, "one", "git add -A; git commit -qm first; git rev-parse HEAD");
        assert_eq!(git(&flower, &flower.repo, &["rev-parse", "flower/one"]), head, "{seal}");
        assert_eq!(git(&flower, &dir, &["status", "--porcelain"]), "", "{seal}");
        assert_eq!(git(&flower, &dir, &["diff"]) + &git(&flower, &dir, &["diff", "--cached"]), "", "{seal}");
        assert_eq!(git(&flower, &dir, &["log", "-1", "--format=%an %ae %s"]), "Tester tester@example.com first");
        let one = show(&flower, "one");
        assert_eq!((&one["ahead"], &one["behind"], &one["dirty"]), (&json!(1), &json!(0), &json!(false)));
        assert_main_is_whole(&flower);
    }
}

#[test]
fn history_that_is_rewritten_inside_is_rewritten_outside_and_the_old_is_kept() {
    let flower = with_one(&[]);
    let dir = tree(&flower, "one");
    let commit = |script: &str| inside_ok(&flower, "one", &format!("{script}; git rev-parse HEAD"));
    let first = commit("echo 1 > a; git add a; git commit -qm first");
    let amended = commit("echo 2 > a; git commit -qam amended --amend");
    assert_ne!(first, amended);
    assert_eq!(git(&flower, &flower.repo, &["rev-parse", "flower/one"]), amended);
    assert_eq!(git(&flower, &dir, &["status", "--porcelain"]), "");
    commit("echo b > b; git add b; git commit -qm second");
    let dropped = commit("echo c > c; git add c; git commit -qm third");
    let rebased = commit("git rebase -q --onto HEAD~2 HEAD~1");
    assert_eq!(git(&flower, &flower.repo, &["rev-parse", "flower/one"]), rebased);
    assert_eq!(git(&flower, &dir, &["status", "--porcelain"]), "");
    assert!(!dir.join("b").exists() && dir.join("c").exists());
    for old in [&first, &dropped] {
        let kept = format!("refs/flower/keep/one/{old}");
        assert_eq!(git(&flower, &flower.repo, &["rev-parse", &kept]), *old);
    }
    assert_main_is_whole(&flower);
}

#[test]
fn the_scripted_agent_begins_at_the_given_step() {
    let flower = served();
    let first = git(&flower, &flower.repo, &["rev-parse", "HEAD"]);
    flower.git(&flower.repo, &["tag", "-a", "v1", "-m", "annotated"]);
    commit_in_main(&flower, "second.txt", "2");
    flower.git(&flower.repo, &["branch", "side/track"]);
    let second = commit_in_main(&flower, "third.txt", "3");
    let begun = |name: &str, from: &str| {
        new(&flower, name, &["--from", from]);
        git(&flower, &tree(&flower, name), &["rev-parse", "HEAD"])
    };
    assert_eq!(begun("tag", "v1"), first);
    assert_eq!(begun("branch", "side/track"), git(&flower, &flower.repo, &["rev-parse", "HEAD~1"]));
    assert_eq!(begun("commit", &first), first);
    assert_eq!(begun("short", &first[..8]), first);
    assert_eq!(begun("relative", "main~1"), git(&flower, &flower.repo, &["rev-parse", "HEAD~1"]));
    new(&flower, "none", &[]);
    assert_eq!(git(&flower, &tree(&flower, "none"), &["rev-parse", "HEAD"]), second);
    let tag = show(&flower, "tag");
    assert_eq!((&tag["base"], &tag["behind"], &tag["ahead"]), (&json!(first), &json!(2), &json!(0)));
    assert_eq!(inside_ok(&flower, "tag", "git log --format=%s; git status --porcelain; ls"), "begin\nREADME.md");
}

#[test]
fn the_brief_tells_the_whole_story() {
    let flower = served();
    flower.ok(&["brief", "new", "Dark mode"]);
    let one = new(&flower, "one", &["--brief", "1"]);
    assert_eq!(one["briefs"], json!([1]));
    remove(&flower, "one");
    flower.ok(&["worktree", "restore", "one"]);
    let trace = flower.json(&["brief", "trace", "1"]);
    let kinds = trace.as_array().unwrap().iter().filter_map(|event| event["kind"].as_str());
    let kinds: Vec<&str> = kinds.filter(|kind| kind.starts_with("worktree_")).collect();
    let expected = [
        "worktree_requested",
        "worktree_created",
        "worktree_removing",
        "worktree_removed",
        "worktree_restoring",
        "worktree_restored",
    ];
    assert_eq!(kinds, expected);
    assert_eq!(flower.fails(&["worktree", "new", "two", "--brief", "9"], 3)["kind"], "not_found");
    assert!(!tree(&flower, "two").exists());
}

#[test]
fn a_shell_hands_on_words_input_and_how_it_ended() {
    for seal in ["--sealed", "--linked"] {
        let flower = with_one(&[seal]);
        for code in [0, 1, 7, 125, 255] {
            assert_eq!(inside(&flower, "one", &format!("exit {code}")).code, code, "{seal}");
        }
        assert_eq!(inside(&flower, "one", "kill -TERM $$").code, 128 + 15, "{seal}");
        let missing = flower.run(&["worktree", "shell", "one", "--", "no-such-program"]);
        assert!([3, 127].contains(&missing.code), "{missing:?}");
        let odd = ["a b", "", "$(id)", "`id`", "'\"\\", "--json", "-h", "*", "ü\n\t", "--"];
        let args = [&["worktree", "shell", "one", "--", "printf", "<%s>"], &odd[..]].concat();
        let expected: String = odd.iter().map(|word| format!("<{word}>")).collect();
        assert_eq!(flower.run(&args).stdout, expected, "{seal}");
        let input: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
        let piped = flower.run_with_input(&["worktree", "shell", "one", "--", "sha256sum"], &input);
        let expected = flower_core::chain::sha256(&input);
        assert_eq!(piped.stdout, format!("{expected}  -\n"), "{seal}");
        let output = inside(&flower, "one", "echo out; echo err >&2");
        assert_eq!(output.stdout, "out\n");
        assert!(output.stderr.ends_with("err\n"), "{output:?}");
        assert_eq!(inside_ok(&flower, "one", "pwd -P"), show(&flower, "one")["path"].as_str().unwrap());
    }
}

#[test]
fn processes_inside_end_with_their_shell() {
    let flower = with_one(&[]);
    // A length of sleep by which it is found among all processes.
    let mark = format!("8700.{}", std::process::id());
    let begin = format!("setsid sh -c 'echo > begun; exec sleep {mark}' >/dev/null 2>&1 &");
    inside_ok(&flower, "one", &format!("{begin} until test -e begun; do sleep 0.01; done"));
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let commands = processes.filter_map(|process| std::fs::read_to_string(process.path().join("cmdline")).ok());
    let left: Vec<String> = commands.filter(|command| command.contains(&mark)).collect();
    assert_eq!(left, [""; 0], "something inside outlives its shell");
    remove(&flower, "one");
}

#[test]
fn processes_inside_end_with_the_command() {
    let flower = with_one(&[]);
    let mut running = Running::inside(&flower, "one");
    let jails = children(running.0.id());
    assert_eq!(jails.len(), 1);
    running.0.kill().unwrap();
    running.0.wait().unwrap();
    eventually("the jail ends", || (!Path::new(&format!("/proc/{}/exe", jails[0])).exists()).then_some(()));
    remove(&flower, "one");
}

#[test]
fn a_branch_that_is_gone_inside_is_said() {
    let flower = with_one(&[]);
    inside_ok(&flower, "one", "git branch -m renamed; echo x > x; git add x; git commit -qm x");
    let one = show(&flower, "one");
    says(&one["notes"], "inside there is no branch `flower/one` any more");
    inside_ok(&flower, "one", "git branch -m flower/one");
    let one = show(&flower, "one");
    assert_eq!((&one["ahead"], &one["notes"]), (&json!(1), &json!([])));
}

#[test]
fn worktrees_of_one_name_in_two_projects_are_two() {
    let flower = with_one(&[]);
    let other = flower.make_repository("elsewhere/repo");
    assert_eq!(flower.json_in(&other, &["init"])["name"], "repo-2");
    let second = flower.json_in(&other, &["worktree", "new", "one"]);
    assert_ne!(second["path"], show(&flower, "one")["path"]);
    inside_ok(&flower, "one", "touch mine");
    let theirs = flower.json_in(&other, &["worktree", "show", "one"]);
    assert_eq!((&theirs["dirty"], &theirs["project"]), (&json!(false), &json!("repo-2")));
    let nowhere = flower.run_in(flower.dir(), &["worktree", "show", "one", "--json"]).error(2);
    says(&nowhere["hints"], "--project");
    flower.json_in(&other, &["worktree", "remove", "one"]);
    eventually("it is gone", || (!std::path::Path::new(second["path"].as_str().unwrap()).exists()).then_some(()));
    assert_eq!(show(&flower, "one")["state"], "ready");
}

#[test]
fn a_worktree_survives_the_daemon() {
    let flower = with_one(&[]);
    inside_ok(&flower, "one", "echo x > x; git add x; git commit -qm x; echo y > y");
    flower.restart();
    let one = show(&flower, "one");
    assert_eq!((&one["state"], &one["ahead"], &one["dirty"]), (&json!("ready"), &json!(1), &json!(true)));
    assert_eq!(inside_ok(&flower, "one", "cat y"), "y");
}

#[test]
fn of_many_at_once_each_is_made() {
    let flower = served();
    let names: Vec<String> = (0..6).map(|n| format!("w{n}")).collect();
    std::thread::scope(|scope| {
        for name in &names {
            let flower: &Flower = &flower;
            scope.spawn(move || new(flower, name, &[]));
        }
    });
    assert_eq!(flower.json(&["worktree"]).as_array().map(Vec::len), Some(6));
    // Of several that want the same name, one gets it.
    let made = std::thread::scope(|scope| {
        let tries: Vec<_> =
            (0..4).map(|_| scope.spawn(|| flower.run(&["worktree", "new", "same", "--json"]))).collect();
        tries.into_iter().map(|attempt| attempt.join().unwrap().code).collect::<Vec<_>>()
    });
    assert_eq!(made.iter().filter(|code| **code == 0).count(), 1, "{made:?}");
    assert!(made.iter().all(|code| [0, 4].contains(code)), "{made:?}");
    assert_eq!(show(&flower, "same")["state"], "ready");
    std::thread::scope(|scope| {
        for name in &names {
            let flower: &Flower = &flower;
            scope.spawn(move || flower.ok(&["worktree", "remove", name]));
        }
    });
    let kept = settled(&flower);
    assert_eq!(kept.as_array().map(Vec::len), Some(6));
    assert_main_is_whole(&flower);
}
