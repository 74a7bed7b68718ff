//! `flower inbox`

use crate::cli::output::{ago, plain};
use crate::cli::{Context, own_token};
use flower_contract::error::Problem;
use flower_contract::view::{CallerView, InboxItem, TakenView};
use flower_core::Role;
use hyper::Method;

/// List what waits for you: questions, plans and results to accept, landings to approve, alarms of MAIN, messages
///
/// With the token of an agent in FLOWER_TOKEN it is the agent's own inbox: messages to it, and what happened to its brief, such
/// as answers to its questions. What is shown counts as read.
#[derive(clap::Args)]
pub(crate) struct InboxArgs {
    /// Mark all messages as seen
    #[arg(long)]
    seen: bool,
}

pub(crate) async fn run(context: &Context, args: &InboxArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    if args.seen {
        client.call(Method::POST, "/api/inbox/seen").await?;
    }
    if own_token().is_some() {
        let caller: CallerView = client.get("/api/caller").await?;
        if caller.role == Role::Worker {
            let taken: TakenView = client.post("/api/messages/take", &()).await?;
            return context.answer(&taken.items, |_| taken.text.clone() + "\n");
        }
    }
    let items: Vec<InboxItem> = client.get("/api/inbox").await?;
    context.answer(&items, |items| {
        if items.is_empty() {
            return "nothing waits for you\n".to_owned();
        }
        let style = context.style;
        let now = jiff::Timestamp::now();
        let entries: Vec<String> = items
            .iter()
            .map(|item| {
                let text = plain(&item.text).lines().map(|line| format!("    {line}\n")).collect::<String>();
                let about = match (item.brief, item.landing) {
                    (_, Some(landing)) => format!("landing {landing}: "),
                    (Some(brief), None) => format!("#{brief} "),
                    (None, None) => String::new(),
                };
                let project = item.in_project.as_ref().map_or_else(String::new, |name| format!(" · project {name}"));
                format!(
                    "{} {}  {}\n{text}    {}\n",
                    style.mark(item.kind.as_str()),
                    style.bold(&format!("{about}{}", plain(&item.title))),
                    style.dim(&format!(
                        "{} · {} · {}{project}",
                        item.by.sort,
                        plain(&item.by.name),
                        ago(&item.at, now)
                    )),
                    style.dim(&item.next),
                )
            })
            .collect();
        entries.join("\n")
    })
}
