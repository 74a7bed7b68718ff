//! Repositories made from sources of released packages: `flower init --try --yes` with flower's own proposal, a green check, a broken
//! change that is rejected, a good one that lands, and its revert. `cargo xtask test --real-repositories` runs them.

mod sources;

use crate::common::Flower;
use crate::common::skip::skip;
use crate::common::work::{inside_ok, new};
use serde_json::Value;
use sources::Sources;
use std::fs;
use std::path::Path;

/// One repository and what happens in it.
struct Story<'a> {
    /// Pieces that xtask fetches.
    needs: &'a [&'a str],
    /// Programs that must be installed.
    programs: &'a [&'a str],
    compose: &'a dyn Fn(&Sources, &Path),
    /// The checks that are proposed.
    checks: &'a [&'a str],
    /// A shell script that breaks something that a test notices.
    broken: &'a str,
    /// A shell script that changes a file without breaking anything.
    good: &'a str,
}

impl Story<'_> {
    /// Returns the flower after the last step, or `None` if something is missing.
    fn play(&self) -> Option<Flower> {
        let sources = Sources::find();
        let missing = self.needs.iter().find_map(|piece| sources.missing(piece));
        let absent = self.programs.iter().find(|program| !sources.has_program(program));
        if let Some(reason) = missing.or_else(|| absent.map(|program| format!("`{program}` is not installed"))) {
            skip(&reason);
            return None;
        }
        let mut flower = Flower::new();
        sources.set_environment(&mut flower);
        (self.compose)(&sources, &flower.repo);
        flower.git(&flower.repo, &["config", "user.name", "Tester"]);
        flower.git(&flower.repo, &["config", "user.email", "tester@example.com"]);
        flower.git(&flower.repo, &["add", "--all"]);
        flower.git(&flower.repo, &["commit", "--quiet", "--message", "sources"]);

        let init = flower.run(&["init", "--try", "--yes"]);
        assert_eq!(init.code, 0, "{}\n{}", init.stdout, init.stderr);
        for check in self.checks {
            assert!(init.stderr.contains(&format!("`{check}` passes in")), "{check}: {}", init.stderr);
        }
        assert_eq!(flower.json(&["main"])["state"], "stable");

        new(&flower, "good", &[]);
        commit(&flower, "good", self.good);
        let checked = flower.json(&["check", "good"]);
        assert_eq!(checked["ok"], true, "{checked:#}");
        let names: Vec<&str> =
            checked["checks"].as_array().unwrap().iter().map(|check| check["name"].as_str().unwrap()).collect();
        assert!(self.checks.iter().all(|check| names.contains(check)), "{names:?}");

        new(&flower, "broken", &["--no-setup"]);
        commit(&flower, "broken", self.broken);
        let before = tip(&flower);
        let rejected = flower.run(&["land", "broken", "--wait", "--json"]);
        assert_ne!(rejected.code, 0, "a broken change landed: {}", rejected.stdout);
        assert_eq!(tip(&flower), before);

        let landed = flower.json(&["land", "good", "--wait"]);
        assert_eq!(landed["state"], "landed", "{landed:#}");
        let after = tip(&flower);
        assert_ne!(after, before);
        let number = landed["id"].as_u64().unwrap().to_string();
        let reverted = flower.json(&["revert", &number, "--why", "the story ends here", "--wait"]);
        assert_eq!(reverted["state"], "landed", "{reverted:#}");
        assert_eq!(
            git_output(&flower, &["rev-parse", "HEAD^{tree}"]),
            git_output(&flower, &["rev-parse", &format!("{before}^{{tree}}")])
        );
        let main: Value = flower.json(&["main"]);
        assert_eq!(main["state"], "stable", "{main:#}");
        Some(flower)
    }
}

fn commit(flower: &Flower, worktree: &str, script: &str) {
    inside_ok(flower, worktree, &format!("{script}; git add --update; git commit --quiet --message change"));
}

fn tip(flower: &Flower) -> String {
    git_output(flower, &["rev-parse", "main"])
}

fn git_output(flower: &Flower, args: &[&str]) -> String {
    let mut git = std::process::Command::new("git");
    let output = flower.in_own_environment(git.args(args).current_dir(&flower.repo)).output().expect("git runs");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
#[ignore = "needs sources of real repositories: cargo xtask test --real-repositories"]
fn a_workspace_of_cargo_guards_its_members() {
    let story = Story {
        needs: &["crates"],
        programs: &["cargo"],
        compose: &|sources, repo| {
            for member in ["itoa", "semver", "fnv"] {
                sources.copy(&format!("crates/vendor/{member}"), &repo.join("members").join(member));
                fs::remove_file(repo.join("members").join(member).join(".cargo-checksum.json")).unwrap();
            }
            let manifest = "[package]\nname = \"top\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[dependencies]\ncfg-if = \"=1.0.0\"\n\
                            itoa = { path = \"members/itoa\" }\n\n[workspace]\nmembers = [\"members/*\"]\n";
            put(repo, "Cargo.toml", manifest);
            put(
                repo,
                "src/lib.rs",
                "#[test]\nfn it_prints() {\n    assert_eq!(itoa::Buffer::new().format(7), \"7\");\n}\n",
            );
            put(repo, ".gitignore", "/target\n");
            sources.run(repo, "cargo", &["generate-lockfile"]);
        },
        checks: &["rust"],
        // The package at the top does not use this member: without `--workspace` nothing would notice.
        broken: "sed -i 's/self.0 ^ /self.0 | /; s/hash ^ /hash | /; s/ \\^ / | /' members/fnv/lib.rs; git diff --quiet && exit 9 || true",
        good: "echo >> members/fnv/README.md",
    };
    story.play();
}

#[test]
#[ignore = "needs sources of real repositories: cargo xtask test --real-repositories"]
fn all_tests_of_express_are_a_landing_check() {
    let story = Story {
        needs: &["programs", "node-express"],
        programs: &["node", "npm"],
        compose: &|sources, repo| sources.copy("node-express", repo),
        checks: &["lint", "test"],
        broken: "sed -i \"s/this.statusCode = code;/this.statusCode = 500;/\" lib/response.js; git diff --quiet && exit 9 || true",
        good: "echo >> History.md",
    };
    let Some(flower) = story.play() else { return };
    let log = flower.ok(&["queue", "log", "1", "test"]);
    assert!(log.contains("passing") || log.contains("passed before"), "{log}");
}

#[test]
#[ignore = "needs sources of real repositories: cargo xtask test --real-repositories"]
fn a_workspace_of_pnpm_tests_all_its_packages() {
    let story = Story {
        needs: &["programs"],
        programs: &["node", "pnpm"],
        compose: &|sources, repo| {
            // A released package, and one of our own that uses it and one of the registry.
            sources.copy("programs/node_modules/mri", &repo.join("packages/mri"));
            // Its scripts need programs that the released package lacks.
            put(
                repo,
                "packages/mri/package.json",
                "{\"name\": \"mri\", \"version\": \"1.2.0\", \"main\": \"lib/index.js\"}",
            );
            let own = "{\"name\": \"own\", \"version\": \"1.0.0\", \"scripts\": {\"test\": \"node --test\"}, \
                       \"dependencies\": {\"mri\": \"workspace:*\", \"picocolors\": \"1.1.1\"}}";
            put(repo, "packages/own/package.json", own);
            let test = "const test = require('node:test'); const assert = require('node:assert');\n\
                        test('options are read', () => { require('picocolors'); \
                        assert.deepEqual(require('mri')(['--a', '1']), { _: [], a: 1 }); });\n";
            put(repo, "packages/own/own.test.js", test);
            put(repo, "package.json", "{\"private\": true, \"packageManager\": \"pnpm@10.4.1\"}");
            put(repo, "pnpm-workspace.yaml", "packages:\n  - packages/*\n");
            put(repo, ".gitignore", "node_modules\n");
            sources.run(repo, "pnpm", &["install", "--lockfile-only", "--ignore-scripts"]);
        },
        checks: &["test"],
        broken: "sed -i 's/module.exports *= *function/module.exports = () => 1; const unused = function/' packages/mri/lib/index.js; \
                 git diff --quiet && exit 9 || true",
        good: "echo >> packages/mri/readme.md",
    };
    story.play();
}

#[test]
#[ignore = "needs sources of real repositories: cargo xtask test --real-repositories"]
fn an_editable_install_of_flask_by_uv_leads_to_the_candidate() {
    let story = Story {
        needs: &["programs", "flask"],
        programs: &["uv"],
        compose: &|sources, repo| sources.copy("flask", repo),
        checks: &["lint", "python"],
        broken: "sed -i 's/def redirect(self/def redirect_no_more(self/' src/flask/sansio/app.py; git diff --quiet && exit 9 || true",
        // The environment that setup has made leads to this worktree.
        good: "case $(.venv/bin/python -c 'import flask; print(flask.__file__)') in $PWD/src/*) ;; *) exit 8;; esac; echo >> CHANGES.rst",
    };
    story.play();
}

#[test]
#[ignore = "needs sources of real repositories: cargo xtask test --real-repositories"]
fn an_editable_install_by_pip_leads_to_the_candidate() {
    let story = Story {
        needs: &["itsdangerous"],
        programs: &["python3"],
        compose: &|sources, repo| sources.copy("itsdangerous", repo),
        checks: &["python"],
        broken: "sed -i 's/def loads(/def loads_no_more(/' src/itsdangerous/serializer.py; git diff --quiet && exit 9 || true",
        // The environment that setup has made leads to this worktree.
        good: "case $(.venv/bin/python -c 'import itsdangerous; print(itsdangerous.__file__)') in $PWD/src/*) ;; *) exit 8;; esac; echo >> CHANGES.rst",
    };
    story.play();
}

#[test]
#[ignore = "needs sources of real repositories: cargo xtask test --real-repositories"]
fn a_workspace_of_go_tests_all_its_modules() {
    let story = Story {
        needs: &["golang-github-google-uuid"],
        programs: &["go"],
        compose: &|sources, repo| {
            sources.copy("golang-github-google-uuid", &repo.join("uuid"));
            put(repo, "app/go.mod", "module example.com/app\n\ngo 1.18\n");
            put(repo, "app/app.go", "package app\n\nfunc Double(n int) int { return 2 * n }\n");
            let test = "package app\n\nimport \"testing\"\n\nfunc TestDouble(t *testing.T) {\n\tif Double(2) != 4 {\n\t\tt.Fatal()\n\t}\n}\n";
            put(repo, "app/app_test.go", test);
            put(repo, "go.work", "go 1.18\n\nuse (\n\t./app\n\t./uuid\n)\n");
        },
        checks: &["go"],
        broken: "sed -i 's/return 2 \\* n/return n/' app/app.go; git diff --quiet && exit 9 || true",
        good: "echo >> uuid/README.md",
    };
    story.play();
}

#[test]
#[ignore = "needs sources of real repositories: cargo xtask test --real-repositories"]
fn a_project_of_composer_is_tested_with_its_packages() {
    let story = Story {
        needs: &["php-parsedown", "php-psr-log"],
        programs: &["php", "composer", "phpunit"],
        compose: &|sources, repo| {
            sources.copy("php-parsedown", &repo.join("packages/parsedown"));
            sources.copy("php-psr-log", &repo.join("packages/log"));
            let manifest = r#"{
  "name": "example/composed",
  "type": "project",
  "repositories": [{"type": "path", "url": "packages/*"}, {"packagist": false}],
  "require": {"erusev/parsedown": "*", "psr/log": "*"},
  "autoload-dev": {"classmap": ["packages/parsedown/test/TestParsedown.php"]},
  "minimum-stability": "dev",
  "scripts": {"test": "phpunit --bootstrap vendor/autoload.php packages/parsedown/test/ParsedownTest.php"}
}
"#;
            put(repo, "composer.json", manifest);
            put(repo, ".gitignore", "/vendor/\n/composer.lock\n");
        },
        checks: &["php"],
        broken: "sed -i 's/<hr \\/>/<br \\/>/; s/protected function blockQuote(/protected function blockQuoteNoMore(/' packages/parsedown/Parsedown.php; \
                 git diff --quiet && exit 9 || true",
        good: "echo >> packages/parsedown/README.md",
    };
    story.play();
}

#[test]
#[ignore = "needs sources of real repositories: cargo xtask test --real-repositories"]
fn a_makefile_of_c_is_run_as_it_is() {
    let story = Story {
        needs: &["cjson"],
        programs: &["make", "cc"],
        compose: &|sources, repo| sources.copy("cjson", repo),
        checks: &["test"],
        broken: "sed -i 's/CJSON_PUBLIC(cJSON \\*) cJSON_CreateArray(void)/int broken(void) { return missing; }/' cJSON.c; \
                 git diff --quiet && exit 9 || true",
        good: "echo >> README.md",
    };
    story.play();
}

/// Generated, because no package has so many files.
#[test]
#[ignore = "needs sources of real repositories: cargo xtask test --real-repositories"]
fn sixty_thousand_files_are_no_obstacle() {
    let story = Story {
        needs: &[],
        programs: &["make"],
        compose: &|_, repo| {
            for folder in 0..600 {
                let dir = repo.join(format!("types/t{folder}"));
                fs::create_dir_all(&dir).unwrap();
                for file in 0..100 {
                    fs::write(dir.join(format!("f{file}.txt")), format!("{folder} {file}\n")).unwrap();
                }
            }
            put(
                repo,
                "Makefile",
                "test:\n\ttest `find types -type f | wc -l` = 60000\n\tgrep -qx '7 7' types/t7/f7.txt\n",
            );
        },
        checks: &["test"],
        broken: "echo broken > types/t7/f7.txt",
        good: "echo more >> types/t8/f8.txt",
    };
    story.play();
}

fn put(repo: &Path, path: &str, text: &str) {
    let file = repo.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}
