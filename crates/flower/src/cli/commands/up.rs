//! `flower up`

use crate::cli::Context;
use crate::cli::agent::give_keys;
use crate::cli::output::plain;
use crate::client::{Client, escape};
use crate::daemon::{self, Config, LOOPBACK, Report, ensure_running};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::request::NewProject;
use flower_contract::view::{OpenLink, ProjectView, RepositoryNotice, StatusView};
use flower_git::repository::Repository;
use serde::Serialize;
use std::io::Write;
use std::net::IpAddr;
use std::time::Duration;

/// Make this repository a project, start the daemon, and print the address of its page
#[derive(clap::Args)]
pub(crate) struct UpArgs {
    /// The port on loopback; by default the same as last time
    #[arg(long, value_name = "P")]
    pub(crate) port: Option<u16>,
    /// Run in this terminal instead of in the background
    #[arg(long)]
    pub(crate) foreground: bool,
    /// The address to listen on; only loopback is allowed
    #[arg(long, value_name = "ADDRESS", hide_default_value = true, default_value_t = LOOPBACK)]
    pub(crate) host: IpAddr,
    /// Report the progress of the start on standard output, one JSON document per line
    #[arg(long, hide = true, requires = "foreground")]
    pub(crate) report: bool,
}

#[derive(Serialize)]
struct Up {
    url: String,
    open_url: String,
    project: Option<String>,
    pid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    moved_from: Option<String>,
    /// What the operator should know about the repository.
    notices: Vec<RepositoryNotice>,
}

pub(crate) async fn run(context: &Context, args: &UpArgs) -> Result<(), Problem> {
    // Also if a daemon runs already: the command must not succeed as if that daemon listened there.
    daemon::require_loopback(args.host)?;
    let client = match context.remote()? {
        Some(client) => client,
        None => {
            require_home_outside(context)?;
            let config = Config { home: context.home.clone(), port: args.port, host: args.host };
            ensure_running(&config, &mut |line| eprintln!("{line}")).await?;
            context.local_client()?
        }
    };
    present(context, &client, args).await
}

/// Fails before anything is made if FLOWER_HOME lies in the checkout that would become a project.
pub(super) fn require_home_outside(context: &Context) -> Result<(), Problem> {
    let repository = Repository::discover(&context.dir).filter(|_| context.project.is_none());
    repository.and_then(|repository| context.home.problem_inside(&repository.root)).map_or(Ok(()), Err)
}

async fn present(context: &Context, client: &Client, args: &UpArgs) -> Result<(), Problem> {
    let status: StatusView = client.get(&format!("/api/status?{}", context.project_query())).await?;
    if let Some(port) = args.port
        && !status.url.ends_with(&format!(":{port}"))
    {
        return Err(Problem::new(
            ProblemKind::Conflict,
            format!("the daemon runs already, at {}", status.url),
            format!("stop it first: `flower down`, then `flower up --port {port}`"),
        ));
    }
    let project = register(context, client, status.project.as_deref()).await?;
    // Only agents need keys; everything else works without them.
    if let Err(problem) = give_keys(context, client).await {
        eprintln!("agents get no keys: {}\n  hint: {}", problem.message, problem.hints.join("; "));
    }
    let OpenLink { open_url } = client.post("/api/open-link", &()).await?;
    let name = project.as_ref().map(|project| project.name.clone()).or(status.project);
    if let Some(note) = copy_progress(client, name.as_deref()).await {
        eprintln!("{}; `flower main` shows the progress", plain(&note));
    }
    // The page opens the project of the working directory.
    let open_url = match &name {
        Some(name) => open_url.replacen("/#open=", &format!("/?project={}#open=", escape(name)), 1),
        None => open_url,
    };
    let moved_from = project.as_ref().and_then(|project| project.moved_from.clone());
    let (root, notices) = project.map_or_else(Default::default, |project| (project.root, project.notices));
    let up = Up { url: status.url, open_url, project: name, pid: status.pid, moved_from, notices };
    context.answer(&up, |up| {
        let style = context.style;
        let mut text = match &up.project {
            Some(name) => format!("project {} is served\n", style.bold(name)),
            None if Repository::is_bare(&context.dir) => {
                "this repository is bare, and MAIN is a checkout: clone it, and run `flower up` in the clone\n"
                    .to_owned()
            }
            None => "not in a git repository: run `flower up` again in one\n".to_owned(),
        };
        if let Some(from) = &up.moved_from {
            text.push_str(&format!("its repository was moved here from {}; its worktrees go on\n", plain(from)));
        }
        if !root.is_empty() {
            text.push_str(&format!(
                "{} is MAIN now: only landings change it. Work in a worktree: `flower worktree new NAME`\n",
                plain(&root)
            ));
        }
        for notice in &up.notices {
            let next = notice.next.as_ref().map_or_else(String::new, |next| format!("\n  {}", style.dim(&plain(next))));
            text.push_str(&format!("{} {}{next}\n", style.mark("!"), plain(&notice.text)));
        }
        text + &format!("open {}\n{}\n", style.bold(&up.open_url), style.dim("(the link works once)"))
    })
}

/// Makes the repository around the working directory a project, and returns it with what is special about it. None outside of
/// a repository, or if another project was named.
async fn register(context: &Context, client: &Client, known: Option<&str>) -> Result<Option<ProjectView>, Problem> {
    if context.project.is_some() || Repository::discover(&context.dir).is_none() {
        return Ok(None);
    }
    let body = NewProject { dir: context.dir.clone(), name: None };
    match client.post::<ProjectView>("/api/projects", &body).await {
        Ok(project) => Ok(Some(project)),
        // An agent may not register projects, and needs no notices.
        Err(problem) if problem.kind == ProblemKind::Forbidden && known.is_some() => Ok(None),
        Err(problem) => Err(problem),
    }
}

/// The progress of copying MAIN's objects for worktrees. Polls a few times, because a small repository is copied at once.
async fn copy_progress(client: &Client, project: Option<&str>) -> Option<String> {
    let mut note = None;
    for _ in 0..3 {
        let projects: Vec<ProjectView> = client.get("/api/projects").await.ok()?;
        note = Some(projects.into_iter().find(|p| Some(p.name.as_str()) == project)?.lending?);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    note
}

/// Runs the daemon in this process.
pub(crate) fn foreground(context: Context, args: &UpArgs) -> Result<(), Problem> {
    // rmcp would log every refusal and every notification, with its content.
    let filter = tracing_subscriber::EnvFilter::try_from_env("FLOWER_LOG").unwrap_or_else(|_| "info,rmcp=error".into());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        // Reporting a failed write to the same log would panic: a full disk must not end the daemon.
        .log_internal_errors(false)
        .init();
    let config = Config { home: context.home.clone(), port: args.port, host: args.host };
    // Another command starts a daemon with `report`, and may need no project.
    if !args.report {
        require_home_outside(&context)?;
    }
    if args.report {
        let ended = daemon::run(&config, &mut |report| write_report(&report));
        if let Err(problem) = &ended {
            write_report(&Report::Failed(problem.clone()));
        }
        return ended;
    }
    let args = UpArgs { port: None, foreground: false, host: args.host, report: false };
    let mut context = Some(context);
    daemon::run(&config, &mut |report| match report {
        Report::Rebuilding(events) => eprintln!("rebuilding the tables: {events} events"),
        Report::Failed(_) => {}
        Report::Ready { .. } => {
            let Some(context) = context.take() else { return };
            let args = UpArgs { ..args };
            std::thread::spawn(move || print_address(&context, &args));
        }
    })
}

/// Prints what `flower up` prints, from a thread beside the daemon.
fn print_address(context: &Context, args: &UpArgs) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let printed = runtime
        .map_err(|error| Problem::bug(error.to_string()))
        .and_then(|runtime| runtime.block_on(async { present(context, &context.local_client()?, args).await }));
    if let Err(problem) = printed {
        eprintln!("error: {}\n  hint: {}", problem.message, problem.hints.join("; "));
    }
}

fn write_report(report: &Report) {
    let mut out = std::io::stdout().lock();
    // The process that started the daemon may have ended; the daemon continues.
    let _ = serde_json::to_writer(&mut out, report).map_err(std::io::Error::from).and_then(|()| out.write_all(b"\n"));
    let _ = out.flush();
}
