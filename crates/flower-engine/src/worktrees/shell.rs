//! Builds the command that runs a program inside a worktree.

use super::paths::WorktreePaths;
use super::private;
use crate::Worktrees;
use crate::network::NetworkPolicy;
use crate::projects::ProjectChoice;
use crate::settings::Settings;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::EnterView;
use flower_core::Worktree;
use flower_core::worktree::Seal;
use flower_jail::Spec;
use flower_store::dispatches;

impl Worktrees {
    /// The words to put before a command so that it runs in the worktree's jail.
    pub async fn enter(&self, choice: &ProjectChoice, name: &str) -> Result<EnterView, Problem> {
        let worktree = self.find_to_enter(choice, name).await?;
        let place = self.require_ready(&worktree).await?;
        let path = place.tree.to_string_lossy().into_owned();
        if place.seal == Seal::Linked {
            return Ok(EnterView { name: worktree.name, path, launcher: Vec::new(), sealed: false, notes: Vec::new() });
        }
        let notes = self.bring_in_at_entry(&place).await.into_iter().collect();
        let spec = self.approved_spec(&place, None).await?;
        let launcher =
            private::launcher(&place, &spec, "jail").map_err(|error| self.home.problem(&place.folder, &error))?;
        let launcher = launcher.into_iter().map(|word| word.to_string_lossy().into_owned()).collect();
        Ok(EnterView { name: worktree.name, path, launcher, sealed: true, notes })
    }

    /// The live worktree, or one that a dispatch names: an agent with a packet may enter it before the claim has made it.
    pub(crate) async fn find_to_enter(&self, choice: &ProjectChoice, name: &str) -> Result<Worktree, Problem> {
        let missing = match self.find(choice, name).await {
            Err(problem) if problem.kind == ProblemKind::NotFound => problem,
            found => return found,
        };
        let project = self.projects.find(choice).await?;
        let wanted = name.to_owned();
        let open = self.store.read(dispatches::open).await?;
        let chosen = open.into_iter().find(|dispatch| {
            dispatch.worktree.as_ref() == Some(&wanted) && (project.is_none() || dispatch.project == project)
        });
        match chosen.and_then(|dispatch| Some((dispatch.project?, dispatch.brief))) {
            Some((project, brief)) => self.ensure(&project, name, Some(brief)).await,
            None => Err(missing),
        }
    }

    /// Mirrors a worktree after a shell in it has ended.
    pub async fn mirror_named(&self, choice: &ProjectChoice, name: &str) -> Result<(), Problem> {
        let worktree = self.find(choice, name).await?;
        let place = self.require_ready(&worktree).await?;
        if place.seal == Seal::Sealed { self.mirror_or_time_out(&place).await } else { Ok(()) }
    }

    /// The jail of a sealed worktree, with the network of the project or the given one. Fails until the operator has approved what
    /// `flower.toml` opens in it.
    pub(crate) async fn approved_spec(
        &self,
        place: &WorktreePaths,
        network: Option<&NetworkPolicy>,
    ) -> Result<Spec, Problem> {
        self.require_jail().await?;
        let settings = self.facts_of(&place.project).await?.settings;
        if !settings.openings().is_empty() {
            self.require_approved(&place.project, &settings).await?;
        }
        self.settle_objects(place, settings.worktree.objects).await?;
        self.clear_locks(place).await;
        let policy = settings.worktree.network_policy();
        self.spec(place, &settings, network.unwrap_or(&policy)).await
    }

    async fn spec(&self, place: &WorktreePaths, settings: &Settings, network: &NetworkPolicy) -> Result<Spec, Problem> {
        let port = self.url.rsplit(':').next().and_then(|port| port.parse().ok());
        let made = private::spec(&self.home, place, &settings.worktree, port);
        let mut spec = made.map_err(|error| self.home.problem(&place.folder, &error))?;
        self.seal_gitlinks(place, &mut spec).await?;
        let name = format!("{}/{}", place.project, place.name);
        self.networks.connect(&mut spec, &name, network, true, place.network_record());
        Ok(spec)
    }

    pub(super) async fn launcher(
        &self,
        place: &WorktreePaths,
        settings: &Settings,
    ) -> Result<Vec<std::ffi::OsString>, Problem> {
        let spec = self.spec(place, settings, &settings.worktree.network_policy()).await?;
        private::launcher(place, &spec, "jail").map_err(|error| self.home.problem(&place.folder, &error))
    }
}
