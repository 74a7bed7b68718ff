//! What the operator reads of a worktree's work, of one commit or of a landing, and what they say to whoever can mend it.

use super::projects::ProjectChoice;
use super::worktrees::paths::WorktreePaths;
use crate::Setup;
use crate::clock::BootClock;
use crate::{MergeQueue, Worktrees};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{CommentView, CommitView};
use flower_core::pattern::Pattern;
use flower_core::policy::{self, Action};
use flower_core::review::{Remark, Request, Side};
use flower_core::worktree::Seal;
use flower_core::{Caller, Command, Event, Worktree};
use flower_git::{CommitId, GitError, Log, Repo, TreeEntry};
use flower_store::Store;
use flower_store::{agents, dispatches, ephemeral, tables};
use std::sync::Arc;

/// Commits and comments that are shown at once; the newest.
const MOST: u64 = 500;
/// A file of which a line is quoted.
const LARGEST: u64 = 8 << 20;

/// What is said about a line.
pub struct Saying {
    pub file: String,
    /// From 1.
    pub line: u64,
    pub side: Side,
    pub text: String,
    /// The line as it was read.
    pub quote: Option<String>,
}

/// A worktree's branch beside MAIN.
struct Work {
    worktree: Worktree,
    place: WorktreePaths,
    main: CommitId,
}

/// What is compared: two commits of one repository.
struct Sides {
    repo: Repo,
    /// Nothing for what began with nothing.
    old: Option<CommitId>,
    new: CommitId,
    /// Who has the new one, and how its changed files are listed.
    whose: String,
    listing: String,
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

    /// Its changes against MAIN, or those of one of its commits.
    pub async fn diff_worktree(
        &self,
        choice: &ProjectChoice,
        name: &str,
        commit: Option<&str>,
        stat: bool,
    ) -> Result<Vec<u8>, Problem> {
        let work = self.work(choice, name).await?;
        work.sides(commit).await?.diff(stat).await
    }

    /// What a landing changes in MAIN: as it was merged, or else against where its commit left MAIN.
    pub async fn diff_landing(&self, number: u64, stat: bool) -> Result<Vec<u8>, Problem> {
        self.sides_of_landing(number).await?.diff(stat).await
    }

    /// A file as a landing has it, or as it was before.
    pub async fn file_of_landing(&self, number: u64, file: &str, side: Side) -> Result<Vec<u8>, Problem> {
        self.sides_of_landing(number).await?.file(file, side).await
    }

    async fn sides_of_landing(&self, number: u64) -> Result<Sides, Problem> {
        let landing = self.merge_queue.get(number).await?;
        let repo = Repo::main(&self.worktrees.repository(&landing.project).await?);
        let whose = format!("landing {number}");
        let listing = format!("`flower queue diff {number} --stat` lists the changed files");
        let parse = |commit: &Option<String>| commit.as_deref().map(CommitId::parse).transpose();
        let onto = parse(&landing.onto)?;
        if let (Some(old), Some(new)) = (&onto, parse(&landing.merge_commit)?)
            && repo.has_commit(&new).await?
        {
            return Ok(Sides { repo, old: Some(old.clone()), new, whose, listing });
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
        Ok(Sides { repo, old, new, whose, listing })
    }

    /// What it has that MAIN has not, newest first.
    pub async fn commits(&self, choice: &ProjectChoice, name: &str) -> Result<Vec<CommitView>, Problem> {
        let work = self.work(choice, name).await?;
        let commits = work.place.repo().log(&Log::of(&work.place.full_branch(), MOST).without(&work.main)).await?;
        let view = commits.into_iter().map(|commit| CommitView {
            commit: commit.commit.into(),
            at: commit.at,
            author: commit.author,
            title: commit.subject,
        });
        Ok(view.collect())
    }

    /// A file as its branch has it, or as MAIN had it when the branch left: what stands around its changes. With a commit, as
    /// that one has it, or the one before.
    pub async fn file_of(
        &self,
        choice: &ProjectChoice,
        name: &str,
        commit: Option<&str>,
        file: &str,
        side: Side,
    ) -> Result<Vec<u8>, Problem> {
        let work = self.work(choice, name).await?;
        work.sides(commit).await?.file(file, side).await
    }

    /// Says something about a line. It reaches the agent that has reserved the file, or else the one that leads the work, or
    /// else whoever comes into the worktree next.
    pub async fn comment(
        &self,
        caller: &Caller,
        choice: &ProjectChoice,
        name: &str,
        saying: Saying,
    ) -> Result<CommentView, Problem> {
        policy::require_action(caller, Action::ReviewWorktree)?;
        let work = self.work(choice, name).await?;
        let Saying { file, line, side, text, quote: read } = saying;
        let (commit, quote) = self.line(&work, &file, line, side).await?;
        // Of a file that is too large to be read, nobody knows.
        if read.is_some_and(|read| quote.as_ref().is_some_and(|quote| read != *quote)) {
            let message = format!("line {line} of `{file}` is another one by now");
            let next = format!("read the changes again, `flower diff {name}`, and say it where it belongs");
            return Err(Problem::new(ProblemKind::Conflict, message, next));
        }
        let (project, worktree) = (work.worktree.project.clone(), work.worktree.name.clone());
        let to = self.who_can_mend(&work.worktree, &file).await?;
        let quote = quote.unwrap_or_default();
        let remark = Remark { project: project.clone(), worktree, file, line, side, commit, quote, text };
        let events = self.store.execute(caller, Command::Remark(Request { remark, to })).await?;
        let made = events.iter().find_map(|recorded| match recorded.event() {
            Ok(Event::MessageSent(sent)) => Some(sent.number),
            _ => None,
        });
        let mut all = self.comments_of(&project, name).await?.into_iter();
        all.find(|comment| Some(comment.id) == made).ok_or_else(|| Problem::bug("a comment was made and is not there"))
    }

    /// What was said about its lines, oldest first.
    pub async fn comments(&self, choice: &ProjectChoice, name: &str) -> Result<Vec<CommentView>, Problem> {
        let worktree = self.worktrees.find(choice, name).await?;
        self.comments_of(&worktree.project, name).await
    }

    async fn comments_of(&self, project: &str, name: &str) -> Result<Vec<CommentView>, Problem> {
        let (project, name) = (project.to_owned(), name.to_owned());
        let views = self.store.read(move |conn| {
            let remarks = dispatches::remarks(conn, &project, &name, MOST)?;
            let mut views = Vec::new();
            let tokens = if remarks.is_empty() { Vec::new() } else { tables::tokens(conn)? };
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
                views.push(CommentView { id, remark, by, at, to, heard_by });
            }
            Ok(views)
        });
        Ok(views.await?)
    }

    async fn work(&self, choice: &ProjectChoice, name: &str) -> Result<Work, Problem> {
        let worktree = self.worktrees.find(choice, name).await?;
        let place = self.worktrees.require_ready(&worktree).await?;
        if place.seal == Seal::Sealed {
            self.worktrees.mirror(&place).await?;
        }
        let main = CommitId::parse(&self.worktrees.main_of(&worktree.project).await?.tip)?;
        Ok(Work { worktree, place, main })
    }

    /// The commit that has it, and the line itself unless the file is too large.
    async fn line(&self, work: &Work, file: &str, line: u64, side: Side) -> Result<(String, Option<String>), Problem> {
        let (commit, content) = work.sides(None).await?.content(file, side).await?;
        let Some(content) = content else { return Ok((commit, None)) };
        let text = String::from_utf8_lossy(&content);
        let found = line.checked_sub(1).and_then(|before| text.lines().nth(usize::try_from(before).ok()?));
        found.map(|quote| (commit, Some(quote.to_owned()))).ok_or_else(|| {
            let lines = text.lines().count();
            Problem::usage(format!("`{file}` has no line {line}"), format!("it has lines 1 to {lines}"))
        })
    }

    async fn who_can_mend(&self, worktree: &Worktree, file: &str) -> Result<Option<String>, Problem> {
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

impl Work {
    /// Its branch and where that left MAIN; with a commit, that one and the one before it.
    async fn sides(&self, commit: Option<&str>) -> Result<Sides, Problem> {
        let repo = self.place.repo();
        let branch = self.place.full_branch();
        let name = &self.worktree.name;
        let (whose, listing) = (name.clone(), format!("`flower diff {name} --stat` lists the changed files"));
        let Some(commit) = commit else {
            let new = repo.tip(&branch).await?.ok_or_else(|| GitError::Missing(format!("branch `{branch}`")))?;
            let old = repo.merge_base(&self.main, &new).await?;
            return Ok(Sides { repo, old, new, whose, listing });
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
        Ok(Sides { repo, old, new, whose, listing })
    }
}

impl Sides {
    /// As a patch, or in figures.
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
            Problem::new(ProblemKind::TooLarge, format!("`{file}` has more than {} MB", LARGEST >> 20), next)
        })
    }

    /// The commit that has it, and all of it unless it is too large.
    async fn content(&self, file: &str, side: Side) -> Result<(String, Option<Vec<u8>>), Problem> {
        let (commit, whose) = match side {
            Side::New => (Some(&self.new), self.whose.as_str()),
            Side::Old => (self.old.as_ref(), "MAIN"),
        };
        let missing = || {
            let message = format!("{whose} has no file `{file}`");
            Problem::new(ProblemKind::NotFound, message, self.listing.clone())
        };
        let commit = commit.ok_or_else(missing)?;
        let listed = self.repo.list_path(commit, file).await?;
        let is_it = |entry: &TreeEntry<'_>| entry.kind == "blob" && entry.path == file;
        let found = listed.entries().next().filter(is_it);
        let (blob, size) = found.and_then(|entry| Some((entry.object().ok()?, entry.size?))).ok_or_else(missing)?;
        if size > LARGEST {
            return Ok((commit.to_string(), None));
        }
        Ok((commit.to_string(), Some(self.repo.read_blob(&blob).await?)))
    }
}
