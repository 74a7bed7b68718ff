//! Proposes a `flower.toml` from the names of all files of a repository and the contents of its manifests. One file per ecosystem;
//! everything here is pure.

pub(super) mod advice;
mod cargo;
mod go;
mod jvm;
mod make;
mod node;
mod php;
mod python;
mod tree;

pub(super) use tree::Tree;

/// Time limit of each proposed check: enough for a cold build.
const TIMEOUT: &str = "20m";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Proposal {
    pub(super) text: String,
    /// What the proposal was derived from.
    pub(super) found: Vec<String>,
    /// Programs that its commands start.
    pub(super) programs: Vec<&'static str>,
    pub(super) has_checks: bool,
}

/// What one ecosystem contributes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Part {
    found: String,
    programs: Vec<&'static str>,
    /// Commands that need the network: in each candidate before the checks, and in each new worktree.
    install: Vec<String>,
    checks: Vec<(String, String)>,
    carry: Vec<String>,
}

pub(super) fn propose(tree: &Tree) -> Proposal {
    let ecosystems = [cargo::parts, node::parts, php::parts, go::parts, python::parts, jvm::parts];
    let mut parts: Vec<Part> = ecosystems.iter().flat_map(|parts| parts(tree)).collect();
    // A Makefile often only calls the tools of the ecosystem.
    if parts.iter().all(|part| part.checks.is_empty()) {
        parts.extend(make::part(tree));
    }
    let mut programs: Vec<&str> = Vec::new();
    for program in parts.iter().flat_map(|part| &part.programs) {
        if !programs.contains(program) {
            programs.push(program);
        }
    }
    Proposal {
        text: render(&parts),
        found: parts.iter().map(|part| part.found.clone()).collect(),
        programs,
        has_checks: parts.iter().any(|part| !part.checks.is_empty()),
    }
}

fn render(parts: &[Part]) -> String {
    let mut text = String::from(
        "# How flower handles this repository. Commands run in a jail, and only once they are approved.\n\n[checks]\n",
    );
    // What no check uses is not installed.
    let parts: Vec<&Part> = parts.iter().filter(|part| !part.checks.is_empty()).collect();
    if parts.is_empty() {
        text.push_str(
            "# NOTHING IS CHECKED YET. Name what must pass before anything lands on MAIN, for instance:\n\
             # test = { run = \"make test\", timeout = \"10m\" }\n",
        );
    }
    let install: Vec<&String> = parts.iter().flat_map(|part| &part.install).collect();
    if !install.is_empty() {
        text.push_str(
            "# Makes the merged tree ready, with the network; the result is reused for the same lock files.\n\
             # The checks themselves have no network but a loopback of their own.\n",
        );
        text.push_str(&format!("prepare = {}\n", list(&install)));
    }
    let mut names: Vec<String> = Vec::new();
    for (name, run) in parts.iter().flat_map(|part| &part.checks) {
        let name = unique(name, &names);
        text.push_str(&format!("{name} = {{ run = {}, timeout = \"{TIMEOUT}\" }}\n", quoted(run)));
        names.push(name);
    }
    let carry: Vec<&String> = parts.iter().flat_map(|part| &part.carry).collect();
    if !install.is_empty() || !carry.is_empty() {
        text.push_str("\n[worktree]\n");
    }
    let setup: Vec<&String> =
        parts.iter().filter(|part| part.carry.is_empty()).flat_map(|part| &part.install).collect();
    if !setup.is_empty() {
        text.push_str(&format!("# Makes a new worktree ready:\nsetup = {}\n", list(&setup)));
    }
    if !carry.is_empty() {
        text.push_str("# Ignored folders that a new worktree, and every check, begins with a copy of:\n");
        text.push_str(&format!("carry = {}\n", list(&carry)));
    }
    text.push_str(
        "\n[land]\n# approve = \"operator\"   # every landing waits for you; otherwise only landings that need approval do\n# history = \"merge\"      # or \"squash\", or \"rebase\"\n# push = true             # after every landing\n",
    );
    text
}

/// A name that no other check has.
fn unique(name: &str, taken: &[String]) -> String {
    let mut tries = std::iter::once(name.to_owned()).chain((2..).map(|number| format!("{name}-{number}")));
    tries.find(|name| !taken.contains(name)).unwrap_or_else(|| name.to_owned())
}

fn list(commands: &[&String]) -> String {
    match commands {
        [one] => format!("[{}]", quoted(one)),
        all => format!("[\n{}]", all.iter().map(|text| format!("    {},\n", quoted(text))).collect::<String>()),
    }
}

/// The text as TOML: without escapes if possible, because the operator reads it.
fn quoted(text: &str) -> String {
    if text.contains(['"', '\\']) && !text.contains('\'') && !text.chars().any(char::is_control) {
        return format!("'{text}'");
    }
    serde_json::Value::from(text).to_string()
}

/// The command in a folder of the repository.
fn in_folder(dir: &str, command: &str) -> String {
    if dir.is_empty() { command.to_owned() } else { format!("cd {} && {command}", shell_quoted(dir)) }
}

fn shell_quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@".contains(c);
    if text.chars().all(plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// The name of a check of the project in this folder.
fn check_name(dir: &str, name: &str) -> String {
    if dir.is_empty() {
        return name.to_owned();
    }
    let dir: String = dir.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    format!("{}-{name}", dir.trim_matches('-'))
}

/// The path of the manifest, for the operator.
fn manifest_of(dir: &str, name: &str) -> String {
    if dir.is_empty() { name.to_owned() } else { format!("{dir}/{name}") }
}

#[cfg(test)]
mod tests;
