//! Proposes a `flower.toml` for a new project, tries it, and lands it.

use super::trial;
use crate::cli::landing::{short, verdict};
use crate::cli::output::plain;
use crate::cli::{Context, editor, wait};
use crate::client::{Client, escape};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::request::LandSettings;
use flower_contract::view::{CommandsView, LandingView, ProposalView};
use flower_engine::merge_queue::install_hint;
use flower_engine::settings::Settings;
use std::io::{Read, Write};
use std::path::Path;

/// Larger than any flower.toml.
const MAX_BYTES: u64 = 1024 * 1024;

/// Reads the operator's own text.
pub(super) fn read_file(path: &Path) -> Result<String, Problem> {
    let mut text = String::new();
    let read = match path.to_str() {
        Some("-") => std::io::stdin().take(MAX_BYTES).read_to_string(&mut text),
        _ => std::fs::File::open(path).and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text)),
    };
    read.map(|_| text).map_err(|error| {
        Problem::usage(format!("`{}` cannot be read: {error}", path.display()), "name a file that you can read")
    })
}

/// Prints the proposal alone, also if MAIN has a `flower.toml`.
pub(super) async fn print(context: &Context, client: &Client, project: &str) -> Result<(), Problem> {
    let address = format!("/api/main/settings?project={}&anew=true", escape(project));
    let proposal: ProposalView = client.get(&address).await?;
    context.answer(&proposal, |proposal| plain(&proposal.text))?;
    if !proposal.has_checks && !context.json {
        warn_no_checks(context);
    }
    Ok(())
}

/// Offers a text to the operator.
pub(super) struct Offer<'a> {
    pub(super) context: &'a Context,
    pub(super) client: &'a Client,
    pub(super) project: &'a str,
    /// Whether the checks are tried without a question.
    pub(super) trying: bool,
}

/// A text, and where it comes from.
struct Draft {
    text: String,
    origin: Origin,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    Proposed,
    /// It lies in MAIN's checkout.
    Uncommitted,
    /// The operator's own file, or an edited text.
    Own,
}

impl Offer<'_> {
    fn address(&self) -> String {
        format!("/api/main/settings?project={}", escape(self.project))
    }

    /// Shows the text and does what the operator wants with it. Writes to standard error: standard output has the project.
    pub(super) async fn make(&self, own: Option<String>) -> Result<(), Problem> {
        let draft = match own {
            Some(text) => {
                self.show("your file, which would replace the flower.toml of MAIN", &text);
                Draft { text, origin: Origin::Own }
            }
            None => match self.propose().await? {
                Some(draft) => draft,
                None => return Ok(()),
            },
        };
        if !self.context.can_ask() {
            // On a terminal the text can be edited.
            Settings::parse(&draft.text).map_err(|problem| invalid(problem, draft.origin))?;
        }
        let has_checks = has_checks(&draft.text);
        if !has_checks && !self.context.json {
            warn_no_checks(self.context);
        }
        if self.context.can_ask() {
            return self.ask(draft).await;
        }
        if self.trying && has_checks {
            trial::run(self.context, self.client, self.project, &draft.text).await?;
        }
        match self.context.yes {
            // Only a text that somebody wrote lands without checks.
            true if !has_checks && draft.origin == Origin::Proposed => Err(no_checks()),
            true => self.land(&draft.text).await,
            false if self.trying && !has_checks => Err(nothing_to_try()),
            false if self.trying => Ok(()),
            false => {
                eprintln!(
                    "nothing has landed. Try its checks: `flower init --try`; land it: `flower init --yes`; or write your own: \
                     `flower init --print > flower.toml`, edit it, and `flower init` again"
                );
                Ok(())
            }
        }
    }

    /// The text that lies in MAIN, or a proposal. `None` if there is nothing to offer.
    async fn propose(&self) -> Result<Option<Draft>, Problem> {
        let proposal: ProposalView = match self.client.get(&self.address()).await {
            Ok(proposal) => proposal,
            // For instance before the first commit, where the repository is a project all the same.
            Err(problem) if problem.kind == ProblemKind::Refused => {
                note(self.context, &problem);
                return Ok(None);
            }
            Err(problem) => return Err(problem),
        };
        if proposal.exists {
            self.remind().await?;
            return Ok(None);
        }
        let origin = if proposal.uncommitted { Origin::Uncommitted } else { Origin::Proposed };
        if proposal.uncommitted {
            self.show("MAIN has no flower.toml yet; this one lies in its folder and is not committed", &proposal.text);
        } else {
            let from = match proposal.found.is_empty() {
                true => "a repository of unknown contents".to_owned(),
                false => plain(&proposal.found.join(", ")),
            };
            self.show(&format!("MAIN has no flower.toml yet; this one is proposed, based on {from}"), &proposal.text);
        }
        if !self.context.json {
            for program in &proposal.missing_programs {
                let hint = install_hint(program);
                eprintln!("{}: `{program}` is not installed; {hint}", self.context.style.bad("note"));
            }
        }
        Ok(Some(Draft { text: proposal.text, origin }))
    }

    fn show(&self, what: &str, text: &str) {
        if self.context.json && (self.context.yes || self.trying) {
            return;
        }
        let lines: String = plain(text).lines().map(|line| format!("  {line}\n")).collect();
        eprint!("{what}:\n\n{lines}\n");
    }

    /// Reminds the operator if the commands of an existing `flower.toml` are not approved.
    async fn remind(&self) -> Result<(), Problem> {
        let project = self.project;
        if self.context.json {
            return Ok(());
        }
        match self.client.get::<CommandsView>(&format!("/api/projects/{}/commands", escape(project))).await {
            Ok(found) if !found.commands.iter().any(|command| command.starts_with("check ")) => {
                warn_no_checks(self.context);
            }
            Ok(found) if found.approved => {}
            Ok(_) => {
                eprintln!("the commands of its flower.toml wait for approval: `flower project approve {project}`");
            }
            Err(problem) if problem.kind == ProblemKind::Refused => {
                eprintln!("{}; {}", plain(&problem.message), plain(&problem.hints.join("; ")));
            }
            Err(problem) => return Err(problem),
        }
        Ok(())
    }

    async fn ask(&self, mut draft: Draft) -> Result<(), Problem> {
        if self.trying {
            self.try_and_say(&draft.text).await?;
        }
        loop {
            let has_checks = has_checks(&draft.text);
            let may_land = has_checks || draft.origin != Origin::Proposed;
            eprint!(
                "{}",
                match (may_land, has_checks) {
                    (true, true) => "land this flower.toml? [y/N/t(ry)/e(dit)] ",
                    (true, false) => "land this flower.toml, which checks nothing? [y/N/e(dit)] ",
                    (false, _) => "edit this flower.toml? [N/e(dit)] ",
                }
            );
            let _ = std::io::stderr().flush();
            let mut answer = String::new();
            let read = std::io::stdin().read_line(&mut answer);
            match answer.trim() {
                "y" | "Y" | "yes" if read.is_ok() && may_land => match self.land(&draft.text).await {
                    // The operator can edit a text that cannot be parsed.
                    Err(problem)
                        if problem.kind == ProblemKind::Refused && problem.message.contains("cannot be read") =>
                    {
                        eprintln!("{}", plain(&problem.message));
                    }
                    ended => return ended,
                },
                "t" | "T" | "try" if read.is_ok() && has_checks => self.try_and_say(&draft.text).await?,
                "e" | "E" | "edit" if read.is_ok() => {
                    let edited = editor::edit(&self.context.home, &draft.text, "toml")?;
                    if edited != draft.text {
                        draft = Draft { text: edited, origin: Origin::Own };
                    }
                    self.show("with your changes", &draft.text);
                }
                _ => {
                    eprintln!("nothing was landed; `flower init` proposes it again");
                    return Ok(());
                }
            }
        }
    }

    /// Tries the text. A red check is not the end: the operator can edit the text.
    async fn try_and_say(&self, text: &str) -> Result<(), Problem> {
        match trial::run(self.context, self.client, self.project, text).await {
            Err(problem) if problem.kind == ProblemKind::Refused => {
                eprintln!("{}", plain(&problem.message));
                problem.hints.iter().for_each(|hint| eprintln!("  {}", plain(hint)));
                Ok(())
            }
            tried => tried,
        }
    }

    /// Lands the text, and approves it: the operator has just read it.
    async fn land(&self, text: &str) -> Result<(), Problem> {
        let queued: LandingView = self.client.post(&self.address(), &LandSettings { text: text.to_owned() }).await?;
        match self.client.post::<LandingView>(&format!("/api/landings/{}/approve", queued.id), &()).await {
            // The landing may have ended already; its end is printed below.
            Err(problem) if problem.kind != ProblemKind::Refused => return Err(problem),
            _ => {}
        }
        let landing = wait::until_settled(self.context, self.client, queued.id, None).await?;
        verdict(&landing)?;
        if self.context.json {
            return Ok(());
        }
        let commit = landing.merge_commit.as_deref().map_or("MAIN", short);
        self.context.print(&format!("flower.toml has landed as {commit}; `flower queue show {}`\n", landing.id))
    }
}

fn note(context: &Context, problem: &Problem) {
    if !context.json {
        eprintln!("no flower.toml is proposed yet: {}; {}", plain(&problem.message), plain(&problem.hints.join("; ")));
    }
}

/// Whether a text has a check. One that cannot be parsed is refused when it is tried or landed.
fn has_checks(text: &str) -> bool {
    Settings::parse(text).map_or(true, |settings| !settings.checks.list.is_empty())
}

const EXAMPLE: &str = "[checks]\ntest = { run = \"make test\", timeout = \"10m\" }";

fn warn_no_checks(context: &Context) {
    let style = context.style;
    eprintln!("{}", style.bad("!! NOTHING IS CHECKED: every landing that merges reaches MAIN untested. !!"));
    eprintln!("Write what must pass into flower.toml, then `flower init --try`; for instance:");
    EXAMPLE.lines().for_each(|line| eprintln!("  {line}"));
}

/// The text comes from a file, not from a worktree.
fn invalid(problem: Problem, origin: Origin) -> Problem {
    let next = match origin {
        Origin::Own => "correct the file, then run the same command again; docs/guide.md lists every key",
        Origin::Proposed | Origin::Uncommitted => {
            "correct flower.toml, then `flower init` again; docs/guide.md lists every key"
        }
    };
    Problem { hints: vec![next.to_owned()], ..problem }
}

fn nothing_to_try() -> Problem {
    Problem::new(
        ProblemKind::Refused,
        "nothing was tried, because this flower.toml has no checks",
        "name what must pass: `flower init --print > flower.toml`, edit it, then `flower init --try`",
    )
}

fn no_checks() -> Problem {
    Problem {
        kind: ProblemKind::Refused,
        message: "nothing was landed, because the proposed flower.toml has no checks".to_owned(),
        hints: vec![
            "name what must pass: `flower init --print > flower.toml`, edit it, then `flower init --try --yes`"
                .to_owned(),
            "to land a file without checks on purpose: `flower init --file FILE --yes`".to_owned(),
        ],
    }
}
