//! The command line as scripts and agents rely on it: fields, exit codes, errors, and what happens to bad input.

mod bad_input;
mod briefs;
mod daemon;
mod damage;
mod habits;
mod init;
mod landing;
mod lists;
mod output;
mod pictures;
mod projects;
mod talk;

use crate::common::Flower;
use serde_json::Value;

/// Each path, such as `spec.version` or `links.0.kind`, leads to something, even if it is null.
fn assert_has(object: &Value, paths: &[&str]) {
    for path in paths {
        let pointer = format!("/{}", path.replace('.', "/"));
        assert!(object.pointer(&pointer).is_some(), "`{path}` is missing in {object}");
    }
}

/// The numbers of a list of briefs or scratchpads.
fn numbers(list: &Value) -> Vec<u64> {
    list.as_array().expect("a bare list").iter().filter_map(|item| item["number"].as_u64()).collect()
}

fn kinds(trace: &Value) -> Vec<&str> {
    trace.as_array().expect("a bare list").iter().filter_map(|event| event["kind"].as_str()).collect()
}

/// A started flower with briefs of these titles, numbered from 1.
fn with_briefs(titles: &[&str]) -> Flower {
    let flower = Flower::started();
    for title in titles {
        flower.ok(&["brief", "new", title]);
    }
    flower
}
