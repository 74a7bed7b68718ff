//! What a landing changes, to be read before it is let in and long after.

use super::*;

fn diff(flower: &Flower, number: u64) -> String {
    flower.ok(&["queue", "diff", &number.to_string()])
}

fn file(flower: &Flower, number: u64, file: &str, side: &str) -> (u16, String) {
    let answer = flower.api("GET", &format!("/api/landings/{number}/file?file={file}&side={side}")).send();
    (answer.status, answer.text())
}

#[test]
fn a_landing_shows_what_it_changes_while_it_waits_and_after_its_worktree_is_gone() {
    let flower = serving(&[("src/app.txt", "one\ntwo\nthree\n"), GREEN]);
    flower.ok(&["freeze", "to look at it"]);
    change(&flower, "work", "src/app.txt", "one\nTWO\nthree\n");
    let waits = queue(&flower, "work", &[]);
    let shown = diff(&flower, waits);
    assert!(shown.contains("-two\n+TWO\n"), "{shown}");
    says(&json!(flower.ok(&["queue", "diff", &waits.to_string(), "--stat"])), "src/app.txt | 2 +-");
    assert_eq!(file(&flower, waits, "src/app.txt", "new"), (200, "one\nTWO\nthree\n".to_owned()));
    assert_eq!(file(&flower, waits, "src/app.txt", "old"), (200, "one\ntwo\nthree\n".to_owned()));
    let (status, text) = file(&flower, waits, "src/none.txt", "new");
    assert_eq!(status, 404, "{text}");
    says(&json!(text), &format!("landing {waits} has no file `src/none.txt`"));
    flower.ok(&["thaw"]);
    becomes(&flower, waits, "landed");
    eventually("its worktree is gone", || (!tree(&flower, "work").exists()).then_some(()));
    change(&flower, "later", "src/other.txt", "other\n");
    lands(&flower, "later");
    assert_eq!(diff(&flower, waits), shown, "what came later is no part of it");
    // The reverse has no worktree at all.
    let reverse = number(&flower.json(&["revert", &waits.to_string(), "--why", "x"]));
    becomes(&flower, reverse, "landed");
    assert!(diff(&flower, reverse).contains("-TWO\n+two\n"), "{}", diff(&flower, reverse));
    says(&flower.fails(&["queue", "diff", "99"], 3)["message"], "no landing 99");
}

#[test]
fn a_conflicting_landing_is_shown_as_its_branch_has_it() {
    let flower = serving(&[("a.txt", "one\n"), GREEN]);
    change(&flower, "first", "a.txt", "first\n");
    change(&flower, "second", "a.txt", "second\n");
    lands(&flower, "first");
    let rejected = queue(&flower, "second", &[]);
    becomes(&flower, rejected, "rejected");
    let shown = diff(&flower, rejected);
    assert!(shown.contains("-one\n+second\n") && !shown.contains("first"), "{shown}");
}

#[test]
fn one_commit_of_a_worktree_is_shown_alone_and_no_other_commit() {
    let flower = serving(&[("a.txt", "one\n"), GREEN]);
    change(&flower, "work", "a.txt", "two\n");
    change(&flower, "work", "b.txt", "new\n");
    let commits = flower.api("GET", "/api/worktrees/work/commits").send().json();
    let [newest, first] = [0, 1].map(|index: usize| commits[index]["commit"].as_str().unwrap().to_owned());
    let of = |commit: &str| flower.api("GET", &format!("/api/worktrees/work/diff?commit={commit}")).send();
    let shown = of(&first).text();
    assert!(shown.contains("+two") && !shown.contains("b.txt"), "{shown}");
    assert!(of(&newest).text().contains("b/b.txt"));
    let before = flower.api("GET", &format!("/api/worktrees/work/file?commit={newest}&file=b.txt&side=old")).send();
    assert_eq!(before.status, 404, "{}", before.text());
    change(&flower, "other", "c.txt", "theirs\n");
    let theirs = git(&flower, &flower.repo, &["rev-parse", "flower/other"]);
    for commit in [theirs.trim(), "HEAD", "--output=x", &"0".repeat(40)] {
        let answer = of(commit);
        assert_eq!(answer.status, 404, "{commit}: {}", answer.text());
    }
}
