//! `cargo xtask`: development tasks of flower, one file per subcommand.

mod agents;
mod bench;
mod bloom;
mod demo;
mod edit_loop;
mod install;
mod licences;
mod pictures;
mod postgres;
mod postgres_binaries;
mod repositories;
mod run;
mod skipped;
mod spdx;
mod steps;
#[path = "../../crates/flower/src/demo/mod.rs"]
#[expect(dead_code, reason = "parts of the demo that only `flower demo` uses")]
mod story;
mod test;
mod tmpfs;
mod user;
mod words;

use std::io::Write as _;
use std::process::ExitCode;

/// A new subcommand needs an entry here and a file.
const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand { name: "test", about: "Check everything that CI checks", help: test::HELP, run: test::run },
    Subcommand { name: "demo", about: "Build flower and demonstrate it", help: demo::HELP, run: demo::run },
    Subcommand {
        name: "bench",
        about: "Measure the figures of docs/benchmarks.md",
        help: bench::HELP,
        run: bench::run,
    },
    Subcommand { name: "bloom", about: "Build flower's page", help: bloom::HELP, run: bloom::run },
    Subcommand {
        name: "pictures",
        about: "Take the README's pictures from the real program",
        help: pictures::HELP,
        run: pictures::run,
    },
    Subcommand {
        name: "licences",
        about: "Check the licences of all dependencies",
        help: licences::HELP,
        run: licences::run,
    },
    Subcommand {
        name: "agents",
        about: "Install the real agents and MCP clients of the tests",
        help: agents::HELP,
        run: agents::run,
    },
    Subcommand {
        name: "repositories",
        about: "Fetch the sources and programs of the tests on real repositories",
        help: repositories::HELP,
        run: repositories::run,
    },
    Subcommand {
        name: "postgres",
        about: "Run a command beside a throw-away PostgreSQL",
        help: postgres::HELP,
        run: postgres::run,
    },
];

struct Subcommand {
    name: &'static str,
    about: &'static str,
    help: &'static str,
    run: fn(&[String]) -> Result<(), String>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // Programs start in the root of the repository unless they say otherwise.
    let at_root = std::env::set_current_dir(run::repository_root());
    match at_root.map_err(|error| error.to_string()).and_then(|()| dispatch(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("\nerror: {message}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<(), String> {
    let Some((name, rest)) = arguments.split_first() else {
        return Err(format!("no subcommand given\n\n{}", overview()));
    };
    if matches!(name.as_str(), "help" | "--help" | "-h") {
        return answer(&overview());
    }
    let Some(subcommand) = SUBCOMMANDS.iter().find(|known| known.name == name) else {
        return Err(format!("no subcommand `{name}`\n\n{}", overview()));
    };
    let own_options = rest.iter().take_while(|argument| *argument != "--");
    if own_options.into_iter().any(|a| a == "--help" || a == "-h") {
        return answer(subcommand.help);
    }
    (subcommand.run)(rest)
}

fn overview() -> String {
    let mut text = String::from("Usage: cargo xtask SUBCOMMAND [--help]\n\nSubcommands:\n");
    for Subcommand { name, about, .. } in SUBCOMMANDS {
        text.push_str(&format!("  {name:<10} {about}\n"));
    }
    text
}

/// Prints requested text to standard output; progress messages go to standard error.
fn answer(text: &str) -> Result<(), String> {
    writeln!(std::io::stdout(), "{}", text.trim_end())
        .map_err(|error| format!("could not write the help to standard output: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_subcommand_is_answered_with_the_known_ones() {
        let message = dispatch(&["tset".to_owned()]).unwrap_err();
        assert!(message.contains("no subcommand `tset`"));
        assert!(SUBCOMMANDS.iter().all(|known| message.contains(known.about)));
    }
}
