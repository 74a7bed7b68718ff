//! Faults that break the rules on purpose, to test that the watch detects them.

use flower_core::dispatch::{State, Step};
use flower_core::{Caller, Command, DispatchId, Draft, Event, Fence, Heartbeat, World};

/// Longer than any lease.
const LONG: u64 = 2 * 86_400_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    /// The dispatcher expires every claim.
    ExpiresAtOnce,
    /// Heartbeats are accepted but not stored.
    LosesBeats,
    /// The newest fence of a dispatch is decreased by one.
    RewindsFence,
    /// Every hand-back counts as if it had the newest fence.
    LateCounts,
    /// A caller that knows the newest fence is accepted as the holder.
    TrustsFences,
    /// An overtaken heartbeat replaces the newer one.
    TurnsBeatsBack,
    /// Late hand-backs are not stored.
    ForgetsLate,
    /// A claim replaces the claim of another holder.
    StealsClaims,
    /// Path leases of other agents count as over.
    SharesPaths,
    /// flower forgets that it has dispatched a brief.
    DispatchesAgain,
    /// The dispatcher never ends a claim.
    NeverExpires,
    /// A cancelled dispatch can be claimed again.
    Revives,
    /// A claim remains after the end of an agent that flower ran.
    KeepsClaims,
    /// The lead of a dispatch is forgotten.
    ForgetsLeads,
}

impl Fault {
    pub const ALL: &[(Fault, &str)] = &[
        (Fault::ExpiresAtOnce, "sent a heartbeat in time"),
        (Fault::LosesBeats, "sent a heartbeat in time"),
        (Fault::RewindsFence, "fence"),
        (Fault::LateCounts, "counted with fence"),
        (Fault::TrustsFences, "what another holds"),
        (Fault::TurnsBeatsBack, "sent a heartbeat in time"),
        (Fault::ForgetsLate, "was not kept"),
        (Fault::StealsClaims, "sent a heartbeat in time"),
        (Fault::SharesPaths, "has lost it"),
        (Fault::DispatchesAgain, "dispatched by itself twice"),
        (Fault::NeverExpires, "no agent is left"),
        (Fault::Revives, "had ended"),
        (Fault::KeepsClaims, "did not go with it"),
        (Fault::ForgetsLeads, "has two leads"),
    ];

    /// The caller and command that are decided instead of the submitted ones.
    pub fn twist(self, world: &World, caller: &Caller, command: &Command) -> (Caller, Command) {
        let (mut caller, mut command) = (caller.clone(), command.clone());
        match (self, &mut command) {
            (Fault::ExpiresAtOnce, Command::Dispatch { step: Step::Expire { moment }, .. })
            | (Fault::StealsClaims, Command::Dispatch { step: Step::Claim { moment, .. }, .. }) => moment.now += LONG,
            (Fault::SharesPaths, Command::TakeLease(request)) => request.moment.now += LONG,
            (Fault::LateCounts, Command::Dispatch { number, step: Step::HandBack(back) }) => {
                let newest = world.dispatches.get(number).map_or(Fence::default(), |dispatch| dispatch.fence);
                if (Fence(1)..newest).contains(&back.fence) {
                    back.fence = newest;
                    caller = Caller::system();
                }
            }
            (Fault::TrustsFences, Command::Heartbeat { .. } | Command::Dispatch { step: Step::HandBack(_), .. }) => {
                caller = Caller::system();
            }
            (Fault::NeverExpires, Command::Dispatch { step: Step::Expire { moment }, .. }) => moment.now = 0,
            _ => {}
        }
        (caller, command)
    }

    /// The decided events that are recorded.
    pub fn thin(self, mut drafts: Vec<Draft>) -> Vec<Draft> {
        if self == Fault::ForgetsLate {
            drafts.retain(|draft| !matches!(draft.event, Event::DispatchLate(_)));
        }
        if self == Fault::KeepsClaims && drafts.iter().any(|draft| matches!(draft.event, Event::AgentStopped(_))) {
            drafts.retain(|draft| !matches!(draft.event, Event::DispatchExpired(_) | Event::DispatchFailed(_)));
        }
        drafts
    }

    /// The heartbeat that is stored.
    pub fn beat(self, world: &mut World, dispatch: DispatchId, fence: Fence, beat: Heartbeat) {
        match self {
            Fault::LosesBeats => {}
            Fault::TurnsBeatsBack => drop(world.beats.insert(dispatch, (fence, beat))),
            _ => world.record_heartbeat(dispatch, fence, beat),
        }
    }

    /// Changes the world without an event.
    pub fn harm(self, world: &mut World, events: &[Event]) {
        for event in events {
            match (self, event) {
                (Fault::RewindsFence, Event::DispatchExpired(expired)) => {
                    world.dispatches.get_mut(&expired.number).expect("it expired").fence.0 -= 1;
                }
                (Fault::DispatchesAgain, Event::DispatchCancelled(cancelled)) => {
                    let brief = world.dispatches[&cancelled.number].brief;
                    world.briefs.get_mut(&brief).expect("it was dispatched").dispatched = false;
                }
                (Fault::Revives, Event::DispatchCancelled(cancelled)) => {
                    let dispatch = world.dispatches.get_mut(&cancelled.number).expect("it was cancelled");
                    dispatch.state = State::Requested;
                }
                (Fault::ForgetsLeads, Event::AgentStarted(new)) => {
                    world.agents.get_mut(&new.number).expect("it was started").member = 1;
                }
                _ => {}
            }
        }
    }
}
