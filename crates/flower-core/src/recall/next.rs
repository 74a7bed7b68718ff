//! The next steps, derived from the state of the brief and its run.

use super::quote::{NAME_BYTES, inline};
use super::{Recall, Run, RunState};
use crate::actor::ActorType;
use crate::brief::{BriefKind, Status};
use crate::readiness::DispatchKind;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub text: String,
    /// Whether the step is included even if there is room for nothing else.
    pub vital: bool,
}

pub fn next(input: &Recall) -> Vec<Step> {
    steps(input, NAME_BYTES)
}

/// The next steps, with names cut to `width` bytes.
pub(super) fn steps(input: &Recall, width: usize) -> Vec<Step> {
    let number = input.brief.number;
    let live = input.run.as_ref().filter(|run| run.state.is_live());
    let mut steps = Steps::default();
    if input.unread > 0 {
        let messages = if input.unread == 1 { "message waits" } else { "messages wait" };
        steps.add(format!("{} {messages} for you: {}.", input.unread, input.calls.inbox()));
    }
    match (input.brief.status, live) {
        (Status::Cancelled, Some(run)) => {
            steps.vital(format!("Brief {number} is `cancelled`: stop, and commit what is worth keeping."));
            steps.vital(hand_back(input, run, width));
        }
        (status, _) if status.is_closed() => steps.vital(format!(
            "Brief {number} is `{status}`: there is nothing to do. What is still missing belongs into a new brief: \
             {}.",
            input.calls.create_brief()
        )),
        (Status::Parked, _) => steps.vital(format!(
            "Brief {number} is `parked`: commit what you have, and stop until the operator takes it up again."
        )),
        (_, Some(run)) => working(&mut steps, input, run, width),
        (_, None) => waiting(&mut steps, input),
    }
    steps.0
}

#[derive(Default)]
struct Steps(Vec<Step>);

impl Steps {
    fn add(&mut self, text: impl Into<String>) {
        self.0.push(Step { text: text.into(), vital: false });
    }

    fn vital(&mut self, text: impl Into<String>) {
        self.0.push(Step { text: text.into(), vital: true });
    }
}

/// Steps for a brief whose dispatch has no holder.
fn waiting(steps: &mut Steps, input: &Recall) {
    let number = input.brief.number;
    match input.run.as_ref().map(|run| (run.state, run.dispatch)) {
        Some((RunState::Requested, dispatch)) => {
            return steps.vital(format!("Dispatch {dispatch} waits for a claim: {}.", input.calls.start(dispatch)));
        }
        Some((RunState::HandedBack, dispatch)) => {
            return steps.vital(format!(
                "Dispatch {dispatch} is handed back: there is nothing to do until it lands, is accepted or comes back."
            ));
        }
        _ => {}
    }
    let open = input.needs.iter().find(|needed| !needed.status.is_met());
    match (input.brief.status, &input.spec, open) {
        (Status::InReview, ..) => {
            steps.vital("Its result is in review: there is nothing to do until it lands, is accepted or comes back.");
        }
        (Status::Draft, None, _) => steps.vital(format!(
            "There is no plan yet: {}. The operator asks for one with `flower dispatch {number} --kind design`.",
            input.calls.propose_plan(number)
        )),
        (Status::Draft, Some(spec), _) => {
            steps.vital("The plan waits until it is accepted; nothing is built before.");
            steps.add(format!("What you know better: {}.", input.calls.refine(number, spec.newest)));
        }
        (_, _, Some(needed)) => steps.vital(format!(
            "It needs brief {}, which is `{}`: nothing is built before that is in MAIN. {} finds what is ready.",
            needed.number,
            needed.status,
            input.calls.find_ready()
        )),
        _ if input.brief.kind == BriefKind::Epic => {
            steps.vital(format!(
                "An epic is built through its children: {} finds one that is ready.",
                input.calls.find_ready()
            ));
        }
        _ => steps.vital(format!(
            "No agent works on it now. The operator gives it to an agent with `flower dispatch {number}`; the packet says how to \
             begin."
        )),
    }
}

/// Steps for the holder of a dispatch.
fn working(steps: &mut Steps, input: &Recall, run: &Run, width: usize) {
    let number = input.brief.number;
    if let Some((from, to)) = input.moved() {
        let holds = match input.spec.as_ref() {
            Some(spec) if spec.accepted == Some(to) => "",
            Some(spec) if spec.version != to => " The newest one is not accepted, so the accepted one below holds.",
            _ => " It is not accepted yet.",
        };
        steps.vital(format!(
            "The spec moved from version {from} to {to} since this run was dispatched: read what changed before you go \
             on.{holds}"
        ));
    }
    if run.kind == DispatchKind::Fix {
        let place = if run.evidence.is_some() { "evidence of this run" } else { "trace" };
        steps.vital(format!("This is a fix: read the {place} first, and mend what it shows before anything else."));
    }
    if let Some(question) = own_question(input, run) {
        steps.add(format!(
            "Your question {question} is open: go on with what does not depend on it; {} has the answer.",
            input.calls.inbox()
        ));
    }
    work(steps, input, run, width);
    steps.add(format!(
        "What only the operator can decide: {}; then go on with what does not depend on it.",
        input.calls.ask(number)
    ));
    if let Some(main) = input.main.as_ref().filter(|main| main.state != "stable") {
        let state = inline(&main.state, width.min(24));
        steps.add(format!("MAIN is {state}: go on; what you hand back lands once MAIN is stable."));
    }
    if matches!(run.kind, DispatchKind::Build | DispatchKind::Fix) {
        let checks = if input.checks.is_empty() { "" } else { " and runs the checks" };
        steps.add(format!(
            "When it is committed: {} merges it with MAIN{checks}, as the landing will.",
            input.calls.check_work()
        ));
    }
    steps.vital(hand_back(input, run, width));
}

/// Steps of the work itself, by kind of dispatch.
fn work(steps: &mut Steps, input: &Recall, run: &Run, width: usize) {
    let number = input.brief.number;
    let place = match &input.place {
        Some(place) => format!("worktree {}", inline(&place.worktree, width)),
        None => "the worktree".to_owned(),
    };
    match run.kind {
        DispatchKind::Design => {
            steps.add("Read the code and what is said below; change no files.");
            steps.vital(match &input.spec {
                Some(spec) if input.brief.status != Status::Draft => {
                    format!("Refine the plan: {}.", input.calls.refine(number, spec.newest))
                }
                _ => format!("Write the plan: {}.", input.calls.propose_plan(number)),
            });
        }
        DispatchKind::Build | DispatchKind::Fix => {
            if !input.is_alone() {
                steps.add(format!("Reserve what you will edit: {}.", input.calls.reserve()));
            }
            steps.add(format!("Do what the spec says in {place}, and commit there in small steps."));
        }
        DispatchKind::Review => steps.add(format!(
            "Read what {place} changes against MAIN; change no files. Each finding: {}.",
            input.calls.comment(number)
        )),
        DispatchKind::Research => steps
            .add(format!("Find out what the spec asks for. Keep what you learn: {}.", input.calls.scratchpad(number))),
        DispatchKind::Ops => {
            steps.add(format!("Do what the spec says, and write each step down: {}.", input.calls.note(number)));
        }
    }
}

fn hand_back(input: &Recall, run: &Run, width: usize) -> String {
    let holder = run.holder.as_ref().map(|holder| format!(" Only {}, who holds it, does that.", inline(holder, width)));
    format!("When it is done: {}.{}", input.calls.hand_back(run), holder.unwrap_or_default())
}

fn own_question(input: &Recall, run: &Run) -> Option<u64> {
    let holder = run.holder.as_deref()?;
    let own = |by: &crate::Actor| by.sort == ActorType::Agent && by.name == holder;
    input.questions.iter().find(|q| q.answer.is_none() && own(&q.asked.origin.by)).map(|q| q.number)
}
