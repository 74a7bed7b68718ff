//! `flower brief`: the list.

use crate::cli::output::{Cell, Table, ago, plain, terminal_width};
use crate::cli::{Context, input};
use crate::client::{Client, escape};
use flower_contract::error::Problem;
use flower_contract::view::BriefView;
use flower_core::readiness::ReasonCode;
use flower_core::{BriefKind, Status};

#[derive(clap::Args)]
pub(super) struct ListArgs {
    /// Only briefs with this status: draft, planned, in_progress, in_review, landed, done, parked, cancelled
    #[arg(long, value_name = "S", value_parser = input::word::<Status>)]
    status: Option<Status>,
    /// Only briefs that can be built now
    #[arg(long)]
    ready: bool,
    /// Only briefs of this kind: note, feature, fix, research, epic, incident
    #[arg(long, value_name = "K", value_parser = input::word::<BriefKind>)]
    kind: Option<BriefKind>,
    /// Only briefs of this epic
    #[arg(long, value_name = "N", value_parser = crate::cli::input::number)]
    epic: Option<u64>,
    /// The maximum number of briefs
    #[arg(long, value_name = "N", value_parser = crate::cli::input::at_least_one)]
    limit: Option<u64>,
    /// Begin after the brief with this number
    #[arg(long, value_name = "CURSOR")]
    after: Option<u64>,
    /// Briefs of all projects
    #[arg(long)]
    all: bool,
}

pub(super) async fn run(context: &Context, args: &ListArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    let briefs = fetch(context, &client, args).await?;
    context.answer(&briefs, |briefs| {
        if briefs.is_empty() {
            return empty(args);
        }
        table(context, briefs)
    })
}

/// All pages, up to the limit.
async fn fetch(context: &Context, client: &Client, args: &ListArgs) -> Result<Vec<BriefView>, Problem> {
    let mut filter = String::new();
    if !args.all || context.project.is_some() {
        filter.push_str(&format!("&{}", context.project_query()));
    }
    let words = [("status", args.status.map(Status::as_str)), ("kind", args.kind.map(BriefKind::as_str))];
    for (name, word) in words.into_iter().filter_map(|(name, word)| word.map(|word| (name, word))) {
        filter.push_str(&format!("&{name}={}", escape(word)));
    }
    if let Some(epic) = args.epic {
        filter.push_str(&format!("&epic={epic}"));
    }
    let limit = args.limit.unwrap_or(u64::MAX);
    let mut briefs: Vec<BriefView> = Vec::new();
    let mut after = args.after.unwrap_or(0);
    while (briefs.len() as u64) < limit {
        let missing = (limit - briefs.len() as u64).min(500);
        let ready = args.ready;
        let path = format!("/api/briefs?after={after}&limit={missing}&ready={ready}{filter}");
        let page: Vec<BriefView> = client.get(&path).await?;
        let Some(last) = page.last() else { break };
        after = last.number;
        briefs.extend(page);
    }
    Ok(briefs)
}

fn empty(args: &ListArgs) -> String {
    let filtered =
        args.status.is_some() || args.ready || args.kind.is_some() || args.epic.is_some() || args.after.is_some();
    if filtered {
        return "no brief matches; `flower brief` lists all\n".to_owned();
    }
    "no briefs yet; create one: `flower brief new TITLE`\n".to_owned()
}

fn table(context: &Context, briefs: &[BriefView]) -> String {
    let style = context.style;
    let now = jiff::Timestamp::now();
    let primary = |brief: &BriefView| brief.projects.first().map_or_else(String::new, |project| project.name.clone());
    let several = briefs.iter().any(|brief| primary(brief) != primary(&briefs[0]));
    let mut headings = vec!["#", "STATUS", "KIND", "TITLE", "WAITS FOR", "UPDATED"];
    if several {
        headings.push("PROJECT");
    }
    let mut table = Table::new(&headings, 3);
    for brief in briefs {
        let mut row: Vec<Cell> = vec![
            brief.number.to_string().into(),
            Cell::painted(brief.status.as_str(), style.status(brief.status)),
            brief.kind.to_string().into(),
            plain(&brief.title).into(),
            Cell::from(waits_for(brief)),
            Cell::painted(ago(&brief.updated_at, now), style.dim(&ago(&brief.updated_at, now))),
        ];
        if several {
            row.push(primary(brief).into());
        }
        table.row(row);
    }
    table.render(style, terminal_width())
}

/// What the brief waits for, in one or two words.
fn waits_for(brief: &BriefView) -> String {
    if !brief.open_questions.is_empty() {
        return "an answer".to_owned();
    }
    let build = brief.dispatchable.kinds.get("build");
    let open = build.into_iter().flat_map(|b| &b.reasons).filter(|r| r.code == ReasonCode::OpenDependency).count();
    match (brief.status, brief.spec.version) {
        (Status::Draft, 0) => "a plan".to_owned(),
        (Status::Draft, _) => "acceptance".to_owned(),
        (Status::InReview, _) => "review".to_owned(),
        (Status::Planned, _) if open == 1 => "1 brief".to_owned(),
        (Status::Planned, _) if open > 1 => format!("{open} briefs"),
        (Status::Planned, _) => "an agent".to_owned(),
        _ => String::new(),
    }
}
