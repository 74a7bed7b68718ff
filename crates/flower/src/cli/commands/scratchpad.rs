//! `flower scratchpad`

use crate::cli::output::{Table, ago, plain, terminal_width};
use crate::cli::{Context, input};
use crate::client::Client;
use clap::Subcommand;
use flower_contract::error::Problem;
use flower_contract::request::{NewScratchpad, WriteScratchpad};
use flower_contract::view::ScratchpadView;

/// Scratchpads: numbered working documents of briefs
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ScratchpadArgs {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Only scratchpads of this brief
    #[arg(long, value_name = "N", value_parser = crate::cli::input::number)]
    brief: Option<u64>,
}

#[derive(Subcommand)]
enum Verb {
    /// Create a scratchpad
    New {
        /// The title
        title: String,
        /// The brief of the scratchpad
        #[arg(long, value_name = "N", value_parser = crate::cli::input::number)]
        brief: Option<u64>,
        /// The text: a file, or `-` for standard input
        #[arg(long, value_name = "FILE")]
        text: Option<String>,
    },
    /// Show the text of a scratchpad
    Show {
        /// The number of the scratchpad
        #[arg(value_parser = crate::cli::input::number)]
        number: u64,
    },
    /// Replace the text of a scratchpad, or append to it
    Write {
        /// The number of the scratchpad
        #[arg(value_parser = crate::cli::input::number)]
        number: u64,
        /// A file, or `-` for standard input
        file: String,
        /// Append to the text instead of replacing it
        #[arg(long)]
        append: bool,
        /// Write only if the scratchpad is at this version
        #[arg(long, value_name = "VERSION")]
        base: Option<u64>,
    },
}

pub(crate) async fn run(context: &Context, args: ScratchpadArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    let pad: ScratchpadView = match args.verb {
        None => return list(context, &client, args.brief).await,
        Some(Verb::New { title, brief, text }) => {
            let text = text.as_deref().map(input::text).transpose()?;
            client.post("/api/scratchpads", &NewScratchpad { title, brief, text }).await?
        }
        Some(Verb::Write { number, file, append, base }) => {
            let body = WriteScratchpad { text: input::text(&file)?, append, base };
            client.put(&format!("/api/scratchpads/{number}"), &body).await?
        }
        Some(Verb::Show { number }) => {
            let pad: ScratchpadView = client.get(&format!("/api/scratchpads/{number}")).await?;
            return context.answer(&pad, |pad| {
                format!("{}\n\n{}\n", context.style.bold(&heading(pad)), plain(&pad.text).trim_end())
            });
        }
    };
    context.answer(&pad, |pad| format!("{}, version {}\n", heading(pad), pad.version))
}

fn heading(pad: &ScratchpadView) -> String {
    format!("scratchpad {}: {}", pad.number, plain(&pad.title))
}

async fn list(context: &Context, client: &Client, brief: Option<u64>) -> Result<(), Problem> {
    let filter = brief.map_or_else(String::new, |brief| format!("&brief={brief}"));
    let mut pads: Vec<ScratchpadView> = Vec::new();
    loop {
        let after = pads.last().map_or(0, |pad| pad.number);
        let page: Vec<ScratchpadView> = client.get(&format!("/api/scratchpads?after={after}{filter}")).await?;
        if page.is_empty() {
            break;
        }
        pads.extend(page);
    }
    context.answer(&pads, |pads| {
        if pads.is_empty() {
            return "no scratchpads yet; `flower scratchpad new TITLE --brief N`\n".to_owned();
        }
        let now = jiff::Timestamp::now();
        let mut table = Table::new(&["#", "TITLE", "BRIEF", "BY", "UPDATED"], 1);
        for pad in pads {
            let brief = pad.brief.map_or_else(String::new, |brief| format!("#{brief}"));
            table.row(vec![
                pad.number.to_string().into(),
                plain(&pad.title).into(),
                brief.into(),
                plain(&pad.by).into(),
                ago(&pad.updated_at, now).into(),
            ]);
        }
        table.render(context.style, terminal_width())
    })
}
