//! The HTTP API. A handler extracts, calls one use case of [`flower_engine`] and returns; [`rights`] has what each route
//! needs.

mod agents;
mod answer;
mod briefs;
mod call_limits;
mod checks;
mod daemon;
#[cfg(test)]
mod description;
mod dispatches;
mod events;
mod extract;
mod guard;
mod images;
mod landings;
mod leases;
mod log;
mod main_branch;
mod mcp;
mod messages;
mod page;
mod projects;
mod review;
mod rights;
mod scratchpads;
mod search;
mod serve;
mod sessions;
mod shells;
mod terminals;
mod tokens;
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

/// Everything under `/api`. A route and its description cannot differ: both come from the handler.
fn api() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(daemon::status))
        .routes(routes!(daemon::shutdown))
        .routes(routes!(sessions::open_link))
        .routes(routes!(sessions::begin_session))
        .routes(routes!(projects::list_projects, projects::register_project))
        .routes(routes!(projects::remove_project))
        .routes(routes!(projects::preview_removal))
        .routes(routes!(projects::move_project))
        .routes(routes!(projects::rename_project))
        .routes(routes!(projects::commands, projects::approve))
        .routes(routes!(worktrees::list_worktrees, worktrees::create_worktree))
        .routes(routes!(worktrees::show_worktree, worktrees::remove_worktree))
        .routes(routes!(worktrees::sync_worktree))
        .routes(routes!(worktrees::restore_worktree))
        .routes(routes!(worktrees::enter_worktree))
        .routes(routes!(shells::open_shell))
        .routes(routes!(shells::hold_shell, shells::end_shell))
        .routes(routes!(worktrees::mirror_worktree))
        .routes(routes!(worktrees::setup_log))
        .routes(routes!(review::worktree_commits))
        .routes(routes!(review::list_comments, review::comment))
        .routes(routes!(worktrees::archives))
        .routes(routes!(worktrees::drop_archive))
        .routes(routes!(daemon::doctor, daemon::mend))
        .routes(routes!(landings::land))
        .routes(routes!(checks::check_worktree, checks::show_check, checks::cancel_check))
        .routes(routes!(checks::check_run_log))
        .routes(routes!(checks::try_settings, checks::show_trial, checks::cancel_trial))
        .routes(routes!(checks::trial_log))
        .routes(routes!(review::diff_worktree))
        .routes(routes!(review::file_of_worktree))
        .routes(routes!(landings::list_landings))
        .routes(routes!(landings::show_landing))
        .routes(routes!(landings::cancel_landing))
        .routes(routes!(landings::approve_landing))
        .routes(routes!(landings::revert_landing))
        .routes(routes!(landings::check_log))
        .routes(routes!(review::diff_landing))
        .routes(routes!(review::file_of_landing))
        .routes(routes!(main_branch::show_main))
        .routes(routes!(main_branch::main_log))
        .routes(routes!(main_branch::verify_main))
        .routes(routes!(main_branch::rescue_main))
        .routes(routes!(main_branch::adopt_main))
        .routes(routes!(main_branch::restore_main))
        .routes(routes!(main_branch::pull_main))
        .routes(routes!(main_branch::settle_remote))
        .routes(routes!(main_branch::push_main))
        .routes(routes!(main_branch::freeze))
        .routes(routes!(main_branch::thaw))
        .routes(routes!(main_branch::thaw_all))
        .routes(routes!(main_branch::halt))
        .routes(routes!(main_branch::propose_settings, main_branch::land_settings))
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
        .routes(routes!(leases::list_leases, leases::take_lease, leases::release_leases))
        .routes(routes!(leases::release_lease))
        .routes(routes!(leases::commit))
        .routes(routes!(messages::send_message))
        .routes(routes!(messages::take_messages))
        .routes(routes!(messages::show_caller))
        .routes(routes!(messages::seen_messages))
        .routes(routes!(agents::list_agents, agents::spawn_agent))
        .routes(routes!(agents::show_agent))
        .routes(routes!(agents::stop_agent))
        .routes(routes!(agents::refresh_agent))
        .routes(routes!(agents::ask_for_note))
        .routes(routes!(agents::agent_log))
        .routes(routes!(agents::profiles))
        .routes(routes!(agents::try_profile))
        .routes(routes!(agents::wanted_keys, agents::give_keys))
        .routes(routes!(agents::list_permissions))
        .routes(routes!(agents::decide_permission))
        .routes(routes!(agents::spending))
        .routes(routes!(agents::agent_stats))
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
        .routes(routes!(messages::inbox))
        .routes(routes!(search::search))
        .routes(routes!(scratchpads::list_scratchpads, scratchpads::create_scratchpad))
        .routes(routes!(scratchpads::show_scratchpad, scratchpads::write_scratchpad))
        .routes(routes!(images::put_image))
        .routes(routes!(images::get_image))
        .routes(routes!(tokens::list_tokens, tokens::issue_token))
        .routes(routes!(tokens::revoke_token))
        .routes(routes!(tools::list_tools))
        .routes(routes!(tools::call_tool))
        .routes(routes!(tools::read_resource))
        .routes(routes!(log::trace))
        .routes(routes!(events::live))
        .routes(routes!(log::verify))
        .routes(routes!(log::export))
        .routes(routes!(log::rebuild))
        .routes(routes!(log::accept_loss))
}

/// The description of the API, as served at `/api/openapi.json`.
pub fn openapi() -> String {
    let (_, description) = api().split_for_parts();
    description.to_pretty_json().expect("a description is plain data")
}

/// Everything that a listener serves. `port` is the one that the Host header must name; a unix socket has none.
pub fn router(app: Arc<App>, port: Option<u16>, shutdown: Shutdown) -> Router {
    let (api, _) = api().split_for_parts();
    let gate = Arc::new(guard::Gate { app: app.clone(), port, limits: call_limits::CallLimits::default() });
    api.route_layer(middleware::from_fn_with_state(app.clone(), rights::check))
        .route("/api/openapi.json", get(|| async { ([("content-type", "application/json")], openapi()) }))
        .route("/mcp", mcp::route(app.clone(), port, shutdown.clone()))
        .route("/healthz", get(|| async { "ok\n" }))
        .fallback(page::fallback)
        .layer(axum::Extension(shutdown))
        .layer(middleware::from_fn_with_state(gate, guard::check))
        .with_state(app)
}
