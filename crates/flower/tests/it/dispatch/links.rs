//! Commits and landings of a run are linked to its brief automatically.

use super::*;

fn links(flower: &Flower, brief: u64, kind: &str) -> Vec<String> {
    let shown = show_brief(flower, brief);
    let all = shown["links"].as_array().expect("a list").iter();
    all.filter(|link| link["kind"] == kind).map(|link| link["target"].as_str().expect("a text").to_owned()).collect()
}

#[test]
fn commits_branch_worktree_and_landing_are_linked_until_it_is_in_main() {
    let flower = serving(&[]);
    let work = at_work(&flower, "Linked");
    assert_eq!(links(&flower, work.brief, "worktree"), std::slice::from_ref(&work.worktree));
    assert_eq!(links(&flower, work.brief, "branch"), [format!("flower/{}", work.worktree)]);
    assert_eq!(links(&flower, work.brief, "commit"), [""; 0]);
    let first = work.commit(&flower, "one", "1");
    // The operator's own shell is no different.
    let second = inside_ok(
        &flower,
        &work.worktree,
        "echo 2 > two; git add two; git commit --quiet --message 'Second, with a title'; git rev-parse HEAD",
    );
    let linked = eventually("both are linked", || {
        Some(links(&flower, work.brief, "commit")).filter(|commits| commits.len() == 2)
    });
    assert_eq!(linked, [first.clone(), second.clone()]);
    let shown = show_brief(&flower, work.brief);
    says(&shown["links"], "Second, with a title");
    let by = shown["links"].as_array().expect("a list").iter().find(|link| link["target"] == json!(second));
    assert_eq!(by.expect("it is linked")["by"], "flower", "what flower saw itself");
    // The text of a commit message proves nothing.
    work.inside(&flower, "git commit --quiet --allow-empty --message 'x' --trailer 'Flower-Brief: 99'");
    let landing = work.lands(&flower);
    let handed = show_dispatch(&flower, work.dispatch);
    assert_eq!(handed["result"]["commits"].as_array().map(Vec::len), Some(3), "{handed}");
    let landed = landing_becomes(&flower, landing, "landed");
    assert_eq!(landed["briefs"], json!([work.brief]), "{landed}");
    becomes(&flower, work.dispatch, "landed");
    assert_eq!(show_brief(&flower, work.brief)["status"], "landed");
    assert_eq!(links(&flower, work.brief, "landing"), [landing.to_string()]);
    let all = links(&flower, work.brief, "commit");
    assert_eq!((all.len(), &all[..2]), (4, &[first, second][..]), "each once");
    assert_eq!(json!(all[3]), landed["merge_commit"], "and what they are in MAIN");
    eventually("the worktree is gone", || (!tree(&flower, &work.worktree).exists()).then_some(()));
    assert_main_is_whole(&flower);
}

#[test]
fn earlier_commits_and_those_of_main_are_not_linked() {
    let flower = serving(&[]);
    new(&flower, "lane", &["--lane"]);
    inside_ok(&flower, "lane", "echo 0 > zero; git add zero; git commit --quiet --message zero");
    let other = at_work(&flower, "Other");
    other.commit(&flower, "other", "x");
    landing_becomes(&flower, other.lands(&flower), "landed");
    let brief = planned(&flower, "In a lane");
    let work = claimed(&flower, dispatched(&flower, brief, &json!({ "worktree": "lane" })), 900);
    assert_eq!(work.worktree, "lane");
    let commit = work.commit(&flower, "one", "1");
    let linked = eventually("it is linked", || Some(links(&flower, brief, "commit")).filter(|found| !found.is_empty()));
    assert_eq!(linked, std::slice::from_ref(&commit));
    let third = at_work(&flower, "Third");
    third.commit(&flower, "third", "x");
    landing_becomes(&flower, third.lands(&flower), "landed");
    eventually("MAIN is there to be merged", || {
        let merge = inside_as(&flower, &work.token, "lane", "git merge --quiet --no-edit origin/main; test -e third");
        (merge.code == 0).then_some(())
    });
    let last = work.commit(&flower, "two", "2");
    let linked = eventually("it is linked", || Some(links(&flower, brief, "commit")).filter(|found| found.len() > 1));
    assert_eq!(linked, [commit, last]);
}

#[test]
fn commits_are_linked_by_the_next_daemon_too() {
    let flower = serving(&[]);
    let work = at_work(&flower, "Killed");
    let pid = flower.pid();
    let running = Running::start(
        &flower,
        &work.worktree,
        "echo ready; while ! test -e go; do sleep 0.05; done; echo 1 > one; git add one; git commit --quiet --message one; rm go; exec sleep 300",
        "ready\n",
    );
    let process = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
    put(&flower, &tree(&flower, &work.worktree).join("go"), "");
    eventually("it has committed", || (!tree(&flower, &work.worktree).join("go").exists()).then_some(()));
    drop(running);
    flower.start();
    eventually("it is linked", || (links(&flower, work.brief, "commit").len() == 1).then_some(()));
}

#[test]
fn a_claimed_worktree_is_neither_removed_nor_merged_into() {
    let flower = serving(&[]);
    new(&flower, "lane", &["--lane"]);
    let one = at_work(&flower, "One");
    one.commit(&flower, "one", "1");
    flower.ok(&["freeze"]);
    let landing = one.lands(&flower);
    // Meanwhile others begin: one where the work is that lands now, one in a lane that is behind then.
    let two = claimed(&flower, dispatched(&flower, planned(&flower, "Two"), &json!({ "worktree": one.worktree })), 900);
    let three = claimed(&flower, dispatched(&flower, planned(&flower, "Three"), &json!({ "worktree": "lane" })), 900);
    let head = three.inside(&flower, "git rev-parse HEAD");
    flower.ok(&["thaw"]);
    landing_becomes(&flower, landing, "landed");
    let told = eventually("both are told", || Some(events(&flower, "worktree_synced")).filter(|told| told.len() == 2));
    for note in &told {
        says(&note["body"]["why_not"], "work in it is claimed");
    }
    assert_eq!(show(&flower, &one.worktree)["state"], "ready");
    assert_eq!(three.inside(&flower, "git rev-parse HEAD"), head, "nothing is merged into a claimed worktree");
    three.inside(&flower, "git merge --quiet origin/main; test -e one");
    // Once that has landed too it goes.
    two.commit(&flower, "two", "2");
    landing_becomes(&flower, two.lands(&flower), "landed");
    eventually("it goes", || (!tree(&flower, &one.worktree).exists()).then_some(()));
}
