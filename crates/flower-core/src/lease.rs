//! Path leases: they reserve paths inside one worktree for one agent, for a limited time. A lease that overlaps another
//! is refused with the name of its holder.

use crate::actor::Caller;
use crate::aggregate::{Aggregate, Context, subject};
use crate::boot_time::{BootTime, Heartbeat, in_words};
use crate::event::{Draft, LeaseEvent, LeaseReleased, LeaseTaken, Stream};
use crate::ids::{BriefId, LeaseId};
use crate::pattern::Pattern;
use crate::refusal::Refusal;
use crate::world::World;
use crate::{Event, text};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    pub number: LeaseId,
    pub project: String,
    pub worktree: String,
    pub holder: String,
    pub brief: Option<BriefId>,
    pub patterns: Vec<String>,
    pub seconds: u64,
    pub beat: Heartbeat,
    pub at: String,
    pub live: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub project: String,
    pub worktree: String,
    /// The name of the holder; absent: the caller.
    pub holder: Option<String>,
    pub patterns: Vec<String>,
    pub seconds: u64,
    pub moment: BootTime,
}

const MAX_PATTERNS: usize = 64;
const MAX_LIVE: usize = 256;
const MAX_SECONDS: u64 = 86_400;

impl Aggregate for Lease {
    subject!(Lease "lease", LeaseEvent, LeaseId);

    fn create(change: LeaseEvent<'_>, context: &Context<'_>) -> Option<Lease> {
        let LeaseEvent::LeaseTaken(new) = change else { return None };
        Some(Lease {
            number: new.number,
            project: new.project.clone(),
            worktree: new.worktree.clone(),
            holder: new.holder.clone(),
            brief: context.brief,
            patterns: new.patterns.clone(),
            seconds: new.seconds,
            beat: Heartbeat { boot: new.boot.clone(), at: new.boot_ms },
            at: context.at.to_owned(),
            live: true,
        })
    }

    fn evolve(&mut self, change: LeaseEvent<'_>, _: &Context<'_>) {
        match change {
            LeaseEvent::LeaseTaken(_) => {}
            LeaseEvent::LeaseReleased(_) => self.live = false,
        }
    }
}

impl Lease {
    pub fn is_over(&self, moment: &BootTime) -> bool {
        moment.is_over(&self.beat, self.seconds)
    }

    /// The first pair of patterns, one of this lease and one of `patterns`, that can match the same path.
    pub fn overlap<'a>(&'a self, patterns: &'a [Pattern]) -> Option<(&'a str, &'a Pattern)> {
        self.patterns.iter().find_map(|own| {
            let parsed = Pattern::parse(own).ok()?;
            patterns.iter().find(|other| parsed.overlaps(other)).map(|other| (own.as_str(), other))
        })
    }

    pub(crate) fn draft(&self, event: impl Into<Event>) -> Draft {
        Draft { stream: Stream::Lease(self.number), brief: self.brief, event: event.into() }
    }
}

pub(crate) fn take(world: &World, caller: &Caller, request: &Request) -> Result<Vec<Draft>, Refusal> {
    let live =
        world.worktrees.values().find(|w| w.is_live() && w.project == request.project && w.name == request.worktree);
    let Some(worktree) = live else {
        return Err(Refusal::NoWorktree { name: request.worktree.clone(), known: Vec::new() });
    };
    if !(1..=MAX_SECONDS).contains(&request.seconds) {
        return Err(Refusal::BadLease { seconds: request.seconds, most: MAX_SECONDS });
    }
    let count = request.patterns.len();
    if count > MAX_PATTERNS {
        return Err(Refusal::TooMany { what: "patterns", count, most: MAX_PATTERNS });
    }
    if count == 0 {
        return Err(Refusal::EmptyText { what: "pattern" });
    }
    let patterns = request.patterns.iter().map(|raw| Pattern::parse(raw)).collect::<Result<Vec<_>, _>>()?;
    let holder = match &request.holder {
        Some(name) => text::name("agent", name)?,
        None => caller.actor.name.clone(),
    };
    let here: Vec<&Lease> = world
        .leases
        .values()
        .filter(|l| l.live && l.project == request.project && l.worktree == request.worktree)
        .collect();
    let mut drafts = Vec::new();
    for lease in &here {
        if lease.is_over(&request.moment) {
            drafts.push(lease.draft(LeaseReleased { number: lease.number, why: "its time was over".into() }));
        } else if lease.holder == holder {
            // A repeated request replaces the holder's earlier lease on the same patterns.
            if lease.patterns == request.patterns {
                drafts.push(lease.draft(LeaseReleased { number: lease.number, why: "renewed".into() }));
            }
        } else if let Some((theirs, ours)) = lease.overlap(&patterns) {
            return Err(Refusal::LeaseTaken {
                pattern: ours.to_string(),
                holder: lease.holder.clone(),
                theirs: theirs.to_owned(),
                left: in_words(request.moment.left(&lease.beat, lease.seconds)),
            });
        }
    }
    if here.len() - drafts.len() >= MAX_LIVE {
        return Err(Refusal::TooMany { what: "leases", count: here.len() + 1, most: MAX_LIVE });
    }
    let number = world.last_lease.next();
    let taken = LeaseTaken {
        number,
        project: request.project.clone(),
        worktree: request.worktree.clone(),
        holder,
        patterns: patterns.iter().map(Pattern::to_string).collect(),
        seconds: request.seconds,
        boot: request.moment.boot.clone(),
        boot_ms: request.moment.now,
    };
    let brief = caller.brief.or(worktree.brief).filter(|number| world.briefs.contains_key(number));
    drafts.push(Draft { stream: Stream::Lease(number), brief, event: taken.into() });
    Ok(drafts)
}

/// Releases a lease, by hand or because its time is over.
pub(crate) fn release(
    world: &World,
    number: LeaseId,
    why: &str,
    moment: Option<&BootTime>,
) -> Result<Vec<Draft>, Refusal> {
    let lease = world.leases.get(&number).ok_or(Refusal::NoLease { number })?;
    let in_time = moment.is_some_and(|moment| !lease.is_over(moment));
    if !lease.live || in_time {
        return Ok(Vec::new());
    }
    Ok(vec![lease.draft(LeaseReleased { number, why: text::cut(why, 200) })])
}
