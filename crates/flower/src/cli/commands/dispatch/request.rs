//! `flower dispatch N`

use crate::cli::Context;
use crate::cli::agent::give_keys;
use crate::cli::dispatch::page;
use flower_contract::error::Problem;
use flower_contract::request::{NewDispatch, Packet};
use flower_contract::view::{DispatchView, PacketView};
use flower_core::readiness::DispatchKind;
use serde::Serialize;

#[derive(clap::Args)]
pub(super) struct RequestArgs {
    /// The brief; without one, open dispatches are listed
    #[arg(value_name = "BRIEF", value_parser = crate::cli::input::number)]
    pub(super) brief: Option<u64>,
    /// `design`, `build`, `review`, `research`, `ops` or `fix`; by default what the brief needs next
    #[arg(long, value_name = "K", requires = "brief")]
    kind: Option<DispatchKind>,
    /// The profile of the agent; by default any agent may claim
    #[arg(long, value_name = "PROFILE", requires = "brief")]
    agent: Option<String>,
    /// The worktree; by default a new one
    #[arg(long, value_name = "NAME", requires = "brief")]
    worktree: Option<String>,
    /// The number of agents that share the worktree
    #[arg(long, value_name = "COUNT", requires = "brief", value_parser = crate::cli::input::at_least_one)]
    agents: Option<u64>,
}

/// A dispatch that waits for an agent with the packet, and the packet. No other answer about the dispatch has its token.
#[derive(Serialize)]
struct Requested {
    #[serde(flatten)]
    dispatch: DispatchView,
    packet: PacketView,
}

pub(super) async fn run(context: &Context, brief: u64, args: RequestArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    let RequestArgs { kind, agent, worktree, agents, .. } = args;
    let body = NewDispatch { kind, agent, worktree, agents };
    give_keys(context, &client).await?;
    let dispatch: DispatchView = client.post(&format!("/api/briefs/{brief}/dispatches"), &body).await?;
    let needs_packet = dispatch.waits.iter().any(|reason| reason.code.waits_for_packet());
    if !needs_packet {
        return context.answer(&dispatch, |dispatch| page(dispatch, context.style));
    }
    let packet: PacketView =
        client.post(&format!("/api/dispatches/{}/packet", dispatch.id), &Packet::default()).await?;
    if context.json {
        return context.answer(&Requested { dispatch, packet }, |_| String::new());
    }
    let again = format!("the packet follows; a fresh one: `flower dispatch packet {}`\n\n", dispatch.id);
    context.print(&format!("{}{}{}", page(&dispatch, context.style), context.style.dim(&again), packet.text))
}
