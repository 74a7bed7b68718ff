//! Loads the part of the world that the decision on one command can read, inside the write transaction.

use super::briefs;
use super::conn::{Conn, params};
use super::error::StoreError;
use super::projection::Projector;
use super::{agents, dispatches, ephemeral, landings, worktrees};
use flower_core::event::{WorktreeDiverged, WorktreeRemoved};
use flower_core::scratchpad::{self, Scratchpad};
use flower_core::{
    AgentId, Brief, BriefId, Caller, Command, DispatchId, LandingId, LinkKind, ScratchpadId, WorktreeId, World, agent,
    dispatch, landing, link, worktree,
};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub fn load(
    conn: &mut Conn,
    projector: &mut Projector,
    caller: &Caller,
    command: &Command,
) -> Result<World, StoreError> {
    let mut world = World { last_brief: projector.last_brief(conn)?, ..World::default() };
    let mut loader = Loader { conn, projector, world: &mut world };
    if let Some(brief) = command.brief() {
        loader.brief(brief)?;
    }
    // The rights of a token that was made for a dispatch depend on the state of that dispatch.
    if let Some(run) = caller.run {
        loader.dispatch(run.dispatch)?;
    }
    match command {
        Command::CreateBrief(flower_core::brief::Request { projects, epic, needs, .. }) => {
            if !projects.is_empty() {
                loader.projects()?;
            }
            if let Some(epic) = epic {
                loader.brief(*epic)?;
                loader.reachable(needs)?;
            }
            for needs in needs {
                loader.brief(*needs)?;
            }
            // A worker's proposal is linked with its own brief.
            if let Some(own) = caller.brief {
                loader.brief(own)?;
            }
        }
        Command::EditBrief { brief, changes } => {
            if !changes.add_projects.is_empty() {
                loader.projects()?;
            }
            if changes.kind.is_some() {
                loader.children(*brief)?;
            }
            if let Some(Some(epic)) = changes.epic {
                loader.brief(epic)?;
                loader.reachable(&[*brief])?;
            }
        }
        Command::AddNeed { needs, .. } => loader.reachable(&[*needs])?,
        Command::AddLink { brief, kind, target, .. } => loader.link(*brief, *kind, target)?,
        Command::CreateScratchpad { brief, .. } => {
            loader.last_scratchpad()?;
            if let Some(brief) = brief {
                let target = scratchpad::target(loader.world.last_scratchpad.next());
                loader.link(*brief, LinkKind::Execution, &target)?;
            }
        }
        Command::WriteScratchpad { number, .. } => {
            loader.scratchpad(*number)?;
            if let Some(brief) = loader.world.scratchpads.get(number).and_then(|pad| pad.brief) {
                loader.brief(brief)?;
            }
        }
        Command::RegisterProject { .. } => loader.projects()?,
        Command::RemoveProject { name } => {
            loader.projects()?;
            loader.live_worktrees(name)?;
            loader.open_landings(name)?;
        }
        Command::MoveProject { name, .. } => {
            loader.projects()?;
            loader.live_agents(name)?;
        }
        Command::RenameProject { name, .. } => {
            loader.projects()?;
            loader.live_agents(name)?;
            loader.live_worktrees(name)?;
            loader.open_landings(name)?;
        }
        Command::RequestWorktree(request) => {
            loader.projects()?;
            loader.live_worktrees(&request.project)?;
            loader.last_worktree()?;
        }
        Command::RestoreWorktree { number } => {
            loader.projects()?;
            loader.worktree(*number)?;
            if let Some(project) = loader.world.worktrees.get(number).map(|worktree| worktree.project.clone()) {
                loader.live_worktrees(&project)?;
            }
        }
        Command::FinishWorktree { number, .. }
        | Command::FailWorktree { number, .. }
        | Command::DivergeWorktree(WorktreeDiverged { number, .. })
        | Command::RemoveWorktree { number }
        | Command::WorktreeGone(WorktreeRemoved { number, .. })
        | Command::DropArchive { number } => loader.worktree(*number)?,
        Command::NoteSync { number, .. } => loader.worktree(*number)?,
        Command::QueueLanding(request) => {
            loader.projects()?;
            loader.open_landings(&request.project)?;
            loader.world.last_landing = landings::last(loader.conn)?;
            if let Some(revert) = &request.reverts {
                loader.landing(revert.of)?;
            }
            let target = loader.world.last_landing.next().to_string();
            for brief in &request.briefs {
                loader.brief(*brief)?;
                loader.link(*brief, LinkKind::Landing, &target)?;
            }
        }
        Command::Landing { number, step } => {
            loader.landing(*number)?;
            if let landing::Step::Land { merge_commit, .. } = step {
                loader.landing_dependents(*number, merge_commit)?;
                loader.main_of(*number)?;
            }
            if let landing::Step::Approve { .. } = step {
                loader.main_of(*number)?;
            }
        }
        Command::Main { project, .. } => {
            loader.projects()?;
            loader.main(project)?;
        }
        Command::ApproveCommands { project, .. } => {
            loader.projects()?;
            loader.approval(project)?;
        }
        Command::RequestDispatch(request) => {
            loader.dispatchable(request.brief)?;
            if let Some(of) = request.of {
                loader.landing(of)?;
            }
        }
        Command::AutoDispatch { brief } => loader.dispatchable(*brief)?,
        Command::Dispatch { number, step } => {
            loader.dispatch(*number)?;
            loader.run(*number, step)?;
        }
        Command::Heartbeat { dispatch, .. } => loader.dispatch(*dispatch)?,
        Command::TakeLease(request) => {
            loader.world.last_lease = dispatches::last_lease(loader.conn)?;
            loader.live_worktrees(&request.project)?;
            loader.leases(&request.project, &request.worktree)?;
            let place = loader.world.worktrees.values().find(|w| w.name == request.worktree).and_then(|w| w.brief);
            for brief in caller.brief.into_iter().chain(place) {
                loader.brief(brief)?;
            }
        }
        Command::ReleaseLease { number, .. } => {
            if let Some(lease) = dispatches::lease(loader.conn, *number)? {
                if let Some(brief) = lease.brief {
                    loader.brief(brief)?;
                }
                loader.world.leases.insert(*number, lease);
            }
        }
        Command::BreachLease(breached) => loader.leases(&breached.project, &breached.worktree)?,
        Command::Remark(request) => {
            loader.world.last_message = dispatches::last_message(loader.conn)?;
            for worktree in worktrees::live(loader.conn, Some(&request.remark.project))? {
                if let Some(brief) = worktree.brief.filter(|_| worktree.name == request.remark.worktree) {
                    loader.brief(brief)?;
                }
                loader.world.worktrees.insert(worktree.number, worktree);
            }
        }
        Command::SendMessage { .. } => {
            loader.world.last_message = dispatches::last_message(loader.conn)?;
            loader.tokens()?;
            let live = worktrees::live(loader.conn, None)?;
            loader.world.worktrees.extend(live.into_iter().map(|worktree| (worktree.number, worktree)));
            let open = dispatches::open(loader.conn)?;
            loader.world.dispatches.extend(open.into_iter().map(|dispatch| (dispatch.number, dispatch)));
            if let Some(brief) = caller.brief {
                loader.brief(brief)?;
            }
        }
        Command::IssueToken(request) => {
            if let Some(brief) = request.brief {
                loader.brief(brief)?;
            }
            if let Some(run) = request.run {
                loader.dispatch(run.dispatch)?;
            }
        }
        Command::StartAgent(request) => {
            loader.projects()?;
            loader.world.last_agent = agents::last(loader.conn)?;
            let live = agents::live(loader.conn, None)?;
            loader.world.agents.extend(live.into_iter().map(|agent| (agent.number, agent)));
            if let Some(dispatch) = request.dispatch {
                loader.dispatch(dispatch)?;
            }
        }
        Command::Agent { number, step } => loader.agent(*number, step)?,
        Command::AskPermission(request) => {
            loader.world.last_permission = agents::last_permission(loader.conn)?;
            if let Some(agent) = agents::agent(loader.conn, request.agent)? {
                if let Some(brief) = agent.brief {
                    loader.brief(brief)?;
                }
                loader.world.agents.insert(agent.number, agent);
            }
        }
        Command::DecidePermission { number, .. } => {
            if let Some(permission) = agents::permission(loader.conn, *number)? {
                if let Some(brief) = permission.brief {
                    loader.brief(brief)?;
                }
                loader.world.permissions.insert(*number, permission);
            }
        }
        Command::RevokeToken { id } => loader.token(id)?,
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

struct Loader<'a> {
    conn: &'a mut Conn,
    /// Has the current briefs, also those that are not yet written to the database.
    projector: &'a mut Projector,
    world: &'a mut World,
}

impl Loader<'_> {
    fn last_scratchpad(&mut self) -> Result<(), StoreError> {
        self.world.last_scratchpad = self.number("SELECT coalesce(max(number), 0) FROM scratchpads")?;
        Ok(())
    }

    fn number<Id: From<u64> + Default>(&mut self, sql: &str) -> Result<Id, StoreError> {
        self.conn.row(sql, &[])?.map_or(Ok(Id::default()), |row| row.id(0))
    }

    fn brief(&mut self, number: BriefId) -> Result<(), StoreError> {
        if let Entry::Vacant(place) = self.world.briefs.entry(number)
            && let Some(brief) = self.projector.brief(self.conn, number)?
        {
            place.insert(brief.clone());
        }
        Ok(())
    }

    fn children(&mut self, epic: BriefId) -> Result<Vec<BriefId>, StoreError> {
        self.projector.flush(self.conn)?;
        let rows = self.conn.rows("SELECT state FROM briefs WHERE epic = $1", params![epic])?;
        let children: BTreeMap<BriefId, Brief> =
            rows.iter().map(|row| briefs::decode(&row.text(0)?).map(|b| (b.number, b))).collect::<Result<_, _>>()?;
        let numbers = children.keys().copied().collect();
        self.world.briefs.extend(children);
        Ok(numbers)
    }

    /// Everything that `from` waits for, directly or indirectly, as [`World::path`] walks it.
    fn reachable(&mut self, from: &[BriefId]) -> Result<(), StoreError> {
        let mut queue: VecDeque<BriefId> = from.iter().copied().collect();
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
        for row in self.conn.rows("SELECT name, now FROM former_names", &[])? {
            self.world.former_names.insert(row.text(0)?, row.text(1)?);
        }
        Ok(())
    }

    fn scratchpad(&mut self, number: ScratchpadId) -> Result<(), StoreError> {
        let sql = "SELECT brief, version, octet_length(text) FROM scratchpads WHERE number = $1";
        if let Some(row) = self.conn.row(sql, params![number])? {
            let pad = Scratchpad { number, brief: row.opt_id(0)?, version: row.int(1)?, bytes: row.int(2)? };
            self.world.scratchpads.insert(number, pad);
        }
        Ok(())
    }

    fn link(&mut self, brief: BriefId, kind: LinkKind, target: &str) -> Result<(), StoreError> {
        // The rules refuse a malformed target before they read any state.
        let Ok(target) = link::target(kind, target) else { return Ok(()) };
        match (kind, target.parse()) {
            (LinkKind::Brief, Ok(number)) => self.brief(BriefId(number))?,
            (LinkKind::Scratchpad, Ok(number)) => self.scratchpad(ScratchpadId(number))?,
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

    /// Loads a worktree with its brief, because the caller becomes a participant of that brief.
    fn worktree(&mut self, number: WorktreeId) -> Result<(), StoreError> {
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

    fn live_agents(&mut self, project: &str) -> Result<(), StoreError> {
        let live = agents::live(self.conn, Some(project))?;
        self.world.agents.extend(live.into_iter().map(|agent| (agent.number, agent)));
        Ok(())
    }

    fn main(&mut self, project: &str) -> Result<(), StoreError> {
        let main = landings::main(self.conn, project)?;
        self.world.mains.extend(main.map(|main| (project.to_owned(), main)));
        Ok(())
    }

    /// Loads what a landing changes when it lands: MAIN's alarm, and the approval of its commands.
    fn main_of(&mut self, landing: LandingId) -> Result<(), StoreError> {
        let Some(project) = self.world.landings.get(&landing).map(|landing| landing.project.clone()) else {
            return Ok(());
        };
        self.projects()?;
        self.main(&project)?;
        self.approval(&project)
    }

    /// Loads a landing with its briefs, and the state that a refusal would name.
    fn landing(&mut self, number: LandingId) -> Result<(), StoreError> {
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
            // A landing that replaces another one acts on the brief of that one.
            if let Some(&brief) = landing.briefs.first() {
                self.brief(brief)?;
            }
            self.world.landings.insert(landing.number, landing);
        }
        Ok(())
    }

    /// Loads everything that a landing can change: the landing that it reverts, the landings of its briefs in other
    /// projects, their epics with all children, and the briefs that depend on any of them.
    fn landing_dependents(&mut self, number: LandingId, merge_commit: &str) -> Result<(), StoreError> {
        let Some(landing) = self.world.landings.get(&number).cloned() else { return Ok(()) };
        if let Some(of) = landing.of {
            self.landing(of)?;
        }
        let mut queue: VecDeque<BriefId> = landing.briefs.iter().copied().collect();
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

    /// Loads a dispatch with its brief and the last heartbeat of its holder.
    fn dispatch(&mut self, number: DispatchId) -> Result<(), StoreError> {
        let Some(dispatch) = dispatches::dispatch(self.conn, number)? else {
            self.world.last_dispatch = dispatches::last(self.conn)?;
            return Ok(());
        };
        self.brief(dispatch.brief)?;
        self.world.dispatches.insert(number, dispatch);
        self.world.beats.extend(ephemeral::heartbeat(self.conn, number)?.map(|heard| (number, heard)));
        Ok(())
    }

    /// Loads the state that a step of a dispatch can read besides the dispatch.
    fn run(&mut self, number: DispatchId, step: &dispatch::Step) -> Result<(), StoreError> {
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

    /// Loads an agent with its work, and the other agents that could do that work.
    fn agent(&mut self, number: AgentId, step: &agent::Step) -> Result<(), StoreError> {
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
            // The agent's leases are in the worktree of the dispatch, also if the agent was started in another one.
            let place = self.world.dispatches.get(&number).map(|known| (known.project.clone(), known.worktree.clone()));
            if let Some((Some(project), Some(worktree))) = place {
                self.leases(&project, &worktree)?;
            }
        }
        self.world.agents.insert(number, agent);
        Ok(())
    }

    /// Loads everything that decides whether and where a brief can be dispatched.
    fn dispatchable(&mut self, brief: BriefId) -> Result<(), StoreError> {
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
        let approved = worktrees::approvals(self.conn, project)?;
        self.world.approved.insert(project.to_owned(), approved.into_iter().collect());
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
