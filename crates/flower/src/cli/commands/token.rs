//! `flower token`

use crate::cli::Context;
use crate::cli::output::{Table, ago, terminal_width};
use crate::client::escape;
use clap::Subcommand;
use flower_contract::error::Problem;
use flower_contract::request::IssueToken;
use flower_contract::view::{NewToken, TokenView};
use flower_core::Role;
use hyper::Method;

/// Tokens: identities of agents, with fewer rights than yours
#[derive(clap::Args)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Subcommand)]
enum Verb {
    /// Make a token, which is shown only once; the agent needs it as FLOWER_TOKEN
    New {
        /// The name of the agent in the trace
        #[arg(long, value_name = "NAME")]
        agent: String,
        /// The rights of the agent: `worker`, `orchestrator` or `ops`
        #[arg(long, default_value_t = Role::Worker)]
        role: Role,
        /// The brief of a worker
        #[arg(long, value_name = "N", value_parser = crate::cli::input::number)]
        brief: Option<u64>,
        /// The worktree of a worker
        #[arg(long, value_name = "W")]
        worktree: Option<String>,
    },
    /// Revoke a token
    Revoke {
        /// The id, from `flower token`
        id: String,
    },
}

pub(crate) async fn run(context: &Context, args: TokenArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    match args.verb {
        Some(Verb::New { agent, role, brief, worktree }) => {
            let body = IssueToken { agent, role: Some(role), brief, worktree };
            let token: NewToken = client.post("/api/tokens", &body).await?;
            context.answer(&token, |token| format!("{}\n", token.token))
        }
        Some(Verb::Revoke { id }) => {
            client.call(Method::DELETE, &format!("/api/tokens/{}", escape(&id))).await?;
            context.answer(&serde_json::json!({ "revoked": id }), |_| format!("token {id} is revoked\n"))
        }
        None => {
            let tokens: Vec<TokenView> = client.get("/api/tokens").await?;
            context.answer(&tokens, |tokens| table(context, tokens))
        }
    }
}

fn table(context: &Context, tokens: &[TokenView]) -> String {
    if tokens.is_empty() {
        return "no tokens yet; `flower token new --agent NAME`\n".to_owned();
    }
    let now = jiff::Timestamp::now();
    let mut table = Table::new(&["ID", "AGENT", "ROLE", "BRIEF", "STATE", "SINCE"], 1);
    for token in tokens {
        let (state, since) = match &token.revoked_at {
            Some(at) => ("revoked", at),
            None => ("valid", &token.at),
        };
        table.row(vec![
            token.id.clone().into(),
            token.agent.clone().into(),
            token.role.to_string().into(),
            token.brief.map_or_else(String::new, |brief| format!("#{brief}")).into(),
            state.to_owned().into(),
            ago(since, now).into(),
        ]);
    }
    table.render(context.style, terminal_width())
}
