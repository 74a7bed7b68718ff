//! `flower doctor`

use crate::cli::Context;
use crate::cli::output::plain;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::Finding;

/// Find what is wrong, and mend it with --fix
///
/// Nothing that could be somebody's work is deleted. Ends with 1 if something stays wrong.
#[derive(clap::Args)]
pub(crate) struct DoctorArgs {
    /// Mend what can be mended without losing anything
    #[arg(long)]
    fix: bool,
}

pub(crate) async fn run(context: &Context, args: &DoctorArgs) -> Result<(), Problem> {
    let findings = match examine(context, args.fix).await {
        Ok(findings) => findings,
        // Out of reach is a finding too, and often the one that was looked for.
        Err(problem) => vec![Finding {
            check: "daemon".into(),
            state: "bad".into(),
            evidence: problem.message,
            fix: Some(problem.hints.join("; ")),
        }],
    };
    context.answer(&findings, |findings| findings.iter().map(|finding| line(context, finding)).collect())?;
    let wrong = findings.iter().filter(|finding| finding.state == "bad").count();
    if wrong == 0 {
        return Ok(());
    }
    let hint = if args.fix { "the lines marked ✗ say what to do" } else { "`flower doctor --fix` mends what it can" };
    Err(Problem::new(ProblemKind::Refused, format!("{wrong} of {} checks found something", findings.len()), hint))
}

async fn examine(context: &Context, fix: bool) -> Result<Vec<Finding>, Problem> {
    let client = context.client().await?;
    if fix { client.post("/api/doctor", &()).await } else { client.get("/api/doctor").await }
}

fn line(context: &Context, finding: &Finding) -> String {
    let style = context.style;
    let mark = match finding.state.as_str() {
        "ok" => style.good("✓"),
        "bad" => style.bad("✗"),
        _ => style.mark("?"),
    };
    let fix = finding.fix.as_deref().map_or_else(String::new, |fix| format!("\n    {}", plain(fix)));
    format!("{mark} {}  {}{fix}\n", style.bold(&finding.check), plain(&finding.evidence))
}
