//! The hash chain: each event's hash covers the whole event and the hash of the previous one.
//!
//! `hash = sha256(json([prev, seq, stream, version, kind, schema, actor_type, actor_name, door, at, brief, body]))`,
//! where `json` is compact JSON without escapes beyond the necessary ones and `body` is the stored text, as a string.
//! Twelve lines of any language check an exported log.

use crate::event::Recorded;
use sha2::{Digest, Sha256};

/// The previous hash of the first event.
pub const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The hash that `event` must have, given the previous hash that it names.
pub fn hash(event: &Recorded) -> String {
    let fields = (
        &event.prev,
        event.seq,
        &event.stream,
        event.version,
        &event.kind,
        event.schema,
        &event.actor_type,
        &event.actor_name,
        &event.door,
        &event.at,
        event.brief,
        &event.body,
    );
    hex(&Sha256::digest(serde_json::to_vec(&fields).expect("a tuple of strings and numbers")))
}

/// The SHA-256 of any bytes, in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|b| [DIGITS[usize::from(b >> 4)] as char, DIGITS[usize::from(b & 15)] as char]).collect()
}

/// The place at which a chain breaks, and the reason in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The first event that differs from what was recorded, or that is missing.
    pub seq: u64,
    pub what: String,
}

/// Checks events in order, up to the first one that breaks the chain.
#[derive(Debug)]
pub struct Verifier {
    seq: u64,
    hash: String,
}

impl Default for Verifier {
    fn default() -> Verifier {
        Verifier { seq: 0, hash: GENESIS.to_owned() }
    }
}

impl Verifier {
    pub fn check(&mut self, event: &Recorded) -> Result<(), Fault> {
        let expected = self.seq + 1;
        let fault = |what: String| Err(Fault { seq: expected, what });
        if event.seq != expected {
            return fault(format!("event {expected} is missing; event {} stands in its place", event.seq));
        }
        if event.prev != self.hash {
            return fault(format!("event {expected} does not follow the event before it"));
        }
        if event.hash != hash(event) {
            return fault(format!("event {expected} was changed after it was recorded"));
        }
        self.seq = expected;
        self.hash.clone_from(&event.hash);
        Ok(())
    }

    /// The number and hash of the last valid event.
    pub fn head(&self) -> (u64, &str) {
        (self.seq, &self.hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::BriefId;

    pub(crate) fn link(seq: u64, prev: &str, body: &str) -> Recorded {
        let mut event = Recorded {
            seq,
            stream: "brief/1".into(),
            version: seq,
            kind: "note_added".into(),
            schema: 1,
            actor_type: "operator".into(),
            actor_name: "mike".into(),
            door: "cli".into(),
            at: "2026-11-15T12:00:00.000000Z".into(),
            brief: Some(BriefId(1)),
            body: body.into(),
            prev: prev.into(),
            hash: String::new(),
        };
        event.hash = hash(&event);
        event
    }

    #[test]
    fn the_hash_is_the_documented_one() {
        let event = link(1, GENESIS, r#"{"text":"grüße \"x\""}"#);
        // printf '%s' "$JSON" | sha256sum, with the JSON of the module's documentation
        assert_eq!(event.hash, "e9da445fe3744442f080825a0fc9019e2569bb694a97275a4c1d307ebb3ad55d");
    }

    #[test]
    fn every_field_is_covered() {
        let event = link(1, GENESIS, "{}");
        let changes: [fn(&mut Recorded); 11] = [
            |e| e.seq += 1,
            |e| e.stream.push('x'),
            |e| e.version += 1,
            |e| e.kind.push('x'),
            |e| e.schema += 1,
            |e| e.actor_type.push('x'),
            |e| e.actor_name.push('x'),
            |e| e.door.push('x'),
            |e| e.at.push('x'),
            |e| e.brief = None,
            |e| e.body.push(' '),
        ];
        for (index, change) in changes.iter().enumerate() {
            let mut changed = event.clone();
            change(&mut changed);
            assert_ne!(hash(&changed), event.hash, "field {index}");
        }
    }

    #[test]
    fn a_missing_or_swapped_event_is_named() {
        let one = link(1, GENESIS, "{}");
        let two = link(2, &one.hash, "{}");
        let three = link(3, &two.hash, "{}");
        let mut verifier = Verifier::default();
        verifier.check(&one).unwrap();
        assert_eq!(verifier.check(&three).unwrap_err().seq, 2);
        verifier.check(&two).unwrap();
        verifier.check(&three).unwrap();
        assert_eq!(verifier.head(), (3, three.hash.as_str()));
    }
}
