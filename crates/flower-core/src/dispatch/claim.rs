//! Claiming: a dispatch has at most one holder at a time. A second claim is refused with the name of the holder.

use super::{Dispatch, State, draft, expire, release};
use crate::actor::{ActorType, Caller, Role};
use crate::boot_time::{BootTime, in_words};
use crate::brief::Brief;
use crate::brief::link::once;
use crate::brief::status::follow;
use crate::event::{DispatchClaimed, Draft, ParticipantJoined};
use crate::ids::DispatchId;
use crate::link::LinkKind;
use crate::readiness::DispatchKind;
use crate::refusal::Refusal;
use crate::world::World;
use crate::{Status, text, worktree};
use std::collections::BTreeSet;

pub(super) struct Wish<'a> {
    pub(super) holder: Option<&'a str>,
    pub(super) packet: Option<&'a str>,
    pub(super) seconds: u64,
    pub(super) moment: &'a BootTime,
}

/// Maximum length of a lease: a day. Longer work renews its lease with heartbeats.
const MAX_SECONDS: u64 = 86_400;

pub(super) fn decide(
    world: &World,
    caller: &Caller,
    dispatch: &Dispatch,
    wish: &Wish<'_>,
) -> Result<Vec<Draft>, Refusal> {
    let number = dispatch.number;
    if !(1..=MAX_SECONDS).contains(&wish.seconds) {
        return Err(Refusal::BadLease { seconds: wish.seconds, most: MAX_SECONDS });
    }
    let own = caller.token.as_deref();
    let mut drafts = Vec::new();
    match (&dispatch.claim, dispatch.state) {
        // A repeated claim with the same token, for example after a crash, changes nothing.
        (Some(_), _) if own.is_some_and(|token| dispatch.is_run_by(token)) => return Ok(Vec::new()),
        (Some(claim), _) if world.is_over(dispatch, claim, wish.moment) => {
            drafts.extend(expire(world, dispatch, claim, None));
        }
        (Some(claim), _) => {
            let left = wish.moment.left(&world.last_heartbeat(dispatch, claim), claim.seconds);
            return Err(Refusal::Claimed { number, holder: claim.holder.clone(), left: in_words(left) });
        }
        (None, State::Requested) => {}
        (None, state) => return Err(Refusal::DispatchState { number, state, wanted: "requested" }),
    }
    let packet = require_packet(caller, dispatch, wish.packet)?;
    require_free(world, caller, number)?;
    let brief = world.brief(dispatch.brief)?;
    if brief.status.is_closed() || brief.status == Status::Parked {
        return Err(Refusal::BriefNotOpen { number, brief: brief.number, status: brief.status });
    }
    let holder = match wish.holder {
        Some(name) => text::name("agent", name)?,
        None => caller.actor.name.clone(),
    };
    // The path leases of the previous holder end with its claim.
    let expired = dispatch.claim.as_ref().map(|claim| claim.holder.as_str());
    let before: BTreeSet<&str> = dispatch.runs.iter().map(|run| run.holder.as_str()).collect();
    for before in before.into_iter().filter(|before| *before != holder && Some(*before) != expired) {
        drafts.extend(release(world, dispatch, before, "another agent has claimed the work"));
    }
    let fence = dispatch.fence.next();
    let claimed = DispatchClaimed {
        number,
        holder: holder.clone(),
        fence,
        seconds: wish.seconds,
        boot: wish.moment.boot.clone(),
        boot_ms: wish.moment.now,
        token: caller.token.clone(),
        packet,
        worktree: dispatch.worktree.clone(),
    };
    drafts.push(draft(dispatch, claimed));
    drafts.extend(join(brief, dispatch, &holder, caller));
    if let Some(name) = &dispatch.worktree {
        drafts.extend(once(world, brief.number, LinkKind::Worktree, name, ""));
        drafts.extend(once(world, brief.number, LinkKind::Branch, &worktree::branch(name), ""));
    }
    if brief.status == Status::Planned && dispatch.kind != DispatchKind::Design {
        drafts.push(follow(brief, Status::InProgress, format!("{holder} claimed dispatch {number}")));
    }
    Ok(drafts)
}

/// Finds the unused packet that allows a worker to claim: its own token, or a token that it was given.
fn require_packet(caller: &Caller, dispatch: &Dispatch, given: Option<&str>) -> Result<Option<String>, Refusal> {
    let packet = given.or(caller.token.as_deref()).filter(|token| dispatch.packets.iter().any(|p| p == token));
    match (caller.role, packet) {
        (Role::Operator | Role::Orchestrator, packet) => Ok(packet.map(str::to_owned)),
        (_, Some(packet)) if caller.token.is_some() => Ok(Some(packet.to_owned())),
        (_, _) => Err(Refusal::NoPacket { number: dispatch.number }),
    }
}

/// A worker's token can hold one claim at a time.
fn require_free(world: &World, caller: &Caller, number: DispatchId) -> Result<(), Refusal> {
    let (Role::Worker, Some(run), Some(token)) = (caller.role, caller.run, caller.token.as_deref()) else {
        return Ok(());
    };
    match world.dispatches.get(&run.dispatch) {
        Some(other) if other.number != number && other.claim.is_some() && other.is_run_by(token) => {
            Err(Refusal::Busy { number, other: other.number })
        }
        _ => Ok(()),
    }
}

/// Makes the holder a participant of the brief, also if another caller made the claim for it.
fn join(brief: &Brief, dispatch: &Dispatch, holder: &str, caller: &Caller) -> Option<Draft> {
    let (sort, role) = (ActorType::Agent, Role::Worker);
    // The caller of a command becomes a participant in any case.
    let known = holder == caller.actor.name || brief.participants.iter().any(|p| p.name == holder && p.sort == sort);
    let (name, worktree) = (holder.to_owned(), dispatch.worktree.clone());
    (!known).then(|| Draft::brief(brief.number, ParticipantJoined { name, sort, role, worktree, wave: None }))
}
