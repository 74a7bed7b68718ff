//! What waits for the operator.

use super::App;
use super::main_branch::way_out;
use flower_contract::error::Problem;
use flower_contract::view::{EventActor, InboxItem};
use flower_core::landing::State;
use flower_core::policy::Read;
use flower_core::{Actor, ActorType, Caller};
use flower_store::{agents, dispatches, ephemeral, landings, tables};

/// More than a person can look through; the oldest come first, so nothing waits for ever.
const MOST: u64 = 500;

impl App {
    /// What waits for the operator; for a worker, the messages that it has not taken yet.
    pub async fn inbox(&self, caller: &Caller) -> Result<Vec<InboxItem>, Problem> {
        if self.reader(caller).await?.may(Read::Inbox) {
            self.whole_inbox().await
        } else {
            self.own_inbox(caller).await
        }
    }

    async fn own_inbox(&self, caller: &Caller) -> Result<Vec<InboxItem>, Problem> {
        let heard = self.hear(caller, false).await?;
        let items = heard.messages.into_iter().map(|message| InboxItem {
            kind: "message".to_owned(),
            title: format!("Message {}", message.id),
            text: message.text,
            next: "the tool `check_inbox` takes it".to_owned(),
            by: EventActor { sort: message.by_type, name: message.by },
            at: message.at,
            ..blank()
        });
        Ok(items.collect())
    }

    async fn whole_inbox(&self) -> Result<Vec<InboxItem>, Problem> {
        let read = self.store.read(|conn| {
            let (open, mains) = (landings::open(conn, None)?, landings::mains(conn)?);
            let seen = ephemeral::get(conn, "read/operator")?.and_then(|text| text.parse().ok()).unwrap_or(0);
            let messages = dispatches::messages_to_operator(conn, seen, MOST)?;
            let asked = (tables::open_questions(conn, MOST)?, tables::waiting_for_acceptance(conn, MOST)?);
            let agents = (agents::permissions(conn)?, agents::given_up(conn, MOST)?);
            Ok((asked, open, mains, messages, agents))
        });
        let ((questions, waiting), open, mains, messages, (permissions, given_up)) = read.await?;
        let questions = questions.into_iter().map(|q| InboxItem {
            kind: "question".to_owned(),
            brief: Some(q.brief),
            title: q.title,
            question: Some(q.question),
            text: q.text,
            by: EventActor { sort: q.asked_type, name: q.asked_by },
            at: q.asked_at,
            next: format!("flower brief answer {} {} TEXT", q.brief, q.question),
            ..blank()
        });
        let approvals = waiting.into_iter().map(|w| InboxItem {
            kind: "approval".to_owned(),
            brief: Some(w.brief),
            title: w.title,
            text: match w.status.as_str() {
                "draft" => "a plan was proposed and waits to be accepted".to_owned(),
                "in_review" => "the result is in review and waits to be accepted".to_owned(),
                _ => "the accepted plan was refined, and the refinement waits to be accepted".to_owned(),
            },
            by: EventActor { sort: w.by_type, name: w.by },
            at: w.at,
            next: format!("flower brief accept {}", w.brief),
            version: w.version,
            ..blank()
        });
        // Both are flower's own doing: its gate holds a landing back, its watch raises the alarm.
        let flower = || EventActor { sort: ActorType::System.to_string(), name: Actor::system().name };
        let held = open.into_iter().filter(|landing| landing.state == State::Approval).map(|landing| InboxItem {
            kind: "approval".to_owned(),
            brief: landing.briefs.first().copied(),
            landing: Some(landing.number),
            title: landing.title,
            text: format!("landing {} waits to be let in: {}", landing.number, landing.reason.unwrap_or_default()),
            by: flower(),
            at: landing.queued_at,
            next: format!("flower queue approve {}", landing.number),
            ..blank()
        });
        let mut settings = Vec::new();
        for (project, main) in &mains {
            if let Some(problem) = self.settings_problem(project, &main.tip).await {
                settings.push(InboxItem {
                    kind: "alarm".to_owned(),
                    title: format!("flower.toml of {project}"),
                    text: problem.in_words(),
                    by: flower(),
                    at: main.since.clone(),
                    next: format!("flower main --project {project}"),
                    project: Some(project.clone()),
                    ..blank()
                });
            }
        }
        let alarms = mains.into_iter().filter_map(|(project, main)| {
            let alarm = main.alarm?;
            Some(InboxItem {
                kind: "alarm".to_owned(),
                title: format!("MAIN of {project}"),
                text: format!("{}; {}", alarm.text, way_out(alarm.what)),
                by: flower(),
                at: alarm.at,
                next: format!("flower main --project {project}"),
                project: Some(project),
                ..blank()
            })
        });
        let messages = messages.into_iter().map(|message| InboxItem {
            kind: "message".to_owned(),
            title: format!("Message {}", message.number),
            text: message.text,
            next: format!("flower agent tell {} TEXT; flower inbox --seen", message.by),
            by: EventActor { sort: message.by_type, name: message.by },
            at: message.at,
            seq: Some(message.seq),
            ..blank()
        });
        let permissions = permissions.into_iter().map(|permission| InboxItem {
            kind: "permission".to_owned(),
            brief: permission.brief,
            permission: Some(permission.number),
            title: format!("{} wants to {}", permission.name, permission.sort.replace('_', " ")),
            text: match permission.paths.is_empty() {
                true => permission.title,
                false => format!("{} ({})", permission.title, permission.paths.join(", ")),
            },
            agent: Some(permission.name.clone()),
            by: EventActor { sort: ActorType::Agent.to_string(), name: permission.name },
            next: format!("flower agent allow {0}; flower agent deny {0}", permission.number),
            until: later(&permission.at, permission.seconds),
            at: permission.at,
            ..blank()
        });
        let given_up = given_up.into_iter().filter_map(|agent| {
            let (end, at) = (agent.ended?, agent.ended_at?);
            let again = agent.brief.map(|brief| format!("; flower dispatch {brief} --kind fix"));
            Some(InboxItem {
                kind: "alarm".to_owned(),
                brief: agent.brief,
                title: format!("{} was given up", agent.name),
                text: end.why,
                by: flower(),
                at,
                next: format!("flower agent log {}{}", agent.name, again.unwrap_or_default()),
                agent: Some(agent.name),
                ..blank()
            })
        });
        let agents = permissions.chain(given_up);
        let mut items: Vec<InboxItem> = questions
            .chain(approvals)
            .chain(held)
            .chain(alarms)
            .chain(settings)
            .chain(messages)
            .chain(agents)
            .collect();
        items.sort_by(|a, b| a.at.cmp(&b.at));
        Ok(items)
    }
}

/// An item about nothing yet.
fn blank() -> InboxItem {
    InboxItem {
        kind: String::new(),
        brief: None,
        landing: None,
        permission: None,
        title: String::new(),
        question: None,
        version: None,
        project: None,
        agent: None,
        until: None,
        seq: None,
        text: String::new(),
        by: EventActor { sort: String::new(), name: String::new() },
        at: String::new(),
        next: String::new(),
    }
}

fn later(at: &str, seconds: u64) -> Option<String> {
    let at: jiff::Timestamp = at.parse().ok()?;
    at.checked_add(jiff::SignedDuration::from_secs(seconds.try_into().ok()?)).ok().map(super::stamp)
}
