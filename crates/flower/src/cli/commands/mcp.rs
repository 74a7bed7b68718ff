//! `flower mcp`

use crate::cli::context::{own_token, remote_host};
use crate::client::Address;
use crate::mcp::{Identity, Remote, Server, serve};
use flower_contract::error::Problem;
use flower_engine::home::Home;
use std::sync::Arc;
use std::time::Duration;

const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(60);

/// Serve the Model Context Protocol on standard input and output, for a coding agent
///
/// The agent starts this command. Its identity is FLOWER_TOKEN; without one, a new token with the role worker is made.
#[derive(clap::Args)]
pub(crate) struct McpArgs {}

pub(crate) fn run(_: &McpArgs) -> Result<(), Problem> {
    // Standard output is used by the protocol.
    let filter = tracing_subscriber::EnvFilter::new("warn,rmcp=error");
    let _ = tracing_subscriber::fmt().with_writer(std::io::stderr).with_env_filter(filter).try_init();
    let remote = Arc::new(remote()?);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Problem::unreachable(format!("flower cannot start: {error}"), "see `ulimit -a`"))?;
    runtime.block_on(async {
        let (read, write) = rmcp::transport::stdio_pipes();
        let heartbeats = async {
            loop {
                tokio::time::sleep(HEARTBEAT_INTERVAL).await;
                remote.send_heartbeat().await;
            }
        };
        tokio::select! {
            () = serve(Server::new(remote.clone()), read, write) => {}
            () = heartbeats => {}
        }
    });
    // A thread may still be blocked reading standard input.
    runtime.shutdown_background();
    Ok(())
}

/// The daemon and the identity, from the environment.
fn remote() -> Result<Remote, Problem> {
    let identity = match own_token() {
        Some(token) => Identity::Token(token),
        None => Identity::New(Home::from_environment()?),
    };
    let address = match remote_host()? {
        Some(host) => Address::Tcp(host),
        None => Address::Socket(Home::from_environment()?),
    };
    Ok(Remote::new(address, identity))
}
