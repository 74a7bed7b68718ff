//! Runs the project's checks, in a jail, on what MAIN would be after a landing. Only this file makes a [`VerifiedCommit`].

use super::runner::Attempt;
use crate::MergeQueue;
use crate::failpoint;
use crate::network::record;
use crate::notify::ChangeHints;
use crate::settings::{CheckSettings, Settings};
use crate::worktrees::disk;

use flower_contract::error::Problem;
use flower_contract::view::RunningCheck;
use flower_core::landing::{Check, Step};
use flower_core::{Caller, Command, LandingId};
use flower_git::CommitId;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::time::{Instant, SystemTime};
use tokio::sync::watch;

/// Bytes of a check's output that are kept: its beginning and its end.
const LOG_HEAD_BYTES: u64 = 4 << 20;
const LOG_TAIL_BYTES: usize = 256 << 10;
const NO_CHECKS_NOTE: &str = "no checks are configured; `flower init` proposes some";

/// Proof that a commit has passed the checks of its landing.
#[derive(Debug)]
pub(crate) struct VerifiedCommit {
    commit: CommitId,
    landing: LandingId,
    note: Option<String>,
    commands: Option<String>,
}

impl VerifiedCommit {
    pub(crate) fn commit(&self) -> &CommitId {
        &self.commit
    }

    pub(crate) fn landing(&self) -> LandingId {
        self.landing
    }

    pub(crate) fn note(&self) -> Option<String> {
        self.note.clone()
    }

    /// The digest of the commands in its `flower.toml`, if it has any.
    pub(crate) fn commands(&self) -> Option<String> {
        self.commands.clone()
    }
}

pub(super) enum ChecksResult {
    Passed(VerifiedCommit),
    /// This check failed in every retry that the settings allow.
    Failed(Check),
    /// The landing was cancelled or replaced, or everything was halted.
    Stopped,
}

/// Prefix of the name of a check that MAIN has and the landing removes or changes.
const DROPPED_PREFIX: &str = "before-";

/// The checks of the merged `flower.toml`, then those of MAIN that it removes or changes: a landing must not weaken the
/// checks that it has to pass.
pub(super) fn planned_checks(
    settings: &Settings,
    dropped: Vec<(String, CheckSettings)>,
) -> Vec<(String, CheckSettings)> {
    let dropped = dropped.into_iter().map(|(name, check)| (format!("{DROPPED_PREFIX}{name}"), check));
    settings.checks.0.iter().cloned().chain(dropped).collect()
}

/// Whether MAIN has the check of this name and the landing removes or changes it.
pub(super) fn is_dropped(name: &str, settings: &Settings) -> bool {
    name.starts_with(DROPPED_PREFIX) && settings.checks.0.iter().all(|(known, _)| known != name)
}

impl MergeQueue {
    /// Runs the checks on each of `commits`, the new commits of MAIN's first-parent history, oldest first.
    pub(super) async fn check(
        &self,
        attempt: &Attempt,
        commits: &[CommitId],
        checks: &[(String, CheckSettings)],
        mut stop: watch::Receiver<bool>,
    ) -> Result<ChecksResult, Problem> {
        let (number, settings) = (attempt.landing.number, &attempt.settings);
        let commit = commits.last().cloned().ok_or_else(|| Problem::bug("a landing without a commit"))?;
        let commands = (!settings.commands().is_empty()).then(|| settings.commands_sha256());
        if checks.is_empty() {
            let note = Some(NO_CHECKS_NOTE.to_owned());
            return Ok(ChecksResult::Passed(VerifiedCommit { commit, landing: number, note, commands }));
        }
        self.worktrees.require_jail().await?;
        // Numbers the runs of all commits, so that each has its own log.
        let mut run = 0;
        for commit in commits {
            let mut failed_before: Option<Check> = None;
            let mut tries = 0;
            loop {
                run += 1;
                tries += 1;
                let ran = tokio::select! {
                    ran = self.run_checks(attempt, commit, checks, run) => ran?,
                    _ = stop.wait_for(|stop| *stop) => return Ok(ChecksResult::Stopped),
                };
                let failed = ran.iter().find(|check| !check.ok).cloned();
                let step = Step::ChecksRan { attempt: run, checks: ran };
                self.store.execute(&Caller::system(), Command::Landing { number, step }).await?;
                match (failed, failed_before.take()) {
                    (Some(failed), _) if tries > settings.land.retries => return Ok(ChecksResult::Failed(failed)),
                    (Some(failed), _) => failed_before = Some(failed),
                    // The same commit failed and passed: the check is flaky.
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
        Ok(ChecksResult::Passed(VerifiedCommit { commit, landing: number, note: None, commands }))
    }

    /// Runs the checks one after the other until one fails.
    async fn run_checks(
        &self,
        attempt: &Attempt,
        commit: &CommitId,
        checks: &[(String, CheckSettings)],
        run: u64,
    ) -> Result<Vec<Check>, Problem> {
        let folder = self.landing_folder(attempt.landing.number);
        let io = |error: io::Error| self.home.problem(&folder, &error);
        disk::make_private(&folder).map_err(io)?;
        let mut ran = Vec::new();
        for (name, check) in checks {
            // A fresh candidate for each check: files that one check changes or leaves must not affect the next.
            let candidate = self.make_candidate(attempt, commit).await?;
            failpoint::here("landing.candidate");
            let log = log_name(run, name);
            let began = Instant::now();
            self.hints.publish(ChangeHints::LANDINGS);
            let code = run_bounded(&candidate.launcher, check, &candidate.paths.tree, &folder.join(&log)).await;
            let code = code.map_err(io)?;
            append_hosts(&folder.join(&log), &candidate.paths.network_record());
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

pub(super) fn log_name(run: u64, check: &str) -> String {
    format!("{run}-{check}.log")
}

/// Runs one check with its output in a file of bounded size, which can be read meanwhile.
async fn run_bounded(
    launcher: &[std::ffi::OsString],
    check: &CheckSettings,
    dir: &Path,
    log: &Path,
) -> io::Result<i32> {
    let file = File::create(log)?;
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let logging = tokio::task::spawn_blocking(move || write_bounded_log(File::from(read), file));
    // The check may have deleted its folder; the jail has its own working directory, so any folder will do outside.
    let dir = if dir.is_dir() { dir } else { Path::new("/") };
    let write = File::from(write);
    let code = flower_jail::run_logged(launcher, &check.run, dir, &write, check.timeout).await;
    drop(write);
    logging.await.map_err(io::Error::other)??;
    code
}

/// Adds the hosts that a check asked for to its log.
fn append_hosts(log: &Path, record: &Path) {
    let summary = record::summary(&record::load(record));
    if !summary.is_empty() {
        // The log informs; only the exit code decides.
        let _ = File::options().append(true).open(log).and_then(|mut log| log.write_all(summary.as_bytes()));
    }
}

/// Writes the beginning of the output as it arrives, and its end once it is complete.
fn write_bounded_log(mut from: File, mut log: File) -> io::Result<()> {
    let (mut written, mut left_out) = (0, 0);
    let mut end: VecDeque<u8> = VecDeque::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = from.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        let room = usize::try_from(LOG_HEAD_BYTES - written).unwrap_or(0).min(count);
        // A full disk must not end the check: only its exit code decides.
        let _ = log.write_all(&buffer[..room]);
        written += room as u64;
        end.extend(&buffer[room..count]);
        while end.len() > LOG_TAIL_BYTES {
            let over = end.len() - LOG_TAIL_BYTES;
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

/// The last `max_bytes` of a log.
pub(super) fn tail(path: &Path, max_bytes: u64) -> Vec<u8> {
    let mut text = Vec::new();
    if let Ok(mut file) = File::open(path) {
        let size = file.metadata().map_or(0, |found| found.len());
        let _ = file.seek(io::SeekFrom::Start(size.saturating_sub(max_bytes)));
        let _ = file.take(max_bytes).read_to_end(&mut text);
    }
    text
}

/// The log of a check's newest run.
pub(super) fn newest_log(folder: &Path, check: &str) -> Option<std::path::PathBuf> {
    let (_, run, _) = logs(folder).into_iter().filter(|(_, _, name)| name == check).max()?;
    Some(folder.join(log_name(run, check)))
}

/// The check that is running: the newest log that belongs to none of the `ended` checks.
pub(super) fn running(folder: &Path, ended: &[Check]) -> Option<RunningCheck> {
    let (_, attempt, name) = logs(folder).into_iter().max()?;
    let log = log_name(attempt, &name);
    ended.iter().all(|check| check.log != log).then_some(RunningCheck { name, attempt })
}

/// The logs of a landing: time of the last write, run and check. Runs are numbered from 1 again in each attempt to land, so only the
/// time tells which log is the newest.
fn logs(folder: &Path) -> Vec<(SystemTime, u64, String)> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let log = |entry: fs::DirEntry| {
        let name = entry.file_name();
        let (run, check) = name.to_str()?.strip_suffix(".log")?.split_once('-')?;
        Some((entry.metadata().ok()?.modified().ok()?, run.parse().ok()?, check.to_owned()))
    };
    entries.flatten().filter_map(log).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_output_is_kept_in_part() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        let mut output = vec![b'a'; usize::try_from(LOG_HEAD_BYTES).unwrap() + 3 * LOG_TAIL_BYTES];
        output.extend(b"the end");
        fs::write(&from, &output).unwrap();
        write_bounded_log(File::open(&from).unwrap(), File::create(&to).unwrap()).unwrap();
        let kept = fs::read(&to).unwrap();
        assert!(kept.len() < output.len() && kept.len() > LOG_TAIL_BYTES);
        assert!(kept.ends_with(b"the end"));
        assert!(String::from_utf8_lossy(&kept).contains("are left out here"));
        assert_eq!(tail(&to, 7), b"the end");
    }
}
