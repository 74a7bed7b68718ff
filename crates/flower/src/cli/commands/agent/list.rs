//! `flower agent`

use crate::cli::Context;
use crate::cli::agent::{context as filled, cost, model, painted_state, state};
use crate::cli::output::{Cell, Table, ago, cut, plain, terminal_width};
use flower_contract::error::Problem;
use flower_contract::view::AgentView;

#[derive(clap::Args, Default)]
pub(super) struct ListArgs {
    /// Include ended agents, newest first
    #[arg(long)]
    all: bool,
    /// The maximum number of agents
    #[arg(long, value_name = "N", value_parser = crate::cli::input::at_least_one)]
    limit: Option<u64>,
}

pub(super) async fn run(context: &Context, args: &ListArgs) -> Result<(), Problem> {
    let limit = args.limit.unwrap_or(if context.json { i64::MAX as u64 } else { 50 });
    let path = format!("/api/agents?{}&all={}&limit={limit}", context.project_query(), args.all);
    let agents: Vec<AgentView> = context.client().await?.get(&path).await?;
    context.answer(&agents, |agents| {
        if agents.is_empty() {
            let seen = if args.all { "" } else { "; `flower agent --all` includes ended ones" };
            return format!(
                "no agent runs or has joined; give one a brief: `flower dispatch BRIEF --agent PROFILE`{seen}\n\
                 start one by hand with the packet of `flower dispatch BRIEF`, and it is listed here\n"
            );
        }
        let now = jiff::Timestamp::now();
        let columns = ["AGENT", "STATE", "MODEL", "WORKTREE", "BRIEF", "CONTEXT", "COST", "SINCE", "WHY"];
        let mut table = Table::new(&columns, 8);
        for agent in agents {
            table.row(vec![
                plain(&agent.name).into(),
                Cell::painted(state(agent), painted_state(agent, context.style)),
                cut(&model(agent), 32).into(),
                agent.worktree.clone().into(),
                agent.brief.map_or_else(String::new, |brief| format!("#{brief}")).into(),
                filled(agent).into(),
                cost(agent.cost, agent.currency.as_deref()).into(),
                ago(&agent.since, now).into(),
                cut(&plain(&agent.evidence), 60).into(),
            ]);
        }
        table.render(context.style, terminal_width())
    })
}
