//! Invariants that hold between any two steps, and at the end of a run.

use crate::simulation::clock::Clock;
use crate::simulation::watch::{Held, Watch, require};
use flower_core::dispatch::State;
use flower_core::{BriefKind, LeaseId, Status, World};

impl Watch {
    /// The world agrees with the watch's own record.
    pub fn state(&self, world: &World, clock: &Clock) -> Result<(), String> {
        require(world.dispatches.len() == self.dispatches.len(), || "dispatches are missing".into())?;
        for (number, account) in &self.dispatches {
            let dispatch = &world.dispatches[number];
            let (fence, newest) = (dispatch.fence, account.fence);
            require(fence == newest, || format!("the fence of dispatch {number} went from {newest} to {fence}"))?;
            if let Some(ended) = account.ended {
                let state = dispatch.state;
                require(state == ended, || format!("dispatch {number} had ended as `{ended}`, and is `{state}`"))?;
            }
            let claim = dispatch.claim.as_ref().map(|claim| (claim.fence, &claim.holder));
            let known = account.holder.as_ref().map(|holder| (holder.fence, &holder.name));
            require(claim == known, || format!("dispatch {number} is held by {claim:?}, not by {known:?}"))?;
            let at_work = matches!(dispatch.state, State::Claimed | State::Executing);
            require(at_work == known.is_some(), || format!("dispatch {number} is `{}`", dispatch.state))?;
        }
        for (number, lead) in self.leads.iter().filter(|(_, lead)| lead.has_claimed) {
            let account = &self.dispatches[number];
            let holds = account.holder.as_ref().is_some_and(|holder| holder.name == lead.name);
            require(holds || account.ended.is_some(), || {
                format!("{} lives, and has lost dispatch {number}", lead.name)
            })?;
        }
        self.reservations(world, clock)?;
        self.statuses(world)
    }

    fn reservations(&self, world: &World, clock: &Clock) -> Result<(), String> {
        let live = world.leases.values().filter(|lease| lease.live).map(|lease| lease.number);
        require(live.eq(self.leases.keys().copied()), || "other leases are live".into())?;
        let held: Vec<(&LeaseId, &Held)> = self.leases.iter().collect();
        for (at, (number, older)) in held.iter().enumerate() {
            for (other, newer) in &held[at + 1..] {
                let apart = older.worktree != newer.worktree || older.holder == newer.holder;
                let fine = apart || older.is_over(clock) || !older.overlaps(&newer.patterns);
                require(fine, || format!("lease {other} overlaps with {number}, which is not over"))?;
            }
        }
        Ok(())
    }

    fn statuses(&self, world: &World) -> Result<(), String> {
        for brief in world.briefs.values() {
            let number = brief.number;
            let reason = match brief.parked_from.unwrap_or(brief.status) {
                Status::InProgress => self.claimed.contains(&number),
                Status::InReview | Status::Landed => self.handed_back.contains(&number),
                _ => true,
            };
            require(reason, || format!("brief {number} is `{}` without any work on it", brief.status))?;
        }
        Ok(())
    }

    /// All agents are gone, and the dispatcher has nothing left to do.
    pub fn at_rest(&self, world: &World) -> Result<(), String> {
        for (number, account) in &self.dispatches {
            let held = account.holder.as_ref().map(|holder| &holder.name);
            require(held.is_none(), || format!("dispatch {number} is held by {held:?}, and no agent is left"))?;
            let dispatch = &world.dispatches[number];
            let pointless = dispatch.is_open() && world.briefs[&dispatch.brief].status.is_closed();
            require(!pointless, || format!("dispatch {number} waits for nothing"))?;
        }
        require(self.leases.is_empty(), || format!("{} leases are live, and no agent is left", self.leases.len()))?;
        for brief in world.briefs.values() {
            let number = brief.number;
            let met = brief.depends_on.iter().all(|needs| world.briefs[needs].status.is_met());
            let wants = brief.auto_dispatch && brief.kind != BriefKind::Epic && brief.status == Status::Planned;
            let done = !wants || !met || self.asked.contains(&number);
            require(done, || format!("brief {number} is planned, waits for nothing, and was never dispatched"))?;
        }
        Ok(())
    }
}
