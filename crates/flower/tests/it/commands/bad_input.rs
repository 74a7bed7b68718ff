//! Bad input: each gets a clear no with a next step, the right code, and changes nothing.

use super::with_briefs;
use crate::common::finish;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

#[test]
fn bad_input_is_refused_with_a_next_step_and_changes_nothing() {
    let flower = with_briefs(&["one", "two"]);
    let plan = flower.file("plan.md", "plan");
    flower.ok(&["brief", "plan", "1", "--spec", &plan]);
    let refined = flower.file("refined.md", "refined");
    flower.ok(&["brief", "refine", "1", "--spec", &refined, "--base", "1"]);
    let long = "x".repeat(10_000);
    let note = "x".repeat(64 * 1024 + 1);
    let empty = flower.file("empty.md", "");
    let blank = flower.file("blank.md", " \n\t\n");
    let just_too_long = flower.file("long.md", "x".repeat(1024 * 1024 + 1));
    let five_megabytes = flower.file("large.md", "x".repeat(5_000_000));
    let bidi = flower.file("bidi.md", "fine\nnot \u{202e}enif");
    let control = flower.file("control.md", "bell\u{7}");
    let binary = flower.file("binary.md", b"fine \xff\xfe\x00");
    let folder = flower.dir().to_str().unwrap().to_owned();
    let missing = format!("{folder}/missing.md");
    let before = (flower.events(), flower.ok(&["log", "export"]));
    let table: &[(&[&str], i32, &str, &str)] = &[
        (&["brief", "new", ""], 2, "invalid", "empty"),
        (&["brief", "new", "  \t "], 2, "invalid", "empty"),
        (&["brief", "new", &long], 2, "invalid", "10000 characters; 200 are allowed"),
        (&["brief", "new", "red \u{1b}[31m"], 2, "invalid", "U+001B in line 1, column 5"),
        (&["brief", "new", "two\nlines"], 2, "invalid", "U+000A"),
        (&["brief", "new", "gnp.\u{202e}exe"], 2, "invalid", "U+202E"),
        (&["brief", "new", "\u{2066}x"], 2, "invalid", "U+2066"),
        (&["brief", "new", "x", "--kind", "wish"], 2, "usage", "choose one of"),
        (&["brief", "new", "x", "--needs", "99"], 3, "not_found", "no brief 99"),
        (&["brief", "new", "x", "--epic", "99"], 3, "not_found", "no brief 99"),
        (&["brief", "new", "x", "--epic", "1"], 1, "refused", "not an epic"),
        (&["brief", "new", "x", "--spec", &just_too_long], 2, "invalid", "1048577 bytes; 1048576 are allowed"),
        (&["brief", "new", "x", "--spec", &five_megabytes], 2, "invalid", "the spec has 5000000 bytes"),
        (&["brief", "new", "x", "--spec", &missing], 3, "not_found", "missing.md"),
        (&["brief", "edit", "1", "--title", &long], 2, "invalid", "10000"),
        (&["brief", "plan", "2", "--spec", &empty], 2, "invalid", "empty"),
        (&["brief", "plan", "2", "--spec", &blank], 2, "invalid", "empty"),
        (&["brief", "plan", "2", "--spec", &five_megabytes], 2, "invalid", "the spec has 5000000 bytes"),
        (&["brief", "plan", "2", "--spec", &bidi], 2, "invalid", "U+202E in line 2, column 5"),
        (&["brief", "plan", "2", "--spec", &control], 2, "invalid", "U+0007 in line 1, column 5"),
        (&["brief", "plan", "2", "--spec", &binary], 2, "invalid", "is not UTF-8: invalid byte at position 5"),
        (&["brief", "plan", "2", "--spec", &folder], 2, "usage", "directory"),
        (&["brief", "plan", "99", "--spec", &plan], 3, "not_found", "no brief 99"),
        (&["brief", "plan", "0", "--spec", &plan], 3, "not_found", "no brief 0"),
        (&["brief", "refine", "1", "--spec", &plan, "--base", "1"], 4, "conflict", "at version 2, not 1"),
        (&["brief", "refine", "1", "--spec", &plan, "--why", &long], 2, "invalid", "reason"),
        (&["brief", "accept", "99"], 3, "not_found", "no brief 99"),
        (&["brief", "accept", "2"], 1, "refused", "no spec"),
        (&["brief", "diff", "2"], 3, "not_found", "spec of brief 2"),
        (&["brief", "status", "1", "finished"], 2, "usage", "choose one of"),
        (&["brief", "status", "1", "DRAFT"], 2, "usage", "did you mean `draft`"),
        (&["brief", "status", "99", "parked"], 3, "not_found", "no brief 99"),
        (&["brief", "--status", "finished"], 2, "usage", "choose one of"),
        (&["brief", "needs", "1", "1"], 1, "refused", "1 → 1"),
        (&["brief", "needs", "1", "99"], 3, "not_found", "no brief 99"),
        (&["brief", "edit", "1", "--epic", "1"], 1, "refused", "not an epic"),
        (&["brief", "note", "1", ""], 2, "invalid", "empty"),
        (&["brief", "note", "1", &note], 2, "invalid", "65537 bytes; 65536 are allowed"),
        (&["brief", "note", "99", "x"], 3, "not_found", "no brief 99"),
        (&["brief", "ask", "1", "  "], 2, "invalid", "empty"),
        (&["brief", "answer", "1", "1", "x"], 3, "not_found", "no question 1"),
        (&["brief", "link", "1", "wish", "x"], 2, "usage", "choose one of"),
        (&["brief", "trace", "99"], 3, "not_found", "no brief 99"),
        (&["scratchpad", "new", ""], 2, "invalid", "empty"),
        (&["scratchpad", "new", "x", "--brief", "99"], 3, "not_found", "no brief 99"),
        (&["scratchpad", "write", "99", &plan], 3, "not_found", "no scratchpad 99"),
        (&["token", "new", "--agent", "a/b"], 2, "invalid", "no name"),
        (&["brief", "new", "x", "--project", "nowhere"], 3, "not_found", "no project"),
        (&["brief", "new", "x", "--project", "../repo"], 3, "not_found", "no project"),
    ];
    for (args, code, kind, says) in table {
        let shown: Vec<String> = args.iter().map(|arg| arg.chars().take(40).collect()).collect();
        let error = flower.fails(args, *code);
        assert_eq!(error["kind"], *kind, "{shown:?}: {error}");
        assert!(
            error["message"].as_str().is_some_and(|m| m.contains(says)),
            "{shown:?} does not say {says:?}: {error}"
        );
        let text = flower.run(args);
        assert_eq!((text.code, text.stdout.as_str()), (*code, ""), "{shown:?} in text");
        assert!(text.stderr.contains("  hint: ") || text.stderr.contains("try '--help'"), "{shown:?}: {text:?}");
        assert!(!text.stderr.contains('\u{1b}') && text.stderr.len() < 2_000, "{shown:?} throws it back: {text:?}");
    }
    assert_eq!((flower.events(), flower.ok(&["log", "export"])), before, "nothing is lost or changed");
}

#[test]
fn arguments_that_are_no_text_are_refused() {
    let flower = with_briefs(&["one"]);
    let before = flower.events();
    for args in [&["brief", "new"][..], &["brief", "note", "1"], &["search"], &["brief", "edit", "1", "--title"]] {
        let mut command = flower.command(args);
        command.arg(OsStr::from_bytes(b"not \xff text")).arg("--json");
        let error = finish(command).error(2);
        assert!(error["message"].as_str().is_some_and(|m| m.contains("UTF-8")), "{args:?}: {error}");
    }
    assert_eq!(flower.events(), before);
}

#[test]
fn a_large_spec_is_refused_in_the_same_words_every_time() {
    let flower = with_briefs(&["one"]);
    let text = "x".repeat(12_000_000);
    let file = flower.file("large.md", &text);
    // More than is read at all. An answer that comes while it is still being sent is easily lost.
    for _ in 0..6 {
        assert_eq!(flower.fails(&["brief", "plan", "1", "--spec", &file], 2)["kind"], "too_large");
    }
    let piped = flower.run_with_input(&["brief", "plan", "1", "--spec", "-", "--json"], text.as_bytes());
    assert_eq!(piped.error(2)["kind"], "too_large");
    let over_tcp = flower.api("POST", "/api/briefs/1/plan").json(&serde_json::json!({ "markdown": text })).send();
    assert_eq!((over_tcp.status, over_tcp.kind().as_str()), (413, "too_large"));
    let largest = flower.file("largest.md", "\n\"".repeat(512 * 1024 - 1) + "x");
    assert_eq!(flower.json(&["brief", "plan", "1", "--spec", &largest])["spec"]["version"], 1, "what is allowed works");
}
