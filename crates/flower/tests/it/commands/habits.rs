//! What a person types out of habit: no name inside a worktree, `#9` for 9, one thaw after a halt, a profile that is not there.

use super::landing::typed;
use crate::agents::stage::profile;
use crate::common::work::{inside_ok, new, prepare, put, says, tree};
use crate::common::{Flower, eventually};
use serde_json::json;

fn served() -> Flower {
    let flower = Flower::new();
    prepare(&flower);
    flower
}

#[test]
fn the_worktree_is_the_one_of_the_working_directory() {
    let flower = served();
    new(&flower, "price", &[]);
    inside_ok(&flower, "price", "mkdir deep; echo 1 > deep/one; git add .; git commit --quiet --message 'Add one'");
    let deep = tree(&flower, "price").join("deep");
    for args in [&["worktree", "show"][..], &["worktree", "sync"]] {
        let shown = flower.json_in(&deep, args);
        assert!(shown["name"] == "price" || shown["worktree"]["name"] == "price" || shown["name"] == json!("price"));
    }
    let path = flower.run_in(&deep, &["worktree", "path"]);
    assert_eq!(path.stdout.trim(), tree(&flower, "price").canonicalize().unwrap().to_str().unwrap());
    assert_eq!(flower.run_in(&deep, &["worktree", "shell", "--", "cat", "deep/one"]).stdout, "1\n");
    assert!(flower.run_in(&deep, &["diff"]).stdout.contains("deep/one"));
    let sent = flower.run_in(&deep, &["comment", "deep/one:1", "why one?"]);
    assert_eq!(sent.code, 0, "{sent:?}");
    assert_eq!(flower.json_in(&deep, &["comment"])[0]["text"], "why one?");
    assert_eq!(flower.run_in(&deep, &["comment", "deep/one:1"]).code, 2, "the text is missing");
    // Inside the seal the environment names it.
    let inside = inside_ok(&flower, "price", "test -n \"$FLOWER_WORKTREE\" && echo $FLOWER_WORKTREE");
    assert_eq!(inside, "price");

    // Another project than that of the directory.
    flower.make_repository("other");
    flower.json_in(&flower.dir().join("other"), &["up"]);
    let wrong = flower.run_in(&deep, &["land", "--project", "other", "--json"]).error(2);
    says(&wrong["message"], "worktree `price` of project `repo`");

    let landed = flower.run_in(&deep, &["land", "--wait"]);
    assert_eq!(landed.code, 0, "{landed:?}");
    // MAIN's own directory is no worktree.
    for args in [&["land"][..], &["diff"], &["comment"], &["worktree", "show"], &["worktree", "remove"]] {
        let missing = flower.fails(args, 2);
        says(&missing["message"], "no worktree is named");
        says(&missing["hints"][0], "`flower worktree`");
    }
}

#[test]
fn a_number_may_have_its_sign_and_the_queue_shows_one_landing() {
    let flower = served();
    flower.ok(&["brief", "new", "Dark mode"]);
    assert_eq!(flower.json(&["brief", "show", "#1"])["number"], 1);
    assert_eq!(flower.json(&["brief", "new", "Child", "--needs", "#1"])["depends_on"], json!([1]));
    new(&flower, "w", &["--brief", "#1"]);
    inside_ok(&flower, "w", "echo 1 > one; git add .; git commit --quiet --message 'Add one'");
    flower.ok(&["freeze"]);
    flower.ok(&["land", "w"]);
    assert_eq!(flower.json(&["queue", "1"]), flower.json(&["queue", "show", "#1"]));
    assert_eq!(flower.fails(&["queue", "9"], 3)["kind"], "not_found");
    let wrong = flower.fails(&["brief", "show", "#"], 2);
    says(&wrong["message"], "such as `9` or `#9`");
    says(&flower.fails(&["queue", "--limit", "0"], 2)["message"], "at least 1");
}

#[test]
fn one_thaw_lifts_a_halt_and_all_thaws_what_was_frozen() {
    let flower = served();
    let other = flower.make_repository("other");
    flower.json_in(&other, &["up"]);
    let third = flower.make_repository("third");
    flower.json_in(&third, &["up"]);
    for dir in [&flower.repo, &other, &third] {
        flower.json_in(dir, &["main"]);
    }
    flower.json_in(&third, &["freeze", "release week"]);
    assert_eq!(flower.json(&["halt", "smoke"])["halted"], json!(["other", "repo", "third"]));
    let thawed = flower.json(&["thaw"]);
    assert_eq!(thawed["state"], "stable");
    says(&thawed["notes"].as_array().unwrap().last().unwrap().clone(), "the halt is lifted in other");
    assert_eq!(flower.json_in(&other, &["main"])["state"], "stable");
    // A freeze by hand is no halt: its reason outlives both.
    assert_eq!(flower.json_in(&third, &["main"])["reason"], "release week");
    assert_eq!(flower.json(&["thaw", "--all"]), json!({ "thawed": ["third"] }));
    assert_eq!(flower.ok(&["thaw", "--all"]), "no project is frozen\n");
}

#[test]
fn a_dispatch_to_an_agent_that_cannot_run_is_refused_and_a_stuck_one_is_shown() {
    let flower = served();
    put(&flower, &flower.home.join("config.toml"), profile("play", &[], ""));
    for title in ["One", "Two"] {
        let spec = flower.file("spec.md", "# Spec\n");
        flower.ok(&["brief", "new", title, "--spec", &spec]);
    }
    flower.ok(&["brief", "accept", "1"]);
    flower.ok(&["brief", "accept", "2"]);
    let unknown = flower.fails(&["dispatch", "1", "--agent", "nonsense"], 3);
    says(&unknown["message"], "there is no agent profile `nonsense`");
    assert!(!unknown["hints"].to_string().contains("did you mean"), "{unknown}");
    says(&flower.fails(&["dispatch", "1", "--agent", "pley"], 3)["hints"][0], "did you mean `play`?");
    put(
        &flower,
        &flower.home.join("config.toml"),
        profile("play", &[], "") + "\n[agents.gone]\nprotocol = \"pty\"\ncommand = [\"no-such-program\"]\n",
    );
    let missing = flower.fails(&["dispatch", "1", "--agent", "gone"], 1);
    says(&missing["message"], "`gone` cannot run here: `no-such-program`");
    assert_eq!(flower.json(&["dispatch"]), json!([]), "nothing was recorded");

    // Its program disappears while it waits.
    flower.ok(&["freeze"]);
    flower.ok(&["dispatch", "1", "--agent", "play"]);
    put(&flower, &flower.home.join("config.toml"), "");
    says(&json!(flower.ok(&["dispatch"])), "dispatch 1 cannot start: there is no agent profile `play`");
    let item = eventually("the inbox shows it", || {
        let items = flower.json(&["inbox"]);
        items.as_array().unwrap().iter().find(|item| item["cause"] == "dispatch_stuck").cloned()
    });
    says(&item["text"], "dispatch 1 cannot start");
    assert_eq!((&item["in_project"], &item["brief"]), (&json!("repo"), &json!(1)));
    assert!(flower.ok(&["inbox"]).contains("project repo"));
}

#[test]
fn uncommitted_changes_are_shown_as_they_are_now() {
    let flower = served();
    new(&flower, "w", &[]);
    assert_eq!(flower.run(&["diff", "w", "--uncommitted"]).stderr, "worktree `w` has no uncommitted changes\n");
    inside_ok(&flower, "w", "echo changed > README.md; mkdir new; echo 1 > new/one; ln -s /etc/passwd link");
    // A program that the worktree's attributes name does not run, and a pipe does not block.
    inside_ok(&flower, "w", "echo '*.md diff=x filter=x' > .gitattributes; mkfifo pipe; git init --quiet nested");
    let here = tree(&flower, "w");
    let patch = flower.run_in(&here, &["diff", "--uncommitted"]);
    assert_eq!(patch.code, 0, "{patch:?}");
    for words in [
        "-hello\n+changed\n",
        "+++ b/new/one\n@@ -0,0 +1 @@\n+1\n",
        "new file mode 120000",
        "+/etc/passwd",
        ".gitattributes",
    ] {
        assert!(patch.stdout.contains(words), "{words}: {}", patch.stdout);
    }
    assert!(!patch.stdout.contains("root:") && !patch.stdout.contains("b/pipe"), "{}", patch.stdout);
    assert!(flower.ok(&["diff", "w", "--uncommitted", "--stat"]).contains("new/one | 1 + (untracked)"));
    let page = flower.api("GET", "/api/worktrees/w/diff?project=repo&uncommitted=true").send();
    assert_eq!(page.text(), patch.stdout);
    assert_eq!(flower.ok(&["diff", "w"]), "", "nothing is committed");
}

#[test]
fn a_worktree_that_exists_is_named_and_opens_in_the_editor() {
    let mut flower = served();
    new(&flower, "w", &[]);
    let again = flower.fails(&["worktree", "new", "w"], 4);
    says(&again["message"], "worktree `w` exists already");
    says(&again["hints"][0], "flower worktree shell w");
    let seen = flower.dir().join("seen");
    flower.env("VISUAL", "false");
    put(&flower, &flower.home.join("config.toml"), format!("editor = \"pwd > {} && true\"\n", seen.display()));
    let opened = flower.json(&["worktree", "open", "w"]);
    assert_eq!(opened["path"], flower.json(&["worktree", "path", "w"])["path"]);
    assert_eq!(std::fs::read_to_string(&seen).unwrap().trim(), opened["path"].as_str().unwrap());
    flower.env("FLOWER_EDITOR", "no-such-editor");
    let missing = flower.run(&["worktree", "open", "w"]);
    assert_eq!(missing.code, 1, "{missing:?}");
    assert!(missing.stderr.contains("the editor `no-such-editor` failed: it was not found\n  hint: name another"));
}

#[test]
fn up_says_what_matters_and_opens_this_project() {
    let flower = Flower::new();
    flower.git(&flower.repo, &["switch", "--quiet", "--create", "feature"]);
    flower.git(&flower.repo, &["config", "commit.gpgSign", "true"]);
    flower.git(&flower.repo, &["config", "core.hooksPath", ".husky"]);
    let text = flower.ok(&["up"]);
    for words in [
        "repo is MAIN now: only landings change it. Work in a worktree: `flower worktree new NAME`",
        "! no checks are configured",
        "propose some: `flower init`",
        "git switch main",
        ".husky",
        "not signed",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let other = flower.make_repository("other");
    let up = flower.json_in(&other, &["up"]);
    assert!(up["open_url"].as_str().unwrap().contains("/?project=other#open="), "{up}");
    assert_eq!(up["notices"][0]["kind"], "no_checks");
    // The inbox shows at once what waits for the operator from the start.
    let unborn = flower.dir().join("unborn");
    flower.git(flower.dir(), &["init", "--quiet", "unborn"]);
    let said = flower.run_in(&unborn, &["up"]).stdout;
    assert!(said.contains("has no commits yet") && said.contains("git commit -m \"first\""), "{said}");
    let clone = flower.make_repository("clone");
    std::fs::write(clone.join("flower.toml"), "[checks]\ntest = { run = \"true\" }\n").unwrap();
    flower.git(&clone, &["add", "--all"]);
    flower.git(&clone, &["commit", "--quiet", "--message", "checks"]);
    let said = flower.run_in(&clone, &["up"]).stdout;
    assert!(said.contains("is not approved yet") && said.contains("`flower project approve clone`"), "{said}");
    flower.run_in(&clone, &["project", "approve", "--yes"]);
    assert!(!flower.run_in(&clone, &["up"]).stdout.contains("approve"));
    let bare = flower.dir().join("bare.git");
    flower.git(flower.dir(), &["init", "--quiet", "--bare", "bare.git"]);
    assert!(flower.run_in(&bare, &["up"]).stdout.contains("this repository is bare"));
    says(&flower.run_in(&bare, &["brief", "new", "x", "--json"]).error(1)["message"], "is a bare repository");
}

#[test]
fn doctor_shows_what_is_wrong_and_counts_the_rest() {
    let flower = served();
    let quiet = flower.ok(&["doctor"]);
    assert!(quiet.starts_with("✓ all ") && quiet.contains("`flower doctor --all` shows them"), "{quiet}");
    let all = flower.json(&["doctor"]).as_array().unwrap().len();
    assert_eq!(flower.ok(&["doctor", "--all"]).lines().count(), all);
    let config = flower.home.join("config.toml");
    std::fs::write(&config, "[agents.mine]\nprotocol = \"telepathy\"\ncommand = [\"true\"]\n").unwrap();
    let output = flower.run(&["doctor"]);
    let why = "profile `mine`: `protocol`: unknown variant `telepathy`, expected `acp` or `pty`\n";
    assert!(output.code == 1 && output.stdout.contains(why), "{output:?}");
    std::fs::remove_file(&config).unwrap();
    std::fs::remove_dir_all(&flower.repo).unwrap();
    let output = flower.run_in(flower.dir(), &["doctor"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stdout.starts_with("✗ repository"), "{output:?}");
    assert!(output.stdout.contains("other checks found nothing wrong"), "{output:?}");
    std::fs::create_dir(&flower.repo).unwrap();
}

#[test]
fn small_answers_say_what_happened() {
    let flower = served();
    let spec = flower.file("spec.md", "# Spec\r\n\r\nOne.\r\n");
    flower.ok(&["brief", "new", "Dark mode", "--kind", "epic", "--spec", &spec]);
    assert!(flower.ok(&["brief", "accept", "1"]).contains("version 1 of the plan is accepted"));
    let same = flower.ok(&["brief", "refine", "1", "--spec", &spec]);
    assert!(same.contains("the text is the same: the spec stays at version 1"), "{same}");
    assert_eq!(flower.json(&["brief", "refine", "1", "--spec", &spec])["spec"]["version"], 1);
    flower.fails(&["brief", "refine", "1", "--spec", &spec, "--base", "7"], 4);
    let other = flower.file("other.md", "# Spec\n\nTwo.\n");
    let refined = flower.ok(&["brief", "refine", "1", "--spec", &other]);
    assert!(refined.contains("the spec is at version 2; next: `flower brief accept 1`"), "{refined}");
    for title in ["Editor", "Printing"] {
        flower.ok(&["brief", "new", title, "--epic", "1"]);
    }
    let page = flower.ok(&["brief", "show", "1"]);
    assert!(page.contains("Briefs of this epic: 0 of 2 are landed or done\n    #2 Editor draft\n"), "{page}");
    says(&flower.fails(&["search", " "], 2)["message"], "nothing to search for");

    let spec = flower.file("spec.md", "# Editor\n");
    flower.ok(&["brief", "plan", "2", "--spec", &spec]);
    flower.ok(&["brief", "accept", "2"]);
    flower.ok(&["dispatch", "2"]);
    flower.ok(&["dispatch", "cancel", "1", "no agent here"]);
    assert!(flower.ok(&["dispatch", "show", "1"]).contains("because    no agent here"));
}

#[test]
fn a_landing_is_named_after_its_newest_commit_and_its_worker() {
    let flower = served();
    put(&flower, &flower.repo.join(".git/info/exclude"), ".env\n");
    put(&flower, &flower.repo.join(".env"), "API_KEY=sk-canary-1234567\nURL=http://localhost\n");
    new(&flower, "w", &[]);
    let commit = |text: &str, message: &str| {
        let script = format!("echo {text} > one; git add one; git commit --quiet --message '{message}'");
        inside_ok(&flower, "w", &script);
    };
    commit("1", "Add one");
    commit("2", "Change one");
    inside_ok(&flower, "w", "echo left > left; echo more >> README.md");
    let landed = flower.run(&["land", "w", "--wait"]);
    assert_eq!(landed.code, 0, "{landed:?}");
    says(&json!(landed.stderr), "left in `w`: README.md, left");
    assert_eq!(flower.json(&["queue", "show", "1"])["title"], "Change one");

    new(&flower, "leak", &[]);
    inside_ok(&flower, "leak", "echo sk-canary-1234567 > key; git add key; git commit --quiet --message 'Add key'");
    flower.run(&["land", "leak", "--wait"]);
    let rejected = flower.json(&["queue", "show", "2"]);
    says(&rejected["reason"], "`API_KEY` of MAIN's `.env`, in `key`");
    inside_ok(&flower, "leak", "git rm --quiet key; echo 1 > x; git add x; git commit --quiet --message 'Remove key'");
    flower.run(&["land", "leak", "--wait"]);
    says(&flower.json(&["queue", "show", "3"])["reason"], "in `key` of the older commit");
    assert!(!flower.json(&["trace"]).to_string().contains("sk-canary"));
}

#[test]
fn the_demo_plays_its_story_without_a_home_a_key_or_a_leftover() {
    let mut flower = Flower::of_ordinary_user().unwrap_or_else(Flower::new);
    let temporary = flower.dir().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    flower.give(&temporary);
    flower.env("TMPDIR", temporary.to_str().unwrap());
    let played = flower.run_in(flower.dir(), &["demo", "--no-wait"]);
    assert_eq!(played.code, 0, "{}", played.stderr);
    for words in ["whole: 8 landings", "MAIN's page was requested", "ten attacks that came to nothing"] {
        assert!(played.stderr.contains(words), "{words}: {}", played.stderr);
    }
    assert!(!flower.home.exists(), "the operator's home is not used");
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0, "nothing is left");
}

#[test]
fn a_spec_comes_from_an_option_or_the_editor() {
    let flower = served();
    assert_eq!(flower.json(&["brief", "new", "Dark", "-m", "# Dark\n"])["spec"]["markdown"], "# Dark\n");
    let missing = flower.fails(&["brief", "plan", "1"], 2);
    says(&missing["hints"][0], "`-m TEXT`");
    assert_eq!(flower.fails(&["brief", "refine", "1"], 2)["kind"], "usage");
    let append = [("VISUAL", "sh -c 'echo more >> \"$0\"'")];
    let edited = typed(&flower, &flower.repo, &["brief", "refine", "1"], &append, "");
    assert_eq!(edited.code, 0, "{edited:?}");
    assert_eq!(flower.json(&["brief", "show", "1"])["spec"]["markdown"], "# Dark\nmore\n");
    let same = typed(&flower, &flower.repo, &["brief", "refine", "1"], &[("VISUAL", "true")], "");
    assert!(same.stdout.contains("the spec stays at version 2"), "{same:?}");
    let empty = typed(&flower, &flower.repo, &["brief", "refine", "1"], &[("VISUAL", "truncate -s 0")], "");
    assert_eq!(empty.code, 2, "{empty:?}");
    typed(&flower, &flower.repo, &["brief", "new", "Light", "--edit"], &append, "");
    assert_eq!(flower.json(&["brief", "show", "2"])["spec"]["markdown"], "# Light\n\nmore\n");
}

#[test]
fn long_output_goes_through_the_pager_of_a_terminal() {
    let flower = served();
    let long: String = (0..300).map(|n| format!("line {n}\n")).collect();
    flower.ok(&["brief", "new", "Long", "-m", &long]);
    flower.ok(&["brief", "new", "Short", "-m", "short\n"]);
    let pager = [("PAGER", "sed s/^/paged:/")];
    let shown = |number: &'static str, more: &[&str]| {
        let line = [&["brief", "show", number], more].concat();
        typed(&flower, &flower.repo, &line, &pager, "").stdout
    };
    // The terminal of a test has no size of its own.
    let program = flower.command(&[]).get_program().to_owned();
    let script = format!("stty rows 40 cols 120; '{}' brief show 1", program.to_str().unwrap());
    let mut terminal = std::process::Command::new("script");
    flower.in_own_environment(terminal.current_dir(&flower.repo));
    terminal.args(["--quiet", "--return", "--command", &script, "/dev/null"]).env("TERM", "xterm");
    terminal.env("PAGER", "sed s/^/paged:/").stdin(std::process::Stdio::null());
    let paged = String::from_utf8(terminal.output().unwrap().stdout).unwrap();
    assert!(paged.contains("paged:  line 299"), "{paged}");
    assert!(!shown("2", &[]).contains("paged:"));
    assert!(!shown("1", &["--no-pager"]).contains("paged:"));
    assert!(!flower.ok(&["brief", "show", "1"]).contains("paged:"), "no terminal, no pager");
}

#[test]
fn completions_know_the_names_that_exist() {
    let flower = served();
    new(&flower, "price", &[]);
    flower.ok(&["brief", "new", "Dark mode"]);
    assert_eq!(flower.ok(&["complete", "--", "land"]), "price\n");
    assert_eq!(flower.ok(&["complete", "--", "brief", "show"]), "1\n");
    assert!(flower.ok(&["complete", "--", "dispatch", "1", "--agent"]).contains("claude\n"));
    assert_eq!(flower.ok(&["complete", "--", "status", "--project"]), "repo\n");
    assert_eq!(flower.ok(&["complete", "--", "status"]), "");
    flower.ok(&["down"]);
    assert_eq!(flower.ok(&["complete", "--", "land"]), "", "no daemon is started");
    let bash = flower.file("completions.bash", flower.ok(&["completions", "bash"]));
    let program = flower.command(&[]).get_program().to_str().unwrap().to_owned();
    flower.start();
    let script = format!(
        "flower() {{ '{program}' \"$@\"; }}; source '{bash}'; COMP_WORDS=(flower land ''); COMP_CWORD=2; \
         _flower_live flower '' land; echo \"${{COMPREPLY[*]}}\""
    );
    let mut shell = std::process::Command::new("bash");
    let output = flower.in_own_environment(shell.args(["-c", &script]).current_dir(&flower.repo)).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("price"), "{output:?}");
}
