//! The part of the world that one command's decision can look at, loaded inside the write transaction.

use super::briefs;
use super::conn::{Conn, params};
use super::error::StoreError;
use super::projection::Projector;
use super::{agents, beside, dispatches, landings, worktrees};
use flower_core::event::{WorktreeDiverged, WorktreeRemoved};
use flower_core::scratchpad::{self, Scratchpad};
use flower_core::{Brief, Caller, Command, LinkKind, World, agent, dispatch, landing, link, worktree};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub fn load(
    conn: &mut Conn,
    projector: &mut Projector,
    caller: &Caller,
    command: &Command,
) -> Result<World, StoreError> {
    let mut world = World { last_brief: projector.last_brief(conn)?, ..World::default() };
    let mut slice = Slice { conn, projector, world: &mut world };
    if let Some(brief) = command.brief() {
        slice.brief(brief)?;
    }
    // What a token that was made for a dispatch may do depends on where that stands.
    if let Some(run) = caller.run {
        slice.dispatch(run.dispatch)?;
    }
    match command {
        Command::CreateBrief { projects, epic, needs, .. } => {
            if !projects.is_empty() {
                slice.projects()?;
            }
            if let Some(epic) = epic {
                slice.brief(*epic)?;
                slice.reachable(needs)?;
            }
            for needs in needs {
                slice.brief(*needs)?;
            }
        }
        Command::EditBrief { brief, changes } => {
            if !changes.add_projects.is_empty() {
                slice.projects()?;
            }
            if changes.kind.is_some() {
                slice.children(*brief)?;
            }
            if let Some(Some(epic)) = changes.epic {
                slice.brief(epic)?;
                slice.reachable(&[*brief])?;
            }
        }
        Command::AddNeed { needs, .. } => slice.reachable(&[*needs])?,
        Command::AddLink { brief, kind, target, .. } => slice.link(*brief, *kind, target)?,
        Command::CreateScratchpad { brief, .. } => {
            slice.last_scratchpad()?;
            if let Some(brief) = brief {
                let target = scratchpad::target(slice.world.last_scratchpad + 1);
                slice.link(*brief, LinkKind::Execution, &target)?;
            }
        }
        Command::WriteScratchpad { number, .. } => {
            slice.scratchpad(*number)?;
            if let Some(brief) = slice.world.scratchpads.get(number).and_then(|pad| pad.brief) {
                slice.brief(brief)?;
            }
        }
        Command::RegisterProject { .. } => slice.projects()?,
        Command::RemoveProject { name } => {
            slice.projects()?;
            slice.live_worktrees(name)?;
            slice.open_landings(name)?;
        }
        Command::RequestWorktree(request) => {
            slice.projects()?;
            slice.live_worktrees(&request.project)?;
            slice.last_worktree()?;
        }
        Command::RestoreWorktree { number } => {
            slice.projects()?;
            slice.worktree(*number)?;
            if let Some(project) = slice.world.worktrees.get(number).map(|worktree| worktree.project.clone()) {
                slice.live_worktrees(&project)?;
            }
        }
        Command::FinishWorktree { number, .. }
        | Command::FailWorktree { number, .. }
        | Command::DivergeWorktree(WorktreeDiverged { number, .. })
        | Command::RemoveWorktree { number }
        | Command::WorktreeGone(WorktreeRemoved { number, .. })
        | Command::DropArchive { number } => slice.worktree(*number)?,
        Command::NoteSync { number, .. } => slice.worktree(*number)?,
        Command::QueueLanding(request) => {
            slice.projects()?;
            slice.open_landings(&request.project)?;
            slice.world.last_landing = landings::last(slice.conn)?;
            if let Some(revert) = &request.reverts {
                slice.landing(revert.of)?;
            }
            let target = (slice.world.last_landing + 1).to_string();
            for brief in &request.briefs {
                slice.brief(*brief)?;
                slice.link(*brief, LinkKind::Landing, &target)?;
            }
        }
        Command::Landing { number, step } => {
            slice.landing(*number)?;
            if let landing::Step::Land { merge_commit, .. } = step {
                slice.whoever_waits(*number, merge_commit)?;
                slice.main_of(*number)?;
            }
        }
        Command::Main { project, .. } => {
            slice.projects()?;
            slice.main(project)?;
        }
        Command::ApproveCommands { project, .. } => {
            slice.projects()?;
            slice.approval(project)?;
        }
        Command::RequestDispatch(request) => {
            slice.dispatchable(request.brief)?;
            if let Some(of) = request.of {
                slice.landing(of)?;
            }
        }
        Command::AutoDispatch { brief } => slice.dispatchable(*brief)?,
        Command::Dispatch { number, step } => {
            slice.dispatch(*number)?;
            slice.run(*number, step)?;
        }
        Command::Beat { dispatch, .. } => slice.dispatch(*dispatch)?,
        Command::TakeLease(request) => {
            slice.world.last_lease = dispatches::last_lease(slice.conn)?;
            slice.live_worktrees(&request.project)?;
            slice.leases(&request.project, &request.worktree)?;
            let place = slice.world.worktrees.values().find(|w| w.name == request.worktree).and_then(|w| w.brief);
            for brief in caller.brief.into_iter().chain(place) {
                slice.brief(brief)?;
            }
        }
        Command::ReleaseLease { number, .. } => {
            if let Some(lease) = dispatches::lease(slice.conn, *number)? {
                if let Some(brief) = lease.brief {
                    slice.brief(brief)?;
                }
                slice.world.leases.insert(*number, lease);
            }
        }
        Command::BreachLease(breached) => slice.leases(&breached.project, &breached.worktree)?,
        Command::Remark(request) => {
            slice.world.last_message = dispatches::last_message(slice.conn)?;
            for worktree in worktrees::live(slice.conn, Some(&request.remark.project))? {
                if let Some(brief) = worktree.brief.filter(|_| worktree.name == request.remark.worktree) {
                    slice.brief(brief)?;
                }
                slice.world.worktrees.insert(worktree.number, worktree);
            }
        }
        Command::SendMessage { .. } => {
            slice.world.last_message = dispatches::last_message(slice.conn)?;
            slice.tokens()?;
            let live = worktrees::live(slice.conn, None)?;
            slice.world.worktrees.extend(live.into_iter().map(|worktree| (worktree.number, worktree)));
            let open = dispatches::open(slice.conn)?;
            slice.world.dispatches.extend(open.into_iter().map(|dispatch| (dispatch.number, dispatch)));
            if let Some(brief) = caller.brief {
                slice.brief(brief)?;
            }
        }
        Command::IssueToken(request) => {
            if let Some(brief) = request.brief {
                slice.brief(brief)?;
            }
            if let Some(run) = request.run {
                slice.dispatch(run.dispatch)?;
            }
        }
        Command::StartAgent(request) => {
            slice.projects()?;
            slice.world.last_agent = agents::last(slice.conn)?;
            let live = agents::live(slice.conn, None)?;
            slice.world.agents.extend(live.into_iter().map(|agent| (agent.number, agent)));
            if let Some(dispatch) = request.dispatch {
                slice.dispatch(dispatch)?;
            }
        }
        Command::Agent { number, step } => slice.agent(*number, step)?,
        Command::AskPermission(request) => {
            slice.world.last_permission = agents::last_permission(slice.conn)?;
            if let Some(agent) = agents::agent(slice.conn, request.agent)? {
                if let Some(brief) = agent.brief {
                    slice.brief(brief)?;
                }
                slice.world.agents.insert(agent.number, agent);
            }
        }
        Command::DecidePermission { number, .. } => {
            if let Some(permission) = agents::permission(slice.conn, *number)? {
                if let Some(brief) = permission.brief {
                    slice.brief(brief)?;
                }
                slice.world.permissions.insert(*number, permission);
            }
        }
        Command::RevokeToken { id } => slice.token(id)?,
        Command::ProposePlan { .. }
        | Command::Accept { .. }
        | Command::Refine { .. }
        | Command::SetStatus { .. }
        | Command::DropNeed { .. }
        | Command::AddNote { .. }
        | Command::Ask { .. }
        | Command::Answer { .. }
        | Command::NoteRefused { .. }
        | Command::AcceptLoss { .. } => {}
    }
    Ok(world)
}

struct Slice<'a> {
    conn: &'a mut Conn,
    /// Knows the briefs, also those that are not written yet.
    projector: &'a mut Projector,
    world: &'a mut World,
}

impl Slice<'_> {
    fn last_scratchpad(&mut self) -> Result<(), StoreError> {
        self.world.last_scratchpad = self.number("SELECT coalesce(max(number), 0) FROM scratchpads")?;
        Ok(())
    }

    fn number(&mut self, sql: &str) -> Result<u64, StoreError> {
        self.conn.row(sql, &[])?.map_or(Ok(0), |row| row.int(0))
    }

    fn brief(&mut self, number: u64) -> Result<(), StoreError> {
        if let Entry::Vacant(place) = self.world.briefs.entry(number)
            && let Some(brief) = self.projector.brief(self.conn, number)?
        {
            place.insert(brief.clone());
        }
        Ok(())
    }

    fn children(&mut self, epic: u64) -> Result<Vec<u64>, StoreError> {
        self.projector.flush(self.conn)?;
        let rows = self.conn.rows("SELECT state FROM briefs WHERE epic = $1", params![epic])?;
        let children: BTreeMap<u64, Brief> =
            rows.iter().map(|row| briefs::decode(&row.text(0)?).map(|b| (b.number, b))).collect::<Result<_, _>>()?;
        let numbers = children.keys().copied().collect();
        self.world.briefs.extend(children);
        Ok(numbers)
    }

    /// Everything that `from` waits for, near and far, as [`World::path`] walks it.
    fn reachable(&mut self, from: &[u64]) -> Result<(), StoreError> {
        let mut queue: VecDeque<u64> = from.iter().copied().collect();
        let mut seen = BTreeSet::new();
        while let Some(number) = queue.pop_front() {
            if !seen.insert(number) {
                continue;
            }
            self.brief(number)?;
            if let Some(brief) = self.world.briefs.get(&number) {
                queue.extend(&brief.depends_on);
                queue.extend(self.children(number)?);
            }
        }
        Ok(())
    }

    fn projects(&mut self) -> Result<(), StoreError> {
        for row in self.conn.rows("SELECT name, root FROM projects", &[])? {
            self.world.projects.insert(row.text(0)?, row.text(1)?);
        }
        Ok(())
    }

    fn scratchpad(&mut self, number: u64) -> Result<(), StoreError> {
        let sql = "SELECT brief, version, octet_length(text) FROM scratchpads WHERE number = $1";
        if let Some(row) = self.conn.row(sql, params![number])? {
            let pad = Scratchpad { number, brief: row.opt_int(0)?, version: row.int(1)?, bytes: row.int(2)? };
            self.world.scratchpads.insert(number, pad);
        }
        Ok(())
    }

    fn link(&mut self, brief: u64, kind: LinkKind, target: &str) -> Result<(), StoreError> {
        // A malformed target is refused by the rules before they look anything up.
        let Ok(target) = link::target(kind, target) else { return Ok(()) };
        match (kind, target.parse()) {
            (LinkKind::Brief, Ok(number)) => self.brief(number)?,
            (LinkKind::Scratchpad, Ok(number)) => self.scratchpad(number)?,
            _ => {}
        }
        let sql = "SELECT 1 FROM links WHERE brief = $1 AND kind = $2 AND target = $3";
        if self.conn.row(sql, params![brief, kind.as_str(), &target])?.is_some() {
            self.world.links.insert((brief, kind, target));
        }
        Ok(())
    }

    fn last_worktree(&mut self) -> Result<(), StoreError> {
        self.world.last_worktree = self.number("SELECT coalesce(max(number), 0) FROM worktrees")?;
        Ok(())
    }

    /// Whoever acts on it becomes a participant of its brief.
    fn worktree(&mut self, number: u64) -> Result<(), StoreError> {
        if let Some(worktree) = worktrees::worktree(self.conn, number)? {
            if let Some(brief) = worktree.brief {
                self.brief(brief)?;
            }
            self.world.worktrees.insert(number, worktree);
        }
        Ok(())
    }

    fn live_worktrees(&mut self, project: &str) -> Result<(), StoreError> {
        let live = worktrees::live(self.conn, Some(project))?;
        self.world.worktrees.extend(live.into_iter().map(|worktree| (worktree.number, worktree)));
        Ok(())
    }

    fn main(&mut self, project: &str) -> Result<(), StoreError> {
        let main = landings::main(self.conn, project)?;
        self.world.mains.extend(main.map(|main| (project.to_owned(), main)));
        Ok(())
    }

    /// What a landing settles when it lands: MAIN's alarm, and the approval of its commands.
    fn main_of(&mut self, landing: u64) -> Result<(), StoreError> {
        let Some(project) = self.world.landings.get(&landing).map(|landing| landing.project.clone()) else {
            return Ok(());
        };
        self.projects()?;
        self.main(&project)?;
        self.approval(&project)
    }

    /// With its briefs, and whatever a refusal would name.
    fn landing(&mut self, number: u64) -> Result<(), StoreError> {
        self.world.last_landing = landings::last(self.conn)?;
        if let Some(landing) = landings::landing(self.conn, number)? {
            for &brief in &landing.briefs {
                self.brief(brief)?;
            }
            self.world.landings.insert(number, landing);
        }
        Ok(())
    }

    fn open_landings(&mut self, project: &str) -> Result<(), StoreError> {
        for landing in landings::open(self.conn, Some(project))? {
            // Whoever replaces one acts on its brief.
            if let Some(&brief) = landing.briefs.first() {
                self.brief(brief)?;
            }
            self.world.landings.insert(landing.number, landing);
        }
        Ok(())
    }

    /// Everything that a landing can move: what it takes back, its briefs in other projects, their epics with all
    /// children, and whoever depends on any of them.
    fn whoever_waits(&mut self, number: u64, merge_commit: &str) -> Result<(), StoreError> {
        let Some(landing) = self.world.landings.get(&number).cloned() else { return Ok(()) };
        if let Some(of) = landing.of {
            self.landing(of)?;
        }
        let mut queue: VecDeque<u64> = landing.briefs.iter().copied().collect();
        let mut seen = BTreeSet::new();
        while let Some(brief) = queue.pop_front() {
            if !seen.insert(brief) {
                continue;
            }
            self.brief(brief)?;
            self.link(brief, LinkKind::Commit, merge_commit)?;
            for other in landings::of_brief(self.conn, brief)? {
                self.world.landings.insert(other.number, other);
            }
            for dependent in briefs::dependents(self.conn, brief)? {
                self.brief(dependent)?;
            }
            if let Some(epic) = self.world.briefs.get(&brief).and_then(|brief| brief.epic) {
                self.children(epic)?;
                queue.push_back(epic);
            }
        }
        Ok(())
    }

    /// With its brief, and the newest sign of life of whoever holds it.
    fn dispatch(&mut self, number: u64) -> Result<(), StoreError> {
        let Some(dispatch) = dispatches::dispatch(self.conn, number)? else {
            self.world.last_dispatch = dispatches::last(self.conn)?;
            return Ok(());
        };
        self.brief(dispatch.brief)?;
        self.world.dispatches.insert(number, dispatch);
        self.world.beats.extend(beside::beat(self.conn, number)?.map(|heard| (number, heard)));
        Ok(())
    }

    /// What a step of a dispatch can look at beside it.
    fn run(&mut self, number: u64, step: &dispatch::Step) -> Result<(), StoreError> {
        let Some(dispatch) = self.world.dispatches.get(&number).cloned() else { return Ok(()) };
        if let (Some(project), Some(name)) = (&dispatch.project, &dispatch.worktree) {
            self.leases(project, name)?;
            if matches!(step, dispatch::Step::Claim { .. }) {
                self.link(dispatch.brief, LinkKind::Worktree, name)?;
                self.link(dispatch.brief, LinkKind::Branch, &worktree::branch(name))?;
            }
        }
        if let dispatch::Step::HandBack(_) = step {
            let all = dispatches::of_brief(self.conn, dispatch.brief)?;
            self.world.dispatches.extend(all.into_iter().map(|dispatch| (dispatch.number, dispatch)));
        }
        if let dispatch::Step::Commits(commits) = step {
            for (commit, _) in commits {
                self.link(dispatch.brief, LinkKind::Commit, commit)?;
            }
        }
        Ok(())
    }

    /// With what it works on, and whoever else could.
    fn agent(&mut self, number: u64, step: &agent::Step) -> Result<(), StoreError> {
        let Some(agent) = agents::agent(self.conn, number)? else { return Ok(()) };
        if let Some(brief) = agent.brief {
            self.brief(brief)?;
        }
        if let agent::Step::Assign { dispatch } = step {
            self.dispatch(*dispatch)?;
            let others = agents::of_dispatch(self.conn, *dispatch)?;
            self.world.agents.extend(others.into_iter().map(|agent| (agent.number, agent)));
        }
        if let Some(number) = agent.dispatch {
            self.dispatch(number)?;
            // What it leaves behind is where the dispatch is, wherever it was started itself.
            let place = self.world.dispatches.get(&number).map(|known| (known.project.clone(), known.worktree.clone()));
            if let Some((Some(project), Some(worktree))) = place {
                self.leases(&project, &worktree)?;
            }
        }
        self.world.agents.insert(number, agent);
        Ok(())
    }

    /// Everything that says whether a brief can be dispatched, and where.
    fn dispatchable(&mut self, brief: u64) -> Result<(), StoreError> {
        self.world.last_dispatch = dispatches::last(self.conn)?;
        let needs = self.world.briefs.get(&brief).map(|brief| brief.depends_on.clone()).unwrap_or_default();
        for needs in needs {
            self.brief(needs)?;
        }
        let all = dispatches::of_brief(self.conn, brief)?;
        self.world.dispatches.extend(all.into_iter().map(|dispatch| (dispatch.number, dispatch)));
        Ok(())
    }

    fn leases(&mut self, project: &str, worktree: &str) -> Result<(), StoreError> {
        for lease in dispatches::leases(self.conn, Some((project, worktree)))? {
            if let Some(brief) = lease.brief {
                self.brief(brief)?;
            }
            self.world.leases.insert(lease.number, lease);
        }
        Ok(())
    }

    fn tokens(&mut self) -> Result<(), StoreError> {
        for row in self.conn.rows("SELECT id, agent FROM tokens WHERE revoked_at IS NULL", &[])? {
            self.world.tokens.insert(row.text(0)?, row.text(1)?);
        }
        Ok(())
    }

    fn approval(&mut self, project: &str) -> Result<(), StoreError> {
        let approved = worktrees::approval(self.conn, project)?;
        self.world.approved.extend(approved.map(|sha256| (project.to_owned(), sha256)));
        Ok(())
    }

    fn token(&mut self, id: &str) -> Result<(), StoreError> {
        let sql = "SELECT agent FROM tokens WHERE id = $1 AND revoked_at IS NULL";
        if let Some(row) = self.conn.row(sql, params![id])? {
            self.world.tokens.insert(id.to_owned(), row.text(0)?);
        }
        Ok(())
    }
}
