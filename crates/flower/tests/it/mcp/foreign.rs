//! Third-party clients, as published: the Python SDK of the protocol in both of its major versions, and the command-line mode of the
//! MCP inspector.

use super::{Flower, with_a_worker};
use crate::common::work::{inside_ok, new, prepare, put};
use crate::real_agents::agent::{agents, path};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;

/// A version of the SDK, its program, and what it speaks in each of its modes.
struct Sdk {
    package: &'static str,
    driver: &'static str,
    modes: &'static [(&'static str, &'static str)],
}

const SDK: Sdk =
    Sdk { package: "mcp==2.3.0", driver: DRIVER, modes: &[("auto", "2026-07-28"), ("legacy", "2025-11-25")] };

const OLDER_SDK: Sdk = Sdk { package: "mcp==1.30.0", driver: OLDER_DRIVER, modes: &[("", "2025-11-25")] };

/// Reads the server and the calls from standard input; writes what came back. Without an address it starts the server.
const DRIVER: &str = r#"
import asyncio, json, sys
from mcp import Client, MCPError, StdioServerParameters

def connect(job):
    if not job["url"]:
        return StdioServerParameters(command=job["command"], args=["mcp"], env=job["env"])
    import httpx2
    from mcp.client.streamable_http import streamable_http_client
    http = httpx2.AsyncClient(headers={"Authorization": "Bearer " + job["token"]}, timeout=60)
    return streamable_http_client(job["url"], http_client=http)

async def main():
    job = json.load(sys.stdin)
    async with Client(connect(job), mode=job["mode"], read_timeout_seconds=60) as client:
        said = {"version": client.protocol_version, "instructions": client.instructions, "calls": []}
        said["name"] = client.server_info.name
        said["tools"] = [tool.name for tool in (await client.list_tools()).tools]
        said["resources"] = [str(resource.uri) for resource in (await client.list_resources()).resources]
        templates = (await client.list_resource_templates()).resource_templates
        said["templates"] = [template.uri_template for template in templates]
        read = await client.read_resource(job["brief"])
        said["brief"] = read.contents[0].text
        try:
            await client.call_tool("no_such_tool", {})
        except MCPError as error:
            said["unknown"] = str(error)
        for tool, arguments in job["calls"]:
            result = await client.call_tool(tool, arguments)
            said["calls"].append({"tool": tool, "text": result.content[0].text, "is_error": bool(result.is_error)})
    json.dump(said, sys.stdout)

asyncio.run(main())
"#;

/// The same with the classes of version 1.
const OLDER_DRIVER: &str = r#"
import asyncio, json, sys
from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client

def connect(job):
    if not job["url"]:
        return stdio_client(StdioServerParameters(command=job["command"], args=["mcp"], env=job["env"]))
    return streamablehttp_client(job["url"], headers={"Authorization": "Bearer " + job["token"]}, timeout=60)

async def main():
    job = json.load(sys.stdin)
    async with connect(job) as streams, ClientSession(*streams[:2]) as client:
        hello = await client.initialize()
        said = {"version": hello.protocolVersion, "instructions": hello.instructions, "calls": []}
        said["name"] = hello.serverInfo.name
        said["tools"] = [tool.name for tool in (await client.list_tools()).tools]
        said["resources"] = [str(resource.uri) for resource in (await client.list_resources()).resources]
        templates = (await client.list_resource_templates()).resourceTemplates
        said["templates"] = [template.uriTemplate for template in templates]
        read = await client.read_resource(job["brief"])
        said["brief"] = read.contents[0].text
        try:
            await client.call_tool("no_such_tool", {})
        except McpError as error:
            said["unknown"] = str(error)
        for tool, arguments in job["calls"]:
            result = await client.call_tool(tool, arguments)
            said["calls"].append({"tool": tool, "text": result.content[0].text, "is_error": result.isError})
    json.dump(said, sys.stdout)

asyncio.run(main())
"#;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transport {
    Stdio,
    Http,
}

const TRANSPORTS: [Transport; 2] = [Transport::Stdio, Transport::Http];

/// Installed once, beside what is built.
fn python(sdk: &Sdk) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("sdk-{}", sdk.package.replace("==", "-")));
    let python = folder.join("bin/python");
    let run = |command: &mut Command| {
        let output = command.output().expect("python runs");
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    if !folder.join("ready").exists() {
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder));
        run(Command::new(&python).args(["-m", "pip", "install", "--quiet", sdk.package]));
        std::fs::write(folder.join("ready"), "").expect("a file");
    }
    python
}

fn url(flower: &Flower) -> String {
    format!("http://127.0.0.1:{}/mcp", flower.port())
}

fn drive(
    flower: &Flower,
    sdk: &Sdk,
    transport: Transport,
    token: &str,
    mode: &str,
    brief: &Value,
    calls: &Value,
) -> Value {
    let job = json!({
        "url": (transport == Transport::Http).then(|| url(flower)),
        "token": token,
        "command": env!("CARGO_BIN_EXE_flower"),
        "env": { "FLOWER_HOME": flower.home, "FLOWER_TOKEN": token },
        "mode": mode,
        "brief": format!("flower://brief/{brief}"),
        "calls": calls,
    });
    let input = flower.file("job.json", job.to_string());
    let mut command = Command::new(python(sdk));
    flower.in_own_environment(&mut command).args(["-c", sdk.driver]);
    command.stdin(std::fs::File::open(input).expect("a file"));
    let output = command.output().expect("python runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} {transport:?} {mode}: {said}", sdk.package);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{mode}: {error}: {said}"))
}

fn assert_says_what_is_next(answer: &Value) {
    let text = answer["text"].as_str().expect("a text");
    assert!(["Next: ", "\nnext: ", "## Next"].iter().any(|next| text.contains(next)), "{answer}");
}

/// Installs from the registry of Python packages, so it is not part of every run.
#[test]
#[ignore = "installs the Python SDK; run with --run-ignored all"]
fn the_python_sdk_lists_and_calls_every_tool() {
    let (flower, _) = with_a_worker();
    let token = flower.ok(&["token", "new", "--agent", "olga", "--role", "orchestrator"]).trim().to_owned();
    let plan = flower.file("plan.md", "Read all of it.\n");
    for (mode, version) in SDK.modes {
        let made = flower.json(&["brief", "new", "Read", "--kind", "research", "--spec", &plan]);
        let brief = made["number"].to_string();
        flower.ok(&["brief", "accept", &brief]);
        let dispatch = flower.json(&["dispatch", &brief])["id"].clone();
        let calls = calls(&made["number"], &dispatch);
        let said = drive(&flower, &SDK, Transport::Stdio, &token, mode, &json!(1), &calls);
        assert_eq!((&said["version"], &said["name"]), (&json!(version), &json!("flower")), "{said}");
        assert_eq!(said["tools"].as_array().map(Vec::len), Some(14), "{said}");
        assert_eq!(said["resources"], json!(["flower://main"]), "{said}");
        assert!(said["brief"].as_str().is_some_and(|text| text.starts_with("# Brief 1: `Dark mode`")), "{said}");
        for answer in said["calls"].as_array().expect("a list") {
            let text = answer["text"].as_str().expect("a text");
            // An orchestrator has no worktree of its own; the last call is a mistake.
            let wrong = answer["tool"] == "reserve_paths" || text.contains("missing field");
            assert_eq!(answer["is_error"], wrong, "{mode}: {answer}");
            assert_says_what_is_next(answer);
        }
        assert_eq!(flower.json(&["dispatch", "show", &dispatch.to_string()])["state"], "handed_back");
    }
}

/// Each tool once, and a mistake.
fn calls(brief: &Value, dispatch: &Value) -> Value {
    json!([
        ["list_briefs", {}],
        ["search", { "text": "dark" }],
        ["create_brief", { "title": "From afar" }],
        ["propose_plan", { "brief": 1, "markdown": "Grey." }],
        ["refine_spec", { "brief": 1, "markdown": "Dark grey." }],
        ["add_note", { "brief": 1, "text": "seen" }],
        ["write_scratchpad", { "title": "Greys", "text": "#111" }],
        ["start_work", { "dispatch": dispatch }],
        ["recall_brief", { "brief": brief }],
        ["reserve_paths", { "patterns": ["src/**"] }],
        ["check_inbox", {}],
        ["send_message", { "to": "mara", "text": "hello" }],
        ["hand_back", { "dispatch": dispatch, "fence": 1, "summary": "done" }],
        ["add_note", { "brief": 1 }],
    ])
}

/// A worker's brief, its dispatch and its token. Its work is committed in the worktree already.
struct Work {
    brief: Value,
    dispatch: Value,
    token: String,
}

fn served() -> Flower {
    let flower = Flower::new();
    put(&flower, &flower.repo.join("flower.toml"), "[checks]\ntest = { run = \"true\" }\n");
    flower.git(&flower.repo, &["add", "."]);
    flower.git(&flower.repo, &["commit", "--quiet", "--message", "settings"]);
    prepare(&flower);
    flower.ok(&["project", "approve", "--yes"]);
    flower
}

fn work(flower: &Flower, name: &str) -> Work {
    let plan = flower.file("plan.md", format!("# {name}\n\nMake a file of this name.\n"));
    let brief = flower.json(&["brief", "new", name, "--spec", &plan])["number"].clone();
    flower.ok(&["brief", "accept", &brief.to_string()]);
    new(flower, name, &[]);
    inside_ok(flower, name, &format!("echo x > {name}.txt; git add .; git commit --quiet --message {name}"));
    let dispatch = flower.json(&["dispatch", &brief.to_string(), "--worktree", name])["id"].clone();
    let packet = flower.json(&["dispatch", "packet", &dispatch.to_string()]);
    Work { brief, dispatch, token: packet["token"].as_str().expect("a token").to_owned() }
}

/// All that a worker sees, over both transports, with both versions of the SDK: from the claim to the landing.
#[test]
#[ignore = "installs the Python SDK; run with --run-ignored all"]
fn the_python_sdk_does_the_work_of_a_worker() {
    let flower = served();
    let rounds = [&SDK, &OLDER_SDK].into_iter().flat_map(|sdk| sdk.modes.iter().map(move |mode| (sdk, mode)));
    let rounds = rounds.flat_map(|round| TRANSPORTS.map(|transport| (round, transport)));
    for (number, ((sdk, (mode, version)), transport)) in rounds.enumerate() {
        let work = work(&flower, &format!("work-{number}"));
        let (brief, dispatch) = (&work.brief, &work.dispatch);
        let calls = json!([
            ["start_work", { "dispatch": dispatch, "paths": ["docs/**"] }],
            ["recall_brief", {}],
            ["list_briefs", { "ready": true }],
            ["search", { "text": "work" }],
            // Its brief is no draft any more.
            ["propose_plan", { "brief": brief, "markdown": "Another." }],
            ["refine_spec", { "brief": brief, "markdown": "Make a file, and say so.", "why": "clearer" }],
            ["add_note", { "brief": brief, "text": "seen" }],
            ["write_scratchpad", { "title": "Names", "text": "one" }],
            ["reserve_paths", { "patterns": ["src/**"], "minutes": 5 }],
            ["check_work", {}],
            ["check_inbox", {}],
            ["send_message", { "to": "operator", "text": "hello" }],
            ["add_note", { "brief": brief }],
            ["add_note", { "brief": "all of them", "text": "x" }],
            ["reserve_paths", { "patterns": 7 }],
            ["hand_back", { "dispatch": dispatch, "fence": 99, "summary": "done" }],
            ["create_brief", { "title": "Found on the way", "spec": "Another file." }],
            ["hand_back", { "dispatch": dispatch, "fence": 1, "summary": "done" }],
        ]);
        let said = drive(&flower, sdk, transport, &work.token, mode, brief, &calls);
        let case = format!("{} {mode} {transport:?}", sdk.package);
        assert_eq!((&said["version"], &said["name"]), (&json!(version), &json!("flower")), "{case}: {said}");
        assert!(said["instructions"].as_str().is_some_and(|text| text.contains("start_work")), "{case}: {said}");
        assert_eq!(said["templates"], json!(["flower://brief/{number}"]), "{case}: {said}");
        assert!(said["brief"].as_str().is_some_and(|text| text.starts_with("# Brief ")), "{case}: {said}");
        assert!(said["unknown"].as_str().is_some_and(|text| text.contains("no_such_tool")), "{case}: {said}");
        let answers = said["calls"].as_array().expect("a list");
        for tool in said["tools"].as_array().expect("a list") {
            assert!(answers.iter().any(|answer| answer["tool"] == *tool), "{case}: {tool} is not called");
        }
        let wrong: Vec<usize> = (0..answers.len()).filter(|&at| answers[at]["is_error"] == true).collect();
        assert_eq!(wrong, [4, 12, 13, 14, 15], "{case}: {said:#}");
        answers.iter().for_each(assert_says_what_is_next);
        crate::common::eventually("it lands", || {
            let state = flower.json(&["dispatch", "show", &dispatch.to_string()])["state"].clone();
            assert!(state == "handed_back" || state == "landed", "{case}: {state}");
            (state == "landed").then_some(())
        });
    }
}

/// Lists, calls, reads, and says a mistake, over both transports.
#[test]
#[ignore = "starts the MCP inspector: cargo xtask test --real-agents"]
fn the_inspector_lists_calls_and_reads() {
    let flower = served();
    for transport in TRANSPORTS {
        let Work { brief, dispatch, token } =
            work(&flower, if transport == Transport::Http { "http" } else { "stdio" });
        let ask = |args: &[&str]| {
            let mut command = Command::new(agents().join("bin/mcp-inspector"));
            flower.in_own_environment(&mut command).env("PATH", path()).arg("--cli");
            match transport {
                Transport::Stdio => command
                    .args(["-e", &format!("FLOWER_TOKEN={token}")])
                    .args(["-e", &format!("FLOWER_HOME={}", flower.home.display())])
                    .args([env!("CARGO_BIN_EXE_flower"), "mcp"]),
                Transport::Http => command
                    .args([&url(&flower), "--transport", "http"])
                    .args(["--header", &format!("Authorization: Bearer {token}")]),
            };
            let output = command.args(args).stdin(std::process::Stdio::null()).output().expect("node runs");
            let (said, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            let answer: Value = serde_json::from_str(&said).unwrap_or_default();
            (output.status.code(), answer, format!("{transport:?} {args:?}: {said}{error}"))
        };
        let call = |tool: &str, arguments: &[(&str, &Value)]| {
            let pairs: Vec<String> = arguments.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let pairs = pairs.iter().flat_map(|pair| ["--tool-arg", pair]);
            ask(&["--method", "tools/call", "--tool-name", tool].into_iter().chain(pairs).collect::<Vec<_>>())
        };
        // With `--strict` it fails if a schema would not work with every client.
        let (code, listed, said) = ask(&["--method", "tools/list", "--strict"]);
        let names: Vec<_> = listed["tools"].as_array().into_iter().flatten().map(|tool| &tool["name"]).collect();
        assert!(code == Some(0) && names.contains(&&json!("hand_back")) && names.len() == 13, "{said}");
        let (code, listed, said) = ask(&["--method", "resources/list"]);
        assert_eq!((code, &listed["resources"][0]["uri"]), (Some(0), &json!("flower://main")), "{said}");
        let (code, listed, said) = ask(&["--method", "resources/templates/list"]);
        let template = &listed["resourceTemplates"][0]["uriTemplate"];
        assert_eq!((code, template), (Some(0), &json!("flower://brief/{number}")), "{said}");
        let uri = format!("flower://brief/{brief}");
        let (code, read, said) = ask(&["--method", "resources/read", "--uri", &uri]);
        let text = read["contents"][0]["text"].as_str().unwrap_or_default();
        assert!(code == Some(0) && text.starts_with(&format!("# Brief {brief}")), "{said}");
        // A mistake is an answer of the tool, which says what to do; the inspector's exit code says it too.
        let (code, answer, said) = call("add_note", &[("brief", &brief)]);
        let text = answer["content"][0]["text"].as_str().unwrap_or_default();
        assert!(code != Some(0) && answer["isError"] == true && text.contains("\nnext: "), "{said}");
        let patterns = json!(["docs/**"]);
        for (tool, arguments, words) in [
            ("start_work", vec![("dispatch", &dispatch), ("paths", &patterns)], "docs/**"),
            ("add_note", vec![("brief", &brief), ("text", &json!("from afar"))], "Added to the trace"),
            ("check_work", vec![], "test: passed"),
            ("hand_back", vec![("dispatch", &dispatch), ("fence", &json!(1)), ("summary", &json!("done"))], "Landing"),
        ] {
            let (code, answer, said) = call(tool, &arguments);
            let text = answer["content"][0]["text"].as_str().unwrap_or_default();
            assert!(code == Some(0) && answer["isError"] != true && text.contains(words), "{said}");
        }
    }
}
