//! Paths that are forbidden in a landing, and paths whose change needs the operator's approval.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use unicode_normalization::UnicodeNormalization;

/// Why a path is forbidden. Some file systems treat several spellings as `.git`, git's own folder; control characters and invalid
/// UTF-8 deceive a person who reads a list of paths.
pub(super) fn forbidden(path: &OsStr) -> Option<String> {
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

/// A form that is equal for paths which some file systems treat as one: in lower case, with composed characters.
pub(crate) fn fold(path: &str) -> String {
    path.nfc().flat_map(char::to_lowercase).nfc().collect()
}

/// Whether a character changes the direction of text or is invisible.
fn is_deceiving(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// Why a change of this path needs the operator's approval: the file decides which programs run, or what agents do.
pub(super) fn requires_approval(path: &OsStr) -> Option<&'static str> {
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
    let hook_files = [
        ".pre-commit-config.yaml",
        ".pre-commit-config.yml",
        ".envrc",
        ".overcommit.yml",
        ".lintstagedrc",
        ".simple-git-hooks.json",
        ".simple-git-hooks.js",
        ".simple-git-hooks.cjs",
    ];
    let lefthook = name.trim_start_matches('.').starts_with("lefthook");
    if below(&[".husky", ".githooks", ".git-hooks", "hooks.d", ".lefthook"]) || lefthook || hook_files.contains(name) {
        return Some("hooks");
    }
    if let Some(what) = names_programs(name, folders) {
        return Some(what);
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
        "qwen.md",
        ".goosehints",
        "warp.md",
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
        ".qwen",
        ".goose",
    ];
    if below(&agent_folders) || agent_files.contains(name) || name.starts_with(".aider") {
        return Some("instructions for agents");
    }
    let editor_files =
        [".devcontainer.json", ".dir-locals.el", ".exrc", ".vimrc", ".nvimrc", ".nvim.lua", ".gdbinit", ".lldbinit"];
    if below(&[".vscode", ".devcontainer", ".idea", ".zed"]) || editor_files.contains(name) {
        return Some("what editors run");
    }
    None
}

/// Files that tell build tools and package managers which programs to run, before any script of the project.
fn names_programs(name: &str, folders: &[&str]) -> Option<&'static str> {
    let files = [
        "rust-toolchain",
        "rust-toolchain.toml",
        ".npmrc",
        ".yarnrc",
        ".yarnrc.yml",
        ".pnpmfile.cjs",
        ".pnpmfile.mjs",
        ".pnp.cjs",
        ".pnp.loader.mjs",
        "bunfig.toml",
        "mise.toml",
        ".mise.toml",
        "mise.local.toml",
        ".tool-versions",
        ".bazelrc",
        ".pip.conf",
        ".sdkmanrc",
    ];
    // `.cargo/config.toml`, Yarn's own releases and plugins, the wrappers of Maven and Gradle, mise's tasks.
    let config = folders.last() == Some(&".cargo") && name.starts_with("config");
    let wrapper =
        folders.ends_with(&["gradle", "wrapper"]) || matches!(name, "gradlew" | "mvnw" | "gradlew.bat" | "mvnw.cmd");
    let below = [".yarn", ".mvn", ".mise", ".bundle"].iter().any(|folder| folders.contains(folder));
    (files.contains(&name) || config || wrapper || below).then_some("which programs the build tools run")
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
            assert!(forbidden(OsStr::new(bad)).is_some(), "{bad:?}");
        }
        assert!(forbidden(OsStr::from_bytes(b"\xff")).is_some());
        for good in ["src/main.rs", ".gitignore", "a/.github/x", "git.md", "Grüße.txt", "a b/c", "...x"] {
            assert_eq!(forbidden(OsStr::new(good)), None, "{good}");
        }
    }

    #[test]
    fn one_name_in_two_forms_is_folded_alike() {
        assert_eq!(fold("Caf\u{e9}"), fold("cafe\u{301}"));
        assert_eq!(fold("README.md"), fold("readme.MD"));
        assert_ne!(fold("cafe"), fold("caf\u{e9}"));
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
            ".cargo/config.toml",
            "crates/x/.cargo/config",
            "rust-toolchain.toml",
            ".yarnrc.yml",
            ".yarn/releases/yarn-4.cjs",
            ".pnpmfile.cjs",
            "mise.toml",
            ".zed/tasks.json",
            "lefthook-local.yml",
            ".overcommit.yml",
            "QWEN.md",
            ".goosehints",
            "gradle/wrapper/gradle-wrapper.properties",
            ".mvn/extensions.xml",
        ] {
            assert!(requires_approval(OsStr::new(path)).is_some(), "{path}");
        }
        for path in [
            "src/flower.toml.rs",
            "README.md",
            "src/ci.rs",
            "hooks/useState.ts",
            "docs/agents.txt",
            "src/config.toml",
            "yarn/x",
        ] {
            assert_eq!(requires_approval(OsStr::new(path)), None, "{path}");
        }
    }
}
