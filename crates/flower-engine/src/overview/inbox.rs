//! The inbox of the operator and of agents. `flower_core::attention` decides what is in it.

use crate::Overview;
use flower_contract::error::Problem;
use flower_contract::view::InboxItem;
use flower_core::attention::{
    Item, OpenQuestion, ProjectMain, Situation, Unaccepted, Unseen, attention, message_to_agent,
};
use flower_core::policy::Read;
use flower_core::{Actor, Caller, MessageId};
use flower_store::{agents, dispatches, ephemeral, landings};

/// More than a person can read; the oldest come first, so that none is hidden forever.
const MAX_ITEMS: u64 = 500;

impl Overview {
    /// The operator's inbox; for a worker, its unread messages.
    pub async fn inbox(&self, caller: &Caller) -> Result<Vec<InboxItem>, Problem> {
        if self.access.reader(caller).await?.may(Read::Inbox) {
            return Ok(attention(&self.situation().await?).into_iter().map(view).collect());
        }
        let mut items = Vec::new();
        for message in self.messages.unread(caller, false).await?.messages {
            let by = Actor { sort: message.by_type, name: message.by };
            let unseen = Unseen { number: MessageId(message.id), by, text: message.text, at: message.at, seq: 0 };
            items.push(view(message_to_agent(&unseen)));
        }
        Ok(items)
    }

    /// Loads everything that can need the operator.
    async fn situation(&self) -> Result<Situation, Problem> {
        let read = self.store.read(|conn| {
            let seen = ephemeral::get(conn, "read/operator")?.and_then(|text| text.parse().ok()).unwrap_or(0);
            let asked = (
                flower_store::questions::open(conn, MAX_ITEMS)?,
                flower_store::briefs::waiting_for_acceptance(conn, MAX_ITEMS)?,
            );
            let agents = (agents::permissions(conn)?, agents::given_up(conn, MAX_ITEMS)?);
            let messages = dispatches::messages_to_operator(conn, seen, MAX_ITEMS)?;
            Ok((asked, landings::open(conn, None)?, landings::mains(conn)?, agents, messages))
        });
        let ((questions, waiting), landings, recorded, (permissions, failed), messages) = read.await?;
        let (mut mains, mut remote_conflicts) = (Vec::new(), Vec::new());
        for (project, main) in recorded {
            remote_conflicts.extend(self.merge_queue.remote_conflict(&project, &main.tip).await?);
            let problem = self.merge_queue.settings_problem(&project, &main.tip).await;
            mains.push(ProjectMain { project, main, settings_problem: problem.map(|problem| problem.in_words()) });
        }
        let questions = questions.into_iter().map(|q| {
            let by = Actor { sort: q.asked_type.parse()?, name: q.asked_by };
            Ok(OpenQuestion { brief: q.brief, title: q.title, question: q.question, text: q.text, by, at: q.asked_at })
        });
        let unaccepted = waiting.into_iter().map(|w| {
            let by = Actor { sort: w.by_type.parse()?, name: w.by };
            let (status, version) = (w.status.parse()?, w.version);
            Ok(Unaccepted { brief: w.brief, title: w.title, status, by, at: w.at, version })
        });
        let messages = messages.into_iter().map(|m| {
            let by = Actor { sort: m.by_type, name: m.by };
            Unseen { number: m.number, by, text: m.text, at: m.at, seq: m.seq }
        });
        Ok(Situation {
            questions: questions.collect::<Result<_, Problem>>()?,
            unaccepted: unaccepted.collect::<Result<_, Problem>>()?,
            landings,
            mains,
            remote_conflicts,
            permissions,
            failed,
            messages: messages.collect(),
        })
    }
}

fn view(item: Item) -> InboxItem {
    let until = item.seconds.and_then(|seconds| later(&item.at, seconds));
    InboxItem::new(item, until)
}

/// A stored time plus some seconds.
fn later(at: &str, seconds: u64) -> Option<String> {
    let at: jiff::Timestamp = at.parse().ok()?;
    at.checked_add(jiff::SignedDuration::from_secs(seconds.try_into().ok()?)).ok().map(crate::stamp)
}
