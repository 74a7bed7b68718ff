//! Who may do what. One table; no door decides about rights by itself.

use crate::actor::{Caller, Role};
use crate::brief::BriefKind;
use crate::command::Command;
use crate::refusal::Refusal;
use crate::world::World;
use crate::{landing, main_branch};

/// What a command is, as far as rights are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Right {
    /// Notes, questions, plans, refinements, links and scratchpads.
    Contribute,
    /// Making briefs, accepting, moving, connecting them; making and removing worktrees; queueing and stopping landings.
    Steer,
    OpenIncident,
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
        (Role::Worker, Right::Contribute) if brief.is_some() && brief == caller.brief => Ok(()),
        (Role::Worker, Right::Contribute) => no("its token is bound to another brief, or to none"),
        (Role::Worker, _) => no("ask the operator or an orchestrator: `flower brief ask N TEXT`"),
        (Role::Ops, Right::OpenIncident) => Ok(()),
        (Role::Ops, Right::Contribute) if matches!(command, Command::AddNote { .. } | Command::Ask { .. }) => Ok(()),
        (Role::Ops, _) => no("ops reads everything, opens incidents and writes notes"),
    }
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
        | Command::Main { step: main_branch::Step::Freeze { .. }, .. } => Right::Steer,
        Command::RegisterProject { .. }
        | Command::RemoveProject { .. }
        | Command::IssueToken { .. }
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
        | Command::AcceptLoss { .. } => Right::Own,
    }
}

fn name(right: Right) -> &'static str {
    match right {
        Right::Contribute => "write to that brief",
        Right::Steer => "steer briefs, worktrees and landings",
        Right::OpenIncident => "open incidents",
        Right::Own => "change projects, tokens, MAIN or the log",
    }
}
