//! The everyday git commands of an agent work inside a sealed worktree as they do elsewhere.

use super::*;

/// What it is called, and what must succeed.
const OPERATIONS: &[(&str, &str)] = &[
    ("status", "git status --short --branch"),
    ("add", "echo one > a.txt; git add a.txt"),
    ("commit", "git commit -qm a"),
    ("amend", "git commit -q --amend -m 'a, amended'"),
    ("log", "git log --oneline --graph --all --decorate | grep -q amended"),
    ("blame", "git blame README.md | grep -q hello"),
    ("diff", "echo two >> a.txt; git diff --stat | grep -q a.txt; git diff HEAD~1 --name-only"),
    ("stash push", "git stash push -q -m kept; git diff --quiet"),
    ("stash pop", "git stash pop -q; grep -q two a.txt"),
    ("restore", "git restore a.txt; ! grep -q two a.txt"),
    ("tag", "git tag light; git tag -a heavy -m heavy; git describe | grep -q heavy"),
    ("branch", "git branch topic; git branch -m topic renamed"),
    ("switch", "git switch -q renamed; echo t > t.txt; git add t.txt; git commit -qm t; git switch -q -"),
    ("cherry-pick", "git cherry-pick renamed"),
    ("revert", "git revert --no-edit HEAD; test ! -e t.txt"),
    (
        "merge",
        "git switch -qc side HEAD~2; echo s > s.txt; git add .; git commit -qm s; git switch -q -; git merge -q --no-edit side; test -e s.txt",
    ),
    (
        "rebase",
        "git switch -qc linear HEAD~1; echo l > l.txt; git add .; git commit -qm l; git rebase -q side; git switch -q flower/one",
    ),
    ("branch -D", "git branch -qD renamed side linear"),
    ("rm", "git rm -q s.txt; git commit -qm 'rm s'"),
    ("mv", "git mv a.txt b.txt; git commit -qm mv; git log --follow --oneline b.txt | grep -q amended"),
    (
        "reset",
        "echo x > x.txt; git add x.txt; git reset -q; git reset -q --soft HEAD~1; git commit -qm mv; git reset -q --hard",
    ),
    ("clean", "touch junk; git clean -qfd; test ! -e junk"),
    ("format-patch", "echo p >> b.txt; git commit -qam p; git format-patch -1 -o /tmp/patches"),
    ("am", "git reset -q --hard HEAD~1; git am -q /tmp/patches/*.patch; grep -q p b.txt"),
    (
        "apply",
        "echo q >> b.txt; git diff > /tmp/q.patch; git checkout -q b.txt; git apply --index /tmp/q.patch; git commit -qm q",
    ),
    ("bisect", "git bisect start HEAD HEAD~3 && git bisect run sh -c '! grep -q q b.txt' && git bisect reset"),
    ("notes", "git notes add -m note; git notes show | grep -q note"),
    ("config", "git config core.abbrev 12; git config alias.last 'log -1'; git last"),
    ("reflog", "git reflog | grep -q commit; git rev-parse 'HEAD@{1}'"),
    ("worktree list", "git worktree list | grep -q flower/one"),
    ("worktree add", "git worktree add -q /tmp/second -b second; git worktree remove /tmp/second"),
    (
        "sparse-checkout",
        "mkdir d; echo d > d/d; git add d; git commit -qm d; git sparse-checkout set --no-cone /b.txt; test ! -e d/d; git sparse-checkout disable; test -e d/d",
    ),
    ("archive", "git archive HEAD | tar -t | grep -q b.txt"),
    ("bundle", "git bundle create -q /tmp/all.bundle --all; git bundle verify -q /tmp/all.bundle"),
    ("clone", "git clone -q . /tmp/cloned; test -e /tmp/cloned/b.txt"),
    ("grep", "git grep -q hello"),
    ("ls-files", "git ls-files | grep -q b.txt"),
    ("show", "git show --stat HEAD"),
    ("pack-refs", "git pack-refs --all"),
    ("gc", "git gc -q --prune=now; git maintenance run --quiet"),
    ("repack", "git repack -qad"),
    ("fsck", "git fsck --no-dangling"),
    ("submodule", "git submodule status"),
    ("shortlog", "git shortlog -s HEAD"),
    ("commit after gc", "echo end > end; git add end; git commit -qm end"),
];

#[test]
fn ordinary_git_operations_succeed_in_a_sealed_worktree() {
    as_each_user(|flower| {
        new(flower, "one", &[]);
        let mut script = String::from("exec 3>&1\n");
        for (name, operation) in OPERATIONS {
            script.push_str(&format!(
                "( set -e\n{operation}\n) >/tmp/said 2>&1; code=$?\n\
                 [ $code = 0 ] || {{ echo \"{name}: $code\" >&3; cat /tmp/said >&3; }}\n"
            ));
        }
        script.push_str("git rev-parse HEAD");
        let output = flower.run(&["worktree", "shell", "one", "--", "sh", "-c", &script]);
        let head = output.stdout.trim_end();
        assert!(head.len() == 40 && output.code == 0, "{output:?}");
        assert_eq!(git(flower, &flower.repo, &["rev-parse", "flower/one"]), head);
        assert_eq!(git(flower, &tree(flower, "one"), &["status", "--porcelain"]), "");
        assert_eq!(git(flower, &flower.repo, &["tag"]), "", "what is inside stays inside");
        assert_main_is_whole(flower);
    });
}
