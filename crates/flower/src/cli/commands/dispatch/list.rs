//! `flower dispatch list`

use crate::cli::Context;
use crate::cli::dispatch::state;
use crate::cli::output::{Cell, Table, ago, cut, plain, terminal_width};
use flower_contract::error::Problem;
use flower_contract::view::DispatchView;
use flower_core::dispatch::DispatchState;

/// List dispatches that wait or are claimed
#[derive(clap::Args, Default)]
pub(super) struct ListArgs {
    /// Include ended dispatches, newest first
    #[arg(long)]
    all: bool,
    /// Only dispatches of this brief
    #[arg(long, value_name = "N", value_parser = crate::cli::input::number)]
    brief: Option<u64>,
    /// The maximum number of dispatches
    #[arg(long, value_name = "N", value_parser = crate::cli::input::at_least_one)]
    limit: Option<u64>,
}

/// The dispatches that cannot start, and why.
fn stuck(context: &Context, dispatches: &[DispatchView]) -> String {
    let reasons = |d: &DispatchView| d.waits.iter().find(|reason| reason.code.is_stuck()).map(|r| r.message.clone());
    let lines = dispatches.iter().filter_map(|d| Some((d.id, reasons(d)?)));
    lines
        .map(|(id, why)| {
            let hint = context.style.dim(&format!("start an agent by hand: `flower dispatch packet {id}`"));
            format!("{} {}\n  {hint}\n", context.style.bad(&format!("dispatch {id} cannot start:")), plain(&why))
        })
        .collect()
}

/// Width of a title.
const TITLE_WIDTH: usize = 36;

pub(super) async fn run(context: &Context, args: &ListArgs) -> Result<(), Problem> {
    let limit = args.limit.unwrap_or(if args.all && !context.json { 50 } else { i64::MAX as u64 });
    let brief = args.brief.map_or_else(String::new, |brief| format!("&brief={brief}"));
    let path = format!("/api/dispatches?{}&all={}&limit={limit}{brief}", context.project_query(), args.all);
    let dispatches: Vec<DispatchView> = context.client().await?.get(&path).await?;
    context.answer(&dispatches, |dispatches| {
        if dispatches.is_empty() {
            let seen = if args.all { "" } else { "; `flower dispatch list --all` includes ended ones" };
            return format!("no open dispatches; give a brief to an agent: `flower dispatch BRIEF`{seen}\n");
        }
        let now = jiff::Timestamp::now();
        let mut table = Table::new(&["D", "STATE", "KIND", "BRIEF", "WORKTREE", "WHO", "SINCE"], 3);
        for d in dispatches {
            let last = if d.state == DispatchState::Requested { None } else { d.held_by.clone() };
            let who = last.or_else(|| d.agent.clone());
            table.row(vec![
                d.id.to_string().into(),
                Cell::painted(d.state.as_str(), state(d.state, context.style)),
                d.kind.to_string().into(),
                format!("#{} {}", d.brief, cut(&plain(&d.title), TITLE_WIDTH)).into(),
                d.worktree.clone().unwrap_or_default().into(),
                plain(&who.unwrap_or_else(|| "any agent".to_owned())).into(),
                ago(d.claim.as_ref().map_or(&d.requested_at, |claim| &claim.since), now).into(),
            ]);
        }
        table.render(context.style, terminal_width()) + &stuck(context, dispatches)
    })
}
