//! `flower mcp`

use crate::cli::context::{own_token, remote_host};
use crate::client::Address;
use crate::mcp::{Identity, Remote, Server, serve};
use flower_contract::error::Problem;
use flower_engine::home::Home;
use std::sync::Arc;
use std::time::Duration;

const BEAT: Duration = Duration::from_secs(60);

/// Serve the Model Context Protocol on standard input and output, for a coding agent
///
/// An agent starts it, with FLOWER_TOKEN as its identity. Without one it gets a worker's token of its own.
#[derive(clap::Args)]
pub(crate) struct McpArgs {}

pub(crate) fn run(_: &McpArgs) -> Result<(), Problem> {
    // Standard output belongs to the protocol.
    let filter = tracing_subscriber::EnvFilter::new("warn,rmcp=error");
    let _ = tracing_subscriber::fmt().with_writer(std::io::stderr).with_env_filter(filter).try_init();
    let remote = Arc::new(remote()?);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Problem::unreachable(format!("flower cannot start: {error}"), "see `ulimit -a`"))?;
    runtime.block_on(async {
        let (read, write) = rmcp::transport::stdio_pipes();
        let beats = async {
            loop {
                tokio::time::sleep(BEAT).await;
                remote.beat().await;
            }
        };
        tokio::select! {
            () = serve(Server::new(remote.clone()), read, write) => {}
            () = beats => {}
        }
    });
    // A thread may still be waiting for input that nobody wants any more.
    runtime.shutdown_background();
    Ok(())
}

/// The daemon that is meant, and who speaks to it.
fn remote() -> Result<Remote, Problem> {
    let identity = match own_token() {
        Some(token) => Identity::Token(token),
        None => Identity::Fresh(Home::from_environment()?),
    };
    let address = match remote_host()? {
        Some(host) => Address::Tcp(host),
        None => Address::Socket(Home::from_environment()?),
    };
    Ok(Remote::new(address, identity))
}
