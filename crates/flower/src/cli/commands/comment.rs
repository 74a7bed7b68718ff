//! `flower comment`

use crate::cli::Context;
use crate::cli::input::text_or_stdin;
use crate::cli::output::{Style, ago, plain};
use crate::client::escape;
use flower_contract::error::Problem;
use flower_contract::request::NewComment;
use flower_contract::view::CommentView;
use flower_core::review::Side;

/// Say something about a line of a worktree's changes, to the agent that can mend it; without one, list what was said
///
/// It reaches the agent that has reserved the file, or else the one that leads the work, or else whoever comes into the
/// worktree next.
#[derive(clap::Args)]
pub(crate) struct CommentArgs {
    /// The worktree
    #[arg(value_name = "W", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    worktree: String,
    /// The file and the line, as `flower diff` shows them
    #[arg(value_name = "FILE:LINE", requires = "text")]
    place: Option<String>,
    /// `-` reads it from standard input
    text: Option<String>,
    /// The line as MAIN has it, for instance one that the worktree removes
    #[arg(long, requires = "place")]
    old: bool,
}

pub(crate) async fn run(context: &Context, args: CommentArgs) -> Result<(), Problem> {
    let address = format!("/api/worktrees/{}/comments?{}", escape(&args.worktree), context.project_query());
    let (Some(place), Some(text)) = (args.place, args.text) else {
        let all: Vec<CommentView> = context.client().await?.get(&address).await?;
        return context.answer(&all, |all| match all.is_empty() {
            true => format!("nothing was said about lines of `{}`\n", args.worktree),
            false => all.iter().map(|comment| shown(comment, context.style)).collect(),
        });
    };
    let wrong = || Problem::usage(format!("`{place}` names no line"), "say FILE:LINE, for instance src/main.rs:12");
    let (file, line) = place.rsplit_once(':').ok_or_else(wrong)?;
    let line = line.parse().map_err(|_| wrong())?;
    let side = args.old.then_some(Side::Old);
    let body = NewComment { file: file.to_owned(), line, side, text: text_or_stdin(&text)?, quote: None };
    let said: CommentView = context.client().await?.post(&address, &body).await?;
    context.answer(&said, |said| match &said.to {
        Some(agent) => format!("told {}\n", plain(agent)),
        None => format!("nobody works in `{}` now; whoever comes next reads it first\n", args.worktree),
    })
}

fn shown(comment: &CommentView, style: Style) -> String {
    let to = match (&comment.to, comment.heard_by.is_empty()) {
        (_, false) => format!("read by {}", comment.heard_by.join(", ")),
        (Some(agent), true) => format!("sent to {agent}"),
        (None, true) => "waits for the next agent".to_owned(),
    };
    let said = &comment.remark;
    let side = if said.side == Side::Old { " (as MAIN has it)" } else { "" };
    let place = format!("{}:{}{side}", plain(&said.file), said.line);
    let by = format!("{} · {} · {}", plain(&comment.by), ago(&comment.at, jiff::Timestamp::now()), plain(&to));
    let text = plain(said.text.trim()).replace('\n', "\n  ");
    format!("{}  {}\n  {}\n  {text}\n", style.bold(&place), style.dim(&by), style.dim(&plain(said.quote.trim())))
}
