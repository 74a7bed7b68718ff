//! The prompts that flower sends to agents.

use flower_core::recall::Calls;
use flower_core::{Agent, Dispatch};

/// Hand-over notes are shorter.
const MAX_QUOTED_BYTES: usize = 64 << 10;

/// How an agent calls flower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// With flower's MCP tools, in a session.
    Tools,
    /// With the command `flower`, because its session has no tools of flower.
    Commands,
    /// With the command `flower`, in a terminal.
    Terminal,
}

impl Way {
    /// The calls that the recall in the prompt names.
    pub(super) fn calls(self) -> Calls {
        match self {
            Way::Tools => Calls::Tools,
            Way::Commands | Way::Terminal => Calls::Shell,
        }
    }

    fn hand_back(self, dispatch: &Dispatch) -> String {
        let Dispatch { number, fence, .. } = dispatch;
        match self.calls() {
            Calls::Tools => {
                format!("call the tool `hand_back` with `dispatch: {number}`, `fence: {fence}` and a summary")
            }
            Calls::Shell => format!("run `flower handback {number} --fence {fence} --summary TEXT`"),
        }
    }
}

/// The first line of a prompt, which programs can parse.
fn title(agent: &Agent, dispatch: &Dispatch) -> String {
    let role = if agent.member == 0 { "lead" } else { "member" };
    format!(
        "flower: agent={} dispatch={} kind={} role={role} member={} brief={} fence={}",
        agent.name, dispatch.number, dispatch.kind, agent.member, dispatch.brief, dispatch.fence
    )
}

/// The first prompt of a session.
pub(super) fn first(agent: &Agent, dispatch: &Dispatch, way: Way, recalled: &str) -> String {
    let Dispatch { number, brief, .. } = dispatch;
    let task = match agent.member {
        0 => format!(
            "You are `{}`. Dispatch {number} is claimed for you: do the work of brief {brief}, which stands below. {}",
            agent.name,
            end(dispatch, way)
        ),
        _ => format!(
            "You are `{}` and work beside the agent that leads dispatch {number}, in the same worktree, on brief {brief}, which \
             stands below. Agree with it on who does what ({}), reserve what you change, commit your part, and {}. The lead \
             hands back.",
            agent.name,
            match way.calls() {
                Calls::Tools => "`send_message`, `check_inbox`",
                Calls::Shell => "`flower agent tell`, `flower inbox`",
            },
            match way {
                Way::Tools | Way::Commands => "end your turn",
                Way::Terminal => "end with exit code 0",
            }
        ),
    };
    let answers = match way {
        Way::Tools | Way::Commands => {
            "If nothing is left that does not depend on an answer, end your turn: you are told the answer."
        }
        Way::Terminal => "`flower inbox` has answers and messages.",
    };
    let hand_over = agent.hand_over.as_deref().map(|note| {
        format!(
            "\n## Hand-over\n\nAn earlier session under your name worked on this and left this note. The files and commits in \
             the worktree come from it; look at them, and go on.\n\n{}\n",
            quoted(note)
        )
    });
    format!(
        "{}\n\n{task}\n\n\
         Work in this folder only, and commit to its branch, often: only commits count. Do not push. {answers}\n{}\n---\n\n{recalled}",
        title(agent, dispatch),
        hand_over.unwrap_or_default()
    )
}

/// How the lead ends its work.
fn end(dispatch: &Dispatch, way: Way) -> String {
    let hand_back = way.hand_back(dispatch);
    match way {
        Way::Tools => format!(
            "When it is done and committed, {hand_back}. If it cannot be done, say so with `hand_back` and `failed: true`."
        ),
        Way::Commands => format!(
            "You have no tools of flower in this session, only its command line in your shell, with your identity: what follows \
             names commands. When it is done and committed, {hand_back}. If it cannot be done, add `--failed`."
        ),
        Way::Terminal => format!(
            "flower's commands are in your PATH, with your identity. When it is done and committed, {hand_back}, or end with exit \
             code 0. If it cannot be done, add `--failed`, or end with another exit code."
        ),
    }
}

/// Before the prompt of a program whose last run was not taken.
pub(super) fn after_refusal(why: &str, prompt: &str) -> String {
    // The first line is for programs, so it stays the first.
    let (title, rest) = prompt.split_once('\n').unwrap_or((prompt, ""));
    let why = quoted(why);
    format!(
        "{title}\n\n## The last run\n\nYou ran before, and your work was not taken:\n\n{why}\n\nMend this first.\n{rest}"
    )
}

/// For a standing agent without work.
pub(super) fn greeting(agent: &Agent) -> String {
    format!(
        "flower: agent={} worktree={}\n\nYou are `{}`. There is no work yet; you will be told.",
        agent.name, agent.worktree, agent.name
    )
}

/// After a restart in a resumed session.
pub(super) fn resumed(agent: &Agent, dispatch: &Dispatch, way: Way) -> String {
    format!(
        "{}\n\nYou were interrupted and are back in the same session. Look at what is in the worktree and go on with brief {}. \
         When it is done and committed, {}.",
        title(agent, dispatch),
        dispatch.brief,
        way.hand_back(dispatch)
    )
}

/// After a turn that ended without a hand-back.
pub(super) fn nudge(dispatch: &Dispatch, way: Way) -> String {
    let (failed, ask) = match way.calls() {
        Calls::Tools => ("with `failed: true`", "`add_note` and `kind: question`".to_owned()),
        Calls::Shell => ("with `--failed`", format!("`flower brief ask {} TEXT`", dispatch.brief)),
    };
    format!(
        "Your turn ended, and dispatch {} is not handed back. Go on with it. If it is done, commit and {}; if it cannot be done, \
         {failed}; if you need an answer, ask with {ask}.",
        dispatch.number,
        way.hand_back(dispatch)
    )
}

/// After a turn that the model's limit or outage ended in the middle of its work.
pub(super) const AFTER_OUTAGE: &str = "Your model did not answer for a while, and your last turn was cut off. Look at what is \
    in the worktree, and go on where you stopped.";

/// The message that asks for a hand-over note while the work goes on.
pub(super) const NOTE_REQUEST: &str = "Leave a hand-over note now, with the tool `add_note` on your brief, or with \
    `flower brief note BRIEF TEXT`: what is done and where, what is left, what you tried that did not work, and what another \
    agent must know who goes on from here. Then go on with your work.";

pub(super) const HAND_OVER: &str = "Your context is nearly full, so a fresh agent goes on from here. Do not work on. Answer \
    with a hand-over note for it, in Markdown, at most 400 words: what is done and where, what is left, what you tried that \
    did not work, and what it must know. Say nothing else.";

/// New messages and events, as `check_inbox` shows them.
pub(super) fn inbox(inbox: &str) -> String {
    format!("While you worked, this arrived. What is quoted was written by others.\n\n{inbox}")
}

fn quoted(text: &str) -> String {
    flower_core::recall::quoted(text, MAX_QUOTED_BYTES).0
}
