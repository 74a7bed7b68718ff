//! JavaScript and TypeScript with npm, pnpm, Yarn or Bun, and their workspaces.

use super::{Part, Tree, check_name, in_folder, manifest_of};
use flower_core::pattern::Pattern;
use serde_json::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manager {
    Npm,
    Pnpm,
    /// Version 1.
    Yarn,
    /// From version 2 on.
    Berry,
    Bun,
}

const LOCKS: &[&str] =
    &["pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb", "package-lock.json", "npm-shrinkwrap.json"];

/// The scripts that are checks, with the names that projects use for them, in the order in which they run.
const SCRIPTS: &[(&str, &[&str])] = &[
    ("lint", &["lint"]),
    ("typecheck", &["typecheck", "type-check", "check-types", "check:types", "types:check", "tsc"]),
    ("build", &["build"]),
    // Those that end by themselves first.
    ("test", &["test:ci", "test:run", "test"]),
];

/// Words in a script of the top that show that it reaches the packages of the workspace.
const REACHES_PACKAGES: &[&str] = &[
    "turbo",
    "nx ",
    "lerna",
    "wireit",
    "moon",
    "-ws",
    "workspace",
    "recursive",
    "pnpm -r",
    "--filter",
    "vitest",
    "jest",
    "packages/",
    "preconstruct",
    "nps",
    "gulp",
    "rush",
    "wsrun",
    "ultra",
    "eslint",
    "biome",
    "oxlint",
    "tsc",
];

pub(super) fn parts(tree: &Tree) -> Vec<Part> {
    tree.projects(&["package.json"], LOCKS).iter().map(|dir| part(tree, dir)).collect()
}

fn part(tree: &Tree, dir: &str) -> Part {
    let manifest = tree.json(dir, "package.json");
    let manager = manager(tree, dir, &manifest);
    let packages = packages(tree, dir, &manifest);
    let mut checks = Vec::new();
    for (name, scripts) in SCRIPTS {
        let script = scripts.iter().find_map(|script| Some((*script, runnable(&manifest, script)?)));
        let in_packages = scripts.iter().find(|script| {
            packages.iter().any(|package| runnable(&tree.json(package, "package.json"), script).is_some())
        });
        if let Some((script, text)) = script {
            checks.push((check_name(dir, name), in_folder(dir, &manager.run(script, text))));
        }
        let reached = script.is_some_and(|(_, text)| REACHES_PACKAGES.iter().any(|word| text.contains(word)));
        if let Some(script) = in_packages.filter(|_| !reached) {
            let name = if checks.iter().any(|(known, _)| *known == check_name(dir, name)) {
                format!("{name}-packages")
            } else {
                (*name).to_owned()
            };
            checks.push((check_name(dir, &name), in_folder(dir, &manager.run_in_packages(script))));
        }
    }
    let has_lock = manager.locks().iter().any(|lock| tree.has(dir, lock));
    let workspace =
        if packages.is_empty() { String::new() } else { format!(", a workspace of {} packages", packages.len()) };
    Part {
        found: format!("{}: Node with {}{workspace}", manifest_of(dir, "package.json"), manager.name()),
        programs: manager.programs(),
        install: vec![in_folder(dir, manager.install(has_lock))],
        checks,
        carry: Vec::new(),
    }
}

/// The package manager that the manifest names; otherwise that of the lock file.
fn manager(tree: &Tree, dir: &str, manifest: &Value) -> Manager {
    let engine = &manifest["devEngines"]["packageManager"];
    let named = manifest["packageManager"]
        .as_str()
        .map(str::to_owned)
        .or_else(|| Some(format!("{}@{}", engine["name"].as_str()?, engine["version"].as_str().unwrap_or_default())));
    let is_berry = tree.has(dir, ".yarnrc.yml") || tree.text(dir, "yarn.lock").contains("\n__metadata:");
    if let Some(named) = named {
        let (name, version) = named.split_once('@').unwrap_or((&named, ""));
        match name {
            "pnpm" => return Manager::Pnpm,
            "yarn" => {
                let classic = version.trim_start_matches(['^', '~', '>', '=', ' ', 'v']).starts_with("1.");
                return if classic || (version.is_empty() && !is_berry) { Manager::Yarn } else { Manager::Berry };
            }
            "bun" => return Manager::Bun,
            "npm" => return Manager::Npm,
            _ => {}
        }
    }
    match tree.first(dir, LOCKS) {
        Some("pnpm-lock.yaml") => Manager::Pnpm,
        Some("yarn.lock") if is_berry => Manager::Berry,
        Some("yarn.lock") => Manager::Yarn,
        Some("bun.lock" | "bun.lockb") => Manager::Bun,
        None if tree.has(dir, "pnpm-workspace.yaml") => Manager::Pnpm,
        Some(_) | None => Manager::Npm,
    }
}

impl Manager {
    fn name(self) -> &'static str {
        match self {
            Manager::Npm => "npm",
            Manager::Pnpm => "pnpm",
            Manager::Yarn | Manager::Berry => "yarn",
            Manager::Bun => "bun",
        }
    }

    fn programs(self) -> Vec<&'static str> {
        match self {
            Manager::Bun => vec!["bun"],
            other => vec!["node", other.name()],
        }
    }

    fn locks(self) -> &'static [&'static str] {
        match self {
            Manager::Npm => &["package-lock.json", "npm-shrinkwrap.json"],
            Manager::Pnpm => &["pnpm-lock.yaml"],
            Manager::Yarn | Manager::Berry => &["yarn.lock"],
            Manager::Bun => &["bun.lock", "bun.lockb"],
        }
    }

    /// Installs what the lock file says, and fails if it does not fit the manifests.
    fn install(self, has_lock: bool) -> &'static str {
        match (self, has_lock) {
            (Manager::Npm, true) => "npm ci --prefer-offline --no-audit --no-fund",
            (Manager::Npm, false) => "npm install --no-package-lock --prefer-offline --no-audit --no-fund",
            (Manager::Pnpm, true) => "pnpm install --frozen-lockfile --prefer-offline",
            (Manager::Pnpm, false) => "pnpm install --no-frozen-lockfile --prefer-offline",
            (Manager::Yarn, true) => "yarn install --frozen-lockfile --non-interactive",
            (Manager::Yarn, false) => "yarn install --no-lockfile --non-interactive",
            (Manager::Berry, true) => "yarn install --immutable",
            (Manager::Berry, false) => "yarn install --no-immutable",
            (Manager::Bun, true) => "bun install --frozen-lockfile",
            (Manager::Bun, false) => "bun install --no-save",
        }
    }

    fn run(self, script: &str, text: &str) -> String {
        // These wait for changes of files unless they are told otherwise; most others look at `CI`, which checks have.
        let ends = text.contains("ng test") || (text.contains("--watch") && !text.contains("--watch=false"));
        let rest = match (ends, self) {
            (false, _) => "",
            (true, Manager::Npm) => " -- --watch=false",
            (true, _) => " --watch=false",
        };
        format!("{} run {script}{rest}", self.name())
    }

    fn run_in_packages(self, script: &str) -> String {
        match self {
            Manager::Npm => format!("npm run {script} --workspaces --if-present"),
            Manager::Pnpm => format!("pnpm --recursive --if-present run {script}"),
            // Version 1 has nothing for packages without the script.
            Manager::Yarn => format!("npm run {script} --workspaces --if-present"),
            Manager::Berry => format!("yarn workspaces foreach --all run {script}"),
            Manager::Bun => format!("bun run --filter '*' {script}"),
        }
    }
}

/// A script, unless it is npm's default, which always fails.
fn runnable<'a>(manifest: &'a Value, script: &str) -> Option<&'a str> {
    manifest["scripts"][script].as_str().filter(|text| !text.trim().is_empty() && !text.contains("no test specified"))
}

/// The folders of the packages of a workspace.
fn packages(tree: &Tree, dir: &str, manifest: &Value) -> Vec<String> {
    let listed = match &manifest["workspaces"] {
        Value::Array(list) => list,
        other => other["packages"].as_array().unwrap_or(const { &Vec::new() }),
    };
    let mut globs: Vec<String> = listed.iter().filter_map(|glob| glob.as_str().map(str::to_owned)).collect();
    globs.extend(pnpm_packages(tree.text(dir, "pnpm-workspace.yaml")));
    let pattern = |glob: &str| {
        let glob = glob.strip_prefix("./").unwrap_or(glob).trim_end_matches('/');
        Pattern::parse(&format!("{glob}/package.json")).ok()
    };
    let (without, with): (Vec<String>, Vec<String>) = globs.into_iter().partition(|glob| glob.starts_with('!'));
    let with: Vec<Pattern> = with.iter().filter_map(|glob| pattern(glob)).collect();
    let without: Vec<Pattern> = without.iter().filter_map(|glob| pattern(&glob[1..])).collect();
    tree.below(dir)
        .filter(|path| path.ends_with("/package.json") && !path.contains("node_modules/"))
        .filter(|path| with.iter().any(|glob| glob.matches(path)) && !without.iter().any(|glob| glob.matches(path)))
        .filter_map(|path| path.rsplit_once('/'))
        .map(|(package, _)| manifest_of(dir, package))
        .collect()
}

/// The list `packages` of a `pnpm-workspace.yaml`.
fn pnpm_packages(yaml: &str) -> Vec<String> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in yaml.lines() {
        let item = line.split(" #").next().unwrap_or_default().trim();
        if let Some(rest) = line.strip_prefix("packages:") {
            inside = true;
            // On one line.
            let list = rest.trim().trim_start_matches('[').trim_end_matches(']');
            found.extend(list.split(',').map(unquoted).filter(|glob| !glob.is_empty()));
        } else if let Some(glob) = item.strip_prefix("- ").filter(|_| inside) {
            found.push(unquoted(glob));
        } else if !item.is_empty() && !item.starts_with('#') {
            inside = false;
        }
    }
    found
}

fn unquoted(text: &str) -> String {
    text.trim().trim_matches(['"', '\'']).to_owned()
}
