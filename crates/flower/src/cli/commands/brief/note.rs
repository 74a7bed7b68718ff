//! `flower brief note`

use crate::cli::{Context, input};
use flower_contract::error::Problem;
use flower_contract::request::NewNote;
use flower_contract::view::EventView;
use flower_core::event::Image;

/// Add a note or a comment to the trace, optionally with pictures
#[derive(clap::Args)]
pub(super) struct NoteArgs {
    /// The number of the brief
    #[arg(value_parser = crate::cli::input::number)]
    number: u64,
    /// Markdown, or `-` for standard input
    #[arg(required_unless_present = "image", allow_hyphen_values = true, value_parser = input::not_an_option)]
    text: Option<String>,
    /// Add a comment instead of a note
    #[arg(long)]
    comment: bool,
    /// A picture: PNG, JPEG, WebP or GIF, up to 10 MB; can be repeated
    #[arg(long, value_name = "FILE")]
    image: Vec<String>,
}

pub(super) async fn run(context: &Context, args: NoteArgs) -> Result<(), Problem> {
    let text = args.text.as_deref().map(input::text_or_stdin).transpose()?.unwrap_or_default();
    let client = context.client().await?;
    let mut images = Vec::new();
    for file in &args.image {
        let image: Image = client.upload("/api/images", input::bytes(file)?).await?;
        images.push(image.sha256);
    }
    let body = NewNote { text, comment: args.comment, images };
    let event: EventView = client.post(&format!("/api/briefs/{}/notes", args.number), &body).await?;
    context.answer(&event, |event| super::recorded(context, event))
}
