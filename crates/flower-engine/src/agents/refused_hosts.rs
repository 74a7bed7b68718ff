//! Notes in an agent's transcript about hosts that its network refuses.

use super::transcript::Transcript;
use crate::network::failure::misses_network;
use crate::network::record;
use std::convert::Infallible;
use std::path::PathBuf;
use std::time::Duration;

const INTERVAL: Duration = Duration::from_secs(2);

/// Follows the record of a network while an agent runs.
pub(super) struct RefusedHosts<'a> {
    record: PathBuf,
    transcript: &'a Transcript,
    /// Entries of the record that are older than this run, or noted.
    seen: usize,
}

impl<'a> RefusedHosts<'a> {
    pub(super) fn new(record: PathBuf, transcript: &'a Transcript) -> RefusedHosts<'a> {
        let seen = record::load(&record).len();
        RefusedHosts { record, transcript, seen }
    }

    pub(super) async fn follow(&mut self) -> Infallible {
        loop {
            tokio::time::sleep(INTERVAL).await;
            self.note_new();
        }
    }

    pub(super) fn note_new(&mut self) {
        let hosts = record::load(&self.record);
        for host in hosts.iter().skip(self.seen).filter(|host| !host.reached) {
            self.transcript.add_note(record::refusal(host));
        }
        self.seen = self.seen.max(hosts.len());
    }

    /// After a failure: names the network as the likely cause, if the last output says so.
    pub(super) fn explain_failure(&self) {
        let output = self.transcript.last_output().unwrap_or_default();
        if misses_network(&output) {
            self.transcript.add_note(
                "its last output names a failed connection: only hosts that the network allows are reached, and only through the \
                 proxy in `HTTPS_PROXY`; `flower worktree show` lists what was refused",
            );
        }
    }
}
