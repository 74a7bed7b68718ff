//! The daemon: locks its home, opens the store, serves requests, and shuts down.

mod spawn;

pub use spawn::{ensure_running, stop};

use crate::http::{Listener, Shutdown, router, serve};
use flower_contract::error::{Problem, ProblemKind};
use flower_engine::clock::BootClock;
use flower_engine::home::Home;
use flower_engine::lock::{Children, Holder, Lock, LockError};
use flower_engine::notify::ChangeHints;
use flower_engine::{App, Setup, now};
use flower_store::{Location, Store};
use serde::{Deserialize, Serialize};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, UnixListener};
use tokio::task::JoinHandle;

/// How long requests in progress may take after shutdown has begun. With the steps after it, the daemon ends within five
/// seconds even if something hangs.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(3_500);

#[derive(Clone, Debug)]
pub struct Config {
    pub home: Home,
    /// The requested port; otherwise the last one, or any.
    pub port: Option<u16>,
    pub host: IpAddr,
}

/// The progress of a starting daemon, one line each on its standard output.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// The tables are being rebuilt; the number of events that are read.
    Rebuilding(u64),
    Ready {
        url: String,
    },
    Failed(Problem),
}

/// Runs until the daemon is stopped. `report` is called with the progress of the start.
pub fn run(config: &Config, report: &mut dyn FnMut(Report)) -> Result<(), Problem> {
    require_loopback(config.host)?;
    config.home.create()?;
    let holder = Holder::this_process(config.home.dir(), None);
    let lock = Lock::acquire(&config.home.lock(), &holder).map_err(|error| already_running(&config.home, error))?;
    raise_file_limit();
    if let Ok(program) = std::env::current_exe() {
        flower_git::lfs::set_filter_program(program);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Problem::unreachable(format!("the daemon cannot start: {error}"), "see `ulimit -a`"))?;
    let ended = start(config, &lock, &runtime, report);
    // Background tasks had time to end before.
    runtime.shutdown_timeout(Duration::from_millis(500));
    ended
}

/// Refuses every address that other machines could reach.
pub fn require_loopback(host: IpAddr) -> Result<(), Problem> {
    if host.is_loopback() {
        return Ok(());
    }
    Err(Problem::new(
        ProblemKind::Refused,
        format!("flower does not listen on {host}: without TLS, tokens would cross the network in plain text"),
        "listen on 127.0.0.1 and reach it through an SSH tunnel",
    ))
}

fn start(
    config: &Config,
    lock: &Lock,
    runtime: &tokio::runtime::Runtime,
    report: &mut dyn FnMut(Report),
) -> Result<(), Problem> {
    let home = &config.home;
    let operator_token = home.require_token()?;
    // Must exist before the first process is started.
    let children = Children::new(&home.children()).map_err(|error| home.problem(&home.children(), &error))?;
    let (location, database) = location(home)?;
    let store = Store::open(&location, home.dir(), Arc::new(now), &mut |events| report(Report::Rebuilding(events)))?;
    let tcp = runtime.block_on(listen_tcp(config))?;
    let address = tcp.local_addr().map_err(|error| Problem::bug(error.to_string()))?;
    let unix = {
        let _inside = runtime.enter();
        listen_unix(home)?
    };
    let url = format!("http://{address}");
    let noted = lock.write_holder(&Holder::this_process(home.dir(), Some(address.port())));
    noted.map_err(|error| home.problem(&home.lock(), &error))?;
    let clock = runtime.block_on(BootClock::new(&store))?;
    let app = Arc::new(App::new(&Setup {
        store: store.clone(),
        home: home.clone(),
        operator: operator_name(),
        operator_token,
        clock,
        url: url.clone(),
        database,
        started_at: now(),
        hints: ChangeHints::default(),
    }));
    runtime.block_on(app.registration.take_repositories());
    let jails = {
        let _inside = runtime.enter();
        app.networks.listen()?
    };
    // Signals are handled before `Ready` is reported: from then on the daemon shuts down cleanly.
    let signalled = {
        let _inside = runtime.enter();
        terminated()
    };
    report(Report::Ready { url });
    let background = vec![
        runtime.spawn(app.networks.clone().run(jails)),
        runtime.spawn(reconcile(app.clone(), children)),
        runtime.spawn(app.worktrees.clone().run_watch()),
    ];
    let result = runtime.block_on(serve_until_stopped(app, store, tcp, unix, address.port(), signalled, background));
    let _ = fs::remove_file(home.socket());
    let _ = fs::remove_file(home.network_socket());
    result
}

async fn serve_until_stopped(
    app: Arc<App>,
    store: Store,
    tcp: TcpListener,
    unix: UnixListener,
    port: u16,
    signalled: impl Future<Output = ()>,
    background: Vec<JoinHandle<()>>,
) -> Result<(), Problem> {
    let shutdown = Shutdown::default();
    let over_tcp = serve(Listener::Tcp(tcp), router(app.clone(), Some(port), shutdown.clone()), shutdown.clone());
    let over_unix = serve(Listener::Unix(unix), router(app.clone(), None, shutdown.clone()), shutdown.clone());
    let mut serving = tokio::spawn(async move {
        tokio::join!(over_tcp, over_unix);
    });
    let mut fatal = store.fatal();
    let failure = tokio::select! {
        () = signalled => None,
        () = shutdown.begun() => None,
        failed = fatal.wait_for(Option::is_some) => failed.ok().and_then(|text| text.clone()),
    };
    tracing::info!("shutting down");
    shutdown.begin();
    // Agents resume their work at the next start.
    let stopping = tokio::spawn(async move { app.agents.stop_all().await });
    if tokio::time::timeout(DRAIN_TIMEOUT, &mut serving).await.is_err() {
        tracing::warn!("some requests did not end in time");
        serving.abort();
    }
    let _ = tokio::time::timeout(Duration::from_secs(3), stopping).await;
    // Interrupted work is resumed at the next start.
    for task in background {
        task.abort();
        let _ = task.await;
    }
    // The last handle: the writer finishes the commands that it has accepted.
    let closing = tokio::task::spawn_blocking(move || store.close());
    let _ = tokio::time::timeout(Duration::from_millis(400), closing).await;
    match failure {
        None => Ok(()),
        Some(message) => Err(Problem::unreachable(
            format!("{message}; the daemon has ended, because it can no longer store what it acknowledges"),
            "check the disk, then run `flower up`",
        )),
    }
}

/// Resolves at SIGTERM or SIGINT. The handlers are installed by the call, before the future is polled.
fn terminated() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let signals = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    async move {
        let (Ok(mut term), Ok(mut int)) = signals else { return std::future::pending().await };
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
    }
}

/// Waits until all processes of the last daemon have ended, finishes or undoes its interrupted work, and then runs the
/// background loops.
async fn reconcile(app: Arc<App>, children: Children) {
    /// A checkout of the last daemon may still run.
    const CHILDREN_TIMEOUT: Duration = Duration::from_secs(120);
    const CLEANUP_INTERVAL: Duration = Duration::from_secs(3_600);
    if !children.wait_for_earlier(CHILDREN_TIMEOUT).await {
        tracing::warn!("a process of an earlier daemon is still running");
    }
    app.worktrees.reconcile_all().await;
    app.merge_queue.install_hooks().await;
    let cleanup = async {
        loop {
            tokio::time::sleep(CLEANUP_INTERVAL).await;
            app.worktrees.drop_expired().await;
            app.worktrees.tidy_repositories().await;
            app.leases.delete_old_state().await;
            app.agents.delete_old_files().await;
        }
    };
    // Joined instead of spawned: when this task has ended, none of them holds the store any more.
    app.agents.renew_claims().await;
    tokio::join!(
        app.merge_queue.clone().run(),
        app.merge_queue.clone().run_watch(),
        app.dispatcher.clone().run(),
        app.agents.clone().run(),
        app.worktrees.clone().run_lending(),
        cleanup
    );
}

fn location(home: &Home) -> Result<(Location, String), Problem> {
    match std::env::var("FLOWER_DATABASE_URL") {
        Ok(url) if !url.is_empty() => {
            let location = Location::parse(&url)?;
            let name = match &location {
                Location::Sqlite(path) => format!("sqlite:{}", path.display()),
                // Never the whole address, which may contain a password.
                Location::Postgres(config) => format!("postgres:{}", config.get_dbname().unwrap_or_default()),
            };
            Ok((location, name))
        }
        _ => Ok((Location::Sqlite(home.database()), format!("sqlite:{}", home.database().display()))),
    }
}

/// Listens on the requested port, otherwise on the last one, otherwise on any.
async fn listen_tcp(config: &Config) -> Result<TcpListener, Problem> {
    let file = config.home.port();
    let before = fs::read_to_string(&file).ok().and_then(|text| text.trim().parse::<u16>().ok());
    let host = config.host;
    let listener = match (config.port, before) {
        (Some(port), _) => TcpListener::bind(SocketAddr::new(host, port)).await.map_err(|error| {
            Problem::unreachable(
                format!("cannot listen on port {port}: {error}"),
                "choose another: `flower up --port P`",
            )
        })?,
        (None, before) => {
            let last_port = TcpListener::bind(SocketAddr::new(host, before.unwrap_or(0))).await;
            let listener = match last_port {
                Ok(listener) => Ok(listener),
                Err(error) => {
                    tracing::warn!("the last port is not available ({error}); using another");
                    TcpListener::bind(SocketAddr::new(host, 0)).await
                }
            };
            listener.map_err(|error| {
                Problem::unreachable(format!("cannot listen: {error}"), "is there a loopback device?")
            })?
        }
    };
    let port = listener.local_addr().map_err(|error| Problem::bug(error.to_string()))?.port();
    if before != Some(port) {
        fs::write(&file, format!("{port}\n")).map_err(|error| config.home.problem(&file, &error))?;
    }
    Ok(listener)
}

fn listen_unix(home: &Home) -> Result<UnixListener, Problem> {
    let path = home.socket();
    let listen = || {
        // This process holds the lock, so an existing socket belongs to a daemon that has ended.
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let (_folder, short) = flower_jail::short_path(&path)?;
        let listener = UnixListener::bind(short)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        Ok(listener)
    };
    listen().map_err(|error| home.problem(&path, &error))
}

fn operator_name() -> String {
    let name = ["FLOWER_OPERATOR", "USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok());
    name.and_then(|name| flower_core::text::name("operator", &name).ok()).unwrap_or_else(|| "operator".to_owned())
}

fn already_running(home: &Home, error: LockError) -> Problem {
    match error {
        LockError::Held(holder) => {
            let who = holder.map_or_else(String::new, |holder| format!(" (process {})", holder.pid));
            Problem::new(
                ProblemKind::Conflict,
                format!("a daemon{who} runs in {} already", home.dir().display()),
                "use it, or stop it: `flower down`",
            )
        }
        LockError::Io(error) => home.problem(&home.lock(), &error),
    }
}

/// Raises the soft limit of open files: a thousand live readers need a thousand files.
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    const WANTED: u64 = 16_384;
    let limit = getrlimit(Resource::Nofile);
    let target = limit.maximum.unwrap_or(WANTED).min(WANTED);
    if limit.current.is_some_and(|current| current < target)
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: Some(target), maximum: limit.maximum })
    {
        tracing::warn!("cannot raise the limit of open files above {:?}: {error}", limit.current);
    }
}

/// The default address of a daemon.
pub const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
