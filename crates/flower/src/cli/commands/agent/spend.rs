//! `flower agent spend`

use crate::cli::Context;
use crate::cli::agent::cost;
use crate::cli::output::{Table, terminal_width};
use flower_contract::error::Problem;
use flower_contract::view::{SpendView, SpentView};

/// Show the cost and tokens of agents by day and by brief, as far as agents report them
///
/// Limits are set in `[spend]` in FLOWER_HOME/config.toml: per_day, per_brief, tokens_per_day.
#[derive(clap::Args)]
pub(super) struct SpendArgs {}

pub(super) async fn run(context: &Context, _: &SpendArgs) -> Result<(), Problem> {
    let spending: SpendView = context.client().await?.get("/api/spending").await?;
    context.answer(&spending, |spending| {
        if spending.days.is_empty() {
            return "no agent has reported cost or tokens\n".to_owned();
        }
        let mut table = Table::new(&["OF", "COST", "TOKENS"], 0);
        let mut rows = |list: &[SpentView], sign: &str| {
            for spent in list {
                table.row(vec![
                    format!("{sign}{}", spent.of).into(),
                    cost(spent.cost, spent.currency.as_deref()).into(),
                    spent.tokens.map_or_else(|| "unknown".to_owned(), |tokens| tokens.to_string()).into(),
                ]);
            }
        };
        rows(&spending.days, "");
        rows(&spending.briefs, "#");
        let mut text = table.render(context.style, terminal_width());
        let limits = [
            spending.per_day.map(|max| format!("{max} a day")),
            spending.per_brief.map(|max| format!("{max} a brief")),
            spending.tokens_per_day.map(|max| format!("{max} tokens a day")),
        ];
        let limits: Vec<String> = limits.into_iter().flatten().collect();
        if !limits.is_empty() {
            text.push_str(&context.style.dim(&format!("no agent starts above these limits: {}\n", limits.join(", "))));
        }
        text
    })
}
