//! Read rights: looks up what a thing belongs to, and asks the table in [`flower_core::policy`].

use crate::Access;
use crate::projects::ProjectChoice;
use flower_contract::error::Problem;
use flower_core::policy::{self, Read};
use flower_core::{Caller, Recorded, Refusal};
use flower_store::{Conn, StoreError, agents, briefs, dispatches, landings, log, tables, worktrees};

/// Something to read, as a request names it.
#[derive(Clone, Debug)]
pub enum Thing {
    Project(String),
    Worktree(ProjectChoice, String),
    Landing(u64),
    Dispatch(u64),
    Lease(u64),
    Scratchpad(u64),
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

    /// Whether an event may be told to the caller: it stands in the trace of a brief that the caller reads, or tells of
    /// MAIN in a project that the caller reads. `is_in_project` says whether it happened in the caller's own project.
    pub fn may_follow(&self, event: &Recorded, is_in_project: bool) -> bool {
        if self.may(Read::Trace) || event.brief.is_some_and(|brief| self.may(Read::Brief { number: Some(brief) })) {
            return true;
        }
        let tells_of_main =
            event.stream.starts_with("project/") || matches!(event.kind.as_str(), "landed" | "rolled_back");
        is_in_project && tells_of_main
    }

    /// The project whose events the caller sees only some of; absent when it sees all events.
    pub fn bounds(&self) -> Option<Option<&str>> {
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

    /// Refuses what the caller may not read. What does not exist is refused to a worker in the same words.
    pub async fn require_read(&self, caller: &Caller, thing: Thing) -> Result<(), Problem> {
        if !policy::reads_own_only(caller) {
            return Ok(());
        }
        let reader = self.reader(caller).await?;
        let thing = match thing {
            Thing::Worktree(choice, name) => {
                let project = self.choice(caller, choice).await?.name.unwrap_or_default();
                return Ok(reader.require(Read::Worktree { project: &project, name: &name })?);
            }
            thing => thing,
        };
        Ok(self.store.read(move |conn| require(conn, &reader, &thing)).await?)
    }

    /// Refuses everything to a worker that happens inside of another worktree than its own.
    pub async fn require_inside(&self, caller: &Caller, choice: &ProjectChoice, name: &str) -> Result<(), Problem> {
        if !policy::reads_own_only(caller) {
            return Ok(policy::require_inside(caller, None, "", name)?);
        }
        let own = self.project_of(caller).await?;
        let of = choice.name.clone().or_else(|| own.clone()).unwrap_or_default();
        Ok(policy::require_inside(caller, own.as_deref(), &of, name)?)
    }

    /// The project that a caller means. A worker means its own, wherever it stands, and can name no other.
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
    // Projects can have worktrees of the same name, so a name alone decides only where there is one of them.
    let around: Vec<String> = match &caller.worktree {
        Some(name) => {
            let live = worktrees::live(conn, None)?.into_iter().filter(|worktree| worktree.name == *name);
            live.map(|worktree| worktree.project).collect()
        }
        None => Vec::new(),
    };
    if let Some(number) = caller.brief {
        let projects = briefs::state(conn, number)?.map(|brief| brief.projects).unwrap_or_default();
        let shared = projects.iter().find(|project| around.contains(project));
        if let Some(project) = shared.or(projects.first()) {
            return Ok(Some(project.clone()));
        }
    }
    match around.as_slice() {
        [project] => return Ok(Some(project.clone())),
        [_, ..] => return Ok(None),
        [] => {}
    }
    match tables::projects(conn)?.as_slice() {
        [only] => Ok(Some(only.name.clone())),
        _ => Ok(None),
    }
}

fn require(conn: &mut Conn, reader: &Reader, thing: &Thing) -> Result<(), StoreError> {
    let verdict = match thing {
        Thing::Project(name) => reader.require(Read::Project { name }),
        Thing::Worktree(choice, name) => {
            reader.require(Read::Worktree { project: choice.name.as_deref().unwrap_or_default(), name })
        }
        Thing::Landing(number) => match landings::landing(conn, *number)? {
            Some(landing) => reader.require(Read::Landing {
                project: &landing.project,
                worktree: landing.worktree.as_deref(),
                briefs: &landing.briefs,
            }),
            None => reader.require(Read::Landing { project: "", worktree: None, briefs: &[] }),
        },
        Thing::Dispatch(number) => {
            // No brief has the number 0.
            let brief = dispatches::dispatch(conn, *number)?.map_or(0, |dispatch| dispatch.brief);
            reader.require(Read::Dispatch { number: *number, brief })
        }
        Thing::Lease(number) => match dispatches::lease(conn, *number)? {
            Some(lease) => reader.require(Read::Worktree { project: &lease.project, name: &lease.worktree }),
            None => reader.require(Read::Worktree { project: "", name: "" }),
        },
        Thing::Scratchpad(number) => {
            let brief = tables::scratchpad(conn, *number)?.and_then(|pad| pad.brief);
            reader.require(Read::Brief { number: brief })
        }
        Thing::Agent(name) => match agents::named(conn, name)? {
            Some(agent) => {
                reader.require(Read::Agent { project: &agent.project, worktree: &agent.worktree, name: &agent.name })
            }
            None => reader.require(Read::Agent { project: "", worktree: "", name }),
        },
        Thing::Image(sha256) => {
            let shown = match reader.caller.brief {
                Some(brief) if log::shows_image(conn, brief, sha256)? => Some(brief),
                _ => None,
            };
            reader.require(Read::Brief { number: shown })
        }
    };
    Ok(verdict?)
}
