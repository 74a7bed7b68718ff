//! A secret that an agent was lent is recorded nowhere, and a secret that it was not lent is not readable inside.

use crate::agent_bounds::stage::{Stage, play, shell};
use crate::common::work::{inside, put};
use crate::common::{Flower, eventually, finish};
use serde_json::json;
use std::fs;
use std::io::BufRead;

/// Every canary begins with it. It is put together where it is needed, so that no script has it.
const CANARY: &str = "cAnary-7f3a91";

/// Where credentials lie. The profile names the first.
const FILES: [&str; 18] = [
    ".play/credentials.json",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    ".local/share/opencode/auth.json",
    ".ssh/id_ed25519",
    ".aws/credentials",
    ".netrc",
    ".cargo/credentials.toml",
    ".config/gh/hosts.yml",
    ".gnupg/private-keys-v1.d/key",
    ".docker/config.json",
    ".npmrc",
    ".git-credentials",
    ".bash_history",
    ".play/other.json",
    ".kube/config",
    ".pypirc",
];

fn lent(which: &str) -> String {
    format!("{CANARY}-{which}-Abcd1234")
}

/// Plants all of them, and starts with two in the environment of which one is lent.
fn canaries(profiles: &str) -> Stage {
    let flower = Flower::new();
    for (number, file) in FILES.iter().enumerate() {
        let text = json!({ "token": { "access": lent(&format!("file{number}")) } });
        put(&flower, &flower.dir().join("user").join(file), text.to_string());
    }
    put(&flower, &flower.repo.join(".env"), format!("API_KEY={}\n", lent("env")));
    put(&flower, &flower.repo.join(".gitignore"), ".env\n");
    Stage::of(flower, profiles)
}

/// Everything that flower has written, but the copy of the login that is lent at this moment.
fn written(stage: &Stage) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![stage.home.clone()];
    while let Some(path) = waiting.pop() {
        if fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir()) {
            waiting.extend(fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
        } else if has(&fs::read(&path).unwrap_or_default()) && !path.ends_with(FILES[0]) {
            found.push(path.display().to_string());
        }
    }
    found
}

fn has(bytes: &[u8]) -> bool {
    bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes())
}

/// In the arguments of any process on this machine.
fn in_arguments() -> Option<String> {
    let processes = fs::read_dir("/proc").expect("processes").flatten();
    let arguments = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    let found = arguments.into_iter().find(|arguments| has(arguments));
    found.map(|arguments| String::from_utf8_lossy(&arguments).into_owned())
}

/// What is shown to people and programs.
fn shown(stage: &Stage, name: &str) -> String {
    let commands: &[&[&str]] = &[
        &["agent", "show", name],
        &["agent", "log", name, "--all"],
        &["agent", "--all"],
        &["agent", "profiles"],
        &["agent", "spend"],
        &["inbox"],
        &["status"],
        &["dispatch", "show", "1"],
        &["brief", "show", "1"],
        &["brief", "trace", "1"],
        &["trace", "--limit", "10000"],
    ];
    let mut all = String::new();
    for command in commands {
        for more in [&[][..], &["--json"]] {
            let output = stage.run(&[command, more].concat());
            assert_eq!(output.code, 0, "{command:?}: {output:?}");
            all.push_str(&format!("\n== {command:?}\n{}{}", output.stdout, output.stderr));
        }
    }
    all
}

fn assert_clean(what: &str, text: &str) {
    let line = text.lines().find(|line| line.contains(CANARY));
    assert_eq!(line, None, "a canary in {what}");
}

/// Says what it was lent in every way there is, as ACP, without any help.
const TELLS: &str = r#"
n=0
answer() { n=$((n+1)); printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' $n "$1"; }
update() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":%s}}\n' "$1"; }
ask() { printf '{"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c","title":"Use %s","kind":"fetch","locations":[{"path":"/etc/%s"}]},"options":[{"optionId":"y","name":"y","kind":"allow_once"},{"optionId":"n","name":"n","kind":"reject_once"}]}}\n' "$1" "$1"; }
file=$(sed 's/.*access":"//;s/".*//' "$HOME/.play/credentials.json")
while read -r line; do
  case "$line" in
  *'"method":"initialize"'*) echo "hello $PLAY_KEY" >&2; echo "noise $PLAY_KEY"; answer '{"protocolVersion":1}';;
  *'"method":"session/new"'*) answer '{"sessionId":"s"}';;
  *'hand-over note'*) update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Use '$PLAY_KEY' and '$file'"}}'; answer '{"stopReason":"end_turn"}';;
  *'"method":"session/prompt"'*)
    for secret in "$PLAY_KEY" "$file"; do
      half=$(printf %s "$secret" | cut -c1-9); rest=$(printf %s "$secret" | cut -c10-)
      update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"the key is '$half'"}}'
      update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'$rest' indeed "}}'
      update '{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"thinking of '$secret'"}}'
      update '{"sessionUpdate":"plan","entries":[{"content":"send '$secret'","priority":"high","status":"pending"}]}'
      update '{"sessionUpdate":"tool_call","toolCallId":"c","title":"curl '$secret'","kind":"execute","status":"in_progress","locations":[{"path":"/x/'$secret'"}]}'
      update '{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed","content":[{"type":"content","content":{"type":"text","text":"'$secret'"}},{"type":"diff","path":"/x/'$secret'","oldText":"'$secret'","newText":"'$secret'"}]}'
      update '{"sessionUpdate":"'$secret'"}'
      update '{"sessionUpdate":"usage_update","used":90,"size":100,"cost":{"amount":0.5,"currency":"'$secret'"}}'
      flower agent tell operator "it is $secret" >/dev/null
      flower brief note 1 "it is $secret" >/dev/null
    done
    ask "$PLAY_KEY";;
  *'"id":"p"'*)
    if [ ! -e "$HOME/answered" ]; then touch "$HOME/answered"; continue; fi
    n=$((n+1)); printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"no such key: %s"}}\n' $n "$PLAY_KEY"
    echo "dying with $file" >&2; exit 1;;
  *'"method":"session/cancel"'*) answer '{"stopReason":"cancelled"}';;
  esac
done
"#;

const LENDS: &str = "env = [\"PLAY_KEY\"]\ncredentials = [\"~/.play/credentials.json\"]\n";

#[test]
fn a_lent_secret_is_recorded_nowhere() {
    let mut flower_profiles = shell("tells", "acp", TELLS, &format!("{LENDS}turn_timeout = \"20s\""));
    flower_profiles.push_str(&play("play", &[], ""));
    let stage = canaries(&flower_profiles);
    let key = lent("key");
    // A reader that follows all events.
    let stream = stage.api("GET", "/api/events?after=0").stream();
    let (answer, mut events) = stream.expect("a stream");
    assert_eq!(answer.status, 200, "{answer:?}");
    let watched = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let heard = watched.clone();
    std::thread::spawn(move || {
        let mut line = String::new();
        while events.read_line(&mut line).is_ok_and(|length| length > 0) {
            heard.lock().expect("whole").push_str(&line);
            line.clear();
        }
    });
    let brief = stage.brief("Lent", "say nothing");
    let up = finish(stage.with_env(&["up"], &[("PLAY_KEY", &key), ("OTHER_KEY", &lent("other"))]));
    assert_eq!(up.code, 0, "{up:?}");
    let name = stage.agent_of(stage.dispatch(brief, "tells"));
    let spawned = stage.agent(&name);
    let item = stage.asked();
    assert!(item["text"].as_str().is_some_and(|text| text.contains("Use [masked]")), "{item}");
    assert_eq!(in_arguments(), None, "a secret stands in the arguments of a process");
    assert_eq!(written(&stage), Vec::<String>::new());
    assert_clean("what is shown", &shown(&stage, &name));
    // It is asked for a note, in which it says so again; then it dies of it.
    stage.ok(&["agent", "refresh", &name]);
    stage.until(&name, "fresh", |agent| agent["refreshes"] == 1);
    let note = stage.events_of("agent_refreshed")[0]["body"]["note"].to_string();
    assert!(note.contains("Use [masked] and [masked]"), "{note}");
    let again = eventually("it asks anew", || {
        let number = stage.asked()["permission"].as_u64();
        number.filter(|number| Some(*number) != item["permission"].as_u64())
    });
    stage.ok(&["agent", "deny", &again.to_string()]);
    let died = stage.until(&name, "dead once", |agent| agent["restarts"].as_u64() > Some(0));
    stage.ok(&["agent", "stop", &name]);
    let log = stage.said(&name);
    assert!(log.matches("[masked]").count() > 20, "it did say so: {log}");
    assert_clean("what is shown", &format!("{died}{}{log}", shown(&stage, &name)));
    assert_eq!(written(&stage), Vec::<String>::new());
    let seen = watched.lock().expect("whole").clone();
    assert!(seen.contains("it is [masked]") && seen.contains("agent_refreshed"), "the stream has all of it");
    assert_clean("the stream", &seen);
    let copy = stage.home.join("seals/repo").join(spawned["worktree"].as_str().expect("a name")).join("home");
    assert!(!copy.join(FILES[0]).exists(), "the login is taken back");
    let own = fs::read_to_string(stage.dir().join("user").join(FILES[0])).expect("its owner's");
    assert!(own.contains(&lent("file0")), "and its owner's is as it was");
}

#[test]
fn a_lent_secret_does_not_land() {
    let stage = canaries(&play("play", &[], LENDS));
    let key = lent("key");
    assert_eq!(finish(stage.with_env(&["up"], &[("PLAY_KEY", &key)])).code, 0);
    for (title, script) in [
        ("Variable", "run echo $PLAY_KEY > a.txt\n commit a\n hand-back done"),
        ("File", "run cp $HOME/.play/credentials.json b.txt\n commit b\n hand-back done"),
    ] {
        let work = stage.plays("play", title, script);
        let name = stage.agent_of(work);
        stage.hears(&name, "hand_back");
        eventually("it is refused", || {
            let shown = stage.shown_dispatch(work).to_string()
                + &stage.said(&name)
                + &stage.get("/api/landings?all=true").to_string();
            shown.contains("one of your own secrets is in it").then_some(())
        });
        assert_ne!(stage.get(&format!("/api/briefs/{}", work.brief))["status"], "landed");
        stage.run(&["agent", "stop", &name]);
    }
    assert_eq!(fs::read_dir(&stage.repo).expect("MAIN").flatten().filter(|e| e.file_name() == "a.txt").count(), 0);
}

#[test]
fn a_terminal_shows_no_lent_secret() {
    let script = "echo \"key $PLAY_KEY\"; cat $HOME/.play/credentials.json; printf '%s' \"$PLAY_KEY\" | base64 | tr -d '\\n'; echo; echo shown; exec cat";
    let stage = canaries(&(play("play", &[], "") + &shell("term", "pty", script, LENDS)));
    let key = lent("key");
    let args = ["agent", "spawn", "term", "--worktree", "one", "--standing", "--json"];
    let spawned = finish(stage.with_env(&args, &[("PLAY_KEY", &key)]));
    assert_eq!(spawned.code, 0, "{spawned:?}");
    let name = "term-1";
    let file = stage.home.join("agents/1/terminal");
    let text = eventually("it has shown all of it", || {
        let text = String::from_utf8_lossy(&fs::read(&file).unwrap_or_default()).into_owned();
        text.contains("shown\r\n").then_some(text)
    });
    assert!(text.matches("[masked]").count() >= 3, "{text}");
    assert_clean("the file", &text);
    let (answer, mut shown_now) =
        stage.api("GET", &format!("/api/agents/{name}/terminal?after=0")).stream().expect("it");
    assert_eq!(answer.status, 200);
    let mut seen = String::new();
    while !seen.contains("shown") {
        shown_now.read_line(&mut seen).expect("a line");
    }
    assert_clean("what is sent", &seen);
    // As a person types it, it comes back, and is masked too.
    stage.ok(&["agent", "tell", name, &format!("is it {key}?")]);
    let text = eventually("the terminal has echoed it, and `cat` has repeated it", || {
        let text = String::from_utf8_lossy(&fs::read(&file).unwrap_or_default()).into_owned();
        (text.matches("is it").count() == 2 && text.ends_with('\n')).then_some(text)
    });
    assert_clean("the file", &text);
    assert_eq!(in_arguments(), None, "a secret stands in the arguments of a process");
    assert!(stage.ok(&["agent", "show", name]).contains(name));
}

#[test]
fn a_secret_that_was_not_lent_is_not_inside() {
    let look = |places: &str| {
        format!(
            "run w=cAnary-; w=\"${{w}}7f3a9[1]\"; for p in /proc/[0-9]*; do tr '\\0' '\\n' < $p/environ; done 2>/dev/null | grep -ao \"$w-[a-z0-9]*\" | sort -u; env | grep -ao \"$w-[a-z0-9]*\" | sort -u; grep -raohs -- \"$w-[a-z0-9]*\" {places} 2>/dev/null | sort -u; echo looked"
        )
    };
    let stage = canaries(&(play("play", &[], LENDS) + &play("poor", &[], "")));
    let key = lent("key");
    let env = [("PLAY_KEY", key.as_str()), ("OTHER_KEY", &lent("other")), ("GITHUB_TOKEN", &lent("github"))];
    // Also in the environment of the daemon.
    stage.ok(&["down"]);
    assert_eq!(finish(stage.with_env(&["up"], &env)).code, 0);
    let places = format!("{} $HOME /tmp /var/tmp /dev/shm /run /root /home /mnt /srv", stage.dir().display());
    for (profile, expected) in [("play", vec!["key", "file0"]), ("poor", vec![])] {
        let work = stage.plays(profile, profile, &format!("{}\n run sleep 30", look(&places)));
        let name = stage.agent_of(work);
        stage.hears(&name, "\nlooked");
        let said = stage.texts(&name, "tool").join("\n");
        for wrong in (1..FILES.len()).map(|n| format!("file{n}")).chain(["other", "github", "env"].map(str::to_owned)) {
            assert!(!said.contains(&format!("{CANARY}-{wrong}\n")), "{profile} sees {wrong}: {said}");
        }
        // What is lent is there; what it says of it is not masked where it is cut short.
        for right in &expected {
            assert!(said.contains(&format!("{CANARY}-{right}")), "{profile} has {right}: {said}");
        }
        if expected.is_empty() {
            assert!(!said.contains(&format!("{CANARY}-")), "{said}");
        }
        stage.ok(&["agent", "stop", &name]);
        // Afterwards no process in that worktree has it.
        let worktree = stage.agent(&name)["worktree"].as_str().expect("a name").to_owned();
        let left = inside(&stage, &worktree, "env; cat $HOME/.play/credentials.json 2>/dev/null || true");
        assert!(left.code == 0 && !left.stdout.contains(CANARY), "{left:?}");
    }
}
