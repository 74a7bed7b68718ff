//! `flower brief new`

use crate::cli::{Context, input, own_token, spec};
use flower_contract::error::Problem;
use flower_contract::request::NewBrief;
use flower_contract::view::BriefView;
use flower_core::BriefKind;

/// Create a brief
#[derive(clap::Args)]
pub(super) struct NewArgs {
    /// One line that describes the work
    title: String,
    /// note, feature, fix, research, epic or incident; feature by default
    #[arg(long, value_name = "K", value_parser = input::word::<BriefKind>)]
    kind: Option<BriefKind>,
    /// A proposed plan in Markdown: a file, or `-` for standard input
    #[arg(long, value_name = "FILE")]
    spec: Option<String>,
    /// The proposed plan itself
    #[arg(long, short, value_name = "TEXT", conflicts_with = "spec")]
    message: Option<String>,
    /// Write the proposed plan in your editor
    #[arg(long, short, conflicts_with_all = ["spec", "message"])]
    edit: bool,
    /// The epic of the brief
    #[arg(long, value_name = "N", value_parser = crate::cli::input::number)]
    epic: Option<u64>,
    /// A brief that must be landed or done first; can be repeated
    #[arg(long, value_name = "N", value_parser = crate::cli::input::number)]
    needs: Vec<u64>,
    /// Dispatch the brief automatically once it is planned and its dependencies are done
    #[arg(long)]
    auto_dispatch: bool,
    /// Dispatch a design pass before the build
    #[arg(long)]
    design_loop: bool,
}

pub(super) async fn run(context: &Context, args: NewArgs) -> Result<(), Problem> {
    let spec = match (&args.spec, args.edit) {
        (Some(file), _) => Some(input::text(file)?),
        (None, true) => Some(spec::edit(context, &format!("# {}\n\n", args.title))?),
        (None, false) => args.message,
    };
    let body = NewBrief {
        title: args.title,
        kind: args.kind,
        spec,
        project: context.project.clone(),
        dir: Some(context.dir.clone()),
        epic: args.epic,
        needs: args.needs,
        auto_dispatch: args.auto_dispatch,
        design_loop: args.design_loop,
    };
    let brief: BriefView = context.client().await?.post("/api/briefs", &body).await?;
    context.answer(&brief, |brief| {
        let projects: Vec<&str> = brief.projects.iter().map(|project| project.name.as_str()).collect();
        let command = match brief.spec.version {
            0 => format!("flower brief plan {}", brief.number),
            _ => format!("flower brief accept {}", brief.number),
        };
        // An agent proposes: another one accepts.
        let next = if own_token().is_some() { "the operator's next step" } else { "next" };
        let next = format!("in project {}; {next}: `{command}`", projects.join(", "));
        format!("{}{}\n", super::line(context, brief), context.style.dim(&next))
    })
}
