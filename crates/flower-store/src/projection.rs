//! Updates the tables from events. The same code runs when an event is recorded and when the tables are refilled, so
//! both give the same rows.

use super::conn::{Conn, params};
use super::error::StoreError;
use super::index::Index;
use flower_core::{
    Agent, Brief, Dispatch, Event, Landing, Lease, Main, Permission, Recorded, Worktree, agent, dispatch, landing,
    lease, main_branch, worktree,
};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// The tables that are derived from events, in an order in which they can be emptied.
pub const TABLES: &[&str] = &[
    "briefs",
    "brief_projects",
    "brief_needs",
    "spec_versions",
    "questions",
    "links",
    "scratchpads",
    "projects",
    "tokens",
    "worktrees",
    "approvals",
    "landings",
    "landing_briefs",
    "mains",
    "dispatches",
    "leases",
    "breaches",
    "messages",
    "remarks",
    "agents",
    "spendings",
    "permissions",
    "search_docs",
    "search_words",
    "search_spellings",
];

/// Applies events in order. Briefs are kept in memory, and changed ones are written once per [`Projector::flush`].
#[derive(Default)]
pub struct Projector {
    briefs: BTreeMap<u64, Brief>,
    changed: BTreeSet<u64>,
    last_brief: Option<u64>,
}

impl Projector {
    /// A brief after all events that were applied.
    pub fn brief(&mut self, conn: &mut Conn, number: u64) -> Result<Option<&Brief>, StoreError> {
        if let Entry::Vacant(place) = self.briefs.entry(number)
            && let Some(brief) = super::briefs::state(conn, number)?
        {
            place.insert(brief);
        }
        Ok(self.briefs.get(&number))
    }

    /// The highest number of a brief.
    pub fn last_brief(&mut self, conn: &mut Conn) -> Result<u64, StoreError> {
        if let Some(last) = self.last_brief {
            return Ok(last);
        }
        self.flush(conn)?;
        let row = conn.row("SELECT coalesce(max(number), 0) FROM briefs", &[])?;
        let last = row.map_or(Ok(0), |row| row.int(0))?;
        self.last_brief = Some(last);
        Ok(last)
    }

    /// Applies an event. Its texts go into `index`, which is flushed at the end of the transaction.
    pub fn apply(&mut self, conn: &mut Conn, recorded: &Recorded, index: &mut Index) -> Result<(), StoreError> {
        let event = recorded.event().map_err(|error| {
            StoreError::Corrupt(format!("event {} ({}) cannot be read: {error}", recorded.seq, recorded.kind))
        })?;
        self.evolve(conn, recorded, &event)?;
        tables(conn, recorded, &event)?;
        index.take(conn, recorded, &event)
    }

    /// Writes the briefs that changed.
    pub fn flush(&mut self, conn: &mut Conn) -> Result<(), StoreError> {
        for number in std::mem::take(&mut self.changed) {
            let brief = &self.briefs[&number];
            let state = serde_json::to_string(brief).expect("a brief is plain data");
            conn.execute(
                "INSERT INTO briefs (number, title, kind, status, epic, updated_at, state, wants)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
                 ON CONFLICT (number) DO UPDATE SET title = excluded.title, kind = excluded.kind,
                     status = excluded.status, epic = excluded.epic, updated_at = excluded.updated_at,
                     state = excluded.state, wants = excluded.wants",
                params![
                    brief.number,
                    &brief.title,
                    brief.kind.as_str(),
                    brief.status.as_str(),
                    brief.epic,
                    &brief.updated_at,
                    &state,
                    u64::from(brief.wants().is_some())
                ],
            )?;
        }
        Ok(())
    }

    /// The number of briefs in memory.
    pub fn held(&self) -> usize {
        self.briefs.len()
    }

    fn evolve(&mut self, conn: &mut Conn, recorded: &Recorded, event: &Event) -> Result<(), StoreError> {
        let Some(number) = recorded.brief else { return Ok(()) };
        if let Some(new) = Brief::created(event, &recorded.at) {
            self.briefs.insert(number, new);
            self.last_brief = self.last_brief.map(|last| last.max(number));
        } else {
            if self.brief(conn, number)?.is_none() {
                return Ok(());
            }
            if let Some(brief) = self.briefs.get_mut(&number) {
                brief.evolve(event, &recorded.at);
            }
        }
        self.changed.insert(number);
        Ok(())
    }
}

/// Updates the tables other than `briefs`.
fn tables(conn: &mut Conn, recorded: &Recorded, event: &Event) -> Result<(), StoreError> {
    let brief = recorded.brief;
    let at = &recorded.at;
    let actor = &recorded.actor_name;
    match event {
        Event::BriefCreated(new) => {
            for project in &new.projects {
                add_project(conn, new.number, project)?;
            }
            for &needs in &new.depends_on {
                add_need(conn, Some(new.number), needs)?;
            }
        }
        Event::PlanProposed(plan) => {
            spec_version(conn, recorded, "plan", (plan.version, plan.base), None, &plan.markdown)?;
        }
        Event::Refinement(refinement) => {
            let versions = (refinement.version, refinement.base);
            spec_version(conn, recorded, "refinement", versions, refinement.why.as_deref(), &refinement.markdown)?;
        }
        Event::SpecSnapshot(snapshot) => {
            conn.execute(
                "UPDATE spec_versions SET accepted = 1 WHERE brief = $1 AND version = $2",
                params![brief, snapshot.version],
            )?;
        }
        Event::ProjectsChanged(change) => {
            conn.execute("DELETE FROM brief_projects WHERE brief = $1", params![brief])?;
            for project in &change.projects {
                add_project(conn, brief.unwrap_or_default(), project)?;
            }
        }
        Event::DependencyAdded(dependency) => add_need(conn, brief, dependency.needs)?,
        Event::DependencyDropped(dependency) => {
            let sql = "DELETE FROM brief_needs WHERE brief = $1 AND needs = $2";
            conn.execute(sql, params![brief, dependency.needs])?;
        }
        Event::QuestionAsked(asked) => {
            conn.execute(
                "INSERT INTO questions (brief, question, text, asked_type, asked_by, asked_at)
                 VALUES ($1, $2, $3, $4, $5, $6)",
                params![brief, asked.question, &asked.text, &recorded.actor_type, actor, at],
            )?;
        }
        Event::DecisionMade(decision) => {
            conn.execute(
                "UPDATE questions SET answer = $3, answered_by = $4, answered_at = $5 WHERE brief = $1 AND question = $2",
                params![brief, decision.question, &decision.text, actor, at],
            )?;
        }
        Event::LinkAdded(link) => {
            conn.execute(
                "INSERT INTO links (brief, kind, target, label, actor_name, at, seq) VALUES ($1, $2, $3, $4, $5, $6, $7)",
                params![brief, link.kind.as_str(), &link.target, &link.label, actor, at, recorded.seq],
            )?;
        }
        Event::ScratchpadCreated(pad) => {
            conn.execute(
                "INSERT INTO scratchpads (number, title, brief, version, actor_name, created_at, updated_at, text)
                 VALUES ($1, $2, $3, 0, $4, $5, $5, '')",
                params![pad.number, &pad.title, pad.brief, actor, at],
            )?;
        }
        Event::ScratchpadWritten(written) => {
            let sql = if written.append {
                "UPDATE scratchpads SET version = $2, updated_at = $3, text = text || $4 WHERE number = $1"
            } else {
                "UPDATE scratchpads SET version = $2, updated_at = $3, text = $4 WHERE number = $1"
            };
            conn.execute(sql, params![written.number, written.version, at, &written.text])?;
        }
        Event::ProjectRegistered(project) => {
            let sql = "INSERT INTO projects (name, root, at) VALUES ($1, $2, $3)";
            conn.execute(sql, params![&project.name, &project.root, at])?;
        }
        Event::ProjectRemoved(project) => {
            conn.execute("DELETE FROM projects WHERE name = $1", params![&project.name])?;
            conn.execute("DELETE FROM approvals WHERE project = $1", params![&project.name])?;
            conn.execute("DELETE FROM mains WHERE project = $1", params![&project.name])?;
        }
        Event::TokenIssued(token) => {
            conn.execute(
                "INSERT INTO tokens (id, agent, role, brief, worktree, sha256, at, dispatch, packet, member, seq)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
                params![
                    &token.id,
                    &token.agent,
                    token.role.as_str(),
                    token.brief,
                    token.worktree.as_ref(),
                    &token.sha256,
                    at,
                    token.dispatch,
                    u64::from(token.dispatch.is_some()),
                    u64::from(token.member),
                    recorded.seq
                ],
            )?;
            dispatch_row(conn, event, at, actor)?;
        }
        Event::WorktreeRequested(_)
        | Event::WorktreeCreated(_)
        | Event::WorktreeFailed(_)
        | Event::WorktreeDiverged(_)
        | Event::WorktreeRemoving(_)
        | Event::WorktreeRemoved(_)
        | Event::WorktreeRestoring(_)
        | Event::WorktreeRestored(_)
        | Event::ArchiveDropped(_) => worktree_row(conn, event, at)?,
        Event::CommandsApproved(approved) => {
            conn.execute(
                "INSERT INTO approvals (project, sha256, at) VALUES ($1, $2, $3)
                 ON CONFLICT (project) DO UPDATE SET sha256 = excluded.sha256, at = excluded.at",
                params![&approved.project, &approved.sha256, at],
            )?;
        }
        Event::TokenRevoked(token) => {
            conn.execute("UPDATE tokens SET revoked_at = $2 WHERE id = $1", params![&token.id, at])?;
        }
        Event::LandingQueued(_)
        | Event::LandingChecking(_)
        | Event::LandingHeld(_)
        | Event::LandingApproved(_)
        | Event::LandingRequeued(_)
        | Event::ChecksRan(_)
        | Event::CheckFlaked(_)
        | Event::LandingRejected(_)
        | Event::LandingCancelled(_)
        | Event::RolledBack(_) => landing_row(conn, event, at, actor)?,
        Event::Landed(_) => {
            landing_row(conn, event, at, actor)?;
            main_row(conn, event, at)?;
        }
        Event::MainRecorded(_)
        | Event::QueueFrozen(_)
        | Event::QueueThawed(_)
        | Event::MainAlarm(_)
        | Event::MainSettled(_)
        | Event::Pushed(_)
        | Event::PushFailed(_) => main_row(conn, event, at)?,
        Event::DispatchClaimed(claimed) => {
            dispatch_row(conn, event, at, actor)?;
            // A claim binds the worker's token to this run.
            let sql = "UPDATE tokens SET dispatch = $2, brief = $3, worktree = $4, member = 0
                 WHERE id = $1 AND role = 'worker'";
            let (token, worktree) = (claimed.token.as_ref(), claimed.worktree.as_ref());
            conn.execute(sql, params![token, claimed.number, brief, worktree])?;
        }
        Event::DispatchRequested(_)
        | Event::DispatchExecuting(_)
        | Event::DispatchExpired(_)
        | Event::DispatchHandedBack(_)
        | Event::DispatchFailed(_)
        | Event::DispatchCancelled(_)
        | Event::DispatchLanded(_) => dispatch_row(conn, event, at, actor)?,
        Event::LeaseTaken(_) | Event::LeaseReleased(_) => lease_row(conn, recorded, event)?,
        Event::LeaseBreached(breach) => {
            conn.execute(
                "INSERT INTO breaches (commit_id, holder, made_by, paths, seq) VALUES ($1, $2, $3, $4, $5)",
                params![&breach.commit, &breach.holder, breach.by.as_ref(), &breach.paths.join("\n"), recorded.seq],
            )?;
        }
        Event::MessageSent(sent) => {
            conn.execute(
                "INSERT INTO messages (number, kind, recipient, actor_type, actor_name, at, seq, text)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                params![
                    sent.number,
                    sent.kind.as_str(),
                    &sent.to,
                    &recorded.actor_type,
                    actor,
                    at,
                    recorded.seq,
                    &sent.text
                ],
            )?;
            if let Some(about) = &sent.about {
                let state = serde_json::to_string(about).expect("a remark is plain data");
                conn.execute(
                    "INSERT INTO remarks (message, project, worktree, state) VALUES ($1, $2, $3, $4)",
                    params![sent.number, &about.project, &about.worktree, &state],
                )?;
            }
        }
        Event::AgentStarted(_)
        | Event::AgentAssigned(_)
        | Event::AgentRestarted(_)
        | Event::AgentRefreshed(_)
        | Event::AgentStopped(_) => agent_row(conn, recorded, event)?,
        Event::AgentSpent(spent) => {
            let day = at.get(..10).unwrap_or(at);
            conn.execute(
                "INSERT INTO spendings (seq, day, agent, brief, dispatch, tokens, cost, currency)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                params![
                    recorded.seq,
                    day,
                    spent.number,
                    spent.brief,
                    spent.dispatch,
                    spent.tokens,
                    spent.cost,
                    spent.currency.as_ref()
                ],
            )?;
        }
        Event::PermissionAsked(_) => {
            if let Some(asked) = Permission::asked(event, brief, at) {
                permission_row(conn, &asked)?;
            }
        }
        Event::PermissionDecided(decided) => {
            if let Some(mut known) = super::agents::permission(conn, decided.number)? {
                known.allowed = Some(decided.allow);
                permission_row(conn, &known)?;
            }
        }
        // These events change the row of the brief only, or only add to the trace.
        Event::StatusChanged(_)
        | Event::BriefRenamed(_)
        | Event::KindChanged(_)
        | Event::EpicChanged(_)
        | Event::DispatchOptionsChanged(_)
        | Event::CommentAdded(_)
        | Event::NoteAdded(_)
        | Event::ParticipantJoined(_)
        | Event::LossAccepted(_)
        | Event::DependencyMet(_)
        | Event::WorktreeSynced(_)
        | Event::DispatchLate(_)
        | Event::CallRefused(_)
        | Event::Unknown { .. } => {}
    }
    Ok(())
}

/// Writes the row of a worktree, with the state that decisions are based on.
fn worktree_row(conn: &mut Conn, event: &Event, at: &str) -> Result<(), StoreError> {
    let Some(number) = worktree::number(event) else { return Ok(()) };
    let worktree = match Worktree::requested(event, at) {
        Some(new) => new,
        None => {
            let Some(mut known) = super::worktrees::worktree(conn, number)? else { return Ok(()) };
            known.evolve(event, at);
            known
        }
    };
    let state = serde_json::to_string(&worktree).expect("a worktree is plain data");
    conn.execute(
        "INSERT INTO worktrees (number, project, name, stage, live, brief, state) VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (number) DO UPDATE SET stage = excluded.stage, live = excluded.live, state = excluded.state",
        params![
            number,
            &worktree.project,
            &worktree.name,
            worktree.stage.as_str(),
            u64::from(worktree.is_live()),
            worktree.brief,
            &state
        ],
    )?;
    Ok(())
}

fn landing_row(conn: &mut Conn, event: &Event, at: &str, by: &str) -> Result<(), StoreError> {
    let Some(number) = landing::number(event) else { return Ok(()) };
    let landing = match Landing::queued(event, at, by) {
        Some(new) => {
            for brief in &new.briefs {
                let sql = "INSERT INTO landing_briefs (brief, landing) VALUES ($1, $2)";
                conn.execute(sql, params![*brief, number])?;
            }
            new
        }
        None => {
            let Some(mut known) = super::landings::landing(conn, number)? else { return Ok(()) };
            known.evolve(event, at);
            known
        }
    };
    let state = serde_json::to_string(&landing).expect("a landing is plain data");
    conn.execute(
        "INSERT INTO landings (number, project, worktree, open, merge_commit, state) VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (number) DO UPDATE SET open = excluded.open, merge_commit = excluded.merge_commit,
             state = excluded.state",
        params![
            number,
            &landing.project,
            landing.worktree_number,
            u64::from(landing.is_open()),
            landing.merge_commit.as_ref(),
            &state
        ],
    )?;
    Ok(())
}

fn dispatch_row(conn: &mut Conn, event: &Event, at: &str, by: &str) -> Result<(), StoreError> {
    let Some(number) = dispatch::number(event) else { return Ok(()) };
    let dispatch = match Dispatch::requested(event, at, by) {
        Some(new) => new,
        None => {
            let Some(mut known) = super::dispatches::dispatch(conn, number)? else { return Ok(()) };
            known.evolve(event, at);
            known
        }
    };
    let state = serde_json::to_string(&dispatch).expect("a dispatch is plain data");
    conn.execute(
        "INSERT INTO dispatches (number, brief, project, worktree, stage, open, state) VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (number) DO UPDATE SET stage = excluded.stage, open = excluded.open, state = excluded.state",
        params![
            number,
            dispatch.brief,
            dispatch.project.as_ref(),
            dispatch.worktree.as_ref(),
            dispatch.state.as_str(),
            u64::from(dispatch.is_open()),
            &state
        ],
    )?;
    Ok(())
}

fn lease_row(conn: &mut Conn, recorded: &Recorded, event: &Event) -> Result<(), StoreError> {
    let Some(number) = lease::number(event) else { return Ok(()) };
    let lease = match Lease::taken(event, recorded.brief, &recorded.at) {
        Some(new) => new,
        None => {
            let Some(known) = super::dispatches::lease(conn, number)? else { return Ok(()) };
            Lease { live: false, ..known }
        }
    };
    let state = serde_json::to_string(&lease).expect("a lease is plain data");
    conn.execute(
        "INSERT INTO leases (number, project, worktree, live, state) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (number) DO UPDATE SET live = excluded.live, state = excluded.state",
        params![number, &lease.project, &lease.worktree, u64::from(lease.live), &state],
    )?;
    Ok(())
}

fn agent_row(conn: &mut Conn, recorded: &Recorded, event: &Event) -> Result<(), StoreError> {
    let Some(number) = agent::number(event) else { return Ok(()) };
    let agent = match Agent::started(event, recorded.brief, &recorded.at, &recorded.actor_name) {
        Some(new) => new,
        None => {
            let Some(mut known) = super::agents::agent(conn, number)? else { return Ok(()) };
            known.evolve(event, recorded.brief, &recorded.at);
            known
        }
    };
    let state = serde_json::to_string(&agent).expect("an agent is plain data");
    conn.execute(
        "INSERT INTO agents (number, name, project, worktree, dispatch, live, state) VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (number) DO UPDATE SET dispatch = excluded.dispatch, live = excluded.live, state = excluded.state",
        params![
            number,
            &agent.name,
            &agent.project,
            &agent.worktree,
            agent.dispatch,
            u64::from(agent.is_live()),
            &state
        ],
    )?;
    Ok(())
}

fn permission_row(conn: &mut Conn, permission: &Permission) -> Result<(), StoreError> {
    let state = serde_json::to_string(permission).expect("a permission is plain data");
    conn.execute(
        "INSERT INTO permissions (number, agent, open, state) VALUES ($1, $2, $3, $4)
         ON CONFLICT (number) DO UPDATE SET open = excluded.open, state = excluded.state",
        params![permission.number, permission.agent, u64::from(permission.allowed.is_none()), &state],
    )?;
    Ok(())
}

fn main_row(conn: &mut Conn, event: &Event, at: &str) -> Result<(), StoreError> {
    let Some(project) = main_branch::project(event) else { return Ok(()) };
    let main = match super::landings::main(conn, project)? {
        Some(mut known) => {
            known.evolve(event, at);
            known
        }
        None => match Main::recorded(event, at) {
            Some(new) => new,
            None => return Ok(()),
        },
    };
    let state = serde_json::to_string(&main).expect("plain data");
    conn.execute(
        "INSERT INTO mains (project, state) VALUES ($1, $2) ON CONFLICT (project) DO UPDATE SET state = excluded.state",
        params![project, &state],
    )?;
    Ok(())
}

fn add_project(conn: &mut Conn, brief: u64, project: &str) -> Result<(), StoreError> {
    conn.execute("INSERT INTO brief_projects (project, brief) VALUES ($1, $2)", params![project, brief])?;
    Ok(())
}

fn add_need(conn: &mut Conn, brief: Option<u64>, needs: u64) -> Result<(), StoreError> {
    conn.execute("INSERT INTO brief_needs (brief, needs) VALUES ($1, $2)", params![brief, needs])?;
    Ok(())
}

fn spec_version(
    conn: &mut Conn,
    recorded: &Recorded,
    origin: &str,
    (version, base): (u64, u64),
    why: Option<&str>,
    markdown: &str,
) -> Result<(), StoreError> {
    conn.execute(
        "INSERT INTO spec_versions (brief, version, origin, base, why, actor_type, actor_name, at, accepted, markdown)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9)",
        params![
            recorded.brief,
            version,
            origin,
            base,
            why,
            &recorded.actor_type,
            &recorded.actor_name,
            &recorded.at,
            markdown
        ],
    )?;
    Ok(())
}
