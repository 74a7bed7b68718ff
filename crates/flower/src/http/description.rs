//! `docs/openapi.json` is the description of the API that the daemon serves.

use serde_json::Value;
use std::collections::HashSet;

#[test]
fn the_stored_description_is_the_one_that_the_daemon_serves() {
    crate::generated::check("openapi.json", &(super::openapi() + "\n"));
}

/// Every schema that the description refers to is part of it, and every call has a response, a name and a tag.
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
            assert!(answers.keys().any(|status| status.starts_with('2')), "{method} {path} has no successful response");
            let name = operation["operationId"].as_str().expect("a name");
            assert!(names.insert(name), "{method} {path} is called `{name}`, like another call");
            assert!(operation["tags"].is_array(), "{method} {path} has no tag");
        }
    }
}
