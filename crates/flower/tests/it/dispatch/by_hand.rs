//! Agents that a person starts, in a real jail: the packet's command, and what `worktree shell --as` lends.

use super::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The keys that are in the terminal of the operator, by profile.
const KEYS: [(&str, &str); 3] = [
    ("ANTHROPIC_API_KEY", "sk-ant-canary-of-claude"),
    ("OPENAI_API_KEY", "sk-canary-of-codex"),
    ("GEMINI_API_KEY", "canary-of-gemini-0000"),
];
const LOGIN: &str = r#"{"claudeAiOauth":{"accessToken":"first-token","expiresAt":1}}"#;
const REFRESHED: &str = r#"{"claudeAiOauth":{"accessToken":"other-token","expiresAt":2}}"#;
const BELOW: &str = ".claude/.credentials.json";

/// The operator's machine: programs in an npm prefix, which is on the PATH, and keys in the environment.
struct Machine {
    flower: Flower,
    prefix: PathBuf,
}

impl Machine {
    fn new() -> Machine {
        let mut flower = Flower::new();
        let prefix = flower.dir().join("npm");
        let bin = prefix.join("bin");
        fs::create_dir_all(&bin).unwrap();
        let own = PathBuf::from(flower.command(&[]).get_program());
        let system = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{}:{system}", bin.display(), own.parent().expect("a folder").display());
        flower.env("PATH", &path);
        for (name, value) in KEYS {
            flower.env(name, value);
        }
        prepare(&flower);
        let machine = Machine { flower, prefix };
        for name in ["claude", "codex", "gemini", "opencode"] {
            machine.install(name, AGENT);
        }
        machine
    }

    /// As `npm install -g` does: a link to a script beside its data.
    fn install(&self, name: &str, script: &str) {
        let package = self.prefix.join("lib/node_modules").join(name);
        fs::create_dir_all(&package).unwrap();
        fs::write(package.join("package.json"), format!("{{\"name\": \"{name}\", \"version\": \"1.0.0\"}}")).unwrap();
        fs::write(package.join("data"), format!("data of {name}\n")).unwrap();
        executable(&package.join("cli.sh"), script);
        let _ = fs::remove_file(self.prefix.join("bin").join(name));
        std::os::unix::fs::symlink(package.join("cli.sh"), self.prefix.join("bin").join(name)).unwrap();
        self.flower.give(&self.prefix);
    }

    /// A command line, as a person types it in the repository.
    fn types(&self, line: &str) -> Output {
        let mut shell = Command::new("sh");
        self.flower.in_own_environment(shell.args(["-c", line]).current_dir(&self.flower.repo)).stdin(Stdio::null());
        finish(shell)
    }

    /// The login of the operator.
    fn login(&self) -> PathBuf {
        self.flower.dir().join("user").join(BELOW)
    }

    fn log_in(&self) {
        fs::create_dir_all(self.login().parent().unwrap()).unwrap();
        fs::write(self.login(), LOGIN).unwrap();
        self.flower.give(&self.flower.dir().join("user"));
    }

    /// A file in the home of the jail of worktree `one`.
    fn in_jail_home(&self, below: &str) -> PathBuf {
        self.flower.home.join("seals/repo/one/home").join(below)
    }

    /// A shell in worktree `one` that stays until its end is asked for.
    fn stays(&self) -> Child {
        let mut command = self.flower.command(&[
            "worktree",
            "shell",
            "one",
            "--as",
            "claude",
            "--",
            "sh",
            "-c",
            "echo $$ > here; exec sleep 600",
        ]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("flower runs");
        let here = tree(&self.flower, "one").join("here");
        eventually("the shell runs", || fs::read_to_string(&here).ok().filter(|pid| !pid.is_empty()));
        fs::remove_file(here).unwrap();
        child
    }
}

/// Says what it finds, and claims.
const AGENT: &str = r#"#!/bin/sh
data="$(dirname "$(readlink -f "$0")")/data"
echo "begin $(cat "$data")"
echo "args=$*"
echo "keys=$ANTHROPIC_API_KEY,$OPENAI_API_KEY,$GEMINI_API_KEY"
for file in .claude.json .codex/config.toml .gemini/settings.json .config/opencode/opencode.json; do
  [ -e ~/$file ] && echo "configured=$file" && cat ~/$file
done
flower claim "$(cat dispatch 2>/dev/null || echo 1)" --json
"#;

fn executable(path: &Path, script: &str) {
    fs::write(path, script).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The command of a packet: its first line that is one.
fn command_of(packet: &str) -> &str {
    packet.lines().find(|line| line.contains("flower worktree shell")).unwrap_or_else(|| panic!("{packet}"))
}

fn stop(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn the_first_line_of_a_packet_starts_each_agent_as_printed() {
    let machine = Machine::new();
    let flower = &machine.flower;
    let files = [
        ("claude", ".claude.json", "sk-ant-canary-of-claude,,"),
        ("codex", ".codex/config.toml", ",sk-canary-of-codex,"),
        ("gemini", ".gemini/settings.json", ",,canary-of-gemini-0000"),
        ("opencode", ".config/opencode/opencode.json", "sk-ant-canary-of-claude,sk-canary-of-codex,"),
    ];
    for (number, (profile, file, keys)) in (1..).zip(files) {
        let brief = planned(flower, &format!("For {profile}"));
        let asked = flower.json(&["dispatch", &brief.to_string()]);
        assert_eq!(
            (&asked["id"], &asked["state"], &asked["agent"]),
            (&json!(number), &json!("requested"), &json!(null))
        );
        let packet = &asked["packet"];
        let (text, token) = (packet["text"].as_str().expect("a text"), packet["token"].as_str().expect("a token"));
        let line = command_of(text);
        assert!(line.starts_with(&format!("FLOWER_TOKEN={token} flower worktree shell ")), "{line}");
        assert!(line.ends_with(" --as claude   # or --as codex, gemini, opencode"), "{line}");
        let line = line.replace("--as claude ", &format!("--as {profile} "));
        machine.install(profile, &AGENT.replace("|| echo 1", &format!("|| echo {number}")));
        let output = machine.types(&line);
        assert_eq!(output.code, 0, "{profile}: {output:?}");
        let said = |what: &str| assert!(output.stdout.contains(what), "{profile}: `{what}`: {output:?}");
        said(&format!("begin data of {profile}"));
        said(&format!("keys={keys}\n"));
        said(&format!("configured={file}\n"));
        assert_eq!(output.stdout.matches("configured=").count(), 1, "{output:?}");
        said("\"state\": \"executing\"");
        said(&format!("\"holder\": \"agent-{number}\""));
        let bypass = output.stdout.contains("args=--dangerously-bypass-approvals-and-sandbox\n");
        assert_eq!(bypass, profile == "codex", "its own sandbox cannot start in the jail: {output:?}");
        // The entry that the packet prints is the one that was written.
        let entry = if profile == "codex" { "[mcp_servers.flower]" } else { "\"flower\"" };
        assert!(text.contains(&format!("~/{file}")) && text.contains(entry), "{text}");
    }
    // The token is in no other answer.
    let again = flower.json(&["dispatch", "show", "1"]);
    assert!(again.get("packet").is_none() && flower.json(&["dispatch", "list"])[0].get("packet").is_none(), "{again}");
}

#[test]
fn a_packet_names_the_profile_of_its_dispatch_first() {
    let machine = Machine::new();
    let flower = &machine.flower;
    machine.install("codex-acp", "#!/bin/sh\n");
    flower.ok(&["freeze", "later"]);
    let brief = planned(flower, "For codex");
    let asked = flower.json(&["dispatch", &brief.to_string(), "--agent", "codex"]);
    assert!(asked.get("packet").is_none(), "flower starts it: {asked}");
    let packet = flower.json(&["dispatch", "packet", "1"]);
    let line = command_of(packet["text"].as_str().unwrap());
    assert!(line.ends_with(" --as codex   # or --as claude, gemini, opencode"), "{line}");
}

#[test]
fn keys_leave_the_daemon_for_the_operator_only() {
    let machine = Machine::new();
    let flower = &machine.flower;
    let work = at_work(flower, "Curious");
    flower.ok(&["agent", "profiles"]);
    let path = format!("/api/worktrees/{}/shells", work.worktree);
    let asked = json!({ "profile": "claude" });
    let chief = flower.ok(&["token", "new", "--agent", "chief", "--role", "orchestrator"]).trim().to_owned();
    for token in [&work.token, &chief] {
        let refused = call(flower, token, "POST", &path, &asked);
        assert_eq!(refused.status, 403, "{}", refused.text());
        assert!(!refused.text().contains("canary"), "{}", refused.text());
        for method in ["GET", "DELETE"] {
            assert_eq!(call(flower, token, method, "/api/shells/x", &json!({})).status, 403);
        }
    }
    // From inside, with and without the packet's address of the daemon.
    for script in
        ["flower worktree shell --as claude -- env", "unset FLOWER_URL; flower worktree shell --as claude -- env"]
    {
        let output = inside_as(flower, &work.token, &work.worktree, script);
        assert!(output.code != 0 && !output.stdout.contains("canary"), "{script}: {output:?}");
    }
    let output = inside_as(flower, &work.token, &work.worktree, "flower worktree shell --as claude -- env");
    assert!(output.stderr.contains("keys are lent in a terminal of the operator"), "{output:?}");
    let shell = post(flower, &path, &asked);
    assert_eq!(shell["environment"]["ANTHROPIC_API_KEY"], "sk-ant-canary-of-claude");
    let spec = shell["launcher"].to_string();
    assert!(!spec.contains("canary"), "{spec}");
    let id = shell["id"].as_str().unwrap();
    let files = files(&flower.home);
    let shown = files.values().filter(|content| format!("{content:?}").contains("canary")).count();
    assert_eq!(shown, 0, "a key is in no file");
    let ended = flower.api("DELETE", &format!("/api/shells/{id}")).send();
    assert_eq!((ended.status, ended.json()), (200, json!({})));
    assert_eq!(flower.api("GET", &format!("/api/shells/{id}")).send().status, 404);
}

#[test]
fn wrong_requests_name_the_next_step() {
    let machine = Machine::new();
    let flower = &machine.flower;
    new(flower, "one", &[]);
    new(flower, "open", &["--linked"]);
    let refused = |name: &str, profile: &str, code: i32| {
        let output = flower.run(&["worktree", "shell", name, "--as", profile, "--json"]);
        output.error(code).to_string()
    };
    assert!(refused("one", "clade", 3).contains("did you mean `claude`?"));
    assert!(refused("none", "claude", 3).contains("none"));
    assert!(refused("open", "claude", 1).contains("is linked"));
    fs::remove_file(machine.prefix.join("bin/claude")).unwrap();
    let missing = refused("one", "claude", 1);
    assert!(missing.contains("npm install -g @anthropic-ai/claude-code"), "{missing}");
    // Another program runs all the same.
    let output =
        flower.run(&["worktree", "shell", "one", "--as", "claude", "--", "sh", "-c", "echo $ANTHROPIC_API_KEY"]);
    assert_eq!((output.code, output.stdout.as_str()), (0, "sk-ant-canary-of-claude\n"), "{output:?}");
    put(flower, &flower.home.join("config.toml"), "[agents.own]\nprotocol = \"acp\"\ncommand = [\"own-acp\"]\n");
    let unknown = refused("one", "own", 1);
    assert!(unknown.contains("name it after `--`") && unknown.contains("by_hand"), "{unknown}");
    assert_eq!(flower.run(&["worktree", "shell", "one", "--as", "own", "--", "false"]).code, 1, "its exit code");
}

#[test]
fn what_a_profile_lends_is_there_and_without_it_nothing_is() {
    let machine = Machine::new();
    let flower = &machine.flower;
    new(flower, "one", &[]);
    let models = flower.file("models", "a model\n");
    let config = format!("[agents.claude]\nread = [\"{models}\"]\nset = {{ FRIEND = \"flower\" }}\n");
    put(flower, &flower.home.join("config.toml"), config);
    machine.install("tool", "#!/bin/sh\ncat \"$(dirname \"$(readlink -f \"$0\")\")/data\"\n");
    let script = format!(
        "echo $FRIEND; cat {models}; tool; claude | head -1; echo ${{FLOWER_TOKEN:+token}}; flower mcp --help | head -1"
    );
    let lent = flower.run(&["worktree", "shell", "one", "--as", "claude", "--", "sh", "-c", &script]);
    assert_eq!(lent.code, 0, "{lent:?}");
    let lines: Vec<&str> = lent.stdout.lines().collect();
    assert_eq!(lines[..4], ["flower", "a model", "data of tool", "begin data of claude"], "{lent:?}");
    assert_eq!(lines[4], "token", "without a packet it is a worker of this worktree: {lent:?}");
    let tokens = flower.json(&["token"]);
    let own = tokens.as_array().unwrap().iter().find(|token| token["worktree"] == "one").expect("its token");
    assert!(own["agent"].as_str().unwrap().starts_with("claude-") && own["revoked_at"].is_string(), "{own}");
    // A program alone, with the places that it needs.
    let named = flower.run(&["worktree", "shell", "one", "--as", "gemini", "--", "tool"]);
    assert_eq!((named.code, named.stdout.as_str()), (0, "data of tool\n"), "{named:?}");
    let words =
        flower.run(&["worktree", "shell", "one", "--as", "gemini", "--", "printf", "<%s>", "a b", "--", "$x", ""]);
    assert_eq!(words.stdout, "<a b><--><$x><>", "{words:?}");
    let without = flower.run(&[
        "worktree",
        "shell",
        "one",
        "--",
        "sh",
        "-c",
        &format!("echo [$FRIEND$ANTHROPIC_API_KEY]; cat {models}"),
    ]);
    assert_eq!(without.stdout, "[]\n", "{without:?}");
}

#[test]
fn a_program_of_a_virtual_environment_runs_inside() {
    let machine = Machine::new();
    let flower = &machine.flower;
    new(flower, "one", &[]);
    let venv = flower.dir().join("venv");
    let python = "import sys\nprint(open(sys.prefix + '/lib/words').read(), sys.prefix)\n";
    let made = Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(&venv).status();
    if !made.is_ok_and(|status| status.success()) {
        return crate::common::skip::skip("python3 with venv is not installed");
    }
    fs::write(venv.join("lib/words"), "words of the environment").unwrap();
    executable(&venv.join("bin/tool"), &format!("#!{}\n{python}", venv.join("bin/python").display()));
    flower.give(&venv);
    let tool = venv.join("bin/tool");
    let output = flower.run(&["worktree", "shell", "one", "--as", "claude", "--", tool.to_str().unwrap()]);
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(output.stdout, format!("words of the environment {}\n", venv.display()), "{output:?}");
    let line = format!("PATH={}:$PATH flower worktree shell one --as claude -- tool", venv.join("bin").display());
    let activated = machine.types(&line);
    assert!(activated.stdout.starts_with("words of the environment"), "{activated:?}");
}

#[test]
fn an_existing_configuration_is_kept() {
    let machine = Machine::new();
    let flower = &machine.flower;
    new(flower, "one", &[]);
    let enter = || flower.run(&["worktree", "shell", "one", "--as", "claude", "--", "cat", ".claude.json"]);
    let _ = enter();
    let file = machine.in_jail_home(".claude.json");
    let own = json!({ "theme": "dark", "mcpServers": { "mine": { "command": "m" } } });
    put(flower, &file, own.to_string());
    let output = enter();
    let written: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!((&written["theme"], &written["mcpServers"]["mine"]), (&own["theme"], &own["mcpServers"]["mine"]));
    assert_eq!(written["mcpServers"]["flower"]["command"], "flower", "{output:?}");
    put(flower, &file, "{ not json");
    let noted = enter();
    assert!(noted.stderr.contains("flower's tools are not in ~/.claude.json"), "{noted:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "{ not json");
    // What an earlier agent has planted is not followed.
    let outside = flower.file("outside.json", "{}");
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(&outside, &file).unwrap();
    let planted = enter();
    assert!(planted.stderr.contains("flower's tools are not in"), "{planted:?}");
    assert_eq!(fs::read_to_string(&outside).unwrap(), "{}");
}

#[test]
fn a_login_is_lent_and_a_refresh_comes_back() {
    let machine = Machine::new();
    let flower = &machine.flower;
    new(flower, "one", &[]);
    machine.log_in();
    let script = format!("cat ~/{BELOW}; printf '%s' '{REFRESHED}' > ~/new && mv ~/new ~/{BELOW}");
    let output = flower.run(&["worktree", "shell", "one", "--as", "claude", "--", "sh", "-c", &script]);
    assert_eq!((output.code, output.stdout.as_str()), (0, LOGIN), "{output:?}");
    assert!(output.stderr.contains("refreshed its login"), "{output:?}");
    assert_eq!(fs::read_to_string(machine.login()).unwrap(), REFRESHED);
    assert!(!machine.in_jail_home(BELOW).exists(), "the copy goes with the shell");
    let without = flower.run(&["worktree", "shell", "one", "--", "cat", BELOW]);
    assert!(without.code != 0, "{without:?}");
}

/// Gemini CLI asks a person how to log in, unless it is told; a key comes first.
#[test]
fn a_program_is_told_that_the_lent_login_counts() {
    let machine = Machine::new();
    let flower = &machine.flower;
    new(flower, "one", &[]);
    let login = flower.dir().join("user/.gemini/oauth_creds.json");
    put(flower, &login, LOGIN);
    let says = |env: &str| {
        put(flower, &flower.home.join("config.toml"), format!("[agents.gemini]\nenv = [{env}]\n"));
        let script = "echo \"[$GOOGLE_GENAI_USE_GCA]\"; cat ~/.gemini/oauth_creds.json";
        flower.ok(&["worktree", "shell", "one", "--as", "gemini", "--", "sh", "-c", script])
    };
    assert_eq!(says(""), format!("[true]\n{LOGIN}"));
    assert_eq!(says("\"GEMINI_API_KEY\""), format!("[]\n{LOGIN}"));
}

#[test]
fn shells_share_a_login_until_the_last_has_ended() {
    let machine = Machine::new();
    let flower = &machine.flower;
    new(flower, "one", &[]);
    machine.log_in();
    let first = machine.stays();
    let copy = machine.in_jail_home(BELOW);
    let output = flower.run(&["worktree", "shell", "one", "--as", "claude", "--", "true"]);
    assert_eq!(output.code, 0, "{output:?}");
    assert!(copy.exists(), "the first shell has it still");
    // Killed, it cannot say that it has ended.
    put(flower, &copy, REFRESHED);
    stop(first);
    eventually("the login is taken back", || (!copy.exists()).then_some(()));
    assert_eq!(fs::read_to_string(machine.login()).unwrap(), REFRESHED);
    let specs = fs::read_dir(flower.home.join("seals/repo/one")).unwrap().flatten();
    let left: Vec<_> = specs.filter(|entry| entry.file_name().to_string_lossy().starts_with("shell-")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_shell_outlives_the_daemon_and_is_lent_to_again() {
    let machine = Machine::new();
    let flower = &machine.flower;
    new(flower, "one", &[]);
    machine.log_in();
    let mut shell = machine.stays();
    let copy = machine.in_jail_home(BELOW);
    put(flower, &copy, REFRESHED);
    flower.ok(&["down"]);
    assert_eq!(fs::read_to_string(machine.login()).unwrap(), REFRESHED, "a daemon that ends takes everything back");
    assert!(!copy.exists());
    flower.start();
    eventually("the next daemon lends again", || copy.exists().then_some(()));
    // Killed, it takes nothing back; the next one does.
    put(flower, &copy, LOGIN);
    let daemon = i32::try_from(flower.pid()).ok().and_then(rustix::process::Pid::from_raw).expect("a daemon");
    rustix::process::kill_process(daemon, rustix::process::Signal::KILL).unwrap();
    eventually("the next daemon starts", || (flower.run(&["up"]).code == 0).then_some(()));
    eventually("the refresh reaches the login", || {
        (fs::read_to_string(machine.login()).unwrap() == LOGIN).then_some(())
    });
    assert!(shell.try_wait().unwrap().is_none(), "the shell runs");
    stop(shell);
    eventually("and takes back", || (!copy.exists()).then_some(()));
}
