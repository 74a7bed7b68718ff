//! `cargo xtask test`: runs all checks of CI.

use crate::agents;
use crate::bloom;
use crate::install::{self, Tools};
use crate::licences;
use crate::pictures;
use crate::postgres::{self, Cluster};
use crate::repositories;
use crate::run::{Program, minutes, target_folder};
use crate::skipped;
use crate::steps::Steps;
use crate::tmpfs;
use crate::words;
use std::path::PathBuf;

pub(crate) const HELP: &str = "\
Check everything that CI checks

Usage: cargo xtask test [--soak] [--real-agents] [--real-repositories] [--look] [--all] [-- NEXTEST-ARGUMENT…]

Options:
  --soak               Also run the long tests (sets FLOWER_SOAK=1)
  --real-agents        Also install the real agents below `target` and run the tests that start them
  --real-repositories  Also fetch sources of released packages below `target` and run the tests that land changes in them
  --look               Also take pictures of every page, in two widths, light and dark, into `bloom/.screenshots`
  --all                All of the above

Arguments after `--` go to `cargo nextest run`, for instance a part of a test's name. They do not
apply to the tests of real agents and repositories.

Missing programs are installed on Debian as root. Elsewhere, tests that need them are
skipped; the last lines name each skipped test and its reason. With CI=true, a missing
program is an error, and so is a test that was skipped although the machine could run it.
";

#[derive(Debug, Default, PartialEq)]
struct Options {
    soak: bool,
    real_agents: bool,
    real_repositories: bool,
    look: bool,
    nextest_arguments: Vec<String>,
}

pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let options = parse(arguments)?;
    tmpfs::restart_on_tmpfs();
    let mut steps = Steps::begin();

    let tools = steps.step("prerequisites", install::require_tools)?;
    let agents = match options.real_agents {
        true => Some(steps.step("installation of the real agents", agents::require)?),
        false => None,
    };
    let sources = match options.real_repositories {
        true => Some(steps.step("sources of real repositories", repositories::require)?),
        false => None,
    };
    steps.step("format", || {
        let format = Program::cargo(minutes(5)).args(["fmt", "--all", "--check"]);
        let hint = |error| format!("{error}\nhint: run `cargo fmt --all`");
        format.run().map_err(hint)
    })?;
    steps.step("replaced words (warnings only)", words::warn)?;
    steps.step("page", bloom::build)?;
    // In parallel, because neither uses two cores all the time.
    steps.step("clippy, and the page's own checks", || {
        let clippy = || {
            Program::cargo(minutes(60))
                .args(["clippy", "--workspace", "--all-targets", "--locked"])
                .args(["--", "-D", "warnings"])
                .run()
        };
        let page = || bloom::npm(&["run", "check"]).run().and_then(|()| bloom::npm(&["run", "unit"]).run());
        std::thread::scope(|scope| {
            let page = scope.spawn(page);
            clippy().and(page.join().expect("it does not panic"))
        })
    })?;
    steps.step("licences", licences::check)?;
    let cluster = match &tools.postgres {
        Some(binaries) => Some(steps.step("PostgreSQL", || Cluster::start(binaries))?),
        None => None,
    };
    skipped::clear()?;
    steps.step("tests", || {
        let program = test_program(&tools, &options)?;
        in_test_environment(program, &tools, &options, cluster.as_ref()).run()
    })?;
    if tools.chromium {
        steps.step("page in a browser", || {
            let look = if options.look { "1" } else { "" };
            bloom::npm(&["run", "browser"]).env("FLOWER_BIN", program()).env("FLOWER_LOOK", look).run()
        })?;
    }
    if let Some(agents) = &agents {
        steps.step("real agents", || {
            let program = ignored_tests(&tools, &["real_agents::", "mcp::"]);
            in_test_environment(program, &tools, &options, None).env(agents::VARIABLE, agents).run()
        })?;
    }
    if let Some(sources) = &sources {
        steps.step("real repositories", || {
            let program = ignored_tests(&tools, &["real_repositories::"]);
            in_test_environment(program, &tools, &options, None).env(repositories::VARIABLE, sources).run()
        })?;
    }
    steps.step("documentation tests", || {
        let program = Program::cargo(minutes(60)).args(["test", "--doc", "--workspace", "--locked"]);
        in_test_environment(program, &tools, &options, cluster.as_ref()).run()
    })?;
    steps.step("documentation", || {
        Program::cargo(minutes(60))
            .args(["doc", "--workspace", "--no-deps", "--locked"])
            .env("RUSTDOCFLAGS", "-D warnings")
            .run()
    })?;

    drop(cluster);
    eprintln!("\n{}", steps.summary(&tools.skipped));
    let skipped_tests = skipped::load();
    if let Some(report) = skipped_tests.report() {
        eprintln!("\n{report}");
    }
    match pictures::changes_since() {
        0 => {}
        changes => eprintln!(
            "The page has changed {changes} times since the README's pictures were taken: \
             run `cargo xtask pictures`."
        ),
    }
    skipped_tests.judge(install::in_ci())
}

/// The program that was built for the tests.
fn program() -> PathBuf {
    target_folder().join("debug/flower")
}

fn parse(arguments: &[String]) -> Result<Options, String> {
    let mut options = Options::default();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--soak" => options.soak = true,
            "--real-agents" => options.real_agents = true,
            "--real-repositories" => options.real_repositories = true,
            "--look" => options.look = true,
            "--all" => {
                (options.soak, options.real_agents, options.real_repositories, options.look) = (true, true, true, true);
            }
            "--" => options.nextest_arguments = arguments.by_ref().cloned().collect(),
            unknown => {
                return Err(format!("unknown option `{unknown}`; put arguments for nextest after `--`\n\n{HELP}"));
            }
        }
    }
    Ok(options)
}

fn test_program(tools: &Tools, options: &Options) -> Result<Program, String> {
    let deadline = minutes(if options.soak { 8 * 60 } else { 90 });
    let program = Program::cargo(deadline);
    let common = ["--workspace", "--locked", "--no-fail-fast"];
    if tools.nextest {
        // More threads than cores, because many tests mostly wait.
        let threads = std::thread::available_parallelism().map_or(4, |cores| cores.get() + 2);
        let threads = format!("--test-threads={threads}");
        let program = program.args(["nextest", "run", &threads]).args(common);
        return Ok(program.args(&options.nextest_arguments));
    }
    if let Some(argument) = options.nextest_arguments.first() {
        return Err(format!(
            "`{argument}` is meant for nextest, which is missing; \
             run `cargo install cargo-nextest --locked`, or leave it out"
        ));
    }
    // Documentation tests are a separate step.
    Ok(program.args(["test", "--tests"]).args(common))
}

/// Runs the ignored tests of some modules, such as those of real agents and of a third-party MCP client, one at a time, because
/// each starts large programs. Other ignored tests are helpers that tests start themselves.
fn ignored_tests(tools: &Tools, modules: &[&str]) -> Program {
    let target = ["--package", "flower", "--test", "it", "--locked"];
    let program = Program::cargo(minutes(60));
    if !tools.nextest {
        return program.args(["test"]).args(target).args(["--", "--ignored", "--test-threads=1"]).args(modules);
    }
    let program = program.args(["nextest", "run"]).args(target).args(modules);
    program.args(["--run-ignored", "only", "--test-threads", "1", "--no-fail-fast", "--no-tests", "fail"])
}

/// Sets or removes all variables that change the tests, so that the caller's environment has no effect.
fn in_test_environment(program: Program, tools: &Tools, options: &Options, cluster: Option<&Cluster>) -> Program {
    let url = cluster.map(|cluster| cluster.url.as_str());
    let when = |condition: bool| condition.then_some("1");
    [
        (postgres::URL_VARIABLE, url),
        ("FLOWER_TEST_SKIP_POSTGRES", when(url.is_none())),
        ("FLOWER_TEST_SKIP_PYTHON", when(!tools.python)),
        ("FLOWER_SOAK", when(options.soak)),
        (agents::VARIABLE, None),
        (repositories::VARIABLE, None),
        // A page that differs from its snapshot fails, and no file is written.
        ("INSTA_UPDATE", Some("no")),
        ("INSTA_FORCE_PASS", None),
    ]
    .into_iter()
    .fold(program.env(skipped::VARIABLE, skipped::file()), |program, (key, value)| match value {
        Some(value) => program.env(key, value),
        None => program.without_env(key),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options, String> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&arguments)
    }

    #[test]
    fn all_means_everything() {
        assert_eq!(parsed("--all"), parsed("--soak --real-agents --real-repositories --look"));
        assert_ne!(parsed("--soak"), parsed("--real-agents"));
        assert_eq!(parsed(""), Ok(Options::default()));
    }

    #[test]
    fn what_follows_the_dashes_belongs_to_nextest() {
        let options = parsed("--soak -- --all landing").unwrap();
        assert!(options.soak && !options.real_agents);
        assert_eq!(options.nextest_arguments, ["--all", "landing"]);
    }

    #[test]
    fn a_filter_before_the_dashes_is_answered_with_where_to_put_it() {
        let message = parsed("landing").unwrap_err();
        assert!(message.starts_with("unknown option `landing`; put arguments for nextest after"));
    }

    #[test]
    fn arguments_for_nextest_are_not_dropped_when_it_is_missing() {
        let tools = Tools { postgres: None, python: true, nextest: false, chromium: false, skipped: vec![] };
        assert!(test_program(&tools, &parsed("").unwrap()).is_ok());
        let message = test_program(&tools, &parsed("-- landing").unwrap()).err();
        assert!(message.unwrap().contains("`landing` is meant for nextest"));
    }
}
