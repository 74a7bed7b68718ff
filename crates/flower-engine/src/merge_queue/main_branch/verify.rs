//! Whether MAIN is what the log says: every commit on its first-parent history since flower looks after it was landed or
//! adopted by flower, its branch and checkout are where they should be, and its objects are whole.

use super::history::first_parents;
use crate::MergeQueue;
use crate::projects::ProjectChoice;
use flower_contract::error::Problem;
use flower_contract::view::MainProof;
use flower_core::landing::State;
use flower_git::{CommitId, Repo};
use flower_store::landings;
use std::time::Duration;

const FSCK: Duration = Duration::from_secs(30 * 60);
/// More landings than one flower makes.
const MOST: u64 = 100_000;

impl MergeQueue {
    pub async fn verify_main(&self, choice: &ProjectChoice) -> Result<MainProof, Problem> {
        let project = self.projects.require(choice).await?;
        let lock = self.lock_main(&project).await?;
        let (main, seen) = self.check_main(&lock).await?;
        let mut problems: Vec<String> = Vec::new();
        if let Some((_, text)) = seen.alarm(&main) {
            problems.push(text);
        }
        let (mut proved, mut unchecked, mut met_beginning) = (0, 0, false);
        let tip = seen.tip.map_or_else(|| CommitId::parse(&main.tip), Ok)?;
        // Where the landing began that the last commit belongs to: a rebased one has several.
        let mut inside: Option<String> = None;
        for line in first_parents(&lock.repository, &tip, MOST).await? {
            if main.began == line.commit.as_str() {
                met_beginning = true;
                break;
            }
            if inside.as_ref().is_some_and(|onto| *onto != line.commit.as_str()) {
                continue;
            }
            let of = line.commit.to_string();
            let recorded = self.store.read(move |conn| landings::by_merge_commit(conn, &of)).await?;
            match recorded {
                Some(landing) if matches!(landing.state, State::Landed | State::RolledBack) => {
                    proved += 1;
                    unchecked += u64::from(landing.checks.is_empty());
                    inside = landing.onto;
                }
                _ => {
                    inside = None;
                    let short = line.commit.short();
                    problems
                        .push(format!("{short} ({}) is on MAIN, and no landing of flower's brought it", line.subject));
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
        if let Err(stderr) = repo.with_deadline(FSCK).check_connectivity().await? {
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
