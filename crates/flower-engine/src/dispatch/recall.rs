//! Gathers the content of a recall, which `flower_core::recall` renders. HTTP, MCP and the command line give the same bytes.

use crate::Dispatcher;
use crate::briefs::{require, unified};
use flower_contract::error::Problem;
use flower_contract::view::RecallView;
use flower_core::pattern::Pattern;
use flower_core::readiness::DispatchKind;
use flower_core::recall::{
    self, About, Calls, Change, Check, Happening, Held, Linked, MainNow, Moved, Neighbour, Origin, Participant, Place,
    Question, Recall, Run, Spec, Written,
};
use flower_core::{Actor, BootTime, Brief, BriefId, Dispatch, DispatchId, Recorded, worktree};
use flower_git::{CommitId, RefName, Repo};
use flower_store::log::{self, Edge, Of};
use flower_store::{Conn, StoreError, briefs, dispatches, landings, tokens, worktrees};
use std::collections::HashSet;
use std::sync::Arc;

/// The newest events of a brief that are read.
const MAX_EVENTS_READ: u64 = 120;
/// Events that can be in the text.
const MAX_TRACE: usize = 60;
/// Changes of the spec that can be in the text, and the longest spec that is compared: a diff of longer ones is slow.
const MAX_CHANGES: usize = 3;
const MAX_DIFFED_BYTES: usize = 128 * 1024;
/// Entries of each list.
const MAX_ITEMS: usize = 50;

/// The newest comparisons with MAIN, which are kept.
const MAX_COMPARED: usize = 50;
/// Changed paths of each side of a comparison; the rest of a huge change is not looked at.
const MAX_PATHS: usize = 5_000;

/// Which text of a brief is wanted.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecallOptions {
    /// The limit in tokens.
    pub budget: Option<u64>,
    /// The newest dispatch by default.
    pub dispatch: Option<DispatchId>,
    pub calls: Calls,
}

/// How far MAIN had moved when a branch and MAIN were last compared.
#[derive(Debug)]
pub(super) struct Compared {
    branch: CommitId,
    main: CommitId,
    commits: u64,
    /// The paths that MAIN changed since the branch left it, and those that the branch changed.
    theirs: Vec<String>,
    ours: HashSet<String>,
}

impl Dispatcher {
    /// The text of `recall_brief`.
    pub async fn recall(&self, brief: BriefId, options: RecallOptions) -> Result<RecallView, Problem> {
        let moment = self.clock.moment();
        let home = self.home.clone();
        let budget = options.budget.unwrap_or(recall::DEFAULT_TOKENS);
        let read = self.store.read(move |conn| gather(conn, brief, options.dispatch, &moment));
        let (mut input, project) = read.await?;
        input.calls = options.calls;
        if let Some(project) = &project {
            if let Some(place) = &mut input.place {
                place.path =
                    home.in_project(home.worktrees(), project).join(&place.worktree).to_string_lossy().into_owned();
            }
            if let Some(tip) = input.main.as_ref().map(|main| main.tip.clone()) {
                input.checks = self.checks(project, &tip).await;
            }
            let moved = self.moved(project, &input).await.unwrap_or_else(|problem| {
                tracing::debug!("brief {brief}: its branch cannot be compared with MAIN: {}", problem.message);
                None
            });
            if let Some(main) = &mut input.main {
                main.moved = moved;
            }
        }
        let recalled = recall::render(&input, budget)?;
        Ok(RecallView { brief: brief.0, text: recalled.text, tokens: recalled.tokens, budget })
    }

    /// The checks of a landing, as MAIN has them.
    async fn checks(&self, project: &str, tip: &str) -> Vec<Check> {
        let Some(rules) = self.merge_queue.rules_of(project, tip).await else { return Vec::new() };
        let checks = rules.settings.checks.list.iter().take(MAX_ITEMS).map(|(name, check)| Check {
            name: name.clone(),
            command: check.run.clone(),
            paths: check.paths.iter().map(|pattern| pattern.as_str().to_owned()).collect(),
        });
        checks.collect()
    }

    /// How far MAIN has moved since the branch of a live run left it, and which paths of the run it has touched.
    async fn moved(&self, project: &str, input: &Recall) -> Result<Option<Moved>, Problem> {
        let (Some(run), Some(place), Some(main)) = (&input.run, &input.place, &input.main) else { return Ok(None) };
        if !run.state.is_live() {
            return Ok(None);
        }
        let repo = Repo::main(&self.worktrees.repository(project).await?);
        let Some(branch) = repo.tip(&RefName::branch(&place.branch)?).await? else { return Ok(None) };
        let compared = self.compare(&repo, branch, CommitId::parse(&main.tip)?).await?;
        let own = input.leases.iter().filter(|lease| run.holder.as_ref() == Some(&lease.holder));
        let reserved: Vec<Pattern> =
            own.flat_map(|lease| &lease.patterns).filter_map(|pattern| Pattern::parse(pattern).ok()).collect();
        let is_ours = |path: &&String| compared.ours.contains(*path) || reserved.iter().any(|own| own.matches(path));
        let shared = compared.theirs.iter().filter(is_ours).take(MAX_ITEMS).cloned().collect();
        Ok(Some(Moved { commits: compared.commits, shared }))
    }

    /// Compares a branch with MAIN, unless neither has moved since the last time.
    async fn compare(&self, repo: &Repo, branch: CommitId, main: CommitId) -> Result<Arc<Compared>, Problem> {
        let is_same = |compared: &&Arc<Compared>| compared.branch == branch && compared.main == main;
        if let Some(known) = self.compared.lock().expect("no panic while held").iter().find(is_same) {
            return Ok(known.clone());
        }
        let paths = async |from: &CommitId, to: &CommitId| {
            let changes = repo.diff_trees(from, to).await?;
            let paths = changes.into_iter().take(MAX_PATHS);
            Ok::<_, Problem>(paths.map(|change| change.path.to_string_lossy().into_owned()))
        };
        let compared = match repo.merge_base(&branch, &main).await? {
            Some(base) if base != main => {
                let (commits, _) = repo.count_apart(&main, &branch).await?;
                let (theirs, ours) = (paths(&base, &main).await?.collect(), paths(&base, &branch).await?.collect());
                Compared { branch, main, commits, theirs, ours }
            }
            _ => Compared { branch, main, commits: 0, theirs: Vec::new(), ours: HashSet::new() },
        };
        let compared = Arc::new(compared);
        let mut all = self.compared.lock().expect("no panic while held");
        if all.len() >= MAX_COMPARED {
            all.pop_front();
        }
        all.push_back(compared.clone());
        Ok(compared)
    }
}

fn gather(
    conn: &mut Conn,
    number: BriefId,
    dispatch: Option<DispatchId>,
    moment: &BootTime,
) -> Result<(Recall, Option<String>), StoreError> {
    let brief = require(conn, number)?;
    let known = dispatches::of_brief(conn, number)?;
    let run = match dispatch {
        Some(number) => known.iter().find(|dispatch| dispatch.number == number),
        None => known.iter().rev().find(|dispatch| dispatch.is_open()).or(known.last()),
    };
    let project = run.and_then(|run| run.project.clone()).or_else(|| brief.projects.first().cloned());
    let around = briefs::around(conn, std::slice::from_ref(&brief))?;
    let neighbour = |conn: &mut Conn, number: BriefId| -> Result<Option<Neighbour>, StoreError> {
        Ok(briefs::state(conn, number)?.map(|b| Neighbour { number, title: b.title, status: b.status }))
    };
    let mut needs = Vec::new();
    for needed in brief.depends_on.iter().take(MAX_ITEMS) {
        needs.extend(neighbour(conn, *needed)?);
    }
    let mut dependents = Vec::new();
    for dependent in around.dependents.get(&number).into_iter().flatten().take(MAX_ITEMS) {
        dependents.extend(neighbour(conn, *dependent)?);
    }
    let epic = match brief.epic {
        Some(epic) => briefs::state(conn, epic)?.map(|epic| (epic.number, epic.title)),
        None => None,
    };
    let (spec, changes) = spec(conn, &brief, run)?;
    let recall = Recall {
        run: run.map(as_run),
        place: place(conn, run, project.as_deref())?,
        main: main(conn, project.as_deref())?,
        spec,
        checks: Vec::new(),
        changes,
        questions: questions(conn, number)?,
        needs,
        dependents,
        participants: people(conn, &brief, run)?,
        leases: leases(conn, run, moment)?,
        trace: trace(conn, number)?,
        links: links(&around, number),
        unread: 0,
        calls: Calls::Tools,
        brief: About {
            number,
            title: brief.title,
            kind: brief.kind,
            status: brief.status,
            projects: brief.projects,
            epic,
        },
    };
    Ok((recall, project))
}

fn as_run(dispatch: &Dispatch) -> Run {
    let origin = || Origin { by: Actor::system(), at: dispatch.requested_at.clone() };
    Run {
        dispatch: dispatch.number,
        kind: dispatch.kind,
        state: dispatch.state,
        fence: dispatch.fence,
        holder: dispatch.claim.as_ref().map(|claim| claim.holder.clone()),
        spec_version: dispatch.spec_version,
        evidence: dispatch.evidence.as_ref().map(|text| Written { text: text.clone(), origin: origin() }),
        agents: dispatch.agents,
    }
}

fn place(conn: &mut Conn, run: Option<&Dispatch>, project: Option<&str>) -> Result<Option<Place>, StoreError> {
    let (Some(name), Some(project)) = (run.and_then(|run| run.worktree.clone()), project) else { return Ok(None) };
    let live = worktrees::named(conn, project, &name)?;
    let sealed = live.is_none_or(|worktree| worktree.seal == worktree::Seal::Sealed);
    Ok(Some(Place { branch: worktree::branch(&name), worktree: name, path: String::new(), sealed }))
}

fn main(conn: &mut Conn, project: Option<&str>) -> Result<Option<MainNow>, StoreError> {
    let Some(main) = project.map(|project| landings::main(conn, project)).transpose()?.flatten() else {
        return Ok(None);
    };
    let (state, reason) = match (&main.alarm, &main.frozen) {
        (Some(alarm), _) => (alarm.what.to_string(), Some(alarm.text.clone())),
        (None, Some(why)) => ("frozen".to_owned(), Some(why.clone())),
        (None, None) => ("stable".to_owned(), None),
    };
    Ok(Some(MainNow { branch: main.branch, tip: main.tip, state, reason, moved: None }))
}

/// The spec that the work follows, and the last changes of it. A design works on the newest version, other work on the
/// accepted one.
fn spec(conn: &mut Conn, brief: &Brief, run: Option<&Dispatch>) -> Result<(Option<Spec>, Vec<Change>), StoreError> {
    let newest = brief.spec_version;
    let is_design = run.is_some_and(|run| run.kind == DispatchKind::Design);
    let shown = brief.accepted_version.filter(|_| !is_design).unwrap_or(newest);
    let versions = briefs::newest_versions(conn, brief.number, MAX_CHANGES as u64)?;
    let Some(markdown) = briefs::markdown(conn, brief.number, newest)? else { return Ok((None, Vec::new())) };
    let origin = |version: &briefs::SpecVersion| Origin {
        by: Actor { sort: version.actor_type, name: version.actor_name.clone() },
        at: version.at.clone(),
    };
    let mut changes = Vec::new();
    let mut newer = markdown.clone();
    for version in versions.iter().filter(|version| version.version > 1) {
        let older = briefs::markdown(conn, brief.number, version.version - 1)?.unwrap_or_default();
        let diff = if older.len().max(newer.len()) <= MAX_DIFFED_BYTES {
            unified(&older, &newer, version.version - 1, version.version)
        } else {
            String::new()
        };
        let (from, to, why) = (version.version - 1, version.version, version.why.clone());
        changes.push(Change { from, to, why, origin: origin(version), diff });
        newer = older;
    }
    let Some(last) = versions.first() else { return Ok((None, Vec::new())) };
    let markdown = match shown == newest {
        true => markdown,
        false => briefs::markdown(conn, brief.number, shown)?.unwrap_or(markdown),
    };
    let origin = match versions.iter().find(|version| version.version == shown) {
        Some(version) => origin(version),
        None => briefs::version(conn, brief.number, shown)?.as_ref().map_or_else(|| origin(last), origin),
    };
    let spec = Spec { version: shown, newest, accepted: brief.accepted_version, markdown, origin };
    Ok((Some(spec), changes))
}

fn questions(conn: &mut Conn, brief: BriefId) -> Result<Vec<Question>, StoreError> {
    let found = flower_store::questions::of_brief(conn, brief, MAX_ITEMS as u64)?;
    found
        .into_iter()
        .map(|q| {
            let by = Actor { sort: q.asked_type.parse()?, name: q.asked_by };
            let asked = Written { text: q.text, origin: Origin { by, at: q.asked_at } };
            let answer = q.answer.map(|(text, name, at)| {
                let by = Actor { sort: flower_core::ActorType::Operator, name };
                Written { text, origin: Origin { by, at } }
            });
            Ok(Question { number: q.question, asked, answer })
        })
        .collect()
}

/// The agents that work on the brief now, besides the holder of the run.
fn people(conn: &mut Conn, brief: &Brief, run: Option<&Dispatch>) -> Result<Vec<Participant>, StoreError> {
    let holder = run.and_then(|run| run.claim.as_ref()).map(|claim| claim.holder.as_str());
    let living = tokens::of_live_runs(conn, brief.number)?;
    let others = brief.participants.iter().rev().filter(|participant| {
        participant.active && Some(participant.name.as_str()) != holder && living.contains(&participant.name)
    });
    Ok(others.take(MAX_ITEMS).map(|p| Participant { name: p.name.clone(), worktree: p.worktree.clone() }).collect())
}

fn leases(conn: &mut Conn, run: Option<&Dispatch>, moment: &BootTime) -> Result<Vec<Held>, StoreError> {
    let Some((project, worktree)) = run.and_then(|run| run.project.as_deref().zip(run.worktree.as_deref())) else {
        return Ok(Vec::new());
    };
    let live = dispatches::leases(conn, Some((project, worktree)))?;
    let held = live.into_iter().filter(|lease| !lease.is_over(moment)).take(MAX_ITEMS).map(|lease| Held {
        minutes_left: moment.left(&lease.beat, lease.seconds).div_ceil(60_000),
        holder: lease.holder,
        worktree: lease.worktree,
        patterns: lease.patterns,
    });
    Ok(held.collect())
}

fn links(around: &briefs::Around, brief: BriefId) -> Vec<Linked> {
    let newest = around.links.get(&brief).into_iter().flatten().rev().take(MAX_ITEMS);
    newest
        .map(|link| {
            let label = (!link.label.is_empty() && link.label != link.target).then(|| link.label.clone());
            Linked { kind: link.kind, target: link.target.clone(), label }
        })
        .collect()
}

fn trace(conn: &mut Conn, brief: BriefId) -> Result<Vec<Happening>, StoreError> {
    let mut newest = log::trace(conn, &Of::Brief(brief), Edge::Before(u64::MAX >> 1), MAX_EVENTS_READ)?;
    newest.sort_by_key(|event| std::cmp::Reverse(event.seq));
    Ok(newest.iter().filter_map(happening).take(MAX_TRACE).collect())
}

/// An event that matters for continuing the work. State such as the spec has its own part of the text.
fn happening(recorded: &Recorded) -> Option<Happening> {
    let described = recorded.description();
    if !described.recalled {
        return None;
    }
    let by = Actor { sort: recorded.actor_type.parse().ok()?, name: recorded.actor_name.clone() };
    let origin = Origin { by, at: recorded.at.clone() };
    let text = described.text.unwrap_or(described.summary);
    Some(Happening { seq: recorded.seq, kind: recorded.kind.clone(), origin, text })
}
