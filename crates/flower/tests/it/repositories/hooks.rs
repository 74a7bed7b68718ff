//! The repository's own hooks run inside worktrees if `flower.toml` says so.

use super::*;
use std::os::unix::fs::PermissionsExt;

const REFUSES_FIXME: &str =
    "#!/bin/sh\n! git diff --cached | grep -q '^+.*FIXME' || { echo 'hook: no FIXME' >&2; exit 1; }\n";
const COMMITS: &str = "echo FIXME > a; git add a; git commit -qm a";

fn with_hooks(settings: &str, place: impl FnOnce(&Flower)) -> Flower {
    let flower = Flower::new();
    put(&flower, &flower.repo.join("flower.toml"), settings);
    place(&flower);
    flower.git(&flower.repo, &["add", "."]);
    flower.git(&flower.repo, &["-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--message", "settings"]);
    prepare(&flower);
    new(&flower, "one", &[]);
    flower
}

fn executable(flower: &Flower, path: &str) {
    put(flower, &flower.repo.join(path), REFUSES_FIXME);
    fs::set_permissions(flower.repo.join(path), fs::Permissions::from_mode(0o755)).unwrap();
}

fn in_git(flower: &Flower) {
    executable(flower, ".git/hooks/pre-commit");
}

/// As husky does: the folder that git is told of is generated and ignored, the hooks are beside it and not executable.
fn as_husky(flower: &Flower) {
    flower.git(&flower.repo, &["config", "core.hooksPath", ".husky/_"]);
    put(flower, &flower.repo.join(".husky/pre-commit"), REFUSES_FIXME);
}

fn in_tree(flower: &Flower) {
    flower.git(&flower.repo, &["config", "core.hooksPath", "tools/it's hooks"]);
    executable(flower, "tools/it's hooks/pre-commit");
}

#[test]
fn hooks_of_the_repository_run_inside_only_if_the_settings_say_so() {
    for place in [in_git, as_husky, in_tree] {
        let flower = with_hooks("[worktree]\nhooks = true\n", place);
        let refused = inside(&flower, "one", COMMITS);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.stderr.contains("hook: no FIXME"), "{refused:?}");
        inside_ok(&flower, "one", "echo done > a; git add a; git commit -qm a");
        assert_eq!(git(&flower, &flower.repo, &["show", "flower/one:a"]), "done");
    }
    let flower = with_hooks("", in_git);
    inside_ok(&flower, "one", COMMITS);
}
