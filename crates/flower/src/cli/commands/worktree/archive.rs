//! `flower worktree archive`

use crate::cli::Context;
use crate::cli::output::{Table, ago, size, terminal_width};
use flower_contract::error::Problem;
use flower_contract::view::ArchiveView;
use hyper::Method;

/// List the archives of removed worktrees, with size and date of deletion
#[derive(clap::Args)]
pub(crate) struct ArchiveArgs {
    /// Delete the archive with this number for good
    #[arg(long, value_name = "N", value_parser = crate::cli::input::number)]
    drop: Option<u64>,
}

pub(super) async fn run(context: &Context, args: &ArchiveArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    if let Some(number) = args.drop {
        client.call(Method::DELETE, &format!("/api/archives/{number}")).await?;
        return context.answer(&serde_json::json!({ "dropped": number }), |_| format!("archive {number} is deleted\n"));
    }
    let kept: Vec<ArchiveView> = client.get(&format!("/api/archives?{}", context.project_query())).await?;
    context.answer(&kept, |kept| {
        if kept.is_empty() {
            return "no archives\n".to_owned();
        }
        let now = jiff::Timestamp::now();
        let mut table = Table::new(&["#", "NAME", "REMOVED", "FILES", "SIZE", "UNTIL", "BRANCH", "LEFT OUT"], 7);
        for removed in kept {
            let a = &removed.archive;
            table.row(vec![
                removed.number.to_string().into(),
                removed.name.clone().into(),
                ago(&a.removed_at, now).into(),
                a.files.to_string().into(),
                size(a.bytes).into(),
                a.until.get(..10).unwrap_or(&a.until).to_owned().into(),
                if a.branch_kept { format!("{} kept", removed.branch) } else { "in MAIN".to_owned() }.into(),
                a.left_out.join(", ").into(),
            ]);
        }
        table.render(context.style, terminal_width())
    })
}
