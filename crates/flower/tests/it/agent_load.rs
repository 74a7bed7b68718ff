//! Many agents of flower's at once: nothing that they did is lost, nothing bad gets in, and nothing of them is left.
//!
//! Short by default; `FLOWER_SOAK=1` runs the full counts. Each test prints its figures.

use crate::common::Flower;
use crate::common::work::{git, is_soak, prepare, put};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Red as soon as something below `src` says that it is broken; one red run is a verdict.
const CHECK: &str = "[checks]\nok = { run = \"! grep -rq broken src\" }\n[land]\nretries = 0\n";

/// Serves a repository in which so many scripted agents may work at once.
fn serving(agents: usize) -> Flower {
    let flower = Flower::new();
    let settings = format!("{CHECK}[agents]\ndefault = \"play\"\nmax = {agents}\n");
    put(&flower, &flower.repo.join("flower.toml"), settings);
    put(&flower, &flower.repo.join("src/shared.txt"), "as it was\n");
    flower.git(&flower.repo, &["add", "."]);
    flower.git(&flower.repo, &["commit", "--quiet", "--message", "settings"]);
    let program = env!("CARGO_BIN_EXE_flower");
    let profile = format!(
        "[agents.play]\nprotocol = \"acp\"\ncommand = [\"{program}\", \"scripted-agent\"]\nany_of = []\nturn_timeout = \"30m\"\n"
    );
    put(&flower, &flower.home.join("config.toml"), profile);
    prepare(&flower);
    flower.ok(&["project", "approve", "--yes"]);
    flower
}

/// A brief that is dispatched by itself.
fn wanted(flower: &Flower, title: &str, script: &str) -> u64 {
    let spec = flower.file(&format!("{title}.md"), format!("# {title}\n\n{script}"));
    let brief = flower.json(&["brief", "new", title, "--auto-dispatch", "--spec", &spec]);
    let number = brief["number"].as_u64().expect("a number");
    flower.ok(&["brief", "accept", &number.to_string()]);
    number
}

/// Asks until there is an answer.
fn until<T>(what: &str, most: Duration, flower: &Flower, mut ask: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        if start.elapsed() > most {
            let log = fs::read_to_string(flower.home.join("daemon.log")).unwrap_or_default();
            panic!("{what}: not within {most:?}\n{}\n{}\n{log}", flower.ok(&["agent", "--all"]), flower.ok(&["brief"]));
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn statuses(flower: &Flower) -> BTreeMap<u64, String> {
    let briefs = flower.json(&["brief"]);
    let of = |brief: &Value| Some((brief["number"].as_u64()?, brief["status"].as_str()?.to_owned()));
    briefs.as_array().expect("a list").iter().filter_map(of).collect()
}

/// Everything that happened, oldest first.
fn trace(flower: &Flower) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    loop {
        let after = all.last().map_or(0, |event| event["seq"].as_u64().expect("a number")).to_string();
        let page = flower.json(&["trace", "--after", &after, "--limit", "500"]);
        match page.as_array().expect("a list").as_slice() {
            [] => return all,
            events => all.extend_from_slice(events),
        }
    }
}

/// Processes that have something of this flower in their words or their environment.
fn processes_of(dir: &Path) -> Vec<String> {
    let dir = dir.display().to_string();
    let own = std::process::id().to_string();
    let read = |pid: &str, file: &str| {
        String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default()).replace('\0', " ")
    };
    let all =
        fs::read_dir("/proc").expect("processes").flatten().filter_map(|entry| entry.file_name().into_string().ok());
    all.filter(|pid| pid.bytes().all(|byte| byte.is_ascii_digit()) && *pid != own)
        .filter(|pid| read(pid, "cmdline").contains(&dir) || read(pid, "environ").contains(&dir))
        .map(|pid| format!("{pid} {}", read(&pid, "cmdline")))
        .collect()
}

/// The daemon is alone once its agents are gone, and then it goes too.
fn assert_nothing_is_left(flower: &Flower, most: Duration) {
    let daemon = format!("{} ", flower.pid());
    let of_agents =
        || processes_of(flower.dir()).into_iter().filter(|line| !line.starts_with(&daemon)).collect::<Vec<_>>();
    until("nothing runs but the daemon", most, flower, || of_agents().is_empty().then_some(()));
    flower.ok(&["down"]);
    let start = Instant::now();
    while !processes_of(flower.dir()).is_empty() {
        assert!(start.elapsed() < Duration::from_secs(20), "left running: {:?}", processes_of(flower.dir()));
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn median(mut samples: Vec<u64>) -> u64 {
    samples.sort_unstable();
    samples.get(samples.len() / 2).copied().unwrap_or_default()
}

#[test]
fn the_work_of_many_agents_at_once_lands_completely() {
    // The pauses make it 15 seconds, or five minutes, of many small steps.
    let (agents, rounds, times, pause) = if is_soak() { (50, 20, 4, 14.0) } else { (12, 3, 2, 4.0) };
    let patience = Duration::from_secs(if is_soak() { 3_600 } else { 300 });
    let flower = serving(agents);
    let began = Instant::now();
    let briefs: Vec<u64> = (0..agents)
        .map(|agent| {
            let round = |round: usize| {
                let file = format!("src/load-{agent}.txt");
                let count = "n=$(git rev-list --count HEAD -- $f); echo $n >> $f; git add $f";
                let commit = format!("f={file}; {count}; git commit --quiet --message \"agent {agent} commit $n\"");
                format!(
                    "reserve {file}\nrepeat {times} must {commit}\nrepeat {times} note agent {agent} round {round}\nsleep {pause}\n"
                )
            };
            let script: String = (0..rounds).map(round).collect();
            wanted(&flower, &format!("Load {agent}"), &format!("```play\n{script}hand-back done\n```\n"))
        })
        .collect();
    let mut memory: Vec<(Duration, u64)> = Vec::new();
    until("all of them land", patience, &flower, || {
        memory.push((began.elapsed(), flower.memory("VmRSS")));
        let now = statuses(&flower);
        briefs.iter().all(|brief| now[brief] == "landed").then_some(())
    });
    let took = began.elapsed();

    let subjects = git(&flower, &flower.repo, &["log", "--format=%s", "main"]);
    let made = subjects.lines().filter(|line| line.contains(" commit ")).collect::<std::collections::BTreeSet<_>>();
    for agent in 0..agents {
        for n in 0..rounds * times {
            let subject = format!("agent {agent} commit {n}");
            assert!(made.contains(subject.as_str()), "`{subject}` is not in MAIN");
        }
    }
    assert_eq!(made.len(), agents * rounds * times);
    let events = trace(&flower);
    let mut notes: BTreeMap<(u64, String), usize> = BTreeMap::new();
    for event in events.iter().filter(|event| event["kind"] == "note_added") {
        let text = event["body"]["text"].as_str().expect("a text").to_owned();
        *notes.entry((event["brief"].as_u64().expect("a brief"), text)).or_default() += 1;
    }
    for (agent, brief) in briefs.iter().enumerate() {
        for round in 0..rounds {
            let found = notes.get(&(*brief, format!("agent {agent} round {round}")));
            assert_eq!(found, Some(&times), "notes of agent {agent} in round {round}");
        }
    }
    let restarted = events.iter().filter(|event| event["kind"] == "agent_restarted").count();
    assert_eq!(restarted, 0, "an agent died");

    let between = |from: f64, to: f64| {
        let inside = |at: &Duration| {
            at.as_secs_f64() >= took.as_secs_f64() * from && at.as_secs_f64() <= took.as_secs_f64() * to
        };
        median(memory.iter().filter(|(at, _)| inside(at)).map(|(_, size)| *size).collect())
    };
    let (warm, end) = (between(0.3, 0.4), between(0.9, 1.0));
    eprintln!(
        "{agents} agents, {} commits, {} notes, {} events in {:.0} s; the daemon has {} MB after the first third and {} MB at the end",
        made.len(),
        notes.values().sum::<usize>(),
        events.len(),
        took.as_secs_f64(),
        warm / 1024,
        end / 1024
    );
    // A short run is still filling caches that a long one has long filled.
    let most = if is_soak() { 1.10 } else { 1.35 };
    assert!(end as f64 <= warm as f64 * most, "it grows: {warm} kB, then {end} kB");
    assert_nothing_is_left(&flower, Duration::from_secs(60));
}

#[test]
fn every_good_branch_lands_and_no_bad_one() {
    // Of 16 a tenth is broken, and one stands against another.
    let (good, broken) = if is_soak() { (12, 2) } else { (3, 1) };
    let agents = good + broken + 2;
    let lasts = Duration::from_secs(if is_soak() { 600 } else { 0 });
    let flower = serving(agents);
    let start = Instant::now();
    let mut rounds = 0;
    while rounds == 0 || start.elapsed() < lasts {
        rounds += 1;
        play_round(&flower, rounds, good, broken);
    }

    let history = git(&flower, &flower.repo, &["log", "--first-parent", "--format=%H", "main"]);
    let bad = ["log", "--first-parent", "-m", "--format=%H", "-G", "broken|<<<<", "main", "--", "src"];
    assert_eq!(git(&flower, &flower.repo, &bad), "", "nothing bad was ever in MAIN");
    let landings = history.lines().count() - 2;
    assert_eq!(landings, rounds * (good + 1), "nothing else moved MAIN");
    eprintln!(
        "{agents} agents at once, {rounds} rounds in {} s: {landings} landed, {} broken and {rounds} against another kept out; \
         every commit of MAIN passes",
        start.elapsed().as_secs(),
        rounds * broken,
    );
    assert_nothing_is_left(&flower, Duration::from_secs(60));
}

/// Good branches, broken ones, and two that stand against each other, all at once.
fn play_round(flower: &Flower, round: usize, good: usize, broken: usize) {
    let patience = Duration::from_secs(300);
    let hopeless = "```play fix\nfail it cannot be mended\n```\n";
    // Both have left MAIN when they ask, so that both stand against the same.
    let against = |side: &str| {
        format!(
            "```play\nquestion may I?\nwait\nwrite src/shared-{round}.txt {side}\ncommit shared {side}\nhand-back {side}\n```\n{hopeless}"
        )
    };
    let pair = [wanted(flower, "One side", &against("one")), wanted(flower, "Other side", &against("other"))];
    let bad: Vec<u64> = (0..broken)
        .map(|n| {
            let script = format!(
                "```play\nwrite src/bad-{round}-{n}.txt broken\ncommit bad {n}\nhand-back bad\n```\n{hopeless}"
            );
            wanted(flower, &format!("Bad {n}"), &script)
        })
        .collect();
    let fine: Vec<u64> = (0..good)
        .map(|n| {
            let script = format!(
                "```play\nwrite src/good-{round}-{n}.txt fine\ncommit good {n}\nsleep 1\nhand-back good\n```\n"
            );
            wanted(flower, &format!("Good {n}"), &script)
        })
        .collect();
    until("both of the pair ask", patience, flower, || {
        let inbox = flower.json(&["inbox"]);
        let asked = |brief: &u64| {
            inbox.as_array().expect("a list").iter().any(|item| item["kind"] == "question" && item["brief"] == *brief)
        };
        pair.iter().all(asked).then_some(())
    });
    until("all agents have begun", patience, flower, || {
        let live = flower.json(&["agent", "--all"]);
        let begun = |brief: &u64| live.as_array().expect("a list").iter().any(|agent| agent["brief"] == *brief);
        pair.iter().chain(&bad).chain(&fine).all(begun).then_some(())
    });
    flower.ok(&["freeze"]);
    for brief in pair {
        flower.ok(&["brief", "answer", &brief.to_string(), "1", "yes"]);
    }
    until("both are handed back", patience, flower, || {
        let queue = flower.json(&["queue"]);
        let waits = |brief: &u64| {
            let mut all = queue.as_array().expect("a list").iter();
            all.any(|landing| landing["briefs"].as_array().is_some_and(|briefs| briefs.contains(&(*brief).into())))
        };
        pair.iter().all(waits).then_some(())
    });
    flower.ok(&["thaw"]);
    until("all is decided", patience, flower, || {
        let now = statuses(flower);
        let landed = |brief: &&u64| now[*brief] == "landed";
        let done = fine.iter().all(|brief| now[brief] == "landed") && pair.iter().filter(landed).count() == 1;
        let failed = trace(flower).iter().filter(|event| event["kind"] == "dispatch_failed").count();
        (done && failed == round * (broken + 1)).then_some(())
    });
    let now = statuses(flower);
    assert!(bad.iter().all(|brief| now[brief] != "landed"), "{now:?}");
}
