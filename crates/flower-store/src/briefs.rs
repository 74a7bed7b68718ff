//! Queries about briefs, one function each.

use super::conn::{Conn, params};
use super::dispatches::highest;
use super::error::StoreError;
use flower_core::{ActorType, Brief, BriefId, BriefKind, Dispatch, LinkKind, SpecOrigin, Status};
use std::collections::{BTreeMap, BTreeSet};

pub fn state(conn: &mut Conn, number: BriefId) -> Result<Option<Brief>, StoreError> {
    let row = conn.row("SELECT state FROM briefs WHERE number = $1", params![number])?;
    row.map(|row| decode(&row.text(0)?)).transpose()
}

pub fn decode(state: &str) -> Result<Brief, StoreError> {
    serde_json::from_str(state).map_err(|error| StoreError::Corrupt(format!("a brief's state cannot be read: {error}")))
}

/// The filter of a list of briefs.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub status: Option<Status>,
    pub kind: Option<BriefKind>,
    pub project: Option<String>,
    pub epic: Option<BriefId>,
    /// Only planned briefs whose dependencies are all met.
    pub ready: bool,
}

/// Briefs with a number greater than `after`, in the order of their numbers.
pub fn list(conn: &mut Conn, filter: &Filter, after: BriefId, limit: u64) -> Result<Vec<Brief>, StoreError> {
    let sql = format!(
        "SELECT state FROM briefs b WHERE number > $1
         AND (CAST($3 AS TEXT) IS NULL OR status = $3)
         AND (CAST($4 AS TEXT) IS NULL OR kind = $4)
         AND (CAST($5 AS BIGINT) IS NULL OR epic = $5)
         AND (CAST($6 AS TEXT) IS NULL
              OR EXISTS (SELECT 1 FROM brief_projects p WHERE p.project = $6 AND p.brief = b.number))
         AND (CAST($7 AS BIGINT) = 0 OR {READY})
         ORDER BY number LIMIT $2"
    );
    let status = filter.status.map(Status::as_str);
    let kind = filter.kind.map(BriefKind::as_str);
    let params = params![after, limit, status, kind, filter.epic, filter.project.as_ref(), filter.ready];
    conn.rows(&sql, params)?.iter().map(|row| decode(&row.text(0)?)).collect()
}

/// The briefs of a long list.
#[derive(Clone, Debug)]
pub enum Which {
    /// A number of briefs after a brief: `After(after, limit)`.
    After(BriefId, u64),
    These(Vec<BriefId>),
}

/// Briefs in the order of their numbers, each with whether it could be built now.
pub fn with_readiness(conn: &mut Conn, which: &Which, project: Option<&str>) -> Result<Vec<(Brief, bool)>, StoreError> {
    let (these, after, limit) = match which {
        Which::After(after, limit) => (None, *after, *limit),
        Which::These(numbers) => {
            (Some(serde_json::to_string(numbers).expect("a list of numbers")), BriefId(0), i64::MAX as u64)
        }
    };
    let chosen = match &these {
        Some(_) => format!("number IN ({})", conn.each_number()),
        None => "CAST($1 AS TEXT) IS NULL".to_owned(),
    };
    let sql = format!(
        "SELECT state, CASE WHEN {READY} THEN 1 ELSE 0 END FROM briefs b
         WHERE {chosen} AND number > $2 AND (CAST($4 AS TEXT) IS NULL
              OR EXISTS (SELECT 1 FROM brief_projects p WHERE p.project = $4 AND p.brief = b.number))
         ORDER BY number LIMIT $3"
    );
    let rows = conn.rows(&sql, params![these.as_ref(), after, limit, project])?;
    rows.iter().map(|row| Ok((decode(&row.text(0)?)?, row.int(1)? == 1))).collect()
}

/// SQL condition on a brief `b`: it is planned, and all of its dependencies are met.
const READY: &str = "(status = 'planned' AND kind <> 'epic' AND NOT EXISTS (
                  SELECT 1 FROM brief_needs n JOIN briefs d ON d.number = n.needs
                  WHERE n.brief = b.number AND d.status NOT IN ('landed', 'done')))";

/// The data that belongs to briefs besides their state, for all of `numbers` at once.
#[derive(Clone, Debug, Default)]
pub struct Around {
    pub specs: BTreeMap<BriefId, String>,
    pub statuses: BTreeMap<BriefId, Status>,
    pub dependents: BTreeMap<BriefId, BTreeSet<BriefId>>,
    pub links: BTreeMap<BriefId, Vec<Link>>,
    /// Dispatches of the briefs that have not ended.
    pub open: Vec<Dispatch>,
}

#[derive(Clone, Debug)]
pub struct Link {
    pub kind: LinkKind,
    pub target: String,
    pub label: String,
    pub by: String,
    pub at: String,
}

/// The number of `briefs` that fit into one page of `most_bytes`, because specs can be long. At least one.
pub fn fitting(conn: &mut Conn, briefs: &[Brief], most_bytes: u64) -> Result<usize, StoreError> {
    let sql = format!(
        "SELECT brief, octet_length(markdown) FROM spec_versions s WHERE brief IN ({}) AND {NEWEST}",
        conn.each_number()
    );
    let mut sizes: BTreeMap<BriefId, u64> = BTreeMap::new();
    for row in conn.rows(&sql, params![&numbers(briefs)])? {
        sizes.insert(row.id(0)?, row.int(1)?);
    }
    let mut bytes = 0;
    let fit = briefs.iter().take_while(|brief| {
        bytes += sizes.get(&brief.number).copied().unwrap_or_default();
        bytes <= most_bytes
    });
    Ok(fit.count().max(1))
}

const NEWEST: &str = "s.version = (SELECT max(t.version) FROM spec_versions t WHERE t.brief = s.brief)";

pub fn around(conn: &mut Conn, briefs: &[Brief]) -> Result<Around, StoreError> {
    let mut around = Around::default();
    let each = conn.each_number();
    let numbers = numbers(briefs);
    around.open = super::dispatches::open_of(conn, &numbers)?;
    let numbers = params![&numbers];

    let specs = format!("SELECT brief, markdown FROM spec_versions s WHERE brief IN ({each}) AND {NEWEST}");
    for row in conn.rows(&specs, numbers)? {
        around.specs.insert(row.id(0)?, row.text(1)?);
    }
    let needed = format!(
        "SELECT DISTINCT d.number, d.status FROM brief_needs n JOIN briefs d ON d.number = n.needs
         WHERE n.brief IN ({each})"
    );
    for row in conn.rows(&needed, numbers)? {
        around.statuses.insert(row.id(0)?, row.text(1)?.parse()?);
    }
    for row in conn.rows(&format!("SELECT needs, brief FROM brief_needs WHERE needs IN ({each})"), numbers)? {
        around.dependents.entry(row.id(0)?).or_default().insert(row.id(1)?);
    }
    let links =
        format!("SELECT brief, kind, target, label, actor_name, at FROM links WHERE brief IN ({each}) ORDER BY seq");
    for row in conn.rows(&links, numbers)? {
        around.links.entry(row.id(0)?).or_default().push(Link {
            kind: row.text(1)?.parse()?,
            target: row.text(2)?,
            label: row.text(3)?,
            by: row.text(4)?,
            at: row.text(5)?,
        });
    }
    Ok(around)
}

fn numbers(briefs: &[Brief]) -> String {
    let numbers: Vec<BriefId> = briefs.iter().map(|brief| brief.number).collect();
    serde_json::to_string(&numbers).expect("a list of numbers")
}

/// One version of a spec.
#[derive(Clone, Debug)]
pub struct SpecVersion {
    pub version: u64,
    pub origin: SpecOrigin,
    pub base: u64,
    pub why: Option<String>,
    pub actor_type: ActorType,
    pub actor_name: String,
    pub at: String,
    pub accepted: bool,
    pub bytes: u64,
}

pub fn versions(conn: &mut Conn, brief: BriefId) -> Result<Vec<SpecVersion>, StoreError> {
    let mut all = newest_versions(conn, brief, i64::MAX as u64)?;
    all.reverse();
    Ok(all)
}

/// The newest `limit` versions, newest first.
pub fn newest_versions(conn: &mut Conn, brief: BriefId, limit: u64) -> Result<Vec<SpecVersion>, StoreError> {
    versions_up_to(conn, brief, i64::MAX as u64, limit)
}

pub fn version(conn: &mut Conn, brief: BriefId, number: u64) -> Result<Option<SpecVersion>, StoreError> {
    Ok(versions_up_to(conn, brief, number, 1)?.into_iter().find(|version| version.version == number))
}

fn versions_up_to(conn: &mut Conn, brief: BriefId, newest: u64, limit: u64) -> Result<Vec<SpecVersion>, StoreError> {
    let sql = "SELECT version, origin, base, why, actor_type, actor_name, at, accepted, octet_length(markdown)
         FROM spec_versions WHERE brief = $1 AND version <= $2 ORDER BY version DESC LIMIT $3";
    conn.rows(sql, params![brief, newest, limit])?
        .iter()
        .map(|row| {
            Ok(SpecVersion {
                version: row.int(0)?,
                origin: row.text(1)?.parse()?,
                base: row.int(2)?,
                why: row.opt_text(3)?,
                actor_type: row.text(4)?.parse()?,
                actor_name: row.text(5)?,
                at: row.text(6)?,
                accepted: row.int(7)? == 1,
                bytes: row.int(8)?,
            })
        })
        .collect()
}

pub fn markdown(conn: &mut Conn, brief: BriefId, version: u64) -> Result<Option<String>, StoreError> {
    let sql = "SELECT markdown FROM spec_versions WHERE brief = $1 AND version = $2";
    conn.row(sql, params![brief, version])?.map(|row| row.text(0)).transpose()
}

/// The number of briefs in each status.
pub fn count_by_status(conn: &mut Conn, project: Option<&str>) -> Result<BTreeMap<String, u64>, StoreError> {
    let sql = "SELECT status, count(*) FROM briefs b WHERE CAST($1 AS TEXT) IS NULL
         OR EXISTS (SELECT 1 FROM brief_projects p WHERE p.project = $1 AND p.brief = b.number) GROUP BY status";
    conn.rows(sql, params![project])?.iter().map(|row| Ok((row.text(0)?, row.int(1)?))).collect()
}

/// The highest number of a brief.
pub fn newest(conn: &mut Conn) -> Result<BriefId, StoreError> {
    highest(conn, "briefs")
}

/// The briefs that depend on this one.
pub fn dependents(conn: &mut Conn, brief: BriefId) -> Result<Vec<BriefId>, StoreError> {
    let rows = conn.rows("SELECT brief FROM brief_needs WHERE needs = $1 ORDER BY brief", params![brief])?;
    rows.iter().map(|row| row.id(0)).collect()
}

/// A brief that waits for acceptance.
#[derive(Clone, Debug)]
pub struct WaitingBrief {
    pub brief: BriefId,
    pub title: String,
    pub status: String,
    pub by: String,
    pub by_type: String,
    pub at: String,
    /// The version of the spec; absent for a result.
    pub version: Option<u64>,
}

/// Specs by agents that were not accepted yet, and results in review with the actor that moved them there, except those
/// that are in the merge queue.
pub fn waiting_for_acceptance(conn: &mut Conn, limit: u64) -> Result<Vec<WaitingBrief>, StoreError> {
    let sql = "SELECT b.number, b.title, b.status, s.actor_name, s.actor_type, s.at, s.version
         FROM briefs b JOIN spec_versions s ON s.brief = b.number
             AND s.version = (SELECT max(t.version) FROM spec_versions t WHERE t.brief = b.number)
         WHERE b.status IN ('draft', 'planned', 'in_progress') AND s.actor_type = 'agent' AND s.accepted = 0
         UNION ALL
         SELECT b.number, b.title, b.status, e.actor_name, e.actor_type, e.at, NULL
         FROM briefs b JOIN events e ON e.seq =
             (SELECT f.seq FROM events f WHERE f.stream = 'brief/' || CAST(b.number AS TEXT) AND f.kind = 'status_changed'
              ORDER BY f.version DESC LIMIT 1)
         WHERE b.status = 'in_review' AND NOT EXISTS (SELECT 1 FROM landing_briefs o JOIN landings l ON l.number = o.landing
             WHERE o.brief = b.number AND l.open = 1)
         ORDER BY 6 LIMIT $1";
    conn.rows(sql, params![limit])?
        .iter()
        .map(|row| {
            Ok(WaitingBrief {
                brief: row.id(0)?,
                title: row.text(1)?,
                status: row.text(2)?,
                by: row.text(3)?,
                by_type: row.text(4)?,
                at: row.text(5)?,
                version: row.opt_int(6)?,
            })
        })
        .collect()
}
