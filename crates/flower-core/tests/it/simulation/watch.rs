//! The watch: it keeps an independent record of claims and leases, and reports when the rules deviate from it.

use crate::simulation::clock::Clock;
use flower_core::agent::Ending;
use flower_core::dispatch::{HandBack, State, Step};
use flower_core::event::{DispatchClaimed, DispatchRequested, LeaseTaken};
use flower_core::readiness::DispatchKind;
use flower_core::{
    AgentId, BootTime, BriefId, Caller, Command, DispatchId, Draft, Event, Fence, Heartbeat, LeaseId, Pattern, Refusal,
    Role, Status, World,
};
use std::collections::{BTreeMap, BTreeSet};

/// Every two overlapping patterns of [`crate::simulation::agents::PATTERNS`] share one of these paths.
pub const PATHS: &[&str] =
    &["src/a.rs", "src/b.rs", "src/a/b.txt", "docs/a.md", "docs/a.rs", "docs/x/y", "tests/a.rs", "a.rs", "Cargo.toml"];

#[derive(Default)]
pub struct Watch {
    pub dispatches: BTreeMap<DispatchId, Account>,
    /// The live leases.
    pub leases: BTreeMap<LeaseId, Held>,
    packets: BTreeMap<String, DispatchId>,
    used: BTreeSet<String>,
    /// By brief, and whether it was a design: the number of automatic dispatches.
    auto: BTreeMap<(BriefId, bool), u64>,
    /// Briefs whose work, not only the design, was dispatched.
    pub asked: BTreeSet<BriefId>,
    pub claimed: BTreeSet<BriefId>,
    pub handed_back: BTreeSet<BriefId>,
    /// By dispatch: the live agent of flower's own that leads it.
    pub leads: BTreeMap<DispatchId, Lead>,
    /// The agent that ends in the current step; its claims end with it at any time.
    ending: Option<String>,
    pub counts: BTreeMap<&'static str, u64>,
}

pub struct Lead {
    number: AgentId,
    pub name: String,
    pub has_claimed: bool,
}

/// The record of one dispatch.
pub struct Account {
    brief: BriefId,
    /// The newest fence that was given out.
    pub fence: Fence,
    pub holder: Option<Holder>,
    pub ended: Option<State>,
    /// The token that was given each fence; the operator has no token.
    given: BTreeMap<Fence, Option<String>>,
}

pub struct Holder {
    pub fence: Fence,
    pub name: String,
    seconds: u64,
    heard: Heartbeat,
}

pub struct Held {
    pub worktree: String,
    pub holder: String,
    pub patterns: Vec<Pattern>,
    seconds: u64,
    taken: Heartbeat,
}

impl Held {
    pub fn is_over(&self, clock: &Clock) -> bool {
        clock.is_over(&self.taken, self.seconds)
    }

    /// Whether the patterns overlap, tested with sample paths instead of the rules' own comparison.
    pub fn overlaps(&self, patterns: &[Pattern]) -> bool {
        let covers = |patterns: &[Pattern], path: &str| patterns.iter().any(|pattern| pattern.matches(path));
        PATHS.iter().any(|path| covers(&self.patterns, path) && covers(patterns, path))
    }
}

impl Account {
    /// Whether the caller was given this fence, or may act for the holder that was.
    fn is_own(&self, caller: &Caller, fence: Fence) -> bool {
        let given = self.given.get(&fence);
        caller.role == Role::Operator || given.is_some_and(|token| token.is_some() && *token == caller.token)
    }
}

impl Watch {
    pub fn dispatch_of(&self, token: &str) -> Option<DispatchId> {
        self.packets.get(token).copied()
    }

    pub fn is_used(&self, packet: &str) -> bool {
        self.used.contains(packet)
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    /// Checks accepted events; `world` is the state before them.
    pub fn accepted(
        &mut self,
        world: &World,
        clock: &Clock,
        caller: &Caller,
        command: &Command,
        drafts: &[Draft],
    ) -> Result<(), String> {
        match command {
            Command::Dispatch { number, step: Step::HandBack(back) } => {
                self.hand_back_answered(*number, caller, back, drafts)?;
            }
            Command::Dispatch { number, step: Step::Claim { .. } } if drafts.is_empty() => {
                let account = &self.dispatches[number];
                let again = account.holder.as_ref().is_some_and(|holder| account.is_own(caller, holder.fence));
                require(again, || {
                    format!("dispatch {number} was not given to {}, who was told so", caller.actor.name)
                })?;
                self.count("claimed again");
            }
            Command::Heartbeat { dispatch, fence, moment } => self.heard(*dispatch, *fence, caller, moment)?,
            _ => {}
        }
        self.agent_ends(world, drafts)?;
        for draft in drafts {
            self.happens(world, clock, draft)?;
            self.status_follows(draft, drafts)?;
        }
        self.ending = None;
        Ok(())
    }

    fn hand_back_answered(
        &mut self,
        number: DispatchId,
        caller: &Caller,
        back: &HandBack,
        drafts: &[Draft],
    ) -> Result<(), String> {
        let account = &self.dispatches[&number];
        let (fence, newest) = (back.fence, account.fence);
        let ends = |event: &Event| matches!(event, Event::DispatchHandedBack(_) | Event::DispatchFailed(_));
        let kept =
            |event: &Event| matches!(event, Event::DispatchLate(late) if (late.number, late.fence) == (number, fence));
        if drafts.iter().any(|draft| ends(&draft.event)) {
            let said = || format!("an answer to dispatch {number} counted with fence {fence}; the newest is {newest}");
            require(fence == newest, said)?;
            require(account.is_own(caller, fence), || {
                format!("{} handed back what another holds, with fence {fence} of dispatch {number}", caller.actor.name)
            })?;
            let after_expiry = account.holder.is_none();
            self.count(if after_expiry { "counted after expiry" } else { "counted" });
            return Ok(());
        }
        let late = fence < newest && drafts.iter().any(|draft| kept(&draft.event));
        require(late, || format!("a late answer to dispatch {number} with fence {fence} was not kept"))?;
        self.count("late");
        Ok(())
    }

    fn heard(&mut self, number: DispatchId, fence: Fence, caller: &Caller, moment: &BootTime) -> Result<(), String> {
        let account = self.dispatches.get_mut(&number).ok_or("a heartbeat for an unknown dispatch")?;
        let own = account.is_own(caller, fence);
        let holder = account.holder.as_mut().filter(|holder| holder.fence == fence);
        let who = &caller.actor.name;
        let holder = holder.ok_or_else(|| format!("{who} beats for dispatch {number}, which it does not hold"))?;
        require(own, || format!("{who} keeps alive what another holds: dispatch {number}"))?;
        holder.heard = Clock::later(holder.heard.clone(), moment.heartbeat());
        self.count("heard");
        Ok(())
    }

    /// Checks one event before it is applied to the world.
    fn happens(&mut self, world: &World, clock: &Clock, draft: &Draft) -> Result<(), String> {
        match &draft.event {
            Event::TokenIssued(token) => {
                self.packets.extend(token.dispatch.map(|dispatch| (token.id.clone(), dispatch)));
            }
            Event::DispatchRequested(new) => self.requested(world, new)?,
            Event::DispatchClaimed(claimed) => self.given(claimed)?,
            Event::DispatchExpired(expired) => {
                let account = self.open(expired.number)?;
                let holder = account.holder.take().ok_or("a claim expired that had no holder")?;
                require(holder.fence == expired.fence, || "another's claim expired".into())?;
                let ends = self.ending.as_ref() == Some(&holder.name);
                require(ends || clock.is_over(&holder.heard, holder.seconds), || {
                    format!(
                        "the claim of dispatch {} expired, although {} sent a heartbeat in time",
                        expired.number, holder.name
                    )
                })?;
                self.count("expired");
            }
            Event::DispatchHandedBack(back) => {
                let account = self.ends(back.number, State::HandedBack)?;
                let (brief, newest) = (account.brief, account.fence);
                require(back.fence == newest, || format!("fence {} counted, not {newest}", back.fence))?;
                self.handed_back.insert(brief);
            }
            Event::DispatchFailed(failed) => {
                self.ends(failed.number, State::Failed)?;
                self.count("failed");
            }
            Event::DispatchCancelled(cancelled) => {
                self.ends(cancelled.number, State::Cancelled)?;
                self.count("cancelled");
            }
            Event::DispatchLanded(landed) => {
                let account = self.dispatches.get_mut(&landed.number).ok_or("nothing landed")?;
                let before = account.ended.replace(State::Landed);
                require(before == Some(State::HandedBack), || format!("dispatch {} landed unasked", landed.number))?;
                self.count("landed");
            }
            Event::AgentStarted(new) => {
                let Some(dispatch) = new.dispatch else { return Ok(()) };
                let lead = Lead { number: new.number, name: new.name.clone(), has_claimed: false };
                let before = self.leads.insert(dispatch, lead).map(|lead| lead.name);
                require(before.is_none(), || {
                    format!("dispatch {dispatch} has two leads: {before:?} and {}", new.name)
                })?;
                let held = self.open(dispatch)?.holder.is_some();
                require(!held, || format!("{} was started for dispatch {dispatch}, which is held", new.name))?;
            }
            Event::LeaseTaken(taken) => self.reserved(clock, taken)?,
            Event::LeaseReleased(released) => {
                let number = released.number;
                let held = self.leases.remove(&number).ok_or_else(|| format!("lease {number} was released twice"))?;
                let over = released.why != "its time was over" || held.is_over(clock);
                require(over, || format!("lease {number} was not over, and {} has lost it", held.holder))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// The claim of an ended agent ends with it: the dispatch fails, or waits for the next claim.
    fn agent_ends(&mut self, world: &World, drafts: &[Draft]) -> Result<(), String> {
        let stopped = drafts.iter().find_map(|draft| match &draft.event {
            Event::AgentStopped(stopped) => Some(stopped),
            _ => None,
        });
        let Some(stopped) = stopped else { return Ok(()) };
        let name = world.agents[&stopped.number].name.clone();
        let dispatch = self.leads.iter().find(|(_, lead)| lead.number == stopped.number).map(|(dispatch, _)| *dispatch);
        let dispatch = dispatch.ok_or_else(|| format!("{name} ended twice"))?;
        self.leads.remove(&dispatch);
        let holds = self.dispatches[&dispatch].holder.as_ref().is_some_and(|holder| holder.name == name);
        let goes = |event: &Event| match event {
            Event::DispatchFailed(failed) => stopped.how == Ending::Failed && failed.number == dispatch,
            Event::DispatchExpired(expired) => stopped.how != Ending::Failed && expired.number == dispatch,
            _ => false,
        };
        let gone = drafts.iter().any(|draft| goes(&draft.event));
        require(holds == gone, || format!("{name} ended as `{}`, and its claim did not go with it", stopped.how))?;
        self.ending = Some(name);
        Ok(())
    }

    fn requested(&mut self, world: &World, new: &DispatchRequested) -> Result<(), String> {
        let (number, brief) = (new.number, new.brief);
        let is_design = new.kind == DispatchKind::Design;
        if new.auto {
            let times = self.auto.entry((brief, is_design)).or_default();
            *times += 1;
            require(*times == 1, || format!("brief {brief} was dispatched by itself twice"))?;
            let state = &world.briefs[&brief];
            let met = state.depends_on.iter().all(|needs| world.briefs[needs].status.is_met());
            let ready = if is_design { state.status == Status::Draft } else { state.status == Status::Planned };
            let free = new.kind != DispatchKind::Build || met;
            require(ready && free, || format!("brief {brief} was dispatched by itself before its time"))?;
            self.count("auto");
        }
        if !is_design {
            self.asked.insert(brief);
        }
        let account = Account { brief, fence: Fence::default(), holder: None, ended: None, given: BTreeMap::new() };
        require(self.dispatches.insert(number, account).is_none(), || format!("dispatch {number} exists twice"))
    }

    fn given(&mut self, claimed: &DispatchClaimed) -> Result<(), String> {
        let number = claimed.number;
        let account = self.open(number)?;
        let brief = account.brief;
        let held = account.holder.as_ref().map(|holder| holder.name.clone());
        require(held.is_none(), || format!("dispatch {number} has two holders: {held:?} and {}", claimed.holder))?;
        let (fence, newest) = (claimed.fence, account.fence);
        require(fence > newest, || format!("dispatch {number} was given fence {fence} after {newest}"))?;
        account.fence = fence;
        account.given.insert(fence, claimed.token.clone());
        let heard = Heartbeat { boot: claimed.boot.clone(), at: claimed.boot_ms };
        account.holder = Some(Holder { fence, name: claimed.holder.clone(), seconds: claimed.seconds, heard });
        if let Some(packet) = &claimed.packet {
            require(self.used.insert(packet.clone()), || format!("packet {packet} was used twice"))?;
        }
        self.claimed.insert(brief);
        if let Some(lead) = self.leads.get_mut(&number).filter(|lead| lead.name == claimed.holder) {
            lead.has_claimed = true;
        }
        self.count("claimed");
        Ok(())
    }

    fn reserved(&mut self, clock: &Clock, taken: &LeaseTaken) -> Result<(), String> {
        let patterns = taken.patterns.iter().map(|raw| Pattern::parse(raw)).collect::<Result<Vec<_>, _>>();
        let patterns = patterns.map_err(|refusal| refusal.to_string())?;
        for (number, held) in self.leases.iter().filter(|(_, held)| held.worktree == taken.worktree) {
            let apart = held.holder == taken.holder || held.is_over(clock) || !held.overlaps(&patterns);
            require(apart, || format!("lease {} overlaps with {number}, which {} holds", taken.number, held.holder))?;
        }
        let beat = Heartbeat { boot: taken.boot.clone(), at: taken.boot_ms };
        let (worktree, holder, seconds) = (taken.worktree.clone(), taken.holder.clone(), taken.seconds);
        self.leases.insert(taken.number, Held { worktree, holder, patterns, seconds, taken: beat });
        self.count("reserved");
        Ok(())
    }

    /// The status of a brief changes in the same decision as its work.
    fn status_follows(&self, draft: &Draft, drafts: &[Draft]) -> Result<(), String> {
        let Event::StatusChanged(change) = &draft.event else { return Ok(()) };
        let with = |is: fn(&Event) -> bool| drafts.iter().any(|other| other.brief == draft.brief && is(&other.event));
        let follows = match (change.from, change.to) {
            (Status::Planned, Status::InProgress) => with(|event| matches!(event, Event::DispatchClaimed(_))),
            (Status::InProgress, Status::InReview) => {
                with(|event| matches!(event, Event::DispatchHandedBack(_) | Event::LandingQueued(_)))
            }
            _ => true,
        };
        require(follows, || format!("brief {:?} became `{}` for no reason", draft.brief, change.to))
    }

    /// Checks a refusal against those that the rules must not give.
    pub fn refused(&mut self, caller: &Caller, command: &Command, refusal: &Refusal) -> Result<(), String> {
        let who = &caller.actor.name;
        match command {
            Command::Dispatch { number, step: Step::HandBack(back) } => {
                let Some(account) = self.dispatches.get(number) else { return Ok(()) };
                let (own, fence) = (account.is_own(caller, back.fence), back.fence);
                let late = own && fence > Fence::default() && fence < account.fence;
                require(!late, || format!("a late answer of {who} to dispatch {number} was not kept: {refusal}"))?;
                let excused = account.ended.is_some() || matches!(refusal, Refusal::NoDesign { .. });
                let counts = own && fence > Fence::default() && fence == account.fence && !excused;
                require(!counts, || format!("the newest answer of {who} to dispatch {number} was refused: {refusal}"))?;
                self.count(if own { "answer refused" } else { "theft refused" });
            }
            Command::Dispatch { number, step: Step::Claim { .. } } => {
                let Some(account) = self.dispatches.get(number) else { return Ok(()) };
                if let Refusal::Claimed { holder, .. } = refusal {
                    let right = account.holder.as_ref().is_some_and(|known| known.name == *holder);
                    require(right, || format!("dispatch {number} is not held by {holder}, as {who} was told"))?;
                    let own = caller.token.is_some() && account.is_own(caller, account.fence);
                    require(!own, || format!("{who} asked twice for dispatch {number}, and lost it"))?;
                    self.count("claim refused");
                }
            }
            Command::Heartbeat { dispatch, fence, .. } => {
                let Some(account) = self.dispatches.get(dispatch) else { return Ok(()) };
                let holds = account.holder.as_ref().is_some_and(|holder| holder.fence == *fence);
                let own = holds && account.is_own(caller, *fence);
                require(!own, || format!("{who} holds dispatch {dispatch} and could not say so: {refusal}"))?;
            }
            Command::TakeLease(request) => {
                if let Refusal::LeaseTaken { holder, .. } = refusal {
                    let held = self.leases.values().any(|h| h.worktree == request.worktree && h.holder == *holder);
                    require(held, || format!("{holder} holds nothing in {}, as {who} was told", request.worktree))?;
                    self.count("lease refused");
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn open(&mut self, number: DispatchId) -> Result<&mut Account, String> {
        let account = self.dispatches.get_mut(&number).ok_or("there is no such dispatch")?;
        require(account.ended.is_none(), || format!("dispatch {number} had ended"))?;
        Ok(account)
    }

    fn ends(&mut self, number: DispatchId, state: State) -> Result<&mut Account, String> {
        let account = self.open(number)?;
        (account.ended, account.holder) = (Some(state), None);
        Ok(account)
    }
}

pub fn require(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}
