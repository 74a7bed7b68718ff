//! What a worktree is like now. The log says what should be; this asks git and the disk.

use super::facts::Facts;
use super::paths::{Found, WorktreePaths};
use super::setup;
use super::special_files::{self, ASK_TIMEOUT, LOOK_TIMEOUT};
use crate::Worktrees;
use crate::settings::Objects;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::WorktreeView;
use flower_core::Worktree;
use flower_core::dispatch::DispatchState;
use flower_core::worktree::{Seal, Stage};
use flower_core::{Dispatch, Main};
use flower_git::{CommitId, GitError};
use flower_store::dispatches;
use flower_store::{landings, worktrees};
use futures_util::{StreamExt, TryStreamExt};
use std::collections::HashMap;
use std::time::Duration;

/// Worktrees that are looked at at the same time.
const MAX_LOOKS: usize = 8;
/// How long a look waits for new commits. They come out all the same: their worktree is watched.
const MIRROR_PATIENCE: Duration = Duration::from_secs(1);

/// What [`Objects::All`] means.
pub(crate) const READS_EVERYTHING: &str = "what runs inside can read every object of MAIN's repository, also of \
     local branches, stashes and other worktrees";

/// Whether the kernel can keep what runs inside away from everything else, and what is missing if not.
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

    /// MAIN as the log has it, if it was looked at before.
    pub(crate) async fn recorded_main(&self, project: &str) -> Result<Option<Main>, Problem> {
        let of = project.to_owned();
        Ok(self.store.read(move |conn| landings::main(conn, &of)).await?)
    }

    /// Live ephemeral worktrees, and lanes, of a project.
    pub(crate) async fn live(&self, project: &str) -> Result<Vec<flower_core::Worktree>, Problem> {
        let of = project.to_owned();
        Ok(self.store.read(move |conn| worktrees::live(conn, Some(&of))).await?)
    }

    /// Whether somebody has claimed something that happens there.
    pub(crate) async fn is_worked_in(&self, project: &str, worktree: &str) -> Result<bool, Problem> {
        let (project, worktree) = (project.to_owned(), worktree.to_owned());
        let open = self.store.read(move |conn| dispatches::in_worktree(conn, &project, &worktree)).await?;
        Ok(open.iter().any(is_claimed))
    }

    /// Whether an agent waits there for further work.
    pub(crate) async fn is_stayed_in(&self, project: &str, worktree: &str) -> Result<bool, Problem> {
        let of = project.to_owned();
        let live = self.store.read(move |conn| flower_store::agents::live(conn, Some(&of))).await?;
        Ok(live.iter().any(|agent| agent.standing && agent.worktree == worktree))
    }

    /// Names of those that run in a worktree.
    pub(crate) async fn agents_in(&self, worktree: &Worktree) -> Vec<String> {
        let project = worktree.project.clone();
        let live =
            self.store.read(move |conn| flower_store::agents::live(conn, Some(&project))).await.unwrap_or_default();
        live.into_iter().filter(|agent| agent.worktree == worktree.name).map(|agent| agent.name).collect()
    }

    /// Asks the kernel once, by building a jail.
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

    /// Without a jail nothing is sealed: it is refused rather than left open.
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
        // Side by side, so that one that cannot be looked at keeps no other waiting.
        let looks = all.into_iter().map(|worktree| {
            let facts = mains.get(&worktree.project).and_then(Option::as_ref);
            self.look_at(worktree, facts)
        });
        futures_util::stream::iter(looks).buffered(MAX_LOOKS).try_collect().await
    }

    pub(super) async fn observe(&self, worktree: Worktree) -> Result<WorktreeView, Problem> {
        let facts = self.facts_of(&worktree.project).await.ok();
        self.look_at(worktree, facts.as_ref()).await
    }

    /// One that was made this moment: nothing has changed in it yet.
    pub(super) async fn observe_new(&self, worktree: Worktree, facts: &Facts) -> Result<WorktreeView, Problem> {
        if worktree.base == facts.main_tip.as_str() && facts.settings.worktree.setup.is_empty() {
            let place = self.place(&worktree).await?;
            let mut view = self.view(&worktree, &place).await;
            view.notes.extend(reads_everything(&place, Some(facts)));
            return Ok(view);
        }
        self.look_at(worktree, Some(facts)).await
    }

    pub(crate) async fn facts_of(&self, project: &str) -> Result<Facts, Problem> {
        let repository = self.repository(project).await?;
        let main = self.recorded_main(project).await?;
        Facts::gather(&repository, main.as_ref(), None, "flower/none").await
    }

    async fn look_at(&self, worktree: Worktree, facts: Option<&Facts>) -> Result<WorktreeView, Problem> {
        let place = match self.place(&worktree).await {
            Ok(place) => place,
            Err(problem) => return Ok(WorktreeView::unknown(&worktree, problem.message)),
        };
        let mut view = self.view(&worktree, &place).await;
        if worktree.stage != Stage::Ready {
            return Ok(view);
        }
        match place.look() {
            Found::There => {}
            Found::Missing => {
                view.state = "missing".into();
                view.notes.push(format!(
                    "its directory is gone: move it back, check it out again from its branch (`flower worktree restore {0}`), or let it go (`flower worktree remove {0}`)",
                    worktree.name
                ));
                return Ok(view);
            }
            Found::Unknown(evidence) => {
                view.state = "unknown".into();
                view.notes.push(format!(
                    "{evidence}: put it back as it was, or let flower do so (`flower worktree restore {}`)",
                    worktree.name
                ));
                return Ok(view);
            }
        }
        view.notes.extend(reads_everything(&place, facts));
        // What is under way when the time is over is ended with it, as it would be by a crash.
        if tokio::time::timeout(LOOK_TIMEOUT, self.look_closely(&place, facts, &mut view)).await.is_err() {
            view.notes.push(in_one_line(special_files::too_slow(&place, LOOK_TIMEOUT)));
        }
        Ok(view)
    }

    /// What git says about it.
    async fn look_closely(&self, place: &WorktreePaths, facts: Option<&Facts>, view: &mut WorktreeView) {
        if place.seal == Seal::Sealed {
            let mirrored = match tokio::time::timeout(MIRROR_PATIENCE, self.mirror_soon(place)).await {
                Ok(mirrored) => mirrored,
                Err(_) => Err(super::mirror::still_under_way(place)),
            };
            if let Err(problem) = mirrored {
                let said = in_one_line(problem);
                view.notes.push(format!("its newest commits are not in MAIN's repository yet: {said}"));
            }
        }
        match self.displaced(place).await {
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
                "watched",
                Some(
                    "linked: what runs inside can write MAIN; make it `--sealed` for the kernel to refuse that".into(),
                ),
            ),
            Seal::Sealed => match self.protection().await.missing.as_slice() {
                [] => ("kernel", None),
                missing => ("none", Some(missing.join("; "))),
            },
        };
        let mut view = WorktreeView::of(worktree, place.tree.to_string_lossy().into_owned());
        let (project, name) = (worktree.project.clone(), worktree.name.clone());
        let open =
            self.store.read(move |conn| dispatches::in_worktree(conn, &project, &name)).await.unwrap_or_default();
        view.briefs.extend(open.iter().map(|dispatch| dispatch.brief));
        view.briefs.sort_unstable();
        view.briefs.dedup();
        view.agents.extend(open.into_iter().filter_map(|dispatch| dispatch.claim).map(|claim| claim.holder));
        view.agents.extend(self.agents_in(worktree).await);
        view.agents.sort_unstable();
        view.agents.dedup();
        view.protection = protection.into();
        view.protection_reason = reason;
        view.setup = setup::last(place);
        view.notes.extend(view.setup.as_ref().and_then(|last| setup::cut_off(place, last)));
        view
    }
}

/// That what runs inside can read more of MAIN's repository than it needs, and why.
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

/// A problem with what to do about it.
fn in_one_line(problem: Problem) -> String {
    std::iter::once(problem.message).chain(problem.hints).collect::<Vec<_>>().join("; ")
}

/// How many commits MAIN's branch has that this one has not, and the other way round.
async fn counts(place: &WorktreePaths, main_tip: &CommitId) -> Result<(u64, u64), Problem> {
    Ok(place.repo().count_apart(main_tip, &place.full_branch()).await?)
}

/// Whether anything in it is not committed. Runs nothing that is configured inside.
pub(crate) async fn is_dirty(place: &WorktreePaths) -> Result<bool, Problem> {
    Ok(!uncommitted(place).await?.is_empty())
}

/// What in it is not committed.
pub(crate) async fn uncommitted(place: &WorktreePaths) -> Result<Vec<String>, Problem> {
    let linked = place.linked().ok_or_else(|| Problem::bug("a worktree that git does not know"))?;
    special_files::require_plain_files(place)?;
    let paths = match linked.with_deadline(ASK_TIMEOUT).uncommitted().await {
        Err(GitError::Deadline { .. }) => return Err(special_files::too_slow(place, ASK_TIMEOUT)),
        paths => paths?,
    };
    Ok(paths.iter().map(|path| path.to_string_lossy().into_owned()).collect())
}

/// Whether a holder works on the dispatch now.
pub(crate) fn is_claimed(dispatch: &Dispatch) -> bool {
    matches!(dispatch.state, DispatchState::Claimed | DispatchState::Executing)
}
