//! Tries the checks of a `flower.toml` in a jail, on a copy of MAIN, before it lands.

use crate::cli::landing::failed_output;
use crate::cli::output::plain;
use crate::cli::wait::{LogSource, until_checked};
use crate::cli::{Context, wait};
use crate::client::{Client, escape};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::request::LandSettings;
use flower_contract::view::{CheckRunView, CheckView};
use flower_engine::merge_queue::{PREPARE, advice};

/// Runs the checks, and says how long they take. An error says why one fails, and what would mend it.
pub(super) async fn run(context: &Context, client: &Client, project: &str, text: &str) -> Result<(), Problem> {
    let query = format!("project={}", escape(project));
    let address = format!("/api/main/settings/try?{query}");
    if !context.json {
        eprintln!("trying its checks in a jail, on a copy of MAIN …");
    }
    client.post::<CheckRunView>(&address, &LandSettings { text: text.to_owned() }).await?;
    let source = LogSource::of_trial(&query);
    let run = tokio::select! {
        run = until_checked(context, client, "trial", source, &address) => run?,
        // Interrupting the command ends the run in the daemon.
        _ = tokio::signal::ctrl_c() => client.delete::<CheckRunView>(&address).await?,
    };
    if run.ok {
        if !context.json {
            eprintln!("{}", context.style.good(&summary(&run.checks)));
        }
        return Ok(());
    }
    if !context.json {
        wait::write(&failed_output(&run.checks, context.style));
    }
    Err(failure(&run))
}

/// `test passes in 33 s`.
fn summary(checks: &[CheckView]) -> String {
    let one = |check: &CheckView| match (check.name.as_str(), &check.reused) {
        (PREPARE, None) => format!("prepared in {}", seconds(check.seconds)),
        (PREPARE, Some(_)) => "prepared before".to_owned(),
        (name, None) => format!("`{name}` passes in {}", seconds(check.seconds)),
        (name, Some(before)) => format!("`{name}` passed before, {}", plain(before)),
    };
    checks.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn seconds(seconds: f64) -> String {
    if seconds < 10.0 { format!("{seconds:.1} s") } else { format!("{seconds:.0} s") }
}

fn failure(run: &CheckRunView) -> Problem {
    let Some(failed) = run.checks.iter().find(|check| !check.ok) else {
        let reason = run.reason.clone().unwrap_or_else(|| "the checks have not ended".to_owned());
        return Problem::new(ProblemKind::Refused, format!("the checks were not tried: {reason}"), "try again");
    };
    let is_prepare = failed.name == PREPARE;
    let what = if is_prepare { "`[checks] prepare`".to_owned() } else { format!("the check `{}`", failed.name) };
    let edit = "edit the text: `flower init --print > flower.toml`, then `flower init --try`";
    match advice(is_prepare, failed.code, &failed.log) {
        Some(advice) => Problem {
            kind: ProblemKind::Refused,
            message: format!("{what} fails now, because {}", advice.because),
            hints: vec![format!("this would mend it: {}", advice.mend), edit.to_owned()],
        },
        None => Problem {
            kind: ProblemKind::Refused,
            message: format!("{what} fails now on MAIN itself: it ended with {}", failed.code),
            hints: vec![format!("its whole output: {}", failed.log_file), edit.to_owned()],
        },
    }
}
