//! `flower worktree shell --as`: the daemon lends what the profile names, as long as this process lives.

use super::{Inside, print_notes, start};
use crate::cli::Context;
use crate::cli::agent::give_keys_of_operator;
use crate::cli::context::own_token;
use crate::client::{Client, escape};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::request::{IssueToken, OpenShell};
use flower_contract::view::{NewToken, ShellEndView, ShellView};
use flower_core::Role;
use http_body_util::BodyExt;
use hyper::Method;
use std::ffi::OsString;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Between two attempts to reach the next daemon, after the one that lent has ended.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

pub(super) async fn run(context: &Context, name: &str, profile: &str, command: &[OsString]) -> Result<i32, Problem> {
    // The identity of what runs inside has no right to keys; that of the person who starts it has.
    let operator = context.operator_client().await?;
    give_keys_of_operator(&operator).await?;
    let request = OpenShell {
        profile: profile.to_owned(),
        program: command.first().map(|program| program.to_string_lossy().into_owned()),
        path: std::env::var("PATH").ok(),
    };
    let address = super::super::address(context, name, "/shells");
    let shell: ShellView = operator.post(&address, &request).await.map_err(explain)?;
    print_notes(&shell.name, &shell.notes);
    let id = Arc::new(Mutex::new(shell.id.clone()));
    let holding = tokio::spawn(hold(operator.clone(), address, request, id.clone()));
    let mut environment = shell.environment;
    let token = match own_token() {
        Some(_) => None,
        None => Some(issue_token(&operator, profile, &shell.name).await?),
    };
    if let Some(token) = &token {
        environment.insert("FLOWER_TOKEN".to_owned(), token.token.clone());
    }
    let mut words: Vec<OsString> = shell.command.iter().map(OsString::from).collect();
    if let [program, rest @ ..] = command {
        // A name that is no UTF-8 is not found outside, and runs as it is.
        if words.first().is_some_and(|found| *found == *program.to_string_lossy()) {
            words = vec![program.clone()];
        }
        words.extend_from_slice(rest);
    }
    let ended = start(Inside { launcher: shell.launcher, command: words, path: shell.path, environment }).await;
    holding.abort();
    let id = id.lock().expect("no panic while held").clone();
    // If the daemon is away, it has taken everything back.
    if let Ok(end) = operator.delete::<ShellEndView>(&shell_address(&id)).await {
        print_notes(&shell.name, &end.notes);
    }
    if let Some(token) = token {
        let _ = operator.call(Method::DELETE, &format!("/api/tokens/{}", escape(&token.id))).await;
    }
    ended
}

/// Holds the shell open. A daemon that takes the place of another lends again; none is started for that.
async fn hold(operator: Client, address: String, request: OpenShell, id: Arc<Mutex<String>>) {
    loop {
        let current = id.lock().expect("no panic while held").clone();
        if let Ok(mut signs) = operator.stream(&shell_address(&current)).await {
            while let Some(Ok(_)) = signs.frame().await {}
        }
        tokio::time::sleep(RETRY_INTERVAL).await;
        if let Ok(again) = operator.post::<ShellView>(&address, &request).await {
            *id.lock().expect("no panic while held") = again.id;
        }
    }
}

/// Without a packet, the agent is a worker of this worktree that has claimed nothing.
async fn issue_token(operator: &Client, profile: &str, worktree: &str) -> Result<NewToken, Problem> {
    let agent = format!("{profile}-{}", &flower_engine::home::random_hex()[..6]);
    let body = IssueToken { agent, role: Some(Role::Worker), brief: None, worktree: Some(worktree.to_owned()) };
    operator.post("/api/tokens", &body).await
}

fn shell_address(id: &str) -> String {
    format!("/api/shells/{}", escape(id))
}

/// Says who can lend keys.
fn explain(problem: Problem) -> Problem {
    match problem.kind {
        ProblemKind::Forbidden => Problem {
            hints: vec![
                "`--as` lends keys: run it in a terminal of the operator, outside of every worktree".to_owned(),
            ],
            ..problem
        },
        _ => problem,
    }
}
