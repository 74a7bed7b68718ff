//! `flower complete`: names that completion scripts offer.

use crate::cli::Context;
use crate::client::Client;
use flower_contract::error::Problem;
use serde_json::Value;
use std::time::Duration;

/// Print the names that can follow these words, for completion scripts
#[derive(clap::Args)]
pub(crate) struct CompleteArgs {
    /// The words of the command line before the one that is completed
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// A person waits for the completion.
const TIMEOUT: Duration = Duration::from_secs(2);

/// What a word of a command names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Noun {
    Worktree,
    Brief,
    Dispatch,
    Landing,
    Agent,
    Profile,
    Project,
}

pub(crate) async fn run(context: &Context, args: &CompleteArgs) -> Result<(), Problem> {
    let words: Vec<&str> = args.words.iter().map(String::as_str).collect();
    let Some(noun) = noun(&words) else { return Ok(()) };
    // No daemon is started for a completion, and a completion never shows an error.
    let client = match context.remote() {
        Ok(Some(client)) => client,
        _ if context.home.socket().exists() => context.local_client()?,
        _ => return Ok(()),
    };
    match tokio::time::timeout(TIMEOUT, names(context, &client, noun)).await {
        Ok(Ok(names)) => context.print(&names.iter().map(|name| format!("{name}\n")).collect::<String>()),
        Ok(Err(_)) | Err(_) => Ok(()),
    }
}

/// What follows these words.
fn noun(words: &[&str]) -> Option<Noun> {
    match words.last() {
        Some(&"--project" | &"--add-project" | &"--drop-project") => return Some(Noun::Project),
        Some(&"--worktree") => return Some(Noun::Worktree),
        Some(&"--agent") => return Some(Noun::Profile),
        Some(&"--brief" | &"--epic" | &"--needs") => return Some(Noun::Brief),
        _ => {}
    }
    let plain: Vec<&str> = words.iter().copied().filter(|word| !word.starts_with('-')).collect();
    match plain.as_slice() {
        ["land" | "diff" | "check" | "comment"]
        | ["worktree", "show" | "path" | "open" | "shell" | "sync" | "remove"] => Some(Noun::Worktree),
        ["brief", "list" | "new"] => None,
        ["brief", _] | ["dispatch"] | ["brief", "needs", _] => Some(Noun::Brief),
        ["dispatch", "show" | "packet" | "cancel"] | ["claim" | "beat" | "handback"] => Some(Noun::Dispatch),
        ["queue" | "revert"] | ["queue", "show" | "log" | "diff" | "approve" | "cancel"] => Some(Noun::Landing),
        ["agent", "spawn"] => Some(Noun::Profile),
        ["agent", "show" | "log" | "tell" | "stop" | "refresh" | "attach"] => Some(Noun::Agent),
        ["project", "remove" | "approve"] => Some(Noun::Project),
        _ => None,
    }
}

async fn names(context: &Context, client: &Client, noun: Noun) -> Result<Vec<String>, Problem> {
    let query = context.project_query();
    let (path, field) = match noun {
        Noun::Worktree => (format!("/api/worktrees?{query}"), "name"),
        Noun::Brief => (format!("/api/briefs?limit=200&{query}"), "number"),
        Noun::Dispatch => (format!("/api/dispatches?limit=50&{query}"), "id"),
        Noun::Landing => (format!("/api/landings?all=true&limit=50&{query}"), "id"),
        Noun::Agent => (format!("/api/agents?all=true&limit=50&{query}"), "name"),
        Noun::Profile => ("/api/agent-profiles".to_owned(), "profile"),
        Noun::Project => ("/api/projects".to_owned(), "name"),
    };
    let all: Vec<Value> = client.get(&path).await?;
    let name = |item: &Value| match &item[field] {
        Value::String(name) => name.clone(),
        other => other.to_string(),
    };
    Ok(all.iter().map(name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lead_to_the_noun_that_follows() {
        for (words, expected) in [
            (&["land"][..], Some(Noun::Worktree)),
            (&["land", "w"], None),
            (&["--json", "worktree", "shell"], Some(Noun::Worktree)),
            (&["brief", "show"], Some(Noun::Brief)),
            (&["brief", "new"], None),
            (&["dispatch"], Some(Noun::Brief)),
            (&["dispatch", "3", "--agent"], Some(Noun::Profile)),
            (&["dispatch", "cancel"], Some(Noun::Dispatch)),
            (&["queue", "log"], Some(Noun::Landing)),
            (&["agent", "tell"], Some(Noun::Agent)),
            (&["status", "--project"], Some(Noun::Project)),
            (&["status"], None),
        ] {
            assert_eq!(noun(words), expected, "{words:?}");
        }
    }
}
