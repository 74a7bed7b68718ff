//! Queries about the agents that flower runs, their usage, and the permissions that they request.

use super::conn::{Conn, Row, params};
use super::error::StoreError;
use flower_core::agent::Ending;
use flower_core::{Agent, AgentId, BriefId, DispatchId, Permission, PermissionId};

pub fn agent(conn: &mut Conn, number: AgentId) -> Result<Option<Agent>, StoreError> {
    conn.row("SELECT state FROM agents WHERE number = $1", params![number])?.map(|row| row.state()).transpose()
}

/// The newest agent with this name.
pub fn named(conn: &mut Conn, name: &str) -> Result<Option<Agent>, StoreError> {
    let sql = "SELECT state FROM agents WHERE name = $1 ORDER BY live DESC, number DESC LIMIT 1";
    conn.row(sql, params![name])?.map(|row| row.state()).transpose()
}

/// The agents that should run, oldest first, of one project or of all.
pub fn live(conn: &mut Conn, project: Option<&str>) -> Result<Vec<Agent>, StoreError> {
    let sql = "SELECT state FROM agents WHERE live = 1 AND (CAST($1 AS TEXT) IS NULL OR project = $1) ORDER BY number";
    conn.rows(sql, params![project])?.iter().map(Row::state).collect()
}

/// All agents, newest first, of one project or of all.
pub fn all(conn: &mut Conn, project: Option<&str>, limit: u64) -> Result<Vec<Agent>, StoreError> {
    let sql = "SELECT state FROM agents WHERE CAST($1 AS TEXT) IS NULL OR project = $1 ORDER BY number DESC LIMIT $2";
    conn.rows(sql, params![project, limit])?.iter().map(Row::state).collect()
}

/// The agents that flower ran on a dispatch, oldest first.
pub fn of_dispatch(conn: &mut Conn, dispatch: DispatchId) -> Result<Vec<Agent>, StoreError> {
    let sql = "SELECT state FROM agents WHERE dispatch = $1 ORDER BY number";
    conn.rows(sql, params![dispatch])?.iter().map(Row::state).collect()
}

/// The agents that failed and whose brief was not continued since, oldest first.
pub fn given_up(conn: &mut Conn, limit: u64) -> Result<Vec<Agent>, StoreError> {
    let sql =
        "SELECT a.state FROM agents a JOIN dispatches d ON d.number = a.dispatch JOIN briefs b ON b.number = d.brief
         WHERE d.stage = 'failed' AND a.live = 0 AND b.status NOT IN ('cancelled', 'done', 'landed', 'parked')
             AND NOT EXISTS (SELECT 1 FROM dispatches n WHERE n.brief = d.brief AND n.number > d.number)
         ORDER BY a.number LIMIT $1";
    let agents: Vec<Agent> = conn.rows(sql, params![limit])?.iter().map(Row::state).collect::<Result<_, _>>()?;
    let failed = |agent: &Agent| agent.ended.as_ref().is_some_and(|end| end.how == Ending::Failed);
    Ok(agents.into_iter().filter(failed).collect())
}

/// The newest agents that flower ran on dispatches, newest first, of one project or of all.
pub fn on_dispatches(conn: &mut Conn, project: Option<&str>, limit: u64) -> Result<Vec<Agent>, StoreError> {
    let sql = "SELECT state FROM agents WHERE dispatch IS NOT NULL AND (CAST($1 AS TEXT) IS NULL OR project = $1)
         ORDER BY number DESC LIMIT $2";
    conn.rows(sql, params![project, limit])?.iter().map(Row::state).collect()
}

/// The usage of each dispatch from a number on.
pub fn spent_by_dispatch(conn: &mut Conn, from: DispatchId) -> Result<Vec<(DispatchId, Spent)>, StoreError> {
    let sql = "SELECT dispatch, CAST(sum(tokens) AS BIGINT), CAST(sum(cost) AS BIGINT), max(currency) FROM spendings
         WHERE dispatch >= $1 GROUP BY dispatch ORDER BY dispatch";
    conn.rows(sql, params![from])?.iter().map(|row| Ok((row.id(0)?, sums_of(row, 1)?))).collect()
}

pub fn last(conn: &mut Conn) -> Result<AgentId, StoreError> {
    super::dispatches::highest(conn, "agents")
}

pub fn permission(conn: &mut Conn, number: PermissionId) -> Result<Option<Permission>, StoreError> {
    conn.row("SELECT state FROM permissions WHERE number = $1", params![number])?.map(|row| row.state()).transpose()
}

/// The permission requests without a decision.
pub fn permissions(conn: &mut Conn) -> Result<Vec<Permission>, StoreError> {
    conn.rows("SELECT state FROM permissions WHERE open = 1 ORDER BY number", &[])?.iter().map(Row::state).collect()
}

pub fn last_permission(conn: &mut Conn) -> Result<PermissionId, StoreError> {
    super::dispatches::highest(conn, "permissions")
}

/// Usage, as far as agents reported it. A value that no agent reported is absent, not zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    pub tokens: Option<u64>,
    /// In millionths of the currency.
    pub cost: Option<u64>,
    pub currency: Option<String>,
}

/// The scope of a sum of usage.
#[derive(Clone, Copy, Debug)]
pub enum SpentOn<'a> {
    Day(&'a str),
    Brief(BriefId),
    Dispatch(DispatchId),
    Agent(AgentId),
}

pub fn spent(conn: &mut Conn, on: SpentOn<'_>) -> Result<Spent, StoreError> {
    let sums = "SELECT CAST(sum(tokens) AS BIGINT), CAST(sum(cost) AS BIGINT), max(currency) FROM spendings WHERE ";
    let row = match on {
        SpentOn::Day(day) => conn.row(&format!("{sums} day = $1"), params![day])?,
        SpentOn::Brief(number) => conn.row(&format!("{sums} brief = $1"), params![number])?,
        SpentOn::Dispatch(number) => conn.row(&format!("{sums} dispatch = $1"), params![number])?,
        SpentOn::Agent(number) => conn.row(&format!("{sums} agent = $1"), params![number])?,
    };
    row.map_or(Ok(Spent::default()), |row| sums_of(&row, 0))
}

/// The newest days, with the usage on each.
pub fn spent_by_day(conn: &mut Conn, limit: u64) -> Result<Vec<(String, Spent)>, StoreError> {
    let sql = "SELECT day, CAST(sum(tokens) AS BIGINT), CAST(sum(cost) AS BIGINT), max(currency) FROM spendings
         GROUP BY day ORDER BY day DESC LIMIT $1";
    conn.rows(sql, params![limit])?.iter().map(|row| Ok((row.text(0)?, sums_of(row, 1)?))).collect()
}

/// The briefs with the highest cost, with the usage of each.
pub fn spent_by_brief(conn: &mut Conn, limit: u64) -> Result<Vec<(BriefId, Spent)>, StoreError> {
    let sql = "SELECT brief, CAST(sum(tokens) AS BIGINT), CAST(sum(cost) AS BIGINT), max(currency) FROM spendings
         WHERE brief IS NOT NULL GROUP BY brief ORDER BY coalesce(sum(cost), 0) DESC, brief LIMIT $1";
    conn.rows(sql, params![limit])?.iter().map(|row| Ok((row.id(0)?, sums_of(row, 1)?))).collect()
}

fn sums_of(row: &Row, at: usize) -> Result<Spent, StoreError> {
    Ok(Spent { tokens: row.opt_int(at)?, cost: row.opt_int(at + 1)?, currency: row.opt_text(at + 2)? })
}
