//! A worker's token reads its own project, worktree, brief and transcript, and nothing of others; and a refusal tells
//! nothing about what there is.

use super::*;

/// Stands in everything that the worker may not read, and nowhere else.
const SECRET: &str = "canaryword";
const GIF: &[u8] =
    b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff!\xf9\x04\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";

struct Scene {
    flower: Flower,
    mine: Work,
    /// Another agent in the same project.
    other: Work,
    /// An agent in another project, whose worktree has the name of the worker's own.
    foreign: Work,
    landing: u64,
    lease: u64,
    pad: u64,
    image: String,
}

fn scene() -> Scene {
    let flower = serving(&[]);
    let repository = flower.make_repository("other");
    post(&flower, "/api/projects", &json!({ "dir": repository }));
    let spec = format!("# {SECRET}\n");
    let mine = at_work(&flower, "Mine");
    let hidden = proposed(&flower, "Neighbour", &json!({ "spec": spec }));
    accept(&flower, hidden);
    let other = claimed(&flower, dispatched(&flower, hidden, &json!({})), 900);
    let title = format!("Foreign {SECRET}");
    let away = proposed(&flower, &title, &json!({ "spec": spec, "project": "other" }));
    accept(&flower, away);
    let foreign = claimed(&flower, dispatched(&flower, away, &json!({ "worktree": mine.worktree })), 900);
    assert_eq!(foreign.worktree, mine.worktree);
    other.commit(&flower, "secret.txt", SECRET);
    let lease = call(&flower, &other.token, "POST", "/api/leases", &json!({ "patterns": [format!("{SECRET}/")] }));
    let lease = number(&lease.json()["id"]);
    let pad = json!({ "title": SECRET, "brief": other.brief, "text": SECRET });
    let pad = number(&post(&flower, "/api/scratchpads", &pad)["number"]);
    let image = flower.api("POST", "/api/images").body("image/gif", GIF).send().json();
    let image = image["sha256"].as_str().expect("a hash").to_owned();
    let note = json!({ "text": SECRET, "images": [image] });
    post(&flower, &format!("/api/briefs/{}/notes", other.brief), &note);
    post(&flower, &format!("/api/briefs/{}/questions", other.brief), &json!({ "text": SECRET }));
    post(&flower, "/api/messages", &json!({ "to": other.agent, "text": SECRET }));
    post(&flower, "/api/messages", &json!({ "to": "operator", "text": SECRET }));
    let landing = other.lands(&flower);
    Scene { flower, mine, other, foreign, landing, lease, pad, image }
}

impl Scene {
    /// Addresses of a route that lead to what is not the worker's, existing and not.
    fn elsewhere(&self, route: &str) -> Vec<String> {
        let numbers = |existing: &[u64]| existing.iter().copied().chain([999]).map(|n| n.to_string()).collect();
        let first = route.trim_start_matches("/api/").split('/').next().unwrap_or_default();
        let values: Vec<String> = match first {
            "briefs" => numbers(&[self.other.brief, self.foreign.brief]),
            "landings" => numbers(&[self.landing]),
            "dispatches" => numbers(&[self.other.dispatch, self.foreign.dispatch]),
            "leases" => numbers(&[self.lease]),
            "scratchpads" => numbers(&[self.pad]),
            "archives" | "permissions" => numbers(&[1]),
            "worktrees" => vec![self.other.worktree.clone(), "nowhere".to_owned()],
            "agents" => vec![self.other.agent.clone(), "absent".to_owned()],
            "projects" => vec!["other".to_owned(), "nothing".to_owned()],
            "images" => vec![self.image.clone(), "0".repeat(64)],
            "tokens" | "shells" => vec!["absent".to_owned()],
            _ => vec![String::new()],
        };
        let fill = |value: &String| {
            let path = ["{number}", "{name}", "{sha256}", "{id}"]
                .iter()
                .fold(route.to_owned(), |path, key| path.replace(key, value));
            path.replace("{version}", "1").replace("{question}", "1").replace("{check}", "test")
        };
        let mut paths: Vec<String> = values.iter().map(fill).collect();
        if route.starts_with("/api/worktrees/{name}") {
            paths.push(format!("{}?project=other", fill(&self.mine.worktree)));
        }
        assert!(paths.iter().all(|path| !path.contains('{')), "{route}: say what to put there");
        paths
    }

    fn as_worker(&self, method: &str, path: &str, body: &Value) -> Answer {
        call(&self.flower, &self.mine.token, method, path, body)
    }
}

/// Calls whose answer holds only what the caller may read, with what they are asked for.
const FILTERED: &[(&str, &str)] = &[
    ("/api/status", ""),
    ("/api/projects", ""),
    ("/api/inbox", ""),
    ("/api/search", "?q=canaryword"),
    ("/api/scratchpads", ""),
    ("/api/worktrees", ""),
    ("/api/landings", "?all=true"),
    ("/api/dispatches", "?all=true"),
    ("/api/leases", ""),
    ("/api/agents", "?all=true"),
    ("/api/briefs", ""),
    ("/api/brief-rows", ""),
    ("/api/main", ""),
    ("/api/main/log", ""),
    ("/api/main/verify", ""),
    ("/api/main/settings", ""),
];

/// Calls that any token may make: they say or take what is the caller's own. Tools and the stream have tests of their own.
const OWN: &[(&str, &str)] = &[
    ("POST", "/api/session"),
    ("POST", "/api/messages"),
    ("POST", "/api/messages/take"),
    ("GET", "/api/caller"),
    // A proposal, which has tests of its own.
    ("POST", "/api/briefs"),
    ("POST", "/api/images"),
    ("GET", "/api/tools"),
    ("POST", "/api/tools/{name}"),
    ("GET", "/api/resources"),
    ("GET", "/api/events"),
    // The worker's own claim and its own worktree.
    ("POST", "/api/claims"),
    ("POST", "/api/leases"),
    ("DELETE", "/api/leases"),
];

/// A body that every call understands that has one.
fn plausible(scene: &Scene) -> Value {
    json!({
        "title": "x", "text": "x", "markdown": "x", "status": "parked", "kind": "build", "target": "a", "needs": 1, "summary": "x",
        "fence": 1, "name": "x", "dir": scene.flower.repo, "agent": "x", "profile": "x", "sha256": "0".repeat(64), "values": {},
        "allow": true, "columns": 80, "rows": 24, "file": "README.md", "line": 1, "brief": scene.other.brief, "paths": ["a"],
        "patterns": ["a"], "to": "operator",
    })
}

#[test]
fn every_call_of_a_worker_reads_its_own_or_is_refused() {
    let scene = scene();
    let description = scene.flower.api("GET", "/api/openapi.json").send().json();
    let mut wrong = Vec::new();
    let mut tried = 0;
    for (route, methods) in description["paths"].as_object().expect("paths") {
        for method in methods.as_object().expect("methods").keys().map(|method| method.to_uppercase()) {
            if OWN.contains(&(&method, route)) {
                continue;
            }
            if let Some((_, query)) = FILTERED.iter().find(|(path, _)| method == "GET" && path == route) {
                let answer = scene.as_worker("GET", &format!("{route}{query}"), &json!(null));
                if answer.status != 200 || answer.text().contains(SECRET) {
                    wrong.push(format!("GET {route}: {} {}", answer.status, answer.text()));
                }
                continue;
            }
            // What these are about stands in the body, so they need one that they understand.
            let bodies = match (method.as_str(), route.as_str()) {
                ("POST", "/api/dispatches/{number}/claim") => vec![json!({}), json!({ "packet": "nonsense" })],
                ("POST", "/api/scratchpads") => {
                    let about = |brief: Option<u64>| json!({ "title": "x", "brief": brief });
                    vec![about(Some(scene.other.brief)), about(Some(999)), about(None)]
                }
                _ => vec![json!({}), plausible(&scene)],
            };
            for path in scene.elsewhere(route) {
                let more = if path.contains('?') { '&' } else { '?' };
                for body in &bodies {
                    tried += 1;
                    let answer = scene.as_worker(&method, &format!("{path}{more}file=secret.txt"), body);
                    if answer.status != 403 || answer.text().contains(SECRET) {
                        wrong.push(format!("{method} {path} {body}: {} {}", answer.status, answer.text()));
                    }
                }
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
    assert!(tried > 150, "{tried}");
    // Another project is refused wherever one can be named, whether it exists or not.
    for (route, query) in FILTERED
        .iter()
        .filter(|(route, _)| !["/api/projects", "/api/inbox", "/api/search", "/api/scratchpads"].contains(route))
    {
        for project in ["other", "nothing"] {
            let more = if query.is_empty() { '?' } else { '&' };
            let answer = scene.as_worker("GET", &format!("{route}{query}{more}project={project}"), &json!(null));
            assert_eq!(answer.status, 403, "{route} of {project}: {}", answer.text());
        }
        // Where it stands does not matter: it means its own.
        let more = if query.is_empty() { '?' } else { '&' };
        let dir = scene.flower.dir().join("other");
        let answer = scene.as_worker("GET", &format!("{route}{query}{more}dir={}", dir.display()), &json!(null));
        assert!(answer.status == 200 && !answer.text().contains(SECRET), "{route}: {answer:?}");
    }
    for path in [
        format!("/api/scratchpads?brief={}", scene.other.brief),
        format!("/api/leases?worktree={}", scene.other.worktree),
        format!("/api/resources?uri=flower://brief/{}", scene.other.brief),
        "/api/resources?uri=flower://brief/999".to_owned(),
        format!("/api/events?brief={}", scene.other.brief),
        "/api/events?project=other".to_owned(),
    ] {
        assert_eq!(scene.as_worker("GET", &path, &json!(null)).status, 403, "{path}");
    }
    let lease = json!({ "patterns": ["a"] });
    for place in [format!("worktree={}", scene.other.worktree), "project=other".to_owned()] {
        assert_eq!(scene.as_worker("POST", &format!("/api/leases?{place}"), &lease).status, 403, "{place}");
        assert_eq!(scene.as_worker("DELETE", &format!("/api/leases?{place}"), &lease).status, 403, "{place}");
    }
    let refused = events(&scene.flower, "call_refused");
    assert!(refused.len() > 100 && refused.iter().all(|event| event["actor"]["name"] == json!(scene.mine.agent)));
}

#[test]
fn a_worker_reads_what_is_its_own() {
    let scene = scene();
    let Scene { flower, mine, .. } = &scene;
    mine.commit(flower, "own.txt", "own");
    let (brief, tree) = (mine.brief, &mine.worktree);
    for path in [
        format!("/api/briefs/{brief}"),
        format!("/api/briefs/{brief}/trace"),
        format!("/api/briefs/{brief}/recall"),
        format!("/api/briefs/{brief}/versions/1"),
        format!("/api/dispatches/{}", mine.dispatch),
        format!("/api/worktrees/{tree}"),
        format!("/api/worktrees/{tree}?project=repo"),
        format!("/api/worktrees/{tree}/diff"),
        format!("/api/worktrees/{tree}/commits"),
        format!("/api/worktrees/{tree}/file?file=own.txt"),
        format!("/api/leases?worktree={tree}"),
        format!("/api/resources?uri=flower://brief/{brief}"),
        "/api/resources?uri=flower://main".to_owned(),
        "/api/projects/repo/commands".to_owned(),
    ] {
        let answer = scene.as_worker("GET", &path, &json!(null));
        assert!(answer.status == 200 && !answer.text().contains(SECRET), "{path}: {}", answer.text());
    }
    // Titles and states of the others in its project, and no more of them.
    let listed = scene.as_worker("GET", "/api/briefs", &json!(null)).json();
    let listed = listed.as_array().expect("a list");
    let neighbour = listed.iter().find(|brief| brief["title"] == "Neighbour").expect("its title");
    assert!(neighbour["status"].is_string() && neighbour["spec"]["markdown"] == "", "{neighbour}");
    assert!(listed.iter().any(|brief| brief["spec"]["markdown"] == "# Mine\n"), "{listed:?}");
    assert_eq!(listed.len(), 2, "{listed:?}");
    let found = scene.as_worker("GET", "/api/search?q=neighbour", &json!(null)).json();
    assert_eq!(found.as_array().map(Vec::len), Some(1), "{found}");
    // An image of its own brief.
    let note = json!({ "text": "mine", "images": [scene.image] });
    post(flower, &format!("/api/briefs/{brief}/notes"), &note);
    assert_eq!(scene.as_worker("GET", &format!("/api/images/{}", scene.image), &json!(null)).status, 200);
    let landing = mine.lands(flower);
    assert_eq!(scene.as_worker("GET", &format!("/api/landings/{landing}/diff"), &json!(null)).status, 200);
    let queue = scene.as_worker("GET", "/api/landings?all=true", &json!(null)).json();
    assert_eq!(queue.as_array().map(Vec::len), Some(1), "{queue}");
}

#[test]
fn the_command_line_of_a_worker_shows_its_own() {
    let scene = scene();
    let Scene { flower, mine, other, .. } = &scene;
    post(flower, "/api/messages", &json!({ "to": mine.agent, "text": "for you" }));
    let (brief, dispatch) = (mine.brief.to_string(), mine.dispatch.to_string());
    for args in [
        &["brief", "show", &brief, "--as-agent"][..],
        &["brief", "show", &brief],
        &["brief"],
        &["dispatch", "show", &dispatch],
        &["dispatch", "list"],
        &["status"],
        &["main"],
        &["lease"],
        &["worktree", "show", &mine.worktree],
        &["inbox"],
        &["inbox", "--json"],
    ] {
        let output = as_agent(flower, &mine.token, args);
        assert!(output.code == 0 && !output.stdout.contains(SECRET), "{args:?}: {output:?}");
    }
    for args in [
        &["brief", "show", &other.brief.to_string()][..],
        &["dispatch", "show", &other.dispatch.to_string()],
        &["trace"],
    ] {
        let output = as_agent(flower, &mine.token, args);
        assert!(output.code == 1 && output.stderr.contains("may not read"), "{args:?}: {output:?}");
    }
}

#[test]
fn tools_tell_of_others_no_more_than_titles_and_states() {
    let scene = scene();
    let Scene { flower, mine, other, foreign, .. } = &scene;
    let mut agent = Http::start(flower, Era::November2025, &mine.token);
    begins(&mut agent, json!({}));
    let own = agent.done("recall_brief", json!({}));
    let listed = agent.done("list_briefs", json!({}));
    assert!(listed.contains("Neighbour") && !listed.contains(SECRET), "{listed}");
    let found = agent.done("search", json!({ "text": SECRET }));
    let inbox = agent.done("check_inbox", json!({}));
    for text in [own, found, inbox] {
        assert!(!text.contains(&format!("# {SECRET}")) && !text.contains("Foreign"), "{text}");
    }
    for brief in [other.brief, foreign.brief, 999] {
        let refused = agent.fails("recall_brief", json!({ "brief": brief }));
        assert!(refused.contains("may not read that brief") && refused.contains("`list_briefs`"), "{refused}");
        for (tool, more) in [
            ("add_note", json!({ "text": "x" })),
            ("propose_plan", json!({ "markdown": "x" })),
            ("refine_spec", json!({ "markdown": "x", "base": 1 })),
        ] {
            let mut arguments = more;
            arguments["brief"] = json!(brief);
            let refused = agent.fails(tool, arguments);
            assert!(refused.contains("may not write to that brief"), "{tool}: {refused}");
        }
        let unread = agent.ask("resources/read", json!({ "uri": format!("flower://brief/{brief}") }));
        assert!(unread["error"]["message"].as_str().is_some_and(|text| text.contains("may not read")), "{unread}");
        let unwatched = agent.ask("resources/subscribe", json!({ "uri": format!("flower://brief/{brief}") }));
        assert!(unwatched.get("error").is_some(), "{unwatched}");
    }
    for dispatch in [other.dispatch, foreign.dispatch, 999] {
        let refused = agent.fails("start_work", json!({ "dispatch": dispatch }));
        assert!(refused.contains(&format!("that token cannot claim dispatch {dispatch}")), "{refused}");
        assert!(!refused.contains(&other.agent) && !refused.contains(&foreign.agent), "{refused}");
    }
    let refused = agent.fails("create_brief", json!({ "title": "x", "epic": 999 }));
    assert!(refused.contains("may not"), "{refused}");
}
