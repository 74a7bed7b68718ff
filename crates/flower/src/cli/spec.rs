//! The text of a spec: from a file, from an option, or from the operator's editor.

use super::{Context, editor, input};
use flower_contract::error::Problem;

/// Where the text of a spec comes from.
#[derive(clap::Args)]
pub struct SpecArgs {
    /// The text in Markdown: a file, or `-` for standard input; on a terminal, your editor opens by default
    #[arg(long, value_name = "FILE")]
    spec: Option<String>,
    /// The text itself
    #[arg(long, short, value_name = "TEXT", conflicts_with = "spec")]
    message: Option<String>,
}

impl SpecArgs {
    /// The text that was given, if any.
    pub fn given(&self) -> Result<Option<String>, Problem> {
        match (&self.spec, &self.message) {
            (Some(file), _) => input::text(file).map(Some),
            (None, message) => Ok(message.clone()),
        }
    }
}

/// Opens `initial` in the operator's editor. Fails without a terminal, or if the text is empty.
pub fn edit(context: &Context, initial: &str) -> Result<String, Problem> {
    if !context.can_ask() {
        return Err(Problem::usage(
            "the text of the spec is missing",
            "give a file with `--spec FILE`, standard input with `--spec -`, or the text with `-m TEXT`",
        ));
    }
    let text = editor::edit(&context.home, initial, "md")?;
    if text.trim().is_empty() {
        return Err(Problem::usage("the text is empty, so nothing was stored", "write something, and save it"));
    }
    Ok(text)
}
