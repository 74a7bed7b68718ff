//! Proposes a first `flower.toml` from the files of the repository, and lands it once the operator has read it.

use super::proposal::{Tree, propose};
use crate::MergeQueue;
use crate::projects::ProjectChoice;
use crate::settings::Settings;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{LandingView, ProposalView};
use flower_core::Caller;
use flower_core::landing::{self, Priority, Source};
use flower_core::policy::{self, Action};
use flower_git::repository::Repository;
use flower_git::{CommitId, NewCommit, Questions, Repo};
use std::fs;
use std::io::Read;
use std::sync::Arc;

const FILE: &str = "flower.toml";
/// Bytes of a manifest that is read, and of a `flower.toml` in the checkout. Larger ones are not written by people.
const MAX_BYTES: u64 = 512 * 1024;

impl MergeQueue {
    /// The proposed text and the files that led to it. Unless it is made `anew`, there is no text if MAIN has a `flower.toml`, and one
    /// that lies in MAIN's checkout is the proposal.
    pub async fn propose_settings(&self, choice: &ProjectChoice, anew: bool) -> Result<ProposalView, Problem> {
        let project = self.projects.require(choice).await?;
        let repository = self.worktrees.repository(&project).await?;
        let main = self.worktrees.main_of(&project).await?;
        let (repo, tip) = (Repo::main(&repository), CommitId::parse(&main.tip)?);
        let files = repo.list_files(&tip).await?;
        let mut tree = Tree::new(files.entries().filter_map(|entry| Some(entry.path.to_str()?.to_owned())));
        let mut view = ProposalView {
            project,
            exists: tree.has("", FILE),
            text: String::new(),
            found: Vec::new(),
            uncommitted: false,
            has_checks: false,
            missing_programs: Vec::new(),
        };
        if view.exists && !anew {
            return Ok(view);
        }
        if let Some(text) = uncommitted_file(&repository).filter(|_| !anew) {
            view.has_checks = Settings::parse(&text).is_ok_and(|settings| !settings.checks.list.is_empty());
            (view.text, view.uncommitted) = (text, true);
            return Ok(view);
        }
        let mut questions = Questions::new();
        let manifests: Vec<_> =
            tree.manifests().into_iter().map(|path| (questions.file(tip.as_str(), &path), path)).collect();
        let answers = repo.ask(questions).await?;
        for (question, path) in manifests {
            let text = answers.file(question).filter(|text| text.len() as u64 <= MAX_BYTES).unwrap_or_default();
            tree.add_content(path, String::from_utf8_lossy(text).into_owned());
        }
        let proposal = propose(&tree);
        let missing = proposal.programs.into_iter().filter(|program| !is_installed(program));
        view.missing_programs = missing.map(str::to_owned).collect();
        (view.text, view.found, view.has_checks) = (proposal.text, proposal.found, proposal.has_checks);
        Ok(view)
    }

    /// Queues a `flower.toml` as a landing of its own, which needs the operator's approval. The same file in MAIN's checkout does not
    /// prevent the landing, and stays where it is until then.
    pub async fn land_settings(
        self: &Arc<Self>,
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
        let tree = repo.tree_with_file(&tip, FILE, text.as_bytes()).await?;
        if repo.tree_of(&tip).await? == tree {
            return Ok((tip.clone(), tip));
        }
        let (committer, message) = (repo.identity().await?, "Add flower.toml\n");
        let new = NewCommit { tree: &tree, parents: &[&tip], message, committer: &committer, author: None };
        let commit = repo.durable().commit_tree(new).await?;
        Ok((tip, commit))
    }
}

/// A `flower.toml` that lies in MAIN's checkout. A link is not followed: it could lead anywhere.
fn uncommitted_file(repository: &Repository) -> Option<String> {
    let path = repository.root.join(FILE);
    let is_plain = |found: &fs::Metadata| found.is_file() && found.len() <= MAX_BYTES;
    fs::symlink_metadata(&path).ok().filter(is_plain)?;
    let mut text = String::new();
    fs::File::open(&path).ok()?.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Whether the program is in a folder of PATH, which programs in a jail have too.
fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
