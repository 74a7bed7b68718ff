//! The scripts in a prompt, and the header that selects one of them.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The first line of a first prompt, which flower writes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) agent: Option<String>,
    pub(super) dispatch: Option<u64>,
    pub(super) kind: Option<String>,
    pub(super) role: Option<String>,
    pub(super) member: Option<u64>,
    pub(super) brief: Option<u64>,
    pub(super) fence: Option<u64>,
}

impl Header {
    /// Finds the header. Only flower writes unquoted lines: texts of others are quoted.
    pub(super) fn find(prompt: &str) -> Option<Header> {
        let has_fields = |line: &str| line.split_whitespace().any(|word| word.contains('='));
        let line = prompt.lines().filter_map(|line| line.strip_prefix("flower: ")).find(|line| has_fields(line))?;
        let mut header = Header::default();
        for (key, value) in line.split_whitespace().filter_map(|word| word.split_once('=')) {
            let text = (!value.is_empty() && value != "-").then(|| value.to_owned());
            match key {
                "agent" => header.agent = text,
                "dispatch" => header.dispatch = value.parse().ok(),
                "kind" => header.kind = text,
                "role" => header.role = text,
                "member" => header.member = value.parse().ok(),
                "brief" => header.brief = value.parse().ok(),
                "fence" => header.fence = value.parse().ok(),
                _ => {}
            }
        }
        Some(header)
    }

    pub(super) fn is_member(&self) -> bool {
        self.role.as_deref() == Some("member")
    }

    /// The key of the progress. It does not contain the lead's name: a fresh agent with another name continues its script.
    pub(super) fn part(&self) -> Option<String> {
        let dispatch = self.dispatch?;
        let which = self.member.map_or_else(|| self.agent.clone().unwrap_or_default(), |member| member.to_string());
        let which: String = which.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(60).collect();
        Some(if self.is_member() { format!("{dispatch}-member-{which}") } else { format!("{dispatch}-lead") })
    }

    fn is(&self, word: &str) -> bool {
        let is = |known: &Option<String>| known.as_deref() == Some(word);
        let is_number = self.is_member() && self.member.is_some_and(|member| member.to_string() == word);
        let is_lead = word == "lead" && !self.is_member();
        is(&self.kind) || is(&self.role) || is(&self.agent) || is_number || is_lead
    }
}

/// The steps of one block, and the words behind its `play`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Script {
    pub(super) words: Vec<String>,
    pub(super) steps: Vec<String>,
}

impl Script {
    /// All complete blocks of a prompt, at any depth of quotation.
    pub(super) fn all(prompt: &str) -> Vec<Script> {
        let mut scripts = Vec::new();
        let mut open: Option<Script> = None;
        for line in prompt.lines() {
            let line = line.trim_start_matches(['>', ' ', '\t']).trim_end();
            match &mut open {
                Some(_) if line == FENCE => scripts.extend(open.take()),
                Some(script) if !line.is_empty() && !line.starts_with('#') => script.steps.push(line.to_owned()),
                Some(_) => {}
                None => open = begun(line),
            }
        }
        scripts
    }

    /// The script with the most words of those whose words all match the header. A member never gets a script without the
    /// word `member`.
    pub(super) fn choose(scripts: Vec<Script>, header: &Header) -> Option<Script> {
        let has_part = |script: &Script| !header.is_member() || script.words.iter().any(|word| word == "member");
        let fits = |script: &Script| has_part(script) && script.words.iter().all(|word| header.is(word));
        let mut fitting = scripts.into_iter().filter(fits);
        let first = fitting.next()?;
        Some(fitting.fold(first, |best, next| if next.words.len() > best.words.len() { next } else { best }))
    }

    /// Identifies the script by its words and its text.
    pub(super) fn key(&self) -> String {
        let digest = Sha256::digest(self.steps.join("\n"));
        let short: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        format!("{} {short}", self.words.join(" "))
    }

    pub(super) fn has(&self, step: &str) -> bool {
        self.steps.iter().any(|line| line == step)
    }
}

const FENCE: &str = "```";

fn begun(line: &str) -> Option<Script> {
    let mut words = line.strip_prefix(FENCE)?.split_whitespace().map(str::to_owned);
    (words.next()? == "play").then(|| Script { words: words.collect(), steps: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROMPT: &str = "flower: agent=agent-3 dispatch=7 kind=implement role=lead member= brief=4 fence=2\n\n\
        Spec, by operator:\n> # Title\n> ```play\n> say lead\n>\n> # no step\n> > say deeper\n> ```\n\
        > ```play fix\n> say fix\n> ```\n> ```play member\n> say member\n> ```\n> ```play member 2\n> say two\n> ```\n\
        > ```rust\n> fn main() {}\n> ```\n> ```play\n> never ended\n";

    fn chosen(header: &str) -> Option<String> {
        let header = Header::find(header).expect("a header");
        Script::choose(Script::all(PROMPT), &header).map(|script| script.steps.join("|"))
    }

    #[test]
    fn the_header_is_read_and_may_lack_anything() {
        let header = Header::find(PROMPT).expect("a header");
        assert_eq!((header.dispatch, header.brief, header.fence, header.member), (Some(7), Some(4), Some(2), None));
        assert_eq!((header.agent.as_deref(), header.part().as_deref()), (Some("agent-3"), Some("7-lead")));
        assert_eq!(Header::find("> flower: agent=evil dispatch=1"), None);
        assert_eq!(Header::find("flower: hello"), None);
        assert_eq!(Header::find("flower: agent=a").expect("a header").part(), None);
    }

    #[test]
    fn the_most_specific_block_is_chosen() {
        for (header, steps) in [
            ("flower: dispatch=7 kind=implement role=lead", Some("say lead|say deeper")),
            ("flower: dispatch=7", Some("say lead|say deeper")),
            ("flower: dispatch=7 kind=fix role=lead", Some("say fix")),
            ("flower: dispatch=7 kind=design role=lead", Some("say lead|say deeper")),
            ("flower: dispatch=7 kind=implement role=member member=1", Some("say member")),
            ("flower: dispatch=7 kind=fix role=member member=2", Some("say two")),
        ] {
            assert_eq!(chosen(header).as_deref(), steps, "{header}");
        }
        let alone = Script::all("```play\nsay x\n```");
        let member = Header::find("flower: role=member member=1").expect("a header");
        assert_eq!(Script::choose(alone, &member), None);
    }
}
