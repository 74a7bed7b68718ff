//! How agents speak to a model: Anthropic's messages, OpenAI's responses and chat completions, and Gemini's contents, as far as a
//! script needs them.

use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    Messages,
    Responses,
    Chat,
    /// Whether it answers in a stream is in the address.
    Gemini {
        stream: bool,
    },
}

impl Api {
    /// The one that a request is for.
    pub fn of(path: &str) -> Option<Api> {
        match path {
            "/v1/messages" => Some(Api::Messages),
            "/v1/responses" => Some(Api::Responses),
            "/v1/chat/completions" => Some(Api::Chat),
            path if path.ends_with(":generateContent") => Some(Api::Gemini { stream: false }),
            path if path.ends_with(":streamGenerateContent") => Some(Api::Gemini { stream: true }),
            _ => None,
        }
    }
}

/// A tool that an agent offers to the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// The one that the tool is listed under, joined with its own name: `mcp__flower__start_work`.
    pub name: String,
    group: Option<(String, String)>,
    sort: Sort,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    /// Takes an object.
    Function,
    /// Takes plain text.
    Custom,
    /// Finds tools that the agent has and does not list.
    Search,
}

/// What the model says next.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    Text(String),
    Call { tool: Tool, arguments: Value },
}

/// The tools that a request offers, and those that a search has brought up before.
pub fn tools(body: &Value) -> Vec<Tool> {
    let found = items(body, "input").filter(|item| item["type"] == SEARCHED).map(|item| &item["tools"]);
    let lists = std::iter::once(&body["tools"]).chain(found);
    lists.flat_map(|list| list.as_array().into_iter().flatten()).flat_map(tools_of).collect()
}

/// The answer to a search for tools.
const SEARCHED: &str = "tool_search_output";

/// One, or all of a group.
fn tools_of(listed: &Value) -> Vec<Tool> {
    // Gemini lists declarations in groups without a name, and chat completions wrap each.
    if listed["functionDeclarations"].is_array() {
        return items(listed, "functionDeclarations").flat_map(tools_of).collect();
    }
    if listed["function"].is_object() {
        return tools_of(&listed["function"]);
    }
    let Some(name) = listed["name"].as_str().or(listed["type"].as_str()) else { return Vec::new() };
    let sort = match listed["type"].as_str() {
        Some("custom") => Sort::Custom,
        Some("tool_search") => Sort::Search,
        _ => Sort::Function,
    };
    if listed["type"] != "namespace" {
        return vec![Tool { name: name.to_owned(), group: None, sort }];
    }
    let members = items(listed, "tools").filter_map(|member| member["name"].as_str());
    let joined = |member: &str| format!("{}__{member}", name.trim_end_matches("__"));
    let group = |member: &str| Some((name.to_owned(), member.to_owned()));
    members.map(|member| Tool { name: joined(member), group: group(member), sort }).collect()
}

fn items<'a>(of: &'a Value, list: &str) -> impl Iterator<Item = &'a Value> {
    of[list].as_array().into_iter().flatten()
}

/// What the tools have answered so far, oldest first.
pub fn results(api: Api, body: &Value) -> Vec<String> {
    match api {
        Api::Messages => items(body, "messages")
            .flat_map(|message| items(message, "content"))
            .filter(|block| block["type"] == "tool_result")
            .map(|block| text(&block["content"]))
            .collect(),
        Api::Responses => items(body, "input")
            .filter_map(|item| match item["type"].as_str()? {
                SEARCHED => Some(items(item, "tools").flat_map(tools_of).map(|tool| tool.name + "\n").collect()),
                sort => sort.ends_with("_call_output").then(|| text(&item["output"])),
            })
            .collect(),
        Api::Chat => {
            let messages = items(body, "messages").filter(|message| message["role"] == "tool");
            messages.map(|message| text(&message["content"])).collect()
        }
        Api::Gemini { .. } => items(body, "contents")
            .flat_map(|content| items(content, "parts"))
            .filter(|part| part["functionResponse"].is_object())
            .map(|part| {
                let response = &part["functionResponse"]["response"];
                let said = ["output", "error"].iter().find_map(|name| response.get(*name));
                said.map_or_else(|| response.to_string(), text)
            })
            .collect(),
    }
}

/// What the agent was told by its user, oldest first; tools are heard of in between, as nothing.
pub fn told(api: Api, body: &Value) -> Vec<String> {
    let list = match api {
        Api::Messages | Api::Chat => "messages",
        Api::Responses => "input",
        Api::Gemini { .. } => "contents",
    };
    let of_tool =
        |item: &Value| item["role"] == "tool" || item["type"].as_str().is_some_and(|sort| sort.ends_with("_output"));
    let by_user = items(body, list).filter(|item| item["role"] == "user" || of_tool(item));
    let said = by_user.map(|item| match api {
        Api::Chat if of_tool(item) => String::new(),
        Api::Gemini { .. } => text(&item["parts"]),
        _ => text(&item["content"]),
    });
    said.collect()
}

/// Plain text, or the text of all parts.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) if fields.contains_key("content") => text(&fields["content"]),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// The whole body of an answer, and its media type. `number` makes the ids of one conversation differ.
pub fn answer(api: Api, request: &Value, reply: &Reply, number: usize) -> (&'static str, String) {
    let (whole, events) = match api {
        Api::Messages => message(request, reply, number),
        Api::Responses => response(request, reply, number),
        Api::Chat => completion(request, reply, number),
        Api::Gemini { stream } => {
            let whole = generated(reply, number);
            return match stream {
                true => ("text/event-stream", format!("data: {whole}\n\n")),
                false => ("application/json", whole.to_string()),
            };
        }
    };
    if request["stream"] != true {
        return ("application/json", whole.to_string());
    }
    if api == Api::Chat {
        let chunks: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        return ("text/event-stream", chunks + "data: [DONE]\n\n");
    }
    let events =
        events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or("")));
    ("text/event-stream", events.collect())
}

/// A chat completion, and its chunks.
fn completion(request: &Value, reply: &Reply, number: usize) -> (Value, Vec<Value>) {
    let (message, reason) = match reply {
        Reply::Text(text) => (json!({ "role": "assistant", "content": text }), "stop"),
        Reply::Call { tool, arguments } => {
            let function = json!({ "name": tool.name, "arguments": arguments.to_string() });
            let call =
                json!({ "index": 0, "id": format!("call_{number:06}"), "type": "function", "function": function });
            (json!({ "role": "assistant", "content": null, "tool_calls": [call] }), "tool_calls")
        }
    };
    let usage = json!({ "prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110 });
    let envelope = |object: &str, choice: Value| {
        json!({ "id": format!("chatcmpl-{number:06}"), "object": object, "created": 0, "model": request["model"],
            "choices": [choice] })
    };
    let mut whole = envelope("chat.completion", json!({ "index": 0, "message": message, "finish_reason": reason }));
    whole["usage"] = usage.clone();
    let chunk = |delta: &Value, reason: Option<&str>| {
        envelope("chat.completion.chunk", json!({ "index": 0, "delta": delta, "finish_reason": reason }))
    };
    let mut last = chunk(&json!({}), Some(reason));
    last["usage"] = usage;
    (whole, vec![chunk(&message, None), last])
}

/// What Gemini generates.
fn generated(reply: &Reply, number: usize) -> Value {
    let parts = match reply {
        Reply::Text(text) => vec![json!({ "text": text })],
        Reply::Call { tool, arguments } => {
            let id = format!("call_{number:06}");
            let call = json!({ "functionCall": { "id": id, "name": tool.name, "args": arguments } });
            // A session in which nothing was said cannot be resumed.
            vec![json!({ "text": "Going on." }), call]
        }
    };
    json!({
        "candidates": [{ "index": 0, "content": { "role": "model", "parts": parts }, "finishReason": "STOP" }],
        "usageMetadata": { "promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110 },
        "modelVersion": "scripted",
    })
}

fn message(request: &Value, reply: &Reply, number: usize) -> (Value, Vec<Value>) {
    let usage = json!({ "input_tokens": 100, "output_tokens": 10,
        "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0 });
    let (block, opening, delta, reason) = match reply {
        Reply::Text(text) => (
            json!({ "type": "text", "text": text }),
            json!({ "type": "text", "text": "" }),
            json!({ "type": "text_delta", "text": text }),
            "end_turn",
        ),
        Reply::Call { tool, arguments } => {
            let call = |input: &Value| {
                let id = format!("toolu_{number:06}");
                json!({ "type": "tool_use", "id": id, "name": tool.name, "input": input })
            };
            let delta = json!({ "type": "input_json_delta", "partial_json": arguments.to_string() });
            (call(arguments), call(&json!({})), delta, "tool_use")
        }
    };
    let envelope = |content: &[Value], reason: Option<&str>| {
        json!({ "id": format!("msg_{number:06}"), "type": "message", "role": "assistant", "model": request["model"],
            "content": content, "stop_reason": reason, "stop_sequence": null, "usage": usage })
    };
    let events = vec![
        json!({ "type": "message_start", "message": envelope(&[], None) }),
        json!({ "type": "content_block_start", "index": 0, "content_block": opening }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "usage": usage,
            "delta": { "stop_reason": reason, "stop_sequence": null } }),
        json!({ "type": "message_stop" }),
    ];
    (envelope(&[block], Some(reason)), events)
}

fn response(request: &Value, reply: &Reply, number: usize) -> (Value, Vec<Value>) {
    let item = match reply {
        Reply::Text(text) => json!({ "type": "message", "id": format!("msg_{number:06}"), "role": "assistant",
            "status": "completed", "content": [{ "type": "output_text", "text": text, "annotations": [] }] }),
        Reply::Call { tool, arguments } => {
            let (call_id, id) = (format!("call_{number:06}"), format!("item_{number:06}"));
            let name = tool.group.as_ref().map_or(tool.name.as_str(), |(_, member)| member);
            let mut item = json!({ "id": id, "call_id": call_id });
            match tool.sort {
                Sort::Function => {
                    item["type"] = "function_call".into();
                    item["name"] = name.into();
                    item["arguments"] = arguments.to_string().into();
                }
                Sort::Custom => {
                    item["type"] = "custom_tool_call".into();
                    item["name"] = name.into();
                    item["input"] = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned).into();
                }
                Sort::Search => {
                    item["type"] = "tool_search_call".into();
                    item["execution"] = "client".into();
                    item["arguments"] = arguments.clone();
                }
            }
            item["status"] = "completed".into();
            if let Some((group, _)) = &tool.group {
                item["namespace"] = group.as_str().into();
            }
            item
        }
    };
    let envelope = |status: &str, output: &[Value]| {
        json!({ "id": format!("resp_{number:06}"), "object": "response", "created_at": 0, "status": status,
            "model": request["model"], "output": output })
    };
    let mut whole = envelope("completed", std::slice::from_ref(&item));
    whole["usage"] = json!({ "input_tokens": 100, "input_tokens_details": { "cached_tokens": 0 }, "output_tokens": 10,
        "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 110 });
    let mut events = vec![
        json!({ "type": "response.created", "response": envelope("in_progress", &[]) }),
        json!({ "type": "response.output_item.added", "output_index": 0, "item": item }),
    ];
    if let Reply::Text(text) = reply {
        events.push(json!({ "type": "response.output_text.delta", "item_id": item["id"], "output_index": 0,
            "content_index": 0, "delta": text }));
    }
    events.push(json!({ "type": "response.output_item.done", "output_index": 0, "item": item }));
    events.push(json!({ "type": "response.completed", "response": whole }));
    (whole, events)
}
