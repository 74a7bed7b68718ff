//! `[worktree]`: what programs inside find, reach and may read.

use crate::network::{HostPattern, MAX_FORWARDED, NetworkPolicy};
use flower_contract::view::NetworkMode;
use serde::Deserialize;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WorktreeSettings {
    /// Files and folders of MAIN that every worktree sees, read-only.
    pub playbooks: Vec<String>,
    /// Commands that make a new worktree ready, run inside its jail.
    pub setup: Vec<String>,
    /// Ignored folders of MAIN that a new worktree gets a copy of.
    pub carry: Vec<String>,
    /// The network of programs inside; the web by default.
    pub network: Option<NetworkMode>,
    /// With the web: the only hosts that programs inside may reach, if any are listed, such as `*.example.com` or `example.com:8443`.
    pub allow: Vec<HostPattern>,
    /// Hosts that programs inside may not reach.
    pub deny: Vec<HostPattern>,
    /// Ports of this machine's loopback that programs inside find at the same port, with every network.
    pub connect: Vec<u16>,
    /// Further paths that programs inside may read.
    pub read: Vec<std::path::PathBuf>,
    /// Which objects of MAIN's repository programs inside may read.
    pub objects: Objects,
    /// Whether the repository's own hooks run on commits inside.
    pub hooks: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Objects {
    /// Those reachable from MAIN's recorded tip, its tags and its remote-tracking branches, from a copy of them.
    #[default]
    Reachable,
    /// All of them, from MAIN's repository itself: for one that is too large to be copied.
    All,
}

impl WorktreeSettings {
    /// What cannot be meant.
    pub(super) fn contradiction(&self) -> Option<String> {
        if !self.allow.is_empty() && matches!(self.network, Some(NetworkMode::Closed | NetworkMode::Open)) {
            return Some("`allow` has an effect only with `network = \"web\"` in `[worktree]`".to_owned());
        }
        if self.connect.contains(&0) {
            return Some("0 in `connect` of `[worktree]` is no port".to_owned());
        }
        (self.connect.len() > MAX_FORWARDED)
            .then(|| format!("`connect` of `[worktree]` lists more than {MAX_FORWARDED} ports"))
    }

    pub(crate) fn network_policy(&self) -> NetworkPolicy {
        NetworkPolicy {
            mode: self.network.unwrap_or_default(),
            allow: vec![self.allow.clone()],
            deny: self.deny.clone(),
            connect: self.connect.clone(),
        }
    }
}
