//! What is special about a repository, for `flower up`: what works differently in it, and what the operator can do about it.

use crate::Registration;
use crate::worktrees::facts::head_branch;
use crate::worktrees::setup::empty_submodules;
use flower_contract::error::Problem;
use flower_contract::view::{NoticeKind, RepositoryNotice};
use flower_git::{CommitId, Repo};

impl Registration {
    /// The notices about a project's repository as it is now. Reads only; uses no network.
    pub async fn notices(&self, project: &str) -> Result<Vec<RepositoryNotice>, Problem> {
        let repository = self.worktrees.repository(project).await?;
        let repo = Repo::main(&repository);
        if repo.head().await?.is_none() && self.worktrees.main_of(project).await.is_err() {
            return Ok(vec![RepositoryNotice {
                kind: NoticeKind::NoCommits,
                text: "this repository has no commits yet, so no worktree can begin".to_owned(),
                next: Some("make the first one: `git add -A`, then `git commit -m \"first\"`".to_owned()),
            }]);
        }
        let main = self.worktrees.main_of(project).await?;
        let facts = self.worktrees.facts_of(project).await?;
        let settings = repo.operators_settings().await?;
        let tip = CommitId::parse(&main.tip)?;
        let mut notices = Vec::new();
        let mut add = |kind: NoticeKind, text: String, next: Option<String>| {
            notices.push(RepositoryNotice { kind, text, next });
        };
        if facts.settings.checks.list.is_empty() && facts.settings_problem.is_none() {
            add(
                NoticeKind::NoChecks,
                "no checks are configured, so every landing that merges reaches MAIN untested".to_owned(),
                Some("propose some: `flower init`".to_owned()),
            );
        }
        let sha256 = facts.settings.commands_sha256();
        if !facts.settings.commands().is_empty() && !self.worktrees.is_approved(project, &sha256).await? {
            add(
                NoticeKind::Unapproved,
                "what flower.toml runs and opens is not approved yet: landings wait for it, and worktrees are made \
                 without it or not at all"
                    .to_owned(),
                Some(format!("read and approve it: `flower project approve {project}`")),
            );
        }
        let branch = &main.branch;
        match head_branch(&repository) {
            Some(head) if head != *branch => add(
                NoticeKind::OtherBranch,
                format!(
                    "this checkout is on `{head}`, but MAIN's branch is `{branch}`: worktrees begin at `{branch}`, and \
                     landings wait until it is checked out here"
                ),
                Some(format!("check it out: `git switch {branch}`")),
            ),
            None => add(
                NoticeKind::Detached,
                format!(
                    "no branch is checked out here, but MAIN's branch is `{branch}`: worktrees begin at `{branch}`, and \
                     landings wait until it is checked out here"
                ),
                Some(format!("check it out: `git switch {branch}`")),
            ),
            Some(_) => {}
        }
        if let Some(path) = settings.hooks_path {
            let runs = match facts.settings.worktree.hooks {
                true => "they run inside worktrees too (`[worktree] hooks = true`)",
                false => "they do not run inside worktrees, unless flower.toml says `[worktree] hooks = true`",
            };
            add(
                NoticeKind::OtherHooks,
                format!(
                    "git takes its hooks from `{path}` (core.hooksPath), so no hook of flower refuses a commit to \
                     `{branch}` by hand: flower notices it afterwards and stops landings; {runs}"
                ),
                None,
            );
        }
        if let Some(remote) = settings.promisors.first() {
            let missing = repo.missing_objects(&[&tip]).await?.len();
            if missing > 0 {
                add(
                    NoticeKind::Partial,
                    format!(
                        "this is a partial clone: {missing} files and folders of `{branch}` are only at `{remote}`; the \
                         first worktree fetches them all at once"
                    ),
                    Some("to fetch the whole history now: `git fetch --refetch --no-filter`".to_owned()),
                );
            }
        }
        if repository.git_dir.join("shallow").exists() {
            add(
                NoticeKind::Shallow,
                format!(
                    "this clone is shallow: worktrees have no earlier history either, and a branch that left `{branch}` \
                     before its first commit here cannot be merged"
                ),
                Some("to fetch all of it: `git fetch --unshallow`".to_owned()),
            );
        }
        if settings.is_sparse {
            add(
                NoticeKind::Sparse,
                "this checkout is sparse and stays so; worktrees and checks have all files".to_owned(),
                None,
            );
        }
        // Fails in a partial clone that lacks folders.
        if repo.attributes_mention(&tip, flower_git::lfs::ATTRIBUTE).await.unwrap_or(false) {
            let (text, next) = match flower_git::has_lfs() {
                true => (
                    "some files are in LFS: worktrees have their pointers, and a landing that adds the content of such a file is refused",
                    None,
                ),
                false => (
                    "some files are in LFS, but git-lfs is not installed: worktrees have their pointers, and a landing \
                     that adds such a file is refused",
                    Some("install it: `apt-get install git-lfs`, then `git lfs install`".to_owned()),
                ),
            };
            add(NoticeKind::Lfs, text.to_owned(), next);
        }
        let empty = empty_submodules(&repository, &facts);
        if !empty.is_empty() {
            add(
                NoticeKind::Submodules,
                format!("submodules that are not checked out here are empty in worktrees: {}", empty.join(", ")),
                Some("check them out: `git submodule update --init --recursive`".to_owned()),
            );
        }
        if settings.signs_commits {
            add(
                NoticeKind::Unsigned,
                format!(
                    "commit.gpgSign is set, but commits that flower or an agent makes are not signed: a remote that \
                     requires signatures refuses `{branch}`"
                ),
                None,
            );
        }
        Ok(notices)
    }
}
