//! Python: an environment of its own in every candidate and worktree, so that an editable install leads to the candidate.

use super::{Part, Tree, check_name, in_folder, manifest_of};
use std::collections::BTreeSet;
use toml::{Table, Value};

const MANIFESTS: &[&str] = &["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile"];
const LOCKS: &[&str] = &["uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock"];
/// Groups and extras with what tests need.
const TEST_GROUPS: &[&str] = &["dev", "test", "tests", "testing"];
const REQUIREMENTS: &[&str] = &["requirements.txt", "requirements/base.txt"];
/// What tests need. The files for development are taken only if there is none for tests, because they contain far more.
const TEST_REQUIREMENTS: &[&str] = &[
    "requirements-test.txt",
    "requirements-tests.txt",
    "test-requirements.txt",
    "requirements/test.txt",
    "requirements/tests.txt",
    "requirements/testing.txt",
];
const DEV_REQUIREMENTS: &[&str] =
    &["requirements-dev.txt", "requirements_dev.txt", "dev-requirements.txt", "requirements/dev.txt"];
/// Makes the environment, and hides it from git, which older versions of `venv` do not.
const MAKE_VENV: &str = "python3 -m venv .venv && echo '*' > .venv/.gitignore";

pub(super) fn parts(tree: &Tree) -> Vec<Part> {
    let own = [LOCKS, &["requirements.txt"]].concat();
    let mut found: Vec<Part> = tree.projects(MANIFESTS, &own).iter().map(|dir| part(tree, dir)).collect();
    // Folders without a test, such as `tools`, are no projects of their own.
    found.retain(|part| !part.checks.is_empty() || found_at_top(part));
    found
}

fn found_at_top(part: &Part) -> bool {
    !part.found.split(':').next().is_some_and(|manifest| manifest.contains('/'))
}

fn part(tree: &Tree, dir: &str) -> Part {
    let project = Project { tree, dir, manifest: tree.toml(dir, "pyproject.toml") };
    let (programs, install, with) = project.install();
    let checks = project.checks().into_iter();
    Part {
        found: format!("{}: Python with {with}", manifest_of(dir, tree.first(dir, MANIFESTS).unwrap_or("Python"))),
        programs,
        install: vec![in_folder(dir, &install)],
        checks: checks.map(|(name, run)| (check_name(dir, name), in_folder(dir, &run))).collect(),
        carry: Vec::new(),
    }
}

struct Project<'a> {
    tree: &'a Tree,
    dir: &'a str,
    manifest: Table,
}

impl Project<'_> {
    fn has(&self, name: &str) -> bool {
        self.tree.has(self.dir, name)
    }

    /// The value at a path of `pyproject.toml`.
    fn setting(&self, path: &[&str]) -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        rest.iter().try_fold(self.manifest.get(*first)?, |value, key| value.get(key))
    }

    fn keys(&self, path: &[&str]) -> BTreeSet<String> {
        self.setting(path).and_then(Value::as_table).into_iter().flat_map(|table| table.keys().cloned()).collect()
    }

    /// The programs, the command that makes `.venv`, and its tool.
    fn install(&self) -> (Vec<&'static str>, String, &'static str) {
        if self.has("uv.lock") {
            return (vec!["uv"], self.uv_sync(), "uv");
        }
        if self.has("poetry.lock") {
            let install = "POETRY_VIRTUALENVS_IN_PROJECT=true poetry install --no-interaction";
            return (vec!["poetry"], format!("{install}{}", self.flags("--extras", &self.extras())), "Poetry");
        }
        if self.has("pdm.lock") {
            return (vec!["pdm"], "pdm install --frozen-lockfile".to_owned(), "PDM");
        }
        if self.has("Pipfile.lock") {
            return (vec!["pipenv"], "PIPENV_VENV_IN_PROJECT=1 pipenv sync --dev".to_owned(), "Pipenv");
        }
        (vec!["python3"], self.pip_install(), "pip")
    }

    fn uv_sync(&self) -> String {
        let workspace = if self.setting(&["tool", "uv", "workspace"]).is_some() { " --all-packages" } else { "" };
        let defaults = self.setting(&["tool", "uv", "default-groups"]);
        let is_default = |group: &str| match defaults {
            Some(Value::Array(groups)) => groups.iter().any(|known| known.as_str() == Some(group)),
            Some(Value::String(all)) => all == "all",
            _ => group == "dev",
        };
        let groups: Vec<String> = self.groups().into_iter().filter(|group| !is_default(group)).collect();
        let flags = [self.flags("--group", &groups), self.flags("--extra", &self.extras())].concat();
        format!("uv sync --frozen{workspace}{flags}")
    }

    fn pip_install(&self) -> String {
        let mut wanted: Vec<String> = self.requirements().map(|file| format!("-r {file}")).collect();
        let groups = self.groups();
        wanted.extend(groups.iter().map(|group| format!("--group {group}")));
        if self.is_package() {
            let extras = self.extras();
            wanted.push(if extras.is_empty() { "-e .".to_owned() } else { format!("-e '.[{}]'", extras.join(",")) });
        }
        if self.runner() == Some(Runner::Pytest) && !self.mentions("pytest") {
            wanted.push("pytest".to_owned());
        }
        // Groups are known to pip from version 25.1 on.
        let newer = if groups.is_empty() { "" } else { " && .venv/bin/pip install --quiet 'pip>=25.1'" };
        format!("{MAKE_VENV}{newer} && .venv/bin/pip install --quiet {}", wanted.join(" "))
    }

    /// The files with requirements that pip installs.
    fn requirements(&self) -> impl Iterator<Item = &'static str> {
        let of_tests = self.tree.first(self.dir, TEST_REQUIREMENTS);
        let more = of_tests.or_else(|| self.tree.first(self.dir, DEV_REQUIREMENTS));
        REQUIREMENTS.iter().copied().filter(|file| self.has(file)).chain(more)
    }

    fn flags(&self, flag: &str, values: &[String]) -> String {
        values.iter().map(|value| format!(" {flag} {value}")).collect()
    }

    /// Whether pip can install the folder.
    fn is_package(&self) -> bool {
        self.has("setup.py")
            || self.manifest.contains_key("build-system")
            || self.setting(&["project", "name"]).is_some()
            || (self.has("setup.cfg") && self.tree.text(self.dir, "setup.cfg").contains("[metadata]"))
    }

    fn groups(&self) -> Vec<String> {
        test_groups(&self.keys(&["dependency-groups"]))
    }

    fn extras(&self) -> Vec<String> {
        let poetry = self.keys(&["tool", "poetry", "extras"]);
        test_groups(&self.keys(&["project", "optional-dependencies"]).union(&poetry).cloned().collect())
    }

    /// Whether a manifest names this requirement.
    fn mentions(&self, package: &str) -> bool {
        let files = ["pyproject.toml", "setup.py", "setup.cfg", "Pipfile"].into_iter().chain(self.requirements());
        let texts = files.map(|file| self.tree.text(self.dir, file));
        texts.flat_map(str::lines).any(|line| {
            let line = line.trim_start_matches([' ', '\t', '"', '\'', '[', '-']);
            line.strip_prefix(package).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
                || line.contains(&format!("\"{package}"))
                || line.contains(&format!("'{package}"))
        })
    }

    fn runner(&self) -> Option<Runner> {
        let text = |name: &str| self.tree.text(self.dir, name);
        let configured = self.has("pytest.ini")
            || self.has("conftest.py")
            || self.setting(&["tool", "pytest"]).is_some()
            || text("setup.cfg").contains("[tool:pytest]")
            || text("tox.ini").contains("[pytest]");
        let is_test = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or(path);
            name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py") || name == "tests.py")
        };
        let has_tests = self.tree.below(self.dir).any(is_test);
        if configured || (has_tests && self.mentions("pytest")) {
            return Some(Runner::Pytest);
        }
        match has_tests {
            true if self.has("manage.py") => Some(Runner::Django),
            true => Some(Runner::Pytest),
            false => None,
        }
    }

    fn checks(&self) -> Vec<(&'static str, String)> {
        let mut checks = Vec::new();
        // What is installed leads to the sources of the candidate by itself.
        let has_uninstalled_sources = !self.is_package() && self.tree.has_folder(self.dir, "src");
        let path = if has_uninstalled_sources { "PYTHONPATH=\"$PWD/src\" " } else { "" };
        let python = format!("{path}.venv/bin/python");
        let has_tool = |tool: &str| self.setting(&["tool", tool]).is_some() && self.mentions(tool);
        if has_tool("ruff") {
            checks.push(("lint", ".venv/bin/python -m ruff check --no-fix .".to_owned()));
        }
        match self.runner() {
            Some(Runner::Pytest) => checks.push(("python", format!("{python} -m pytest"))),
            Some(Runner::Django) => checks.push(("python", format!("{python} manage.py test"))),
            None => {}
        }
        checks
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runner {
    /// Also runs tests of `unittest`.
    Pytest,
    Django,
}

fn test_groups(known: &BTreeSet<String>) -> Vec<String> {
    TEST_GROUPS.iter().filter(|group| known.contains(**group)).map(|group| (*group).to_owned()).collect()
}
