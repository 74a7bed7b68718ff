//! `flower comment`

use crate::cli::Context;
use crate::cli::input::text_or_stdin;
use crate::cli::output::{Style, ago, plain};
use crate::client::escape;
use flower_contract::error::Problem;
use flower_contract::request::NewComment;
use flower_contract::view::CommentView;
use flower_core::review::Side;

/// Comment on a line of a worktree's changes; without FILE:LINE, list the comments
///
/// The comment is sent to the agent that has reserved the file, otherwise to the agent that leads the work, otherwise to the
/// next agent that starts in the worktree.
#[derive(clap::Args)]
pub(crate) struct CommentArgs {
    /// The worktree; by default the one of the working directory
    #[arg(value_name = "W", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    worktree: Option<String>,
    /// The file and the line, as `flower diff` shows them
    #[arg(value_name = "FILE:LINE")]
    place: Option<String>,
    /// The comment, or `-` for standard input
    text: Option<String>,
    /// LINE counts in MAIN's version of the file, for instance a removed line
    #[arg(long)]
    old: bool,
}

impl CommentArgs {
    /// Without W, the first argument is FILE:LINE: no name of a worktree contains a colon.
    fn in_order(self) -> CommentArgs {
        match self {
            CommentArgs { worktree: Some(place), place: text, text: None, old } if place.contains(':') => {
                CommentArgs { worktree: None, place: Some(place), text, old }
            }
            args => args,
        }
    }
}

pub(crate) async fn run(context: &Context, args: CommentArgs) -> Result<(), Problem> {
    let args = args.in_order();
    let worktree = context.worktree(args.worktree.as_deref())?;
    let address = format!("/api/worktrees/{}/comments?{}", escape(&worktree), context.project_query());
    if args.place.is_some() != args.text.is_some() || (args.old && args.place.is_none()) {
        return Err(Problem::usage(
            "a comment needs a place and a text",
            format!("for instance `flower comment {worktree} src/main.rs:12 \"Why not a constant?\"`"),
        ));
    }
    let (Some(place), Some(text)) = (args.place, args.text) else {
        let all: Vec<CommentView> = context.client().await?.get(&address).await?;
        return context.answer(&all, |all| match all.is_empty() {
            true => format!("worktree `{worktree}` has no comments\n"),
            false => all.iter().map(|comment| shown(comment, context.style)).collect(),
        });
    };
    let invalid = || Problem::usage(format!("`{place}` is not FILE:LINE"), "for instance src/main.rs:12");
    let (file, line) = place.rsplit_once(':').ok_or_else(invalid)?;
    let line = line.parse().map_err(|_| invalid())?;
    let side = args.old.then_some(Side::Old);
    let body = NewComment { file: file.to_owned(), line, side, text: text_or_stdin(&text)?, quote: None };
    let sent: CommentView = context.client().await?.post(&address, &body).await?;
    context.answer(&sent, |sent| match &sent.to {
        Some(agent) => format!("sent to {}\n", plain(agent)),
        None => format!("no agent works in `{worktree}` now; the next one reads the comment first\n"),
    })
}

fn shown(comment: &CommentView, style: Style) -> String {
    let to = match (&comment.to, comment.heard_by.is_empty()) {
        (_, false) => format!("read by {}", comment.heard_by.join(", ")),
        (Some(agent), true) => format!("sent to {agent}"),
        (None, true) => "waits for the next agent".to_owned(),
    };
    let remark = &comment.remark;
    let side = if remark.side == Side::Old { " (in MAIN)" } else { "" };
    let place = format!("{}:{}{side}", plain(&remark.file), remark.line);
    let by = format!("{} · {} · {}", plain(&comment.by), ago(&comment.at, jiff::Timestamp::now()), plain(&to));
    let text = plain(remark.text.trim()).replace('\n', "\n  ");
    format!("{}  {}\n  {}\n  {text}\n", style.bold(&place), style.dim(&by), style.dim(&plain(remark.quote.trim())))
}
