//! `flower halt`

use crate::cli::Context;
use crate::cli::output::plain;
use flower_contract::error::Problem;
use flower_contract::request::Why;
use flower_contract::view::HaltView;

/// Stop landings, checks and agents in all projects
#[derive(clap::Args)]
pub(crate) struct HaltArgs {
    /// The reason, shown with each waiting landing
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
        let lines =
            halted.halted.iter().map(|name| format!("{} is halted: {}\n", style.bold(name), plain(&halted.why)));
        lines.collect::<String>() + &style.dim("resume all of them: `flower thaw`\n")
    })
}
