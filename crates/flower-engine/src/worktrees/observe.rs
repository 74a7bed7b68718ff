//! Reads the current state of worktrees from git and the disk. The log has only their intended state.

use super::facts::Facts;
use super::paths::{TreeState, WorktreePaths};
use super::setup;
use super::special_files::{self, ASK_TIMEOUT, OBSERVE_TIMEOUT};
use crate::Worktrees;
use crate::network::record;
use crate::settings::Objects;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{NetworkView, ProtectionLevel, WorktreeState, WorktreeView};
use flower_core::dispatch::DispatchState;
use flower_core::worktree::{Seal, Stage};
use flower_core::{Dispatch, Main, Worktree};
use flower_git::lfs::Lfs;
use flower_git::{CommitId, GitError};
use flower_store::dispatches;
use flower_store::{landings, worktrees};
use futures_util::{StreamExt, TryStreamExt};
use std::collections::HashMap;
use std::time::Duration;

/// Worktrees that are observed at the same time.
const MAX_CONCURRENT: usize = 8;
/// How long an observation waits for the import of new commits. The watch imports them in any case.
const MIRROR_WAIT: Duration = Duration::from_secs(1);

/// The effect of [`Objects::All`].
pub(crate) const READS_EVERYTHING: &str = "what runs inside can read every object of MAIN's repository, also of \
     local branches, stashes and other worktrees";

/// Whether the kernel can build a jail; if not, what is missing.
#[derive(Clone, Debug)]
pub struct Protection {
    pub missing: Vec<String>,
}

impl Worktrees {
    /// MAIN as the log has it. Before its first record, MAIN as the repository has it.
    pub(crate) async fn main_of(&self, project: &str) -> Result<Main, Problem> {
        if let Some(main) = self.recorded_main(project).await? {
            return Ok(main);
        }
        let facts = self.facts_of(project).await?;
        Ok(Main::unrecorded(facts.main_branch, facts.main_tip.into(), crate::now()))
    }

    /// MAIN as the log has it, if it is recorded.
    pub(crate) async fn recorded_main(&self, project: &str) -> Result<Option<Main>, Problem> {
        let of = project.to_owned();
        Ok(self.store.read(move |conn| landings::main(conn, &of)).await?)
    }

    /// The live worktrees of a project.
    pub(crate) async fn live(&self, project: &str) -> Result<Vec<flower_core::Worktree>, Problem> {
        let of = project.to_owned();
        Ok(self.store.read(move |conn| worktrees::live(conn, Some(&of))).await?)
    }

    /// Whether a dispatch in this worktree is claimed.
    pub(crate) async fn has_claimed_work(&self, project: &str, worktree: &str) -> Result<bool, Problem> {
        let (project, worktree) = (project.to_owned(), worktree.to_owned());
        let open = self.store.read(move |conn| dispatches::in_worktree(conn, &project, &worktree)).await?;
        Ok(open.iter().any(is_claimed))
    }

    /// Whether an agent stays in this worktree and waits for further work.
    pub(crate) async fn has_standing_agent(&self, project: &str, worktree: &str) -> Result<bool, Problem> {
        let of = project.to_owned();
        let live = self.store.read(move |conn| flower_store::agents::live(conn, Some(&of))).await?;
        Ok(live.iter().any(|agent| agent.standing && agent.worktree == worktree))
    }

    /// Names of the agents that run in a worktree.
    pub(crate) async fn agents_in(&self, worktree: &Worktree) -> Vec<String> {
        let project = worktree.project.clone();
        let live =
            self.store.read(move |conn| flower_store::agents::live(conn, Some(&project))).await.unwrap_or_default();
        live.into_iter().filter(|agent| agent.worktree == worktree.name).map(|agent| agent.name).collect()
    }

    /// Tests once whether the kernel can build a jail.
    pub async fn protection(&self) -> &Protection {
        let ask = || async {
            let probed = tokio::task::spawn_blocking(flower_jail::probe).await;
            let missing = match probed {
                Ok(Ok(())) => Vec::new(),
                Ok(Err(missing)) => missing,
                Err(error) => vec![format!("the attempt to build a jail failed: {error}")],
            };
            Protection { missing }
        };
        self.protection.get_or_init(ask).await
    }

    /// Fails if the kernel cannot build a jail: a sealed worktree without one would be open.
    pub(crate) async fn require_jail(&self) -> Result<(), Problem> {
        let protection = self.protection().await;
        if protection.missing.is_empty() {
            return Ok(());
        }
        Err(Problem {
            kind: ProblemKind::Refused,
            message: format!("this machine cannot seal a worktree: {}", protection.missing.join("; ")),
            hints: vec![
                "`flower doctor` says what would help".into(),
                "without protection: add `--linked`; then what runs inside can write MAIN".into(),
            ],
        })
    }

    pub(super) async fn observe_all(&self, all: Vec<Worktree>) -> Result<Vec<WorktreeView>, Problem> {
        let mut mains: HashMap<String, Option<Facts>> = HashMap::new();
        for worktree in &all {
            if !mains.contains_key(&worktree.project) {
                let facts = self.facts_of(&worktree.project).await.ok();
                mains.insert(worktree.project.clone(), facts);
            }
        }
        // In parallel, so that a slow worktree does not delay the others.
        let observations = all.into_iter().map(|worktree| {
            let facts = mains.get(&worktree.project).and_then(Option::as_ref);
            self.observe_with(worktree, facts)
        });
        futures_util::stream::iter(observations).buffered(MAX_CONCURRENT).try_collect().await
    }

    pub(super) async fn observe(&self, worktree: Worktree) -> Result<WorktreeView, Problem> {
        let facts = self.facts_of(&worktree.project).await.ok();
        self.observe_with(worktree, facts.as_ref()).await
    }

    /// A worktree that was just created: if nothing can have changed in it, git need not be asked.
    pub(super) async fn observe_new(&self, worktree: Worktree, facts: &Facts) -> Result<WorktreeView, Problem> {
        if worktree.base == facts.main_tip.as_str() && facts.settings.worktree.setup.is_empty() {
            let place = self.paths(&worktree).await?;
            let mut view = self.view(&worktree, &place).await;
            view.notes.extend(reads_everything(&place, Some(facts)));
            view.network = network(&place, facts);
            return Ok(view);
        }
        self.observe_with(worktree, Some(facts)).await
    }

    pub(crate) async fn facts_of(&self, project: &str) -> Result<Facts, Problem> {
        let repository = self.repository(project).await?;
        let main = self.recorded_main(project).await?;
        Facts::gather(&repository, main.as_ref(), None, "flower/none").await
    }

    async fn observe_with(&self, worktree: Worktree, facts: Option<&Facts>) -> Result<WorktreeView, Problem> {
        let place = match self.paths(&worktree).await {
            Ok(place) => place,
            Err(problem) => return Ok(WorktreeView::unknown(&worktree, problem.message)),
        };
        let mut view = self.view(&worktree, &place).await;
        if worktree.stage != Stage::Ready {
            return Ok(view);
        }
        match place.tree_state() {
            TreeState::Present => {}
            TreeState::Missing => {
                view.state = WorktreeState::Missing;
                view.notes.push(format!(
                    "its directory is gone: move it back, check it out again from its branch (`flower worktree restore {0}`), or let it go (`flower worktree remove {0}`)",
                    worktree.name
                ));
                return Ok(view);
            }
            TreeState::Unknown(evidence) => {
                view.state = WorktreeState::Unknown;
                view.notes.push(format!(
                    "{evidence}: put it back as it was, or let flower do so (`flower worktree restore {}`)",
                    worktree.name
                ));
                return Ok(view);
            }
        }
        view.notes.extend(reads_everything(&place, facts));
        view.network = facts.and_then(|facts| network(&place, facts));
        // At the timeout a mirror that is under way ends as in a crash, and can be repeated.
        if tokio::time::timeout(OBSERVE_TIMEOUT, self.observe_git(&place, facts, &mut view)).await.is_err() {
            view.notes.push(in_one_line(special_files::too_slow(&place, OBSERVE_TIMEOUT)));
        }
        Ok(view)
    }

    /// Adds what git knows about a worktree to its view.
    async fn observe_git(&self, place: &WorktreePaths, facts: Option<&Facts>, view: &mut WorktreeView) {
        if place.seal == Seal::Sealed {
            let mirrored = match tokio::time::timeout(MIRROR_WAIT, self.mirror_or_time_out(place)).await {
                Ok(mirrored) => mirrored,
                Err(_) => Err(super::mirror::import_pending(place)),
            };
            if let Err(problem) = mirrored {
                let said = in_one_line(problem);
                view.notes.push(format!("its newest commits are not in MAIN's repository yet: {said}"));
            }
        }
        match self.displaced_notes(place).await {
            Ok(notes) => view.notes.extend(notes),
            Err(problem) => view.notes.push(problem.message),
        }
        if let Some(facts) = facts {
            match counts(place, &facts.main_tip).await {
                Ok((behind, ahead)) => (view.behind, view.ahead) = (behind, ahead),
                Err(problem) => view.notes.push(problem.message),
            }
        }
        match is_dirty(place).await {
            Ok(dirty) => view.dirty = dirty,
            Err(problem) => view.notes.push(in_one_line(problem)),
        }
    }

    async fn view(&self, worktree: &Worktree, place: &WorktreePaths) -> WorktreeView {
        let (protection, reason) = match worktree.seal {
            Seal::Linked => (
                ProtectionLevel::Watched,
                Some(
                    "linked: what runs inside can write MAIN; make it `--sealed` for the kernel to refuse that".into(),
                ),
            ),
            Seal::Sealed => match self.protection().await.missing.as_slice() {
                [] => (ProtectionLevel::Kernel, None),
                missing => (ProtectionLevel::None, Some(missing.join("; "))),
            },
        };
        let mut view = WorktreeView::of(worktree, place.tree.to_string_lossy().into_owned());
        let (project, name) = (worktree.project.clone(), worktree.name.clone());
        let open =
            self.store.read(move |conn| dispatches::in_worktree(conn, &project, &name)).await.unwrap_or_default();
        view.briefs.extend(open.iter().map(|dispatch| dispatch.brief.0));
        view.briefs.sort_unstable();
        view.briefs.dedup();
        view.agents.extend(open.into_iter().filter_map(|dispatch| dispatch.claim).map(|claim| claim.holder));
        view.agents.extend(self.agents_in(worktree).await);
        view.agents.sort_unstable();
        view.agents.dedup();
        view.protection = protection;
        view.protection_reason = reason;
        view.setup = setup::load_setup_state(place);
        view.notes.extend(view.setup.as_ref().and_then(|last| setup::interrupted_note(place, last)));
        view
    }
}

/// The network of programs inside. A linked worktree has none of its own.
fn network(place: &WorktreePaths, facts: &Facts) -> Option<NetworkView> {
    let mode = facts.settings.worktree.network.unwrap_or_default();
    let view = || NetworkView { mode, hosts: record::load(&place.network_record()) };
    (place.seal == Seal::Sealed).then(view)
}

/// A note if programs inside can read more of MAIN's repository than they need.
fn reads_everything(place: &WorktreePaths, facts: Option<&Facts>) -> Option<String> {
    if place.seal != Seal::Sealed || place.store().is_some() {
        return None;
    }
    let all = facts.is_some_and(|facts| facts.settings.worktree.objects == Objects::All);
    let why = match all {
        true => "because flower.toml says `objects = \"all\"`",
        false => "until what runs in it has ended: it was made before flower could lend less",
    };
    Some(format!("{READS_EVERYTHING}, {why}"))
}

/// The message and the hints of a problem.
fn in_one_line(problem: Problem) -> String {
    std::iter::once(problem.message).chain(problem.hints).collect::<Vec<_>>().join("; ")
}

/// How many commits the worktree's branch is behind and ahead of MAIN.
async fn counts(place: &WorktreePaths, main_tip: &CommitId) -> Result<(u64, u64), Problem> {
    Ok(place.repo().count_apart(main_tip, &place.full_branch()).await?)
}

/// Whether a worktree has uncommitted changes. Runs no program that is configured inside.
pub(crate) async fn is_dirty(place: &WorktreePaths) -> Result<bool, Problem> {
    Ok(!uncommitted(place).await?.is_empty())
}

/// Paths with uncommitted changes.
pub(crate) async fn uncommitted(place: &WorktreePaths) -> Result<Vec<String>, Problem> {
    changes(place, false).await
}

/// Tracked paths with uncommitted changes.
pub(crate) async fn uncommitted_tracked(place: &WorktreePaths) -> Result<Vec<String>, Problem> {
    changes(place, true).await
}

/// Asks git for changes in a worktree. A content of LFS that is that of its pointer is none.
async fn changes(place: &WorktreePaths, only_tracked: bool) -> Result<Vec<String>, Problem> {
    let linked = place.linked().ok_or_else(|| Problem::bug("a worktree that git does not know"))?;
    special_files::require_plain_files(place)?;
    let linked = linked.with_lfs(Lfs::Pointers).with_deadline(ASK_TIMEOUT);
    let paths = match if only_tracked { linked.changed().await } else { linked.uncommitted().await } {
        Err(GitError::Deadline { .. }) => return Err(special_files::too_slow(place, ASK_TIMEOUT)),
        paths => paths?,
    };
    Ok(paths.iter().map(|path| path.to_string_lossy().into_owned()).collect())
}

/// Whether a holder works on the dispatch now.
pub(crate) fn is_claimed(dispatch: &Dispatch) -> bool {
    matches!(dispatch.state, DispatchState::Claimed | DispatchState::Executing)
}
