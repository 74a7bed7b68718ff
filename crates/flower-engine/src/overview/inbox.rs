//! The inbox of the operator and of agents. `flower_core::attention` decides what is in it.

use crate::{Overview, messages};
use flower_contract::error::Problem;
use flower_contract::view::{HeardView, InboxItem, TakenView};
use flower_core::attention::{
    Item, OpenQuestion, ProjectMain, Situation, Stuck, Unaccepted, Unseen, attention, message_to_agent, news_to_agent,
};
use flower_core::policy::Read;
use flower_core::{Actor, BriefId, Caller, DispatchId, MessageId};
use flower_store::briefs::WaitingBrief;
use flower_store::{Conn, StoreError, agents, briefs, dispatches, ephemeral, landings};
use std::collections::HashMap;

/// More than a person can read; the oldest come first, so that none is hidden forever.
const MAX_ITEMS: u64 = 500;

impl Overview {
    /// The operator's inbox; for a worker, its own: unread messages, and unread events of its brief.
    pub async fn inbox(&self, caller: &Caller) -> Result<Vec<InboxItem>, Problem> {
        if self.access.reader(caller).await?.may(Read::Inbox) {
            let situation = self.situation().await?;
            return self.with_projects(attention(&situation), &situation).await;
        }
        own_items(self.messages.unread(caller, false).await?)
    }

    /// The inbox of an agent, as items and as text. All of it counts as read afterwards.
    pub async fn take_inbox(&self, caller: &Caller) -> Result<TakenView, Problem> {
        let heard = self.messages.unread(caller, true).await?;
        let (text, items) = (messages::text::inbox(&heard), own_items(heard.clone())?);
        let HeardView { messages, news, more } = heard;
        Ok(TakenView { messages, news, more, items, text })
    }

    /// The items as views, each with its project.
    async fn with_projects(&self, items: Vec<Item>, of: &Situation) -> Result<Vec<InboxItem>, Problem> {
        let landings: HashMap<_, _> = of.landings.iter().map(|l| (l.number, l.project.clone())).collect();
        let read = self.store.read(move |conn| {
            let live = agents::live(conn, None)?;
            let mut found = Vec::new();
            for item in items {
                let landing = item.landing.and_then(|number| landings.get(&number).cloned());
                let of_brief = match item.brief {
                    Some(number) => briefs::state(conn, number)?.and_then(|brief| brief.projects.first().cloned()),
                    None => None,
                };
                let agent = item.agent.as_ref().and_then(|name| live.iter().find(|agent| agent.name == *name));
                let of_agent = agent.map(|agent| agent.project.clone());
                let project = item.project.clone().or(landing).or(of_brief).or(of_agent);
                found.push(InboxItem { in_project: project, ..view(item) });
            }
            Ok(found)
        });
        Ok(read.await?)
    }

    async fn stuck(&self) -> Result<Vec<Stuck>, Problem> {
        let stuck = self.profiles.stuck().await?;
        let read = self.store.read(move |conn| {
            let mut all = Vec::new();
            for (dispatch, reason) in stuck {
                let title = briefs::state(conn, dispatch.brief)?.map(|brief| brief.title).unwrap_or_default();
                let (brief, at) = (dispatch.brief, dispatch.requested_at);
                all.push(Stuck { dispatch: dispatch.number, brief, title, why: reason.message, at });
            }
            Ok(all)
        });
        Ok(read.await?)
    }

    /// Loads everything that can need the operator.
    async fn situation(&self) -> Result<Situation, Problem> {
        let read = self.store.read(|conn| {
            let seen = ephemeral::get(conn, "read/operator")?.and_then(|text| text.parse().ok()).unwrap_or(0);
            let asked =
                (flower_store::questions::open(conn, MAX_ITEMS)?, briefs::waiting_for_acceptance(conn, MAX_ITEMS)?);
            let live = agents::live(conn, None)?.into_iter().filter(|agent| agent.tools == Some(false)).collect();
            let agents = (agents::permissions(conn)?, agents::given_up(conn, MAX_ITEMS)?, live);
            let messages = dispatches::messages_to_operator(conn, seen, MAX_ITEMS)?;
            let results = newest_results(conn, &asked.1)?;
            Ok((asked, results, landings::open(conn, None)?, landings::mains(conn)?, agents, messages))
        });
        let ((questions, mut waiting), results, landings, recorded, (permissions, failed, without_tools), messages) =
            read.await?;
        let (mut mains, mut remote_conflicts) = (Vec::new(), Vec::new());
        for (project, main) in recorded {
            remote_conflicts.extend(self.merge_queue.remote_conflict(&project, &main.tip).await?);
            let problem = self.merge_queue.settings_problem(&project, &main.tip).await;
            mains.push(ProjectMain { project, main, settings_problem: problem.map(|problem| problem.in_words()) });
        }
        let questions = questions.into_iter().map(|q| {
            let by = Actor { sort: q.asked_type.parse()?, name: q.asked_by };
            Ok(OpenQuestion {
                brief: q.brief,
                title: q.title,
                question: q.question,
                text: q.text,
                help: q.help,
                by,
                at: q.asked_at,
            })
        });
        // A result that is about to be queued does not wait for the operator.
        let about_to_land =
            |w: &WaitingBrief| results.get(&w.brief).is_some_and(|result| self.dispatcher.is_handing_back(result.of));
        waiting.retain(|w| !about_to_land(w));
        let unaccepted = waiting.into_iter().map(|w| {
            let by = Actor { sort: w.by_type.parse()?, name: w.by };
            let (status, version) = (w.status.parse()?, w.version);
            let no_commits = results.get(&w.brief).is_some_and(|result| result.is_empty);
            Ok(Unaccepted { brief: w.brief, title: w.title, status, by, at: w.at, version, no_commits })
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
            without_tools,
            stuck: self.stuck().await?,
            messages: messages.collect(),
        })
    }
}

/// What the newest dispatch of a brief in review brought.
struct NewestResult {
    of: DispatchId,
    /// It has no commits.
    is_empty: bool,
}

fn newest_results(conn: &mut Conn, waiting: &[WaitingBrief]) -> Result<HashMap<BriefId, NewestResult>, StoreError> {
    let mut results = HashMap::new();
    for brief in waiting.iter().filter(|waiting| waiting.version.is_none()).map(|waiting| waiting.brief) {
        if let Some(newest) = dispatches::all(conn, Some(brief), 1)?.into_iter().next() {
            let is_empty = newest.result.is_some_and(|result| result.commits.is_empty());
            results.insert(brief, NewestResult { of: newest.number, is_empty });
        }
    }
    Ok(results)
}

/// The unread messages and events of an agent, oldest first.
fn own_items(unread: HeardView) -> Result<Vec<InboxItem>, Problem> {
    let mut items = Vec::new();
    for message in unread.messages {
        let by = Actor { sort: message.by_type, name: message.by };
        let unseen = Unseen { number: MessageId(message.id), by, text: message.text, at: message.at, seq: 0 };
        items.push(message_to_agent(&unseen));
    }
    for event in unread.news {
        let by = Actor { sort: event.actor.sort.parse()?, name: event.actor.name };
        items.push(news_to_agent(event.brief.map(BriefId), event.said.unwrap_or(event.kind), by, &event.at));
    }
    items.sort_by(|a, b| a.at.cmp(&b.at));
    Ok(items.into_iter().map(view).collect())
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
