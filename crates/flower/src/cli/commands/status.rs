//! `flower status`

use crate::cli::Context;
use crate::cli::landing::short;
use crate::cli::output::{ago, plain};
use crate::client::Client;
use flower_contract::error::Problem;
use flower_contract::view::StatusView;
use flower_core::Status;
use flower_core::landing::State;
use http_body_util::BodyExt;
use std::io::IsTerminal;

/// Show an overview: MAIN, the queue, the project, its briefs, agents and your inbox
#[derive(clap::Args)]
pub(crate) struct StatusArgs {
    /// Show it again whenever something changes
    #[arg(long)]
    watch: bool,
}

pub(crate) async fn run(context: &Context, args: &StatusArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    if !args.watch {
        return show(context, &client).await;
    }
    // Any event causes a refresh; its content does not matter.
    let mut events = client.stream("/api/events").await?;
    loop {
        if !context.json && std::io::stdout().is_terminal() {
            context.print("\x1b[2J\x1b[H")?;
        }
        show(context, &client).await?;
        if events.frame().await.is_none() {
            return Err(Problem::unreachable("the daemon has ended", "start it: `flower up`"));
        }
    }
}

async fn show(context: &Context, client: &Client) -> Result<(), Problem> {
    let status: StatusView = client.get(&format!("/api/status?live=true&{}", context.project_query())).await?;
    context.answer(&status, |status| page(context, status))
}

fn page(context: &Context, status: &StatusView) -> String {
    let style = context.style;
    let mut page = String::new();
    let mut line =
        |name: &str, value: String| page.push_str(&format!("{}  {value}\n", style.dim(&format!("{name:>8}"))));
    if let Some(main) = &status.main {
        let reason = main.reason.as_ref().map_or_else(String::new, |reason| format!(": {}", plain(reason)));
        let next_step = main.next.as_ref().map_or_else(String::new, |next| style.dim(&format!("; {next}")));
        let state = super::main::state(main.state, style);
        line("MAIN", format!("{state}, {} at {}{reason}{next_step}", main.branch, short(&main.recorded_tip)));
        if let Some(problem) = &main.settings {
            line("", style.mark(&plain(problem)));
        }
    }
    let project = status.project.as_deref().unwrap_or("none in this directory; these are the briefs of all projects");
    line("project", style.bold(project));
    let counts: Vec<String> = Status::ALL
        .iter()
        .filter_map(|status_| status.briefs.get(status_.as_str()).map(|n| format!("{n} {}", style.status(*status_))))
        .collect();
    line("briefs", if counts.is_empty() { "none; `flower brief new TITLE`".to_owned() } else { counts.join(", ") });
    line(
        "work in",
        match status.worktrees {
            0 => "no worktree; `flower worktree new NAME`".to_owned(),
            1 => "1 worktree; `flower worktree`".to_owned(),
            n => format!("{n} worktrees; `flower worktree`"),
        },
    );
    line(
        "agents",
        match (status.at_work, status.unclaimed) {
            (0, 0) => "none at work; `flower dispatch BRIEF`".to_owned(),
            (n, 0) => format!("{n} at work; `flower dispatch`"),
            (n, waiting) => format!("{n} at work, {waiting} waiting to be claimed; `flower dispatch`"),
        },
    );
    if !status.agents.is_empty() {
        let states: Vec<String> = status.agents.iter().map(|(state, n)| format!("{n} {state}")).collect();
        line("", format!("flower runs {}; `flower agent`", states.join(", ")));
    }
    line("queue", queue(status));
    line(
        "inbox",
        match status.inbox {
            0 => "empty".to_owned(),
            n => style.mark(&format!("{n} waiting; `flower inbox`")),
        },
    );
    let since = ago(&status.started_at, jiff::Timestamp::now());
    line("daemon", format!("flower {}, process {}, started {since}, {}", status.version, status.pid, status.url));
    line("log", format!("{} events in {}", status.last_event, status.database));
    if let Some(why) = &status.read_only {
        line("", style.bad(&format!("the log is read-only: {why}; `flower log verify`")));
    }
    page
}

fn queue(status: &StatusView) -> String {
    if status.queue == 0 {
        return "empty; `flower land WORKTREE`".to_owned();
    }
    let next = status.next_landing.as_ref().map_or_else(String::new, |next| {
        let how = match next.state {
            State::Checking => "being checked".to_owned(),
            _ => plain(&next.reason),
        };
        format!(", next: landing {} ({}), {how}", next.id, plain(&next.title))
    });
    format!("{} waiting{next}; `flower queue`", status.queue)
}
