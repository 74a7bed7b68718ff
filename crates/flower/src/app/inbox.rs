//! What waits for the operator.

use super::App;
use super::main_branch::way_out;
use crate::error::Problem;
use crate::store::{beside, dispatches, landings, tables};
use crate::view::{EventActor, InboxItem};
use flower_core::landing::State;
use flower_core::{Actor, ActorType};

/// More than a person can look through; the oldest come first, so nothing waits for ever.
const MOST: u64 = 500;

impl App {
    pub async fn inbox(&self) -> Result<Vec<InboxItem>, Problem> {
        let read = self.store.read(|conn| {
            let (open, mains) = (landings::open(conn, None)?, landings::mains(conn)?);
            let seen = beside::get(conn, "read/operator")?.and_then(|text| text.parse().ok()).unwrap_or(0);
            let messages = dispatches::messages_to_operator(conn, seen, MOST)?;
            let asked = (tables::open_questions(conn, MOST)?, tables::waiting_for_acceptance(conn, MOST)?);
            Ok((asked, open, mains, messages))
        });
        let ((questions, waiting), open, mains, messages) = read.await?;
        let questions = questions.into_iter().map(|q| InboxItem {
            kind: "question".to_owned(),
            brief: Some(q.brief),
            landing: None,
            title: q.title,
            question: Some(q.question),
            text: q.text,
            by: EventActor { sort: q.asked_type, name: q.asked_by },
            at: q.asked_at,
            next: format!("flower brief answer {} {} TEXT", q.brief, q.question),
        });
        let approvals = waiting.into_iter().map(|w| InboxItem {
            kind: "approval".to_owned(),
            brief: Some(w.brief),
            landing: None,
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
        // Both are flower's own doing: its gate holds a landing back, its watch raises the alarm.
        let flower = || EventActor { sort: ActorType::System.to_string(), name: Actor::system().name };
        let held = open.into_iter().filter(|landing| landing.state == State::Approval).map(|landing| InboxItem {
            kind: "approval".to_owned(),
            brief: landing.briefs.first().copied(),
            landing: Some(landing.number),
            title: landing.title,
            question: None,
            text: format!("landing {} waits to be let in: {}", landing.number, landing.reason.unwrap_or_default()),
            by: flower(),
            at: landing.queued_at,
            next: format!("flower queue approve {}", landing.number),
        });
        let alarms = mains.into_iter().filter_map(|(project, main)| {
            let alarm = main.alarm?;
            Some(InboxItem {
                kind: "alarm".to_owned(),
                brief: None,
                landing: None,
                title: format!("MAIN of {project}"),
                question: None,
                text: format!("{}; {}", alarm.text, way_out(alarm.what)),
                by: flower(),
                at: alarm.at,
                next: format!("flower main --project {project}"),
            })
        });
        let messages = messages.into_iter().map(|message| InboxItem {
            kind: "message".to_owned(),
            brief: None,
            landing: None,
            title: format!("Message {}", message.number),
            question: None,
            text: message.text,
            next: format!("flower agent tell {} TEXT; flower inbox --seen", message.by),
            by: EventActor { sort: message.by_type, name: message.by },
            at: message.at,
        });
        let mut items: Vec<InboxItem> = questions.chain(approvals).chain(held).chain(alarms).chain(messages).collect();
        items.sort_by(|a, b| a.at.cmp(&b.at));
        Ok(items)
    }
}
