//! Go modules.

use super::{Part, Tree, check_name, in_folder, manifest_of, shell_quoted};

pub(super) fn parts(tree: &Tree) -> Vec<Part> {
    if tree.has("", "go.work") {
        return workspace(tree).into_iter().collect();
    }
    // Several modules without a workspace are separate projects, whether or not one is at the top.
    tree.projects(&["go.mod"], &["go.mod"]).iter().map(|dir| module(tree, dir)).collect()
}

fn module(tree: &Tree, dir: &str) -> Part {
    let needs = requires(tree.text(dir, "go.mod")) && !tree.has(dir, "vendor/modules.txt");
    Part {
        found: format!("{}: Go", manifest_of(dir, "go.mod")),
        programs: vec!["go"],
        install: if needs { vec![in_folder(dir, "go mod download")] } else { Vec::new() },
        // `go test` alone does not build packages that have no tests.
        checks: vec![(check_name(dir, "go"), in_folder(dir, "go build ./... && go test ./..."))],
        carry: Vec::new(),
    }
}

/// The modules of `go.work`. At its top `./...` matches none of them.
fn workspace(tree: &Tree) -> Option<Part> {
    let modules = used(tree.text("", "go.work"));
    let packages: Vec<String> = modules
        .iter()
        .map(|dir| if dir.is_empty() { "./...".to_owned() } else { shell_quoted(&format!("./{dir}/...")) })
        .collect();
    let packages = packages.join(" ");
    let needs = modules.iter().any(|dir| requires(tree.text(dir, "go.mod"))) && !tree.has("", "vendor/modules.txt");
    (!modules.is_empty()).then(|| Part {
        found: format!("go.work: a Go workspace of {} modules", modules.len()),
        programs: vec!["go"],
        install: if needs { vec!["go mod download".to_owned()] } else { Vec::new() },
        checks: vec![("go".to_owned(), format!("go build {packages} && go test {packages}"))],
        carry: Vec::new(),
    })
}

fn requires(go_mod: &str) -> bool {
    go_mod.lines().any(|line| line.trim_start().starts_with("require"))
}

/// The folders that `use` names, alone or in a block.
fn used(go_work: &str) -> Vec<String> {
    let mut in_block = false;
    let mut found = Vec::new();
    for line in go_work.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        let dir = match line.strip_prefix("use") {
            Some(rest) if rest.trim() == "(" => {
                in_block = true;
                continue;
            }
            Some(rest) if rest.starts_with([' ', '\t']) => rest.trim(),
            _ if line == ")" => {
                in_block = false;
                continue;
            }
            _ if in_block && !line.is_empty() => line,
            _ => continue,
        };
        let dir = dir.trim_matches('"');
        let dir = dir.strip_prefix("./").unwrap_or(dir).trim_end_matches('/');
        if !dir.starts_with("..") && !dir.starts_with('/') {
            found.push(if dir == "." { String::new() } else { dir.to_owned() });
        }
    }
    found
}
