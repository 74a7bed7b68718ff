//! Diffs of worktrees, commits and landings for the operator, and comments on lines, which are sent to the agent that can act on them.

use super::projects::ProjectChoice;
use super::worktrees::paths::WorktreePaths;
use super::worktrees::uncommitted::uncommitted_diff;
use crate::Setup;
use crate::clock::BootClock;
use crate::{MergeQueue, Worktrees};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{CommentView, CommitView};
use flower_core::pattern::Pattern;
use flower_core::policy::{self, Action};
use flower_core::review::{Remark, Request, Side};
use flower_core::worktree::Seal;
use flower_core::{Caller, Command, Event, LandingId, Worktree};
use flower_git::{CommitId, GitError, Log, Repo, TreeEntry};
use flower_store::Store;
use flower_store::{agents, dispatches, ephemeral};
use std::sync::Arc;

/// Commits and comments in one answer; the newest.
const MAX_ITEMS: u64 = 500;
/// The largest file that is shown or quoted from.
const MAX_FILE_BYTES: u64 = 8 << 20;

/// A comment on a line.
pub struct LineComment {
    pub file: String,
    /// From 1.
    pub line: u64,
    pub side: Side,
    pub text: String,
    /// The line as the operator has read it.
    pub quote: Option<String>,
}

/// A worktree and the tip of MAIN that its branch is compared with.
struct ReviewedWorktree {
    worktree: Worktree,
    place: WorktreePaths,
    main: CommitId,
}

/// Two commits of one repository.
struct Comparison {
    repo: Repo,
    /// `None` if there is no older commit, as of the first one.
    old: Option<CommitId>,
    new: CommitId,
    /// The worktree or landing, for errors.
    name: String,
    /// The hint that says how to list its changed files.
    listing_hint: String,
}

pub struct Review {
    store: Store,
    clock: BootClock,
    worktrees: Arc<Worktrees>,
    merge_queue: Arc<MergeQueue>,
}

impl Review {
    pub(crate) fn new(setup: &Setup, worktrees: &Arc<Worktrees>, merge_queue: &Arc<MergeQueue>) -> Review {
        Review {
            store: setup.store.clone(),
            clock: setup.clock.clone(),
            worktrees: worktrees.clone(),
            merge_queue: merge_queue.clone(),
        }
    }

    /// The changes of a worktree against MAIN, or those of one of its commits.
    pub async fn diff_worktree(
        &self,
        choice: &ProjectChoice,
        name: &str,
        commit: Option<&str>,
        stat: bool,
    ) -> Result<Vec<u8>, Problem> {
        let work = self.work(choice, name).await?;
        work.compare(commit).await?.diff(stat).await
    }

    /// The changes of a worktree that are not committed, untracked files included.
    pub async fn diff_uncommitted(&self, choice: &ProjectChoice, name: &str, stat: bool) -> Result<Vec<u8>, Problem> {
        let work = self.work(choice, name).await?;
        uncommitted_diff(&work.place, stat).await
    }

    /// What a landing changes in MAIN: its merge, or before that its commit against the merge base.
    pub async fn diff_landing(&self, number: LandingId, stat: bool) -> Result<Vec<u8>, Problem> {
        self.compare_landing(number).await?.diff(stat).await
    }

    /// A file after or before a landing.
    pub async fn file_of_landing(&self, number: LandingId, file: &str, side: Side) -> Result<Vec<u8>, Problem> {
        self.compare_landing(number).await?.file(file, side).await
    }

    async fn compare_landing(&self, number: LandingId) -> Result<Comparison, Problem> {
        let landing = self.merge_queue.get(number).await?;
        let repo = Repo::main(&self.worktrees.repository(&landing.project).await?);
        let name = format!("landing {number}");
        let listing_hint = format!("`flower queue diff {number} --stat` lists the changed files");
        let parse = |commit: &Option<String>| commit.as_deref().map(CommitId::parse).transpose();
        let onto = parse(&landing.onto)?;
        if let (Some(old), Some(new)) = (&onto, parse(&landing.merge_commit)?)
            && repo.has_commit(&new).await?
        {
            return Ok(Comparison { repo, old: Some(old.clone()), new, name, listing_hint });
        }
        let new = CommitId::parse(&landing.commit)?;
        if !repo.has_commit(&new).await? {
            let message = format!("commit {} of landing {number} is not there any more", landing.commit);
            let next = format!("`flower queue show {number}` says what became of it");
            return Err(Problem::new(ProblemKind::NotFound, message, next));
        }
        let onto = match onto {
            Some(onto) => onto,
            None => CommitId::parse(&self.worktrees.main_of(&landing.project).await?.tip)?,
        };
        let old = repo.merge_base(&onto, &new).await?;
        Ok(Comparison { repo, old, new, name, listing_hint })
    }

    /// The commits of a worktree that MAIN does not have, newest first.
    pub async fn commits(&self, choice: &ProjectChoice, name: &str) -> Result<Vec<CommitView>, Problem> {
        let work = self.work(choice, name).await?;
        let commits = work.place.repo().log(&Log::of(&work.place.full_branch(), MAX_ITEMS).without(&work.main)).await?;
        let view = commits.into_iter().map(|commit| CommitView {
            commit: commit.commit.into(),
            at: commit.at,
            author: commit.author,
            title: commit.subject,
        });
        Ok(view.collect())
    }

    /// A file of a worktree's branch, or of the merge base with MAIN. With `commit`, of that commit or its parent.
    pub async fn file_of(
        &self,
        choice: &ProjectChoice,
        name: &str,
        commit: Option<&str>,
        file: &str,
        side: Side,
    ) -> Result<Vec<u8>, Problem> {
        let work = self.work(choice, name).await?;
        work.compare(commit).await?.file(file, side).await
    }

    /// Comments on a line. The comment is sent to the agent that has reserved the file, or else to the holder of the claim, or else to
    /// an agent in the worktree; without any, to the next one that enters it.
    pub async fn comment(
        &self,
        caller: &Caller,
        choice: &ProjectChoice,
        name: &str,
        comment: LineComment,
    ) -> Result<CommentView, Problem> {
        policy::require_action(caller, Action::ReviewWorktree)?;
        let work = self.work(choice, name).await?;
        let LineComment { file, line, side, text, quote: read } = comment;
        let (commit, quote) = self.line(&work, &file, line, side).await?;
        // `quote` is `None` for a file that is too large: then the line cannot be compared.
        if read.is_some_and(|read| quote.as_ref().is_some_and(|quote| read != *quote)) {
            let message = format!("line {line} of `{file}` is another one by now");
            let next = format!("read the changes again, `flower diff {name}`, and say it where it belongs");
            return Err(Problem::new(ProblemKind::Conflict, message, next));
        }
        let (project, worktree) = (work.worktree.project.clone(), work.worktree.name.clone());
        let to = self.recipient(&work.worktree, &file).await?;
        let quote = quote.unwrap_or_default();
        let remark = Remark { project: project.clone(), worktree, file, line, side, commit, quote, text };
        let events = self.store.execute(caller, Command::Remark(Request { remark, to })).await?;
        let made = events.iter().find_map(|recorded| match recorded.event() {
            Ok(Event::MessageSent(sent)) => Some(sent.number),
            _ => None,
        });
        let mut all = self.comments_of(&project, name).await?.into_iter();
        all.find(|comment| Some(comment.id) == made.map(u64::from))
            .ok_or_else(|| Problem::bug("a comment was made and is not there"))
    }

    /// The comments on a worktree, oldest first.
    pub async fn comments(&self, choice: &ProjectChoice, name: &str) -> Result<Vec<CommentView>, Problem> {
        let worktree = self.worktrees.find(choice, name).await?;
        self.comments_of(&worktree.project, name).await
    }

    async fn comments_of(&self, project: &str, name: &str) -> Result<Vec<CommentView>, Problem> {
        let (project, name) = (project.to_owned(), name.to_owned());
        let views = self.store.read(move |conn| {
            let remarks = dispatches::remarks(conn, &project, &name, MAX_ITEMS)?;
            let mut views = Vec::new();
            let tokens = if remarks.is_empty() { Vec::new() } else { flower_store::tokens::all(conn)? };
            for (message, remark) in remarks {
                let to_agent = message.kind == "agent";
                let mut heard_by = Vec::new();
                let reached = tokens.iter().filter(|token| match to_agent {
                    true => token.agent == message.to,
                    false => token.worktree.as_deref() == Some(&message.to),
                });
                for token in reached {
                    let read = ephemeral::get(conn, &format!("read/{}", token.id))?;
                    if read.and_then(|read| read.parse::<u64>().ok()).is_some_and(|read| read >= message.seq) {
                        heard_by.push(token.agent.clone());
                    }
                }
                heard_by.sort();
                heard_by.dedup();
                let to = to_agent.then_some(message.to);
                let (id, by, at) = (message.number, message.by, message.at);
                views.push(CommentView { id: id.0, remark, by, at, to, heard_by });
            }
            Ok(views)
        });
        Ok(views.await?)
    }

    async fn work(&self, choice: &ProjectChoice, name: &str) -> Result<ReviewedWorktree, Problem> {
        let worktree = self.worktrees.find(choice, name).await?;
        let place = self.worktrees.require_ready(&worktree).await?;
        if place.seal == Seal::Sealed {
            self.worktrees.mirror(&place).await?;
        }
        let main = CommitId::parse(&self.worktrees.main_of(&worktree.project).await?.tip)?;
        Ok(ReviewedWorktree { worktree, place, main })
    }

    /// The commit, and the text of the line unless the file is too large.
    async fn line(
        &self,
        work: &ReviewedWorktree,
        file: &str,
        line: u64,
        side: Side,
    ) -> Result<(String, Option<String>), Problem> {
        let (commit, content) = work.compare(None).await?.content(file, side).await?;
        let Some(content) = content else { return Ok((commit, None)) };
        let text = String::from_utf8_lossy(&content);
        let found = line.checked_sub(1).and_then(|before| text.lines().nth(usize::try_from(before).ok()?));
        found.map(|quote| (commit, Some(quote.to_owned()))).ok_or_else(|| {
            let lines = text.lines().count();
            Problem::usage(format!("`{file}` has no line {line}"), format!("it has lines 1 to {lines}"))
        })
    }

    /// The agent that a comment on this file is sent to.
    async fn recipient(&self, worktree: &Worktree, file: &str) -> Result<Option<String>, Problem> {
        let (project, name) = (worktree.project.clone(), worktree.name.clone());
        let read = self.store.read(move |conn| {
            let leases = dispatches::leases(conn, Some((&project, &name)))?;
            let mut live = agents::live(conn, Some(&project))?;
            live.retain(|agent| agent.worktree == name);
            let mut open = dispatches::open(conn)?;
            open.retain(|d| d.project.as_deref() == Some(&project) && d.worktree.as_deref() == Some(&name));
            Ok((leases, live, open))
        });
        let (leases, live, open) = read.await?;
        let moment = self.clock.moment();
        let holds = leases.into_iter().filter(|lease| !lease.is_over(&moment)).find(|lease| {
            lease.patterns.iter().filter_map(|pattern| Pattern::parse(pattern).ok()).any(|p| p.matches(file))
        });
        let claims = open.into_iter().filter_map(|dispatch| dispatch.claim).map(|claim| claim.holder).next();
        let lives = live.into_iter().min_by_key(|agent| agent.member).map(|agent| agent.name);
        Ok(holds.map(|lease| lease.holder).or(claims).or(lives))
    }
}

impl ReviewedWorktree {
    /// Compares the branch with its merge base with MAIN, or one of its commits with the parent.
    async fn compare(&self, commit: Option<&str>) -> Result<Comparison, Problem> {
        let repo = self.place.repo();
        let branch = self.place.full_branch();
        let name = &self.worktree.name;
        let (name, listing_hint) = (name.clone(), format!("`flower diff {name} --stat` lists the changed files"));
        let Some(commit) = commit else {
            let new = repo.tip(&branch).await?.ok_or_else(|| GitError::Missing(format!("branch `{branch}`")))?;
            let old = repo.merge_base(&self.main, &new).await?;
            return Ok(Comparison { repo, old, new, name, listing_hint });
        };
        let known = match CommitId::parse(commit) {
            Ok(commit) if repo.has_commit(&commit).await? && repo.is_ancestor(&commit, &branch).await? => Some(commit),
            _ => None,
        };
        let new = known.ok_or_else(|| {
            let message = format!("`{name}` has no commit `{commit}`");
            let next = format!("`git log {}` lists what it has", self.place.branch);
            Problem::new(ProblemKind::NotFound, message, next)
        })?;
        let old = repo.first_parent(&new).await?;
        Ok(Comparison { repo, old, new, name, listing_hint })
    }
}

impl Comparison {
    /// The diff as a patch, or its statistics.
    async fn diff(&self, stat: bool) -> Result<Vec<u8>, Problem> {
        Ok(match &self.old {
            Some(old) => self.repo.diff_text(old, &self.new, stat).await?,
            None => self.repo.diff_text(&self.repo.empty_tree().await?, &self.new, stat).await?,
        })
    }

    async fn file(&self, file: &str, side: Side) -> Result<Vec<u8>, Problem> {
        let (_, content) = self.content(file, side).await?;
        content.ok_or_else(|| {
            let next = "read it in the worktree itself, or in its diff";
            Problem::new(ProblemKind::TooLarge, format!("`{file}` has more than {} MB", MAX_FILE_BYTES >> 20), next)
        })
    }

    /// The commit, and the content of the file unless it is too large.
    async fn content(&self, file: &str, side: Side) -> Result<(String, Option<Vec<u8>>), Problem> {
        let (commit, name) = match side {
            Side::New => (Some(&self.new), self.name.as_str()),
            Side::Old => (self.old.as_ref(), "MAIN"),
        };
        let missing = || {
            let message = format!("{name} has no file `{file}`");
            Problem::new(ProblemKind::NotFound, message, self.listing_hint.clone())
        };
        let commit = commit.ok_or_else(missing)?;
        let listed = self.repo.list_path(commit, file).await?;
        let is_it = |entry: &TreeEntry<'_>| entry.kind == "blob" && entry.path == file;
        let found = listed.entries().next().filter(is_it);
        let (blob, size) = found.and_then(|entry| Some((entry.object().ok()?, entry.size?))).ok_or_else(missing)?;
        if size > MAX_FILE_BYTES {
            return Ok((commit.to_string(), None));
        }
        Ok((commit.to_string(), Some(self.repo.read_blob(&blob).await?)))
    }
}
