//! The checks: the project's own commands, run on what MAIN would be, in a jail. Only here a [`VerifiedCommit`] is made.

use crate::MergeQueue;
use crate::failpoint;
use crate::notify::ChangeHints;
use crate::settings::{CheckSettings, Settings};
use crate::worktrees::disk;
use crate::worktrees::facts::Facts;
use flower_contract::error::Problem;
use flower_contract::view::RunningCheck;
use flower_core::landing::{Check, Step};
use flower_core::{Caller, Command, Landing};
use flower_git::CommitId;
use flower_git::repository::Repository;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::time::{Instant, SystemTime};
use tokio::sync::watch;

/// Of one check's output: so much of the beginning, and so much of the end.
const HEAD: u64 = 4 << 20;
const TAIL: usize = 256 << 10;
const UNCHECKED: &str = "no checks are configured; `flower init` proposes some";

/// A commit that has passed the checks, on top of exactly the MAIN that it was made for.
#[derive(Debug)]
pub(crate) struct VerifiedCommit {
    commit: CommitId,
    landing: u64,
    note: Option<String>,
    commands: Option<String>,
}

impl VerifiedCommit {
    pub(crate) fn commit(&self) -> &CommitId {
        &self.commit
    }

    pub(crate) fn landing(&self) -> u64 {
        self.landing
    }

    pub(crate) fn note(&self) -> Option<String> {
        self.note.clone()
    }

    /// The digest of the commands that its `flower.toml` brings along, if any.
    pub(crate) fn commands(&self) -> Option<String> {
        self.commands.clone()
    }
}

pub(super) enum Outcome {
    Green(VerifiedCommit),
    /// Twice.
    Red(Check),
    /// Somebody said so.
    Stopped,
}

/// What is to be checked, and how.
pub(super) struct Job<'a> {
    pub(super) repository: &'a Repository,
    pub(super) landing: &'a Landing,
    /// All that would be new on MAIN's first-parent history, oldest first.
    pub(super) commits: &'a [CommitId],
    pub(super) facts: &'a Facts,
    pub(super) settings: &'a Settings,
    /// What runs, in order.
    pub(super) checks: &'a [(String, CheckSettings)],
}

/// In front of the name of a check that MAIN has and the landing removes or changes.
const BEFORE: &str = "before-";

/// The checks of the merged `flower.toml`, then those of MAIN that it removes or changes: a landing cannot lower the bar
/// for itself.
pub(super) fn planned(settings: &Settings, dropped: Vec<(String, CheckSettings)>) -> Vec<(String, CheckSettings)> {
    let before = dropped.into_iter().map(|(name, check)| (format!("{BEFORE}{name}"), check));
    settings.checks.0.iter().cloned().chain(before).collect()
}

/// Whether the name is that of a check which MAIN has and the landing removes or changes.
pub(super) fn is_dropped(name: &str, settings: &Settings) -> bool {
    name.starts_with(BEFORE) && settings.checks.0.iter().all(|(known, _)| known != name)
}

impl MergeQueue {
    pub(super) async fn check(&self, job: &Job<'_>, mut stop: watch::Receiver<bool>) -> Result<Outcome, Problem> {
        let number = job.landing.number;
        let commit = job.commits.last().cloned().ok_or_else(|| Problem::bug("a landing without a commit"))?;
        let commands = (!job.settings.commands().is_empty()).then(|| job.settings.commands_sha256());
        if job.checks.is_empty() {
            let note = Some(UNCHECKED.to_owned());
            return Ok(Outcome::Green(VerifiedCommit { commit, landing: number, note, commands }));
        }
        self.worktrees.require_jail().await?;
        let mut attempt = 0;
        for commit in job.commits {
            let mut red: Option<Check> = None;
            let mut tries = 0;
            loop {
                attempt += 1;
                tries += 1;
                let ran = tokio::select! {
                    ran = self.run_checks(job, commit, attempt) => ran?,
                    _ = stop.wait_for(|stop| *stop) => return Ok(Outcome::Stopped),
                };
                let failed = ran.iter().find(|check| !check.ok).cloned();
                let step = Step::ChecksRan { attempt, checks: ran };
                self.store.execute(&Caller::system(), Command::Landing { number, step }).await?;
                match (failed, red.take()) {
                    (Some(failed), _) if tries > job.settings.land.retries => return Ok(Outcome::Red(failed)),
                    (Some(failed), _) => red = Some(failed),
                    (None, Some(before)) => {
                        let step = Step::Flaked { check: before.name };
                        self.store.execute(&Caller::system(), Command::Landing { number, step }).await?;
                        break;
                    }
                    (None, None) => break,
                }
            }
        }
        failpoint::here("landing.checked");
        Ok(Outcome::Green(VerifiedCommit { commit, landing: number, note: None, commands }))
    }

    /// All of them, one after the other, until one fails.
    async fn run_checks(&self, job: &Job<'_>, commit: &CommitId, attempt: u64) -> Result<Vec<Check>, Problem> {
        let (number, project) = (job.landing.number, &job.landing.project);
        let folder = self.landing_folder(number);
        let io = |error: io::Error| self.home.problem(&folder, &error);
        disk::make_private(&folder).map_err(io)?;
        let mut ran = Vec::new();
        for (name, check) in job.checks {
            // A fresh one for each: what one check changes or leaves behind must not decide about the next.
            let candidate = self.candidate(job.repository, project, number, commit, job.facts, job.settings).await?;
            failpoint::here("landing.candidate");
            let log = log_name(attempt, name);
            let began = Instant::now();
            self.hints.publish(ChangeHints::LANDINGS);
            let code = run_bounded(&candidate.launcher, check, &candidate.place.tree, &folder.join(&log)).await;
            let code = code.map_err(io)?;
            let milliseconds = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
            let ok = code == 0;
            ran.push(Check { name: name.clone(), ok, code: code.into(), milliseconds, log });
            if !ok {
                break;
            }
        }
        Ok(ran)
    }
}

pub(super) fn log_name(attempt: u64, check: &str) -> String {
    format!("{attempt}-{check}.log")
}

/// Runs one check with its output in a file, which can be read meanwhile and does not grow without bound.
async fn run_bounded(
    launcher: &[std::ffi::OsString],
    check: &CheckSettings,
    dir: &Path,
    log: &Path,
) -> io::Result<i32> {
    let file = File::create(log)?;
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let keeping = tokio::task::spawn_blocking(move || keep(File::from(read), file));
    // A candidate whose folder the check has deleted is still a place to start from: its jail says where it is.
    let dir = if dir.is_dir() { dir } else { Path::new("/") };
    let write = File::from(write);
    let code = flower_jail::run_logged(launcher, &check.run, dir, &write, check.timeout).await;
    drop(write);
    keeping.await.map_err(io::Error::other)??;
    code
}

/// The beginning as it comes, then the end once it is over.
fn keep(mut from: File, mut log: File) -> io::Result<()> {
    let (mut written, mut left_out) = (0, 0);
    let mut end: VecDeque<u8> = VecDeque::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = from.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        let room = usize::try_from(HEAD - written).unwrap_or(0).min(count);
        // A full disk must not end the check; its exit code is what counts.
        let _ = log.write_all(&buffer[..room]);
        written += room as u64;
        end.extend(&buffer[room..count]);
        while end.len() > TAIL {
            let over = end.len() - TAIL;
            left_out += over as u64;
            end.drain(..over);
        }
    }
    if left_out > 0 {
        let _ = writeln!(log, "\n… {left_out} bytes are left out here …");
    }
    let (one, other) = end.as_slices();
    let _ = log.write_all(one).and_then(|()| log.write_all(other));
    Ok(())
}

/// The end of a log.
pub(super) fn tail(path: &Path, most: u64) -> Vec<u8> {
    let mut text = Vec::new();
    if let Ok(mut file) = File::open(path) {
        let size = file.metadata().map_or(0, |found| found.len());
        let _ = file.seek(io::SeekFrom::Start(size.saturating_sub(most)));
        let _ = file.take(most).read_to_end(&mut text);
    }
    text
}

/// The output of a check's newest run.
pub(super) fn newest_log(folder: &Path, check: &str) -> Option<std::path::PathBuf> {
    let (_, attempt, _) = logs(folder).into_iter().filter(|(_, _, name)| name == check).max()?;
    Some(folder.join(log_name(attempt, check)))
}

/// The check that is at it, beyond those that have `ended`.
pub(super) fn running(folder: &Path, ended: &[Check]) -> Option<RunningCheck> {
    let (_, attempt, name) = logs(folder).into_iter().max()?;
    let log = log_name(attempt, &name);
    ended.iter().all(|check| check.log != log).then_some(RunningCheck { name, attempt })
}

/// When each was last written, its attempt and its check. Attempts begin anew when a landing does, so only the time tells which
/// one is the newest.
fn logs(folder: &Path) -> Vec<(SystemTime, u64, String)> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let log = |entry: fs::DirEntry| {
        let name = entry.file_name();
        let (attempt, check) = name.to_str()?.strip_suffix(".log")?.split_once('-')?;
        Some((entry.metadata().ok()?.modified().ok()?, attempt.parse().ok()?, check.to_owned()))
    };
    entries.flatten().filter_map(log).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_kept_in_part() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        let mut flood = vec![b'a'; usize::try_from(HEAD).unwrap() + 3 * TAIL];
        flood.extend(b"the end");
        fs::write(&from, &flood).unwrap();
        keep(File::open(&from).unwrap(), File::create(&to).unwrap()).unwrap();
        let kept = fs::read(&to).unwrap();
        assert!(kept.len() < flood.len() && kept.len() > TAIL);
        assert!(kept.ends_with(b"the end"));
        assert!(String::from_utf8_lossy(&kept).contains("are left out here"));
        assert_eq!(tail(&to, 7), b"the end");
    }
}
