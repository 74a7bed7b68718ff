//! A throw-away PostgreSQL cluster, and `cargo xtask postgres`, which runs a command beside one.

use std::net::TcpListener;
use std::os::unix::fs::{DirBuilderExt as _, chown};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::postgres_binaries::{Binaries, MIN_VERSION};
use crate::run::{Program, Running, minutes, seconds};
use crate::user::{User, unprivileged_user};

pub(crate) const HELP: &str = "\
Run a command beside a throw-away PostgreSQL

Usage: cargo xtask postgres -- COMMAND [ARGUMENT…]

Starts an empty cluster, runs COMMAND from the root of the repository with
FLOWER_TEST_POSTGRES set to the URL of a database, then stops the cluster and
removes it. COMMAND gets no standard input and is stopped after twelve hours.
";

/// The environment variable with the URL of the database, for tests.
pub(crate) const URL_VARIABLE: &str = "FLOWER_TEST_POSTGRES";

const ROLE: &str = "flower";
const DATABASE: &str = "flower_test";

pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let (program, rest) = match arguments {
        [dashes, program, rest @ ..] if dashes == "--" => (program, rest),
        _ => return Err(format!("no command given\n\n{HELP}")),
    };
    let binaries = Binaries::find().ok_or(format!(
        "no PostgreSQL {MIN_VERSION} or newer here; install its server, for instance with \
         `apt-get install postgresql`"
    ))?;
    let cluster = Cluster::start(&binaries)?;
    Program::new(program, minutes(12 * 60)).args(rest).env(URL_VARIABLE, &cluster.url).run()
}

/// A running cluster. Stopped and removed when dropped or when this program dies.
pub(crate) struct Cluster {
    pub(crate) url: String,
    // Fields are dropped in this order: the server must be gone before its files.
    server: Running,
    scratch: Scratch,
}

impl Cluster {
    pub(crate) fn start(binaries: &Binaries) -> Result<Self, String> {
        // PostgreSQL refuses to run as root; other users run it as themselves.
        let user = unprivileged_user()?;
        let scratch = Scratch::create(user)?;
        let program = |name: &str, deadline| {
            let program = binaries.program(name, deadline);
            program.directory(&scratch.path).user(user).leftover(&scratch.path)
        };
        let initdb = program("initdb", minutes(3))
            .args(["--pgdata=data", "--encoding=UTF8", "--locale=C", "--no-sync"])
            .args(["--auth=trust", &format!("--username={ROLE}")]);
        initdb.output().map_err(|error| {
            let parent = scratch.path.parent().unwrap_or(&scratch.path);
            format!(
                "{error}\nhint: the server runs without root's rights, so its user must be able to enter \
                 `{}`; set TMPDIR to another directory if it cannot",
                parent.display()
            )
        })?;

        let port = free_port()?;
        let socket = scratch.path.display().to_string();
        // A server has no deadline; it ends when its value is dropped.
        let server = program("postgres", Duration::MAX)
            .args(["-D", "data", "-k", &socket, "-p", &port.to_string()])
            .args(["-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200"])
            // The data need not survive a crash.
            .args(["-c", "fsync=off", "-c", "synchronous_commit=off"])
            .args(["-c", "full_page_writes=off"])
            // SIGQUIT is what `pg_ctl -m immediate` sends.
            .serve(&scratch.log(), "QUIT")?;
        let url = format!("postgres://{ROLE}@127.0.0.1:{port}/{DATABASE}");
        let mut cluster = Self { url, server, scratch };

        // The own socket cannot lead to another server by mistake.
        let address = ["-h", &socket, "-p", &port.to_string(), "-U", ROLE].map(str::to_owned);
        let client = |name: &str| binaries.program(name, seconds(60)).args(&address);
        cluster.wait_until(|| client("pg_isready").output().is_ok())?;
        client("createdb").args([DATABASE]).output()?;
        eprintln!("PostgreSQL is ready at {}", cluster.url);
        Ok(cluster)
    }

    fn wait_until(&mut self, is_ready: impl Fn() -> bool) -> Result<(), String> {
        let start = Instant::now();
        while !is_ready() {
            let problem = match self.server.ended()? {
                Some(status) => format!("ended at once ({status})"),
                None if start.elapsed() > minutes(2) => "was not ready in two minutes".to_owned(),
                None => {
                    std::thread::sleep(Duration::from_millis(50));
                    continue;
                }
            };
            let log = std::fs::read_to_string(self.scratch.log()).unwrap_or_default();
            return Err(format!("the PostgreSQL server {problem}; it wrote:\n{log}"));
        }
        Ok(())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Ok(Some(status)) = self.server.ended() {
            let log = std::fs::read_to_string(self.scratch.log()).unwrap_or_default();
            eprintln!("warning: the PostgreSQL server ended by itself ({status}); it wrote:\n{log}");
        }
    }
}

/// A private directory that is removed when dropped.
struct Scratch {
    path: PathBuf,
}

impl Scratch {
    fn create(owner: Option<User>) -> Result<Self, String> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let nanos = now.map_or(0, |since| since.subsec_nanos());
        let name = format!("flower-postgres-{}-{nanos}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let failed = |error| format!("could not create `{}`: {error}", path.display());
        let private = 0o700;
        std::fs::DirBuilder::new().mode(private).create(&path).map_err(failed)?;
        let scratch = Self { path: path.clone() };
        if let Some(User { uid, gid }) = owner {
            chown(&path, Some(uid), Some(gid)).map_err(failed)?;
        }
        Ok(scratch)
    }

    fn log(&self) -> PathBuf {
        self.path.join("server.log")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).and_then(|l| l.local_addr());
    let address = listener.map_err(|error| format!("no free port on 127.0.0.1: {error}"))?;
    Ok(address.port())
}
