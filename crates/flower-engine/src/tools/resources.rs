//! The MCP resources that agents can read and subscribe to: `flower://brief/N` and `flower://main`.

use crate::Tools;
use crate::agent_text::AgentText;
use crate::dispatch::RecallOptions;
use crate::projects::ProjectChoice;
use flower_contract::error::{Problem, ProblemKind};
use flower_core::policy::Read;
use flower_core::{BriefId, Caller};
use std::sync::Arc;

pub const MAIN: &str = "flower://main";
const BRIEF: &str = "flower://brief/";
/// Large, because a resource is read as a whole, but bounded.
const BUDGET: u64 = 20_000;

/// Whether `uri` has the form of a resource.
pub fn is_resource(uri: &str) -> bool {
    uri == MAIN || brief_number(uri).is_some()
}

/// The resources that an event changes.
pub fn changed_resources(stream: &str, brief: Option<BriefId>) -> impl Iterator<Item = String> {
    let main = stream.starts_with("project/") || stream.starts_with("landing/");
    brief.map(|number| format!("{BRIEF}{number}")).into_iter().chain(main.then(|| MAIN.to_owned()))
}

fn brief_number(uri: &str) -> Option<u64> {
    let digits = uri.strip_prefix(BRIEF)?;
    // Rejects other spellings such as `01` and `+1`: every resource has one address.
    digits.parse().ok().filter(|number: &u64| number.to_string() == digits)
}

impl Tools {
    /// A resource as Markdown.
    pub async fn read_resource(self: &Arc<Self>, caller: &Caller, uri: &str) -> Result<String, Problem> {
        if uri == MAIN {
            return self.main_text(caller).await;
        }
        match brief_number(uri) {
            Some(number) => {
                self.access.reader(caller).await?.require(Read::Brief { number: Some(BriefId(number)) })?;
                Ok(self
                    .dispatcher
                    .recall(BriefId(number), RecallOptions { budget: Some(BUDGET), ..RecallOptions::default() })
                    .await?
                    .text)
            }
            None => Err(Problem::new(
                ProblemKind::NotFound,
                format!("there is no resource `{uri}`"),
                format!("there is: {BRIEF}NUMBER, {MAIN}"),
            )),
        }
    }

    async fn main_text(&self, caller: &Caller) -> Result<String, Problem> {
        let project = self.projects.require(&self.project_choice(caller).await?).await?;
        let choice = ProjectChoice { name: Some(project.clone()), dir: None };
        let status = self.overview.status(caller, choice, false).await?;
        let mut answer = AgentText::new(Some(BUDGET));
        answer.line(&format!("# MAIN of {project}"));
        match status.main {
            Some(main) => {
                let tip = main.recorded_tip.get(..12).unwrap_or(&main.recorded_tip);
                answer.line(&format!("{}: branch `{}` at {tip}", main.state, main.branch));
                for more in [main.reason, main.next].into_iter().flatten() {
                    answer.line(&more);
                }
            }
            None => answer.line("MAIN is not recorded yet"),
        }
        answer.line(&format!("open landings: {}", status.queue));
        if let Some(next) = status.next_landing {
            answer.line(&format!("landing {} is {}: {}", next.id, next.state, next.reason));
            answer.quoted_line(&next.title);
        }
        Ok(answer.into_text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_has_one_address() {
        for uri in ["flower://main", "flower://brief/1", "flower://brief/18446744073709551615"] {
            assert!(is_resource(uri), "{uri}");
        }
        for uri in
            ["", "flower://brief/", "flower://brief/01", "flower://brief/+1", "flower://brief/1/", "flower://mains"]
        {
            assert!(!is_resource(uri), "{uri}");
        }
    }

    #[test]
    fn an_event_changes_its_brief_and_main() {
        let of = |stream: &str, brief| changed_resources(stream, brief).collect::<Vec<_>>();
        assert_eq!(of("brief/3", Some(BriefId(3))), ["flower://brief/3"]);
        assert_eq!(of("landing/1", Some(BriefId(3))), ["flower://brief/3", MAIN]);
        assert_eq!(of("project/shop", None), [MAIN]);
        assert!(of("token/1", None).is_empty());
    }
}
