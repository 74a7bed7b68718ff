//! The entry that gives an agent flower's tools, in the agent's own configuration file.

use serde::Deserialize;
use serde_json::Value;
use std::path::Path;

/// Where an agent that a person starts reads its MCP servers, and the entry for flower's. A packet prints it, and a shell with
/// `--as` adds it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpConfiguration {
    /// What people call the agent.
    pub title: String,
    /// A JSON or TOML file below the home, such as `~/.tool/settings.json`.
    pub file: String,
    /// A document with nothing but the entry: a section, in it the name of the server.
    pub entry: String,
}

/// The languages of configuration files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Json,
    Toml,
}

impl Language {
    /// As code blocks of Markdown name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Language::Json => "json",
            Language::Toml => "toml",
        }
    }
}

impl McpConfiguration {
    /// The path of the file, relative to the home.
    pub fn below(&self) -> Option<&Path> {
        self.file.strip_prefix("~/").map(Path::new)
    }

    pub fn language(&self) -> Option<Language> {
        match Path::new(&self.file).extension()?.to_str()? {
            "json" => Some(Language::Json),
            "toml" => Some(Language::Toml),
            _ => None,
        }
    }

    /// Why the fields are not valid.
    pub(super) fn fault(&self) -> Option<&'static str> {
        let Some(language) = self.language() else { return Some("`file` must end with `.json` or `.toml`") };
        match path_of(&parse(language, &self.entry).unwrap_or_default()) {
            Some(_) => None,
            None => Some("`entry` must be one section with one server, in the language of the file"),
        }
    }

    /// The file with the entry added, and everything else as it was. None if it has a server of this name. Fails if the file is
    /// not what the agent itself would write.
    pub fn add_to(&self, content: &str) -> Result<Option<String>, String> {
        let language = self.language().ok_or("its language is unknown")?;
        let entry = parse(language, &self.entry)?;
        let (section, server) = path_of(&entry).ok_or("the entry is not valid")?;
        let mut document = parse(language, content)?;
        let all = document.as_object_mut().ok_or("it is no table")?;
        match all.get(section) {
            Some(Value::Object(servers)) if servers.contains_key(server) => return Ok(None),
            Some(Value::Object(_)) | None => {}
            Some(_) => return Err(format!("`{section}` is no table")),
        }
        let servers = all.entry(section).or_insert_with(|| Value::Object(serde_json::Map::new()));
        servers[server] = entry[section][server].clone();
        match language {
            Language::Json => {
                let text = serde_json::to_string_pretty(&document).expect("plain data");
                Ok(Some(text + "\n"))
            }
            // Appended, because comments would be lost otherwise.
            Language::Toml => {
                let gap = if content.is_empty() || content.ends_with('\n') { "" } else { "\n" };
                let text = format!("{content}{gap}\n{}\n", self.entry.trim());
                // An inline table cannot be continued.
                let is_whole = parse(language, &text).is_ok_and(|added| added == document);
                if is_whole { Ok(Some(text)) } else { Err(format!("`{section}` is written as an inline table")) }
            }
        }
    }
}

fn parse(language: Language, text: &str) -> Result<Value, String> {
    let in_one_line = |error: String| error.lines().next().unwrap_or_default().to_owned();
    match language {
        Language::Json if text.trim().is_empty() => Ok(Value::Object(serde_json::Map::new())),
        Language::Json => serde_json::from_str(text).map_err(|error| in_one_line(error.to_string())),
        Language::Toml => toml::from_str(text).map_err(|error| in_one_line(error.message().to_owned())),
    }
}

/// The section of an entry, and the name of its server.
fn path_of(entry: &Value) -> Option<(&str, &str)> {
    let one = |value: &'_ Value| value.as_object().is_some_and(|table| table.len() == 1);
    let section = entry.as_object().filter(|_| one(entry))?.keys().next()?;
    let servers = &entry[section];
    let server = servers.as_object().filter(|_| one(servers))?.keys().next()?;
    servers[server].is_object().then_some((section, server))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profiles::config::Config;

    fn configurations() -> Vec<McpConfiguration> {
        let config = Config::parse("").unwrap();
        config.profiles.values().map(|profile| profile.mcp.clone().unwrap()).collect()
    }

    fn of(profile: &str) -> McpConfiguration {
        Config::parse("").unwrap().profile(profile).unwrap().mcp.clone().unwrap()
    }

    #[test]
    fn an_entry_is_added_once_to_a_file_that_does_not_exist() {
        for mcp in configurations() {
            let added = mcp.add_to("").unwrap().unwrap_or_else(|| panic!("{}: not added", mcp.file));
            assert_eq!(mcp.add_to(&added), Ok(None), "{}", mcp.file);
            assert!(added.contains("flower") && added.contains("FLOWER_TOKEN"), "{added}");
        }
    }

    #[test]
    fn everything_else_stays() {
        let content = r#"{"b": [1, {"x": null}], "mcpServers": {"mine": {"command": "m"}}, "a": "x"}"#;
        let added = of("claude").add_to(content).unwrap().unwrap();
        let (before, after): (Value, Value) =
            (serde_json::from_str(content).unwrap(), serde_json::from_str(&added).unwrap());
        assert_eq!((&after["a"], &after["b"]), (&before["a"], &before["b"]));
        assert_eq!(after["mcpServers"]["mine"], before["mcpServers"]["mine"]);
        assert_eq!(after["mcpServers"]["flower"]["command"], "flower");
        assert!(added.find("\"b\"") < added.find("\"a\""), "in the same order: {added}");
        let content = "# mine\nmodel = \"x\"\n[mcp_servers.mine]\ncommand = \"m\" # too";
        let added = of("codex").add_to(content).unwrap().unwrap();
        assert!(added.starts_with(content) && added.contains("[mcp_servers.flower]"), "{added}");
        assert_eq!(toml::from_str::<toml::Table>(&added).unwrap()["mcp_servers"].as_table().unwrap().len(), 2);
    }

    #[test]
    fn a_server_of_this_name_and_what_cannot_be_read_stay() {
        let own = r#"{"mcpServers": {"flower": {"command": "other"}}}"#;
        assert_eq!(of("claude").add_to(own), Ok(None));
        for (profile, content) in [
            ("claude", "{"),
            ("claude", "[]"),
            ("claude", r#"{"mcpServers": []}"#),
            ("opencode", "{ // with a comment\n}"),
            ("codex", "x = ["),
            ("codex", "mcp_servers = { mine = { command = \"m\" } }"),
            ("codex", "mcp_servers = 1"),
        ] {
            assert!(of(profile).add_to(content).is_err(), "{profile}: {content}");
        }
    }
}
