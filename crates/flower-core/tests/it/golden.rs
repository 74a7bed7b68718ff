//! Every stored form ever written still decodes, and encodes to the same text. The files are never edited, because
//! events that were written once must stay readable for ever.

use flower_core::Event;
use flower_core::event::{KINDS, SCHEMA};
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

#[test]
fn every_kind_has_a_golden_file_and_every_file_a_kind() {
    let known: BTreeSet<(String, u64)> = files().into_iter().map(|file| (file.kind, file.schema)).collect();
    for kind in KINDS {
        assert!(
            known.contains(&((*kind).to_owned(), SCHEMA)),
            "the event `{kind}` has no golden file. Add tests/it/golden/events/{kind}.v{SCHEMA}.json: a JSON list with one \
             body in each line, exactly as `Event::encode` writes it, one for each form it can take (every optional field \
             absent and present, every word of an enum). Once committed it is never edited."
        );
    }
    for (kind, schema) in known {
        assert!(KINDS.contains(&kind.as_str()), "{kind}.v{schema}.json is the form of an event nobody reads any more");
    }
}

#[test]
fn golden_bodies_decode_and_encode_to_the_same_text() {
    for file in files() {
        assert!(!file.bodies.is_empty(), "{}.v{}.json holds no body", file.kind, file.schema);
        for body in &file.bodies {
            let event = Event::decode(&file.kind, file.schema, body)
                .unwrap_or_else(|error| panic!("{} can no longer be read: {error}\n{body}", file.kind));
            assert!(!matches!(event, Event::Unknown { .. }), "{} is no longer understood: {body}", file.kind);
            assert_eq!(event.kind(), file.kind);
            assert_eq!(event.encode(), *body, "{} is written in another form than it was", file.kind);
        }
    }
}

#[test]
fn an_unknown_kind_is_kept() {
    let body = r#"{"from": "here",  "to":"there", "x":1.5}"#;
    let event = Event::decode("brief_teleported", SCHEMA, body).unwrap();
    assert_eq!(event, Event::Unknown { kind: "brief_teleported".into(), body: body.into() });
    assert_eq!(event.kind(), "brief_teleported");
    assert_eq!(event.encode(), body);
}

#[test]
fn a_newer_schema_is_kept_and_not_guessed_at() {
    for file in files() {
        for body in &file.bodies {
            let event = Event::decode(&file.kind, SCHEMA + 1, body).unwrap();
            assert_eq!(event, Event::Unknown { kind: file.kind.clone(), body: body.clone() });
            assert_eq!(event.encode(), *body);
        }
    }
}

#[test]
fn a_damaged_body_is_an_error() {
    for body in ["", "{}", "[]", r#"{"version":-1}"#, r#"{"version":1.5}"#, r#"{"version":"1"}"#, r#"{"version":1"#] {
        assert!(Event::decode("spec_snapshot", SCHEMA, body).is_err(), "{body}");
    }
}

struct Golden {
    kind: String,
    schema: u64,
    bodies: Vec<String>,
}

/// All files of `tests/it/golden/events`, named `<kind>.v<schema>.json`.
fn files() -> Vec<Golden> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden/events");
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let parts = name.strip_suffix(".json").and_then(|name| name.split_once(".v"));
        let (kind, schema) = parts.unwrap_or_else(|| panic!("{name} is not called <kind>.v<schema>.json"));
        let schema = schema.parse().unwrap_or_else(|_| panic!("{name} is not called <kind>.v<schema>.json"));
        let text = fs::read_to_string(&path).unwrap();
        let bodies: Vec<&RawValue> = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let bodies = bodies.into_iter().map(|body| body.get().to_owned()).collect();
        files.push(Golden { kind: kind.to_owned(), schema, bodies });
    }
    files
}
