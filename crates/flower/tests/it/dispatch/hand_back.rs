//! Handing back: what was promised is looked at, and what is missing is said at once.

use super::*;

fn committed(flower: &Flower, dispatch: u64) -> Value {
    show_dispatch(flower, dispatch)["state"].clone()
}

#[test]
fn a_hand_back_names_uncommitted_files() {
    let flower = serving(&[("known", "1\n"), (".gitignore", "ignored\n")]);
    let work = at_work(&flower, "Untidy");
    work.commit(&flower, "x", "x");
    work.inside(&flower, "echo 2 > known; echo 3 > 'new file'; echo 4 > ignored; echo 5 > staged; git add staged");
    let refused = work.hand_back(&flower, &[]).error(1);
    let message = refused["message"].as_str().expect("a text");
    for file in ["`known`", "`new file`", "`staged`"] {
        assert!(message.contains(file), "{file}: {message}");
    }
    assert!(!message.contains("ignored") && message.contains(&work.worktree), "{message}");
    says(&refused["hints"], "commit it, or leave it out with `.gitignore`");
    assert_eq!(committed(&flower, work.dispatch), "executing", "nothing has changed");
    work.inside(&flower, "for n in $(seq 20); do echo > many-$n; done");
    says(&work.hand_back(&flower, &[]).error(1)["message"], " more");
    work.inside(&flower, "git add --all; git commit --quiet --message rest");
    landing_becomes(&flower, work.lands(&flower), "landed");
}

#[test]
fn a_conflict_with_main_is_named_and_can_be_resolved() {
    let flower = serving(&[("same", "before\n")]);
    let (one, two) = (at_work(&flower, "One"), at_work(&flower, "Two"));
    one.commit(&flower, "same", "one");
    two.commit(&flower, "same", "two");
    two.commit(&flower, "other", "two");
    landing_becomes(&flower, one.lands(&flower), "landed");
    let refused = two.hand_back(&flower, &[]).error(4);
    says(&refused["message"], "it does not merge with MAIN as it stands: `same`");
    says(&refused["hints"], "`git merge origin/main`, resolve, commit, then hand back again");
    assert_eq!(committed(&flower, two.dispatch), "executing");
    assert_eq!(events(&flower, "landing_queued").len(), 1);
    // Exactly what it says works.
    let merge = inside_as(&flower, &two.token, &two.worktree, "git merge origin/main");
    assert_ne!(merge.code, 0, "it conflicts: {merge:?}");
    two.inside(&flower, "echo both > same; git add same; git commit --quiet --no-edit");
    landing_becomes(&flower, two.lands(&flower), "landed");
    becomes(&flower, two.dispatch, "landed");
    assert_eq!(std::fs::read_to_string(flower.repo.join("same")).unwrap(), "both\n");
}

#[test]
fn a_summary_is_asked_for_and_a_failure_lands_nothing() {
    let flower = serving(&[]);
    let work = at_work(&flower, "Failing");
    work.commit(&flower, "x", "x");
    work.inside(&flower, "echo half > done");
    let id = work.dispatch.to_string();
    for summary in ["", "  \n "] {
        let args = ["handback", &id, "--fence", "1", "--summary", summary, "--failed", "--json"];
        says(&as_agent(&flower, &work.token, &args).error(2)["message"], "the summary is empty");
    }
    let long = "x".repeat(1 << 20);
    let body = json!({ "fence": 1, "summary": long, "failed": true });
    let answer = call(&flower, &work.token, "POST", &format!("/api/dispatches/{id}/handback"), &body);
    assert_eq!(answer.status, 422, "{}", answer.text());
    assert_eq!(committed(&flower, work.dispatch), "executing");
    // What is left lying about is no reason not to give up.
    let back = work.hand_back(&flower, &["--failed", "--not-done", "All of it"]);
    assert_eq!(back.code, 0, "{back:?}");
    let back: Value = serde_json::from_str(&back.stdout).expect("JSON");
    assert_eq!((&back["state"], &back["landing"]), (&json!("failed"), &json!(null)), "{back}");
    assert_eq!(
        (&back["result"]["summary"], &back["result"]["not_done"]),
        (&json!("It is done"), &json!("All of it")),
        "{back}"
    );
    assert_eq!(events(&flower, "dispatch_failed").len(), 1);
    assert_eq!(events(&flower, "landing_queued").len(), 0);
    assert_eq!(show_brief(&flower, work.brief)["status"], "in_progress");
    assert!(tree(&flower, &work.worktree).join("done").exists(), "the next one goes on in it");
}

#[test]
fn without_commits_there_is_nothing_to_land() {
    let flower = serving(&[]);
    let work = at_work(&flower, "Nothing");
    says(&work.hand_back(&flower, &[]).error(1)["message"], "there is no commit of yours");
    let back = work.hand_back(&flower, &[]);
    let said: Value = serde_json::from_str(&back.stdout).unwrap_or_else(|_| panic!("{back:?}"));
    assert_eq!((&said["state"], &said["landing"]), (&json!("handed_back"), &json!(null)), "{said}");
    says(&said["notes"], "no commit of its own was found; accepted, the brief is done");
    assert_eq!(show_brief(&flower, work.brief)["status"], "in_review");
    let again = work.hand_back(&flower, &[]).error(1);
    says(&again["message"], "is `handed_back`, not claimed");
    accept(&flower, work.brief);
    assert_eq!(show_brief(&flower, work.brief)["status"], "done");
}

#[test]
fn the_operator_may_want_to_queue_by_hand() {
    let flower = serving(&[("flower.toml", "[land]\nqueue = \"operator\"\n")]);
    let work = at_work(&flower, "By hand");
    let commit = work.commit(&flower, "x", "x");
    let back = work.hand_back(&flower, &[]);
    let said: Value = serde_json::from_str(&back.stdout).unwrap_or_else(|_| panic!("{back:?}"));
    assert_eq!((&said["landing"], &said["result"]["tip"]), (&json!(null), &json!(commit)), "{said}");
    says(&said["notes"], "it waits for the operator, who lands it: `flower land`");
    flower.wait_for_pass("dispatcher");
    flower.wait_for_pass("merge_queue");
    assert_eq!(flower.json(&["queue", "--all"]), json!([]));
    flower.ok(&["land", &work.worktree, "--wait"]);
    becomes(&flower, work.dispatch, "landed");
    assert_eq!(show_brief(&flower, work.brief)["status"], "landed");
}

#[test]
fn a_file_of_lfs_that_was_committed_as_it_is_is_not_handed_back() {
    let flower = serving(&[(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")]);
    // An agent needs no option for a repository with LFS.
    let work = at_work(&flower, "One");
    let without = "git -c filter.lfs.process= -c filter.lfs.clean= -c filter.lfs.required=false";
    work.inside(&flower, &format!("echo raw > raw.bin; {without} add -A; git commit --quiet --message raw"));
    let refused = work.hand_back(&flower, &[]).error(1);
    let said = refused.to_string();
    assert!(said.contains("committed as they are: `raw.bin`") && said.contains("git add --renormalize ."), "{said}");
    assert_eq!(flower.json(&["queue", "--all"]), json!([]), "nothing is queued");
    let pointer = "version https://git-lfs.github.com/spec/v1\\noid sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\\nsize 3\\n";
    work.inside(&flower, &format!("printf '{pointer}' > raw.bin; {without} commit --quiet --all --message pointer"));
    let handed = work.hand_back(&flower, &[]);
    assert_eq!(handed.code, 0, "{handed:?}");
}
