//! Proposes a `flower.toml` for a new project, and lands it.

use crate::cli::landing::{short, verdict};
use crate::cli::output::plain;
use crate::cli::{Context, wait};
use crate::client::{Client, escape};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::request::LandSettings;
use flower_contract::view::{CommandsView, LandingView, ProposalView};
use flower_engine::home::random_hex;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::process::Command;

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
                text = edit(&text)?;
                show(&text, &["your changes".to_owned()]);
            }
            _ => {
                eprintln!("nothing was landed; `flower init` proposes it again");
                return Ok(());
            }
        }
    }
}

/// Opens the text in the operator's editor, and returns the result.
fn edit(text: &str) -> Result<String, Problem> {
    let path = std::env::temp_dir().join(format!("flower-{}.toml", &random_hex()[..16]));
    let cannot = |error: std::io::Error| {
        Problem::new(
            ProblemKind::Refused,
            format!("{} cannot be edited: {error}", path.display()),
            "set VISUAL or EDITOR",
        )
    };
    let edited = (|| {
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        file.write_all(text.as_bytes())?;
        let own =
            ["VISUAL", "EDITOR"].iter().find_map(|name| std::env::var(name).ok().filter(|v| !v.trim().is_empty()));
        let editor = own.unwrap_or_else(|| "vi".to_owned());
        // Through a shell: the variable may contain options, as in `code --wait`.
        let status = Command::new("/bin/sh").args(["-c", &format!("{editor} \"$1\""), "sh"]).arg(&path).status()?;
        if !status.success() {
            return Err(std::io::Error::other(format!("`{editor}` ended with {status}")));
        }
        std::fs::read_to_string(&path)
    })();
    let _ = std::fs::remove_file(&path);
    edited.map_err(cannot)
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
