//! Verifies MAIN against the log: every commit of its first-parent history since registration was landed or adopted by flower,
//! branch and checkout are as recorded, and no object is missing.

use super::history::first_parents;
use crate::MergeQueue;
use crate::projects::ProjectChoice;
use flower_contract::error::Problem;
use flower_contract::view::MainProof;
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
        // The commit below the landing that is being walked through: a rebased landing has several commits.
        let mut below_landing: Option<String> = None;
        for found in first_parents(&lock.repository, &tip, MAX_COMMITS).await? {
            if main.began == found.commit.as_str() {
                met_beginning = true;
                break;
            }
            if below_landing.as_ref().is_some_and(|onto| *onto != found.commit.as_str()) {
                continue;
            }
            let of = found.commit.to_string();
            let recorded = self.store.read(move |conn| landings::by_merge_commit(conn, &of)).await?;
            match recorded {
                Some(landing) if matches!(landing.state, State::Landed | State::RolledBack) => {
                    proved += 1;
                    unchecked += u64::from(landing.checks.is_empty());
                    below_landing = landing.onto;
                }
                _ => {
                    below_landing = None;
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
