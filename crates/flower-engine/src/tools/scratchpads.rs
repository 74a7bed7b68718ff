//! Scratchpads, as agents write them.

use super::arguments::WriteScratchpad;
use super::text;
use crate::App;
use flower_contract::error::Problem;
use flower_contract::view::ToolAnswer;
use flower_core::{Caller, Command};

pub(super) async fn write(app: &App, caller: &Caller, given: WriteScratchpad) -> Result<ToolAnswer, Problem> {
    let command = match (given.number, given.title) {
        (Some(number), None) => {
            Command::WriteScratchpad { number, text: given.text, append: given.append, base: given.base }
        }
        // A worker's own brief is the one that it means.
        (None, Some(title)) => {
            let brief = given.brief.or(caller.brief);
            Command::CreateScratchpad { title, brief, text: Some(given.text) }
        }
        _ => {
            return Err(Problem::usage(
                "it is not clear which scratchpad is meant",
                "give `number` to write one that exists, or `title` to make one",
            ));
        }
    };
    let events = app.submit(caller, command).await?;
    let number = events.iter().find_map(|event| event.stream.strip_prefix("scratchpad/")?.parse().ok());
    let pad = app.scratchpad(number.ok_or_else(|| Problem::bug("a scratchpad without a number"))?).await?;
    let (number, version) = (pad.number, pad.version);
    Ok(text(format!(
        "Scratchpad {number} is at version {version}, {} bytes.\n\
         Next: to add to it, `write_scratchpad` with `number`: {number} and `append`: true; to replace it, with `base`: {version}.",
        pad.text.len()
    )))
}
