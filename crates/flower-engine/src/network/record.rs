//! The hosts that programs in a network have asked for, kept in a file beside the worktree or the log of the check.

use super::policy::Refused;
use crate::notify::ChangeHints;
use flower_contract::view::HostView;
use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Hosts in one record; a program that scans names must not fill the disk.
const MAX_HOSTS: usize = 200;

#[derive(Debug)]
pub(super) struct Record {
    file: PathBuf,
    /// `host:port` and whether it was reached, of what is in the file.
    known: Mutex<HashSet<(String, bool)>>,
    hints: ChangeHints,
}

impl Record {
    pub(super) fn open(file: PathBuf, hints: ChangeHints) -> Record {
        let known = load(&file).into_iter().map(|host| (host.host, host.reached)).collect();
        Record { file, known: Mutex::new(known), hints }
    }

    pub(super) fn reached(&self, host: &str, port: u16) {
        self.add(host, port, true, None, None);
    }

    pub(super) fn refused(&self, host: &str, port: u16, refused: &Refused) {
        self.add(host, port, false, Some(refused.why.clone()), refused.remedy.clone());
    }

    fn add(&self, host: &str, port: u16, reached: bool, reason: Option<String>, remedy: Option<String>) {
        let host = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        let mut known = self.known.lock().expect("no panic while held");
        if known.len() >= MAX_HOSTS || !known.insert((host.clone(), reached)) {
            return;
        }
        let line = HostView { host, reached, reason, remedy, at: crate::now() };
        // The record informs; a full disk must not end the connection.
        let open = fs::OpenOptions::new().create(true).append(true).mode(0o600).open(&self.file);
        if let (Ok(mut file), Ok(mut text)) = (open, serde_json::to_vec(&line)) {
            text.push(b'\n');
            let _ = file.write_all(&text);
        }
        self.hints.publish(ChangeHints::WORKTREES);
    }
}

/// The hosts in a record, oldest first.
pub(crate) fn load(file: &Path) -> Vec<HostView> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).take(MAX_HOSTS).collect()
}

/// A record as lines for the end of a log; empty if no host was asked for.
pub(crate) fn summary(hosts: &[HostView]) -> String {
    let reached: Vec<&str> = hosts.iter().filter(|host| host.reached).map(|host| host.host.as_str()).collect();
    let mut text = String::new();
    if !reached.is_empty() {
        text.push_str(&format!("flower: hosts reached: {}\n", reached.join(", ")));
    }
    for host in hosts.iter().filter(|host| !host.reached) {
        text.push_str(&format!("flower: {}\n", refusal(host)));
    }
    text
}

/// Why a host was refused, and the setting that would allow it.
pub(crate) fn refusal(host: &HostView) -> String {
    let why = host.reason.as_deref().unwrap_or("the network does not allow it");
    let remedy = host.remedy.as_deref();
    let remedy = remedy.map_or_else(String::new, |line| format!("; `{line}` in `[worktree]` of flower.toml allows it"));
    format!("{} was refused: {why}{remedy}", host.host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_is_recorded_once_and_survives_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("network");
        let refused =
            Refused { why: "`allow` does not list it".into(), remedy: Some("allow = [\"b.example\"]".into()) };
        for _ in 0..2 {
            let record = Record::open(file.clone(), ChangeHints::default());
            for _ in 0..3 {
                record.reached("a.example", 443);
                record.refused("b.example", 443, &refused);
            }
        }
        let hosts = load(&file);
        assert_eq!(hosts.len(), 2);
        assert_eq!(
            summary(&hosts),
            "flower: hosts reached: a.example:443\nflower: b.example:443 was refused: `allow` does not list it; \
             `allow = [\"b.example\"]` in `[worktree]` of flower.toml allows it\n"
        );
        let record = Record::open(file.clone(), ChangeHints::default());
        (0..2 * MAX_HOSTS).for_each(|n| record.reached(&format!("h{n}.example"), 443));
        assert_eq!(load(&file).len(), MAX_HOSTS);
    }
}
