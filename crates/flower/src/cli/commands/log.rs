//! `flower log`

use crate::cli::Context;
use clap::Subcommand;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{EventView, RebuildView, VerifyView};
use flower_core::Recorded;
use flower_core::chain::Verifier;
use http_body_util::BodyExt;
use std::io::{BufRead, BufReader};

/// The event log: verify it, export it, rebuild the tables from it
#[derive(clap::Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct LogArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Check that no event was changed, removed or moved, and how many events the head file does not cover
    Verify {
        /// Check an exported log; needs no daemon
        #[arg(long, value_name = "FILE", conflicts_with = "tables")]
        file: Option<String>,
        /// Also compare the tables with the log
        #[arg(long)]
        tables: bool,
    },
    /// Write all events to standard output, one JSON document per line
    Export,
    /// Delete the tables and build them again from the log
    Rebuild,
    /// Record that the end of the log is lost, and allow writing again
    AcceptLoss,
}

pub(crate) async fn run(context: &Context, args: LogArgs) -> Result<(), Problem> {
    if let Verb::Verify { file: Some(file), .. } = &args.verb {
        return verdict(context, &verify_file(file)?);
    }
    let client = context.client().await?;
    match args.verb {
        Verb::Verify { tables, .. } => {
            verdict(context, &client.get(&format!("/api/log/verify?tables={tables}")).await?)
        }
        Verb::Export => {
            let mut body = client.stream("/api/log/export").await?;
            while let Some(frame) = body.frame().await {
                let frame = frame.map_err(|error| {
                    Problem::unreachable(format!("the export ended early: {error}"), "it is not complete; try again")
                })?;
                let text = frame.data_ref().map_or(&[][..], |data| data);
                context.print_bytes(text)?;
            }
            Ok(())
        }
        Verb::Rebuild => {
            let rebuilt: RebuildView = client.post("/api/log/rebuild", &()).await?;
            context.answer(&rebuilt, |r| {
                let changes = match r.mended.as_slice() {
                    [] => "no row has changed".to_owned(),
                    tables => format!("these tables differed and are repaired: {}", tables.join(", ")),
                };
                format!("{} rows from {} events; {changes}\n", r.rows, r.events)
            })
        }
        Verb::AcceptLoss => {
            let events: Vec<EventView> = client.post("/api/log/accept-loss", &()).await?;
            context.answer(&events, |events| match events.len() {
                0 => "no events are lost; nothing was done\n".to_owned(),
                _ => "the loss is recorded, and writing is possible again\n".to_owned(),
            })
        }
    }
}

fn verify_file(path: &str) -> Result<VerifyView, Problem> {
    let cannot = |error: std::io::Error| {
        Problem::new(
            ProblemKind::NotFound,
            format!("`{path}` cannot be read: {error}"),
            "name a file that `flower log export` made",
        )
    };
    let mut verifier = Verifier::default();
    let mut fault = None;
    // Read as bytes, because a damaged line may not be UTF-8.
    for line in BufReader::new(std::fs::File::open(path).map_err(cannot)?).split(b'\n') {
        let event: EventView = serde_json::from_slice(&line.map_err(cannot)?).map_err(|error| {
            let hint = "name a file that `flower log export` made";
            Problem::new(ProblemKind::Invalid, format!("line {} is not an event: {error}", verifier.head().0 + 1), hint)
        })?;
        if let Err(found) = verifier.check(&Recorded::from(event)) {
            fault = Some(found);
            break;
        }
    }
    let (verified, head) = verifier.head();
    Ok(VerifyView {
        ok: fault.is_none(),
        verified,
        head: head.to_owned(),
        bad_seq: fault.as_ref().map(|fault| fault.seq),
        fault: fault.map(|fault| fault.what),
        proved: None,
        unproved: verified,
        tables: None,
    })
}

fn verdict(context: &Context, view: &VerifyView) -> Result<(), Problem> {
    context.answer(view, |view| {
        let style = context.style;
        let mut text = match &view.fault {
            Some(fault) => format!("{}: {fault}\n", style.bad("broken")),
            None => format!("{}: {} events, each as it was recorded\n", style.good("whole"), view.verified),
        };
        text.push_str(&match (view.proved, view.unproved) {
            (Some(_), 0) => "the head file proves all of them\n".to_owned(),
            (Some(proved), n) => {
                format!("the head file proves events up to {proved}; the last {n} are not proved\n")
            }
            (None, n) => format!("no head file proves these {n} events\n"),
        });
        if let Some(tables) = view.tables.as_ref().filter(|tables| !tables.is_empty()) {
            let bad = style.bad("these tables differ from the log");
            text.push_str(&format!("{bad}: {}; `flower log rebuild` repairs them\n", tables.join(", ")));
        }
        text
    })?;
    if view.ok {
        return Ok(());
    }
    let message = match view.bad_seq {
        Some(seq) => format!("the log is damaged from event {seq} on"),
        None => "the tables differ from the log".to_owned(),
    };
    let hint = match view.bad_seq {
        Some(_) => "keep a copy of FLOWER_HOME, then restore a backup",
        None => "`flower log rebuild` repairs them",
    };
    Err(Problem::new(ProblemKind::Refused, message, hint))
}
