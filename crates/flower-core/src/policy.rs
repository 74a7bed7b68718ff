//! Who may do what. One table; no door decides about rights by itself.

use crate::actor::{Caller, Role};
use crate::brief::BriefKind;
use crate::command::Command;
use crate::dispatch::Dispatch;
use crate::refusal::Refusal;
use crate::world::World;
use crate::{agent, dispatch, landing, main_branch, token};

/// What a command is, as far as rights are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Right {
    /// Notes, questions, plans, refinements, links and scratchpads.
    Contribute,
    /// Making briefs, accepting, moving, connecting them; making and removing worktrees; queueing and stopping landings.
    Steer,
    OpenIncident,
    /// Claiming, and handing back or holding what was claimed.
    Run(u64),
    /// Reserving paths in a worktree.
    Reserve,
    /// Messages, and the record of what was refused.
    Speak,
    /// Projects, their commands, tokens, archives, the log itself; letting in what the gate holds back.
    Own,
}

pub fn require(world: &World, caller: &Caller, command: &Command) -> Result<(), Refusal> {
    let right = right(command);
    let brief = match command {
        Command::WriteScratchpad { number, .. } => world.scratchpads.get(number).and_then(|pad| pad.brief),
        _ => command.brief(),
    };
    let no = |why: &str| {
        let who = format!("{} `{}`", caller.role, caller.actor.name);
        Err(Refusal::Forbidden { who, what: name(right), why: why.to_owned() })
    };
    match (caller.role, right) {
        (Role::Operator, _) => Ok(()),
        (Role::Orchestrator, Right::Own) => no("ask the operator: projects, tokens, approvals and the log are theirs"),
        (Role::Orchestrator, _) => Ok(()),
        (_, Right::Speak) => Ok(()),
        (Role::Worker, Right::Contribute) if brief.is_some() && brief == caller.brief => {
            in_run(world, caller).or_else(no)
        }
        (Role::Worker, Right::Contribute) => no("its token is bound to another brief, or to none"),
        // Whether the token is a packet of it is the claim's own question.
        (Role::Worker, Right::Run(_)) if claims(command) => Ok(()),
        (Role::Worker, Right::Run(number)) if is_run(world, caller, number, command) => Ok(()),
        (Role::Worker, Right::Run(_)) => {
            no("that run is another agent's, or nobody has begun it: the tool `start_work` claims")
        }
        (Role::Worker, Right::Reserve) if reserves_own(world, caller, command) => in_run(world, caller).or_else(no),
        (Role::Worker, Right::Reserve) => no("its token is bound to another worktree, or to none"),
        (Role::Worker, _) => no("ask the operator or an orchestrator: `flower brief ask N TEXT`"),
        (Role::Ops, Right::OpenIncident) => Ok(()),
        (Role::Ops, Right::Contribute) if matches!(command, Command::AddNote { .. } | Command::Ask { .. }) => Ok(()),
        (Role::Ops, _) => no("ops reads everything, opens incidents and writes notes"),
    }
}

fn claims(command: &Command) -> bool {
    matches!(command, Command::Dispatch { step: dispatch::Step::Claim { .. }, .. })
}

/// An old holder may answer too: its answer is kept, and refused by its fence. With a fence that another was given it may
/// not: refusals name the newest one, so whoever knows it has proved nothing.
fn is_run(world: &World, caller: &Caller, number: u64, command: &Command) -> bool {
    let (Some(token), Some(dispatch)) = (caller.token.as_deref(), world.dispatches.get(&number)) else { return false };
    let fence = match command {
        Command::Dispatch { step: dispatch::Step::HandBack(back), .. } => back.fence,
        Command::Beat { fence, .. } => *fence,
        _ => return dispatch.was_run_by(token),
    };
    match dispatch.runs.iter().find(|run| run.fence == fence) {
        Some(run) => run.token.as_deref() == Some(token),
        None => dispatch.was_run_by(token) || is_forgotten(dispatch, caller, fence),
    }
}

/// Only so many runs are remembered. A used packet of this dispatch with a fence from before them is one of the others.
fn is_forgotten(dispatch: &Dispatch, caller: &Caller, fence: u64) -> bool {
    let bound = caller.run.is_some_and(|run| run.dispatch == dispatch.number && !run.member);
    let unused = dispatch.packets.iter().any(|packet| caller.token.as_ref() == Some(packet));
    bound && !unused && fence > 0 && dispatch.runs.first().is_some_and(|oldest| fence < oldest.fence)
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

/// A token that was made for a dispatch is good for that run, and for nothing before or after it.
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
        "somebody else has claimed its work since"
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
        Command::CreateBrief { kind: BriefKind::Incident, .. } => Right::OpenIncident,
        Command::CreateBrief { .. }
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
        | Command::Main { step: main_branch::Step::Freeze { .. }, .. } => Right::Steer,
        Command::Dispatch { number, step: dispatch::Step::Claim { .. } | dispatch::Step::HandBack(_) } => {
            Right::Run(*number)
        }
        Command::Beat { dispatch, .. } => Right::Run(*dispatch),
        Command::TakeLease(_) | Command::ReleaseLease { over: None, .. } => Right::Reserve,
        Command::SendMessage { .. } | Command::NoteRefused { .. } => Right::Speak,
        Command::RegisterProject { .. }
        | Command::RemoveProject { .. }
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
        Right::Run(_) => "act for that run",
        Right::Reserve => "reserve paths there",
        Right::Speak => "say that",
        Right::Own => "change projects, tokens, MAIN or the log",
    }
}
