//! Proposes a first `flower.toml` from the files of the repository, and lands it once the operator has read it.

use crate::MergeQueue;
use crate::projects::ProjectChoice;
use crate::settings::Settings;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{LandingView, ProposalView};
use flower_core::Caller;
use flower_core::landing::{self, Priority, Source};
use flower_core::policy::{self, Action};
use flower_git::{CommitId, NewCommit, Repo};

impl MergeQueue {
    /// The proposed text and the files that led to it. Empty if the repository has a `flower.toml`.
    pub async fn propose_settings(&self, choice: &ProjectChoice) -> Result<ProposalView, Problem> {
        let project = self.projects.require(choice).await?;
        let repository = self.worktrees.repository(&project).await?;
        let main = self.worktrees.main_of(&project).await?;
        let (repo, tip) = (Repo::main(&repository), CommitId::parse(&main.tip)?);
        let top = repo.list_top(&tip).await?;
        let names: Vec<String> = top.entries().map(|entry| entry.path.to_string_lossy().into_owned()).collect();
        if names.iter().any(|name| name == "flower.toml") {
            return Ok(ProposalView { project, exists: true, text: String::new(), found: Vec::new() });
        }
        let mut contents = Vec::new();
        for name in ["package.json", "composer.json", "Makefile", "pyproject.toml"] {
            if names.iter().any(|known| known == name) {
                let text = repo.read_file(&tip, name).await?.unwrap_or_default();
                contents.push((name, String::from_utf8_lossy(&text).into_owned()));
            }
        }
        let proposal = propose(&names, &contents);
        Ok(ProposalView { project, exists: false, text: proposal.text, found: proposal.found })
    }

    /// Queues a `flower.toml` as a landing of its own, which needs the operator's approval.
    pub async fn land_settings(
        &self,
        caller: &Caller,
        choice: &ProjectChoice,
        text: &str,
    ) -> Result<LandingView, Problem> {
        policy::require_action(caller, Action::ProposeSettings)?;
        Settings::parse(text)?;
        let project = self.projects.require(choice).await?;
        let (tip, commit) = self.settings_commit(&project, text).await?;
        if tip == commit {
            return Err(Problem::new(ProblemKind::Refused, "MAIN has exactly this flower.toml", "change it first"));
        }
        let request = landing::Request {
            project,
            source: Source::Settings,
            worktree: None,
            worktree_number: None,
            commit: commit.into(),
            title: "Add flower.toml".to_owned(),
            briefs: Vec::new(),
            priority: Priority::High,
            reverts: None,
        };
        self.enqueue(caller, request).await
    }

    /// Makes a commit of MAIN with this `flower.toml`. Returns MAIN's tip and the commit, which are the same if MAIN has this file.
    pub(super) async fn settings_commit(&self, project: &str, text: &str) -> Result<(CommitId, CommitId), Problem> {
        let repository = self.worktrees.repository(project).await?;
        let main = self.worktrees.main_of(project).await?;
        let (repo, tip) = (Repo::main(&repository), CommitId::parse(&main.tip)?);
        let tree = repo.tree_with_file(&tip, "flower.toml", text.as_bytes()).await?;
        if repo.tree_of(&tip).await? == tree {
            return Ok((tip.clone(), tip));
        }
        let (committer, message) = (repo.identity().await?, "Add flower.toml\n");
        let new = NewCommit { tree: &tree, parents: &[&tip], message, committer: &committer, author: None };
        let commit = repo.durable().commit_tree(new).await?;
        Ok((tip, commit))
    }
}

struct Proposal {
    text: String,
    found: Vec<String>,
}

/// Proposes checks by the names at the top of the repository and the contents of a few of these files.
fn propose(names: &[String], contents: &[(&str, String)]) -> Proposal {
    let has = |name: &str| names.iter().any(|known| known == name);
    let text_of = |name: &str| contents.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text.as_str());
    let mut checks: Vec<(&str, String)> = Vec::new();
    let (mut carry, mut found) = (Vec::new(), Vec::new());
    if has("Cargo.toml") {
        found.push("Cargo.toml: Rust".to_owned());
        checks.push(("rust", "cargo test --offline".to_owned()));
        carry.push("target");
    }
    if has("package.json") {
        let scripts: serde_json::Value = serde_json::from_str(text_of("package.json")).unwrap_or_default();
        let runs =
            |script: &str| scripts["scripts"][script].as_str().is_some_and(|text| !text.contains("no test specified"));
        let runner = if has("pnpm-lock.yaml") {
            "pnpm"
        } else if has("yarn.lock") {
            "yarn"
        } else {
            "npm"
        };
        found.push(format!("package.json: Node, with {runner}"));
        for script in ["lint", "build", "test"].into_iter().filter(|script| runs(script)) {
            checks.push((script, format!("{runner} run {script}")));
        }
        carry.push("node_modules");
    }
    if has("composer.json") {
        found.push("composer.json: PHP".to_owned());
        let scripts: serde_json::Value = serde_json::from_str(text_of("composer.json")).unwrap_or_default();
        let own = scripts["scripts"]["test"] != serde_json::Value::Null;
        checks.push(("php", if own { "composer run test" } else { "vendor/bin/phpunit" }.to_owned()));
        carry.push("vendor");
    }
    if has("go.mod") {
        found.push("go.mod: Go".to_owned());
        checks.push(("go", "go test ./...".to_owned()));
    }
    if has("pyproject.toml") || has("setup.py") || has("requirements.txt") {
        found.push("Python".to_owned());
        checks.push(("python", "python3 -m pytest".to_owned()));
        if has(".venv") {
            carry.push(".venv");
        }
    }
    let targets = text_of("Makefile");
    if targets.lines().any(|line| line.starts_with("test:")) && checks.is_empty() {
        found.push("Makefile: a target `test`".to_owned());
        checks.push(("test", "make test".to_owned()));
    }
    Proposal { text: render(&checks, &carry), found }
}

fn render(checks: &[(&str, String)], carry: &[&str]) -> String {
    let mut text = String::from(
        "# How flower handles this repository. Commands run in a jail, and only once they are approved.\n\n[checks]\n",
    );
    if checks.is_empty() {
        text.push_str("# What must pass before anything lands on MAIN, in this order:\n# test = { run = \"make test\", timeout = \"10m\" }\n");
    }
    for (name, run) in checks {
        let run = serde_json::Value::from(run.as_str());
        text.push_str(&format!("{name} = {{ run = {run}, timeout = \"20m\" }}\n"));
    }
    if !carry.is_empty() {
        let list: Vec<String> = carry.iter().map(|dir| format!("\"{dir}\"")).collect();
        text.push_str(&format!(
            "\n[worktree]\n# Ignored folders that a new worktree, and every check, begins with a copy of:\ncarry = [{}]\n",
            list.join(", ")
        ));
    }
    text.push_str(
        "\n[land]\n# approve = \"operator\"   # every landing waits for you; otherwise only landings that need approval do\n# history = \"merge\"      # or \"squash\", or \"rebase\"\n# push = true             # after every landing\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proposed(names: &[&str], contents: &[(&str, &str)]) -> (Settings, Proposal) {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let contents: Vec<(&str, String)> = contents.iter().map(|&(n, text)| (n, text.to_owned())).collect();
        let proposal = propose(&names, &contents);
        (Settings::parse(&proposal.text).unwrap(), proposal)
    }

    fn runs(settings: &Settings) -> Vec<&str> {
        settings.checks.list.iter().map(|(_, check)| check.run.as_str()).collect()
    }

    #[test]
    fn each_kind_of_repository_gets_its_checks() {
        assert_eq!(runs(&proposed(&["Cargo.toml"], &[]).0), ["cargo test --offline"]);
        let package = r#"{"scripts": {"test": "vitest run", "lint": "eslint .", "start": "x"}}"#;
        let node = proposed(&["package.json", "pnpm-lock.yaml"], &[("package.json", package)]).0;
        assert_eq!(runs(&node), ["pnpm run lint", "pnpm run test"]);
        assert_eq!(node.worktree.carry, ["node_modules"]);
        let empty = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
        assert_eq!(runs(&proposed(&["package.json"], &[("package.json", empty)]).0), [""; 0]);
        assert_eq!(runs(&proposed(&["composer.json"], &[("composer.json", "{}")]).0), ["vendor/bin/phpunit"]);
        assert_eq!(runs(&proposed(&["go.mod"], &[]).0), ["go test ./..."]);
        assert_eq!(runs(&proposed(&["pyproject.toml"], &[]).0), ["python3 -m pytest"]);
        assert_eq!(runs(&proposed(&["Makefile"], &[("Makefile", "all:\n\ttrue\ntest: all\n")]).0), ["make test"]);
    }

    #[test]
    fn an_unknown_repository_gets_no_checks() {
        let (settings, proposal) = proposed(&["README.md"], &[]);
        assert!(settings.checks.list.is_empty() && proposal.found.is_empty());
        assert!(proposal.text.contains("# test ="));
    }
}
