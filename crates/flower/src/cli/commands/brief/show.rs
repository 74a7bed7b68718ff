//! `flower brief show`

use crate::cli::output::{ago, plain};
use crate::cli::{Context, event};
use flower_contract::error::Problem;
use flower_contract::view::{BriefView, EventView, RecallView};
use flower_core::{BriefKind, Participant, Status};
use std::fmt::Write;

/// Show a brief: its state, spec, participants, links and newest events
#[derive(clap::Args)]
pub(super) struct ShowArgs {
    /// The number of the brief
    #[arg(value_parser = crate::cli::input::number)]
    number: u64,
    /// Show the text that an agent reads, as the tool `recall_brief` returns it; with an agent's FLOWER_TOKEN the text names commands
    /// in place of tools
    #[arg(long)]
    as_agent: bool,
    /// The maximum length of that text in tokens: 500 to 50000
    #[arg(long, value_name = "TOKENS", requires = "as_agent")]
    budget: Option<u64>,
}

const NEWEST_EVENTS: u64 = 10;
/// Children of an epic on its page.
const MAX_CHILDREN: u64 = 500;

pub(super) async fn run(context: &Context, args: &ShowArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    if args.as_agent {
        let budget = args.budget.map_or_else(String::new, |budget| format!("&budget={budget}"));
        // An agent that reads its brief here has no tools.
        let shell = crate::cli::context::own_token().is_some();
        let path = format!("/api/briefs/{}/recall?shell={shell}{budget}", args.number);
        let recalled: RecallView = client.get(&path).await?;
        return context.answer_paged(&recalled, |recalled| recalled.text.clone());
    }
    let brief: BriefView = client.get(&format!("/api/briefs/{}", args.number)).await?;
    if context.json {
        return context.answer(&brief, |_| String::new());
    }
    let trace: Vec<EventView> = client.get(&format!("/api/briefs/{}/trace?limit={NEWEST_EVENTS}", args.number)).await?;
    let children: Vec<BriefView> = match brief.kind {
        BriefKind::Epic => client.get(&format!("/api/briefs?epic={}&limit={MAX_CHILDREN}", brief.number)).await?,
        _ => Vec::new(),
    };
    context.print_paged(&page(context, &brief, &children, &trace))
}

fn about(p: &Participant) -> String {
    let place = p.worktree.as_ref().filter(|_| p.active).map_or_else(String::new, |name| format!(" · in {name}"));
    format!("{} · {}{place}", p.sort, p.role)
}

fn page(context: &Context, brief: &BriefView, children: &[BriefView], trace: &[EventView]) -> String {
    let style = context.style;
    let now = jiff::Timestamp::now();
    let mut page = String::new();
    let heading = |page: &mut String, title: &str| {
        let _ = writeln!(page, "\n{}", style.bold(title));
    };
    let projects: Vec<&str> = brief.projects.iter().map(|p| p.name.as_str()).collect();
    let _ = writeln!(page, "{}", style.bold(&format!("#{} {}", brief.number, plain(&brief.title))));
    let _ = writeln!(
        page,
        "{} · {} · {} · updated {}",
        style.status(brief.status),
        brief.kind,
        projects.join(", "),
        ago(&brief.updated_at, now)
    );
    for (name, numbers) in [
        ("part of epic", brief.epic.into_iter().collect::<Vec<_>>()),
        ("depends on", brief.depends_on.clone()),
        ("needed by", brief.dependents.clone()),
    ] {
        if !numbers.is_empty() {
            let numbers: Vec<String> = numbers.iter().map(|n| format!("#{n}")).collect();
            let _ = writeln!(page, "{name} {}", numbers.join(", "));
        }
    }
    if brief.dispatchable.ok {
        let _ = writeln!(page, "{}", style.good(&format!("can be dispatched ({})", brief.dispatchable.kind)));
    } else if !brief.status.is_closed() {
        let reasons: Vec<&str> = brief.dispatchable.reasons.iter().map(|r| r.message.as_str()).collect();
        let _ = writeln!(page, "cannot be dispatched: {}", reasons.join("; "));
    }
    for question in &brief.open_questions {
        let _ = writeln!(page, "{}", style.mark(&format!("question {question} waits for an answer: `flower inbox`")));
    }
    if brief.kind == BriefKind::Epic {
        let is_through = |child: &&BriefView| matches!(child.status, Status::Landed | Status::Done);
        let through = children.iter().filter(is_through).count();
        match children.len() {
            0 => heading(&mut page, "No briefs belong to this epic yet"),
            all => heading(&mut page, &format!("Briefs of this epic: {through} of {all} are landed or done")),
        }
        for child in children {
            let number = format!("#{}", child.number);
            let _ = writeln!(page, "  {number:>4} {} {}", plain(&child.title), style.status(child.status));
        }
    }
    if brief.spec.version > 0 {
        let accepted = match brief.spec.accepted_version {
            Some(version) if version == brief.spec.version => "accepted".to_owned(),
            Some(version) => format!("version {version} is the accepted one"),
            None => "not accepted yet".to_owned(),
        };
        heading(&mut page, &format!("Spec, version {}, {accepted}", brief.spec.version));
        for line in plain(&brief.spec.markdown).trim_end().lines() {
            let _ = writeln!(page, "  {}", if line.starts_with('#') { style.bold(line) } else { line.to_owned() });
        }
    }
    if !brief.participants.is_empty() {
        heading(&mut page, "Participants");
        for p in &brief.participants {
            let _ = writeln!(page, "  {} {}", plain(&p.name), style.dim(&about(p)));
        }
    }
    if !brief.links.is_empty() {
        heading(&mut page, "Links");
        for link in &brief.links {
            let label = if link.label.is_empty() { &link.target } else { &link.label };
            let _ = writeln!(page, "  {} {}", plain(label), style.dim(link.kind.as_str()));
        }
    }
    heading(&mut page, "Trace");
    for line in trace.iter().map(|e| event::line(e, style, now, false)) {
        page.push_str(&line);
    }
    if trace.len() as u64 == NEWEST_EVENTS {
        let _ = writeln!(
            page,
            "{}",
            style.dim(&format!("the newest {NEWEST_EVENTS}; all: `flower brief trace {}`", brief.number))
        );
    }
    page
}
