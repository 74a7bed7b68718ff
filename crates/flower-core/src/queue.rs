//! The policy of the merge queue, as a pure function: which landings to start now, and the position of every other
//! landing with its reason.
//!
//! Landings run one after the other. Batches and speculative merges can later return more than one landing to start.

use crate::brief::{Brief, Status};
use crate::ids::{BriefId, LandingId};
use crate::landing::{Landing, State};
use crate::main_branch::{Alarm, Main};
use std::collections::{BTreeMap, BTreeSet};

/// The position of a landing in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueStatus {
    Running,
    Next,
    /// `ahead` landings go before it.
    Behind {
        ahead: usize,
        next: LandingId,
    },
    NeedsBrief {
        brief: BriefId,
        status: Status,
    },
    /// It needs a brief whose landing is in the queue.
    NeedsLanding {
        number: LandingId,
    },
    Approval {
        why: String,
    },
    Frozen {
        why: String,
    },
    Alarm {
        what: Alarm,
        text: String,
    },
}

impl QueueStatus {
    pub fn in_words(&self) -> String {
        match self {
            QueueStatus::Running => "its checks are running".to_owned(),
            QueueStatus::Next => "it is next".to_owned(),
            QueueStatus::Behind { ahead: 1, next } => format!("landing {next} goes before it"),
            QueueStatus::Behind { ahead, next } => format!("{ahead} go before it, landing {next} first"),
            QueueStatus::NeedsBrief { brief, status } => {
                format!("it needs brief {brief}, which is {status} and not in the queue")
            }
            QueueStatus::NeedsLanding { number } => format!("it needs landing {number}, which has not landed yet"),
            QueueStatus::Approval { why } => format!("it waits for the operator: {why}"),
            QueueStatus::Frozen { why } => format!("the queue is frozen: {why}; `flower thaw`"),
            QueueStatus::Alarm { what, text } => format!("landings wait, because {text}; {}", what.way_out()),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub start: Vec<LandingId>,
    /// Every open landing, in the order in which they will land.
    pub order: Vec<(LandingId, QueueStatus)>,
}

/// `open` are the landings of one project that have not ended; `briefs` are the briefs that they name and the
/// dependencies of those.
pub fn plan(main: Option<&Main>, open: &[Landing], briefs: &BTreeMap<BriefId, Brief>, slots: usize) -> Plan {
    let ordered = order(open, briefs);
    let running = open.iter().filter(|landing| landing.state == State::Checking).count();
    let mut free = slots.saturating_sub(running);
    let mut plan = Plan::default();
    let mut ahead: Vec<LandingId> = Vec::new();
    let by_brief = by_brief(open);
    for landing in ordered {
        let status = if landing.state == State::Checking {
            QueueStatus::Running
        } else if landing.state == State::Approval {
            QueueStatus::Approval { why: landing.reason.clone().unwrap_or_default() }
        } else if let Some(status) = missing(landing, briefs, &by_brief) {
            status
        // Adopting commits is how the operator ends an alarm, so it must not wait for the end of the alarm.
        } else if let Some(alarm) =
            main.and_then(|m| m.alarm.as_ref()).filter(|_| landing.source != crate::landing::Source::Adopted)
        {
            QueueStatus::Alarm { what: alarm.what, text: alarm.text.clone() }
        } else if let Some(why) = main.and_then(|main| main.frozen.clone()) {
            QueueStatus::Frozen { why }
        } else if let Some(&next) = ahead.first() {
            QueueStatus::Behind { ahead: ahead.len(), next }
        } else if free == 0 {
            QueueStatus::Next
        } else {
            free -= 1;
            plan.start.push(landing.number);
            QueueStatus::Next
        };
        if matches!(status, QueueStatus::Running | QueueStatus::Next | QueueStatus::Behind { .. }) {
            ahead.push(landing.number);
        }
        plan.order.push((landing.number, status));
    }
    plan
}

type ByBrief = BTreeMap<BriefId, BTreeSet<LandingId>>;

/// The landings of each brief.
fn by_brief(open: &[Landing]) -> ByBrief {
    let mut all = ByBrief::new();
    for landing in open {
        for &brief in &landing.briefs {
            all.entry(brief).or_default().insert(landing.number);
        }
    }
    all
}

/// The first unmet dependency of a landing.
fn missing(landing: &Landing, briefs: &BTreeMap<BriefId, Brief>, by_brief: &ByBrief) -> Option<QueueStatus> {
    let unmet = needs(landing, briefs).filter_map(|needs| briefs.get(&needs)).find(|brief| !brief.status.is_met())?;
    match by_brief.get(&unmet.number).and_then(BTreeSet::first) {
        Some(&number) => Some(QueueStatus::NeedsLanding { number }),
        None => Some(QueueStatus::NeedsBrief { brief: unmet.number, status: unmet.status }),
    }
}

fn needs<'a>(landing: &'a Landing, briefs: &'a BTreeMap<BriefId, Brief>) -> impl Iterator<Item = BriefId> + 'a {
    let own = landing.briefs.iter().filter_map(|number| briefs.get(number));
    own.flat_map(|brief| brief.depends_on.iter().copied()).filter(|needs| !landing.briefs.contains(needs))
}

/// Orders landings by priority and age, but each after the landings that it needs.
fn order<'a>(open: &'a [Landing], briefs: &BTreeMap<BriefId, Brief>) -> Vec<&'a Landing> {
    let by_brief = by_brief(open);
    let mut waits: BTreeMap<LandingId, BTreeSet<LandingId>> = BTreeMap::new();
    for landing in open {
        let needed = needs(landing, briefs).filter_map(|brief| by_brief.get(&brief)).flatten().copied();
        waits.insert(landing.number, needed.filter(|&number| number != landing.number).collect());
    }
    // A landing whose checks run was chosen first earlier, so it stays first.
    let rank = |landing: &Landing| (landing.state != State::Checking, landing.priority, landing.number);
    let mut left: BTreeMap<_, &Landing> = open.iter().map(|landing| (rank(landing), landing)).collect();
    let mut placed = BTreeSet::new();
    let mut ordered = Vec::new();
    while let Some((&first, _)) = left.first_key_value() {
        let free = left.iter().find(|(_, landing)| waits[&landing.number].is_subset(&placed)).map(|(&key, _)| key);
        // Dependencies of briefs have no cycles. If they had, age would decide.
        if let Some(landing) = left.remove(&free.unwrap_or(first)) {
            placed.insert(landing.number);
            ordered.push(landing);
        }
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::{Aggregate, Context};
    use crate::event::{BriefCreated, Event, LandingEvent, LandingHeld, LandingQueued};
    use crate::landing::{Priority, Source};
    use crate::main_branch::{Alarm, Raised};

    const NOW: Context<'_> = Context { brief: None, at: "now", by: "me" };

    fn landing(number: u64, brief: Option<BriefId>, priority: Priority) -> Landing {
        let queued = LandingQueued {
            number: LandingId(number),
            project: "web".into(),
            source: Source::Worktree,
            worktree: None,
            worktree_number: None,
            commit: number.to_string(),
            title: "t".into(),
            briefs: brief.into_iter().collect(),
            priority,
            of: None,
            why: None,
            fix: false,
        };
        Landing::create(LandingEvent::LandingQueued(&queued), &NOW).unwrap()
    }

    fn brief(number: u64, needs: &[BriefId]) -> (BriefId, Brief) {
        let created = Event::from(BriefCreated {
            number: BriefId(number),
            title: "t".into(),
            kind: crate::BriefKind::Feature,
            projects: vec![],
            epic: None,
            depends_on: needs.to_vec(),
            auto_dispatch: false,
            design_loop: false,
        });
        (BriefId(number), Brief::created(&created, "now").unwrap())
    }

    fn main() -> Main {
        Main {
            branch: "main".into(),
            tip: "a".into(),
            began: "a".into(),
            frozen: None,
            halted: false,
            alarm: None,
            push: None,
            put_back: None,
            since: "now".into(),
        }
    }

    fn numbers(plan: &Plan) -> Vec<LandingId> {
        plan.order.iter().map(|(number, _)| *number).collect()
    }

    #[test]
    fn priority_before_age_and_needs_before_both() {
        use Priority::*;
        let briefs = BTreeMap::from([brief(1, &[BriefId(2)]), brief(2, &[]), brief(3, &[])]);
        let open = [
            landing(1, Some(BriefId(1)), High),
            landing(2, Some(BriefId(2)), Low),
            landing(3, None, Normal),
            landing(4, None, High),
        ];
        let plan = plan(Some(&main()), &open, &briefs, 1);
        assert_eq!(numbers(&plan), [4, 3, 2, 1].map(LandingId));
        assert_eq!(plan.start, [LandingId(4)]);
        assert_eq!(plan.order[1].1, QueueStatus::Behind { ahead: 1, next: LandingId(4) });
        assert_eq!(plan.order[3].1, QueueStatus::NeedsLanding { number: LandingId(2) });
    }

    #[test]
    fn a_blocked_landing_lets_the_others_pass() {
        let briefs = BTreeMap::from([brief(1, &[BriefId(2)]), brief(2, &[])]);
        let mut held = landing(2, None, Priority::High);
        let why =
            LandingHeld { number: LandingId(2), why: vec!["it changes CI".into()], paths: vec![], reasons: vec![] };
        held.evolve(LandingEvent::LandingHeld(&why), &NOW);
        let open = [landing(1, Some(BriefId(1)), Priority::High), held, landing(3, None, Priority::Low)];
        let plan = plan(Some(&main()), &open, &briefs, 1);
        assert_eq!(plan.start, [LandingId(3)]);
        assert_eq!(plan.order[0].1, QueueStatus::NeedsBrief { brief: BriefId(2), status: Status::Draft });
        assert_eq!(plan.order[1].1, QueueStatus::Approval { why: "it changes CI".into() });
    }

    #[test]
    fn one_at_a_time_and_none_while_frozen_or_alarmed() {
        let mut checking = landing(5, None, Priority::Low);
        checking.state = State::Checking;
        let open = [landing(1, None, Priority::High), checking];
        assert_eq!(plan(Some(&main()), &open, &BTreeMap::new(), 1).start, []);
        assert_eq!(numbers(&plan(Some(&main()), &open, &BTreeMap::new(), 1)), [5, 1].map(LandingId));
        let frozen = Main { frozen: Some("release".into()), ..main() };
        let open = [landing(1, None, Priority::High)];
        assert_eq!(plan(Some(&frozen), &open, &BTreeMap::new(), 1).start, []);
        let raised =
            Raised { what: Alarm::Moved, found: None, text: "it moved".into(), files: vec![], at: "now".into() };
        let alarmed = Main { alarm: Some(raised), ..main() };
        assert_eq!(plan(Some(&alarmed), &open, &BTreeMap::new(), 1).start, []);
        let adopting = [Landing { source: Source::Adopted, ..landing(2, None, Priority::High) }];
        assert_eq!(plan(Some(&alarmed), &adopting, &BTreeMap::new(), 1).start, [LandingId(2)]);
    }
}
