//! The files of a repository, as far as a proposal reads them.

use std::collections::{BTreeMap, BTreeSet};

/// Manifests that are read, by file name.
const READ: &[&str] = &[
    "Cargo.toml",
    "package.json",
    "pnpm-workspace.yaml",
    "composer.json",
    "go.mod",
    "go.work",
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    "tox.ini",
    "pytest.ini",
    "Pipfile",
    "Makefile",
    "makefile",
    "GNUmakefile",
];
/// Of these only the ones at the top are read, because they can be large or many.
const READ_AT_TOP: &[&str] = &["yarn.lock", ".yarnrc.yml"];
/// Folders above a manifest that is read: workspaces are rarely deeper.
const MAX_DEPTH: usize = 4;
/// Manifests that are read; more do not change a proposal.
const MAX_MANIFESTS: usize = 400;
/// Projects in folders of their own, for one ecosystem. A repository with more needs its own thoughts.
const MAX_FOLDERS: usize = 6;
/// Folders whose manifests do not belong to the project itself.
const FOREIGN: &[&str] = &[
    "node_modules",
    "vendor",
    "third_party",
    "third-party",
    "external",
    "examples",
    "example",
    "samples",
    "fixtures",
    "fixture",
    "testdata",
    "test",
    "tests",
    "__tests__",
    "docs",
    "doc",
    "templates",
    "template",
    "benchmarks",
    "bench",
    "dist",
    "build",
    "target",
];

#[derive(Clone, Debug, Default)]
pub(in crate::merge_queue) struct Tree {
    paths: BTreeSet<String>,
    contents: BTreeMap<String, String>,
}

impl Tree {
    pub(in crate::merge_queue) fn new(paths: impl IntoIterator<Item = String>) -> Tree {
        Tree { paths: paths.into_iter().collect(), contents: BTreeMap::new() }
    }

    /// The files whose contents a proposal needs; those near the top first.
    pub(in crate::merge_queue) fn manifests(&self) -> Vec<String> {
        let mut found: Vec<&String> = self.paths.iter().filter(|path| is_read(path)).collect();
        found.sort_by_key(|path| path.matches('/').count());
        found.into_iter().take(MAX_MANIFESTS).cloned().collect()
    }

    pub(in crate::merge_queue) fn add_content(&mut self, path: String, text: String) {
        self.contents.insert(path, text);
    }

    /// Whether a folder, `""` for the top, has this file.
    pub(in crate::merge_queue) fn has(&self, dir: &str, name: &str) -> bool {
        self.paths.contains(&join(dir, name))
    }

    /// The first of these files that a folder has.
    pub(super) fn first<'a>(&self, dir: &str, names: &[&'a str]) -> Option<&'a str> {
        names.iter().find(|name| self.has(dir, name)).copied()
    }

    /// The content of a manifest; empty if there is none.
    pub(super) fn text(&self, dir: &str, name: &str) -> &str {
        self.contents.get(&join(dir, name)).map_or("", String::as_str)
    }

    pub(super) fn toml(&self, dir: &str, name: &str) -> toml::Table {
        self.text(dir, name).parse().unwrap_or_default()
    }

    pub(super) fn json(&self, dir: &str, name: &str) -> serde_json::Value {
        serde_json::from_str(self.text(dir, name)).unwrap_or_default()
    }

    /// The files of a folder and below, relative to it.
    pub(super) fn below<'a>(&'a self, dir: &str) -> impl Iterator<Item = &'a str> {
        let prefix = if dir.is_empty() { String::new() } else { format!("{dir}/") };
        let start = prefix.clone();
        self.paths.range(start..).map_while(move |path| path.strip_prefix(&prefix))
    }

    /// Whether a folder has anything in it.
    pub(super) fn has_folder(&self, dir: &str, name: &str) -> bool {
        self.below(&join(dir, name)).next().is_some()
    }

    /// The folders of the projects of an ecosystem: the top if it has one of the `manifests`, otherwise folders below it. A folder
    /// with one of the `locks` is a project of its own in any case.
    pub(super) fn projects(&self, manifests: &[&str], locks: &[&str]) -> Vec<String> {
        let is_project = |dir: &str| self.first(dir, manifests).is_some();
        let at_top = is_project("");
        let mut found: Vec<String> = if at_top { vec![String::new()] } else { Vec::new() };
        let mut folders: Vec<&str> = self
            .paths
            .iter()
            .filter_map(|path| path.rsplit_once('/'))
            .filter(|(_, name)| manifests.contains(name))
            .map(|(dir, _)| dir)
            .filter(|dir| dir.matches('/').count() < 2 && !is_foreign(dir))
            .collect();
        folders.sort_by_key(|dir| dir.matches('/').count());
        folders.dedup();
        for dir in folders {
            let inside = found.iter().any(|outer| !outer.is_empty() && dir.starts_with(&format!("{outer}/")));
            let is_own = self.first(dir, locks).is_some();
            if !inside && (is_own || !at_top) && !found.iter().any(|known| known == dir) && found.len() < MAX_FOLDERS {
                found.push(dir.to_owned());
            }
        }
        found
    }
}

fn is_read(path: &str) -> bool {
    let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_requirements = name.contains("requirements") && name.ends_with(".txt");
    let at_depth = path.matches('/').count() <= MAX_DEPTH && !is_foreign(dir);
    (at_depth && (READ.contains(&name) || is_requirements))
        || (dir.is_empty() && READ_AT_TOP.contains(&name))
        || (dir == "requirements" && name.ends_with(".txt"))
}

fn is_foreign(dir: &str) -> bool {
    dir.split('/').any(|part| FOREIGN.contains(&part) || (part.len() > 1 && part.starts_with('.')))
}

fn join(dir: &str, name: &str) -> String {
    if dir.is_empty() { name.to_owned() } else { format!("{dir}/{name}") }
}
