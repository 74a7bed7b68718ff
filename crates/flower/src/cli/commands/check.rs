//! `flower check`

use crate::cli::landing::{check, failed_output, short};
use crate::cli::output::plain;
use crate::cli::{Context, wait};
use crate::client::{Client, escape};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::request::CheckRequest;
use flower_contract::view::{CheckRunState, CheckRunView, NotApproved};

/// Run what the queue would run for a worktree, on its merge with MAIN, without landing it
///
/// Merges what is committed now with MAIN and runs the checks of MAIN's flower.toml, or of the worktree's own once its
/// commands are approved. Landings go first: one that is ready interrupts the checks, which then start over. A green
/// result is reused by the landing that follows. Ends early if the worktree gets a new commit. The exit code is 0 if all
/// checks pass, 4 if the worktree does not merge with MAIN, and 1 otherwise.
#[derive(clap::Args)]
pub(crate) struct CheckArgs {
    /// The worktree; by default the one of the working directory
    #[arg(value_name = "W", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    worktree: Option<String>,
    /// Run this check alone
    #[arg(long, value_name = "NAME")]
    check: Option<String>,
    /// Approve the commands that the worktree's flower.toml adds or changes, after reading them
    #[arg(long)]
    approve: bool,
}

pub(crate) async fn run(context: &Context, args: CheckArgs) -> Result<(), Problem> {
    let worktree = context.worktree(args.worktree.as_deref())?;
    let client = context.client().await?;
    let address = format!("/api/worktrees/{}/check?{}", escape(&worktree), context.project_query());
    let mut request = CheckRequest { check: args.check, approve: None };
    let mut run: CheckRunView = client.post(&address, &request).await?;
    if let Some(NotApproved { commands, sha256 }) = run.not_approved.take_if(|_| args.approve || context.can_ask()) {
        if !context.json {
            eprintln!("its flower.toml brings commands that are not approved:");
            commands.iter().for_each(|command| eprintln!("  {}", plain(command)));
        }
        if !args.approve {
            let refusal = "they were not approved, so nothing was checked with them";
            context.require_yes("Approve them and run its checks?", refusal, "MAIN's checks run in any case")?;
        }
        request.approve = Some(sha256);
        // Its run was of MAIN's checks.
        let _: Result<CheckRunView, Problem> = client.delete(&address).await;
        client.post::<CheckRunView>(&address, &request).await?;
    }
    let source = wait::LogSource::of_worktree(&worktree, &context.project_query());
    let run = tokio::select! {
        run = wait::until_checked(context, &client, &worktree, source, &address) => run?,
        _ = tokio::signal::ctrl_c() => cancel(&client, &address).await?,
    };
    context.answer(&run, |run| page(context, &worktree, run))?;
    verdict(&worktree, &run)
}

/// Interrupting the command ends the run in the daemon.
async fn cancel(client: &Client, address: &str) -> Result<CheckRunView, Problem> {
    client.delete(address).await
}

fn page(context: &Context, worktree: &str, run: &CheckRunView) -> String {
    let style = context.style;
    let mut text = String::new();
    let mut line = |name: &str, value: &str| text.push_str(&format!("{}  {value}\n", style.dim(&format!("{name:>8}"))));
    let onto = short(&run.merge.onto);
    match run.merge.ok {
        true => {
            let files = match run.merge.changes {
                1 => "1 file".to_owned(),
                count => format!("{count} files"),
            };
            line("merge", &format!("{} merges with MAIN at {onto}, {files} changed", style.bold(worktree)));
        }
        false => {
            line("merge", &style.bad(&format!("{worktree} does not merge with MAIN at {onto}")));
            run.merge.paths.iter().for_each(|path| line("conflict", &plain(path)));
        }
    }
    for note in &run.notes {
        line("note", &style.mark(&plain(note)));
    }
    for other in &run.others {
        let paths: Vec<String> = other.paths.iter().take(3).map(|path| plain(path)).collect();
        let more = if other.paths.len() > paths.len() { ", …" } else { "" };
        let what = match &other.reserved_by {
            Some(holder) => format!("{} in {} has reserved", plain(holder), plain(&other.worktree)),
            None => format!("{} changes", plain(&other.worktree)),
        };
        line("also", &format!("{what} {}{more}", paths.join(", ")));
    }
    for held in &run.held {
        line("approval", &format!("its landing would wait for you: {}", plain(&held.text)));
    }
    for one in &run.checks {
        line("check", &check(one, style));
    }
    text.push_str(&failed_output(&run.checks, style));
    if run.ok {
        let passed = match (run.checks.is_empty(), &run.reason) {
            (true, Some(reason)) => style.mark(&plain(reason)),
            _ => style.good("all checks pass"),
        };
        text.push_str(&format!("{}  {passed}; land it: `flower land {worktree} --wait`\n", style.dim("        ")));
    }
    text
}

/// An error unless everything has passed.
fn verdict(worktree: &str, run: &CheckRunView) -> Result<(), Problem> {
    if run.ok {
        return Ok(());
    }
    let reason = run.reason.clone().unwrap_or_else(|| "the checks have not ended".to_owned());
    if !run.merge.ok {
        let hint = format!("merge MAIN there: `flower worktree sync {worktree}`, settle it, commit, and check again");
        return Err(Problem::new(ProblemKind::Conflict, format!("`{worktree}` does not land: {reason}"), hint));
    }
    let (message, hint) = match run.state {
        CheckRunState::Cancelled => {
            (format!("the checks of `{worktree}` were cancelled: {reason}"), "run them again".to_owned())
        }
        _ => match run.checks.iter().find(|check| !check.ok) {
            Some(_) => {
                (reason, format!("correct it in `{worktree}`, commit, and check again: `flower check {worktree}`"))
            }
            None if run.not_approved.is_some() => {
                (reason, format!("read and approve them: `flower check {worktree} --approve`"))
            }
            None => (reason, format!("`flower diff {worktree}` shows its changes")),
        },
    };
    Err(Problem::new(ProblemKind::Refused, message, hint))
}
