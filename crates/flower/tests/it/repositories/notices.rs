//! What is special about a repository is known when it becomes a project.

use super::*;

#[test]
fn an_ordinary_repository_has_no_notices() {
    let flower = Flower::new();
    assert_eq!(notices(&flower).0, [""; 0]);
}

#[test]
fn each_special_repository_is_recognised_and_the_next_step_named() {
    type Case = (&'static str, &'static [&'static [&'static str]], &'static str);
    let cases: [Case; 5] = [
        ("other_hooks", &[&["config", "core.hooksPath", ".husky"]], ".husky"),
        ("other_branch", &[&["switch", "--quiet", "--create", "feature"]], "git switch main"),
        ("detached", &[&["checkout", "--quiet", "--detach"]], "git switch main"),
        ("unsigned", &[&["config", "commit.gpgSign", "yes"]], "not signed"),
        ("sparse", &[&["sparse-checkout", "set", "folder"]], "stays so"),
    ];
    for (kind, commands, says_this) in cases {
        let flower = Flower::new();
        commands.iter().for_each(|args| flower.git(&flower.repo, args));
        let (kinds, words) = notices(&flower);
        assert_eq!(kinds, [kind]);
        says(&words, says_this);
    }
}

#[test]
fn clones_that_lack_something_are_recognised() {
    let flower = Flower::new();
    let from = upstream(&flower);
    for (options, kind, says_this) in [
        (&["--filter=blob:none", "--no-checkout"][..], "partial", "the first worktree fetches them"),
        (&["--depth=1"], "shallow", "git fetch --unshallow"),
    ] {
        clone_as_repo(&flower, &from, options);
        let (kinds, words) = notices(&flower);
        assert_eq!(kinds, [kind]);
        says(&words, says_this);
        flower.ok(&["project", "remove", "repo"]);
    }
    // A clone that lacks only files of earlier commits is no worse than any other.
    clone_as_repo(&flower, &from, &["--filter=blob:none"]);
    assert_eq!(notices(&flower).0, [""; 0]);
}

#[test]
fn lfs_and_empty_submodules_are_recognised() {
    let flower = Flower::new();
    put(&flower, &flower.repo.join("media/.gitattributes"), "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    put(&flower, &flower.repo.join(".gitmodules"), "[submodule \"lib\"]\n\tpath = lib\n\turl = ../lib\n");
    flower.git(&flower.repo, &["add", "."]);
    flower.git(&flower.repo, &["commit", "--quiet", "--message", "special"]);
    let (kinds, words) = notices(&flower);
    assert_eq!(kinds, ["lfs", "submodules"]);
    says(&words, "git submodule update --init");
}
