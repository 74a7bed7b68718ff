//! `flower dispatch packet`

use crate::cli::Context;
use flower_contract::error::Problem;
use flower_contract::request::Packet;
use flower_contract::view::PacketView;

/// Print the packet of a dispatch with a fresh token, to paste into an agent
#[derive(clap::Args)]
pub(super) struct PacketArgs {
    /// The number of the dispatch
    #[arg(value_name = "D", value_parser = crate::cli::input::number)]
    number: u64,
    /// For a further agent, beside the one that claims the dispatch
    #[arg(long)]
    member: bool,
}

pub(super) async fn run(context: &Context, args: &PacketArgs) -> Result<(), Problem> {
    let path = format!("/api/dispatches/{}/packet", args.number);
    let packet: PacketView = context.client().await?.post(&path, &Packet { member: args.member }).await?;
    context.answer(&packet, |packet| packet.text.clone())
}
