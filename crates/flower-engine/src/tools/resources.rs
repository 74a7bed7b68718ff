//! What agents can read and watch: `flower://brief/N` and `flower://main`.

use crate::Tools;
use crate::agent_text::Page;
use crate::projects::ProjectChoice;
use flower_contract::error::{Problem, ProblemKind};
use flower_core::Caller;
use flower_core::policy::Read;
use std::sync::Arc;

pub const MAIN: &str = "flower://main";
const BRIEF: &str = "flower://brief/";
/// Whoever reads a resource wants all of it, but not without end.
const BUDGET: u64 = 20_000;

/// Whether it is the address of something that can be read, if it exists.
pub fn is_resource(uri: &str) -> bool {
    uri == MAIN || number(uri).is_some()
}

/// The resources that are different after an event.
pub fn touched(stream: &str, brief: Option<u64>) -> impl Iterator<Item = String> {
    let main = stream.starts_with("project/") || stream.starts_with("landing/");
    brief.map(|number| format!("{BRIEF}{number}")).into_iter().chain(main.then(|| MAIN.to_owned()))
}

fn number(uri: &str) -> Option<u64> {
    let digits = uri.strip_prefix(BRIEF)?;
    // Not what only `parse` takes for a number: every resource has one address.
    digits.parse().ok().filter(|number: &u64| number.to_string() == digits)
}

impl Tools {
    /// A resource as Markdown.
    pub async fn read_resource(self: &Arc<Self>, caller: &Caller, uri: &str) -> Result<String, Problem> {
        if uri == MAIN {
            return self.main_page(caller).await;
        }
        match number(uri) {
            Some(number) => {
                self.access.reader(caller).await?.require(Read::Brief { number: Some(number) })?;
                Ok(self.dispatcher.recall(number, Some(BUDGET), None).await?.text)
            }
            None => Err(Problem::new(
                ProblemKind::NotFound,
                format!("there is no resource `{uri}`"),
                format!("there is: {BRIEF}NUMBER, {MAIN}"),
            )),
        }
    }

    async fn main_page(&self, caller: &Caller) -> Result<String, Problem> {
        let project = self.projects.require(&self.choice_of(caller).await?).await?;
        let status = self.overview.status(caller, ProjectChoice { name: Some(project.clone()), dir: None }).await?;
        let mut page = Page::new(Some(BUDGET));
        page.line(&format!("# MAIN of {project}"));
        match status.main {
            Some(main) => {
                let tip = main.recorded_tip.get(..12).unwrap_or(&main.recorded_tip);
                page.line(&format!("{}: branch `{}` at {tip}", main.state, main.branch));
                for more in [main.reason, main.next].into_iter().flatten() {
                    page.line(&more);
                }
            }
            None => page.line("nothing is recorded of it yet"),
        }
        page.line(&format!("landings that are open: {}", status.queue));
        if let Some(next) = status.next_landing {
            page.line(&format!("landing {} is {}: {}", next.id, next.state, next.reason));
            page.quoted_line(&next.title);
        }
        Ok(page.into_text())
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
    fn an_event_touches_its_brief_and_main() {
        let of = |stream: &str, brief| touched(stream, brief).collect::<Vec<_>>();
        assert_eq!(of("brief/3", Some(3)), ["flower://brief/3"]);
        assert_eq!(of("landing/1", Some(3)), ["flower://brief/3", MAIN]);
        assert_eq!(of("project/shop", None), [MAIN]);
        assert!(of("token/1", None).is_empty());
    }
}
