//! `flower brief edit`

use crate::cli::{Context, input};
use flower_contract::error::Problem;
use flower_contract::request::EditBrief;
use flower_contract::view::BriefView;
use flower_core::BriefKind;

/// Change the title, kind, epic, projects or dispatch settings of a brief
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("changes").required(true).multiple(true))]
pub(super) struct EditArgs {
    /// The number of the brief
    #[arg(value_parser = crate::cli::input::number)]
    number: u64,
    /// The new title
    #[arg(long, group = "changes")]
    title: Option<String>,
    /// note, feature, fix, research, epic or incident
    #[arg(long, value_name = "K", group = "changes", value_parser = input::word::<BriefKind>)]
    kind: Option<BriefKind>,
    /// The epic of the brief, or `none`
    #[arg(long, value_name = "N", group = "changes", value_parser = epic)]
    epic: Option<u64>,
    /// Dispatch the brief automatically as soon as possible
    #[arg(long, value_name = "on|off", group = "changes", value_parser = switch)]
    auto_dispatch: Option<bool>,
    /// Dispatch a design pass before the build
    #[arg(long, value_name = "on|off", group = "changes", value_parser = switch)]
    design_loop: Option<bool>,
    /// Add the brief to this project
    #[arg(long, value_name = "NAME", group = "changes")]
    add_project: Vec<String>,
    /// Remove the brief from this project
    #[arg(long, value_name = "NAME", group = "changes")]
    drop_project: Vec<String>,
}

/// 0 means none.
fn epic(word: &str) -> Result<u64, String> {
    if word == "none" {
        return Ok(0);
    }
    word.parse().ok().filter(|&n| n > 0).ok_or_else(|| "give a number, or `none`".to_owned())
}

fn switch(word: &str) -> Result<bool, String> {
    match word {
        "on" | "true" | "yes" => Ok(true),
        "off" | "false" | "no" => Ok(false),
        _ => Err("give `on` or `off`".to_owned()),
    }
}

pub(super) async fn run(context: &Context, args: EditArgs) -> Result<(), Problem> {
    let body = EditBrief {
        title: args.title,
        kind: args.kind,
        epic: args.epic,
        auto_dispatch: args.auto_dispatch,
        design_loop: args.design_loop,
        add_projects: args.add_project,
        drop_projects: args.drop_project,
    };
    let brief: BriefView = context.client().await?.patch(&format!("/api/briefs/{}", args.number), &body).await?;
    context.answer(&brief, |brief| super::line(context, brief))
}
