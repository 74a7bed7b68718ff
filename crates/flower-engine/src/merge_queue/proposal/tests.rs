use super::*;
use crate::settings::Settings;

/// A repository, and what is proposed for it.
struct Case {
    name: &'static str,
    /// Paths, with contents where they matter.
    files: &'static [(&'static str, &'static str)],
    prepare: &'static [&'static str],
    checks: &'static [(&'static str, &'static str)],
    carry: &'static [&'static str],
}

const CASES: &[Case] = &[
    Case {
        name: "a Rust package",
        files: &[("Cargo.toml", "[package]\nname = \"a\"\n"), ("src/lib.rs", "")],
        prepare: &["cargo fetch"],
        checks: &[("rust", "cargo test --offline")],
        carry: &["target"],
    },
    Case {
        name: "a Rust workspace whose top is a package",
        files: &[
            ("Cargo.toml", "[package]\nname = \"a\"\n[workspace]\nmembers = [\"crates/*\"]\n"),
            ("Cargo.lock", ""),
            ("crates/core/Cargo.toml", "[package]\nname = \"core\"\n"),
        ],
        prepare: &["cargo fetch --locked"],
        checks: &[("rust", "cargo test --workspace --locked --offline")],
        carry: &["target"],
    },
    Case {
        name: "npm with a lock file",
        files: &[
            (
                "package.json",
                r#"{"scripts": {"test": "vitest run", "lint": "eslint .", "start": "x", "build": "vite build"}}"#,
            ),
            ("package-lock.json", "{}"),
        ],
        prepare: &["npm ci --prefer-offline --no-audit --no-fund"],
        checks: &[("lint", "npm run lint"), ("build", "npm run build"), ("test", "npm run test")],
        carry: &[],
    },
    Case {
        name: "npm without a lock file, such as express",
        files: &[("package.json", r#"{"scripts": {"test": "mocha --require test/support/env", "test-ci": "nyc"}}"#)],
        prepare: &["npm install --no-package-lock --prefer-offline --no-audit --no-fund"],
        checks: &[("test", "npm run test")],
        carry: &[],
    },
    Case {
        name: "npm's default script is no test",
        files: &[("package.json", r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#)],
        prepare: &[],
        checks: &[],
        carry: &[],
    },
    Case {
        name: "a script that watches is told to end",
        files: &[("package.json", r#"{"scripts": {"test": "ng test", "type-check": "tsc --noEmit"}}"#)],
        prepare: &["npm install --no-package-lock --prefer-offline --no-audit --no-fund"],
        checks: &[("typecheck", "npm run type-check"), ("test", "npm run test -- --watch=false")],
        carry: &[],
    },
    Case {
        name: "an npm workspace whose packages have the tests",
        files: &[
            ("package.json", r#"{"workspaces": ["packages/*"], "scripts": {"build": "turbo run build"}}"#),
            ("package-lock.json", "{}"),
            ("packages/a/package.json", r#"{"scripts": {"test": "node --test", "build": "tsc"}}"#),
            ("packages/b/package.json", r#"{"scripts": {"test": "node --test"}}"#),
            ("examples/c/package.json", r#"{"scripts": {"lint": "x"}}"#),
        ],
        prepare: &["npm ci --prefer-offline --no-audit --no-fund"],
        checks: &[("build", "npm run build"), ("test", "npm run test --workspaces --if-present")],
        carry: &[],
    },
    Case {
        name: "a pnpm workspace whose top tests itself only",
        files: &[
            ("package.json", r#"{"packageManager": "pnpm@10.4.0", "scripts": {"test": "node --test scripts"}}"#),
            ("pnpm-lock.yaml", "lockfileVersion: '9.0'\n"),
            ("pnpm-workspace.yaml", "packages:\n  - 'packages/*'\n  - '!packages/old' # kept for reference\n"),
            ("packages/a/package.json", r#"{"scripts": {"test": "node --test"}}"#),
            ("packages/old/package.json", r#"{"scripts": {"lint": "eslint ."}}"#),
        ],
        prepare: &["pnpm install --frozen-lockfile --prefer-offline"],
        checks: &[("test", "pnpm run test"), ("test-packages", "pnpm --recursive --if-present run test")],
        carry: &[],
    },
    Case {
        name: "the manifest names pnpm although no lock file is there, as in DefinitelyTyped",
        files: &[
            ("package.json", r#"{"packageManager": "pnpm@10.1.0+sha512.abc", "scripts": {"test": "dtslint types"}}"#),
            ("pnpm-workspace.yaml", "packages:\n  - types/*\n"),
        ],
        prepare: &["pnpm install --no-frozen-lockfile --prefer-offline"],
        checks: &[("test", "pnpm run test")],
        carry: &[],
    },
    Case {
        name: "Yarn 1",
        files: &[("package.json", r#"{"scripts": {"test": "jest"}}"#), ("yarn.lock", "# yarn lockfile v1\n")],
        prepare: &["yarn install --frozen-lockfile --non-interactive"],
        checks: &[("test", "yarn run test")],
        carry: &[],
    },
    Case {
        name: "a workspace of a newer Yarn",
        files: &[
            ("package.json", r#"{"packageManager": "yarn@4.6.0", "workspaces": {"packages": ["libs/*"]}}"#),
            ("yarn.lock", "\n__metadata:\n  version: 8\n"),
            ("libs/a/package.json", r#"{"scripts": {"test": "node --test"}}"#),
        ],
        prepare: &["yarn install --immutable"],
        checks: &[("test", "yarn workspaces foreach --all run test")],
        carry: &[],
    },
    Case {
        name: "Bun",
        files: &[("package.json", r#"{"scripts": {"test": "bun test"}}"#), ("bun.lock", "{}")],
        prepare: &["bun install --frozen-lockfile"],
        checks: &[("test", "bun run test")],
        carry: &[],
    },
    Case {
        name: "Python with uv's lock, such as Flask",
        files: &[
            (
                "pyproject.toml",
                "[project]\nname = \"Flask\"\n[dependency-groups]\ntests = [\"pytest\"]\n[build-system]\nrequires = [\"flit_core\"]\n\
                 [tool.uv]\ndefault-groups = [\"dev\", \"tests\"]\n[tool.pytest.ini_options]\ntestpaths = [\"tests\"]\n",
            ),
            ("uv.lock", ""),
            ("src/flask/__init__.py", ""),
            ("tests/test_basic.py", ""),
        ],
        prepare: &["uv sync --frozen"],
        checks: &[("python", ".venv/bin/python -m pytest")],
        carry: &[],
    },
    Case {
        name: "a workspace of uv with a group that is not installed by default",
        files: &[
            (
                "pyproject.toml",
                "[project]\nname = \"a\"\n[project.optional-dependencies]\ntest = [\"pytest\"]\nfast = []\n\
                 [dependency-groups]\ndev = [\"ruff\"]\ntests = [\"x\"]\n[tool.uv.workspace]\nmembers = [\"packages/*\"]\n[tool.ruff]\nfix = true\n",
            ),
            ("uv.lock", ""),
            ("packages/b/test_b.py", ""),
        ],
        prepare: &["uv sync --frozen --all-packages --group tests --extra test"],
        checks: &[("lint", ".venv/bin/python -m ruff check --no-fix ."), ("python", ".venv/bin/python -m pytest")],
        carry: &[],
    },
    Case {
        name: "Python with an editable install by pip",
        files: &[
            (
                "pyproject.toml",
                "[project]\nname = \"a\"\n[project.optional-dependencies]\ntest = [\"pytest>=8\"]\n[build-system]\nrequires = []\n",
            ),
            ("requirements.txt", "click\n"),
            ("src/a/__init__.py", ""),
            ("tests/test_a.py", ""),
        ],
        prepare: &[
            "python3 -m venv .venv && echo '*' > .venv/.gitignore && .venv/bin/pip install --quiet -r requirements.txt -e '.[test]'",
        ],
        checks: &[("python", ".venv/bin/python -m pytest")],
        carry: &[],
    },
    Case {
        name: "Python with groups, which need a newer pip",
        files: &[
            ("pyproject.toml", "[project]\nname = \"a\"\n[dependency-groups]\ntests = [\"coverage\"]\n"),
            ("tests/test_a.py", ""),
        ],
        prepare: &[
            "python3 -m venv .venv && echo '*' > .venv/.gitignore && .venv/bin/pip install --quiet 'pip>=25.1' && .venv/bin/pip install --quiet --group tests -e . pytest",
        ],
        checks: &[("python", ".venv/bin/python -m pytest")],
        carry: &[],
    },
    Case {
        name: "Django with requirements",
        files: &[("requirements.txt", "Django==5.1\n"), ("manage.py", ""), ("polls/tests.py", "")],
        prepare: &[
            "python3 -m venv .venv && echo '*' > .venv/.gitignore && .venv/bin/pip install --quiet -r requirements.txt",
        ],
        checks: &[("python", ".venv/bin/python manage.py test")],
        carry: &[],
    },
    Case {
        name: "Python sources that no manifest installs",
        files: &[("requirements.txt", "pytest\n"), ("src/a.py", ""), ("tests/test_a.py", "")],
        prepare: &[
            "python3 -m venv .venv && echo '*' > .venv/.gitignore && .venv/bin/pip install --quiet -r requirements.txt",
        ],
        checks: &[("python", "PYTHONPATH=\"$PWD/src\" .venv/bin/python -m pytest")],
        carry: &[],
    },
    Case {
        name: "Python with requirements of tests and of development",
        files: &[
            ("setup.py", ""),
            ("requirements/tests.txt", "pytest==8.0\n"),
            ("requirements/dev.txt", "-r tests.txt\nsphinx\n"),
            ("tests/test_a.py", ""),
        ],
        prepare: &[
            "python3 -m venv .venv && echo '*' > .venv/.gitignore && .venv/bin/pip install --quiet -r requirements/tests.txt -e .",
        ],
        checks: &[("python", ".venv/bin/python -m pytest")],
        carry: &[],
    },
    Case {
        name: "Poetry",
        files: &[("pyproject.toml", "[tool.poetry]\nname = \"a\"\n[tool.pytest.ini_options]\n"), ("poetry.lock", "")],
        prepare: &["POETRY_VIRTUALENVS_IN_PROJECT=true poetry install --no-interaction"],
        checks: &[("python", ".venv/bin/python -m pytest")],
        carry: &[],
    },
    Case {
        name: "Python without tests",
        files: &[("pyproject.toml", "[project]\nname = \"a\"\n"), ("a.py", "")],
        prepare: &[],
        checks: &[],
        carry: &[],
    },
    Case {
        name: "a Go module",
        files: &[("go.mod", "module a\n\nrequire example.com/b v1.0.0\n"), ("go.sum", ""), ("a.go", "")],
        prepare: &["go mod download"],
        checks: &[("go", "go build ./... && go test ./...")],
        carry: &[],
    },
    Case {
        name: "a Go workspace",
        files: &[
            ("go.work", "go 1.22\n\nuse (\n\t./api // first\n\t\"./lib/deep\"\n)\nuse .\n"),
            ("go.mod", "module top\n"),
            ("api/go.mod", "module api\n"),
            ("lib/deep/go.mod", "module deep\n"),
        ],
        prepare: &[],
        checks: &[("go", "go build ./api/... ./lib/deep/... ./... && go test ./api/... ./lib/deep/... ./...")],
        carry: &[],
    },
    Case {
        name: "PHP with a script",
        files: &[
            (
                "composer.json",
                r#"{"scripts": {"test": ["@php tests/run.php"]}, "require-dev": {"phpunit/phpunit": "*"}}"#,
            ),
            ("composer.lock", "{}"),
        ],
        prepare: &["composer install --no-interaction --no-progress"],
        checks: &[("php", "composer run --timeout=0 test")],
        carry: &[],
    },
    Case {
        name: "PHP with PHPUnit and PHPStan",
        files: &[
            ("composer.json", r#"{"require-dev": {"phpunit/phpunit": "^11", "phpstan/phpstan": "^2"}}"#),
            ("phpstan.neon.dist", ""),
            ("phpunit.xml.dist", ""),
        ],
        prepare: &["composer install --no-interaction --no-progress"],
        checks: &[("phpstan", "vendor/bin/phpstan analyse --no-progress"), ("php", "vendor/bin/phpunit")],
        carry: &[],
    },
    Case {
        name: "Laravel with Pest and Vite",
        files: &[
            ("composer.json", r#"{"require": {"laravel/framework": "^12"}, "require-dev": {"pestphp/pest": "^3"}}"#),
            ("composer.lock", "{}"),
            ("artisan", ""),
            (".env.example", "APP_KEY=\n"),
            ("tests/Feature/ExampleTest.php", ""),
            ("package.json", r#"{"scripts": {"build": "vite build", "dev": "vite"}}"#),
        ],
        prepare: &[
            "npm install --no-package-lock --prefer-offline --no-audit --no-fund",
            "composer install --no-interaction --no-progress",
            "test -e .env || { cp .env.example .env && php artisan key:generate; }",
        ],
        checks: &[("build", "npm run build"), ("php", "vendor/bin/pest")],
        carry: &[],
    },
    Case { name: "PHP without tests", files: &[("composer.json", "{}")], prepare: &[], checks: &[], carry: &[] },
    Case {
        name: "Maven",
        files: &[("pom.xml", "<project/>")],
        prepare: &[
            "mvn --batch-mode --quiet verify -Dtest=NoTestAtAll -DfailIfNoTests=false -Dsurefire.failIfNoSpecifiedTests=false -DskipITs",
        ],
        checks: &[("maven", "mvn --batch-mode --offline verify")],
        carry: &[],
    },
    Case {
        name: "Gradle with its wrapper",
        files: &[("settings.gradle.kts", ""), ("build.gradle.kts", ""), ("gradlew", ""), ("app/build.gradle.kts", "")],
        prepare: &["./gradlew --no-daemon --quiet testClasses"],
        checks: &[("gradle", "./gradlew --no-daemon --offline check")],
        carry: &[],
    },
    Case {
        name: "a Makefile",
        files: &[("Makefile", "TEST := x\nall:\n\ttrue\ntests check: all\n\ttest: no\n")],
        prepare: &[],
        checks: &[("test", "make check")],
        carry: &[],
    },
    Case {
        name: "a Makefile beside Cargo is left out",
        files: &[("Makefile", "test:\n\tcargo test\n"), ("Cargo.toml", "[package]\nname = \"a\"\n")],
        prepare: &["cargo fetch"],
        checks: &[("rust", "cargo test --offline")],
        carry: &["target"],
    },
    Case {
        name: "projects in folders of their own",
        files: &[
            ("backend/go.mod", "module a\n"),
            ("my web/package.json", r#"{"scripts": {"test": "node --test"}}"#),
            ("my web/package-lock.json", "{}"),
            ("backend/testdata/b/go.mod", "module b\n"),
            ("tools/requirements.txt", "click\n"),
        ],
        prepare: &["cd 'my web' && npm ci --prefer-offline --no-audit --no-fund"],
        checks: &[
            ("my-web-test", "cd 'my web' && npm run test"),
            ("backend-go", "cd backend && go build ./... && go test ./..."),
        ],
        carry: &[],
    },
    Case {
        name: "a page with a lock file of its own beside a Rust program",
        files: &[
            ("Cargo.toml", "[workspace]\n"),
            ("Cargo.lock", ""),
            ("page/package.json", r#"{"scripts": {"test": "vitest run"}}"#),
            ("page/package-lock.json", "{}"),
        ],
        prepare: &["cargo fetch --locked", "cd page && npm ci --prefer-offline --no-audit --no-fund"],
        checks: &[("rust", "cargo test --workspace --locked --offline"), ("page-test", "cd page && npm run test")],
        carry: &["target"],
    },
    Case { name: "nothing that is known", files: &[("README.md", "")], prepare: &[], checks: &[], carry: &[] },
];

fn tree(files: &[(&str, &str)]) -> Tree {
    let mut tree = Tree::new(files.iter().map(|(path, _)| (*path).to_owned()));
    for path in tree.manifests() {
        let (_, text) = files.iter().find(|(known, _)| *known == path).unwrap();
        tree.add_content(path, (*text).to_owned());
    }
    tree
}

#[test]
fn each_kind_of_repository_gets_checks_that_guard_it() {
    for case in CASES {
        let proposal = propose(&tree(case.files));
        let settings =
            Settings::parse(&proposal.text).unwrap_or_else(|e| panic!("{}: {e:?}\n{}", case.name, proposal.text));
        let checks: Vec<(&str, &str)> =
            settings.checks.list.iter().map(|(name, check)| (name.as_str(), check.run.as_str())).collect();
        assert_eq!(checks, case.checks, "{}", case.name);
        assert_eq!(settings.checks.prepare, case.prepare, "{}", case.name);
        assert_eq!(settings.worktree.carry, case.carry, "{}", case.name);
        let setup: Vec<&str> = case.prepare.iter().copied().filter(|command| !command.contains("cargo")).collect();
        assert_eq!(settings.worktree.setup, setup, "{}", case.name);
        assert_eq!(proposal.has_checks, !case.checks.is_empty(), "{}", case.name);
        assert_eq!(proposal.text.contains("NOTHING IS CHECKED YET"), case.checks.is_empty(), "{}", case.name);
        assert_eq!(
            settings.check_network(&crate::settings::CheckSettings::new("x")),
            flower_contract::view::NetworkMode::Closed
        );
    }
}

#[test]
fn what_was_found_and_what_is_needed_is_named() {
    let of = |name: &str| propose(&tree(CASES.iter().find(|case| case.name == name).unwrap().files));
    let laravel = of("Laravel with Pest and Vite");
    assert_eq!(laravel.found, ["package.json: Node with npm", "composer.json: PHP with Laravel"]);
    assert_eq!(laravel.programs, ["node", "npm", "php", "composer"]);
    let workspace = of("an npm workspace whose packages have the tests");
    assert_eq!(workspace.found, ["package.json: Node with npm, a workspace of 2 packages"]);
    assert_eq!(of("Python with uv's lock, such as Flask").found, ["pyproject.toml: Python with uv"]);
    assert!(of("nothing that is known").found.is_empty());
}

/// A repository can contain any text in these places.
#[test]
fn no_manifest_makes_a_proposal_that_cannot_be_read() {
    for text in [
        "",
        "{",
        "[",
        "\0",
        "{\"scripts\": 3}",
        "{\"workspaces\": {\"packages\": \"x\"}}",
        "[workspace]\nmembers = 3",
        "use (\nuse (",
    ] {
        for name in ["Cargo.toml", "package.json", "composer.json", "go.mod", "go.work", "pyproject.toml", "Makefile"] {
            let proposal = propose(&tree(&[(name, text), ("test_a.py", "")]));
            assert!(Settings::parse(&proposal.text).is_ok(), "{name} {text:?}: {}", proposal.text);
        }
    }
    let odd = "a \"b\" 'c' $(d) \\e/package.json";
    let proposal = propose(&tree(&[(odd, r#"{"scripts": {"test": "x"}}"#)]));
    let settings = Settings::parse(&proposal.text).unwrap();
    assert_eq!(settings.checks.list[0].1.run, r#"cd 'a "b" '\''c'\'' $(d) \e' && npm run test"#);
}

#[test]
fn the_manifests_of_a_huge_repository_are_bounded() {
    let many = (0..5000).map(|number| format!("packages/p{number}/package.json"));
    let tree = Tree::new(many.chain(["package.json".to_owned(), "node_modules/x/package.json".to_owned()]));
    let manifests = tree.manifests();
    assert_eq!((manifests.len(), manifests[0].as_str()), (400, "package.json"));
    assert!(!manifests.iter().any(|path| path.contains("node_modules")));
}
