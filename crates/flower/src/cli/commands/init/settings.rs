//! Proposes a `flower.toml` for a new project, and lands it.

use crate::cli::landing::{short, verdict};
use crate::cli::output::plain;
use crate::cli::{Context, editor, wait};
use crate::client::{Client, escape};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::request::LandSettings;
use flower_contract::view::{CommandsView, LandingView, ProposalView};
use std::io::Write;

/// Offers to land a `flower.toml` if there is none. Writes to standard error: standard output has the project.
pub(super) async fn offer(context: &Context, client: &Client, project: &str) -> Result<(), Problem> {
    let address = format!("/api/main/settings?project={}", escape(project));
    let proposal: ProposalView = match client.get(&address).await {
        Ok(proposal) => proposal,
        // For instance before the first commit, where the repository is a project all the same.
        Err(problem) if problem.kind == ProblemKind::Refused => return note(context, &problem),
        Err(problem) => return Err(problem),
    };
    if proposal.exists {
        return remind(context, client, project).await;
    }
    if context.yes {
        if !context.json {
            show(&proposal.text, &proposal.found);
        }
        return land(context, client, &address, proposal.text).await;
    }
    show(&proposal.text, &proposal.found);
    if context.can_ask() {
        return ask(context, client, &address, proposal.text).await;
    }
    eprintln!("to land it: `flower init --yes`; or write your own and land that");
    Ok(())
}

fn note(context: &Context, problem: &Problem) -> Result<(), Problem> {
    if !context.json {
        eprintln!("no flower.toml is proposed yet: {}; {}", plain(&problem.message), plain(&problem.hints.join("; ")));
    }
    Ok(())
}

/// Reminds the operator if the commands of an existing `flower.toml` are not approved.
async fn remind(context: &Context, client: &Client, project: &str) -> Result<(), Problem> {
    if context.json {
        return Ok(());
    }
    let address = format!("/api/projects/{}/commands", escape(project));
    match client.get::<CommandsView>(&address).await {
        Ok(found) if found.approved || found.commands.is_empty() => {}
        Ok(_) => eprintln!("the commands of its flower.toml wait for approval: `flower project approve {project}`"),
        Err(problem) if problem.kind == ProblemKind::Refused => {
            eprintln!("{}; {}", plain(&problem.message), plain(&problem.hints.join("; ")));
        }
        Err(problem) => return Err(problem),
    }
    Ok(())
}

fn show(text: &str, found: &[String]) {
    let from = if found.is_empty() { "a repository of unknown contents".to_owned() } else { plain(&found.join(", ")) };
    let lines: String = plain(text).lines().map(|line| format!("  {line}\n")).collect();
    eprint!("the project has no flower.toml; this one is proposed, based on {from}:\n\n{lines}\n");
}

async fn ask(context: &Context, client: &Client, address: &str, mut text: String) -> Result<(), Problem> {
    loop {
        eprint!("land this flower.toml? [y/N/e(dit)] ");
        let _ = std::io::stderr().flush();
        let mut answer = String::new();
        let read = std::io::stdin().read_line(&mut answer);
        match answer.trim() {
            "y" | "Y" | "yes" if read.is_ok() => match land(context, client, address, text.clone()).await {
                // The operator can edit a text that cannot be parsed.
                Err(problem) if problem.kind == ProblemKind::Refused && problem.message.contains("cannot be read") => {
                    eprintln!("{}", plain(&problem.message));
                }
                ended => return ended,
            },
            "e" | "E" | "edit" if read.is_ok() => {
                text = editor::edit(&context.home, &text, "toml")?;
                show(&text, &["your changes".to_owned()]);
            }
            _ => {
                eprintln!("nothing was landed; `flower init` proposes it again");
                return Ok(());
            }
        }
    }
}

/// Lands the text, and approves it: the operator has just read it.
async fn land(context: &Context, client: &Client, address: &str, text: String) -> Result<(), Problem> {
    let queued: LandingView = client.post(address, &LandSettings { text }).await?;
    match client.post::<LandingView>(&format!("/api/landings/{}/approve", queued.id), &()).await {
        // The landing may have ended already; its end is printed below.
        Err(problem) if problem.kind != ProblemKind::Refused => return Err(problem),
        _ => {}
    }
    let landing = wait::until_settled(context, client, queued.id, None).await?;
    verdict(&landing)?;
    if context.json {
        return Ok(());
    }
    let commit = landing.merge_commit.as_deref().map_or("MAIN", short);
    context.print(&format!("flower.toml has landed as {commit}; `flower queue show {}`\n", landing.id))
}
