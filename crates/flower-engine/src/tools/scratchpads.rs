//! The tool with which agents write scratchpads.

use super::arguments::WriteScratchpad;
use super::text;
use crate::Tools;
use flower_contract::error::Problem;
use flower_contract::view::ToolAnswer;
use flower_core::{BriefId, Caller, ScratchpadId};

pub(super) async fn write(tools: &Tools, caller: &Caller, arguments: WriteScratchpad) -> Result<ToolAnswer, Problem> {
    let pad = match (arguments.number, arguments.title) {
        (Some(number), None) => {
            tools
                .briefs
                .write_scratchpad(caller, ScratchpadId(number), arguments.text, arguments.append, arguments.base)
                .await?
        }
        // Without a brief, a worker's scratchpad belongs to its own brief.
        (None, Some(title)) => {
            let brief = arguments.brief.map(BriefId).or(caller.brief);
            tools.briefs.create_scratchpad(caller, title, brief, Some(arguments.text)).await?
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
