//! `flower doctor`

use crate::cli::Context;
use crate::cli::output::plain;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{Finding, FindingState};

/// Find problems of the installation and the projects, and repair them with --fix
///
/// Shows what is wrong or was repaired, and counts the rest. Never deletes work of agents or people. The exit code is 1 if a
/// problem remains.
#[derive(clap::Args)]
pub(crate) struct DoctorArgs {
    /// Repair what can be repaired without losing anything
    #[arg(long)]
    fix: bool,
    /// Show all checks, also those that found nothing
    #[arg(long)]
    all: bool,
}

pub(crate) async fn run(context: &Context, args: &DoctorArgs) -> Result<(), Problem> {
    let findings = match examine(context, args.fix).await {
        Ok(findings) => findings,
        // A daemon that cannot be reached is a finding, too.
        Err(problem) => vec![Finding {
            check: "daemon".into(),
            state: FindingState::Bad,
            evidence: problem.message,
            fix: Some(problem.hints.join("; ")),
        }],
    };
    context.answer(&findings, |findings| page(context, findings, args.all))?;
    let wrong = findings.iter().filter(|finding| finding.state == FindingState::Bad).count();
    if wrong == 0 {
        return Ok(());
    }
    let hint =
        if args.fix { "the lines marked ✗ name the next step" } else { "`flower doctor --fix` repairs what it can" };
    Err(Problem::new(ProblemKind::Refused, format!("{wrong} of {} checks found a problem", findings.len()), hint))
}

async fn examine(context: &Context, fix: bool) -> Result<Vec<Finding>, Problem> {
    let client = context.client().await?;
    if fix { client.post("/api/doctor", &()).await } else { client.get("/api/doctor").await }
}

/// What is wrong or was repaired, and the number of the other checks; with `all`, every check.
fn page(context: &Context, findings: &[Finding], all: bool) -> String {
    let is_shown = |finding: &&Finding| all || finding.state != FindingState::Ok || finding.fix.is_some();
    let mut text: String = findings.iter().filter(is_shown).map(|finding| line(context, finding)).collect();
    let quiet = findings.len() - findings.iter().filter(is_shown).count();
    let style = context.style;
    match (quiet, text.is_empty()) {
        (0, _) => {}
        (quiet, true) => text = format!("{} all {quiet} checks found nothing wrong\n", style.good("✓")),
        (quiet, false) => text.push_str(&format!("{} {quiet} other checks found nothing wrong\n", style.good("✓"))),
    }
    if quiet > 0 {
        text.push_str(&style.dim("`flower doctor --all` shows them\n"));
    }
    text
}

fn line(context: &Context, finding: &Finding) -> String {
    let style = context.style;
    let mark = match finding.state {
        FindingState::Ok => style.good("✓"),
        FindingState::Bad => style.bad("✗"),
        FindingState::Unknown => style.mark("?"),
    };
    let fix = finding.fix.as_deref().map_or_else(String::new, |fix| format!("\n    {}", plain(fix)));
    format!("{mark} {}  {}{fix}\n", style.bold(&finding.check), plain(&finding.evidence))
}
