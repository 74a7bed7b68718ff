//! Names of files: those that no landing brings in, and those that need a person's eye.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Why a path is never let in. `.git` in any spelling that some file system takes for it leads into a repository's own
/// folder; control characters and bad UTF-8 deceive whoever reads a list.
pub(super) fn hostile(path: &OsStr) -> Option<String> {
    let Some(text) = path.to_str() else {
        return Some(format!("`{}` is not UTF-8", path.to_string_lossy()));
    };
    let shown = text.escape_default();
    if text.chars().any(|c| c.is_control() || is_deceiving(c)) {
        return Some(format!("`{shown}` has characters that cannot be seen"));
    }
    if text.len() > 4_000 || Path::new(text).components().count() > 100 {
        return Some("a path is too long or too deep".to_owned());
    }
    text.split(['/', '\\']).find_map(|part| {
        let plain: String = part.trim_end_matches([' ', '.']).to_lowercase();
        let is_git = matches!(plain.as_str(), ".git" | "git~1") || plain.starts_with(".git:");
        if is_git || part == ".." || part == "." || part.is_empty() {
            return Some(format!("`{shown}` leads into git's own folder or out of the repository"));
        }
        None
    })
}

/// Turns the direction of reading, or is nothing at all.
fn is_deceiving(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// Why a change of this path needs the operator: it decides what runs, for people or for agents.
pub(super) fn delicate(path: &OsStr) -> Option<&'static str> {
    let text = String::from_utf8_lossy(path.as_bytes()).to_lowercase();
    let parts: Vec<&str> = text.split('/').collect();
    let (name, folders) = parts.split_last()?;
    let below = |names: &[&str]| folders.iter().any(|folder| names.contains(folder));
    let top = folders.first().copied().unwrap_or_default();
    if text == "flower.toml" || top == ".flower" {
        return Some("flower's own settings");
    }
    if matches!(*name, ".gitattributes" | ".gitmodules" | ".lfsconfig") {
        return Some("git's filters and submodules");
    }
    let hook_files = ["lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".pre-commit-config.yaml", ".envrc"];
    if below(&[".husky", ".githooks", ".git-hooks", "hooks.d"]) || hook_files.contains(name) {
        return Some("hooks");
    }
    let ci_files = [
        ".gitlab-ci.yml",
        "jenkinsfile",
        "azure-pipelines.yml",
        ".travis.yml",
        "bitbucket-pipelines.yml",
        ".drone.yml",
        ".cirrus.yml",
        "appveyor.yml",
        ".appveyor.yml",
        "cloudbuild.yaml",
        "codecov.yml",
    ];
    let ci_folders = [
        ".github",
        ".gitlab",
        ".circleci",
        ".buildkite",
        ".forgejo",
        ".gitea",
        ".woodpecker",
        ".ci",
        ".azure-pipelines",
        ".teamcity",
    ];
    if below(&ci_folders) || ci_files.contains(name) || name.starts_with(".woodpecker") {
        return Some("CI");
    }
    let agent_files = [
        "agents.md",
        "claude.md",
        "claude.local.md",
        "gemini.md",
        "codex.md",
        ".mcp.json",
        "mcp.json",
        ".cursorrules",
        ".windsurfrules",
        ".clinerules",
        "opencode.json",
        "opencode.jsonc",
        "agents.override.md",
        "skill.md",
    ];
    let agent_folders = [
        ".claude",
        ".codex",
        ".gemini",
        ".cursor",
        ".opencode",
        ".agents",
        ".windsurf",
        ".clinerules",
        ".roo",
        ".aider",
        ".continue",
        ".kiro",
    ];
    if below(&agent_folders) || agent_files.contains(name) || name.starts_with(".aider") {
        return Some("instructions for agents");
    }
    if below(&[".vscode", ".devcontainer", ".idea"]) {
        return Some("what editors run");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_is_known_in_every_spelling() {
        for bad in [
            ".git/config",
            "a/.GIT/hooks/x",
            "git~1/config",
            "a/GIT~1",
            ".git /x",
            ".git./x",
            "..",
            "a/../b",
            "a\\..\\b",
            ".g\u{200c}it/config",
            "nl\nx",
            "rtl\u{202e}x",
            "a//b",
            ".git::$INDEX_ALLOCATION/x",
        ] {
            assert!(hostile(OsStr::new(bad)).is_some(), "{bad:?}");
        }
        assert!(hostile(OsStr::from_bytes(b"\xff")).is_some());
        for good in ["src/main.rs", ".gitignore", "a/.github/x", "git.md", "Grüße.txt", "a b/c", "...x"] {
            assert_eq!(hostile(OsStr::new(good)), None, "{good}");
        }
    }

    #[test]
    fn what_decides_what_runs_needs_a_person() {
        for path in [
            "flower.toml",
            ".gitattributes",
            "sub/.gitattributes",
            ".gitmodules",
            ".husky/pre-commit",
            ".claude/settings.json",
            ".codex/config.toml",
            ".mcp.json",
            ".github/workflows/ci.yml",
            "AGENTS.md",
            "docs/AGENTS.md",
            "CLAUDE.md",
            ".gitlab-ci.yml",
            "Jenkinsfile",
            ".ci/run",
            ".vscode/tasks.json",
        ] {
            assert!(delicate(OsStr::new(path)).is_some(), "{path}");
        }
        for path in ["src/flower.toml.rs", "README.md", "src/ci.rs", "hooks/useState.ts", "docs/agents.txt"] {
            assert_eq!(delicate(OsStr::new(path)), None, "{path}");
        }
    }
}
