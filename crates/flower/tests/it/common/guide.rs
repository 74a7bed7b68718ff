//! Examples of the guide, as they stand there.

use std::fs;
use std::path::Path;

/// The profiles of agents in a terminal, by their names.
pub fn terminal_profiles() -> toml::Table {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide.md");
    let guide = fs::read_to_string(guide).expect("the guide");
    let block: String = guide
        .lines()
        .skip_while(|line| !line.starts_with("    [agents.aider]"))
        .take_while(|line| line.starts_with("    "))
        .map(|line| format!("{}\n", &line[4..]))
        .collect();
    let table: toml::Table = block.parse().expect("the guide has TOML");
    table["agents"].as_table().expect("profiles").clone()
}

/// A config.toml with such profiles.
pub fn config(profiles: &toml::Table) -> String {
    let fields = |profile: &toml::Value| {
        let fields = profile.as_table().expect("a profile").iter();
        fields.map(|(name, value)| format!("{name} = {}\n", inline(value))).collect::<String>()
    };
    profiles.iter().map(|(name, profile)| format!("[agents.{name}]\n{}", fields(profile))).collect()
}

fn inline(value: &toml::Value) -> String {
    let joined = |all: Vec<String>| all.join(", ");
    match value {
        // JSON writes a string as TOML does.
        toml::Value::String(text) => serde_json::json!(text).to_string(),
        toml::Value::Array(all) => format!("[{}]", joined(all.iter().map(inline).collect())),
        toml::Value::Table(fields) => {
            format!(
                "{{ {} }}",
                joined(fields.iter().map(|(name, value)| format!("{name} = {}", inline(value))).collect())
            )
        }
        toml::Value::Integer(number) => number.to_string(),
        toml::Value::Boolean(flag) => flag.to_string(),
        other => panic!("not in a profile: {other:?}"),
    }
}
