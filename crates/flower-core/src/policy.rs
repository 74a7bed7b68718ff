//! Rights: one table decides who may do what. A door never decides a right itself.

use crate::actor::{Caller, Role};
use crate::brief::BriefKind;
use crate::command::Command;
use crate::dispatch::Dispatch;
use crate::ids::{BriefId, DispatchId, Fence};
use crate::refusal::Refusal;
use crate::world::World;
use crate::{agent, dispatch, landing, main_branch, token};

/// The right that a command needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// Write notes, questions, plans, refinements, links and scratchpads.
    Contribute,
    /// Create, accept, move and connect briefs; create and remove worktrees; queue and cancel landings.
    Steer,
    OpenIncident,
    /// Create a draft with a plan, which starts nothing before the operator accepts it.
    Propose,
    /// Claim a dispatch, hand it back, or renew its claim.
    Run(DispatchId),
    /// Reserve paths in a worktree.
    Reserve,
    /// Run a program inside a worktree, and import its commits.
    Enter,
    /// Send messages, and record refused calls.
    Speak,
    /// Manage projects, their commands, tokens, archives and the log itself; approve what the gate holds back.
    Own,
}

/// A readable resource, and the object that it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read<'a> {
    /// MAIN and its history, the commands of `flower.toml`, titles and states of briefs, counts of a summary.
    Project {
        name: &'a str,
    },
    /// Spec, versions, trace, recall, scratchpads and images of a brief. Absent: they belong to no brief.
    Brief {
        number: Option<BriefId>,
    },
    /// State, files, changes, commits, comments, leases and setup output of a worktree.
    Worktree {
        project: &'a str,
        name: &'a str,
    },
    /// State, changes and check output of a landing.
    Landing {
        project: &'a str,
        worktree: Option<&'a str>,
        briefs: &'a [BriefId],
    },
    Dispatch {
        number: DispatchId,
        brief: BriefId,
    },
    /// State and transcript of an agent.
    Agent {
        project: &'a str,
        worktree: &'a str,
        name: &'a str,
    },
    Terminal,
    /// The items that wait for the operator, and the permissions that agents request.
    Inbox,
    Spending,
    /// All events.
    Trace,
    /// Profiles of agents, names of their keys, archives of worktrees, findings of `flower doctor`.
    Installation,
    /// The log in its stored form, with the record of every token.
    Log,
    Tokens,
}

/// Whether the caller may read only the objects that its token is bound to.
pub fn reads_own_only(caller: &Caller) -> bool {
    caller.role == Role::Worker
}

/// Checks that the caller may read a resource. `project` is the project that a worker's token belongs to, if there is
/// one.
pub fn require_read(caller: &Caller, project: Option<&str>, read: Read<'_>) -> Result<(), Refusal> {
    let own = |name: &str| project == Some(name);
    let own_brief = |number: BriefId| caller.brief == Some(number);
    let own_worktree = |of: &str, name: &str| own(of) && caller.worktree.as_deref() == Some(name);
    let may = match (caller.role, read) {
        (Role::Operator | Role::Ops, _) => true,
        (Role::Orchestrator, Read::Tokens | Read::Log) => false,
        (Role::Orchestrator, _) => true,
        (Role::Worker, Read::Project { name }) => own(name),
        (Role::Worker, Read::Brief { number }) => number.is_some_and(own_brief),
        (Role::Worker, Read::Worktree { project, name }) => own_worktree(project, name),
        (Role::Worker, Read::Landing { project, worktree, briefs }) => {
            worktree.is_some_and(|name| own_worktree(project, name)) || briefs.iter().copied().any(own_brief)
        }
        (Role::Worker, Read::Dispatch { number, brief }) => {
            own_brief(brief) || caller.run.is_some_and(|run| run.dispatch == number)
        }
        (Role::Worker, Read::Agent { project, worktree, name }) => {
            own_worktree(project, worktree) && caller.actor.name == name
        }
        (
            Role::Worker,
            Read::Terminal | Read::Inbox | Read::Spending | Read::Trace | Read::Installation | Read::Log | Read::Tokens,
        ) => false,
    };
    let (what, instead) = wording(read);
    let why = if caller.role == Role::Worker { instead } else { "ask the operator" };
    if may { Ok(()) } else { Err(forbidden(caller, what, why)) }
}

/// The words for a refused read, and what a worker can do instead. Neither reveals whether the resource exists.
fn wording(read: Read<'_>) -> (&'static str, &'static str) {
    match read {
        Read::Project { .. } => (
            "read that project",
            "its token reads the project of its own work; the tool `start_work` with a packet begins some",
        ),
        Read::Brief { .. } => (
            "read that brief",
            "its token reads its own brief; `list_briefs` and `search` give titles and states of the others in its project",
        ),
        Read::Worktree { .. } => ("read that worktree", "its token reads its own worktree and no other"),
        Read::Landing { .. } => ("read that landing", "its token reads landings of its own brief and worktree"),
        Read::Dispatch { .. } => ("read that dispatch", "its token reads dispatches of its own brief"),
        Read::Agent { .. } => ("read what that agent does", "its token reads its own transcript and no other"),
        Read::Terminal => ("look at the terminals of agents", "ask the operator: `send_message` to `operator`"),
        Read::Inbox => ("read what waits for the operator", "`check_inbox` gives what was said to you"),
        Read::Spending => ("read what agents have spent", "ask the operator: `send_message` to `operator`"),
        Read::Trace => ("read the trace of everything", "its token reads the trace of its own brief: `recall_brief`"),
        Read::Installation => ("read how flower is set up", "ask the operator: `send_message` to `operator`"),
        Read::Log => ("read the stored log", "ask the operator: `send_message` to `operator`"),
        Read::Tokens => ("list tokens", "ask the operator: `send_message` to `operator`"),
    }
}

/// Checks that the caller's role has a right at all, before any state is loaded. [`require`] and [`require_inside`]
/// decide for which briefs, runs and paths the role has it.
pub fn require_role(caller: &Caller, right: Right) -> Result<(), Refusal> {
    let why = match (caller.role, right) {
        (Role::Operator, _) | (_, Right::Speak) => return Ok(()),
        (Role::Orchestrator, Right::Own) => "ask the operator: projects, tokens, approvals and the log are theirs",
        (Role::Orchestrator, _) => return Ok(()),
        (Role::Worker, Right::Contribute | Right::Propose | Right::Run(_) | Right::Reserve | Right::Enter) => {
            return Ok(());
        }
        (Role::Worker, Right::Steer | Right::OpenIncident | Right::Own) => {
            "ask the operator or an orchestrator: `flower brief ask N TEXT`"
        }
        (Role::Ops, Right::OpenIncident | Right::Contribute) => return Ok(()),
        (Role::Ops, Right::Steer | Right::Propose | Right::Run(_) | Right::Reserve | Right::Enter | Right::Own) => {
            "ops reads everything, opens incidents and writes notes"
        }
    };
    Err(forbidden(caller, name(right), why))
}

/// A use case that does work before its first command, or records none. The right is checked before that work begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    RegisterProject,
    RemoveProject,
    MoveProject,
    RenameProject,
    RebuildTables,
    AcceptLoss,
    GiveKeys,
    OpenPage,
    MarkMessagesSeen,
    AdoptMain,
    RestoreMain,
    RescueMain,
    PushMain,
    ProposeSettings,
    ApproveLanding,
    TypeForAgent,
    ResizeTerminal,
    StartAgent,
    StopAgent,
    RefreshAgent,
    AskForNote,
    RemoveWorktree,
    Land,
    Revert,
    ReviewWorktree,
}

impl Action {
    pub const ALL: [Action; 25] = [
        Action::RegisterProject,
        Action::RemoveProject,
        Action::MoveProject,
        Action::RenameProject,
        Action::RebuildTables,
        Action::AcceptLoss,
        Action::GiveKeys,
        Action::OpenPage,
        Action::MarkMessagesSeen,
        Action::AdoptMain,
        Action::RestoreMain,
        Action::RescueMain,
        Action::PushMain,
        Action::ProposeSettings,
        Action::ApproveLanding,
        Action::TypeForAgent,
        Action::ResizeTerminal,
        Action::StartAgent,
        Action::StopAgent,
        Action::RefreshAgent,
        Action::AskForNote,
        Action::RemoveWorktree,
        Action::Land,
        Action::Revert,
        Action::ReviewWorktree,
    ];

    /// The right that the action needs, and the words for a refusal.
    pub fn right(self) -> (Right, &'static str) {
        match self {
            Action::RegisterProject => (Right::Own, "register a project"),
            Action::RemoveProject => (Right::Own, "remove a project"),
            Action::MoveProject => (Right::Own, "move a project"),
            Action::RenameProject => (Right::Own, "rename a project"),
            Action::RebuildTables => (Right::Own, "rebuild the tables"),
            Action::AcceptLoss => (Right::Own, "accept a loss"),
            Action::GiveKeys => (Right::Own, "give keys to agents"),
            Action::OpenPage => (Right::Own, "open the page as the operator"),
            Action::MarkMessagesSeen => (Right::Own, "answer for the operator"),
            Action::AdoptMain => (Right::Own, "adopt what happened to MAIN"),
            Action::RestoreMain => (Right::Own, "restore MAIN"),
            Action::RescueMain => (Right::Own, "rescue what is in MAIN"),
            Action::PushMain => (Right::Own, "push MAIN"),
            Action::ProposeSettings => (Right::Own, "propose settings"),
            Action::ApproveLanding => (Right::Own, "let a landing in"),
            Action::TypeForAgent => (Right::Steer, "type for agents"),
            Action::ResizeTerminal => (Right::Steer, "change the terminals of agents"),
            Action::StartAgent => (Right::Steer, "start agents"),
            Action::StopAgent => (Right::Steer, "stop agents"),
            Action::RefreshAgent => (Right::Steer, "refresh agents"),
            Action::AskForNote => (Right::Steer, "ask agents for notes"),
            Action::RemoveWorktree => (Right::Steer, "remove a worktree"),
            Action::Land => (Right::Steer, "land anything"),
            Action::Revert => (Right::Steer, "revert a landing"),
            Action::ReviewWorktree => (Right::Steer, "review a worktree"),
        }
    }
}

/// Checks that the role of the caller may do something, before any state is loaded for it.
pub fn require_action(caller: &Caller, action: Action) -> Result<(), Refusal> {
    let (right, what) = action.right();
    require_role(caller, right).map_err(|_| {
        let ask = if right == Right::Own { "ask the operator" } else { "ask the operator or an orchestrator" };
        forbidden(caller, what, ask)
    })
}

/// Checks that the caller may write to a brief, judged by its token alone.
pub fn require_contribution(caller: &Caller, brief: Option<BriefId>) -> Result<(), Refusal> {
    require_role(caller, Right::Contribute)?;
    if caller.role == Role::Worker && (brief.is_none() || brief != caller.brief) {
        return Err(forbidden(caller, name(Right::Contribute), "its token is bound to another brief, or to none"));
    }
    Ok(())
}

/// Checks that the caller may create or propose a brief, judged by its token alone. A proposal has a spec.
pub fn require_proposal(caller: &Caller, has_spec: bool) -> Result<(), Refusal> {
    let no = |what, why| Err(forbidden(caller, what, why));
    match caller.role {
        Role::Operator | Role::Orchestrator => Ok(()),
        Role::Ops => require_role(caller, Right::OpenIncident),
        Role::Worker if caller.brief.is_none() => {
            no(name(Right::Propose), "it has claimed nothing yet: the tool `start_work` does")
        }
        Role::Worker if !has_spec => no(
            "propose a brief without a `spec`",
            "write what is to be built and why; the operator accepts it, or does not",
        ),
        Role::Worker => Ok(()),
    }
}

/// Checks that the caller may run a program inside a worktree. `project` is the project that a worker's token belongs
/// to.
pub fn require_inside(caller: &Caller, project: Option<&str>, of: &str, worktree: &str) -> Result<(), Refusal> {
    require_role(caller, Right::Enter)?;
    if caller.role == Role::Worker && (project != Some(of) || caller.worktree.as_deref() != Some(worktree)) {
        return Err(forbidden(caller, name(Right::Enter), "its token is bound to another worktree, or to none"));
    }
    Ok(())
}

/// Checks that the caller may claim a dispatch, judged by its token alone: a worker's token must be a packet of the
/// dispatch, or come with a packet.
pub fn require_claim(caller: &Caller, number: DispatchId, with_packet: bool) -> Result<(), Refusal> {
    require_role(caller, Right::Run(number))?;
    let bound = caller.run.is_some_and(|run| run.dispatch == number);
    if caller.role == Role::Worker && !bound && !with_packet {
        return Err(Refusal::NoPacket { number });
    }
    Ok(())
}

pub fn require(world: &World, caller: &Caller, command: &Command) -> Result<(), Refusal> {
    let right = right(command);
    require_role(caller, right)?;
    let no = |why: &str| Err(forbidden(caller, name(right), why));
    match (caller.role, right) {
        (Role::Operator | Role::Orchestrator, _) | (_, Right::Speak) => Ok(()),
        (Role::Worker, Right::Contribute) => {
            let brief = match command {
                Command::WriteScratchpad { number, .. } => world.scratchpads.get(number).and_then(|pad| pad.brief),
                _ => command.brief(),
            };
            require_contribution(caller, brief)?;
            in_run(world, caller).or_else(no)
        }
        (Role::Worker, Right::Run(number)) => match command {
            Command::Dispatch { step: dispatch::Step::Claim { packet, .. }, .. } => {
                require_claim(caller, number, packet.is_some())
            }
            _ if is_run(world, caller, number, command) => Ok(()),
            _ => no("that run belongs to another agent, or is not claimed: the tool `start_work` claims"),
        },
        (Role::Worker, Right::Reserve) if reserves_own(world, caller, command) => in_run(world, caller).or_else(no),
        (Role::Worker, Right::Reserve) => no("its token is bound to another worktree, or to none"),
        (Role::Worker, Right::Propose) => {
            require_proposal(caller, true)?;
            proposes_in_own(world, caller, command).and_then(|()| in_run(world, caller)).or_else(no)
        }
        (Role::Ops, Right::Contribute) if matches!(command, Command::AddNote { .. } | Command::Ask { .. }) => Ok(()),
        (Role::Ops, Right::Contribute) => no("ops reads everything, opens incidents and writes notes"),
        (Role::Ops, Right::OpenIncident) => Ok(()),
        // `require_role` has refused these already. A right that is added later is refused until this match decides it.
        (Role::Worker, Right::Steer | Right::OpenIncident | Right::Enter | Right::Own)
        | (Role::Ops, Right::Steer | Right::Propose | Right::Run(_) | Right::Reserve | Right::Enter | Right::Own) => {
            no("ask the operator or an orchestrator")
        }
    }
}

fn forbidden(caller: &Caller, what: &'static str, why: &str) -> Refusal {
    let who = format!("{} `{}`", caller.role, caller.actor.name);
    Refusal::Forbidden { who, what, why: why.to_owned() }
}

/// Whether the caller holds or held the dispatch with the fence of the command. A previous holder may hand back as
/// well: the result is stored, and refused by its fence. A caller may not use the fence of another holder: refusals
/// name the newest fence, so knowing it proves nothing.
fn is_run(world: &World, caller: &Caller, number: DispatchId, command: &Command) -> bool {
    let (Some(token), Some(dispatch)) = (caller.token.as_deref(), world.dispatches.get(&number)) else { return false };
    let fence = match command {
        Command::Dispatch { step: dispatch::Step::HandBack(back), .. } => back.fence,
        Command::Heartbeat { fence, .. } => *fence,
        _ => return dispatch.was_run_by(token),
    };
    match dispatch.runs.iter().find(|run| run.fence == fence) {
        Some(run) => run.token.as_deref() == Some(token),
        None => dispatch.was_run_by(token) || is_forgotten(dispatch, caller, fence),
    }
}

/// Whether the claim of the caller was dropped from the stored claims, of which there are at most `MAX_RUNS`: its token
/// is a used packet of this dispatch, and its fence is older than all stored ones.
fn is_forgotten(dispatch: &Dispatch, caller: &Caller, fence: Fence) -> bool {
    let bound = caller.run.is_some_and(|run| run.dispatch == dispatch.number && !run.member);
    let unused = dispatch.packets.iter().any(|packet| caller.token.as_ref() == Some(packet));
    bound && !unused && fence > Fence::default() && dispatch.runs.first().is_some_and(|oldest| fence < oldest.fence)
}

fn reserves_own(world: &World, caller: &Caller, command: &Command) -> bool {
    match command {
        Command::TakeLease(request) => caller.worktree.as_ref() == Some(&request.worktree) && request.holder.is_none(),
        Command::ReleaseLease { number, .. } => world
            .leases
            .get(number)
            .is_none_or(|lease| caller.worktree.as_ref() == Some(&lease.worktree) && lease.holder == caller.actor.name),
        _ => false,
    }
}

/// Checks that a worker's proposal stays in the projects and the epic of its own brief.
fn proposes_in_own(world: &World, caller: &Caller, command: &Command) -> Result<(), &'static str> {
    let Command::CreateBrief(request) = command else { return Err("it creates no brief") };
    let Some(own) = caller.brief.and_then(|number| world.briefs.get(&number)) else {
        return Err("its token is bound to no brief");
    };
    if !request.projects.iter().all(|project| own.projects.contains(project)) {
        return Err("its token is bound to another project");
    }
    match request.epic.is_none() || request.epic == own.epic {
        true => Ok(()),
        false => Err("a worker adds briefs to the epic of its own brief only"),
    }
}

/// Checks that a token that was made for a dispatch is used during that run, not before or after it.
fn in_run(world: &World, caller: &Caller) -> Result<(), &'static str> {
    let Some(run) = caller.run else { return Ok(()) };
    let Some(dispatch) = world.dispatches.get(&run.dispatch) else { return Ok(()) };
    let begun = caller.token.as_deref().is_some_and(|token| dispatch.was_run_by(token));
    let current = caller.token.as_deref().is_some_and(|token| dispatch.is_run_by(token));
    if dispatch.is_over() {
        return Err("its run is over");
    }
    if run.member || current {
        return Ok(());
    }
    Err(if begun {
        "another agent has claimed its work since"
    } else {
        "it has claimed nothing yet: the tool `start_work` does"
    })
}

fn right(command: &Command) -> Right {
    match command {
        Command::ProposePlan { .. }
        | Command::Refine { .. }
        | Command::AddNote { .. }
        | Command::Ask { .. }
        | Command::AddLink { .. }
        | Command::CreateScratchpad { .. }
        | Command::WriteScratchpad { .. } => Right::Contribute,
        Command::CreateBrief(crate::brief::Request { kind: BriefKind::Incident, .. }) => Right::OpenIncident,
        Command::CreateBrief(request) if request.is_proposal() => Right::Propose,
        Command::CreateBrief(_)
        | Command::Accept { .. }
        | Command::SetStatus { .. }
        | Command::EditBrief { .. }
        | Command::AddNeed { .. }
        | Command::DropNeed { .. }
        | Command::Answer { .. }
        | Command::RequestWorktree(_)
        | Command::RemoveWorktree { .. }
        | Command::RestoreWorktree { .. }
        | Command::QueueLanding(_)
        | Command::Landing { step: landing::Step::Cancel { .. }, .. }
        | Command::RequestDispatch(_)
        | Command::Remark(_)
        | Command::IssueToken(token::Request { run: Some(_), role: Role::Worker, .. })
        | Command::Dispatch { step: dispatch::Step::Cancel { .. }, .. }
        | Command::StartAgent(agent::Request { role: Role::Worker, .. })
        | Command::Agent { step: agent::Step::Stop { .. }, .. }
        | Command::Main { step: main_branch::Step::Freeze { .. } | main_branch::Step::Halt { .. }, .. } => Right::Steer,
        Command::Dispatch { number, step: dispatch::Step::Claim { .. } | dispatch::Step::HandBack(_) } => {
            Right::Run(*number)
        }
        Command::Heartbeat { dispatch, .. } => Right::Run(*dispatch),
        Command::TakeLease(_) | Command::ReleaseLease { over: None, .. } => Right::Reserve,
        Command::SendMessage { .. } | Command::NoteRefused { .. } => Right::Speak,
        Command::RegisterProject { .. }
        | Command::RemoveProject { .. }
        | Command::MoveProject { .. }
        | Command::RenameProject { .. }
        | Command::IssueToken(_)
        | Command::RevokeToken { .. }
        | Command::FinishWorktree { .. }
        | Command::FailWorktree { .. }
        | Command::DivergeWorktree(_)
        | Command::WorktreeGone(_)
        | Command::DropArchive { .. }
        | Command::ApproveCommands { .. }
        | Command::NoteSync { .. }
        | Command::Landing { .. }
        | Command::Main { .. }
        | Command::AutoDispatch { .. }
        | Command::Dispatch { .. }
        | Command::ReleaseLease { .. }
        | Command::BreachLease(_)
        | Command::StartAgent(_)
        | Command::Agent { .. }
        | Command::AskPermission(_)
        | Command::DecidePermission { .. }
        | Command::AcceptLoss { .. } => Right::Own,
    }
}

fn name(right: Right) -> &'static str {
    match right {
        Right::Contribute => "write to that brief",
        Right::Steer => "steer briefs, worktrees and landings",
        Right::OpenIncident => "open incidents",
        Right::Propose => "propose a brief",
        Right::Run(_) => "act for that run",
        Right::Reserve => "reserve paths there",
        Right::Enter => "enter that worktree",
        Right::Speak => "say that",
        Right::Own => "change projects, tokens, MAIN or the log",
    }
}
