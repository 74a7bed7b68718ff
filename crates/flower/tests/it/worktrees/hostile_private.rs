//! A program inside a sealed worktree can write everything in its private repository. Programs that are
//! planted there may run only inside.

use super::hostile_linked::ATTRIBUTES;
use super::*;

/// A program that says inside that it ran, and tries everything to say so outside.
fn trap(flower: &Flower) -> String {
    let (outside, main) = (flower.dir().join("mark"), flower.repo.join("mark"));
    format!(
        "#!/bin/sh\ntouch \"$FLOWER_TEST_RAN\" {ran} 2>/dev/null\n\
         for place in {} {} {}/mark /proc/1/root{} /proc/self/root{}; do touch $place 2>/dev/null; done\ncat\n",
        outside.display(),
        main.display(),
        flower.home.display(),
        outside.display(),
        main.display(),
        ran = tree(flower, "one").join("ran").display(),
    )
}

fn assert_nothing_outside(flower: &Flower, what: &str) {
    for mark in [flower.dir().join("mark"), flower.repo.join("mark"), flower.home.join("mark")] {
        assert!(!mark.exists(), "{what}: {} was written from inside", mark.display());
    }
}

/// Every setting and file that names a program, together. `$trap` is the program, `$git` the private repository.
const PROGRAMS: &str = r#"
    for key in core.fsmonitor filter.trap.clean filter.trap.smudge filter.long.process merge.trap.driver diff.external \
               diff.trap.textconv core.sshCommand core.askPass core.editor core.pager pager.upload-pack gpg.program \
               uploadpack.packObjectsHook core.alternateRefsCommand core.gitProxy credential.helper; do
        git config $key $trap; git config --global $key $trap
    done
    git config commit.gpgSign true
    git config extensions.worktreeConfig true; git config --worktree core.fsmonitor $trap
    printf '[core]\n\tfsmonitor = %s\n' $trap > $git/included; git config include.path $git/included
    mkdir -p $git/hooks hooks
    for hook in post-checkout reference-transaction post-index-change post-merge pre-merge-commit commit-msg \
                prepare-commit-msg post-commit pre-auto-gc; do
        cp $trap $git/hooks/$hook; cp $trap hooks/$hook
    done
"#;

/// Damage and lies, each by itself.
const LIES: &[(&str, &str)] = &[
    (
        "its hooks are elsewhere",
        "mkdir -p hooks; cp $trap hooks/reference-transaction; git config core.hooksPath $PWD/hooks",
    ),
    (
        "it borrows from elsewhere",
        "echo /proc/1/root/etc >> $git/objects/info/alternates; echo ../../../../.. >> $git/objects/info/alternates",
    ),
    ("its config is a link", "mv $git/config $git/c; ln -s c $git/config"),
    (
        "its branch is a link to MAIN's",
        "rm -f $git/refs/heads/flower/one; ln -s $MAIN/.git/refs/heads/main $git/refs/heads/flower/one",
    ),
    (
        "its branch is another's",
        "git update-ref refs/heads/evil HEAD; git symbolic-ref refs/heads/flower/one refs/heads/evil",
    ),
    ("its branch is rubbish", "echo rubbish > $git/refs/heads/flower/one"),
    ("its branch is gone", "rm -f $git/refs/heads/flower/one $git/packed-refs"),
    ("it claims to be shallow", "git rev-parse HEAD > $git/shallow"),
    ("its objects are broken", "for o in $git/objects/??/*; do chmod u+w $o; echo broken > $o; done"),
    ("it is empty", "rm -rf $git/* 2>/dev/null || true"),
    ("its git file is replaced", "rm -f .git || true; mv .git x || true; echo gitdir: $MAIN/.git > .git || true"),
];

#[test]
fn programs_planted_inside_run_only_inside() {
    as_each_user(|flower| plant_and_look(flower, "programs", PROGRAMS));
}

#[test]
fn a_forged_private_repository_does_not_affect_other_worktrees() {
    as_each_user(|flower| {
        for (what, plant) in LIES {
            plant_and_look(flower, what, plant);
        }
    });
}

fn plant_and_look(flower: &Flower, what: &str, plant: &str) {
    if !flower.repo.join("a.txt").exists() {
        for (path, content) in [("a.txt", "a\n"), ("b.long", "b\n"), (".gitattributes", ATTRIBUTES)] {
            commit_in_main(flower, path, content);
        }
    }
    let head = git(flower, &flower.repo, &["rev-parse", "main"]);
    new(flower, "one", &[]);
    let script = format!(
        "cat > trap <<'END'\n{}END\nchmod +x trap; trap=$PWD/trap git=$(git rev-parse --git-dir) MAIN={}\n\
         echo x > a.txt; git add a.txt; git commit -qm x; {plant}",
        trap(flower),
        flower.repo.display(),
    );
    inside(flower, "one", &script);
    assert_nothing_outside(flower, what);
    for args in [
        &["worktree"][..],
        &["worktree", "sync", "one"],
        &["worktree", "shell", "one", "--", "git", "status"],
        &["worktree", "show", "one"],
    ] {
        let output = flower.run(args);
        assert_ne!(output.code, 70, "{what}: {args:?}: {output:?}");
        assert_nothing_outside(flower, &format!("{what}: {args:?}"));
    }
    assert_eq!(git(flower, &flower.repo, &["rev-parse", "main"]), head, "{what}");
    remove(flower, "one");
    assert_nothing_outside(flower, &format!("{what}: remove"));
    assert_main_is_whole(flower);
    forget(flower);
}

/// A merge that flower makes for a sealed worktree runs the hooks that are planted there, and runs them inside.
#[test]
fn what_flower_merges_for_a_sealed_worktree_it_merges_inside() {
    as_each_user(|flower| {
        new(flower, "one", &[]);
        commit_in_main(flower, "theirs", "theirs");
        let script = format!(
            "cat > /tmp/trap <<'END'\n{}END\nchmod +x /tmp/trap; git=$(git rev-parse --git-dir); mkdir -p $git/hooks\n\
             echo ran >> $git/info/exclude; cp /tmp/trap $git/hooks/post-merge; echo m > m; git add m; git commit -qm m",
            trap(flower)
        );
        inside_ok(flower, "one", &script);
        assert_eq!(flower.json(&["worktree", "sync", "one"])["merged"], true);
        assert!(tree(flower, "one").join("ran").exists(), "the hook did not run, so this proves nothing");
        assert_nothing_outside(flower, "sync");
        assert_main_is_whole(flower);
    });
}

/// Only the worktree's own branch comes out of the private repository, and no other ref.
#[test]
fn only_its_own_branch_comes_out() {
    let flower = with_one(&[]);
    new(&flower, "two", &[]);
    let before = git(&flower, &flower.repo, &["for-each-ref", "refs/heads/main", "refs/heads/flower/two", "refs/tags"]);
    inside_ok(
        &flower,
        "one",
        "echo x > x; git add x; git commit -qm x
         git update-ref refs/heads/main HEAD; git update-ref refs/heads/flower/two HEAD; git tag v1; git tag -a v2 -m v2
         git update-ref refs/flower/keep/two/evil HEAD; git update-ref refs/replace/$(git rev-parse HEAD~1) HEAD",
    );
    show(&flower, "one");
    assert_eq!(show(&flower, "one")["ahead"], 1);
    assert_eq!(
        git(&flower, &flower.repo, &["for-each-ref", "refs/heads/main", "refs/heads/flower/two", "refs/tags"]),
        before
    );
    assert_eq!(git(&flower, &flower.repo, &["for-each-ref", "refs/replace", "refs/flower/keep/two/evil"]), "");
    assert_main_is_whole(&flower);
}
