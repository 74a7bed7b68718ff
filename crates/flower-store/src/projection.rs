//! Updates the tables from events. The same code runs when an event is recorded and when the tables are refilled, so
//! both give the same rows.

use super::conn::{Conn, Param, params};
use super::error::StoreError;
use super::index::Index;
use super::rows::{Row, update};
use flower_core::event::{
    AgentEvent, BriefEvent, DispatchClaimed, DispatchEvent, LandingEvent, MessageEvent, MessageSent, ProjectEvent,
    ScratchpadEvent, Subject, TokenEvent, TokenIssued,
};
use flower_core::project::rename_in;
use flower_core::review::Remark;
use flower_core::{
    Agent, Brief, BriefId, Dispatch, Event, Landing, Lease, Main, Permission, Recorded, SpecOrigin, Worktree,
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
    "former_names",
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
    briefs: BTreeMap<BriefId, Brief>,
    changed: BTreeSet<BriefId>,
    last_brief: Option<BriefId>,
}

impl Projector {
    /// A brief after all events that were applied.
    pub fn brief(&mut self, conn: &mut Conn, number: BriefId) -> Result<Option<&Brief>, StoreError> {
        if let Entry::Vacant(place) = self.briefs.entry(number)
            && let Some(brief) = super::briefs::state(conn, number)?
        {
            place.insert(brief);
        }
        Ok(self.briefs.get(&number))
    }

    /// The highest number of a brief.
    pub fn last_brief(&mut self, conn: &mut Conn) -> Result<BriefId, StoreError> {
        if let Some(last) = self.last_brief {
            return Ok(last);
        }
        self.flush(conn)?;
        let last = super::briefs::newest(conn)?;
        self.last_brief = Some(last);
        Ok(last)
    }

    /// Applies an event. Its texts go into `index`, which is flushed at the end of the transaction.
    pub fn apply(&mut self, conn: &mut Conn, recorded: &Recorded, index: &mut Index) -> Result<(), StoreError> {
        let event = recorded.event().map_err(|error| {
            StoreError::Corrupt(format!("event {} ({}) cannot be read: {error}", recorded.seq, recorded.kind))
        })?;
        self.evolve(conn, recorded, &event)?;
        if let Event::ProjectRenamed(renamed) = &event {
            self.rename_project(conn, &renamed.from, &renamed.to)?;
        }
        Tables { conn, recorded, index }.update(&event)
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

    /// Replaces the name of a project in all of its briefs.
    fn rename_project(&mut self, conn: &mut Conn, from: &str, to: &str) -> Result<(), StoreError> {
        let rows = conn.rows("SELECT brief FROM brief_projects WHERE project = $1", params![from])?;
        for row in rows {
            let number: BriefId = row.id(0)?;
            self.brief(conn, number)?;
            if let Some(brief) = self.briefs.get_mut(&number) {
                brief.rename_project(from, to);
                self.changed.insert(number);
            }
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

/// Updates the tables other than `briefs` by one event, and stores its texts for the search.
struct Tables<'a> {
    conn: &'a mut Conn,
    recorded: &'a Recorded,
    index: &'a mut Index,
}

impl Tables<'_> {
    fn update(&mut self, event: &Event) -> Result<(), StoreError> {
        let context = self.recorded.context();
        match event.subject() {
            Subject::Brief(change) => self.brief(change),
            Subject::Scratchpad(change) => self.scratchpad(change),
            Subject::Project(change) => self.project(change),
            Subject::Token(change) => self.token(change),
            Subject::Worktree(change) => update::<Worktree>(self.conn, change, &context),
            Subject::Landing(change) => {
                update::<Landing>(self.conn, change, &context)?;
                self.landing(change)
            }
            Subject::Main(change) => update::<Main>(self.conn, change, &context),
            Subject::Dispatch(change) => {
                update::<Dispatch>(self.conn, change, &context)?;
                match change {
                    DispatchEvent::DispatchClaimed(claimed) => self.bind_token(claimed),
                    _ => Ok(()),
                }
            }
            Subject::Lease(change) => update::<Lease>(self.conn, change, &context),
            Subject::Message(MessageEvent::MessageSent(sent)) => self.message(sent),
            Subject::Agent(AgentEvent::AgentSpent(spent)) => {
                let day = context.at.get(..10).unwrap_or(context.at);
                self.execute(
                    "INSERT INTO spendings (seq, day, agent, brief, dispatch, tokens, cost, currency)
                     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                    params![
                        self.recorded.seq,
                        day,
                        spent.number,
                        spent.brief,
                        spent.dispatch,
                        spent.tokens,
                        spent.cost,
                        spent.currency.as_ref()
                    ],
                )
            }
            Subject::Agent(change) => update::<Agent>(self.conn, change, &context),
            Subject::Permission(change) => update::<Permission>(self.conn, change, &context),
            Subject::Log(_) | Subject::Unknown => Ok(()),
        }
    }

    fn brief(&mut self, change: BriefEvent<'_>) -> Result<(), StoreError> {
        let recorded = self.recorded;
        let (brief, at, actor) = (recorded.brief, &recorded.at, &recorded.actor_name);
        match change {
            BriefEvent::BriefCreated(new) => {
                for project in &new.projects {
                    self.add_project(Some(new.number), project)?;
                }
                for &needs in &new.depends_on {
                    self.add_need(Some(new.number), needs)?;
                }
                self.index.add(self.conn, recorded, "brief", new.number.0, (&new.title, ""))
            }
            BriefEvent::BriefRenamed(rename) => self.index.set(self.conn, "title", "brief", brief.map(u64::from), &rename.to),
            BriefEvent::PlanProposed(plan) => {
                self.spec_version(SpecOrigin::Plan, (plan.version, plan.base), None, &plan.markdown)
            }
            BriefEvent::Refinement(refinement) => {
                let versions = (refinement.version, refinement.base);
                self.spec_version(SpecOrigin::Refinement, versions, refinement.why.as_deref(), &refinement.markdown)
            }
            BriefEvent::SpecSnapshot(snapshot) => self.execute(
                "UPDATE spec_versions SET accepted = 1 WHERE brief = $1 AND version = $2",
                params![brief, snapshot.version],
            ),
            BriefEvent::ProjectsChanged(change) => {
                self.execute("DELETE FROM brief_projects WHERE brief = $1", params![brief])?;
                change.projects.iter().try_for_each(|project| self.add_project(brief, project))
            }
            BriefEvent::DependencyAdded(dependency) => self.add_need(brief, dependency.needs),
            BriefEvent::DependencyDropped(dependency) => {
                let sql = "DELETE FROM brief_needs WHERE brief = $1 AND needs = $2";
                self.execute(sql, params![brief, dependency.needs])
            }
            BriefEvent::QuestionAsked(asked) => {
                self.execute(
                    "INSERT INTO questions (brief, question, text, asked_type, asked_by, asked_at)
                     VALUES ($1, $2, $3, $4, $5, $6)",
                    params![brief, asked.question, &asked.text, &recorded.actor_type, actor, at],
                )?;
                self.index.add_trace(self.conn, recorded, &asked.text)
            }
            BriefEvent::DecisionMade(decision) => {
                self.execute(
                    "UPDATE questions SET answer = $3, answered_by = $4, answered_at = $5
                     WHERE brief = $1 AND question = $2",
                    params![brief, decision.question, &decision.text, actor, at],
                )?;
                self.index.add_trace(self.conn, recorded, &decision.text)
            }
            BriefEvent::LinkAdded(link) => self.execute(
                "INSERT INTO links (brief, kind, target, label, actor_name, at, seq) VALUES ($1, $2, $3, $4, $5, $6, $7)",
                params![brief, link.kind.as_str(), &link.target, &link.label, actor, at, recorded.seq],
            ),
            BriefEvent::CommentAdded(comment) => self.index.add_trace(self.conn, recorded, &comment.text),
            BriefEvent::NoteAdded(note) => self.index.add_trace(self.conn, recorded, &note.text),
            // These events change the row of the brief only, or only add to the trace.
            BriefEvent::StatusChanged(_)
            | BriefEvent::KindChanged(_)
            | BriefEvent::EpicChanged(_)
            | BriefEvent::DispatchOptionsChanged(_)
            | BriefEvent::DependencyMet(_)
            | BriefEvent::ParticipantJoined(_) => Ok(()),
        }
    }

    fn scratchpad(&mut self, change: ScratchpadEvent<'_>) -> Result<(), StoreError> {
        let recorded = self.recorded;
        match change {
            ScratchpadEvent::ScratchpadCreated(pad) => {
                self.execute(
                    "INSERT INTO scratchpads (number, title, brief, version, actor_name, created_at, updated_at, text)
                     VALUES ($1, $2, $3, 0, $4, $5, $5, '')",
                    params![pad.number, &pad.title, pad.brief, &recorded.actor_name, &recorded.at],
                )?;
                self.index.add(self.conn, recorded, "scratchpad", pad.number.0, (&pad.title, ""))
            }
            ScratchpadEvent::ScratchpadWritten(written) => {
                let sql = if written.append {
                    "UPDATE scratchpads SET version = $2, updated_at = $3, text = text || $4 WHERE number = $1"
                } else {
                    "UPDATE scratchpads SET version = $2, updated_at = $3, text = $4 WHERE number = $1"
                };
                self.execute(sql, params![written.number, written.version, &recorded.at, &written.text])?;
                self.index.write_scratchpad(self.conn, written)
            }
        }
    }

    fn project(&mut self, change: ProjectEvent<'_>) -> Result<(), StoreError> {
        let at = &self.recorded.at;
        match change {
            ProjectEvent::ProjectRegistered(project) => {
                let sql = "INSERT INTO projects (name, root, at, folder) VALUES ($1, $2, $3, $1)";
                self.execute(sql, params![&project.name, &project.root, at])
            }
            ProjectEvent::ProjectRemoved(project) => {
                self.execute("DELETE FROM projects WHERE name = $1", params![&project.name])?;
                self.execute("DELETE FROM former_names WHERE now = $1", params![&project.name])?;
                self.execute("DELETE FROM approvals WHERE project = $1", params![&project.name])?;
                self.execute("DELETE FROM mains WHERE project = $1", params![&project.name])
            }
            ProjectEvent::ProjectMoved(moved) => {
                self.execute("UPDATE projects SET root = $2 WHERE name = $1", params![&moved.name, &moved.root])
            }
            ProjectEvent::ProjectRenamed(renamed) => self.rename_project(&renamed.from, &renamed.to),
            ProjectEvent::CommandsApproved(approved) => self.execute(
                "INSERT INTO approvals (project, sha256, at) VALUES ($1, $2, $3)
                 ON CONFLICT (project, sha256) DO NOTHING",
                params![&approved.project, &approved.sha256, at],
            ),
            ProjectEvent::LeaseBreached(breach) => {
                let seq = self.recorded.seq;
                self.execute(
                    "INSERT INTO breaches (commit_id, holder, made_by, paths, seq) VALUES ($1, $2, $3, $4, $5)",
                    params![&breach.commit, &breach.holder, breach.by.as_ref(), &breach.paths.join("\n"), seq],
                )
            }
        }
    }

    /// Replaces the name of a project in every row. [`Projector`] does it in briefs.
    fn rename_project(&mut self, from: &str, to: &str) -> Result<(), StoreError> {
        self.execute("UPDATE projects SET name = $2 WHERE name = $1", params![from, to])?;
        self.execute("DELETE FROM former_names WHERE name = $1", params![to])?;
        self.execute("UPDATE former_names SET now = $2 WHERE now = $1", params![from, to])?;
        self.execute("INSERT INTO former_names (name, now) VALUES ($1, $2)", params![from, to])?;
        let both = "DELETE FROM brief_projects WHERE project = $2
            AND brief IN (SELECT brief FROM brief_projects WHERE project = $1)";
        self.execute(both, params![from, to])?;
        for table in ["brief_projects", "approvals", "mains"] {
            self.execute(&format!("UPDATE {table} SET project = $2 WHERE project = $1"), params![from, to])?;
        }
        rename_rows(self.conn, "worktrees", (from, to), |worktree: &mut Worktree| Some(&mut worktree.project))?;
        rename_rows(self.conn, "landings", (from, to), |landing: &mut Landing| Some(&mut landing.project))?;
        rename_rows(self.conn, "dispatches", (from, to), |dispatch: &mut Dispatch| dispatch.project.as_mut())?;
        rename_rows(self.conn, "leases", (from, to), |lease: &mut Lease| Some(&mut lease.project))?;
        rename_rows(self.conn, "agents", (from, to), |agent: &mut Agent| Some(&mut agent.project))?;
        let sql = "SELECT message, state FROM remarks WHERE project = $1";
        for row in self.conn.rows(sql, params![from])? {
            let mut about: Remark = decode(&row.text(1)?)?;
            rename_in(&mut about.project, from, to);
            let state = serde_json::to_string(&about).expect("a remark is plain data");
            let sql = "UPDATE remarks SET project = $2, state = $3 WHERE message = $1";
            self.execute(sql, params![row.int(0)?, to, &state])?;
        }
        Ok(())
    }

    fn token(&mut self, change: TokenEvent<'_>) -> Result<(), StoreError> {
        let at = &self.recorded.at;
        match change {
            TokenEvent::TokenIssued(token) => self.issue_token(token),
            TokenEvent::TokenRevoked(token) => {
                self.execute("UPDATE tokens SET revoked_at = $2 WHERE id = $1", params![&token.id, at])
            }
        }
    }

    fn issue_token(&mut self, token: &TokenIssued) -> Result<(), StoreError> {
        self.execute(
            "INSERT INTO tokens (id, agent, role, brief, worktree, sha256, at, dispatch, packet, member, seq)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
            params![
                &token.id,
                &token.agent,
                token.role.as_str(),
                token.brief,
                token.worktree.as_ref(),
                &token.sha256,
                &self.recorded.at,
                token.dispatch,
                u64::from(token.dispatch.is_some()),
                u64::from(token.member),
                self.recorded.seq
            ],
        )?;
        if let Some(number) = token.dispatch
            && let Some(mut dispatch) = Dispatch::load(self.conn, &number)?
        {
            dispatch.add_packet(token);
            dispatch.save(&number, self.conn)?;
        }
        Ok(())
    }

    /// Binds the token of a worker to the run that it has claimed.
    fn bind_token(&mut self, claimed: &DispatchClaimed) -> Result<(), StoreError> {
        let (token, worktree) = (claimed.token.as_ref(), claimed.worktree.as_ref());
        self.execute(
            "UPDATE tokens SET dispatch = $2, brief = $3, worktree = $4, member = 0 WHERE id = $1 AND role = 'worker'",
            params![token, claimed.number, self.recorded.brief, worktree],
        )
    }

    /// Updates what a landing changes beside its own row.
    fn landing(&mut self, change: LandingEvent<'_>) -> Result<(), StoreError> {
        match change {
            LandingEvent::LandingQueued(queued) => queued.briefs.iter().try_for_each(|&brief| {
                let sql = "INSERT INTO landing_briefs (brief, landing) VALUES ($1, $2)";
                self.execute(sql, params![brief, queued.number])
            }),
            LandingEvent::Landed(landed) => {
                if let Some(mut main) = Main::load(self.conn, &landed.project)? {
                    main.land(landed, &self.recorded.at);
                    main.save(&landed.project, self.conn)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn message(&mut self, sent: &MessageSent) -> Result<(), StoreError> {
        let recorded = self.recorded;
        self.execute(
            "INSERT INTO messages (number, kind, recipient, actor_type, actor_name, at, seq, text)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            params![
                sent.number,
                sent.kind.as_str(),
                &sent.to,
                &recorded.actor_type,
                &recorded.actor_name,
                &recorded.at,
                recorded.seq,
                &sent.text
            ],
        )?;
        let Some(about) = &sent.about else { return Ok(()) };
        let state = serde_json::to_string(about).expect("a remark is plain data");
        self.execute(
            "INSERT INTO remarks (message, project, worktree, state) VALUES ($1, $2, $3, $4)",
            params![sent.number, &about.project, &about.worktree, &state],
        )
    }

    fn add_project(&mut self, brief: Option<BriefId>, project: &str) -> Result<(), StoreError> {
        self.execute("INSERT INTO brief_projects (project, brief) VALUES ($1, $2)", params![project, brief])
    }

    fn add_need(&mut self, brief: Option<BriefId>, needs: BriefId) -> Result<(), StoreError> {
        self.execute("INSERT INTO brief_needs (brief, needs) VALUES ($1, $2)", params![brief, needs])
    }

    fn spec_version(
        &mut self,
        origin: SpecOrigin,
        (version, base): (u64, u64),
        why: Option<&str>,
        markdown: &str,
    ) -> Result<(), StoreError> {
        let recorded = self.recorded;
        self.execute(
            "INSERT INTO spec_versions (brief, version, origin, base, why, actor_type, actor_name, at, accepted, markdown)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9)",
            params![
                recorded.brief,
                version,
                origin.as_str(),
                base,
                why,
                &recorded.actor_type,
                &recorded.actor_name,
                &recorded.at,
                markdown
            ],
        )?;
        self.index.set(self.conn, "body", "brief", recorded.brief.map(u64::from), markdown)
    }

    fn execute(&mut self, sql: &str, params: &[Param<'_>]) -> Result<(), StoreError> {
        self.conn.execute(sql, params).map(|_| ())
    }
}

/// Replaces the name of a project in the rows of a table that have the state as JSON.
fn rename_rows<A: serde::Serialize + serde::de::DeserializeOwned>(
    conn: &mut Conn,
    table: &str,
    (from, to): (&str, &str),
    project: fn(&mut A) -> Option<&mut String>,
) -> Result<(), StoreError> {
    for row in conn.rows(&format!("SELECT number, state FROM {table} WHERE project = $1"), params![from])? {
        let mut known: A = decode(&row.text(1)?)?;
        if let Some(project) = project(&mut known) {
            rename_in(project, from, to);
        }
        let state = serde_json::to_string(&known).expect("a state is plain data");
        let sql = format!("UPDATE {table} SET project = $2, state = $3 WHERE number = $1");
        conn.execute(&sql, params![row.int(0)?, to, &state])?;
    }
    Ok(())
}

fn decode<A: serde::de::DeserializeOwned>(state: &str) -> Result<A, StoreError> {
    serde_json::from_str(state).map_err(|error| StoreError::Corrupt(format!("a row cannot be read: {error}")))
}
