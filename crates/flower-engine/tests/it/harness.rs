//! An `App` over a temporary home and repository. Background loops run only where a test starts them.

use flower_contract::request::{Accept, NewBrief, Plan};
use flower_contract::view::{BriefView, LandingView};
use flower_core::landing::{Priority, State};
use flower_core::policy::Read;
use flower_core::worktree::{Seal, WorktreeKind};
use flower_core::{Actor, ActorType, BriefId, Caller, Door, LandingId, Recorded, Role};
use flower_engine::clock::BootClock;
use flower_engine::home::Home;
use flower_engine::log::trace::Window;
use flower_engine::merge_queue::LandOptions;
use flower_engine::notify::ChangeHints;
use flower_engine::projects::ProjectChoice;
use flower_engine::worktrees::NewWorktree;
use flower_engine::{App, Setup, now};
use flower_store::{Location, Store};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

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

    /// A commit in MAIN by its owner. Once flower serves the repository, this goes around the hook that prevents it.
    pub fn commit(&self, file: &str, text: &str) -> String {
        commit_in(&self.repo, file, text)
    }

    /// The commit at the end of MAIN's branch.
    pub fn tip(&self) -> String {
        git(&self.repo, &["rev-parse", "refs/heads/main"])
    }

    /// A file in MAIN's checkout.
    pub fn main_file(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.repo.join(path)).ok()
    }

    /// The directory of a new linked worktree. A sealed one needs the program, which holds the jail.
    pub async fn worktree(&self, name: &str, kind: WorktreeKind) -> PathBuf {
        let made = self.app.worktrees.create(&operator(), "shop", linked(name, kind)).await;
        PathBuf::from(made.expect("a worktree").path)
    }

    /// A worktree with one commit.
    pub async fn work(&self, name: &str, file: &str, text: &str) -> PathBuf {
        let dir = self.worktree(name, WorktreeKind::Ephemeral).await;
        commit_in(&dir, file, text);
        dir
    }

    /// Processes the merge queue until the test ends.
    pub fn run_merge_queue(&self) {
        tokio::spawn(self.app.merge_queue.clone().run());
    }

    pub async fn queue(&self, worktree: &str, briefs: Vec<u64>) -> u64 {
        let briefs = briefs.into_iter().map(BriefId).collect();
        let options = LandOptions { briefs, title: None, priority: Priority::Normal, join: false };
        self.app.merge_queue.land(&operator(), &shop(), worktree, options).await.expect("it is queued").id
    }

    /// Queues what is committed in a worktree, and waits until the queue does no more about it.
    pub async fn land(&self, worktree: &str) -> LandingView {
        let number = self.queue(worktree, Vec::new()).await;
        self.settled(number).await
    }

    pub async fn settled(&self, number: u64) -> LandingView {
        eventually(async || {
            let landing = self.app.merge_queue.show(LandingId(number)).await.expect("the landing");
            (!matches!(landing.state, State::Queued | State::Checking)).then_some(landing)
        })
        .await
    }

    /// A brief with an accepted plan.
    pub async fn planned(&self, title: &str) -> u64 {
        let brief = self.brief(title).await.number;
        let briefs = &self.app.briefs;
        briefs.propose_plan(&operator(), BriefId(brief), Plan { markdown: "# Plan".into() }).await.expect("a plan");
        briefs.accept(&operator(), BriefId(brief), Accept { version: Some(1) }).await.expect("accepted");
        brief
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

pub fn linked(name: &str, kind: WorktreeKind) -> NewWorktree {
    NewWorktree {
        name: name.into(),
        kind,
        seal: Seal::Linked,
        from: None,
        brief: None,
        no_setup: false,
        lfs_pointers: false,
    }
}

/// Asks until there is an answer.
pub async fn eventually<T>(ask: impl AsyncFn() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "not within a minute");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub fn put(dir: &Path, file: &str, text: &str) {
    let path = dir.join(file);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, text).expect("a file");
}

/// Writes a file and commits everything.
pub fn commit_in(dir: &Path, file: &str, text: &str) -> String {
    put(dir, file, text);
    git(dir, &["add", "--all"]);
    commit_staged(dir, file)
}

pub fn commit_staged(dir: &Path, message: &str) -> String {
    let identity = ["-c", "user.name=ada", "-c", "user.email=ada@example.org", "-c", "core.hooksPath=/dev/null"];
    git(dir, &[&identity[..], &["commit", "--quiet", "-m", message]].concat());
    git(dir, &["rev-parse", "HEAD"])
}

#[expect(clippy::disallowed_methods, reason = "the repository is made as its owner makes it, without flower")]
pub fn git(dir: &Path, arguments: &[&str]) -> String {
    let mut command = std::process::Command::new("git");
    command.args(arguments).current_dir(dir).env_clear().env("PATH", std::env::var_os("PATH").expect("a path"));
    let output = command.env("HOME", dir).output().expect("git runs");
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}
