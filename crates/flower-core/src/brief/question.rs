//! `brief ask` and `brief answer`: a question waits in the inbox until it is answered, once.

use super::Brief;
use crate::event::{DecisionMade, Draft, QuestionAsked};
use crate::refusal::Refusal;
use crate::text;

/// Maximum open questions of a brief. It is enough for a person, and stops an agent that asks in a loop.
const MAX_OPEN: usize = 50;

pub(crate) fn ask(brief: &Brief, text: &str, help: bool) -> Result<Vec<Draft>, Refusal> {
    let text = text::markdown("question", text, text::NOTE_BYTES)?;
    if brief.open_questions.len() >= MAX_OPEN {
        return Err(Refusal::TooMany { what: "open questions", count: MAX_OPEN + 1, most: MAX_OPEN });
    }
    Ok(vec![Draft::brief(brief.number, QuestionAsked { question: brief.questions + 1, text, help })])
}

pub(crate) fn answer(brief: &Brief, question: u64, text: &str) -> Result<Vec<Draft>, Refusal> {
    if question == 0 || question > brief.questions {
        return Err(Refusal::NoQuestion { brief: brief.number, question });
    }
    if !brief.open_questions.contains(&question) {
        return Err(Refusal::Answered { brief: brief.number, question });
    }
    let text = text::markdown("answer", text, text::NOTE_BYTES)?;
    Ok(vec![Draft::brief(brief.number, DecisionMade { question, text })])
}
