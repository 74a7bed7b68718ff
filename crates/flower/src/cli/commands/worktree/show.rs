//! `flower worktree show`

use super::list::{commits, protection, state};
use crate::cli::Context;
use crate::cli::output::{Style, ago, plain};
use flower_contract::error::Problem;
use flower_contract::view::{HostView, NetworkMode, WorktreeView};

/// Show a worktree
#[derive(clap::Args)]
pub(crate) struct ShowArgs {
    /// The name of the worktree; by default the one of the working directory
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
    name: Option<String>,
}

pub(super) async fn run(context: &Context, args: &ShowArgs) -> Result<(), Problem> {
    let name = context.worktree(args.name.as_deref())?;
    let worktree: WorktreeView = context.client().await?.get(&super::address(context, &name, "")).await?;
    context.answer(&worktree, |w| page(w, context.style))
}

/// A page about one worktree, also shown by `new`, `restore` and `sync`.
pub(super) fn page(w: &WorktreeView, style: Style) -> String {
    let now = jiff::Timestamp::now();
    let mut text = format!("{}  {}  {}\n", style.bold(&w.name), state(w, style), style.dim(w.kind.as_str()));
    let mut line = |key: &str, value: &str| text.push_str(&format!("  {} {value}\n", style.dim(&format!("{key:9}"))));
    line("project", &w.project);
    line("branch", &format!("{} ({})", w.branch, commits(w)));
    line("files", if w.dirty { "changed" } else { "clean" });
    line("seal", &protection(w, style));
    if let Some(reason) = &w.protection_reason {
        line("", &plain(reason));
    }
    if let Some(network) = &w.network {
        line("network", &mode(network.mode, style));
        for host in &network.hosts {
            line("", &host_line(host, style));
        }
    }
    line("path", &w.path);
    line("created", &format!("{} from {}", ago(&w.created_at, now), w.base.get(..12).unwrap_or(&w.base)));
    for brief in &w.briefs {
        line("brief", &format!("#{brief}"));
    }
    if let Some(setup) = &w.setup {
        let command = setup.command.as_deref().map_or_else(String::new, |command| format!(": {}", plain(command)));
        line("setup", &format!("{}{command}", setup.state));
    }
    for note in &w.notes {
        line("note", &plain(note));
    }
    text
}

fn mode(mode: NetworkMode, style: Style) -> String {
    match mode {
        NetworkMode::Closed => style.good("closed: flower and the ports of `connect`"),
        NetworkMode::Web => style.good("web: its own loopback, and hosts through flower's proxy"),
        NetworkMode::Open => style.bad("open: the network of this machine, unprotected"),
    }
}

/// A host that was asked for, and what would allow it.
fn host_line(host: &HostView, style: Style) -> String {
    if host.reached {
        return format!("reached {}", plain(&host.host));
    }
    let reason = host.reason.as_deref().map_or_else(String::new, |reason| format!(": {}", plain(reason)));
    let remedy = host.remedy.as_deref();
    let remedy = remedy.map_or_else(String::new, |line| format!("; `{}` in `[worktree]` allows it", plain(line)));
    style.mark(&format!("refused {}{reason}{remedy}", plain(&host.host)))
}
