//! `docs/openapi.json` is the description of the API as the daemon gives it.

use serde_json::Value;
use std::collections::HashSet;

#[test]
fn the_stored_description_is_the_one_that_the_daemon_gives() {
    crate::generated::check("openapi.json", &(super::openapi() + "\n"));
}

/// Whoever reads it can find every schema that it speaks of, and what every call answers.
#[test]
fn the_description_is_complete() {
    let text = super::openapi();
    let description: Value = serde_json::from_str(&text).expect("JSON");
    let schemas = description["components"]["schemas"].as_object().expect("schemas");
    for reference in text.split("#/components/schemas/").skip(1) {
        let name = reference.split('"').next().unwrap_or_default();
        assert!(schemas.contains_key(name), "`{name}` is not described");
    }
    let mut names = HashSet::new();
    for (path, methods) in description["paths"].as_object().expect("paths") {
        for (method, operation) in methods.as_object().expect("methods") {
            let answers = operation["responses"].as_object().expect("responses");
            assert!(answers.keys().any(|status| status.starts_with('2')), "{method} {path} never succeeds");
            let name = operation["operationId"].as_str().expect("a name");
            assert!(names.insert(name), "{method} {path} is called `{name}`, like another call");
            assert!(operation["tags"].is_array(), "{method} {path} belongs nowhere");
        }
    }
}
