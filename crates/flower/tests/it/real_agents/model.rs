//! A model on loopback that plays a script, so that real agents work without any key and any network.
//!
//! It keeps nothing of a conversation: which step is next is the number of tool results that the agent sends along. So an
//! agent may ask twice, and ask for titles in between.

use super::wire::{self, Api, Reply};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard};

/// Far more than one agent's whole conversation.
const MOST_REQUESTS: usize = 200;
/// Far above what an agent tells a model.
const MOST_BYTES: usize = 8 << 20;

pub enum Step {
    Say(String),
    Call {
        tool: String,
        arguments: Arguments,
    },
    /// One that is made from what the tools have answered so far.
    Later(Box<Later>),
    /// A call with what the user has told.
    Told {
        tool: String,
        arguments: Box<Told>,
    },
    /// A whole step, made from everything that the user has told.
    Made(Box<Made>),
    /// Says that it waits, until the user has told these words.
    Await {
        words: String,
        then: Box<Step>,
    },
}

/// Made from everything that the user has told.
type Written = dyn Fn(&[String]) -> Option<String> + Send + Sync;
type Later = dyn Fn(&[String]) -> Result<Step, String> + Send + Sync;
type Made = dyn Fn(&str) -> Step + Send + Sync;
type Told = dyn Fn(&str) -> Result<Value, String> + Send + Sync;

/// Made from what the tools have answered so far; or why that cannot be.
pub type Arguments = Box<dyn Fn(&[String]) -> Result<Value, String> + Send + Sync>;

impl Step {
    pub fn say(text: &str) -> Step {
        Step::Say(text.to_owned())
    }

    pub fn call(tool: &str, arguments: Value) -> Step {
        Step::call_with(tool, move |_| Ok(arguments.clone()))
    }

    pub fn call_with(
        tool: &str,
        arguments: impl Fn(&[String]) -> Result<Value, String> + Send + Sync + 'static,
    ) -> Step {
        Step::Call { tool: tool.to_owned(), arguments: Box::new(arguments) }
    }
}

impl Step {
    /// A whole step, where the arguments alone are not enough.
    pub fn call_later(step: impl Fn(&[String]) -> Result<Step, String> + Send + Sync + 'static) -> Step {
        Step::Later(Box::new(step))
    }

    /// Its arguments are made from everything that the user has told.
    pub fn call_as_told(tool: &str, arguments: impl Fn(&str) -> Result<Value, String> + Send + Sync + 'static) -> Step {
        Step::Told { tool: tool.to_owned(), arguments: Box::new(arguments) }
    }

    /// A step that is made of words, which are made from everything that the user has told.
    pub fn call_told(make: fn(&str) -> Step, words: impl Fn(&str) -> String + Send + Sync + 'static) -> Step {
        Step::Made(Box::new(move |told| make(&words(told))))
    }

    /// The step, once the user has told these words. Until then it ends its turn.
    pub fn once_told(words: &str, then: Step) -> Step {
        Step::Await { words: words.to_owned(), then: Box::new(then) }
    }

    fn play(&self, offered: &[wire::Tool], results: &[String], told: &[String]) -> Result<Reply, String> {
        let (name, arguments) = match self {
            Step::Say(text) => return Ok(Reply::Text(text.clone())),
            Step::Made(step) => return step(&told.join("\n")).play(offered, results, told),
            Step::Later(step) => return step(results)?.play(offered, results, told),
            Step::Await { words, then } => {
                return match told.iter().any(|told| told.contains(words.as_str())) {
                    true => then.play(offered, results, told),
                    false => Ok(Reply::Text("It waits for an answer.".to_owned())),
                };
            }
            Step::Call { tool, arguments } => (tool, arguments(results)),
            Step::Told { tool, arguments } => (tool, arguments(&told.join("\n"))),
        };
        let tool = offered.iter().find(|tool| tool.name == *name).cloned();
        let tool = tool.ok_or_else(|| format!("`{name}` is not offered, only {:?}", names(offered)))?;
        let arguments = arguments.map_err(|error| format!("`{name}`: {error}"))?;
        Ok(Reply::Call { tool, arguments })
    }
}

/// A request as it came, and what was answered.
#[derive(Clone, Debug)]
pub struct Asked {
    pub path: String,
    pub body: Value,
    /// The names of the tools that were offered.
    pub tools: Vec<String>,
    /// What the tools had answered until then.
    pub results: Vec<String>,
    pub reply: Option<Reply>,
}

/// Serves from the moment that it is made until it is dropped.
pub struct Model {
    pub port: u16,
    shared: Arc<Shared>,
    _runtime: tokio::runtime::Runtime,
}

#[derive(Default)]
struct Shared {
    script: Mutex<Vec<Step>>,
    /// The tool results that were there when the script began; none yet for one that goes on with the next request.
    before: Mutex<Option<usize>>,
    /// The answer to a request that ends with this text, at any step.
    aside: Mutex<Option<(String, String)>>,
    /// The answer to an agent that offers no tools, because it edits by text.
    written: Mutex<Option<Box<Written>>>,
    /// The step that is not answered for now.
    held: tokio::sync::watch::Sender<Option<usize>>,
    asked: Mutex<Vec<Asked>>,
    trouble: Mutex<Vec<String>>,
}

impl Model {
    /// With nothing to play yet.
    pub fn start() -> Model {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let bound = runtime.block_on(tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)));
        let listener = bound.expect("a port on loopback");
        let port = listener.local_addr().expect("an address").port();
        let shared = Arc::new(Shared::default());
        let router =
            Router::new().fallback(handle).layer(DefaultBodyLimit::max(MOST_BYTES)).with_state(Arc::clone(&shared));
        runtime.spawn(serve(listener, router));
        Model { port, shared, _runtime: runtime }
    }

    pub fn play(&self, script: Vec<Step>) {
        *lock(&self.shared.script) = script;
        *lock(&self.shared.before) = Some(0);
    }

    /// Plays this from the next request on, however many results its session still knows.
    pub fn go_on(&self, script: Vec<Step>) {
        *lock(&self.shared.script) = script;
        *lock(&self.shared.before) = None;
    }

    /// A request with these words gets that answer, at any step.
    pub fn answer(&self, words: &str, answer: &str) {
        *lock(&self.shared.aside) = Some((words.to_owned(), answer.to_owned()));
    }

    /// What an agent that offers no tools is answered: at step 0, made from what the user has told. None: a title.
    pub fn write(&self, text: impl Fn(&[String]) -> Option<String> + Send + Sync + 'static) {
        *lock(&self.shared.written) = Some(Box::new(text));
    }

    /// A request at this step waits for its answer, until another step or none is held.
    pub fn hold(&self, step: Option<usize>) {
        self.shared.held.send_replace(step);
    }

    /// How often a request with tools has asked for this step.
    pub fn asked_for(&self, step: usize) -> usize {
        self.asked().iter().filter(|asked| !asked.tools.is_empty() && asked.results.len() == step).count()
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Everything that was asked, oldest first.
    pub fn asked(&self) -> Vec<Asked> {
        lock(&self.shared.asked).clone()
    }

    /// Every step that could not be played as written.
    pub fn trouble(&self) -> Vec<String> {
        lock(&self.shared.trouble).clone()
    }
}

async fn serve(listener: tokio::net::TcpListener, router: Router) {
    while let Ok((stream, _)) = listener.accept().await {
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

async fn handle(State(shared): State<Arc<Shared>>, method: Method, uri: Uri, body: Bytes) -> Response {
    let path = uri.path().to_owned();
    let api = Api::of(&path).filter(|_| method == Method::POST);
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let offered = wire::tools(&body);
    let results = api.map(|api| wire::results(api, &body)).unwrap_or_default();
    let told = api.map(|api| wire::told(api, &body)).unwrap_or_default();
    let aside = shared.aside(&told).filter(|_| !offered.is_empty());
    let written = if offered.is_empty() { shared.written(&told) } else { None };
    let held = aside.is_none() && (!offered.is_empty() || written.is_some());
    let reply = api.map(|_| aside.or(written).unwrap_or_else(|| shared.reply(&offered, &results, &told)));
    let (mut holding, step) = (shared.held.subscribe(), results.len());
    let tools = offered.into_iter().map(|tool| tool.name).collect();
    let asked = Asked { path: path.clone(), body: body.clone(), tools, results, reply: reply.clone() };
    let Some(number) = shared.keep(asked) else {
        return StatusCode::TOO_MANY_REQUESTS.into_response();
    };
    if held {
        let _ = holding.wait_for(|held| *held != Some(step)).await;
    }
    match (api, reply) {
        (Some(api), Some(reply)) => {
            let (sort, content) = wire::answer(api, &body, &reply, number);
            ([(header::CONTENT_TYPE, sort)], content).into_response()
        }
        _ => beside(&method, &path),
    }
}

/// What agents ask besides.
fn beside(method: &Method, path: &str) -> Response {
    let found = match (method.as_str(), path) {
        ("HEAD", _) => return StatusCode::OK.into_response(),
        ("POST", "/v1/messages/count_tokens") => json!({ "input_tokens": 100 }),
        ("POST", path) if path.ends_with(":countTokens") => json!({ "totalTokens": 100 }),
        ("GET", "/v1/models") => json!({ "object": "list", "data": [], "models": [] }),
        _ => return (StatusCode::NOT_FOUND, axum::Json(json!({ "error": { "message": "not here" } }))).into_response(),
    };
    axum::Json(found).into_response()
}

impl Shared {
    /// Its number. An agent that asks without end must not fill the memory; it hears that, and so does the test.
    fn keep(&self, new: Asked) -> Option<usize> {
        let mut asked = lock(&self.asked);
        if asked.len() >= MOST_REQUESTS {
            self.note(format!("more than {MOST_REQUESTS} requests"));
            return None;
        }
        asked.push(new);
        Some(asked.len() - 1)
    }

    fn aside(&self, told: &[String]) -> Option<Reply> {
        let aside = lock(&self.aside);
        let (words, answer) = aside.as_ref()?;
        told.last()?.contains(words).then(|| Reply::Text(answer.clone()))
    }

    fn written(&self, told: &[String]) -> Option<Reply> {
        lock(&self.written).as_ref()?(told).map(Reply::Text)
    }

    fn reply(&self, offered: &[wire::Tool], results: &[String], told: &[String]) -> Reply {
        // Titles and summaries are asked for without any tool.
        if offered.is_empty() {
            return Reply::Text("A title".to_owned());
        }
        let script = lock(&self.script);
        let before = *lock(&self.before).get_or_insert(results.len());
        let step = results.len().saturating_sub(before);
        let played = script.get(step).map_or_else(
            || Ok(Reply::Text("There is nothing more to do.".to_owned())),
            |step| step.play(offered, results, told),
        );
        played.unwrap_or_else(|trouble| {
            let trouble = format!("step {step}: {trouble}");
            self.note(trouble.clone());
            Reply::Text(trouble)
        })
    }

    fn note(&self, trouble: String) {
        let mut all = lock(&self.trouble);
        if all.len() < MOST_REQUESTS {
            all.push(trouble);
        }
    }
}

fn names(tools: &[wire::Tool]) -> Vec<&str> {
    tools.iter().map(|tool| tool.name.as_str()).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The number that follows a word in what a tool has answered, as JSON or as text.
pub fn number_in(answer: &str, name: &str) -> Result<u64, String> {
    let numbers = answer.match_indices(name).filter_map(|(at, _)| {
        let after = answer[at + name.len()..].trim_start_matches(['"', '\\', '\'', '`', '*', ':', '=', ' ']);
        let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        after[..end].parse().ok()
    });
    numbers.into_iter().next().ok_or_else(|| format!("no number `{name}` in {answer:?}"))
}

mod tests {
    use super::*;
    use crate::common::http::{Answer, Request};

    fn post(model: &Model, path: &str, body: &Value) -> Answer {
        Request::new(model.port, "POST", path).json(body).send()
    }

    /// The data of every event, by its kind.
    fn events(answer: &Answer) -> Vec<(String, Value)> {
        assert_eq!(answer.header("content-type"), Some("text/event-stream"));
        let text = answer.text();
        let blocks = text.split_terminator("\n\n").map(|block| {
            let (kind, data) = block.split_once('\n').expect("two lines");
            let kind = kind.strip_prefix("event: ").expect("a kind").to_owned();
            (kind, serde_json::from_str(data.strip_prefix("data: ").expect("data")).expect("JSON"))
        });
        blocks.collect()
    }

    fn with_results(texts: &[&str]) -> Value {
        let blocks: Vec<Value> = texts
            .iter()
            .map(|text| json!({ "type": "tool_result", "tool_use_id": "x", "content": [{ "type": "text", "text": text }] }))
            .collect();
        json!({ "model": "m", "tools": [{ "name": "Edit" }, { "name": "mcp__flower__hand_back" }],
            "messages": [{ "role": "user", "content": "go" }, { "role": "user", "content": blocks }] })
    }

    fn with_outputs(texts: &[&str], stream: bool) -> Value {
        let mut input = vec![json!({ "type": "message", "role": "user", "content": [] })];
        input
            .extend(texts.iter().map(|text| json!({ "type": "function_call_output", "call_id": "x", "output": text })));
        json!({ "model": "m", "stream": stream, "input": input, "tools": [
            { "type": "custom", "name": "apply_patch" },
            { "type": "namespace", "name": "mcp__flower", "tools": [{ "type": "function", "name": "hand_back" }] },
        ] })
    }

    fn handing_back() -> Step {
        Step::call_with("mcp__flower__hand_back", |results| {
            Ok(json!({ "fence": number_in(results.first().map_or("", String::as_str), "fence")? }))
        })
    }

    #[test]
    fn numbers_are_found_in_json_and_in_text() {
        for answer in
            [r#"{"fence": 7}"#, r#"[{"text":"{\"fence\":7}"}]"#, "the fence is new\nfence: 7.", "**fence** `7`"]
        {
            assert_eq!(number_in(answer, "fence"), Ok(7), "{answer}");
        }
        assert!(number_in("a fence, and 7", "fence").unwrap_err().contains("no number `fence`"));
    }

    #[test]
    fn messages_take_the_step_that_the_results_are_at() {
        let model = Model::start();
        model.play(vec![Step::call("Edit", json!({ "path": "a" })), handing_back(), Step::say("done")]);
        let answer = |results: &[&str]| post(&model, "/v1/messages?beta=true", &with_results(results)).json();
        for _ in 0..2 {
            let first = answer(&[]);
            assert_eq!((&first["stop_reason"], &first["content"][0]["name"]), (&json!("tool_use"), &json!("Edit")));
        }
        let second = answer(&[r#"{"fence": 7}"#]);
        assert_eq!(second["content"][0]["input"], json!({ "fence": 7 }));
        assert_eq!(answer(&[r#"{"fence":7}"#, "ok"])["content"][0]["text"], "done");
        assert_eq!(answer(&["a", "b", "c"])["stop_reason"], "end_turn");
        let asked = model.asked();
        assert_eq!(asked.len(), 5);
        assert_eq!(asked[0].tools, ["Edit", "mcp__flower__hand_back"]);
        assert_eq!(asked[3].results, [r#"{"fence":7}"#, "ok"]);
        assert_eq!(model.trouble(), [""; 0]);
    }

    #[test]
    fn messages_come_as_a_stream_when_asked_for() {
        let model = Model::start();
        model.play(vec![Step::call("Edit", json!({ "path": "a" })), Step::say("all of it")]);
        let streamed = |results: &[&str]| {
            let mut body = with_results(results);
            body["stream"] = true.into();
            events(&post(&model, "/v1/messages", &body))
        };
        let call = streamed(&[]);
        let kinds: Vec<&str> = call.iter().map(|(kind, _)| kind.as_str()).collect();
        assert_eq!(
            kinds,
            [
                "message_start",
                "content_block_start",
                "content_block_delta",
                "content_block_stop",
                "message_delta",
                "message_stop"
            ]
        );
        assert_eq!(call[1].1["content_block"]["input"], json!({}));
        let input: Value = serde_json::from_str(call[2].1["delta"]["partial_json"].as_str().unwrap()).unwrap();
        assert_eq!(input, json!({ "path": "a" }));
        assert_eq!(call[4].1["delta"]["stop_reason"], "tool_use");
        assert_eq!(streamed(&["done"])[2].1["delta"]["text"], "all of it");
    }

    #[test]
    fn responses_know_groups_and_tools_that_take_text() {
        let model = Model::start();
        model.play(vec![Step::call("apply_patch", json!("*** Begin Patch")), handing_back(), Step::say("done")]);
        let streamed = |results: &[&str]| {
            let all = events(&post(&model, "/v1/responses", &with_outputs(results, true)));
            assert_eq!(all.first().unwrap().0, "response.created");
            assert_eq!(all.last().unwrap().0, "response.completed");
            all.last().unwrap().1["response"]["output"][0].clone()
        };
        let patch = streamed(&[]);
        assert_eq!((&patch["type"], &patch["input"]), (&json!("custom_tool_call"), &json!("*** Begin Patch")));
        let call = streamed(&[r#"[{"type":"text","text":"{\"fence\":12}"}]"#]);
        assert_eq!((&call["type"], &call["namespace"]), (&json!("function_call"), &json!("mcp__flower")));
        assert_eq!((&call["name"], &call["arguments"]), (&json!("hand_back"), &json!(r#"{"fence":12}"#)));
        assert_eq!(streamed(&["a", "b"])["content"][0]["text"], "done");
        let whole = post(&model, "/v1/responses", &with_outputs(&["a", "b"], false)).json();
        assert_eq!(whole["output"][0]["content"][0]["text"], "done");
    }

    #[test]
    fn chat_completions_come_whole_and_in_chunks() {
        let model = Model::start();
        model.play(vec![Step::call("edit", json!({ "path": "a" })), Step::say("done")]);
        let body = |results: &[&str], stream: bool| {
            let mut messages = vec![json!({ "role": "user", "content": "go" })];
            messages.extend(results.iter().map(|text| json!({ "role": "tool", "tool_call_id": "x", "content": text })));
            json!({ "model": "m", "stream": stream, "messages": messages,
                "tools": [{ "type": "function", "function": { "name": "edit" } }] })
        };
        let call = post(&model, "/v1/chat/completions", &body(&[], false)).json()["choices"][0].clone();
        assert_eq!(call["finish_reason"], "tool_calls");
        assert_eq!(
            call["message"]["tool_calls"][0]["function"],
            json!({ "name": "edit", "arguments": "{\"path\":\"a\"}" })
        );
        let text = post(&model, "/v1/chat/completions", &body(&["ok"], true)).text();
        assert!(text.contains("\"content\":\"done\"") && text.ends_with("data: [DONE]\n\n"), "{text}");
        assert_eq!(model.asked()[1].results, ["ok"]);
        assert_eq!(wire::told(Api::Chat, &body(&["ok"], true)), ["go", ""]);
        assert_eq!(model.trouble(), [""; 0]);
    }

    #[test]
    fn gemini_is_answered_whole_and_as_a_stream() {
        let model = Model::start();
        model.play(vec![Step::call("replace", json!({ "path": "a" })), Step::say("done")]);
        let body = |results: &[&str]| {
            let mut contents = vec![json!({ "role": "user", "parts": [{ "text": "go" }] })];
            contents.extend(results.iter().map(|text| {
                json!({ "role": "user", "parts": [{ "functionResponse": { "name": "x", "response": { "output": text } } }] })
            }));
            json!({ "contents": contents, "tools": [{ "functionDeclarations": [{ "name": "replace" }] }] })
        };
        let whole = post(&model, "/v1beta/models/m:generateContent", &body(&[])).json();
        let part = &whole["candidates"][0]["content"]["parts"][1];
        assert_eq!(
            (&part["functionCall"]["name"], &part["functionCall"]["args"]),
            (&json!("replace"), &json!({ "path": "a" }))
        );
        let text = post(&model, "/v1beta/models/m:streamGenerateContent?alt=sse", &body(&["ok"])).text();
        assert!(text.starts_with("data: {") && text.contains("\"text\":\"done\""), "{text}");
        assert_eq!(wire::told(Api::Gemini { stream: true }, &body(&["ok"])), ["go", ""]);
        assert_eq!(post(&model, "/v1beta/models/m:countTokens", &json!({})).json()["totalTokens"], 100);
        assert_eq!(model.trouble(), [""; 0]);
    }

    #[test]
    fn a_step_waits_for_what_the_user_tells() {
        let model = Model::start();
        model.play(vec![Step::once_told("in blue", Step::call("Edit", json!({ "path": "a" })))]);
        let ask = |text: &str| {
            let body = json!({ "model": "m", "tools": [{ "name": "Edit" }], "messages": [{ "role": "user", "content": text }] });
            post(&model, "/v1/messages", &body).json()["stop_reason"].clone()
        };
        assert_eq!((ask("go"), ask("paint it in blue")), (json!("end_turn"), json!("tool_use")));
    }

    #[test]
    fn what_a_search_has_found_is_offered() {
        let model = Model::start();
        let search = Step::call("tool_search", json!({ "query": "flower" }));
        model.play(vec![search, Step::call("mcp__flower__start_work", json!({})), Step::say("done")]);
        let mut body =
            json!({ "model": "m", "tools": [{ "type": "tool_search", "execution": "client" }], "input": [] });
        let item = |body: &Value| post(&model, "/v1/responses", body).json()["output"][0].clone();
        let search = item(&body);
        assert_eq!((&search["type"], &search["execution"]), (&json!("tool_search_call"), &json!("client")));
        assert_eq!(search["arguments"], json!({ "query": "flower" }));
        let group = json!({ "type": "namespace", "name": "mcp__flower", "tools": [{ "name": "start_work" }] });
        body["input"] = json!([search, { "type": "tool_search_output", "tools": [group] }]);
        let call = item(&body);
        assert_eq!((&call["namespace"], &call["name"]), (&json!("mcp__flower"), &json!("start_work")));
        assert_eq!(model.asked()[1].results, ["mcp__flower__start_work\n"]);
        assert_eq!(model.trouble(), [""; 0]);
    }

    #[test]
    fn what_the_user_tells_counts() {
        let model = Model::start();
        let told = Step::call_as_told("Edit", |told| Ok(json!({ "fence": number_in(told, "fence")? })));
        model.play(vec![told]);
        model.answer("a note", "It is half done.");
        let ask = |messages: Value| {
            let body = json!({ "model": "m", "tools": [{ "name": "Edit" }], "messages": messages });
            post(&model, "/v1/messages", &body).json()["content"][0].clone()
        };
        let first = json!({ "role": "user", "content": [{ "type": "text", "text": "agent=x fence=3" }] });
        let system = json!({ "role": "system", "content": "tokens left" });
        assert_eq!(ask(json!([first, system]))["input"], json!({ "fence": 3 }));
        let note = json!({ "role": "user", "content": "Write a note." });
        assert_eq!(ask(json!([first, note, system]))["text"], "It is half done.");
        let result = json!({ "role": "user", "content": [{ "type": "tool_result", "content": "ok" }] });
        assert_eq!(ask(json!([first, note, result]))["text"], "There is nothing more to do.");
        let told = wire::told(Api::Responses, &with_outputs(&["a"], false));
        assert_eq!(told, ["", ""], "what a tool has answered is nothing that a user tells");
    }

    #[test]
    fn a_step_that_is_held_is_answered_later() {
        let model = Model::start();
        model.play(vec![Step::say("now")]);
        model.hold(Some(0));
        std::thread::scope(|scope| {
            let answer = scope.spawn(|| post(&model, "/v1/messages", &with_results(&[])).json());
            crate::common::eventually("it is asked", || (model.asked_for(0) == 1).then_some(()));
            assert!(!answer.is_finished());
            assert_eq!(post(&model, "/v1/messages", &json!({ "model": "m" })).status, 200, "titles are not held");
            model.hold(None);
            assert_eq!(answer.join().unwrap()["content"][0]["text"], "now");
        });
    }

    #[test]
    fn a_request_without_tools_is_at_no_step() {
        let model = Model::start();
        model.play(vec![Step::call("Edit", json!({}))]);
        let title = post(&model, "/v1/messages", &json!({ "model": "m", "messages": [] })).json();
        assert_eq!((&title["stop_reason"], &title["content"][0]["type"]), (&json!("end_turn"), &json!("text")));
        let tokens = post(&model, "/v1/messages/count_tokens", &json!({ "model": "m", "messages": [] })).json();
        assert!(tokens["input_tokens"].is_u64(), "{tokens}");
        assert_eq!(Request::new(model.port, "GET", "/v1/models").send().status, 200);
        assert_eq!(Request::new(model.port, "HEAD", "/").send().status, 200);
        assert_eq!(post(&model, "/api/event_logging", &json!({})).status, 404);
        assert_eq!(model.trouble(), [""; 0]);
    }

    #[test]
    fn a_step_that_cannot_be_played_is_told_to_the_agent_and_to_the_test() {
        let model = Model::start();
        model.play(vec![Step::call("Write", json!({})), handing_back()]);
        let missing = post(&model, "/v1/messages", &with_results(&[])).json();
        assert!(missing["content"][0]["text"].as_str().unwrap().contains("`Write` is not offered"), "{missing}");
        let unanswered = post(&model, "/v1/messages", &with_results(&["refused"])).json();
        assert!(unanswered["content"][0]["text"].as_str().unwrap().contains("no number `fence`"), "{unanswered}");
        assert_eq!(model.trouble().len(), 2);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let model = Model::start();
        for _ in 0..MOST_REQUESTS {
            assert_eq!(post(&model, "/v1/messages", &json!({})).status, 200);
        }
        assert_eq!(post(&model, "/v1/messages", &json!({})).status, 429);
        assert_eq!(model.asked().len(), MOST_REQUESTS);
        assert_eq!(post(&model, "/v1/messages", &json!({ "text": "x".repeat(MOST_BYTES) })).status, 413);
    }
}
