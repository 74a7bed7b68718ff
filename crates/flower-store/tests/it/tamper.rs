//! `verify` detects every change to the log from outside flower, and names the first event that does not fit.
//!
//! Each mutation happens inside a transaction that is rolled back, on a log whose triggers were dropped first.

use crate::chance::Chance;
use crate::databases::Database;
use crate::given::a_life;
use crate::ledger::{Ledger, head, is_postgres};
use flower_core::{Recorded, chain};
use flower_store::conn::Param;
use flower_store::log::Tail;
use flower_store::verify::{Verdict, verify};
use flower_store::{Conn, StoreError};

const SEED: u64 = 0x00f1_0e12;
const TEXTS: &[&str] = &["stream", "kind", "actor_type", "actor_name", "door", "at", "body", "prev", "hash"];
const COUNTS: &[&str] = &["version", "schema", "brief"];

/// A mutation, and the first event that does not fit after it.
struct Mutation {
    what: String,
    first_bad: u64,
}

on_both!(every_mutation_is_found, |db: Database| {
    let soak = std::env::var_os("FLOWER_SOAK").is_some();
    let rounds = match (soak, is_postgres(&db)) {
        (true, _) => 1_000,
        (false, false) => 200,
        (false, true) => 20,
    };
    let mut log = Log::recorded(&db);
    let mut chance = Chance::new(SEED);
    for round in 0..rounds {
        let mut done = None;
        let verdict = log.tampered(|log| done = Some(mutate(log, &mut chance)));
        let Mutation { what, first_bad } = done.expect("a mutation");
        let verdict = verdict.unwrap_or_else(|error| panic!("round {round}, {what}: no verdict, but {error}"));
        let found = verdict.fault.unwrap_or_else(|| panic!("round {round}, {what}: not found"));
        assert_eq!(found.seq, first_bad, "round {round}, {what}: {}", found.what);
        assert!(verdict.verified >= first_bad - 1, "round {round}, {what}: only {} hold", verdict.verified);
    }
    assert_eq!(log.verify().unwrap().fault, None, "every mutation was rolled back");
});

fn mutate(log: &mut Log, chance: &mut Chance) -> Mutation {
    let kinds: &[fn(&mut Log, &mut Chance) -> Mutation] =
        &[edit_text, edit_count, forge, remove, remove_many, swap, insert, insert_chained, cut, write_anew, renumber];
    chance.pick(kinds)(log, chance)
}

fn edit_text(log: &mut Log, chance: &mut Chance) -> Mutation {
    let event = chance.pick(&log.events).clone();
    let column = *chance.pick(TEXTS);
    let old = text(&event, column);
    let new = match chance.between(0, 4) {
        0 => format!("{old} "),
        1 => old.replacen(|c: char| c.is_ascii_alphanumeric(), "_", 1),
        2 => old.to_uppercase(),
        3 => old.chars().rev().collect(),
        _ => String::new(),
    };
    let new = if new == old { format!("{old}x") } else { new };
    log.run(&format!("UPDATE events SET {column} = $2 WHERE seq = $1"), &[event.seq.into(), (&new).into()]);
    Mutation { what: format!("{column} of {} became {new:?}", event.seq), first_bad: event.seq }
}

fn edit_count(log: &mut Log, chance: &mut Chance) -> Mutation {
    let event = chance.pick(&log.events).clone();
    let column = *chance.pick(COUNTS);
    let (nullable, sqlite) = (column == "brief" && event.brief.is_some(), !log.is_postgres());
    // SQLite accepts any value in any column.
    let new = match chance.between(0, 5) {
        0 if nullable => "NULL",
        1 if sqlite => "'many'",
        2 if sqlite => "1.5",
        3 => "-7",
        4 => "9223372036854775807",
        _ => "4711",
    };
    log.run(&format!("UPDATE events SET {column} = {new} WHERE seq = $1"), &[event.seq.into()]);
    Mutation { what: format!("{column} of {} became {new}", event.seq), first_bad: event.seq }
}

/// Changes an event and recomputes its hash: the next event reveals it, or the head file.
fn forge(log: &mut Log, chance: &mut Chance) -> Mutation {
    let mut event = chance.pick(&log.events).clone();
    event.body = r#"{"text":"never said"}"#.into();
    event.hash = chain::hash(&event);
    let sql = "UPDATE events SET body = $2, hash = $3 WHERE seq = $1";
    log.run(sql, &[event.seq.into(), (&event.body).into(), (&event.hash).into()]);
    Mutation { what: format!("{} was forged", event.seq), first_bad: (event.seq + 1).min(log.last()) }
}

fn remove(log: &mut Log, chance: &mut Chance) -> Mutation {
    let seq = chance.between(1, log.last());
    log.run("DELETE FROM events WHERE seq = $1", &[seq.into()]);
    Mutation { what: format!("{seq} was removed"), first_bad: seq }
}

fn remove_many(log: &mut Log, chance: &mut Chance) -> Mutation {
    let first = chance.between(1, log.last());
    let last = chance.between(first, log.last());
    log.run("DELETE FROM events WHERE seq BETWEEN $1 AND $2", &[first.into(), last.into()]);
    Mutation { what: format!("{first} to {last} were removed"), first_bad: first }
}

fn swap(log: &mut Log, chance: &mut Chance) -> Mutation {
    let first = chance.between(1, log.last() - 1);
    let second = chance.between(first + 1, log.last());
    for (from, to) in [(first, 0), (second, first), (0, second)] {
        log.run("UPDATE events SET seq = $2 WHERE seq = $1", &[from.into(), to.into()]);
    }
    Mutation { what: format!("{first} and {second} changed places"), first_bad: first }
}

fn insert(log: &mut Log, chance: &mut Chance) -> Mutation {
    let seq = chance.between(1, log.last() + 1);
    log.make_room(seq);
    log.put(&log.forged(seq, "0".repeat(64)));
    // The previous hash of the first event is all zeros, so a forged first event fits, and the following one does not.
    Mutation { what: format!("{seq} was inserted"), first_bad: seq.max(2) }
}

/// The inserted event fits to the previous one, so the event after it is the first that does not fit.
fn insert_chained(log: &mut Log, chance: &mut Chance) -> Mutation {
    let seq = chance.between(1, log.last());
    let prev = log.hash_before(seq);
    log.make_room(seq);
    log.put(&log.forged(seq, prev));
    Mutation { what: format!("{seq} was inserted and chained"), first_bad: seq + 1 }
}

/// Only the head file, outside the database, can reveal this.
fn cut(log: &mut Log, chance: &mut Chance) -> Mutation {
    let kept = chance.between(0, log.last() - 1);
    log.run("DELETE FROM events WHERE seq > $1", &[kept.into()]);
    Mutation { what: format!("cut after {kept}"), first_bad: kept + 1 }
}

/// All events from some event on are replaced and chained correctly. Only the head file can reveal this, and only for
/// the end of the log.
fn write_anew(log: &mut Log, chance: &mut Chance) -> Mutation {
    let first = chance.between(1, log.last());
    let last = log.last() + chance.between(0, 3);
    log.run("DELETE FROM events WHERE seq >= $1", &[first.into()]);
    let mut prev = log.hash_before(first);
    for seq in first..=last {
        let event = log.forged(seq, prev);
        log.put(&event);
        prev = event.hash;
    }
    Mutation { what: format!("{first} to {last} were written anew"), first_bad: log.last() }
}

fn renumber(log: &mut Log, chance: &mut Chance) -> Mutation {
    let seq = chance.between(1, log.last());
    log.run("UPDATE events SET seq = seq + 1000 WHERE seq = $1", &[seq.into()]);
    Mutation { what: format!("{seq} got a higher number"), first_bad: seq }
}

on_both!(an_event_before_the_first_is_found, |db: Database| {
    let mut log = Log::recorded(&db);
    for seq in ["0", "-1", "-9223372036854775808"] {
        let verdict = log.tampered(|log| {
            log.put(&log.forged(1_000, "0".repeat(64)));
            log.run(&format!("UPDATE events SET seq = {seq} WHERE seq = 1000"), &[]);
        });
        let fault = verdict.expect("a verdict").fault;
        assert_eq!(fault.map(|fault| fault.seq), Some(0), "an event numbered {seq}");
    }
});

// The event fits, and nothing outside the database shows that flower did not write it: it is reported as unproved, not
// as a fault.
on_both!(an_event_chained_to_the_end_is_unproved, |db: Database| {
    let mut log = Log::recorded(&db);
    let last = log.last();
    let verdict = log.tampered(|log| log.put(&log.forged(last + 1, log.hash_before(last + 1)))).unwrap();
    assert_eq!((verdict.fault, verdict.verified), (None, last + 1));
    assert_eq!((verdict.proved, verdict.unproved), (Some(last), 1));
});

on_both!(without_a_head_file_nothing_is_proved, |db: Database| {
    let mut log = Log::recorded(&db);
    let last = log.last();
    log.head = None;
    let verdict = log.verify().unwrap();
    assert_eq!((verdict.fault, verdict.proved, verdict.unproved), (None, None, last));
});

// Invalid content of the head file must not make `verify` itself fail.
on_both!(a_head_file_that_claims_nonsense_is_a_fault, |db: Database| {
    let mut log = Log::recorded(&db);
    for seq in [0, 1, log.last(), log.last() + 7, u64::MAX] {
        log.head = Some(Tail { seq, hash: "f".repeat(64) });
        let verdict = log.verify().unwrap();
        assert!(verdict.fault.is_some(), "head {seq}");
        assert_eq!(verdict.proved, None);
    }
});

/// A recorded log, and a connection without restrictions.
struct Log {
    conn: Conn,
    events: Vec<Recorded>,
    head: Option<Tail>,
}

impl Log {
    fn recorded(db: &Database) -> Log {
        let ledger = Ledger::open(db);
        a_life(&ledger);
        let events = ledger.events();
        ledger.close();
        Log { conn: db.conn(), events, head: head(db.home.path()) }
    }

    fn last(&self) -> u64 {
        self.events.len() as u64
    }

    fn is_postgres(&self) -> bool {
        matches!(self.conn, Conn::Postgres(_))
    }

    fn verify(&mut self) -> Result<Verdict, StoreError> {
        verify(&mut self.conn, self.head.clone())
    }

    fn tampered(&mut self, tamper: impl FnOnce(&mut Log)) -> Result<Verdict, StoreError> {
        self.conn.script("BEGIN").unwrap();
        drop_triggers(&mut self.conn);
        tamper(self);
        let verdict = self.verify();
        self.conn.script("ROLLBACK").unwrap();
        verdict
    }

    fn run(&mut self, sql: &str, params: &[Param<'_>]) {
        self.conn.execute(sql, params).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    fn make_room(&mut self, seq: u64) {
        // In two steps, because a number may not occur twice in between.
        self.run("UPDATE events SET seq = -seq - 1 WHERE seq >= $1", &[seq.into()]);
        self.run("UPDATE events SET seq = -seq WHERE seq < 0", &[]);
    }

    fn hash_before(&self, seq: u64) -> String {
        seq.checked_sub(2).map_or(chain::GENESIS.to_owned(), |place| self.events[place as usize].hash.clone())
    }

    /// An event that never happened, with a correct hash of its own.
    fn forged(&self, seq: u64, prev: String) -> Recorded {
        let mut event = Recorded { seq, stream: "forged".into(), version: seq, prev, ..self.events[0].clone() };
        event.hash = chain::hash(&event);
        event
    }

    fn put(&mut self, event: &Recorded) {
        insert_event(&mut self.conn, event);
    }
}

pub fn drop_triggers(conn: &mut Conn) {
    let sql = match conn {
        Conn::Sqlite(_) => {
            "DROP TRIGGER events_are_never_changed; DROP TRIGGER events_are_never_deleted;
             DROP TRIGGER events_are_never_replaced"
        }
        Conn::Postgres(_) => {
            "DROP TRIGGER events_are_never_changed ON events; DROP TRIGGER events_are_never_truncated ON events"
        }
    };
    conn.script(sql).unwrap();
}

/// Adds an event to the log as another program would.
pub fn insert_event(conn: &mut Conn, event: &Recorded) {
    let sql =
        "INSERT INTO events (seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body, prev,
         hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
    let params = [
        event.seq.into(),
        (&event.stream).into(),
        event.version.into(),
        (&event.kind).into(),
        event.schema.into(),
        (&event.actor_type).into(),
        (&event.actor_name).into(),
        (&event.door).into(),
        (&event.at).into(),
        event.brief.into(),
        (&event.body).into(),
        (&event.prev).into(),
        (&event.hash).into(),
    ];
    conn.execute(sql, &params).unwrap();
}

fn text<'a>(event: &'a Recorded, column: &str) -> &'a str {
    match column {
        "stream" => &event.stream,
        "kind" => &event.kind,
        "actor_type" => &event.actor_type,
        "actor_name" => &event.actor_name,
        "door" => &event.door,
        "at" => &event.at,
        "body" => &event.body,
        "prev" => &event.prev,
        "hash" => &event.hash,
        other => panic!("{other} is no column of text"),
    }
}
