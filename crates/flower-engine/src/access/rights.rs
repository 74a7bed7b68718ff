//! Read rights: looks up which project, worktree and brief the target belongs to, and asks [`flower_core::policy`].

use crate::Access;
use crate::projects::ProjectChoice;
use flower_contract::error::Problem;
use flower_core::policy::{self, Read};
use flower_core::{Caller, DispatchId, LandingId, LeaseId, Recorded, Refusal, ScratchpadId};
use flower_store::{Conn, StoreError, agents, briefs, dispatches, landings, log, worktrees};

/// What a request wants to read, as it names it.
#[derive(Clone, Debug)]
pub enum ReadTarget {
    Project(String),
    Worktree(ProjectChoice, String),
    Landing(LandingId),
    Dispatch(DispatchId),
    Lease(LeaseId),
    Scratchpad(ScratchpadId),
    Agent(String),
    Image(String),
}

/// A caller, with the project that its token belongs to.
#[derive(Clone, Debug)]
pub struct Reader {
    pub caller: Caller,
    project: Option<String>,
}

impl Reader {
    pub fn require(&self, read: Read<'_>) -> Result<(), Refusal> {
        policy::require_read(&self.caller, self.project.as_deref(), read)
    }

    pub fn may(&self, read: Read<'_>) -> bool {
        self.require(read).is_ok()
    }

    /// Whether the caller may see an event: the event is in the trace of a brief that the caller may read, or is about MAIN
    /// of the caller's project. `is_in_project` says whether it happened in that project.
    pub fn may_follow(&self, event: &Recorded, is_in_project: bool) -> bool {
        if self.may(Read::Trace) || event.brief.is_some_and(|brief| self.may(Read::Brief { number: Some(brief) })) {
            return true;
        }
        let is_about_main =
            event.stream.starts_with("project/") || matches!(event.kind.as_str(), "landed" | "rolled_back");
        is_in_project && is_about_main
    }

    /// The only project of which the caller sees events; absent if it sees the events of all projects.
    pub fn limited_to_project(&self) -> Option<Option<&str>> {
        policy::reads_own_only(&self.caller).then_some(self.project.as_deref())
    }
}

impl Access {
    pub async fn reader(&self, caller: &Caller) -> Result<Reader, Problem> {
        let project = match policy::reads_own_only(caller) {
            true => self.project_of(caller).await?,
            false => None,
        };
        Ok(Reader { caller: caller.clone(), project })
    }

    /// Fails if the caller may not read the target. To a worker, a target that does not exist gives the same error, so that
    /// errors do not reveal what exists.
    pub async fn require_read(&self, caller: &Caller, target: ReadTarget) -> Result<(), Problem> {
        if !policy::reads_own_only(caller) {
            return Ok(());
        }
        let reader = self.reader(caller).await?;
        let target = match target {
            ReadTarget::Worktree(choice, name) => {
                let project = self.choice(caller, choice).await?.name.unwrap_or_default();
                return Ok(reader.require(Read::Worktree { project: &project, name: &name })?);
            }
            target => target,
        };
        Ok(self.store.read(move |conn| require(conn, &reader, &target)).await?)
    }

    /// Fails if the caller is a worker and the worktree is not its own.
    pub async fn require_inside(&self, caller: &Caller, choice: &ProjectChoice, name: &str) -> Result<(), Problem> {
        if !policy::reads_own_only(caller) {
            return Ok(policy::require_inside(caller, None, "", name)?);
        }
        let own = self.project_of(caller).await?;
        let of = choice.name.clone().or_else(|| own.clone()).unwrap_or_default();
        Ok(policy::require_inside(caller, own.as_deref(), &of, name)?)
    }

    /// The project that a request is about. For a worker it is its own project, independent of the directory it runs in;
    /// naming another one is refused.
    pub async fn choice(&self, caller: &Caller, choice: ProjectChoice) -> Result<ProjectChoice, Problem> {
        if !policy::reads_own_only(caller) {
            return Ok(choice);
        }
        let reader = self.reader(caller).await?;
        let name = choice.name.or_else(|| reader.project.clone()).unwrap_or_default();
        reader.require(Read::Project { name: &name })?;
        Ok(ProjectChoice { name: Some(name), dir: None })
    }

    /// The project that a caller works in: that of its dispatch, else of its brief and worktree, else the only one there is.
    pub(crate) async fn project_of(&self, caller: &Caller) -> Result<Option<String>, Problem> {
        let caller = caller.clone();
        Ok(self.store.read(move |conn| project_of(conn, &caller)).await?)
    }
}

fn project_of(conn: &mut Conn, caller: &Caller) -> Result<Option<String>, StoreError> {
    if let Some(run) = caller.run
        && let Some(project) = dispatches::dispatch(conn, run.dispatch)?.and_then(|dispatch| dispatch.project)
    {
        return Ok(Some(project));
    }
    // Several projects can have a worktree of this name, so the name decides only if exactly one has.
    let candidates: Vec<String> = match &caller.worktree {
        Some(name) => {
            let live = worktrees::live(conn, None)?.into_iter().filter(|worktree| worktree.name == *name);
            live.map(|worktree| worktree.project).collect()
        }
        None => Vec::new(),
    };
    if let Some(number) = caller.brief {
        let projects = briefs::state(conn, number)?.map(|brief| brief.projects).unwrap_or_default();
        let shared = projects.iter().find(|project| candidates.contains(project));
        if let Some(project) = shared.or(projects.first()) {
            return Ok(Some(project.clone()));
        }
    }
    match candidates.as_slice() {
        [project] => return Ok(Some(project.clone())),
        [_, ..] => return Ok(None),
        [] => {}
    }
    match flower_store::projects::all(conn)?.as_slice() {
        [only] => Ok(Some(only.name.clone())),
        _ => Ok(None),
    }
}

fn require(conn: &mut Conn, reader: &Reader, target: &ReadTarget) -> Result<(), StoreError> {
    let verdict = match target {
        ReadTarget::Project(name) => reader.require(Read::Project { name }),
        ReadTarget::Worktree(choice, name) => {
            reader.require(Read::Worktree { project: choice.name.as_deref().unwrap_or_default(), name })
        }
        ReadTarget::Landing(number) => match landings::landing(conn, *number)? {
            Some(landing) => reader.require(Read::Landing {
                project: &landing.project,
                worktree: landing.worktree.as_deref(),
                briefs: &landing.briefs,
            }),
            None => reader.require(Read::Landing { project: "", worktree: None, briefs: &[] }),
        },
        ReadTarget::Dispatch(number) => {
            // No brief has the number 0.
            let brief = dispatches::dispatch(conn, *number)?.map(|dispatch| dispatch.brief).unwrap_or_default();
            reader.require(Read::Dispatch { number: *number, brief })
        }
        ReadTarget::Lease(number) => match dispatches::lease(conn, *number)? {
            Some(lease) => reader.require(Read::Worktree { project: &lease.project, name: &lease.worktree }),
            None => reader.require(Read::Worktree { project: "", name: "" }),
        },
        ReadTarget::Scratchpad(number) => {
            let brief = flower_store::scratchpads::scratchpad(conn, *number)?.and_then(|pad| pad.brief);
            reader.require(Read::Brief { number: brief })
        }
        ReadTarget::Agent(name) => match agents::named(conn, name)? {
            Some(agent) => {
                reader.require(Read::Agent { project: &agent.project, worktree: &agent.worktree, name: &agent.name })
            }
            None => reader.require(Read::Agent { project: "", worktree: "", name }),
        },
        ReadTarget::Image(sha256) => {
            // An image belongs to every brief whose trace shows it.
            let shown = match reader.caller.brief {
                Some(brief) if log::shows_image(conn, brief, sha256)? => Some(brief),
                _ => None,
            };
            reader.require(Read::Brief { number: shown })
        }
    };
    Ok(verdict?)
}
