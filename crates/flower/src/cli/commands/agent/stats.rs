//! `flower agent stats`

use crate::cli::Context;
use crate::cli::agent::cost;
use crate::cli::output::{Table, plain, terminal_width};
use flower_contract::error::Problem;
use flower_contract::view::ScoreView;

/// Show how agents did: what landed at the first try, fixes, time, and cost per landing
///
/// One line for each profile, model and kind of dispatch. A dispatch that was cancelled does not count. What no agent reported is
/// `unknown`.
#[derive(clap::Args)]
pub(super) struct StatsArgs {
    /// Only dispatches of the last days
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3650))]
    days: Option<u32>,
}

pub(super) async fn run(context: &Context, args: &StatsArgs) -> Result<(), Problem> {
    let days = args.days.map_or_else(String::new, |days| format!("&days={days}"));
    let path = format!("/api/agent-stats?{}{days}", context.project_query());
    let scores: Vec<ScoreView> = context.client().await?.get(&path).await?;
    context.answer(&scores, |scores| {
        if scores.is_empty() {
            return "no agent has ended a dispatch; give one a brief: `flower dispatch BRIEF --agent PROFILE`\n"
                .to_owned();
        }
        let head =
            ["PROFILE", "MODEL", "KIND", "ENDED", "LANDED", "FIRST TRY", "FIXES", "FAILED", "TIME", "PER LANDING"];
        let mut table = Table::new(&head, 1);
        for score in scores {
            let of = |count: u64| match score.landed {
                0 => count.to_string(),
                landed => format!("{count} ({} %)", 100 * count / landed),
            };
            table.row(vec![
                plain(&score.profile).into(),
                score.model.as_deref().map_or_else(|| "unknown".to_owned(), plain).into(),
                score.kind.to_string().into(),
                score.ended.to_string().into(),
                score.landed.to_string().into(),
                of(score.first_try).into(),
                score.fixes.to_string().into(),
                score.failed.to_string().into(),
                score.seconds.map_or_else(|| "unknown".to_owned(), time).into(),
                cost(score.cost_per_landing, score.currency.as_deref()).into(),
            ]);
        }
        table.render(context.style, terminal_width())
    })
}

/// `45 s`, `12 min` or `1 h 20 min`.
fn time(seconds: u64) -> String {
    match seconds {
        0..=99 => format!("{seconds} s"),
        100..=5_999 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}
