//! Views across all services: the inbox, the status, the doctor.

pub(crate) mod doctor;
mod inbox;
mod status;

use crate::Setup;
use crate::home::Home;
use crate::{Access, Agents, Dispatcher, MergeQueue, Messages, Profiles, Projects, Worktrees};
use flower_store::Store;
use std::sync::Arc;

pub struct Overview {
    url: String,
    started_at: String,
    database: String,
    store: Store,
    home: Home,
    access: Arc<Access>,
    projects: Arc<Projects>,
    messages: Arc<Messages>,
    worktrees: Arc<Worktrees>,
    merge_queue: Arc<MergeQueue>,
    agents: Arc<Agents>,
    profiles: Arc<Profiles>,
    dispatcher: Arc<Dispatcher>,
}

impl Overview {
    #[expect(clippy::too_many_arguments, reason = "each is a service that the overview reads")]
    pub(crate) fn new(
        setup: &Setup,
        access: &Arc<Access>,
        projects: &Arc<Projects>,
        messages: &Arc<Messages>,
        worktrees: &Arc<Worktrees>,
        merge_queue: &Arc<MergeQueue>,
        agents: &Arc<Agents>,
        profiles: &Arc<Profiles>,
        dispatcher: &Arc<Dispatcher>,
    ) -> Overview {
        Overview {
            url: setup.url.clone(),
            started_at: setup.started_at.clone(),
            database: setup.database.clone(),
            store: setup.store.clone(),
            home: setup.home.clone(),
            access: access.clone(),
            projects: projects.clone(),
            messages: messages.clone(),
            worktrees: worktrees.clone(),
            merge_queue: merge_queue.clone(),
            agents: agents.clone(),
            profiles: profiles.clone(),
            dispatcher: dispatcher.clone(),
        }
    }
}
