//! Verifies MAIN against the log: every commit of its first-parent history since registration was landed or adopted by flower,
//! branch and checkout are as recorded, and no object is missing.

use super::history::first_parents;
use crate::MergeQueue;
use crate::projects::ProjectChoice;
use flower_contract::error::Problem;
use flower_contract::view::MainProof;
use flower_core::Landing;
use flower_core::landing::State;
use flower_git::{CommitId, Repo};
use flower_store::landings;
use std::time::Duration;

const FSCK_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// More commits than one project gets by landings.
const MAX_COMMITS: u64 = 100_000;

impl MergeQueue {
    pub async fn verify_main(&self, choice: &ProjectChoice) -> Result<MainProof, Problem> {
        let project = self.projects.require(choice).await?;
        let lock = self.lock_main(&project).await?;
        let (main, status) = self.check_main(&lock).await?;
        let mut problems: Vec<String> = Vec::new();
        if let Some((_, text)) = status.alarm(&main) {
            problems.push(text);
        }
        let (mut proved, mut unchecked, mut met_beginning) = (0, 0, false);
        let tip = status.tip.map_or_else(|| CommitId::parse(&main.tip), Ok)?;
        // The landing that is being walked through, and how many of its commits were met: a rebased landing has several, and one
        // that moved MAIN forward to its remote has those of the remote.
        let mut within: Option<(Landing, u64)> = None;
        for found in first_parents(&lock.repository, &tip, MAX_COMMITS).await? {
            if let Some((landing, met)) = within.take() {
                if landing.onto.as_deref() != Some(found.commit.as_str()) && main.began != found.commit.as_str() {
                    within = Some((landing, met + 1));
                    continue;
                }
                problems.extend(miscounted(&landing, met));
            }
            if main.began == found.commit.as_str() {
                met_beginning = true;
                break;
            }
            let (of, commit) = (project.clone(), found.commit.to_string());
            let recorded = self.store.read(move |conn| landings::by_merge_commit(conn, &of, &commit)).await?;
            match recorded {
                Some(landing) if matches!(landing.state, State::Landed | State::RolledBack) => {
                    proved += 1;
                    unchecked += u64::from(landing.checks.is_empty());
                    within = Some((landing, 1));
                }
                _ => {
                    let short = found.commit.short();
                    problems
                        .push(format!("{short} ({}) is on MAIN, and no landing of flower's brought it", found.subject));
                }
            }
        }
        let repo = Repo::main(&lock.repository);
        let began = main.began;
        if !met_beginning {
            let there = repo.has_commit(&CommitId::parse(&began)?).await?;
            let gone = if there { "is not on MAIN any more" } else { "is gone" };
            problems.push(format!("{began}, where flower began to look after MAIN, {gone}"));
        }
        if let Err(stderr) = repo.with_deadline(FSCK_TIMEOUT).check_connectivity().await? {
            problems.push(format!("git fsck: {stderr}"));
        }
        problems.truncate(100);
        Ok(MainProof {
            project,
            ok: problems.is_empty(),
            tip: tip.into(),
            began,
            landings: proved,
            unchecked,
            problems,
        })
    }
}

/// Whether a landing that moved MAIN forward to its remote has other commits than were recorded.
fn miscounted(landing: &Landing, met: u64) -> Option<String> {
    let recorded = landing.upstream.filter(|&recorded| recorded != met)?;
    Some(format!(
        "landing {} moved MAIN forward by {recorded} commits of its remote, and {met} are there",
        landing.number
    ))
}
