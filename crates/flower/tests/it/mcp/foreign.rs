//! A third-party client: the Python SDK of the protocol, as published.

use super::{Flower, with_a_worker};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;

const SDK: &str = "mcp==2.3.0";

/// Reads the command, its environment and the calls from standard input; writes what came back.
const DRIVER: &str = r#"
import asyncio, json, sys
from mcp import Client, StdioServerParameters

async def main():
    job = json.load(sys.stdin)
    server = StdioServerParameters(command=job["command"], args=["mcp"], env=job["env"])
    async with Client(server, mode=job["mode"], read_timeout_seconds=30) as client:
        said = {"version": client.protocol_version, "instructions": client.instructions, "calls": []}
        said["name"] = client.server_info.name
        said["tools"] = [tool.name for tool in (await client.list_tools()).tools]
        said["resources"] = [str(resource.uri) for resource in (await client.list_resources()).resources]
        for tool, arguments in job["calls"]:
            result = await client.call_tool(tool, arguments)
            said["calls"].append({"tool": tool, "text": result.content[0].text, "is_error": bool(result.is_error)})
        read = await client.read_resource("flower://brief/1")
        said["brief"] = read.contents[0].text
    json.dump(said, sys.stdout)

asyncio.run(main())
"#;

/// Installed once, beside what is built.
fn python() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("sdk-{}", SDK.replace("==", "-")));
    let python = folder.join("bin/python");
    let run = |command: &mut Command| {
        let output = command.output().expect("python runs");
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    if !folder.join("ready").exists() {
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder));
        run(Command::new(&python).args(["-m", "pip", "install", "--quiet", SDK]));
        std::fs::write(folder.join("ready"), "").expect("a file");
    }
    python
}

fn drive(flower: &Flower, token: &str, mode: &str, calls: &Value) -> Value {
    let job = json!({
        "command": env!("CARGO_BIN_EXE_flower"),
        "env": { "FLOWER_HOME": flower.home, "FLOWER_TOKEN": token },
        "mode": mode,
        "calls": calls,
    });
    let input = flower.file("job.json", job.to_string());
    let mut command = Command::new(python());
    flower.in_own_environment(&mut command).args(["-c", DRIVER]);
    command.stdin(std::fs::File::open(input).expect("a file"));
    let output = command.output().expect("python runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{mode}: {said}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{mode}: {error}: {said}"))
}

/// Installs from the registry of Python packages, so it is not part of every run.
#[test]
#[ignore = "installs the Python SDK; run with --run-ignored all"]
fn the_python_sdk_lists_and_calls_every_tool() {
    let (flower, _) = with_a_worker();
    let token = flower.ok(&["token", "new", "--agent", "olga", "--role", "orchestrator"]).trim().to_owned();
    let plan = flower.file("plan.md", "Read all of it.\n");
    for (mode, version) in [("auto", "2026-07-28"), ("legacy", "2025-11-25")] {
        let made = flower.json(&["brief", "new", "Read", "--kind", "research", "--spec", &plan]);
        let brief = made["number"].to_string();
        flower.ok(&["brief", "accept", &brief]);
        let dispatch = flower.json(&["dispatch", &brief])["id"].clone();
        let said = drive(&flower, &token, mode, &calls(&made["number"], &dispatch));
        assert_eq!((&said["version"], &said["name"]), (&json!(version), &json!("flower")), "{said}");
        assert_eq!(said["tools"].as_array().map(Vec::len), Some(14), "{said}");
        assert_eq!(said["resources"], json!(["flower://main"]), "{said}");
        assert!(said["brief"].as_str().is_some_and(|text| text.starts_with("# Brief 1: `Dark mode`")), "{said}");
        for answer in said["calls"].as_array().expect("a list") {
            let text = answer["text"].as_str().expect("a text");
            // An orchestrator has no worktree of its own; the last call is a mistake.
            let wrong = answer["tool"] == "reserve_paths" || text.contains("missing field");
            assert_eq!(answer["is_error"], wrong, "{mode}: {answer}");
            assert!(["Next: ", "\nnext: ", "## Next"].iter().any(|next| text.contains(next)), "{mode}: {answer}");
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
