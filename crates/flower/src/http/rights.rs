//! The right that each route needs. It is checked before the body is read and before anything is looked up, so that a
//! refusal does not reveal what exists. [`flower_core::policy`] decides which role has which right; this table only names
//! them.

use super::answer::Rejection;
use super::extract::{BriefQuery, ProjectQuery, Query, Who, WorktreeQuery};
use axum::extract::{FromRequestParts, MatchedPath, RawPathParams, Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use flower_contract::error::Problem;
use flower_core::policy::{self, Read, Right};
use flower_core::{BriefId, Caller, DispatchId, LandingId, LeaseId, ScratchpadId};
use flower_engine::App;
use flower_engine::access::rights::ReadTarget;
use std::sync::Arc;

#[derive(Clone, Copy, Debug)]
pub(super) enum Need {
    /// A one-time code instead of a token, which the handler checks.
    Code,
    /// Any token. The response contains only what its owner may read.
    Own,
    /// A right of the role; the rules check the rest.
    Role(Right),
    /// Creating a brief, or proposing one.
    Proposal,
    /// Writing to the brief in the path.
    Contribution,
    /// Acting inside the worktree in the path.
    Inside,
    /// Acting for the dispatch in the path.
    Run,
    /// Reading something that belongs to no single project.
    Reads(Read<'static>),
    Brief,
    Worktree,
    Landing,
    Dispatch,
    /// Releasing the lease in the path.
    Lease,
    /// Reading leases of the project, and of the worktree if the query names one.
    Leases,
    /// Reserving paths in the worktree of the query.
    Reserve,
    /// Following events of the brief or the project in the query.
    Events,
    Scratchpad,
    /// Writing to the scratchpad in the path.
    WriteScratchpad,
    Agent,
    Image,
    /// The project in the path.
    Project,
    /// The project in the query, or the caller's own.
    Chosen,
}

/// The whole table. A route that is missing here answers no caller, and fails `every_route_names_what_it_needs`.
#[rustfmt::skip]
pub(super) fn need(method: &Method, route: &str) -> Option<Need> {
    // HEAD is answered as GET.
    let method = if method == Method::HEAD { "GET" } else { method.as_str() };
    Some(match (method, route) {
        ("GET", "/api/status") => Need::Own,
        ("POST", "/api/shutdown") => Need::Role(Right::Own),
        ("POST", "/api/open-link") => Need::Role(Right::Own),
        ("POST", "/api/session") => Need::Code,
        ("GET", "/api/projects") => Need::Own,
        ("POST", "/api/projects") => Need::Role(Right::Own),
        ("DELETE", "/api/projects/{name}") => Need::Role(Right::Own),
        ("GET", "/api/projects/{name}/removal") => Need::Role(Right::Own),
        ("POST", "/api/projects/{name}/move") => Need::Role(Right::Own),
        ("POST", "/api/projects/{name}/rename") => Need::Role(Right::Own),
        ("GET", "/api/projects/{name}/commands") => Need::Project,
        ("POST", "/api/projects/{name}/commands") => Need::Role(Right::Own),
        ("GET", "/api/worktrees") => Need::Chosen,
        ("POST", "/api/worktrees") => Need::Role(Right::Steer),
        ("GET", "/api/worktrees/{name}") => Need::Worktree,
        ("DELETE", "/api/worktrees/{name}") => Need::Role(Right::Steer),
        ("POST", "/api/worktrees/{name}/sync") => Need::Inside,
        ("POST", "/api/worktrees/{name}/restore") => Need::Role(Right::Steer),
        ("POST", "/api/worktrees/{name}/enter") => Need::Inside,
        // The answer has the values of keys.
        ("POST", "/api/worktrees/{name}/shells") => Need::Role(Right::Own),
        ("GET", "/api/shells/{id}") => Need::Role(Right::Own),
        ("DELETE", "/api/shells/{id}") => Need::Role(Right::Own),
        ("POST", "/api/worktrees/{name}/mirror") => Need::Inside,
        ("POST", "/api/worktrees/{name}/commit") => Need::Inside,
        ("GET", "/api/worktrees/{name}/setup-log") => Need::Worktree,
        ("GET", "/api/worktrees/{name}/commits") => Need::Worktree,
        ("GET", "/api/worktrees/{name}/comments") => Need::Worktree,
        ("POST", "/api/worktrees/{name}/comments") => Need::Role(Right::Steer),
        ("GET", "/api/worktrees/{name}/diff") => Need::Worktree,
        ("GET", "/api/worktrees/{name}/file") => Need::Worktree,
        ("POST", "/api/worktrees/{name}/land") => Need::Role(Right::Steer),
        ("POST", "/api/worktrees/{name}/check") => Need::Inside,
        ("GET", "/api/worktrees/{name}/check") => Need::Worktree,
        ("DELETE", "/api/worktrees/{name}/check") => Need::Inside,
        ("GET", "/api/worktrees/{name}/check/{check}/log") => Need::Worktree,
        ("GET", "/api/archives") => Need::Reads(Read::Installation),
        ("DELETE", "/api/archives/{number}") => Need::Role(Right::Own),
        ("GET", "/api/doctor") => Need::Reads(Read::Installation),
        ("POST", "/api/doctor") => Need::Role(Right::Own),
        ("GET", "/api/landings") => Need::Chosen,
        ("GET", "/api/landings/{number}") => Need::Landing,
        ("POST", "/api/landings/{number}/cancel") => Need::Role(Right::Steer),
        ("POST", "/api/landings/{number}/approve") => Need::Role(Right::Own),
        ("POST", "/api/landings/{number}/revert") => Need::Role(Right::Steer),
        ("GET", "/api/landings/{number}/checks/{check}/log") => Need::Landing,
        ("GET", "/api/landings/{number}/diff") => Need::Landing,
        ("GET", "/api/landings/{number}/file") => Need::Landing,
        ("GET", "/api/main") => Need::Chosen,
        ("GET", "/api/main/log") => Need::Chosen,
        ("GET", "/api/main/verify") => Need::Chosen,
        ("GET", "/api/main/settings") => Need::Chosen,
        ("POST", "/api/main/settings") => Need::Role(Right::Own),
        ("POST", "/api/main/settings/try") => Need::Role(Right::Own),
        ("GET", "/api/main/settings/try") => Need::Role(Right::Own),
        ("DELETE", "/api/main/settings/try") => Need::Role(Right::Own),
        ("GET", "/api/main/settings/try/{check}/log") => Need::Role(Right::Own),
        ("POST", "/api/main/rescue") => Need::Role(Right::Own),
        ("POST", "/api/main/adopt") => Need::Role(Right::Own),
        ("POST", "/api/main/restore") => Need::Role(Right::Own),
        ("POST", "/api/main/pull") => Need::Role(Right::Steer),
        ("POST", "/api/main/settle") => Need::Role(Right::Steer),
        ("POST", "/api/main/push") => Need::Role(Right::Own),
        ("POST", "/api/main/freeze") => Need::Role(Right::Steer),
        ("POST", "/api/main/thaw") => Need::Role(Right::Own),
        ("POST", "/api/thaw") => Need::Role(Right::Own),
        ("POST", "/api/halt") => Need::Role(Right::Steer),
        ("POST", "/api/briefs/{number}/dispatches") => Need::Role(Right::Steer),
        ("GET", "/api/dispatches") => Need::Chosen,
        ("GET", "/api/dispatches/{number}") => Need::Dispatch,
        ("POST", "/api/dispatches/{number}/cancel") => Need::Role(Right::Steer),
        ("POST", "/api/dispatches/{number}/packet") => Need::Role(Right::Steer),
        // The packet is in the body; the rules require it before they answer anything.
        ("POST", "/api/dispatches/{number}/claim") => Need::Role(Right::Run(DispatchId(0))),
        ("POST", "/api/claims") => Need::Role(Right::Run(DispatchId(0))),
        ("POST", "/api/dispatches/{number}/beat") => Need::Run,
        ("POST", "/api/dispatches/{number}/handback") => Need::Run,
        ("GET", "/api/leases") => Need::Leases,
        ("POST", "/api/leases") => Need::Reserve,
        ("DELETE", "/api/leases") => Need::Reserve,
        ("DELETE", "/api/leases/{number}") => Need::Lease,
        ("POST", "/api/messages") => Need::Role(Right::Speak),
        ("POST", "/api/messages/take") => Need::Own,
        ("GET", "/api/caller") => Need::Own,
        ("GET", "/api/inbox") => Need::Own,
        ("POST", "/api/inbox/seen") => Need::Role(Right::Own),
        ("GET", "/api/agents") => Need::Chosen,
        ("POST", "/api/agents") => Need::Role(Right::Steer),
        ("GET", "/api/agents/{name}") => Need::Agent,
        ("POST", "/api/agents/{name}/stop") => Need::Role(Right::Steer),
        ("POST", "/api/agents/{name}/refresh") => Need::Role(Right::Steer),
        ("POST", "/api/agents/{name}/note") => Need::Role(Right::Steer),
        ("GET", "/api/agents/{name}/log") => Need::Agent,
        ("GET", "/api/agents/{name}/terminal") => Need::Reads(Read::Terminal),
        ("POST", "/api/agents/{name}/terminal/keys") => Need::Role(Right::Steer),
        ("POST", "/api/agents/{name}/terminal/size") => Need::Role(Right::Steer),
        ("GET", "/api/agent-profiles") => Need::Reads(Read::Installation),
        ("POST", "/api/agent-profiles/{name}/try") => Need::Role(Right::Steer),
        ("GET", "/api/agent-keys") => Need::Reads(Read::Installation),
        ("POST", "/api/agent-keys") => Need::Role(Right::Own),
        ("GET", "/api/permissions") => Need::Reads(Read::Inbox),
        ("POST", "/api/permissions/{number}") => Need::Role(Right::Own),
        ("GET", "/api/agent-stats") => Need::Reads(Read::Spending),
        ("GET", "/api/spending") => Need::Reads(Read::Spending),
        ("GET", "/api/briefs") => Need::Chosen,
        ("GET", "/api/brief-rows") => Need::Chosen,
        ("POST", "/api/briefs") => Need::Proposal,
        ("GET", "/api/briefs/{number}") => Need::Brief,
        ("PATCH", "/api/briefs/{number}") => Need::Role(Right::Steer),
        ("POST", "/api/briefs/{number}/plan") => Need::Contribution,
        ("POST", "/api/briefs/{number}/accept") => Need::Role(Right::Steer),
        ("POST", "/api/briefs/{number}/refine") => Need::Contribution,
        ("POST", "/api/briefs/{number}/status") => Need::Role(Right::Steer),
        ("POST", "/api/briefs/{number}/needs") => Need::Role(Right::Steer),
        ("POST", "/api/briefs/{number}/links") => Need::Contribution,
        ("POST", "/api/briefs/{number}/notes") => Need::Contribution,
        ("POST", "/api/briefs/{number}/questions") => Need::Contribution,
        ("POST", "/api/briefs/{number}/questions/{question}/answer") => Need::Role(Right::Steer),
        ("GET", "/api/briefs/{number}/versions") => Need::Brief,
        ("GET", "/api/briefs/{number}/versions/{version}") => Need::Brief,
        ("GET", "/api/briefs/{number}/diff") => Need::Brief,
        ("GET", "/api/briefs/{number}/trace") => Need::Brief,
        ("GET", "/api/briefs/{number}/recall") => Need::Brief,
        ("GET", "/api/search") => Need::Own,
        ("GET", "/api/scratchpads") => Need::Own,
        ("POST", "/api/scratchpads") => Need::Role(Right::Contribute),
        ("GET", "/api/scratchpads/{number}") => Need::Scratchpad,
        ("PUT", "/api/scratchpads/{number}") => Need::WriteScratchpad,
        ("POST", "/api/images") => Need::Role(Right::Speak),
        ("GET", "/api/images/{sha256}") => Need::Image,
        ("GET", "/api/tokens") => Need::Reads(Read::Tokens),
        ("POST", "/api/tokens") => Need::Role(Right::Own),
        ("DELETE", "/api/tokens/{id}") => Need::Role(Right::Own),
        // Tools and resources check their rights themselves, because they are also reached over MCP.
        ("GET", "/api/tools") => Need::Own,
        ("POST", "/api/tools/{name}") => Need::Own,
        ("GET", "/api/resources") => Need::Own,
        ("GET", "/api/trace") => Need::Reads(Read::Trace),
        ("GET", "/api/events") => Need::Events,
        ("GET", "/api/log/verify") => Need::Reads(Read::Log),
        ("GET", "/api/log/export") => Need::Reads(Read::Log),
        ("POST", "/api/log/rebuild") => Need::Role(Right::Own),
        ("POST", "/api/log/accept-loss") => Need::Role(Right::Own),
        _ => return None,
    })
}

pub(super) async fn check(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let route = parts.extensions.get::<MatchedPath>().map(|route| route.as_str().to_owned()).unwrap_or_default();
    let Some(need) = need(&parts.method, &route) else {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    };
    if let Need::Code = need {
        return next.run(Request::from_parts(parts, body)).await;
    }
    let checked = async {
        let Who(caller) = Who::from_request_parts(&mut parts, &()).await?;
        let params = RawPathParams::from_request_parts(&mut parts, &()).await;
        let named = |key: &str| {
            let params = params.as_ref().ok()?;
            params.iter().find(|(name, _)| *name == key).map(|(_, value)| value.to_owned())
        };
        // A query that cannot be parsed here cannot be parsed by the handler either, which answers with the error.
        let project = Query::from_request_parts(&mut parts, &()).await.map(|Query(query): Query<ProjectQuery>| query);
        let brief = Query::from_request_parts(&mut parts, &()).await.map(|Query(query): Query<BriefQuery>| query);
        let worktree = Query::from_request_parts(&mut parts, &()).await.map(|Query(query): Query<WorktreeQuery>| query);
        let call = Call {
            named: &named,
            project: project.unwrap_or_default(),
            brief: brief.unwrap_or_default().brief,
            worktree: worktree.unwrap_or_default().worktree,
        };
        require(&app, &caller, need, call).await.map_err(Rejection::from)
    };
    match checked.await {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(rejection) => rejection.into_response(),
    }
}

/// What a call names in its path and its query.
struct Call<'a> {
    /// A parameter of the path.
    named: &'a (dyn Fn(&str) -> Option<String> + Send + Sync),
    project: ProjectQuery,
    brief: Option<u64>,
    worktree: Option<String>,
}

impl Call<'_> {
    fn name(&self) -> String {
        (self.named)("name").unwrap_or_default()
    }

    /// 0 if it is not a number: nothing has the number 0, so no worker may read it.
    fn number(&self) -> u64 {
        (self.named)("number").and_then(|digits| digits.parse().ok()).unwrap_or(0)
    }
}

async fn require(app: &App, caller: &Caller, need: Need, call: Call<'_>) -> Result<(), Problem> {
    let number = call.number();
    match need {
        Need::Code | Need::Own => Ok(()),
        Need::Role(right) => Ok(policy::require_role(caller, right)?),
        Need::Proposal => Ok(policy::require_proposal(caller, true)?),
        Need::Contribution => Ok(policy::require_contribution(caller, Some(BriefId(number)))?),
        Need::Inside => {
            let name = call.name();
            app.access.require_inside(caller, &call.project.into(), &name).await
        }
        Need::Run => {
            policy::require_role(caller, Right::Run(DispatchId(number)))?;
            app.access.require_read(caller, ReadTarget::Dispatch(DispatchId(number))).await
        }
        Need::Reads(read) => Ok(app.access.reader(caller).await?.require(read)?),
        Need::Brief => Ok(app.access.reader(caller).await?.require(Read::Brief { number: Some(BriefId(number)) })?),
        Need::Worktree => {
            let name = call.name();
            app.access.require_read(caller, ReadTarget::Worktree(call.project.into(), name)).await
        }
        Need::Landing => app.access.require_read(caller, ReadTarget::Landing(LandingId(number))).await,
        Need::Dispatch => app.access.require_read(caller, ReadTarget::Dispatch(DispatchId(number))).await,
        Need::Lease => {
            policy::require_role(caller, Right::Reserve)?;
            app.access.require_read(caller, ReadTarget::Lease(LeaseId(number))).await
        }
        Need::Leases => require_worktree_in_query(app, caller, call).await,
        Need::Reserve => {
            policy::require_role(caller, Right::Reserve)?;
            require_worktree_in_query(app, caller, call).await
        }
        Need::Events => {
            let reader = app.access.reader(caller).await?;
            if call.brief.is_some() {
                reader.require(Read::Brief { number: call.brief.map(BriefId) })?;
            }
            if let Some(name) = &call.project.project {
                reader.require(Read::Project { name })?;
            }
            Ok(())
        }
        Need::Scratchpad => app.access.require_read(caller, ReadTarget::Scratchpad(ScratchpadId(number))).await,
        Need::WriteScratchpad => {
            policy::require_role(caller, Right::Contribute)?;
            app.access.require_read(caller, ReadTarget::Scratchpad(ScratchpadId(number))).await
        }
        Need::Agent => app.access.require_read(caller, ReadTarget::Agent(call.name())).await,
        Need::Image => {
            let sha256 = (call.named)("sha256").unwrap_or_default();
            app.access.require_read(caller, ReadTarget::Image(sha256)).await
        }
        Need::Project => app.access.require_read(caller, ReadTarget::Project(call.name())).await,
        Need::Chosen => app.access.choice(caller, call.project.into()).await.map(drop),
    }
}

async fn require_worktree_in_query(app: &App, caller: &Caller, call: Call<'_>) -> Result<(), Problem> {
    let choice = app.access.choice(caller, call.project.into()).await?;
    match call.worktree {
        Some(name) => app.access.require_read(caller, ReadTarget::Worktree(choice, name)).await,
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_names_what_it_needs() {
        let description: serde_json::Value = serde_json::from_str(&super::super::openapi()).expect("JSON");
        let mut missing = Vec::new();
        for (path, methods) in description["paths"].as_object().expect("paths") {
            for method in methods.as_object().expect("methods").keys() {
                let method = method.to_uppercase().parse().expect("a method");
                if need(&method, path).is_none() {
                    missing.push(format!("{method} {path}"));
                }
            }
        }
        assert_eq!(missing, [""; 0]);
    }
}
