//! What clients asked for and what they were told. After every disaster the log must agree with it: what was
//! acknowledged is there, unchanged; what was not is whole or absent.

use crate::reliability::harness::Daemon;
use crate::reliability::http::{Answer, Http};
use flower_contract::view::EventView;
use flower_core::chain::{Verifier, sha256};
use flower_core::{BriefId, Recorded};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::io;

/// What an answer of 200 said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    Note { seq: u64, hash: String },
    Brief { number: u64 },
}

/// A client that asks for things, each of them once, under a name that is never used again.
pub struct Client {
    name: String,
    brief: u64,
    asked: Vec<String>,
    told: Vec<(String, Told)>,
}

impl Client {
    /// `brief` is the one that its notes go to.
    pub fn new(name: impl Into<String>, brief: u64) -> Client {
        Client { name: name.into(), brief, asked: Vec::new(), told: Vec::new() }
    }

    pub fn acknowledged(&self) -> usize {
        self.told.len()
    }

    /// Mostly notes, and now and then a brief with a spec, which is two events that only make sense together.
    pub fn ask(&mut self, http: &mut Http) -> io::Result<Answer> {
        if self.asked.len() % 5 == 4 { self.ask_for_brief(http) } else { self.ask_for_note(http) }
    }

    pub fn ask_for_note(&mut self, http: &mut Http) -> io::Result<Answer> {
        let mark = self.next_mark();
        let answer = http.post(&format!("/api/briefs/{}/notes", self.brief), &json!({ "text": text(&mark) }))?;
        if answer.status == 200 {
            let event = answer.json();
            let seq = event["seq"].as_u64().expect("an event has a number");
            let hash = event["hash"].as_str().expect("an event has a hash").to_owned();
            self.told.push((mark, Told::Note { seq, hash }));
        }
        Ok(answer)
    }

    fn ask_for_brief(&mut self, http: &mut Http) -> io::Result<Answer> {
        let mark = self.next_mark();
        let answer = http.post("/api/briefs", &json!({ "title": mark, "spec": text(&mark) }))?;
        if answer.status == 200 {
            let number = answer.json()["number"].as_u64().expect("a brief has a number");
            self.told.push((mark, Told::Brief { number }));
        }
        Ok(answer)
    }

    fn next_mark(&mut self) -> String {
        let mark = format!("{MARK}{}-{}", self.name, self.asked.len());
        self.asked.push(mark.clone());
        mark
    }
}

const MARK: &str = "asked-";

/// What stands under a mark: from a few bytes to several pages of the database, so that a part of it would show.
fn text(mark: &str) -> String {
    let digest = sha256(mark.as_bytes());
    let times = usize::from_str_radix(&digest[..2], 16).expect("hexadecimal");
    format!("{mark}\n{}", format!("{} ", &digest[..8]).repeat(times * times / 100))
}

#[derive(Default)]
pub struct Ledger {
    asked: HashSet<String>,
    told: Vec<(String, Told)>,
    /// How many of `told` were compared with the log.
    compared: usize,
    recorded: HashMap<String, Told>,
    verifier: Verifier,
    /// A brief whose spec must follow at once; only the event that a participant joined stands between.
    half: Option<(String, u64)>,
}

impl Ledger {
    /// Everything that clients were told so far.
    pub fn acknowledged(&self) -> usize {
        self.told.len()
    }

    /// Asked for and not acknowledged.
    pub fn unacknowledged(&self) -> usize {
        self.asked.len() - self.told.len()
    }

    /// Of these, the ones that are recorded all the same.
    pub fn recorded_unacknowledged(&self) -> usize {
        self.recorded.len() - self.told.len()
    }

    pub fn events(&self) -> u64 {
        self.verifier.head().0
    }

    /// A brief for notes.
    pub fn new_brief(daemon: &Daemon) -> u64 {
        let answer = daemon.http().post("/api/briefs", &json!({ "title": "Notes" })).expect("an answer");
        answer.ok()["number"].as_u64().expect("a brief has a number")
    }

    pub fn take(&mut self, client: Client) {
        self.asked.extend(client.asked);
        self.told.extend(client.told);
    }

    /// Reads what the log has grown by, checks its chain, and compares it with what was told.
    pub fn compare(&mut self, http: &mut Http) {
        loop {
            let page = http.get(&format!("/api/trace?after={}&limit=500", self.events())).expect("an answer");
            let page: Vec<EventView> = serde_json::from_value(page.ok()).expect("events");
            if page.is_empty() {
                break;
            }
            for event in page {
                self.read(&event.into());
            }
        }
        assert_eq!(self.half, None, "a brief without its spec");
        for (mark, told) in &self.told[self.compared..] {
            assert_eq!(self.recorded.get(mark), Some(told), "`{mark}` was acknowledged");
        }
        self.compared = self.told.len();
    }

    /// Compares everything anew, from the first event on.
    pub fn compare_all(&mut self, http: &mut Http) {
        self.compared = 0;
        self.recorded.clear();
        self.verifier = Verifier::default();
        self.compare(http);
    }

    fn read(&mut self, event: &Recorded) {
        self.verifier.check(event).unwrap_or_else(|fault| panic!("{fault:?}"));
        let body: Value = serde_json::from_str(&event.body).expect("a body is JSON");
        if let Some((mark, number)) = self.half.take() {
            if (event.kind.as_str(), event.brief) == ("participant_joined", Some(BriefId(number))) {
                self.half = Some((mark, number));
                return;
            }
            assert_eq!(
                (event.kind.as_str(), event.brief),
                ("plan_proposed", Some(BriefId(number))),
                "`{mark}` is half there"
            );
            assert_eq!(body["markdown"], text(&mark), "`{mark}` is not whole");
            self.record(&mark, Told::Brief { number });
            return;
        }
        match event.kind.as_str() {
            "brief_created" => {
                let title = body["title"].as_str().unwrap_or_default();
                if title.starts_with(MARK) {
                    self.half = Some((title.to_owned(), event.brief.expect("it has a number").0));
                }
            }
            "note_added" => {
                let note = body["text"].as_str().unwrap_or_default();
                let mark = note.lines().next().unwrap_or_default().to_owned();
                if mark.starts_with(MARK) {
                    assert_eq!(note, text(&mark), "`{mark}` is not whole");
                    self.record(&mark, Told::Note { seq: event.seq, hash: event.hash.clone() });
                }
            }
            _ => {}
        }
    }

    fn record(&mut self, mark: &str, told: Told) {
        assert!(self.asked.contains(mark), "no client asked for `{mark}`");
        let before = self.recorded.insert(mark.to_owned(), told);
        assert_eq!(before, None, "`{mark}` was asked for once and is there twice");
    }
}
