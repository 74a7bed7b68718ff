//! What waits for the operator.

use super::App;
use crate::error::Problem;
use crate::store::tables;
use crate::view::{EventActor, InboxItem};

/// More than a person can look through; the oldest come first, so nothing waits for ever.
const MOST: u64 = 500;

impl App {
    pub async fn inbox(&self) -> Result<Vec<InboxItem>, Problem> {
        let read = self
            .store
            .read(|conn| Ok((tables::open_questions(conn, MOST)?, tables::waiting_for_acceptance(conn, MOST)?)));
        let (questions, waiting) = read.await?;
        let questions = questions.into_iter().map(|q| InboxItem {
            kind: "question".to_owned(),
            brief: q.brief,
            title: q.title,
            question: Some(q.question),
            text: q.text,
            by: EventActor { sort: q.asked_type, name: q.asked_by },
            at: q.asked_at,
            next: format!("flower brief answer {} {} TEXT", q.brief, q.question),
        });
        let approvals = waiting.into_iter().map(|w| InboxItem {
            kind: "approval".to_owned(),
            brief: w.brief,
            title: w.title,
            question: None,
            text: match w.status.as_str() {
                "draft" => "a plan was proposed and waits to be accepted".to_owned(),
                "in_review" => "the result is in review and waits to be accepted".to_owned(),
                _ => "the accepted plan was refined, and the refinement waits to be accepted".to_owned(),
            },
            by: EventActor { sort: w.by_type, name: w.by },
            at: w.at,
            next: format!("flower brief accept {}", w.brief),
        });
        let mut items: Vec<InboxItem> = questions.chain(approvals).collect();
        items.sort_by(|a, b| a.at.cmp(&b.at));
        Ok(items)
    }
}
