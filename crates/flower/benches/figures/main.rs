//! The figures of docs/benchmarks.md, measured on the real program. `cargo xtask bench` runs this.
//!
//! Each measurement prints one JSON document per line on standard output; narration goes to standard error.

mod appends;
mod claims;
mod commands;
mod idle;
mod landing;
mod live;
mod network;
mod peers;
mod recall;
mod scratch;
mod search;
mod start;
mod worktrees;

use serde_json::json;
use std::time::Duration;

type Measure = fn() -> Vec<Figure>;

const FIGURES: &[(&str, Measure)] = &[
    ("P1", worktrees::many_files),
    ("P2", worktrees::few_files),
    ("P2-PEERS", worktrees::peers),
    ("P4", worktrees::carried_cache),
    ("P5", commands::measure),
    ("P6", appends::measure),
    ("P7", recall::measure),
    ("P8", search::measure),
    ("P9", claims::measure),
    ("P10", landing::measure),
    ("P10-PEERS", landing::peers),
    ("P15", worktrees::jail),
    ("P16", live::measure),
    ("P17", idle::measure),
    ("P18", start::measure),
    ("P28", network::measure),
];

/// One line of the table.
pub struct Figure {
    pub id: &'static str,
    pub what: String,
    pub measured: String,
    /// What it is compared with, measured in the same run.
    pub peer: String,
    pub ratio: Option<f64>,
    pub goal: &'static str,
    pub reached: bool,
}

#[expect(clippy::print_stdout, reason = "the figures are the answer")]
fn main() {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.next_if(|first| first == commands::LAUNCH).is_some() {
        return commands::launch(arguments);
    }
    // `cargo bench` adds an argument of its own.
    let wanted: Vec<String> = arguments.filter(|arg| arg != "--bench").collect();
    for (name, measure) in FIGURES {
        let is_named = wanted.iter().any(|w| w.eq_ignore_ascii_case(name));
        // Peers that take minutes to build are measured only when they are asked for.
        if !is_named && (!wanted.is_empty() || name.ends_with("-PEERS")) {
            continue;
        }
        eprintln!("measuring {name} …");
        for figure in measure() {
            println!(
                "{}",
                json!({
                    "id": figure.id, "what": figure.what, "measured": figure.measured, "peer": figure.peer,
                    "ratio": figure.ratio, "goal": figure.goal, "reached": figure.reached,
                })
            );
        }
    }
}

/// The value below which `share` of the samples lie.
pub fn quantile(samples: &mut [Duration], share: f64) -> Duration {
    samples.sort_unstable();
    let index = ((samples.len() as f64 - 1.0) * share).round() as usize;
    samples.get(index).copied().unwrap_or_default()
}

pub fn ms(duration: Duration) -> String {
    format!("{:.2} ms", duration.as_secs_f64() * 1e3)
}
