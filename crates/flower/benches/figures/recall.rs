//! P7: what an agent reads as its brief, as the log around that brief grows.

use crate::scratch::{Words, fill, home, new_brief, note, open, runtime};
use crate::{Figure, ms, quantile};
use flower_core::dispatch::{self, Step};
use flower_core::worktree::{self, Seal, WorktreeKind};
use flower_core::{BootTime, BriefKind, Caller, Command, Status, lease};
use flower_core::{BriefId, DispatchId, WorktreeId};
use flower_engine::clock::BootClock;
use flower_engine::dispatch::RecallOptions;
use flower_engine::home::Home;
use flower_engine::notify::ChangeHints;
use flower_engine::{App, Setup, now};
use flower_store::Store;
use std::path::Path;
use std::time::{Duration, Instant};

const EVENTS: [u64; 3] = [1_000, 100_000, 1_000_000];
const NOTES: u64 = 30;
const NEEDS: u64 = 10;
const SPEC_BYTES: usize = 10 * 1024;
const RECALLS: usize = 4_000;
const ROUNDS: usize = 40;

pub fn measure() -> Vec<Figure> {
    let runtime = runtime();
    let homes = EVENTS.map(|_| home());
    let logs: Vec<Log> =
        EVENTS.iter().zip(&homes).map(|(events, home)| runtime.block_on(grow(*events, home.path()))).collect();
    let mut samples: [Vec<Duration>; 3] = std::array::from_fn(|_| Vec::new());
    // In turns, so that whatever else the machine does meets all of them.
    for _ in 0..ROUNDS {
        for (log, samples) in logs.iter().zip(&mut samples) {
            for _ in 0..RECALLS / ROUNDS {
                samples.push(runtime.block_on(recalled(log)));
            }
        }
    }
    let [mut small, mut middle, mut large] = samples;
    let base = quantile(&mut small, 0.99);
    let rows = [(&logs[1], &mut middle), (&logs[2], &mut large)].map(|(log, samples)| {
        let (p50, p99) = (quantile(samples, 0.5), quantile(samples, 0.99));
        let ratio = p99.as_secs_f64() / base.as_secs_f64();
        Figure {
            id: "P7",
            what: format!(
                "`recall_brief` with {} events, p99 of {RECALLS} (median {}): a spec of 10 KB, {NOTES} notes, {NEEDS} \
                 dependencies, a dispatch, 3 leases",
                log.events,
                ms(p50)
            ),
            measured: ms(p99),
            peer: format!("with {} events: {} (median {})", logs[0].events, ms(base), ms(quantile(&mut small, 0.5))),
            ratio: Some(ratio),
            goal: "≤ 1.5, and ≤ 5 ms",
            reached: ratio <= 1.5 && p99 <= Duration::from_millis(5),
        }
    });
    for log in logs {
        log.store.close();
    }
    rows.into()
}

/// A log of so many events, and the brief in it that is asked for.
struct Log {
    store: Store,
    app: App,
    brief: u64,
    events: u64,
}

async fn recalled(log: &Log) -> Duration {
    let start = Instant::now();
    let recalled =
        log.app.dispatcher.recall(BriefId(log.brief), RecallOptions::default()).await.expect("it is recalled");
    let took = start.elapsed();
    assert!(recalled.text.len() > SPEC_BYTES, "the spec is in it");
    std::hint::black_box(recalled);
    took
}

async fn grow(events: u64, home: &Path) -> Log {
    eprintln!("  writing {events} events …");
    let store = open(home);
    let clock = BootClock::new(&store).await.expect("a clock");
    let mut words = Words::new(7);
    // Others that are dispatched too: a tenth of a small log, a thousand in a large one.
    let others = (events / 100).min(1_000);
    fill(&store, (0..others).map(|n| new_brief(format!("Brief {n}"), words.text(40)))).await;
    fill(&store, (1..=others).map(|brief| Command::Accept { brief: BriefId(brief), version: None })).await;
    fill(&store, (1..=others).map(request)).await;
    let brief = brief(&store, others, &mut words, &clock.moment()).await;
    // Its notes lie between those of the others, as they come in.
    for n in 1..=NOTES {
        let written = store.live().head();
        let due = (events - written) / (NOTES + 1 - n);
        fill(&store, (1..due).map(|n| note(1 + n % others, words.text(8)))).await;
        submit(&store, note(brief, words.text(20))).await;
    }
    let events = store.live().head();
    Log { store: store.clone(), app: app(store, home, clock), brief, events }
}

fn request(brief: u64) -> Command {
    Command::RequestDispatch(dispatch::Request { brief: BriefId(brief), ..dispatch::Request::default() })
}

/// The brief that is asked for, with all that hangs on it but its notes.
async fn brief(store: &Store, others: u64, words: &mut Words, moment: &BootTime) -> u64 {
    let needs: Vec<BriefId> = (others + 1..=others + NEEDS).map(BriefId).collect();
    for &needed in &needs {
        let status = |status| Command::SetStatus { brief: needed, status, why: None };
        submit(store, new_brief(words.text(5), words.text(40))).await;
        let accept = || Command::Accept { brief: needed, version: None };
        for command in [accept(), status(Status::InProgress), status(Status::InReview), accept()] {
            submit(store, command).await;
        }
    }
    let project = "shop".to_owned();
    submit(store, Command::RegisterProject { name: project.clone(), root: "/nonexistent/shop".into() }).await;
    let mut spec = String::new();
    while spec.len() < SPEC_BYTES {
        spec.push_str(&format!("- {}\n", words.text(12)));
    }
    let brief = others + NEEDS + 1;
    submit(
        store,
        Command::CreateBrief(flower_core::brief::Request {
            title: words.text(6),
            kind: BriefKind::Feature,
            spec: Some(spec),
            projects: vec![project.clone()],
            epic: None,
            needs,
            auto_dispatch: false,
            design_loop: false,
        }),
    )
    .await;
    submit(store, Command::Accept { brief: BriefId(brief), version: None }).await;
    submit(store, request(brief)).await;
    let place = "roses".to_owned();
    submit(
        store,
        Command::RequestWorktree(worktree::Request {
            project: project.clone(),
            name: place.clone(),
            kind: WorktreeKind::Ephemeral,
            seal: Seal::Sealed,
            base: "1".repeat(40),
            from: "main".into(),
            brief: Some(BriefId(brief)),
        }),
    )
    .await;
    submit(store, Command::FinishWorktree { number: WorktreeId(1), path: "/nonexistent/roses".into() }).await;
    let holder = Some("rose".to_owned());
    let step = Step::Claim { holder, packet: None, seconds: 86_400, moment: moment.clone() };
    submit(store, Command::Dispatch { number: DispatchId(others + 1), step }).await;
    for name in ["rose", "fern", "moss"] {
        let patterns = vec![format!("src/{name}/"), format!("docs/{name}*.md")];
        let holder = Some(name.to_owned());
        let (project, worktree) = (project.clone(), place.clone());
        let request = lease::Request { project, worktree, holder, patterns, seconds: 86_400, moment: moment.clone() };
        submit(store, Command::TakeLease(request)).await;
    }
    brief
}

async fn submit(store: &Store, command: Command) {
    store.submit(Caller::system(), command).await.map(drop).expect("it is stored");
}

/// As the daemon has it, without doors.
fn app(store: Store, home: &Path, clock: BootClock) -> App {
    App::new(&Setup {
        store,
        home: Home::at(home),
        operator: "operator".into(),
        operator_token: String::new(),
        clock,
        url: String::new(),
        database: String::new(),
        started_at: now(),
        hints: ChangeHints::default(),
    })
}
