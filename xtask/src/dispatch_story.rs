//! The part of the demo that is about dispatch. The agents are scripts, but they come through the door that real ones use:
//! MCP over the pipes of `flower mcp`, inside the seal of their worktree, each with a token of its own.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::mcp_client::{Answer, McpClient};
use crate::run::seconds;
use crate::stage::{Stage, refuse};

const HOURS: u64 = 4;
const SEASONS: u64 = 5;
/// Lines of an answer that are shown.
const SHOWN: usize = 5;

pub(crate) fn play(stage: &mut Stage) -> Result<(), String> {
    let began = Instant::now();
    stage.scene("One brief is dispatched by itself once its plan is accepted, another by hand, for two agents");
    let plan = stage.file("hours.md", "# Opening hours\n\nOn a page of their own, `hours.html`.\n")?;
    stage.flower("operator", &["brief", "new", "Opening hours", "--auto-dispatch", "--spec", &plan])?;
    stage.flower("operator", &["brief", "accept", "4"])?;
    let by_itself = until(stage, &format!("brief {HOURS} to be dispatched"), |stage| newest(stage, HOURS, "build"))?;
    stage.flower("operator", &["dispatch", "list"])?;
    refuse(by_itself["by"] != "flower", &format!("it was not flower that dispatched it: {by_itself}"))?;

    let plan = stage.file("seasons.md", "# Two seasons\n\n- `spring.html`\n- `autumn.html`\n")?;
    stage.flower("operator", &["brief", "new", "Spring and autumn", "--spec", &plan])?;
    stage.flower("operator", &["brief", "accept", "5"])?;
    let token = stage.dispatch(&["dispatch", "5", "--worktree", "seasons", "--agents", "2"])?;
    let by_hand = newest(stage, SEASONS, "build")?.ok_or("the dispatch by hand is not there")?;
    stage.is_agent("agent-2", token);
    share(stage, number(&by_hand)?)?;
    mend(stage, &by_itself)?;

    let trace = stage.quiet(&["trace", "--json"])?;
    refuse(trace.contains("\"lease_breached\""), "somebody committed what another had reserved")?;
    stage.flower("operator", &["main", "verify"])?;
    stage.flower("operator", &["dispatch", "list", "--all"])?;
    eprintln!(
        "\nSeen in {:.1} s: a brief that was dispatched by itself; two agents in one worktree, one of them kept off the \
         other's paths\nby its lease and by its hook; a question, its answer and a message, each of which arrived; work that \
         landed because it was\nhanded back; a landing that failed its check, and the fix that flower asked for with the \
         evidence. Nobody typed `land`.",
        began.elapsed().as_secs_f32()
    );
    Ok(())
}

/// Two agents in one worktree.
fn share(stage: &mut Stage, dispatch: u64) -> Result<(), String> {
    stage.scene(
        "Two agents in one worktree, over MCP and inside its seal: what one has reserved the other leaves alone",
    );
    let mut lead = Agent::enter(stage, "agent-2", "seasons")?;
    let begun = lead.call("start_work", &json!({ "dispatch": dispatch, "paths": ["spring*"] }))?;
    has(&begun, &["You hold dispatch", "spring*", "autumn.html"])?;
    let fence = fence(&begun)?;
    let name = stage.packet(dispatch, true)?;
    let mut member = Agent::enter(stage, &name, "seasons")?;
    has(&member.call("start_work", &json!({}))?, &["You work beside", "agent-2"])?;
    has(&member.refused("reserve_paths", &json!({ "patterns": ["spring.html"] }))?, &["agent-2"])?;
    has(&member.call("reserve_paths", &json!({ "patterns": ["autumn.html"] }))?, &["Reserved until", "agent-2"])?;

    lead.commit(stage, "spring.html", "<p>tulips</p>", "Spring")?;
    let theirs = "echo '<p>mine</p>' > spring.html; git add spring.html; git commit --quiet --message Mine";
    let clean = "code=$?; git reset --quiet --hard; exit $code";
    stage.refused(&name, 1, &["worktree", "shell", "seasons", "--", "sh", "-c", &format!("{theirs}; {clean}")])?;
    member.commit(stage, "autumn.html", "<p>asters</p>", "Autumn")?;

    let ask = json!({ "brief": SEASONS, "kind": "question", "text": "Are dahlias still autumn?" });
    has(&member.call("add_note", &ask)?, &["Question 1"])?;
    stage.flower("operator", &["inbox"])?;
    stage.flower("operator", &["brief", "answer", "5", "1", "Until the first frost."])?;
    has(&member.call("check_inbox", &json!({}))?, &["Answer to question 1", "Until the first frost."])?;
    member.commit(stage, "autumn.html", "<p>asters, dahlias</p>", "Dahlias")?;
    member.call("send_message", &json!({ "to": "agent-2", "text": "Autumn is committed." }))?;
    has(&lead.call("check_inbox", &json!({}))?, &["Autumn is committed."])?;
    member.leave()?;

    stage.scene("Handed back, it lands by itself");
    let back = json!({ "dispatch": dispatch, "fence": fence, "summary": "Both seasons have their page." });
    has(&lead.call("hand_back", &back)?, &["handed_back", "Landing"])?;
    lead.leave()?;
    until_landed(stage, dispatch)?;
    stage.flower("operator", &["dispatch", "show", &dispatch.to_string()])?;
    stage.flower("operator", &["brief", "show", "5"])?;
    let brief = require_landed(stage, SEASONS)?;
    let commits = brief["links"].as_array().into_iter().flatten().filter(|link| link["kind"] == "commit").count();
    refuse(commits < 3, &format!("three commits should be linked: {}", brief["links"]))?;
    let page = stage.git_quiet(&["show", "main:autumn.html"])?;
    refuse(page.trim() != "<p>asters, dahlias</p>", &format!("MAIN's autumn.html is {page}"))
}

/// Work that fails its check comes back as a `fix`.
fn mend(stage: &mut Stage, by_itself: &Value) -> Result<(), String> {
    stage.scene("Work that fails its check: flower asks for a fix, with the evidence, in the same worktree");
    let worktree = by_itself["worktree"].as_str().ok_or("a dispatch without a worktree")?.to_owned();
    work(stage, by_itself, &worktree, "<p>from nine to six", "Opening hours")?;
    let fix = until(stage, "a fix to be dispatched", |stage| newest(stage, HOURS, "fix"))?;
    stage.flower("operator", &["queue", "--all", "--limit", "2"])?;
    stage.flower("operator", &["dispatch", "show", &number(&fix)?.to_string()])?;
    refuse(fix["worktree"] != *worktree, "the fix is not where the work was")?;
    has(fix["evidence"].as_str().unwrap_or_default(), &["hours.html is not closed"])?;
    let read = work(stage, &fix, &worktree, "<p>from nine to six</p>", "Close the page")?;
    has(&read, &["hours.html is not closed"])?;
    until_landed(stage, number(&fix)?)?;
    until_landed(stage, number(by_itself)?)?;
    require_landed(stage, HOURS)?;
    stage.flower("operator", &["brief", "show", "4"])
}

/// One agent claims, commits a page of hours, and hands back; gives what it was told when it began.
fn work(stage: &mut Stage, dispatch: &Value, worktree: &str, page: &str, message: &str) -> Result<String, String> {
    let number = number(dispatch)?;
    let name = stage.packet(number, false)?;
    let mut agent = Agent::enter(stage, &name, worktree)?;
    let begun = agent.call("start_work", &json!({ "dispatch": number, "paths": ["hours.html"] }))?;
    agent.commit(stage, "hours.html", page, message)?;
    let back = json!({ "dispatch": number, "fence": fence(&begun)?, "summary": message });
    has(&agent.call("hand_back", &back)?, &["handed_back", "Landing"])?;
    agent.leave()?;
    Ok(begun)
}

/// Somebody who speaks MCP from inside a worktree.
struct Agent {
    name: String,
    worktree: String,
    client: McpClient,
}

impl Agent {
    fn enter(stage: &Stage, name: &str, worktree: &str) -> Result<Agent, String> {
        let client = McpClient::start(stage.inside(name, worktree, &["flower", "mcp"]))?;
        Ok(Agent { name: name.to_owned(), worktree: worktree.to_owned(), client })
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Result<String, String> {
        let Answer { text, refused } = self.said(tool, arguments)?;
        refuse(refused, &format!("`{tool}` was refused: {text}"))?;
        Ok(text)
    }

    fn refused(&mut self, tool: &str, arguments: &Value) -> Result<String, String> {
        let Answer { text, refused } = self.said(tool, arguments)?;
        refuse(!refused, &format!("`{tool}` should have been refused: {text}"))?;
        Ok(text)
    }

    /// Shows the call and the beginning of what it was answered with.
    fn said(&mut self, tool: &str, arguments: &Value) -> Result<Answer, String> {
        eprintln!("\n{} > {tool} {arguments}", self.name);
        let answer = self.client.call(tool, arguments)?;
        let head: Vec<&str> = answer.text.lines().take_while(|line| !line.is_empty()).take(SHOWN).collect();
        eprintln!("{}", head.join("\n"));
        let more = answer.text.lines().count() - head.len();
        if more > 0 {
            eprintln!("(and {more} more lines)");
        }
        Ok(answer)
    }

    /// Through a shell of its own: the worktree's hooks see who commits.
    fn commit(&self, stage: &Stage, file: &str, page: &str, message: &str) -> Result<(), String> {
        let script = format!(
            "echo '{page}' > {file} && git add {file} && git commit --quiet --message '{message}' && git log --oneline -1"
        );
        stage.flower(&self.name, &["worktree", "shell", &self.worktree, "--", "sh", "-c", &script])
    }

    fn leave(self) -> Result<(), String> {
        self.client.close()
    }
}

fn number(dispatch: &Value) -> Result<u64, String> {
    dispatch["id"].as_u64().ok_or_else(|| format!("a dispatch without a number: {dispatch}"))
}

/// As an agent reads it.
fn fence(begun: &str) -> Result<u64, String> {
    let after = begun.split_once("with fence ").map(|(_, after)| after).unwrap_or_default();
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().map_err(|_| format!("no fence was said:\n{begun}"))
}

fn has(text: &str, words: &[&str]) -> Result<(), String> {
    let missing = words.iter().find(|word| !text.contains(*word));
    missing.map_or(Ok(()), |word| Err(format!("`{word}` is missing in:\n{text}")))
}

/// The newest dispatch of a brief that is of this kind.
fn newest(stage: &Stage, brief: u64, kind: &str) -> Result<Option<Value>, String> {
    let all = stage.json(&["dispatch", "list", "--all", "--brief", &brief.to_string(), "--json"])?;
    Ok(all.as_array().into_iter().flatten().find(|dispatch| dispatch["kind"] == kind).cloned())
}

fn until_landed(stage: &Stage, dispatch: u64) -> Result<(), String> {
    until(stage, &format!("dispatch {dispatch} to land"), |stage| {
        let found = stage.json(&["dispatch", "show", &dispatch.to_string(), "--json"])?;
        refuse(found["state"] == "failed", &format!("it failed: {found}"))?;
        Ok((found["state"] == "landed").then_some(()))
    })
}

fn until<T>(
    stage: &Stage,
    what: &str,
    mut there: impl FnMut(&Stage) -> Result<Option<T>, String>,
) -> Result<T, String> {
    let start = Instant::now();
    loop {
        if let Some(found) = there(stage)? {
            return Ok(found);
        }
        refuse(start.elapsed() > seconds(30), &format!("waited for {what} in vain"))?;
        thread::sleep(Duration::from_millis(50));
    }
}

/// The brief is in MAIN, and what it was made of hangs on it.
fn require_landed(stage: &Stage, brief: u64) -> Result<Value, String> {
    let found = stage.json(&["brief", "show", &brief.to_string(), "--json"])?;
    refuse(found["status"] != "landed", &format!("brief {brief} is {}", found["status"]))?;
    for kind in ["worktree", "branch", "commit", "landing"] {
        let linked = found["links"].as_array().into_iter().flatten().any(|link| link["kind"] == kind);
        refuse(!linked, &format!("brief {brief} has no link to its {kind}: {}", found["links"]))?;
    }
    Ok(found)
}
