//! Rules that are broken on purpose, to see that the watch notices.

use flower_core::dispatch::{State, Step};
use flower_core::{Caller, Command, Draft, Event, Heartbeat, World};

/// More than any lease lasts.
const LONG: u64 = 2 * 86_400_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    /// A dispatcher that expires whatever it looks at.
    ExpiresAtOnce,
    /// Signs of life are answered and forgotten.
    LosesBeats,
    /// A world whose newest fence goes back by one.
    RewindsFence,
    /// Whatever is handed back counts as if it came with the newest fence.
    LateCounts,
    /// Whoever knows the newest fence is taken for its holder.
    TrustsFences,
    /// A sign of life that was overtaken takes the newer one back.
    TurnsBeatsBack,
    /// Late answers are refused and thrown away.
    ForgetsLate,
    /// Whoever claims takes it away from its holder.
    StealsClaims,
    /// Path leases of others are taken for over.
    SharesPaths,
    /// flower forgets that it has dispatched a brief.
    DispatchesAgain,
    /// A dispatcher that never ends a claim.
    NeverExpires,
    /// What was cancelled can be claimed again.
    Revives,
    /// A claim outlives the agent that flower ran.
    KeepsClaims,
    /// Nobody remembers which agent was started for what.
    ForgetsLeads,
}

impl Fault {
    pub const ALL: &[(Fault, &str)] = &[
        (Fault::ExpiresAtOnce, "was heard of in time"),
        (Fault::LosesBeats, "was heard of in time"),
        (Fault::RewindsFence, "fence"),
        (Fault::LateCounts, "counted with fence"),
        (Fault::TrustsFences, "what another holds"),
        (Fault::TurnsBeatsBack, "was heard of in time"),
        (Fault::ForgetsLate, "was not kept"),
        (Fault::StealsClaims, "was heard of in time"),
        (Fault::SharesPaths, "has lost it"),
        (Fault::DispatchesAgain, "dispatched by itself twice"),
        (Fault::NeverExpires, "nobody is left"),
        (Fault::Revives, "had ended"),
        (Fault::KeepsClaims, "did not go with it"),
        (Fault::ForgetsLeads, "has two leads"),
    ];

    /// What is decided on, in place of what was asked.
    pub fn twist(self, world: &World, caller: &Caller, command: &Command) -> (Caller, Command) {
        let (mut caller, mut command) = (caller.clone(), command.clone());
        match (self, &mut command) {
            (Fault::ExpiresAtOnce, Command::Dispatch { step: Step::Expire { moment }, .. })
            | (Fault::StealsClaims, Command::Dispatch { step: Step::Claim { moment, .. }, .. }) => moment.now += LONG,
            (Fault::SharesPaths, Command::TakeLease(request)) => request.moment.now += LONG,
            (Fault::LateCounts, Command::Dispatch { number, step: Step::HandBack(back) }) => {
                let newest = world.dispatches.get(number).map_or(0, |dispatch| dispatch.fence);
                if (1..newest).contains(&back.fence) {
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

    /// What is recorded of what was decided.
    pub fn thin(self, mut drafts: Vec<Draft>) -> Vec<Draft> {
        if self == Fault::ForgetsLate {
            drafts.retain(|draft| !matches!(draft.event, Event::DispatchLate(_)));
        }
        if self == Fault::KeepsClaims && drafts.iter().any(|draft| matches!(draft.event, Event::AgentStopped(_))) {
            drafts.retain(|draft| !matches!(draft.event, Event::DispatchExpired(_) | Event::DispatchFailed(_)));
        }
        drafts
    }

    /// What is kept of a sign of life.
    pub fn beat(self, world: &mut World, dispatch: u64, fence: u64, beat: Heartbeat) {
        match self {
            Fault::LosesBeats => {}
            Fault::TurnsBeatsBack => drop(world.beats.insert(dispatch, (fence, beat))),
            _ => world.record_heartbeat(dispatch, fence, beat),
        }
    }

    /// What happens to the world behind the log's back.
    pub fn harm(self, world: &mut World, events: &[Event]) {
        for event in events {
            match (self, event) {
                (Fault::RewindsFence, Event::DispatchExpired(expired)) => {
                    world.dispatches.get_mut(&expired.number).expect("it expired").fence -= 1;
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
