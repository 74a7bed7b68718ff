//! The daemon's addresses for terminals, with a real terminal behind them.

use crate::attach::{Screen, TOKEN};
use crate::common::{Flower, PATIENCE};
use crate::world::{World, with_world};
use flower::api::{Listener, Shutdown, router, serve};
use flower::app::App;
use flower::app::agents::Agents;
use flower::app::agents::terminals::Terminals;
use flower::app::clock::BootClock;
use flower::app::dispatch::Dispatching;
use flower::app::identity::{Failures, Refused};
use flower::app::landing::Landings;
use flower::app::projects::RepositoryLocks;
use flower::app::sessions::Sessions;
use flower::app::worktrees::Worktrees;
use flower::client::{Address, Client};
use flower::home::Home;
use flower::store::{Location, Store};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;

struct Served {
    app: Arc<App>,
    port: u16,
    shutdown: Shutdown,
    client: Client,
}

async fn served(world: &World) -> Served {
    let home = Home::at(world.path("home"));
    home.create().expect("a home");
    let now: Arc<dyn Fn() -> String + Send + Sync> = Arc::new(flower::app::now);
    let store = Store::open(&Location::Sqlite(home.database()), home.dir(), now, &mut |_| ()).expect("a store");
    let app = Arc::new(App {
        stirs: flower::app::stirs::Stirs::default(),
        clock: BootClock::new(&store).await.expect("a clock"),
        store,
        operator: "operator".into(),
        operator_token: TOKEN.into(),
        sessions: Sessions::load(&home),
        home,
        failures: Failures::default(),
        refused: Refused::default(),
        repositories: RepositoryLocks::default(),
        worktrees: Worktrees::default(),
        landings: Landings::default(),
        dispatching: Dispatching::default(),
        agents: Agents::default(),
        terminals: Terminals::default(),
        url: String::new(),
        started_at: flower::app::now(),
        database: String::new(),
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let shutdown = Shutdown::default();
    let router = router(app.clone(), Some(port), shutdown.clone());
    tokio::spawn(serve(Listener::Tcp(listener), router, shutdown.clone()));
    let client = Client::new(Address::Tcp(format!("127.0.0.1:{port}")), TOKEN.into());
    Served { app, port, shutdown, client }
}

/// Reads until there is this much, or it ends; and how it ended.
async fn read(body: &mut Incoming, length: usize) -> (String, Option<String>) {
    let mut text = String::new();
    while text.len() < length {
        let next = tokio::time::timeout(PATIENCE / 3, body.frame()).await.unwrap_or_else(|_| panic!("only {text:?}"));
        let Some(Ok(frame)) = next else { return (text, None) };
        if let Some(trailers) = frame.trailers_ref() {
            let code = trailers.get("x-flower-exit").and_then(|code| code.to_str().ok()).map(str::to_owned);
            return (text, code);
        }
        text.push_str(&String::from_utf8_lossy(frame.data_ref().map_or(&[][..], |data| data)));
    }
    (text, None)
}

const AT: &str = "/api/agents/rose/terminal";

#[test]
fn a_terminal_is_watched_typed_into_and_resized() {
    with_world(async |world| {
        let served = served(&world).await;
        served.app.terminals.insert("rose".into(), world.start(&["sh", "-c", "stty -echo; cat; stty size; exit 3"]));
        let open = |query: String| {
            let client = served.client.clone();
            async move {
                // It comes at once, although nothing is shown.
                let opened = tokio::time::timeout(Duration::from_secs(5), client.open(&format!("{AT}{query}"))).await;
                let response = opened.expect("in time").expect("there");
                let offset = response.headers()["x-flower-offset"].to_str().expect("text").to_owned();
                (offset, response.into_body())
            }
        };
        let (offset, mut body) = open(String::new()).await;
        assert_eq!(offset, "0");
        tokio::time::sleep(Duration::from_millis(300)).await;
        served.client.send_bytes(&format!("{AT}/keys"), b"hello\n".to_vec()).await.expect("typed");
        assert_eq!(read(&mut body, 7).await, ("hello\r\n".to_owned(), None));
        let (offset, mut later) = open("?after=5".into()).await;
        assert_eq!((offset.as_str(), read(&mut later, 2).await.0.as_str()), ("5", "\r\n"));
        let size = |columns: u16, rows: u16| {
            let client = served.client.clone();
            async move { client.tell(&format!("{AT}/size"), &json!({ "columns": columns, "rows": rows })).await }
        };
        size(99, 44).await.expect("resized");
        assert_eq!(size(0, 44).await.expect_err("refused").http_status(), 422);
        served.client.send_bytes(&format!("{AT}/keys"), b"\x04".to_vec()).await.expect("typed");
        assert_eq!(read(&mut body, 100).await, ("44 99\r\n".to_owned(), Some("3".into())));
        assert_eq!(read(&mut later, 100).await, ("44 99\r\n".to_owned(), Some("3".into())));
        let (_, mut after) = open("?after=9999".into()).await;
        assert_eq!(read(&mut after, 100).await, (String::new(), Some("3".into())));
    });
}

#[test]
fn streams_end_with_the_daemon() {
    with_world(async |world| {
        let served = served(&world).await;
        served.app.terminals.insert("rose".into(), world.start(&["sleep", "600"]));
        let mut body = served.client.open(AT).await.expect("there").into_body();
        let asked = Instant::now();
        served.shutdown.begin();
        assert_eq!(read(&mut body, 1).await, (String::new(), None));
        assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
    });
}

#[test]
fn an_operator_works_in_a_shell_leaves_it_and_comes_back() {
    with_world(async |world| {
        let served = served(&world).await;
        let shell = world.shell().await;
        served.app.terminals.insert("rose".into(), shell.terminal.clone());
        let port = served.port;
        let attached = tokio::task::spawn_blocking(move || {
            let flower = Flower::new();
            let mut screen = Screen::attach(&flower, port);
            screen.sees(b"ready> ");
            screen.types(b"stty size; echo $((6*7)); printf '\\033[6n\\033]52;c;eA==\\007'; echo done\r");
            screen.sees(b"25 81\r\n42\r\ndone\r\n");
            screen.types(b"\x1d");
            assert_eq!(screen.ends(), Some(0));
            let mut screen = Screen::attach(&flower, port);
            screen.sees(b"25 81\r\n42\r\ndone\r\n");
            screen.types(b"exit 7\r");
            screen.sees(b"rose has ended with exit code 7");
            assert_eq!(screen.ends(), Some(0));
        });
        attached.await.expect("as expected");
    });
}
