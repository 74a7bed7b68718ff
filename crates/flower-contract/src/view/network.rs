//! Views of the networks of worktrees and checks.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What programs inside can reach, from the narrowest to the widest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NetworkMode {
    /// Flower and the ports of `connect`.
    Closed,
    /// Also hosts on ports 80 and 443, or those of `allow`, through flower's proxy.
    #[default]
    Web,
    /// The host's network, without restriction.
    Open,
}

impl NetworkMode {
    pub fn as_str(self) -> &'static str {
        match self {
            NetworkMode::Closed => "closed",
            NetworkMode::Web => "web",
            NetworkMode::Open => "open",
        }
    }
}

/// The network of a worktree, and the hosts that programs in it have asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NetworkView {
    pub mode: NetworkMode,
    /// Oldest first; the number of hosts is bounded.
    pub hosts: Vec<HostView>,
}

/// A host that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HostView {
    /// `example.com:443`
    pub host: String,
    pub reached: bool,
    /// Why it was refused or could not be reached.
    pub reason: Option<String>,
    /// The setting that would allow it.
    pub remedy: Option<String>,
    /// When it was first asked for.
    pub at: String,
}
