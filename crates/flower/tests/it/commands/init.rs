//! `flower init`: what it proposes, tries and lands.

use super::landing::{name_author, typed};
use crate::common::{Flower, Output};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// A repository whose sort flower knows, without a flower.toml.
fn bare_of_settings() -> (Flower, PathBuf) {
    let flower = Flower::started();
    let repo = flower.make_repository("made");
    name_author(&flower, &repo);
    fs::write(repo.join("Makefile"), "test:\n\ttrue\n").unwrap();
    flower.git(&repo, &["add", "."]);
    flower.git(&repo, &["commit", "--quiet", "--message", "made"]);
    (flower, repo)
}

#[test]
fn init_proposes_settings_and_lands_them_when_it_may() {
    let (flower, repo) = bare_of_settings();
    let quiet = flower.run_in(&repo, &["init", "--no-settings"]);
    assert_eq!((quiet.code, quiet.stderr.as_str()), (0, ""), "{quiet:?}");
    let shown = flower.run_in(&repo, &["init", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&shown.stdout).unwrap()["name"], "made");
    for part in ["Makefile: a target `test`", "run = \"make test\"", "`flower init --yes`"] {
        assert!(shown.stderr.contains(part), "{part}: {shown:?}");
    }
    assert!(!repo.join("flower.toml").exists());
    assert_eq!(flower.json_in(&repo, &["queue", "--all"]), json!([]), "nothing is landed unasked");

    let landed = flower.run_in(&repo, &["init", "--yes", "--json"]);
    assert_eq!((landed.code, landed.stderr.as_str()), (0, ""), "{landed:?}");
    assert_eq!(serde_json::from_str::<Value>(&landed.stdout).unwrap()["name"], "made");
    assert!(fs::read_to_string(repo.join("flower.toml")).unwrap().contains("make test"));
    assert_eq!(flower.json_in(&repo, &["queue", "show", "1"])["state"], "landed");
    assert_eq!(flower.json_in(&repo, &["project", "approve"])["approved"], true, "its landing was an approval");
    let again = flower.run_in(&repo, &["init", "--yes"]);
    assert_eq!((again.code, again.stderr.as_str()), (0, ""), "there is nothing more to say: {again:?}");

    // One that came with the repository is not approved yet.
    let theirs = flower.make_repository("theirs");
    fs::write(theirs.join("flower.toml"), "[checks]\ntest = { run = \"true\" }\n").unwrap();
    flower.git(&theirs, &["add", "."]);
    flower.git(&theirs, &["commit", "--quiet", "--message", "settings"]);
    let reminded = flower.run_in(&theirs, &["init"]);
    assert!(reminded.code == 0 && reminded.stderr.contains("`flower project approve theirs`"), "{reminded:?}");

    // Before the first commit it is a project all the same.
    let empty = flower.dir().join("empty");
    fs::create_dir(&empty).unwrap();
    flower.git(&empty, &["init", "--quiet", "--initial-branch", "main"]);
    assert_eq!(flower.json_in(&empty, &["init"])["name"], "empty");
}

#[test]
fn in_a_terminal_init_asks_and_opens_an_editor() {
    let (flower, repo) = bare_of_settings();
    let no = typed(&flower, &repo, &["init"], &[], "n\n");
    assert!(
        no.stdout.contains("land this flower.toml? [y/N/t(ry)/e(dit)]") && no.stdout.contains("nothing was landed"),
        "{no:?}"
    );
    assert_eq!(flower.json_in(&repo, &["queue", "--all"]), json!([]));
    let editor = ("EDITOR", "sed -i 's/make test/make -s test/'");
    let yes = typed(&flower, &repo, &["init"], &[editor], "e\ny\n");
    assert_eq!(yes.code, 0, "{yes:?}");
    assert!(yes.stdout.contains("flower.toml has landed as"), "{yes:?}");
    assert!(fs::read_to_string(repo.join("flower.toml")).unwrap().contains("\"make -s test\""));
}

/// A repository with these files, which is no project yet.
fn repository(flower: &Flower, name: &str, files: &[(&str, &str)]) -> PathBuf {
    let repo = flower.make_repository(name);
    name_author(flower, &repo);
    for (path, text) in files {
        fs::create_dir_all(repo.join(path).parent().unwrap()).unwrap();
        fs::write(repo.join(path), text).unwrap();
    }
    flower.git(&repo, &["add", "."]);
    flower.git(&repo, &["commit", "--quiet", "--allow-empty", "--message", "files"]);
    repo
}

fn landings(flower: &Flower, repo: &Path) -> usize {
    flower.json_in(repo, &["queue", "--all"]).as_array().unwrap().len()
}

fn error_of(output: &Output, part: &str) {
    assert!(output.code == 1 && output.stderr.contains(part), "{part}: {output:?}");
}

#[test]
fn the_proposal_is_printed_alone_and_taken_up_once_it_lies_in_main() {
    let flower = Flower::started();
    let repo = repository(&flower, "made", &[("Makefile", "test:\n\ttest ! -e broken\n")]);
    let printed = flower.run_in(&repo, &["init", "--print"]);
    assert_eq!((printed.code, printed.stderr.as_str()), (0, ""), "{printed:?}");
    assert!(printed.stdout.starts_with("# How flower handles") && printed.stdout.contains("make test"), "{printed:?}");
    assert!(!printed.stdout.contains("is a project"), "{printed:?}");

    let own = printed.stdout.replace("make test", "make --silent test");
    fs::write(repo.join("flower.toml"), &own).unwrap();
    let shown = flower.run_in(&repo, &["init"]);
    assert!(shown.stderr.contains("lies in its folder") && shown.stderr.contains("make --silent test"), "{shown:?}");
    assert_eq!(landings(&flower, &repo), 0);
    let landed = flower.run_in(&repo, &["init", "--yes", "--try"]);
    assert_eq!(landed.code, 0, "{landed:?}");
    assert!(landed.stderr.contains("`test` passes in"), "{landed:?}");
    assert_eq!(fs::read_to_string(repo.join("flower.toml")).unwrap(), own);
    assert_eq!(flower.json_in(&repo, &["main"])["state"], "stable");
    assert_eq!(flower.json_in(&repo, &["queue", "show", "1"])["state"], "landed");

    // A proposal is still to be had, and another file takes the place of the one that has landed.
    assert_eq!(flower.run_in(&repo, &["init", "--print"]).stdout, printed.stdout);
    let file = flower.file("other.toml", "[checks]\nother = { run = \"true\" }\n");
    let replaced = flower.run_in(&repo, &["init", "--file", &file, "--yes"]);
    assert_eq!(replaced.code, 0, "{replaced:?}");
    assert!(fs::read_to_string(repo.join("flower.toml")).unwrap().contains("other ="));
    let absent = flower.run_in(&repo, &["init", "--file", "absent.toml", "--json"]);
    assert_eq!(absent.error(2)["kind"], "usage");
}

#[test]
fn a_file_that_is_taken_up_and_does_not_land_stays_in_main() {
    let flower = Flower::started();
    let repo = repository(&flower, "made", &[("Makefile", "test:\n\ttrue\n")]);
    let own = "[checks]\ntest = { run = \"false\" }\n[land]\nretries = 0\n";
    fs::write(repo.join("flower.toml"), own).unwrap();
    let rejected = flower.run_in(&repo, &["init", "--yes"]);
    assert_eq!(rejected.code, 1, "{rejected:?}");
    assert_eq!(flower.json_in(&repo, &["queue", "show", "1"])["state"], "rejected");
    assert_eq!(fs::read_to_string(repo.join("flower.toml")).unwrap(), own);
    assert_eq!(flower.json_in(&repo, &["main"])["state"], "stable");
    // Mended there, it is taken up again, and its landing makes it a file of git's.
    let mended = own.replace("false", "true");
    fs::write(repo.join("flower.toml"), &mended).unwrap();
    let landed = flower.run_in(&repo, &["init", "--yes"]);
    assert_eq!(landed.code, 0, "{landed:?}");
    assert_eq!(fs::read_to_string(repo.join("flower.toml")).unwrap(), mended);
    assert_eq!(crate::common::work::git(&flower, &repo, &["status", "--porcelain"]), "");
}

#[test]
fn a_trial_says_why_a_check_fails_and_lands_nothing() {
    let flower = Flower::started();
    let red = repository(&flower, "red", &[("Makefile", "test:\n\tno-such-runner --all\n")]);
    for args in [&["init", "--try"][..], &["init", "--try", "--yes"]] {
        let tried = flower.run_in(&red, args);
        error_of(&tried, "the check `test` fails now, because `no-such-runner` is neither installed");
        error_of(&tried, "this would mend it: ");
        error_of(&tried, "run = \"make test\"");
    }
    assert_eq!((landings(&flower, &red), red.join("flower.toml").exists()), (0, false));
    let error = flower.run_in(&red, &["init", "--try", "--json"]).error(1);
    assert!(error["hints"][0].as_str().is_some_and(|hint| hint.starts_with("this would mend it")), "{error}");

    // Nothing of the trial is left in MAIN, and its network is closed.
    let text = "test:\n\ttouch trace; getent hosts localhost; ! getent hosts example.org\n";
    let green = repository(&flower, "green", &[("Makefile", text)]);
    let tried = flower.run_in(&green, &["init", "--try"]);
    assert!(tried.code == 0 && tried.stderr.contains("`test` passes in"), "{tried:?}");
    assert_eq!((landings(&flower, &green), green.join("trace").exists()), (0, false));
    let asked = typed(&flower, &green, &["init"], &[], "t\nn\n");
    assert!(asked.stdout.contains("passes in") || asked.stdout.contains("passed before"), "{asked:?}");
    assert!(asked.stdout.contains("nothing was landed"), "{asked:?}");
    // An agent can neither try commands nor read their output.
    let agent = flower.json(&["token", "new", "--agent", "rose"])["token"].as_str().unwrap().to_owned();
    let body = json!({ "text": "[checks]\ntest = { run = \"true\" }\n" });
    for (method, path) in [("POST", "try"), ("GET", "try"), ("DELETE", "try"), ("GET", "try/test/log")] {
        let address = format!("/api/main/settings/{path}?project=green");
        assert_eq!(flower.request(method, &address).token(&agent).json(&body).send().status, 403, "{method} {path}");
    }
}

#[test]
fn a_file_without_checks_does_not_land_by_accident() {
    let flower = Flower::started();
    let repo = repository(&flower, "unknown", &[]);
    let shown = flower.run_in(&repo, &["init"]);
    assert!(shown.code == 0 && shown.stderr.contains("NOTHING IS CHECKED"), "{shown:?}");
    assert!(shown.stderr.contains("test = { run = \"make test\", timeout = \"10m\" }"), "{shown:?}");
    let printed = flower.run_in(&repo, &["init", "--print"]);
    assert!(printed.code == 0 && printed.stderr.contains("NOTHING IS CHECKED"), "{printed:?}");
    for args in [&["init", "--yes"][..], &["init", "--yes", "--try"]] {
        error_of(&flower.run_in(&repo, args), "the proposed flower.toml has no checks");
    }
    error_of(&flower.run_in(&repo, &["init", "--try"]), "nothing was tried, because this flower.toml has no checks");
    let asked = typed(&flower, &repo, &["init"], &[], "y\n");
    assert!(asked.stdout.contains("edit this flower.toml? [N/e(dit)]") && asked.stdout.contains("nothing was landed"));
    assert_eq!(landings(&flower, &repo), 0);
    // On purpose it does, and each further `init` says what is missing.
    let file = flower.file("own.toml", "[land]\nhistory = \"squash\"\n");
    let landed = flower.run_in(&repo, &["init", "--file", &file, "--yes"]);
    assert!(landed.code == 0 && landed.stderr.contains("NOTHING IS CHECKED"), "{landed:?}");
    assert!(flower.run_in(&repo, &["init"]).stderr.contains("NOTHING IS CHECKED"));
}

#[test]
fn a_file_that_cannot_be_read_is_refused_at_once() {
    let flower = Flower::started();
    let repo = repository(&flower, "misspelt", &[]);
    let file = flower.file("own.toml", "[cheks]\n");
    for args in [&["init", "--file", &file][..], &["init", "--file", &file, "--try"]] {
        let refused = flower.run_in(&repo, args);
        error_of(&refused, "did you mean `checks`?");
        assert!(refused.stderr.contains("correct the file"), "{refused:?}");
    }
    fs::write(repo.join("flower.toml"), "[cheks]\n").unwrap();
    error_of(&flower.run_in(&repo, &["init"]), "correct flower.toml");
    assert_eq!(landings(&flower, &repo), 0);
}

#[test]
fn a_missing_program_is_named_before_anything_runs() {
    let flower = Flower::new();
    let repo =
        repository(&flower, "pnpm", &[("package.json", "{\"scripts\": {\"test\": \"true\"}}"), ("bun.lock", "{}")]);
    let mut up = flower.command(&["up"]);
    up.env("PATH", "/usr/bin:/bin");
    assert_eq!(crate::common::finish(up).code, 0);
    let shown = flower.run_in(&repo, &["init"]);
    assert!(shown.stderr.contains("`bun` is not installed; `npm install --global bun`"), "{shown:?}");
}
