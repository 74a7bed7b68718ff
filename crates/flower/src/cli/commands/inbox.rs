//! `flower inbox`

use crate::cli::Context;
use crate::cli::output::{ago, plain};
use flower_contract::error::Problem;
use flower_contract::view::InboxItem;
use hyper::Method;

/// List what waits for you: questions, plans and results to accept, landings to approve, alarms of MAIN, messages
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
