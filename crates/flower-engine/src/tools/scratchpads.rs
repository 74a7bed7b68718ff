//! Scratchpads, as agents write them.

use super::arguments::WriteScratchpad;
use super::text;
use crate::Tools;
use flower_contract::error::Problem;
use flower_contract::view::ToolAnswer;
use flower_core::Caller;

pub(super) async fn write(app: &Tools, caller: &Caller, given: WriteScratchpad) -> Result<ToolAnswer, Problem> {
    let pad = match (given.number, given.title) {
        (Some(number), None) => {
            app.briefs.write_scratchpad(caller, number, given.text, given.append, given.base).await?
        }
        // A worker's own brief is the one that it means.
        (None, Some(title)) => {
            let brief = given.brief.or(caller.brief);
            app.briefs.create_scratchpad(caller, title, brief, Some(given.text)).await?
        }
        _ => {
            return Err(Problem::usage(
                "it is not clear which scratchpad is meant",
                "give `number` to write one that exists, or `title` to make one",
            ));
        }
    };
    let (number, version) = (pad.number, pad.version);
    Ok(text(format!(
        "Scratchpad {number} is at version {version}, {} bytes.\n\
         Next: to add to it, `write_scratchpad` with `number`: {number} and `append`: true; to replace it, with `base`: {version}.",
        pad.text.len()
    )))
}
