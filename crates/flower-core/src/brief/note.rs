//! `brief note`: notes and comments, with pictures.

use super::Brief;
use crate::event::{CommentAdded, Draft, Image, NoteAdded};
use crate::refusal::Refusal;
use crate::text;

const MAX_IMAGES: usize = 20;

pub(crate) fn decide(brief: &Brief, text: &str, comment: bool, images: &[Image]) -> Result<Vec<Draft>, Refusal> {
    if images.len() > MAX_IMAGES {
        return Err(Refusal::TooMany { what: "pictures", count: images.len(), most: MAX_IMAGES });
    }
    let what = if comment { "comment" } else { "note" };
    // A note with a picture needs no text.
    let text = if text.trim().is_empty() && !images.is_empty() {
        String::new()
    } else {
        text::markdown(what, text, text::NOTE_BYTES)?
    };
    let images = images.to_vec();
    let draft = if comment {
        Draft::brief(brief.number, CommentAdded { text, images })
    } else {
        Draft::brief(brief.number, NoteAdded { text, images })
    };
    Ok(vec![draft])
}
