//! Briefs: listing, showing, comparing and writing them, with their images and scratchpads.

pub mod images;
mod scratchpads;
mod search;
mod write;

use crate::Access;
use crate::PAGE;
use crate::Setup;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{
    BriefProject, BriefRow, BriefView, DiffView, Dispatchable, KindReadiness, LinkView, SpecVersionView, SpecView,
};
use flower_core::policy::Read;
use flower_core::readiness::{DispatchKind, readiness};
use flower_core::{Actor, Brief, BriefId, Caller, Dispatch, Refusal, Status};
use flower_store::Store;
use flower_store::briefs::{self, Around};
pub use flower_store::briefs::{Filter, Which};
use flower_store::{Conn, StoreError};
use std::sync::Arc;

/// Maximum size of a page; it may have fewer briefs than requested.
const PAGE_BYTES: u64 = 8 * 1024 * 1024;
/// Rows are small, so a page has more of them than of briefs.
const MAX_ROWS: u64 = 5_000;

/// Reads and writes briefs, their images and scratchpads.
pub struct Briefs {
    store: Store,
    access: Arc<Access>,
}

impl Briefs {
    pub(crate) fn new(setup: &Setup, access: &Arc<Access>) -> Briefs {
        Briefs { store: setup.store.clone(), access: access.clone() }
    }

    /// A page of briefs. The number of the last brief is the cursor for the next page; an empty page is the end.
    pub async fn list(&self, filter: Filter, after: u64, limit: Option<u64>) -> Result<Vec<BriefView>, Problem> {
        let limit = limit.unwrap_or(PAGE).clamp(1, PAGE);
        let views = self.store.read(move |conn| {
            let mut list = briefs::list(conn, &filter, BriefId(after), limit)?;
            list.truncate(briefs::fitting(conn, &list, PAGE_BYTES)?);
            let around = briefs::around(conn, &list)?;
            Ok(list.into_iter().map(|brief| view(brief, &around)).collect())
        });
        Ok(views.await?)
    }

    /// A page of briefs for a caller; of briefs that it may not read, only titles and states.
    pub async fn list_for(
        &self,
        caller: &Caller,
        filter: Filter,
        after: u64,
        limit: Option<u64>,
    ) -> Result<Vec<BriefView>, Problem> {
        let reader = self.access.reader(caller).await?;
        let mut briefs = self.list(filter, after, limit).await?;
        for brief in briefs.iter_mut().filter(|brief| !reader.may(Read::Brief { number: Some(BriefId(brief.number)) }))
        {
            brief.spec.markdown.clear();
            brief.links.clear();
            brief.participants.clear();
        }
        Ok(briefs)
    }

    /// A page of rows, or the rows of some briefs.
    pub async fn rows(&self, which: Which, project: Option<String>) -> Result<Vec<BriefRow>, Problem> {
        let which = match which {
            Which::After(after, limit) => Which::After(after, limit.clamp(1, MAX_ROWS)),
            Which::These(mut numbers) => {
                numbers.truncate(usize::try_from(MAX_ROWS).expect("a small number"));
                Which::These(numbers)
            }
        };
        let rows = self.store.read(move |conn| briefs::with_readiness(conn, &which, project.as_deref())).await?;
        let row = |(brief, ready): (Brief, bool)| BriefRow {
            number: brief.number.0,
            title: brief.title,
            kind: brief.kind,
            status: brief.status,
            epic: brief.epic.map(u64::from),
            projects: brief.projects,
            open_questions: brief.open_questions.len() as u64,
            ready,
            updated_at: brief.updated_at,
        };
        Ok(rows.into_iter().map(row).collect())
    }

    pub async fn show(&self, number: BriefId) -> Result<BriefView, Problem> {
        let view = self.store.read(move |conn| {
            let brief = require(conn, number)?;
            let around = briefs::around(conn, std::slice::from_ref(&brief))?;
            Ok(view(brief, &around))
        });
        Ok(view.await?)
    }

    pub async fn spec_versions(&self, number: BriefId) -> Result<Vec<SpecVersionView>, Problem> {
        let versions = self.store.read(move |conn| {
            require(conn, number)?;
            briefs::versions(conn, number)
        });
        let versions = versions.await?.into_iter().map(|v| SpecVersionView {
            version: v.version,
            origin: v.origin,
            base: v.base,
            why: v.why,
            by: Actor { sort: v.actor_type, name: v.actor_name },
            at: v.at,
            accepted: v.accepted,
            bytes: v.bytes,
        });
        Ok(versions.collect())
    }

    pub async fn spec_at(&self, number: BriefId, version: u64) -> Result<SpecView, Problem> {
        let found = self.store.read(move |conn| {
            let brief = require(conn, number)?;
            Ok((brief.spec_version, brief.accepted_version, briefs::markdown(conn, number, version)?))
        });
        match found.await? {
            (_, accepted_version, Some(markdown)) => Ok(SpecView { version, markdown, accepted_version }),
            (newest, _, None) => Err(no_version(number, version, newest)),
        }
    }

    /// The difference between two versions. Default: from the accepted version (or the one before the newest) to the newest.
    pub async fn diff_spec(&self, number: BriefId, from: Option<u64>, to: Option<u64>) -> Result<DiffView, Problem> {
        let brief = self.store.read(move |conn| require(conn, number)).await?;
        if brief.spec_version == 0 {
            return Err(no_version(number, to.unwrap_or(1), 0));
        }
        let to = to.unwrap_or(brief.spec_version);
        let before = to.saturating_sub(1);
        let from = from.unwrap_or_else(|| brief.accepted_version.filter(|&accepted| accepted < to).unwrap_or(before));
        let old = self.text_of(number, from).await?;
        let new = self.text_of(number, to).await?;
        let diff = tokio::task::spawn_blocking(move || unified(&old, &new, from, to))
            .await
            .map_err(|error| Problem::bug(error.to_string()))?;
        Ok(DiffView { brief: number.0, from, to, diff })
    }

    /// The spec of a version; version 0 is the empty text before the first.
    async fn text_of(&self, number: BriefId, version: u64) -> Result<String, Problem> {
        if version == 0 {
            return Ok(String::new());
        }
        self.spec_at(number, version).await.map(|spec| spec.markdown)
    }
}

pub(crate) fn unified(old: &str, new: &str, from: u64, to: u64) -> String {
    use similar::{Algorithm, TextDiff};
    // Two texts of a million short lines could take minutes; after the timeout the rest is shown as replaced.
    const DIFF_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(2);
    TextDiff::configure()
        .algorithm(Algorithm::Patience)
        .timeout(DIFF_TIMEOUT)
        .diff_lines(old, new)
        .unified_diff()
        .header(&format!("version {from}"), &format!("version {to}"))
        .to_string()
}

pub(crate) fn require(conn: &mut Conn, number: BriefId) -> Result<Brief, StoreError> {
    if let Some(brief) = briefs::state(conn, number)? {
        return Ok(brief);
    }
    let newest = briefs::newest(conn)?;
    Err(Refusal::NoBrief { number, newest }.into())
}

fn no_version(number: BriefId, version: u64, newest: u64) -> Problem {
    let hint = match newest {
        0 => format!("propose one: `flower brief plan {number} --spec FILE`"),
        newest => format!("its versions are 1 to {newest}"),
    };
    Problem::new(ProblemKind::NotFound, format!("the spec of brief {number} has no version {version}"), hint)
}

fn view(brief: Brief, around: &Around) -> BriefView {
    let number = brief.number;
    let dispatchable = dispatchable(&brief, around);
    let links = around.links.get(&number).into_iter().flatten();
    let projects = brief.projects.into_iter().enumerate();
    BriefView {
        number: number.0,
        title: brief.title,
        kind: brief.kind,
        status: brief.status,
        parked_from: brief.parked_from,
        spec: SpecView {
            version: brief.spec_version,
            markdown: around.specs.get(&number).cloned().unwrap_or_default(),
            accepted_version: brief.accepted_version,
        },
        projects: projects.map(|(i, name)| BriefProject { name, primary: i == 0 }).collect(),
        epic: brief.epic.map(u64::from),
        depends_on: brief.depends_on.into_iter().map(u64::from).collect(),
        dependents: around.dependents.get(&number).into_iter().flatten().copied().map(u64::from).collect(),
        dispatchable,
        auto_dispatch: brief.auto_dispatch,
        design_loop: brief.design_loop,
        participants: brief.participants,
        links: links
            .map(|link| LinkView {
                kind: link.kind,
                target: link.target.clone(),
                label: link.label.clone(),
                by: link.by.clone(),
                at: link.at.clone(),
            })
            .collect(),
        open_questions: brief.open_questions.into_iter().collect(),
        created_at: brief.created_at,
        updated_at: brief.updated_at,
    }
}

fn dispatchable(brief: &Brief, around: &Around) -> Dispatchable {
    let dependencies: Vec<(BriefId, Status)> =
        brief.depends_on.iter().filter_map(|n| around.statuses.get(n).map(|status| (*n, *status))).collect();
    let open: Vec<&Dispatch> = around.open.iter().filter(|dispatch| dispatch.brief == brief.number).collect();
    let answer = |kind| KindReadiness::from(readiness(brief, kind, &dependencies, &open));
    let kind = brief.natural_dispatch();
    let KindReadiness { ok, reasons } = answer(kind);
    let kinds = DispatchKind::ALL.iter().map(|&kind| (kind.to_string(), answer(kind))).collect();
    Dispatchable { ok, reasons, kind, kinds }
}
