//! The prompts that flower sends to agents.

use flower_core::recall::Calls;
use flower_core::{Agent, Dispatch};

/// Hand-over notes are shorter.
const MAX_QUOTED_BYTES: usize = 64 << 10;

/// The first line of a prompt, which programs can parse.
fn title(agent: &Agent, dispatch: &Dispatch) -> String {
    let role = if agent.member == 0 { "lead" } else { "member" };
    format!(
        "flower: agent={} dispatch={} kind={} role={role} member={} brief={} fence={}",
        agent.name, dispatch.number, dispatch.kind, agent.member, dispatch.brief, dispatch.fence
    )
}

/// The first prompt of a session.
pub(super) fn first(agent: &Agent, dispatch: &Dispatch, calls: Calls, recalled: &str) -> String {
    let Dispatch { number, brief, .. } = dispatch;
    let task = match agent.member {
        0 => format!(
            "You are `{}`. Dispatch {number} is claimed for you: do the work of brief {brief}, which stands below. {}",
            agent.name,
            end(dispatch, calls)
        ),
        _ => format!(
            "You are `{}` and work beside the agent that leads dispatch {number}, in the same worktree, on brief {brief}, which \
             stands below. Agree with it on who does what ({}), reserve what you change, commit your part, and {}. The lead \
             hands back.",
            agent.name,
            match calls {
                Calls::Tools => "`send_message`, `check_inbox`",
                Calls::Shell => "`flower agent tell`, `flower inbox`",
            },
            match calls {
                Calls::Tools => "end your turn",
                Calls::Shell => "end with exit code 0",
            }
        ),
    };
    let answers = match calls {
        Calls::Tools => "If nothing is left that does not depend on an answer, end your turn: you are told the answer.",
        Calls::Shell => "`flower inbox` has answers and messages.",
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
fn end(dispatch: &Dispatch, calls: Calls) -> String {
    let Dispatch { number, fence, .. } = dispatch;
    match calls {
        Calls::Tools => format!(
            "When it is done and committed, call the tool `hand_back` with `dispatch: {number}`, `fence: {fence}` and a summary. If \
             it cannot be done, say so with `hand_back` and `failed: true`."
        ),
        Calls::Shell => format!(
            "flower's commands are in your PATH, with your identity. When it is done and committed, run `flower handback {number} \
             --fence {fence} --summary TEXT`, or end with exit code 0. If it cannot be done, add `--failed`, or end with another \
             exit code."
        ),
    }
}

/// For a standing agent without work.
pub(super) fn greeting(agent: &Agent) -> String {
    format!(
        "flower: agent={} worktree={}\n\nYou are `{}`. There is no work yet; you will be told.",
        agent.name, agent.worktree, agent.name
    )
}

/// After a restart in a resumed session.
pub(super) fn resumed(agent: &Agent, dispatch: &Dispatch) -> String {
    format!(
        "{}\n\nYou were interrupted and are back in the same session. Look at what is in the worktree, go on with brief {}, \
         and end with `hand_back`.",
        title(agent, dispatch),
        dispatch.brief
    )
}

/// After a turn that ended without a hand-back.
pub(super) fn nudge(dispatch: &Dispatch) -> String {
    let Dispatch { number, fence, .. } = dispatch;
    format!(
        "Your turn ended, and dispatch {number} is not handed back. Go on with it. If it is done, commit and call `hand_back` \
         with `dispatch: {number}` and `fence: {fence}`; if it cannot be done, with `failed: true`; if you need an answer, ask \
         with `add_note` and `kind: question`."
    )
}

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
