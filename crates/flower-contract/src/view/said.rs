//! An event in words: what the terminal, the page and everybody else show of it.

use serde_json::Value;

/// What is longer is cut; the event has all of it.
const LONGEST: usize = 240;

fn list(value: &Value) -> String {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
}

fn by_itself(body: &Value) -> String {
    let of = body["of"].as_u64().map_or_else(String::new, |of| format!(", to mend landing {of}"));
    if body["auto"] == true { ", by itself".to_owned() } else { of }
}

/// What happened, in words.
pub fn said(kind: &str, body_text: &str) -> String {
    let body: Value = serde_json::from_str(body_text).unwrap_or_default();
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    let number = |name: &str| body[name].as_u64().unwrap_or_default();
    let said = match kind {
        "brief_created" => text("title"),
        "plan_proposed" => format!("version {}: {}", number("version"), text("markdown")),
        "refinement" => {
            let why = if text("why").is_empty() { text("markdown") } else { text("why") };
            format!("version {}: {why}", number("version"))
        }
        "spec_snapshot" => format!("version {} accepted", number("version")),
        "status_changed" => {
            let why = text("why");
            let why = if why.is_empty() { why } else { format!(": {why}") };
            format!("{} → {}{why}", text("from"), text("to"))
        }
        "brief_renamed" | "kind_changed" => format!("{} → {}", text("from"), text("to")),
        "epic_changed" => body["to"].as_u64().map_or_else(|| "none".to_owned(), |epic| format!("#{epic}")),
        "dependency_added" | "dependency_dropped" => format!("#{}", number("needs")),
        "comment_added" | "note_added" => {
            let pictures = body["images"].as_array().map_or(0, Vec::len);
            let pictures = if pictures > 0 { format!("[{pictures} picture(s)] ") } else { String::new() };
            format!("{pictures}{}", text("text"))
        }
        "question_asked" | "decision_made" => format!("{}: {}", number("question"), text("text")),
        "link_added" => {
            format!("{} {}", text("kind"), if text("label").is_empty() { text("target") } else { text("label") })
        }
        "participant_joined" => text("name"),
        "scratchpad_created" => format!("#{} {}", number("number"), text("title")),
        "scratchpad_written" => format!("#{} version {}", number("number"), number("version")),
        "project_registered" | "project_removed" => text("name"),
        "token_issued" => format!("{} as {}", text("agent"), text("role")),
        "token_revoked" => text("id"),
        "landing_queued" => format!("landing {}: {}", number("number"), text("title")),
        "landing_checking" | "landing_approved" | "checks_ran" => format!("landing {}", number("number")),
        "landing_requeued" | "landing_rejected" | "landing_cancelled" => {
            let why = text("why");
            format!("landing {}{}{why}", number("number"), if why.is_empty() { "" } else { ": " })
        }
        "landing_held" => {
            format!("landing {}: {}", number("number"), list(&body["why"]))
        }
        "check_flaked" => format!("landing {}: {}", number("number"), text("check")),
        "landed" => format!("landing {} as {}", number("number"), short(&text("merge_commit"))),
        "rolled_back" => format!("landing {} by landing {}", number("number"), number("by")),
        "main_alarm" => text("text"),
        "main_recorded" => format!("{} at {}", text("branch"), short(&text("tip"))),
        "main_settled" => format!("{}, at {}", text("how"), short(&text("tip"))),
        "queue_frozen" => format!("{}: {}", text("project"), text("why")),
        "queue_thawed" => text("project"),
        "dependency_met" => format!("brief {} is there", number("needs")),
        "worktree_synced" => match body["why_not"].as_str() {
            Some(why) => format!("not up to date with {}: {why}", short(&text("onto"))),
            None => format!("up to date with {}", short(&text("onto"))),
        },
        "dispatch_requested" => format!("dispatch {}: {}{}", number("number"), text("kind"), by_itself(&body)),
        "dispatch_claimed" => {
            format!("dispatch {} by {}, fence {}", number("number"), text("holder"), number("fence"))
        }
        "dispatch_executing" | "dispatch_landed" => format!("dispatch {}", number("number")),
        "dispatch_expired" => format!("dispatch {}: {} was not heard of any more", number("number"), text("holder")),
        "dispatch_handed_back" | "dispatch_failed" | "dispatch_late" => {
            format!("dispatch {} by {}: {}", number("number"), text("holder"), text("summary"))
        }
        "dispatch_cancelled" => {
            let why = text("why");
            format!("dispatch {}{}{why}", number("number"), if why.is_empty() { "" } else { ": " })
        }
        "lease_taken" => format!("{} has {}", text("holder"), list(&body["patterns"])),
        "agent_spent" => {
            let tokens = body["tokens"].as_u64().map(|tokens| format!("{tokens} tokens"));
            let cost = body["cost"].as_f64().map(|millionths| format!("{:.4} {}", millionths / 1e6, text("currency")));
            let told: Vec<String> = tokens.into_iter().chain(cost).collect();
            format!("agent {}: {}", number("number"), told.join(", "))
        }
        "commands_approved" => format!("those of {}", text("project")),
        "lease_released" => format!("lease {}: {}", number("number"), text("why")),
        "lease_breached" => {
            let paths = list(&body["paths"]);
            format!("{} changes {paths}, which {} had", short(&text("commit")), text("holder"))
        }
        "message_sent" => match body["about"].as_object() {
            Some(about) => {
                let file = about["file"].as_str().unwrap_or_default();
                let said = about["text"].as_str().unwrap_or_default();
                format!("to {}, about {file}:{}: {said}", text("to"), about["line"])
            }
            None => format!("to {}: {}", text("to"), text("text")),
        },
        "agent_started" => match body["dispatch"].as_u64() {
            Some(dispatch) => format!("{} in {}, for dispatch {dispatch}", text("name"), text("worktree")),
            None => format!("{} in {}", text("name"), text("worktree")),
        },
        "agent_assigned" => format!("agent {} gets dispatch {}", number("number"), number("dispatch")),
        "agent_restarted" => format!("agent {}, time {}: {}", number("number"), number("restarts"), text("why")),
        "agent_refreshed" => format!("agent {}: {}", number("number"), text("note")),
        "agent_stopped" => format!("agent {} is {}: {}", number("number"), text("how"), text("why")),
        "permission_asked" => format!("permission {}: {}: {}", number("number"), text("name"), text("title")),
        "permission_decided" => {
            let (allow, why) = (body["allow"].as_bool().unwrap_or_default(), text("why"));
            let how = if allow { "given" } else { "denied" };
            format!("permission {} is {how}{}{why}", number("number"), if why.is_empty() { "" } else { ": " })
        }
        "call_refused" => format!("{}: {}", text("what"), text("why")),
        "worktree_requested" | "worktree_created" => text("name"),
        "worktree_removing" | "worktree_removed" | "worktree_restoring" | "worktree_restored" => {
            format!("worktree {}", number("number"))
        }
        "pushed" => format!("{} to {}", short(&text("commit")), text("remote")),
        "push_failed" => format!("to {}: {}", text("remote"), text("why")),
        "projects_changed" | "dispatch_options_changed" | "loss_accepted" => body_text.to_owned(),
        // Of another version: shown as it is.
        _ => body_text.to_owned(),
    };
    let line = said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    flower_core::text::head(line, LONGEST)
}

fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}
