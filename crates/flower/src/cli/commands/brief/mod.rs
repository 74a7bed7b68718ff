//! `flower brief`

mod accept;
mod answer;
mod ask;
mod diff;
mod edit;
mod link;
mod list;
mod needs;
mod new;
mod note;
mod plan;
mod refine;
mod show;
mod status;
mod trace;

use crate::cli::Context;
use crate::cli::output::plain;
use clap::Subcommand;
use flower_contract::error::Problem;
use flower_contract::view::{BriefView, EventView};

/// Briefs: pieces of work, with their spec and their history
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct BriefArgs {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    list: list::ListArgs,
}

#[derive(Subcommand)]
enum Verb {
    New(new::NewArgs),
    Show(show::ShowArgs),
    Plan(plan::PlanArgs),
    Accept(accept::AcceptArgs),
    Refine(refine::RefineArgs),
    Diff(diff::DiffArgs),
    Status(status::StatusArgs),
    Edit(edit::EditArgs),
    Needs(needs::NeedsArgs),
    Link(link::LinkArgs),
    Note(note::NoteArgs),
    Ask(ask::AskArgs),
    Answer(answer::AnswerArgs),
    Trace(trace::TraceArgs),
}

pub(crate) async fn run(context: &Context, args: BriefArgs) -> Result<(), Problem> {
    match args.verb {
        None => list::run(context, &args.list).await,
        Some(Verb::New(args)) => new::run(context, args).await,
        Some(Verb::Show(args)) => show::run(context, &args).await,
        Some(Verb::Plan(args)) => plan::run(context, &args).await,
        Some(Verb::Accept(args)) => accept::run(context, &args).await,
        Some(Verb::Refine(args)) => refine::run(context, args).await,
        Some(Verb::Diff(args)) => diff::run(context, &args).await,
        Some(Verb::Status(args)) => status::run(context, args).await,
        Some(Verb::Edit(args)) => edit::run(context, args).await,
        Some(Verb::Needs(args)) => needs::run(context, &args).await,
        Some(Verb::Link(args)) => link::run(context, args).await,
        Some(Verb::Note(args)) => note::run(context, args).await,
        Some(Verb::Ask(args)) => ask::run(context, &args).await,
        Some(Verb::Answer(args)) => answer::run(context, &args).await,
        Some(Verb::Trace(args)) => trace::run(context, &args).await,
    }
}

/// Number, title and status of a brief in one line.
fn line(context: &Context, brief: &BriefView) -> String {
    let style = context.style;
    format!("{} {}\n", style.bold(&format!("#{} {}", brief.number, plain(&brief.title))), style.status(brief.status))
}

/// One line about an event that was just recorded.
fn recorded(context: &Context, event: &EventView) -> String {
    crate::cli::event::line(event, context.style, jiff::Timestamp::now(), true)
}
