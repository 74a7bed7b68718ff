//! `flower search`

use crate::cli::Context;
use crate::cli::output::{Style, plain};
use crate::client::escape;
use flower_contract::error::Problem;
use flower_contract::view::{SearchHit, SearchPlace};

/// Search titles, specs, traces and scratchpads; allows one typing mistake per word
#[derive(clap::Args)]
pub(crate) struct SearchArgs {
    /// Words that must all occur; the last may be incomplete
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,
    /// The maximum number of results, up to 100
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=100))]
    limit: u64,
}

pub(crate) async fn run(context: &Context, args: &SearchArgs) -> Result<(), Problem> {
    if args.text.iter().all(|word| word.trim().is_empty()) {
        return Err(Problem::usage("there is nothing to search for", "give a word, such as `flower search theme`"));
    }
    let client = context.client().await?;
    let query = format!("/api/search?q={}&limit={}", escape(&args.text.join(" ")), args.limit);
    let hits: Vec<SearchHit> = client.get(&query).await?;
    context.answer(&hits, |hits| {
        if hits.is_empty() {
            return "nothing found\n".to_owned();
        }
        hits.iter().map(|hit| entry(hit, context.style)).collect()
    })
}

fn entry(hit: &SearchHit, style: Style) -> String {
    let number = match hit.brief {
        Some(number) => format!("#{number} "),
        None => String::new(),
    };
    let place = match (hit.place, hit.reference) {
        (SearchPlace::Trace, Some(seq)) => format!("trace, event {seq}"),
        (SearchPlace::Scratchpad, Some(pad)) => format!("scratchpad {pad}"),
        (place, _) => place.to_string(),
    };
    let heading = style.bold(&format!("{number}{}", plain(&hit.title)));
    let line = format!("{heading}  {}\n", style.dim(&place));
    if hit.place == SearchPlace::Title { line } else { format!("{line}    {}\n", marked(hit, style)) }
}

fn marked(hit: &SearchHit, style: Style) -> String {
    let chars: Vec<char> = hit.snippet.chars().collect();
    let mut text = String::new();
    let mut at = 0;
    for &(start, length) in &hit.marks {
        let (Some(before), Some(found)) = (chars.get(at..start), chars.get(start..start + length)) else { break };
        text.push_str(&plain(&before.iter().collect::<String>()));
        text.push_str(&style.mark(&plain(&found.iter().collect::<String>())));
        at = start + length;
    }
    text.push_str(&plain(&chars[at..].iter().collect::<String>()));
    text
}
