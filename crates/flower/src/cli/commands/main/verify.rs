//! `flower main verify`

use crate::cli::Context;
use crate::cli::landing::short;
use crate::cli::output::plain;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{MainProof, MainView};
use serde::Serialize;

/// Check that every commit on MAIN comes from a landing, and that its branch and files match the log
///
/// The exit code is 1 if they do not.
#[derive(clap::Args)]
pub(super) struct VerifyArgs {}

#[derive(Serialize)]
struct Verified {
    #[serde(flatten)]
    main: MainView,
    ok: bool,
    began: String,
    landings: u64,
    unchecked: u64,
    problems: Vec<String>,
}

pub(super) async fn run(context: &Context, _: &VerifyArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    let MainProof { ok, began, landings, unchecked, problems, .. } =
        client.get(&super::address(context, "/verify")).await?;
    let main = super::look(context, &client).await?;
    let verified = Verified { main, ok, began, landings, unchecked, problems };
    context.answer(&verified, |v| {
        let style = context.style;
        let mut text = v.problems.iter().map(|problem| format!("{} {}\n", style.bad("✗"), plain(problem))).collect();
        if v.ok {
            let since = short(&v.began);
            text = format!(
                "{}: {} since {since}, each as it was recorded\n",
                style.good("whole"),
                count_landings(v.landings)
            );
        }
        if v.unchecked > 0 {
            text.push_str(&style.dim(&format!("{} of them without checks\n", v.unchecked)));
        }
        text
    })?;
    if verified.ok {
        return Ok(());
    }
    let what = match verified.problems.as_slice() {
        [only] => only.clone(),
        problems => format!("MAIN differs from the log in {} places", problems.len()),
    };
    Err(Problem::new(ProblemKind::Refused, what, "`flower main` shows its state and the next step"))
}

fn count_landings(count: u64) -> String {
    match count {
        0 => "nothing has landed".to_owned(),
        1 => "1 landing".to_owned(),
        n => format!("{n} landings"),
    }
}
