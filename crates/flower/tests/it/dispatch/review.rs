//! Review: a comment on a line reaches the agent that can fix it, and stays for the next one.

use super::*;

const MAIN: (&str, &str) = ("src/app.txt", "one\ntwo\nthree\n");

/// An agent at work that has changed a line and added a file.
fn changed(flower: &Flower) -> Work {
    let work = at_work(flower, "Change");
    inside_ok(
        flower,
        &work.worktree,
        "printf 'one\\nTWO\\nthree\\n' > src/app.txt && echo new > src/new.txt && git add . && git commit --quiet -m change",
    );
    work
}

#[test]
fn a_comment_reaches_who_leads_the_work_and_is_told_once() {
    let flower = serving(&[MAIN]);
    let work = changed(&flower);
    let told = flower.ok(&["comment", &work.worktree, "src/app.txt:2", "Why shout?"]);
    assert_eq!(told, format!("sent to {}\n", work.agent));
    let all = flower.json(&["comment", &work.worktree]);
    assert_eq!(
        (&all[0]["file"], &all[0]["line"], &all[0]["side"], &all[0]["quote"], &all[0]["to"], &all[0]["heard_by"]),
        (&json!("src/app.txt"), &json!(2), &json!("new"), &json!("TWO"), &json!(work.agent), &json!([])),
        "{all}"
    );
    let mut agent = Http::start(&flower, Era::November2025, &work.token);
    let heard = agent.done("check_inbox", json!({}));
    for words in ["Review of `src/app.txt`, line 2", "TWO", "Why shout?"] {
        assert!(heard.contains(words), "{words}: {heard}");
    }
    assert!(agent.done("check_inbox", json!({})).starts_with("Nothing new."), "delivered once");
    assert_eq!(flower.json(&["comment", &work.worktree])[0]["heard_by"], json!([work.agent]));
    says(&json!(flower.ok(&["comment", &work.worktree])), &format!("read by {}", work.agent));
    // It belongs to the brief, and to the agent that continues it.
    let trace = flower.ok(&["brief", "trace", &work.brief.to_string()]);
    assert!(trace.contains("about src/app.txt:2: Why shout?"), "{trace}");
    let recall = flower.ok(&["brief", "show", &work.brief.to_string(), "--as-agent"]);
    assert!(recall.contains("Why shout?"), "{recall}");
}

#[test]
fn a_comment_reaches_the_agent_that_reserved_the_file() {
    let flower = serving(&[MAIN]);
    let work = changed(&flower);
    let (other, agent) = packet(&flower, work.dispatch, true);
    assert_eq!(as_agent(&flower, &other, &["lease", "take", "src/new.txt"]).code, 0);
    let comment = |place: &str| flower.json(&["comment", &work.worktree, place, "look"])["to"].clone();
    assert_eq!(comment("src/new.txt:1"), json!(agent));
    assert_eq!(comment("src/app.txt:1"), json!(work.agent));
}

#[test]
fn a_comment_without_an_agent_waits_for_the_next_one() {
    let flower = serving(&[MAIN]);
    new(&flower, "alone", &[]);
    inside_ok(
        &flower,
        "alone",
        "echo new > src/new.txt && git rm --quiet src/app.txt && git add . && git commit --quiet -m x",
    );
    let told = flower.ok(&["comment", "alone", "src/new.txt:1", "Good."]);
    says(&json!(told), "no agent works in `alone` now");
    let old = flower.json(&["comment", "alone", "src/app.txt:3", "Why is it gone?", "--old"]);
    assert_eq!((&old["side"], &old["quote"], &old["to"]), (&json!("old"), &json!("three"), &Value::Null), "{old}");
    let commits = call(&flower, &flower.token(), "GET", "/api/worktrees/alone/commits?project=repo", &json!({})).json();
    assert_eq!((commits.as_array().map(Vec::len), &commits[0]["title"]), (Some(1), &json!("x")), "{commits}");
    // They survive a rebuild of the tables.
    let before = flower.json(&["comment", "alone"]);
    flower.ok(&["log", "rebuild"]);
    assert_eq!(flower.json(&["comment", "alone"]), before);
}

#[test]
fn a_comment_without_a_valid_line_is_refused_with_a_hint() {
    let flower = serving(&[MAIN]);
    let work = changed(&flower);
    let refused = |place: &str, text: &str, code: i32| {
        flower.run(&["comment", &work.worktree, place, text, "--json"]).error(code)
    };
    says(&refused("src/app.txt", "x", 2)["message"], "`src/app.txt` is not FILE:LINE");
    says(&refused("src/app.txt:0", "x", 2)["message"], "has no line 0");
    says(&refused("src/app.txt:99", "x", 2)["hints"], "it has lines 1 to 3");
    for file in ["nothing.txt", "../app.txt", "/etc/passwd", "src", "src/", "", "src/app.txt\n"] {
        let message = &refused(&format!("{file}:1"), "x", 3)["message"];
        says(message, "has no file");
    }
    says(&refused("src/app.txt:1", " ", 2)["message"], "empty");
    refused("src/app.txt:1", &"x".repeat(9_000), 2);
    flower.run(&["comment", "nowhere", "src/app.txt:1", "x", "--json"]).error(3);
    assert_eq!(flower.json(&["comment", &work.worktree]), json!([]));
    let path = format!("/api/worktrees/{}/comments?project=repo", work.worktree);
    let body = json!({ "file": "src/app.txt", "line": 1, "text": "x" });
    assert_eq!(call(&flower, &work.token, "POST", &path, &body).status, 403, "agents do not review each other");
}

#[test]
fn a_comment_on_a_line_changed_since_is_refused() {
    let flower = serving(&[MAIN]);
    let work = changed(&flower);
    let path = format!("/api/worktrees/{}/comments?project=repo", work.worktree);
    let body = json!({ "file": "src/app.txt", "line": 2, "text": "Why shout?", "quote": "TWO" });
    let say = || call(&flower, &flower.token(), "POST", &path, &body);
    assert_eq!(say().status, 200);
    inside_ok(&flower, &work.worktree, "sed -i s/TWO/two/ src/app.txt && git commit --quiet -a -m calmer");
    let late = say();
    assert_eq!(late.status, 409, "{}", late.text());
    assert!(late.text().contains("line 2 of `src/app.txt` is another one by now"), "{}", late.text());
    assert_eq!(flower.json(&["comment", &work.worktree]).as_array().map(Vec::len), Some(1));
}

#[test]
fn context_lines_around_a_change_can_be_read() {
    let flower = serving(&[MAIN]);
    let work = changed(&flower);
    let read = |query: &str| {
        let answer = flower.api("GET", &format!("/api/worktrees/{}/file?{query}", work.worktree)).send();
        (answer.status, answer.text())
    };
    assert_eq!(read("file=src/app.txt"), (200, "one\nTWO\nthree\n".to_owned()));
    assert_eq!(read("file=src/app.txt&side=old"), (200, MAIN.1.to_owned()));
    // What is not of the branch is not read, however it is asked for.
    for file in ["src/new.txt&side=old", "src", "../../../etc/passwd", "/etc/passwd", ".git/config", ""] {
        let (status, text) = read(&format!("file={file}"));
        assert_eq!(status, 404, "{file}: {text}");
        assert!(text.contains("flower diff"), "{file}: {text}");
    }
    assert_eq!(read("").0, 400);
    inside_ok(&flower, &work.worktree, "truncate -s 9M large && git add . && git commit --quiet -m large");
    let (status, text) = read("file=large");
    assert_eq!(status, 413, "{text}");
    assert!(text.contains("`large` has more than 8 MB"), "{text}");
}
