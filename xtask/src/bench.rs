//! `cargo xtask bench`: measures the figures and writes them into docs/benchmarks.md.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::bloom;
use crate::demo;
use crate::edit_loop;
use crate::install;
use crate::run::{Program, minutes, repository_root};

pub(crate) const HELP: &str = "\
Usage: cargo xtask bench [NAME…]

Measures the figures of docs/benchmarks.md (P1 to P10, P15 to P19, P26, P28), or only those named, in a release build, and
writes them into that file. P9 also measures PostgreSQL if it runs beside one: `cargo xtask postgres -- cargo xtask bench P9`.
P2-PEERS builds worktrunk and workmux, and P10-PEERS installs mergetrain, when they are named. Machines are
noisy: look at the ratios, which come from the same run, not at the milliseconds.";

/// The figure that is measured in a browser.
const PAGE: &str = "P19";

const BEGIN: &str = "<!-- figures: written by `cargo xtask bench` -->";
const END: &str = "<!-- end of figures -->";

pub(crate) fn run(names: &[String]) -> Result<(), String> {
    if let Some(option) = names.iter().find(|name| name.starts_with('-')) {
        return Err(format!("`{option}` is not understood\n\n{HELP}"));
    }
    let is_wanted = |id: &str| names.is_empty() || names.iter().any(|name| name == id);
    if is_wanted(edit_loop::ID) {
        let figures = edit_loop::figures()?;
        store(names, &figures.iter().map(|figure| format!("{figure}\n")).collect::<String>())?;
    }
    let others: Vec<&String> = names.iter().filter(|name| ![PAGE, edit_loop::ID].contains(&name.as_str())).collect();
    if names.is_empty() || !others.is_empty() {
        let bench = ["bench", "--locked", "--package", "flower", "--bench", "figures", "--"];
        store(names, &Program::cargo(minutes(60)).args(bench).args(others).capture_stdout()?)?;
    }
    if is_wanted(PAGE) {
        install::require_tools()?;
        let flower = demo::build()?;
        store(names, &bloom::npm(&["run", "--silent", "bench"]).env("FLOWER_BIN", flower).capture_stdout()?)?;
    }
    Ok(())
}

/// Prints and stores the measured figures, one per line of JSON.
fn store(names: &[String], printed: &str) -> Result<(), String> {
    let rows: Vec<(String, String)> =
        printed.lines().filter_map(|line| row(&serde_json::from_str(line).ok()?)).collect();
    if rows.is_empty() {
        return Err(format!("nothing was measured; is `{}` a figure?\n\n{HELP}", names.join(" ")));
    }
    for (_, row) in &rows {
        eprintln!("{row}");
    }
    write(&rows)
}

/// The sort key: `P2-PEERS` comes after `P2`.
fn number(id: &str) -> u32 {
    let digits: String = id.chars().skip(1).take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(u32::MAX)
}

/// The figure's id and its row of the table.
fn row(figure: &Value) -> Option<(String, String)> {
    let text = |name: &str| figure[name].as_str().unwrap_or_default().to_owned();
    let id = figure["id"].as_str()?.to_owned();
    let ratio = figure["ratio"].as_f64().map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.3}"));
    let reached = if figure["reached"].as_bool()? { "yes" } else { "**no**" };
    let cells = [id.clone(), text("what"), text("measured"), text("peer"), ratio, text("goal"), reached.to_owned()];
    Some((id, format!("| {} |", cells.join(" | "))))
}

/// Replaces the rows of the figures that were measured and keeps the others.
fn write(rows: &[(String, String)]) -> Result<(), String> {
    let path = repository_root().join("docs/benchmarks.md");
    let page = fs::read_to_string(&path).map_err(|error| format!("could not read docs/benchmarks.md: {error}"))?;
    let (before, rest) =
        page.split_once(BEGIN).ok_or("docs/benchmarks.md has no marker for the start of the figures")?;
    let (table, after) = rest.split_once(END).ok_or("docs/benchmarks.md has no marker for the end of the figures")?;
    let measured: BTreeSet<&str> = rows.iter().map(|(id, _)| id.as_str()).collect();
    let kept = table.lines().filter_map(|line| {
        let id = line.split('|').nth(1)?.trim();
        (id.starts_with('P') && !measured.contains(id)).then(|| (id.to_owned(), line.to_owned()))
    });
    let mut all: Vec<(String, String)> = kept.chain(rows.iter().cloned()).collect();
    all.sort_by_key(|(id, _)| number(id));
    let lines: Vec<String> = all.into_iter().map(|(_, line)| line).collect();
    let heading =
        "| figure | what | measured | compared with | ratio | goal | reached |\n|---|---|---|---|---|---|---|";
    let page = format!("{before}{BEGIN}\n{heading}\n{}\n{END}{after}", lines.join("\n"));
    fs::write(&path, page).map_err(|error| format!("could not write docs/benchmarks.md: {error}"))?;
    eprintln!("written into docs/benchmarks.md");
    Ok(())
}
