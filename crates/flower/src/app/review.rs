//! What the operator reads of a worktree's work, and what they say to whoever can mend it.

use super::App;
use super::projects::ProjectChoice;
use super::worktrees::place::Place;
use crate::error::{Problem, ProblemKind};
use crate::git;
use crate::store::{agents, beside, dispatches, tables};
use crate::view::{CommentView, CommitView};
use flower_core::pattern::Pattern;
use flower_core::review::{Remark, Request, Side};
use flower_core::worktree::Seal;
use flower_core::{Caller, Command, Event, Worktree};

/// Commits and comments that are shown at once; the newest.
const MOST: u64 = 500;
/// A file of which a line is quoted.
const LARGEST: u64 = 8 << 20;

/// A worktree's branch beside MAIN.
struct Work {
    worktree: Worktree,
    place: Place,
    main: String,
}

impl App {
    /// Its changes against MAIN, as a patch or in figures.
    pub async fn diff_worktree(&self, choice: &ProjectChoice, name: &str, stat: bool) -> Result<Vec<u8>, Problem> {
        let work = self.work(choice, name).await?;
        let range = format!("{}...{}", work.main, work.place.full_branch());
        let style = if stat { "--stat" } else { "--patch" };
        let args = ["diff", "--no-color", "--no-ext-diff", "--no-textconv", style, &range, "--"];
        Ok(git::in_main(&work.place.repository).args(args).run().await?.stdout)
    }

    /// What it has that MAIN has not, newest first.
    pub async fn commits(&self, choice: &ProjectChoice, name: &str) -> Result<Vec<CommitView>, Problem> {
        let work = self.work(choice, name).await?;
        let range = format!("{}..{}", work.main, work.place.full_branch());
        let count = format!("--max-count={MOST}");
        let args = ["log", "-z", &count, "--format=%H%x1f%cI%x1f%an%x1f%s", "--end-of-options", &range, "--"];
        let output = git::in_main(&work.place.repository).args(args).run().await?;
        let commit = |item: &[u8]| {
            let text = String::from_utf8_lossy(item).into_owned();
            let mut parts = text.trim().split('\u{1f}').map(str::to_owned);
            let mut next = || parts.next().unwrap_or_default();
            CommitView { commit: next(), at: next(), author: next(), title: next() }
        };
        Ok(output.items().map(commit).collect())
    }

    /// A file as its branch has it, or as MAIN had it when the branch left: what stands around its changes.
    pub async fn file_of(
        &self,
        choice: &ProjectChoice,
        name: &str,
        file: &str,
        side: Side,
    ) -> Result<Vec<u8>, Problem> {
        let work = self.work(choice, name).await?;
        let (_, content) = self.content(&work, file, side).await?;
        content.ok_or_else(|| {
            let next = "read it in the worktree itself, or in its diff";
            Problem::new(ProblemKind::TooLarge, format!("`{file}` has more than {} MB", LARGEST >> 20), next)
        })
    }

    /// Says something about a line. It reaches the agent that has reserved the file, or else the one that leads the work, or
    /// else whoever comes into the worktree next.
    pub async fn comment(
        &self,
        caller: &Caller,
        choice: &ProjectChoice,
        name: &str,
        (file, line, side): (String, u64, Side),
        text: String,
    ) -> Result<CommentView, Problem> {
        super::require_steering(caller, "review a worktree")?;
        let work = self.work(choice, name).await?;
        let (commit, quote) = self.line(&work, &file, line, side).await?;
        let (project, worktree) = (work.worktree.project.clone(), work.worktree.name.clone());
        let to = self.who_can_mend(&work.worktree, &file).await?;
        let remark = Remark { project: project.clone(), worktree, file, line, side, commit, quote, text };
        let events = self.submit(caller, Command::Remark(Request { remark, to })).await?;
        let made = events.iter().find_map(|recorded| match recorded.event() {
            Ok(Event::MessageSent(sent)) => Some(sent.number),
            _ => None,
        });
        let mut all = self.comments_of(&project, name).await?.into_iter();
        all.find(|comment| Some(comment.id) == made).ok_or_else(|| Problem::bug("a comment was made and is not there"))
    }

    /// What was said about its lines, oldest first.
    pub async fn comments(&self, choice: &ProjectChoice, name: &str) -> Result<Vec<CommentView>, Problem> {
        let worktree = self.worktree(choice, name).await?;
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
                    let read = beside::get(conn, &format!("read/{}", token.id))?;
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
        let worktree = self.worktree(choice, name).await?;
        let place = self.require_ready(&worktree).await?;
        if place.seal == Seal::Sealed {
            self.mirror(&place).await?;
        }
        let main = self.main_of(&worktree.project).await?.tip;
        Ok(Work { worktree, place, main })
    }

    /// The commit that has it, and the line itself.
    async fn line(&self, work: &Work, file: &str, line: u64, side: Side) -> Result<(String, String), Problem> {
        let (commit, content) = self.content(work, file, side).await?;
        let Some(content) = content else { return Ok((commit, String::new())) };
        let text = String::from_utf8_lossy(&content);
        let found = line.checked_sub(1).and_then(|before| text.lines().nth(usize::try_from(before).ok()?));
        found.map(|quote| (commit, quote.to_owned())).ok_or_else(|| {
            let lines = text.lines().count();
            Problem::usage(format!("`{file}` has no line {line}"), format!("it has lines 1 to {lines}"))
        })
    }

    /// The commit that has it, and all of it unless it is too large.
    async fn content(&self, work: &Work, file: &str, side: Side) -> Result<(String, Option<Vec<u8>>), Problem> {
        let git = |args: &[&str]| git::in_main(&work.place.repository).args(args);
        let branch = work.place.full_branch();
        let commit = match side {
            Side::New => git(&["rev-parse", "--verify", "--end-of-options", &format!("{branch}^{{commit}}")]),
            Side::Old => git(&["merge-base", "--end-of-options", &work.main, &branch]),
        };
        let commit = String::from_utf8_lossy(&commit.run().await?.stdout).trim().to_owned();
        let whose = if side == Side::New { work.worktree.name.as_str() } else { "MAIN" };
        let listed = git(&["ls-tree", "-z", "--long", "--full-tree", &commit, "--", file]).output().await?;
        let Some((blob, size)) = listed.items().next().and_then(|entry| blob(entry, file)) else {
            let next = format!("`flower diff {} --stat` lists the changed files", work.worktree.name);
            return Err(Problem::new(ProblemKind::NotFound, format!("{whose} has no file `{file}`"), next));
        };
        if size > LARGEST {
            return Ok((commit, None));
        }
        let content = git(&["cat-file", "blob", &blob]).run().await?.stdout;
        Ok((commit, Some(content)))
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

/// The object and the size of a file, from a line of `git ls-tree`: `100644 blob OBJECT SIZE<tab>PATH`.
fn blob(entry: &[u8], file: &str) -> Option<(String, u64)> {
    let (facts, path) = std::str::from_utf8(entry).ok()?.split_once('\t')?;
    let mut facts = facts.split_whitespace().skip(1);
    let (kind, object, size) = (facts.next()?, facts.next()?, facts.next()?);
    (kind == "blob" && path == file).then_some((object.to_owned(), size.parse().ok()?))
}
