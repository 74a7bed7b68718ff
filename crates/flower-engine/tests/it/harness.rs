//! An `App` over a temporary home and repository. Background loops run only where a test starts them.

use flower_contract::request::NewBrief;
use flower_contract::view::BriefView;
use flower_core::policy::Read;
use flower_core::{Actor, ActorType, Caller, Door, Recorded, Role};
use flower_engine::clock::BootClock;
use flower_engine::home::Home;
use flower_engine::log::trace::Window;
use flower_engine::notify::ChangeHints;
use flower_engine::projects::ProjectChoice;
use flower_engine::{App, Setup, now};
use flower_store::{Location, Store};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub struct Engine {
    pub app: App,
    pub repo: PathBuf,
    dir: tempfile::TempDir,
}

impl Engine {
    /// An engine beside an empty repository that is no project yet.
    pub async fn new() -> Engine {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let home = Home::at(dir.path().join("home"));
        home.create().expect("a home");
        let store = Store::open(&Location::Sqlite(home.database()), home.dir(), Arc::new(now), &mut |_| {});
        let store = store.expect("a store");
        let clock = BootClock::new(&store).await.expect("a clock");
        let app = App::new(&Setup {
            store,
            home,
            operator: "ada".into(),
            operator_token: "0".repeat(64),
            clock,
            url: "http://127.0.0.1:1".into(),
            database: "sqlite".into(),
            started_at: now(),
            hints: ChangeHints::default(),
        });
        let repo = dir.path().join("shop");
        std::fs::create_dir(&repo).expect("a directory");
        git(&repo, &["init", "--quiet", "--initial-branch", "main"]);
        Engine { app, repo, dir }
    }

    /// The same with one commit, registered as project `shop`.
    pub async fn with_project() -> Engine {
        let engine = Engine::new().await;
        engine.commit("price.txt", "1\n");
        engine.app.registration.register(&operator(), &engine.repo, None).await.expect("a project");
        engine
    }

    pub fn commit(&self, file: &str, text: &str) {
        std::fs::write(self.repo.join(file), text).expect("a file");
        git(&self.repo, &["add", "--all"]);
        git(&self.repo, &["-c", "user.name=ada", "-c", "user.email=ada@example.org", "commit", "--quiet", "-m", file]);
    }

    pub async fn brief(&self, title: &str) -> BriefView {
        let new = NewBrief { title: title.into(), ..NewBrief::default() };
        self.app.briefs.create(&operator(), "shop".into(), new).await.expect("a brief")
    }

    /// Everything in the log, oldest first.
    pub async fn events(&self) -> Vec<Recorded> {
        let window = Window { after: Some(0), ..Window::default() };
        self.app.log.events(window).await.expect("the log is read")
    }

    pub async fn may_read(&self, caller: &Caller, read: Read<'_>) -> bool {
        self.app.access.reader(caller).await.expect("a reader").may(read)
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

pub fn operator() -> Caller {
    caller(Role::Operator, ActorType::Operator, "ada")
}

pub fn agent(role: Role) -> Caller {
    caller(role, ActorType::Agent, "ben")
}

fn caller(role: Role, sort: ActorType, name: &str) -> Caller {
    Caller::unbound(Actor { sort, name: name.into() }, role, Door::Api)
}

pub fn shop() -> ProjectChoice {
    ProjectChoice { name: Some("shop".into()), dir: None }
}

#[expect(clippy::disallowed_methods, reason = "the repository is made as its owner makes it, without flower")]
fn git(dir: &Path, arguments: &[&str]) {
    let mut command = std::process::Command::new("git");
    command.args(arguments).current_dir(dir).env_clear().env("PATH", std::env::var_os("PATH").expect("a path"));
    let output = command.env("HOME", dir).output().expect("git runs");
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}
