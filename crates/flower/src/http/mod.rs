//! The HTTP door. Handlers extract, call [`flower_engine`] and return; the rules and the rights are elsewhere.

mod agents;
mod answer;
mod briefs;
#[cfg(test)]
mod description;
mod dispatches;
mod events;
mod extract;
mod guard;
mod landings;
mod log;
mod mcp;
mod page;
mod places;
mod rest;
mod rights;
mod serve;
mod terminals;
mod tools;
mod worktrees;

pub use serve::{Listener, Shutdown, serve};

use axum::routing::get;
use axum::{Router, middleware};
use flower_engine::App;
use std::sync::Arc;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

#[derive(OpenApi)]
#[openapi(info(title = "flower", description = "Keeps MAIN stable while many coding agents change the code at once."))]
struct Description;

/// Everything under `/api`. A route and its description cannot drift apart: both come from the handler.
fn api() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(rest::status))
        .routes(routes!(rest::shutdown))
        .routes(routes!(rest::open_link))
        .routes(routes!(rest::begin_session))
        .routes(routes!(rest::list_projects, rest::register_project))
        .routes(routes!(rest::remove_project))
        .routes(routes!(rest::preview_removal))
        .routes(routes!(worktrees::commands, worktrees::approve))
        .routes(routes!(worktrees::list_worktrees, worktrees::create_worktree))
        .routes(routes!(worktrees::show_worktree, worktrees::remove_worktree))
        .routes(routes!(worktrees::sync_worktree))
        .routes(routes!(worktrees::restore_worktree))
        .routes(routes!(worktrees::enter_worktree))
        .routes(routes!(worktrees::mirror_worktree))
        .routes(routes!(worktrees::setup_log))
        .routes(routes!(worktrees::worktree_commits))
        .routes(routes!(worktrees::list_comments, worktrees::comment))
        .routes(routes!(worktrees::archives))
        .routes(routes!(worktrees::drop_archive))
        .routes(routes!(worktrees::doctor, worktrees::mend))
        .routes(routes!(landings::land))
        .routes(routes!(landings::diff_worktree))
        .routes(routes!(landings::file_of_worktree))
        .routes(routes!(landings::list_landings))
        .routes(routes!(landings::show_landing))
        .routes(routes!(landings::cancel_landing))
        .routes(routes!(landings::approve_landing))
        .routes(routes!(landings::revert_landing))
        .routes(routes!(landings::check_log))
        .routes(routes!(landings::diff_landing))
        .routes(routes!(landings::file_of_landing))
        .routes(routes!(landings::show_main))
        .routes(routes!(landings::main_log))
        .routes(routes!(landings::verify_main))
        .routes(routes!(landings::rescue_main))
        .routes(routes!(landings::adopt_main))
        .routes(routes!(landings::restore_main))
        .routes(routes!(landings::pull_main))
        .routes(routes!(landings::push_main))
        .routes(routes!(landings::freeze))
        .routes(routes!(landings::thaw))
        .routes(routes!(landings::halt))
        .routes(routes!(landings::propose_settings, landings::land_settings))
        .routes(routes!(dispatches::request_dispatch))
        .routes(routes!(dispatches::list_dispatches))
        .routes(routes!(dispatches::show_dispatch))
        .routes(routes!(dispatches::cancel_dispatch))
        .routes(routes!(dispatches::packet))
        .routes(routes!(dispatches::claim))
        .routes(routes!(dispatches::claim_next))
        .routes(routes!(dispatches::beat))
        .routes(routes!(dispatches::hand_back))
        .routes(routes!(dispatches::recall))
        .routes(routes!(dispatches::list_leases, dispatches::take_lease, dispatches::release_leases))
        .routes(routes!(dispatches::release_lease))
        .routes(routes!(dispatches::commit))
        .routes(routes!(dispatches::send_message))
        .routes(routes!(dispatches::take_messages))
        .routes(routes!(dispatches::seen_messages))
        .routes(routes!(agents::list_agents, agents::spawn_agent))
        .routes(routes!(agents::show_agent))
        .routes(routes!(agents::stop_agent))
        .routes(routes!(agents::refresh_agent))
        .routes(routes!(agents::agent_log))
        .routes(routes!(agents::profiles))
        .routes(routes!(agents::wanted_keys, agents::give_keys))
        .routes(routes!(agents::list_permissions))
        .routes(routes!(agents::decide_permission))
        .routes(routes!(agents::spending))
        .routes(routes!(terminals::show_terminal))
        .routes(routes!(terminals::type_keys))
        .routes(routes!(terminals::resize_terminal))
        .routes(routes!(briefs::list, briefs::create))
        .routes(routes!(briefs::rows))
        .routes(routes!(briefs::show, briefs::edit))
        .routes(routes!(briefs::plan))
        .routes(routes!(briefs::accept))
        .routes(routes!(briefs::refine))
        .routes(routes!(briefs::set_status))
        .routes(routes!(briefs::needs))
        .routes(routes!(briefs::link))
        .routes(routes!(briefs::note))
        .routes(routes!(briefs::ask))
        .routes(routes!(briefs::answer))
        .routes(routes!(briefs::versions))
        .routes(routes!(briefs::version))
        .routes(routes!(briefs::diff))
        .routes(routes!(briefs::trace))
        .routes(routes!(rest::inbox))
        .routes(routes!(rest::search))
        .routes(routes!(rest::list_scratchpads, rest::create_scratchpad))
        .routes(routes!(rest::show_scratchpad, rest::write_scratchpad))
        .routes(routes!(rest::put_image))
        .routes(routes!(rest::get_image))
        .routes(routes!(rest::list_tokens, rest::issue_token))
        .routes(routes!(rest::revoke_token))
        .routes(routes!(tools::call_tool))
        .routes(routes!(tools::read_resource))
        .routes(routes!(log::trace))
        .routes(routes!(events::live))
        .routes(routes!(log::verify))
        .routes(routes!(log::export))
        .routes(routes!(log::rebuild))
        .routes(routes!(log::accept_loss))
}

/// The description of the API, as `/api/openapi.json` gives it.
pub fn openapi() -> String {
    let (_, description) = api().split_for_parts();
    description.to_pretty_json().expect("a description is plain data")
}

/// The whole of what a listener serves. `port` is the one that `Host` must name; a unix socket has none.
pub fn router(app: Arc<App>, port: Option<u16>, shutdown: Shutdown) -> Router {
    let (api, _) = api().split_for_parts();
    let gate = Arc::new(guard::Gate { app: app.clone(), port, places: places::Places::default() });
    api.route_layer(middleware::from_fn_with_state(app.clone(), rights::check))
        .route("/api/openapi.json", get(|| async { ([("content-type", "application/json")], openapi()) }))
        .route("/mcp", mcp::route(app.clone(), port, shutdown.clone()))
        .route("/healthz", get(|| async { "ok\n" }))
        .fallback(page::fallback)
        .layer(axum::Extension(shutdown))
        .layer(middleware::from_fn_with_state(gate, guard::check))
        .with_state(app)
}
