//! An agent attacks from inside its jail: every attempt fails, and other users of the daemon notice nothing.

use crate::agent_bounds::stage::{Stage, assert_answers_until, play, shell};
use crate::common::work::{assert_main_is_whole, differences, files, put};
use crate::common::{Flower, eventually};
use serde_json::json;
use std::fs;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

/// Steps that say `BROKEN` where they succeed. `$M` is MAIN, `$H` flower's home, `$U` the operator's, `$V` the victim.
const TRIES: &[&str] = &[
    "echo x > $M/README.md",
    "rm -r $M/.git/objects",
    "git -C $M commit --allow-empty -m x",
    "git push --force $M HEAD:main",
    "git push origin HEAD:main",
    "chmod 0777 $M/.git/objects",
    "ln -s $M/README.md through && echo x > through",
    "cat $H/token",
    "cat $H/config.toml",
    "cat $H/agents/1/run.json",
    "cat $H/agents/2/run.json",
    "cat $H/seals/repo/two/home/.play/credentials.json",
    "cat $H/seals/repo/two/jail.json",
    "cat $H/worktrees/repo/two/README.md",
    "cat $U/.aws/credentials",
    "cat $HOME/.aws/credentials",
    "cat $HOME/.play/credentials.json",
    "kill -9 $DAEMON",
    "kill -9 $V",
    "kill -STOP $V",
    "cat /proc/$V/environ",
    "cat /proc/$V/root/etc/passwd",
    "ls /proc/$DAEMON/fd",
    "ls -l $H/flower.sock",
    "test -S $SOCKET",
    "mount -t tmpfs none /mnt",
    "unshare -r true",
    "mknod disk b 8 0",
    "echo x > .git",
    // What its own token is not for.
    "flower agent stop $VICTIM",
    "flower agent refresh $VICTIM",
    "flower agent spawn play --worktree mine",
    "flower agent spawn play --worktree mine --role orchestrator",
    "flower agent allow $P",
    "flower agent deny $P",
    "flower token new --agent evil --role orchestrator",
    "flower token new --agent evil --role worker",
    "flower dispatch packet 2",
    "flower dispatch cancel 1",
    "flower handback 2 --fence 1 --summary mine",
    "flower brief accept 1",
    "flower freeze now",
    "flower halt now",
    "flower down",
    "flower worktree remove two",
    "flower worktree shell two -- true",
    "flower land flower/two",
    "FLOWER_TOKEN= flower status",
    "FLOWER_TOKEN=$(printf %040d 0) flower status",
];

/// A script that tries all of them and says which of them succeeded.
fn tries() -> String {
    let each = TRIES.iter().enumerate().map(|(number, attempt)| {
        format!("if ( {attempt} ) > ../out 2>&1 < /dev/null; then echo BROKEN {number}; tail -2 ../out; fi\n")
    });
    let all: String = each.collect();
    format!("{}echo tried {}\n", all.replace("../out", "$HOME/out"), TRIES.len())
}

const LENDS: &str = "credentials = [\"~/.play/credentials.json\"]";

fn guarded(more: &str) -> Stage {
    let flower = Flower::new();
    let secret = json!({ "access": "aCredential-12345678" }).to_string();
    put(&flower, &flower.dir().join("user/.play/credentials.json"), &secret);
    put(&flower, &flower.dir().join("user/.aws/credentials"), &secret);
    put(&flower, &flower.repo.join("tries.sh"), tries());
    Stage::of(flower, &(play("play", &[], "") + &play("rich", &[], LENDS) + more))
}

#[test]
fn every_attack_of_an_agent_fails() {
    let stage = guarded("");
    let victim = stage.standing("rich", "two");
    let shown = stage.becomes(&victim, "idle");
    let pid = shown["pid"].as_u64().expect("a process");
    let asking = stage.plays("play", "Asks", "permission fetch A-page\n sleep 60");
    let permission = stage.asked()["permission"].as_u64().expect("a number");
    let socket = stage.dir().join("outside.sock");
    let _listening = UnixListener::bind(&socket).expect("a socket");
    let main = files(&stage.repo);
    let values = [
        ("M", stage.repo.display().to_string()),
        ("H", stage.home.display().to_string()),
        ("U", stage.dir().join("user").display().to_string()),
        ("V", pid.to_string()),
        ("DAEMON", stage.pid().to_string()),
        ("VICTIM", victim.clone()),
        ("P", permission.to_string()),
        ("SOCKET", socket.display().to_string()),
    ];
    let attacks: String = ["README.md", ".git/HEAD", ".git/config", ".git/refs/heads/main", "planted"]
        .map(|path| format!("attack {}\n", stage.repo.join(path).display()))
        .concat();
    let values: String = values.iter().map(|(name, value)| format!("{name}='{value}' ")).collect();
    let work = stage.plays("play", "Tries", &format!("{attacks}run {values} sh tries.sh\n run sleep 60"));
    let name = stage.agent_of(work);
    let log = stage.hears(&name, &format!("\ntried {}\n", TRIES.len()));
    assert_eq!(log.matches("attack: refused").count(), 5, "{log}");
    for (number, attempt) in TRIES.iter().enumerate() {
        let at = log.find(&format!("\nBROKEN {number}\n"));
        assert!(at.is_none(), "`{attempt}`: {}", &log[at.unwrap_or(0)..]);
    }
    assert_eq!(differences(&main, &files(&stage.repo)), Vec::<String>::new());
    assert_main_is_whole(&stage);
    let after = stage.agent(&victim);
    assert_eq!(
        (&after["state"], &after["pid"]),
        (&json!("idle"), &json!(pid)),
        "the other agent is unaffected: {after}"
    );
    assert_eq!(stage.get("/api/permissions")[0]["id"], permission, "and nothing decided");
    assert_eq!(stage.events_of("token_issued").iter().filter(|event| event.to_string().contains("evil")).count(), 0);
    let _ = asking;

    // The same over HTTP, with its own token.
    let token = stage.token_of(&name);
    let call = |method: &str, path: &str| stage.request(method, path).token(&token);
    for (path, body) in [
        (format!("/api/agents/{victim}/stop"), json!({})),
        (format!("/api/agents/{victim}/refresh"), json!({})),
        ("/api/agents?project=repo".to_owned(), json!({ "profile": "play", "worktree": "mine" })),
        ("/api/agent-keys".to_owned(), json!({ "values": { "ANTHROPIC_API_KEY": "mine" } })),
        (format!("/api/permissions/{permission}"), json!({ "allow": true })),
        (format!("/api/agents/{victim}/terminal/size"), json!({ "columns": 80, "rows": 24 })),
    ] {
        let answer = call("POST", &path).json(&body).send();
        assert_eq!((answer.status, answer.kind().as_str()), (403, "forbidden"), "{path}: {}", answer.text());
    }
    let keys = call("POST", &format!("/api/agents/{victim}/terminal/keys"));
    assert_eq!(keys.body("application/octet-stream", "x").send().status, 403);
    assert_eq!(call("GET", &format!("/api/agents/{victim}/terminal")).send().status, 403);
    // Its own transcript it may read, and no other; nor does a list name the others.
    for of in ["", "/log"] {
        assert_eq!(call("GET", &format!("/api/agents/{victim}{of}")).send().status, 403);
        assert_eq!(call("GET", &format!("/api/agents/{name}{of}")).send().status, 200);
    }
    let listed = call("GET", "/api/agents?all=true").send().json();
    let names: Vec<&str> =
        listed.as_array().expect("a list").iter().filter_map(|agent| agent["name"].as_str()).collect();
    assert_eq!(names, [name.as_str()]);
}

#[test]
fn an_agent_reaches_no_port_but_flowers() {
    let stage = guarded("");
    let other = TcpListener::bind("127.0.0.1:0").expect("a port");
    let ports = [other.local_addr().expect("a port").port(), stage.port()];
    let script: String = ports
        .iter()
        .map(|port| {
            format!("run if flower_says=$(bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port} && echo yes' 2>&1); then echo reached {port}; else echo not {port}; fi\n")
        })
        .collect();
    let work = stage.plays("play", "Ports", &format!("{script}run sleep 60"));
    let name = stage.agent_of(work);
    let log = stage.hears(&name, &format!("\nreached {}", ports[1]));
    assert!(log.contains(&format!("\nnot {}", ports[0])), "{log}");
}

#[test]
fn links_planted_in_an_agents_home_do_not_divert_its_next_start() {
    let stage = guarded("");
    let target = stage.dir().join("user/.aws");
    let script = format!(
        "run rm -rf $HOME/.play; ln -s {} $HOME/.play && echo planted; mkdir $HOME/.flower; ln -s {} $HOME/.flower/prompt-2.md\n fail enough",
        target.display(),
        target.join("x").display()
    );
    let first = stage.plays("play", "Plants", &script);
    let name = stage.agent_of(first);
    stage.becomes(&name, "stopped");
    assert!(stage.said(&name).contains("\nplanted"), "{}", stage.said(&name));
    let worktree = stage.agent(&name)["worktree"].as_str().expect("a name").to_owned();
    let second = stage.standing("rich", &worktree);
    stage.becomes(&second, "idle");
    let home = stage.home.join("seals/repo").join(&worktree).join("home/.play");
    let found = fs::symlink_metadata(&home).expect("it is there");
    assert!(found.is_dir(), "a folder of its own, and no link");
    assert!(fs::read_to_string(home.join("credentials.json")).expect("lent").contains("aCredential"));
    let there: Vec<_> = fs::read_dir(&target).expect("a folder").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(there, ["credentials"], "nothing was written where the link led");
    // While it runs, a link in place of the copy is not followed either.
    let secret = fs::read_to_string(stage.dir().join("user/.play/credentials.json")).expect("its owner's");
    fs::remove_file(home.join("credentials.json")).expect("removed");
    std::os::unix::fs::symlink("/etc/passwd", home.join("credentials.json")).expect("a link");
    stage.ok(&["agent", "stop", &second]);
    let after = fs::read_to_string(stage.dir().join("user/.play/credentials.json")).expect("its owner's");
    assert_eq!(after, secret);
    assert!(stage.said(&second).contains("your credentials file stays as it is"), "{}", stage.said(&second));
}

/// Some of each, and all at once, as in the tests of worktrees.
const WILD: &str = "run mkdir many; (cd many; i=0; while [ $i -lt 50000 ]; do : > $i; i=$((i+1)); done) & \
    (while :; do head -c 100000000 /dev/zero > endless; done) & head -c 300000000 /dev/zero | tail & \
    for i in $(seq 40); do (while :; do :; done) & done; for i in $(seq 4); do (while :; do (true) & wait; done) & done; \
    echo wild > ../../../wild 2>/dev/null; touch wild; exec sleep 300";

/// As many as a careless one starts. One that doubles without end belongs to the tests of the jail, which bound it: here others would notice it.
const BOMB: &str = "echo bombing; i=0; while [ $i -lt 60 ]; do (while :; do :; done) & i=$((i+1)); done; sleep 300";

#[test]
fn an_agent_that_runs_wild_is_stopped_within_five_seconds() {
    let stage = guarded(&shell("bomb", "pty", BOMB, ""));
    let work = stage.plays("play", "Wild", &format!("fork\n {WILD}"));
    let name = stage.agent_of(work);
    let bomb = stage.standing("bomb", "three");
    eventually("both are wild", || {
        let tree = stage.worktree(stage.agent(&name)["worktree"].as_str()?);
        tree.join("wild").exists().then_some(())
    });
    let begin = Instant::now();
    assert_answers_until(&stage, |answered| begin.elapsed() > Duration::from_secs(3) && answered > 200);
    let below = stage.home.display().to_string();
    for name in [&name, &bomb] {
        let asked = Instant::now();
        stage.ok(&["agent", "stop", name]);
        assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    }
    // Nothing of it is left, however it tried to leave.
    eventually("all of it is gone", || {
        let processes = fs::read_dir("/proc").ok()?.flatten();
        let left = processes.filter(|process| {
            let cwd = fs::read_link(process.path().join("cwd")).unwrap_or_default();
            let arguments = fs::read(process.path().join("cmdline")).unwrap_or_default();
            let arguments = String::from_utf8_lossy(&arguments);
            cwd.starts_with(&stage.home) && cwd != stage.home
                || (arguments.contains("scripted-fork") && arguments.contains(&below))
        });
        (left.count() == 0).then_some(())
    });
}
