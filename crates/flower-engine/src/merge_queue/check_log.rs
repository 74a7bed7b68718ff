//! The output of checks: runs a command with its output in a file of bounded size, and reads such files.

use crate::network::failure::misses_network;
use crate::network::record;
use crate::settings::CheckSettings;
use flower_contract::view::NetworkMode;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Bytes of a check's output that are kept: its beginning and its end.
const LOG_HEAD_BYTES: u64 = 4 << 20;
const LOG_TAIL_BYTES: usize = 256 << 10;
/// The end of a failed check's output in which signs of a missing network are looked for.
const HINT_BYTES: u64 = 64 << 10;

/// A command that runs in a candidate.
pub(super) struct LoggedCommand<'a> {
    pub(super) text: &'a str,
    pub(super) timeout: Duration,
}

impl<'a> From<&'a CheckSettings> for LoggedCommand<'a> {
    fn from(check: &'a CheckSettings) -> LoggedCommand<'a> {
        LoggedCommand { text: &check.run, timeout: check.timeout }
    }
}

pub(super) fn log_name(run: u64, check: &str) -> String {
    format!("{run}-{check}.log")
}

/// Runs commands one after the other until one fails, with their output in a file of bounded size, which can be read meanwhile.
/// Returns the exit code of the last one. Several commands are each written before their output.
pub(super) async fn run_logged(
    launcher: &[OsString],
    commands: &[LoggedCommand<'_>],
    dir: &Path,
    log: &Path,
) -> io::Result<i32> {
    let file = File::create(log)?;
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let logging = tokio::task::spawn_blocking(move || write_bounded_log(File::from(read), file));
    let mut write = File::from(write);
    let mut code = Ok(0);
    for command in commands {
        if commands.len() > 1 {
            writeln!(write, "$ {}", command.text)?;
        }
        // The command may have deleted its folder; the jail has its own working directory, so any folder will do outside.
        let dir = if dir.is_dir() { dir } else { Path::new("/") };
        code = flower_jail::run_logged(launcher, command.text, dir, &write, command.timeout).await;
        if !matches!(code, Ok(0)) {
            break;
        }
    }
    drop(write);
    logging.await.map_err(io::Error::other)??;
    code
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

/// A log from byte `after` on, at most `max_bytes` of it.
pub(super) fn read_from(path: &Path, after: u64, max_bytes: u64) -> Vec<u8> {
    let mut text = Vec::new();
    if let Ok(mut file) = File::open(path)
        && file.seek(io::SeekFrom::Start(after)).is_ok()
    {
        let _ = file.take(max_bytes).read_to_end(&mut text);
    }
    text
}

/// The log of a check's newest run.
pub(super) fn newest_log(folder: &Path, check: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?;
    // Runs are numbered from 1 again in each attempt to land, so only the time tells which log is the newest.
    let log = |entry: fs::DirEntry| -> Option<(SystemTime, u64)> {
        let name = entry.file_name();
        let (run, of) = name.to_str()?.strip_suffix(".log")?.split_once('-')?;
        (of == check).then_some((entry.metadata().ok()?.modified().ok()?, run.parse().ok()?))
    };
    let (_, run) = entries.flatten().filter_map(log).max()?;
    Some(folder.join(log_name(run, check)))
}

/// Appends the hosts that a command asked for to its log.
pub(super) fn add_hosts(log: &Path, record: &Path) {
    let summary = record::summary(&record::load(record));
    if !summary.is_empty() {
        // The log informs; only the exit code decides.
        let _ = File::options().append(true).open(log).and_then(|mut log| log.write_all(summary.as_bytes()));
    }
}

/// Appends a line to the log of a failed command that had no network, if its output looks as if it needed one.
pub(super) fn add_network_hint(log: &Path, network: NetworkMode, is_prepare: bool) {
    let output = tail(log, HINT_BYTES);
    if network != NetworkMode::Closed || !misses_network(&String::from_utf8_lossy(&output)) {
        return;
    }
    let hint = if is_prepare {
        "flower: it ran without a network, because flower.toml says `[worktree] network = \"closed\"`"
    } else {
        "flower: checks have no network. What must be fetched belongs into `[checks] prepare`, which has the network of \
         worktrees; a check that needs it says `network = \"web\"`"
    };
    let gap = if output.ends_with(b"\n") { "" } else { "\n" };
    let _ = File::options().append(true).open(log).and_then(|mut file| writeln!(file, "{gap}{hint}"));
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
        assert_eq!(read_from(&to, 0, 3), b"aaa");
    }

    #[test]
    fn the_hint_is_added_only_to_a_command_without_a_network() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("1-test.log");
        for (network, is_prepare, says) in [
            (NetworkMode::Closed, false, Some("[checks] prepare")),
            (NetworkMode::Closed, true, Some("[worktree] network")),
            (NetworkMode::Web, false, None),
        ] {
            fs::write(&log, "getaddrinfo EAI_AGAIN registry.example").unwrap();
            add_network_hint(&log, network, is_prepare);
            let text = fs::read_to_string(&log).unwrap();
            assert_eq!(text.lines().count(), if says.is_some() { 2 } else { 1 }, "{text}");
            assert!(says.is_none_or(|says| text.contains(says)), "{text}");
        }
    }
}
