//! Agents that flower did not start: a person started them, and they came with a token. What is known of them are the claims that
//! they hold and when they last called.

use crate::Agents;
use crate::access::rights::Reader;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{AgentState, AgentView};
use flower_core::policy::Read;
use flower_core::{Caller, Dispatch, Door, Heartbeat, Role};
use flower_store::{Conn, StoreError, agents as table, dispatches, ephemeral};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How long after its last call an agent without a claim is listed. `flower mcp` calls every minute.
const LISTED_FOR: Duration = Duration::from_secs(15 * 60);
/// After this time without a call, it is quiet.
const QUIET_AFTER: u64 = 150;
/// Tokens that are remembered; more than agents that work at the same time.
const MAX_CALLERS: usize = 256;
const UNKNOWN: &str = "unknown";

/// The last call of an agent over MCP.
#[derive(Clone, Debug)]
pub(super) struct LastCall {
    caller: Caller,
    since: String,
    at: Instant,
}

/// A claim of an agent that flower did not start.
struct JoinedClaim {
    dispatch: Dispatch,
    beat: Heartbeat,
    token: String,
}

/// What is known of one of them.
struct Joined {
    name: String,
    role: Role,
    project: String,
    worktree: String,
    brief: Option<u64>,
    dispatch: Option<u64>,
    profile: Option<String>,
    is_member: bool,
    has_claim: bool,
    since: String,
    quiet_seconds: u64,
}

impl Agents {
    /// Remembers that an agent has called over MCP.
    pub fn record_call(&self, caller: &Caller) {
        let Some(token) = caller.token.as_deref().filter(|_| caller.door == Door::Mcp) else { return };
        if self.handles().iter().any(|handle| handle.name == caller.actor.name) {
            return;
        }
        let is_new = {
            let mut callers = self.callers.lock().expect("no panic while held");
            let since = callers.get(token).map(|last| last.since.clone());
            let is_new = since.is_none();
            let since = since.unwrap_or_else(crate::now);
            callers.insert(token.to_owned(), LastCall { caller: caller.clone(), since, at: Instant::now() });
            if is_new {
                forget_old(&mut callers);
            }
            is_new
        };
        if is_new {
            self.hints.publish(crate::notify::ChangeHints::AGENTS);
        }
    }

    /// The agents that joined by themselves, of one project or of all, oldest first. One that has claimed nothing belongs to no
    /// project, and is in every list.
    pub(super) async fn list_joined(&self, reader: &Reader, project: Option<&str>) -> Result<Vec<AgentView>, Problem> {
        let (claims, own) = self.store.read(read).await?;
        let mut callers = self.recent_callers();
        let mut all = Vec::new();
        for claim in claims {
            let last = callers.remove(&claim.token);
            all.push(self.of_claim(claim, last.as_ref()));
        }
        for last in callers.into_values() {
            let name = &last.caller.actor.name;
            if !own.contains(name) && !all.iter().any(|one| one.name == *name) && self.is_valid(&last.caller).await {
                all.push(self.of_call(&last).await?);
            }
        }
        all.retain(|one| {
            let in_project = one.project.is_empty() || project.is_none_or(|project| one.project == project);
            in_project && reader.may(Read::Agent { project: &one.project, worktree: &one.worktree, name: &one.name })
        });
        all.sort_by(|a, b| (&a.since, &a.name).cmp(&(&b.since, &b.name)));
        all.dedup_by(|a, b| a.name == b.name);
        Ok(all.into_iter().map(|one| self.view_joined(one)).collect())
    }

    /// The agent of this name that joined by itself.
    pub(super) async fn joined(&self, name: &str) -> Result<Option<AgentView>, Problem> {
        let reader = self.access.reader(&Caller::system()).await?;
        Ok(self.list_joined(&reader, None).await?.into_iter().find(|one| one.name == name))
    }

    fn recent_callers(&self) -> HashMap<String, LastCall> {
        let mut callers = self.callers.lock().expect("no panic while held");
        forget_old(&mut callers);
        callers.clone()
    }

    /// Whether the token of a caller was not revoked.
    async fn is_valid(&self, caller: &Caller) -> bool {
        let id = caller.token.clone().unwrap_or_default();
        let found = self.store.read(move |conn| flower_store::tokens::by_id(conn, &id)).await;
        found.is_ok_and(|token| token.is_some_and(|token| token.revoked_at.is_none()))
    }

    fn of_claim(&self, claim: JoinedClaim, last: Option<&LastCall>) -> Joined {
        let JoinedClaim { dispatch, beat, .. } = claim;
        let (holder, seconds, since) = dispatch
            .claim
            .as_ref()
            .map_or_else(Default::default, |claim| (claim.holder.clone(), claim.seconds, claim.at.clone()));
        let left = self.clock.moment().left(&beat, seconds) / 1_000;
        let by_beat = seconds.saturating_sub(left);
        let by_call = last.map(|last| last.at.elapsed().as_secs());
        let worktree = dispatch.worktree.unwrap_or_default();
        Joined {
            name: holder,
            role: last.map_or(Role::Worker, |last| last.caller.role),
            project: dispatch.project.unwrap_or_default(),
            brief: Some(dispatch.brief.0),
            dispatch: Some(dispatch.number.0),
            profile: self.profile_of_shell(&worktree).or(dispatch.profile),
            worktree,
            is_member: false,
            has_claim: true,
            since,
            quiet_seconds: by_call.map_or(by_beat, |by_call| by_call.min(by_beat)),
        }
    }

    async fn of_call(&self, last: &LastCall) -> Result<Joined, Problem> {
        let caller = &last.caller;
        let worktree = caller.worktree.clone().unwrap_or_default();
        let project = match worktree.is_empty() && caller.brief.is_none() && caller.run.is_none() {
            true => None,
            false => self.access.project_of(caller).await?,
        };
        Ok(Joined {
            name: caller.actor.name.clone(),
            role: caller.role,
            project: project.unwrap_or_default(),
            brief: caller.brief.map(u64::from),
            dispatch: caller.run.map(|run| run.dispatch.0),
            profile: self.profile_of_shell(&worktree),
            worktree,
            is_member: caller.run.is_some_and(|run| run.member),
            has_claim: false,
            since: last.since.clone(),
            quiet_seconds: last.at.elapsed().as_secs(),
        })
    }

    fn view_joined(&self, one: Joined) -> AgentView {
        let is_quiet = one.quiet_seconds > QUIET_AFTER;
        let state = match (one.has_claim || one.is_member, is_quiet) {
            (_, true) => AgentState::Quiet,
            (true, false) => AgentState::Working,
            (false, false) => AgentState::Idle,
        };
        let what = if one.has_claim {
            "holds its claim"
        } else if one.is_member {
            "works beside the holder of the claim"
        } else {
            "has claimed nothing"
        };
        AgentView {
            id: 0,
            name: one.name,
            profile: one.profile.unwrap_or_else(|| UNKNOWN.to_owned()),
            role: one.role,
            standing: false,
            joined: true,
            project: one.project,
            worktree: one.worktree,
            brief: one.brief,
            dispatch: one.dispatch,
            member: u64::from(one.is_member),
            state,
            evidence: format!("joined by itself and {what}"),
            quiet_seconds: Some(one.quiet_seconds),
            parked_until: None,
            context: None,
            cost: None,
            currency: None,
            tokens: None,
            model: None,
            tools: None,
            pid: None,
            terminal: false,
            restarts: 0,
            refreshes: 0,
            since: one.since.clone(),
            started_at: one.since,
            ended_at: None,
            ended: None,
        }
    }
}

/// What cannot be done with an agent that flower did not start.
pub(super) fn not_ours(name: &str) -> Problem {
    Problem {
        kind: ProblemKind::Refused,
        message: format!("`{name}` joined by itself: flower has no process and no transcript of it"),
        hints: vec![
            format!("its state: `flower agent show {name}`; a message to it: `flower agent tell {name} TEXT`"),
            "its claim ends with `flower dispatch cancel D`, its token with `flower token revoke ID`".to_owned(),
        ],
    }
}

/// The claims of agents that flower did not start, and the names of the agents that it runs.
fn read(conn: &mut Conn) -> Result<(Vec<JoinedClaim>, Vec<String>), StoreError> {
    let own: Vec<String> = table::live(conn, None)?.into_iter().map(|agent| agent.name).collect();
    let mut claims = Vec::new();
    for dispatch in dispatches::open(conn)? {
        let Some(claim) = &dispatch.claim else { continue };
        // A claim without a token is the operator's own.
        let Some(token) = dispatch.runs.last().and_then(|run| run.token.clone()) else { continue };
        if table::of_dispatch(conn, dispatch.number)?.iter().any(|agent| agent.name == claim.holder) {
            continue;
        }
        let beat = match ephemeral::heartbeat(conn, dispatch.number)? {
            Some((fence, beat)) if fence == claim.fence => beat,
            _ => claim.beat.clone(),
        };
        claims.push(JoinedClaim { dispatch, beat, token });
    }
    Ok((claims, own))
}

fn forget_old(callers: &mut HashMap<String, LastCall>) {
    callers.retain(|_, last| last.at.elapsed() < LISTED_FOR);
    while callers.len() > MAX_CALLERS {
        let oldest = callers.iter().min_by_key(|(_, last)| last.at).map(|(token, _)| token.clone());
        callers.remove(&oldest.unwrap_or_default());
    }
}
