//! `flower halt`

use crate::cli::Context;
use crate::cli::output::plain;
use flower_contract::error::Problem;
use flower_contract::request::Why;
use flower_contract::view::HaltView;

/// Stop everything, in all projects: no landing moves any MAIN, and running checks end
#[derive(clap::Args)]
pub(crate) struct HaltArgs {
    /// Shown to whoever waits
    why: Option<String>,
}

pub(crate) async fn run(context: &Context, args: HaltArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    let halted: HaltView = client.post("/api/halt", &Why { why: args.why }).await?;
    context.answer(&halted, |halted| {
        if halted.halted.is_empty() {
            return "there is no project to halt\n".to_owned();
        }
        let style = context.style;
        let lines = halted.halted.iter().map(|name| {
            let hint = style.dim(&format!("go on: `flower thaw --project {name}`"));
            format!("{} is halted: {}; {hint}\n", style.bold(name), plain(&halted.why))
        });
        lines.collect()
    })
}
