//! The attacks that must fail, against a real daemon: one test for each row of the list of attacks, and the rights of tokens.

mod content;
mod doors;
mod floods;
mod listener;
mod pages;
mod rights;
mod secrets;
mod tokens;

use crate::common::Flower;

/// Everything that the API describes: method, path with plausible values, and whether it takes a JSON body.
fn routes(flower: &Flower) -> Vec<(String, String, bool)> {
    let description = flower.api("GET", "/api/openapi.json").send().json();
    let mut routes = Vec::new();
    for (path, methods) in description["paths"].as_object().expect("paths") {
        let path = path
            .replace("{number}", "1")
            .replace("{version}", "1")
            .replace("{question}", "1")
            .replace("{name}", "absent")
            .replace("{id}", "absent")
            .replace("{check}", "test")
            .replace("{sha256}", &"0".repeat(64));
        assert!(!path.contains('{'), "{path}: say what to put there");
        for (method, operation) in methods.as_object().expect("methods") {
            let takes_json = operation["requestBody"]["content"].get("application/json").is_some();
            routes.push((method.to_uppercase(), path.clone(), takes_json));
        }
    }
    assert!(routes.len() > 30, "{routes:?}");
    routes
}

/// A daemon with one brief, whose title no stranger may see.
fn with_a_brief() -> Flower {
    let flower = Flower::started();
    flower.ok(&["brief", "new", TITLE]);
    flower
}

const TITLE: &str = "Unannounced merger";
