//! The ids of things that flower counts. Each kind has its own type, so that a brief cannot be taken for a landing. In
//! JSON, SQL and messages an id is a plain number.

/// Defines numbers that the compiler keeps apart.
macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl $name {
            pub fn next(self) -> $name {
                $name(self.0 + 1)
            }
        }

        impl From<u64> for $name {
            fn from(number: u64) -> $name {
                $name(number)
            }
        }

        impl From<$name> for u64 {
            fn from(id: $name) -> u64 {
                id.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }

        impl std::str::FromStr for $name {
            type Err = std::num::ParseIntError;

            fn from_str(text: &str) -> Result<$name, Self::Err> {
                text.parse().map($name)
            }
        }
    )*};
}

ids! {
    BriefId
    ScratchpadId
    WorktreeId
    LandingId
    DispatchId
    LeaseId
    MessageId
    AgentId
    PermissionId
    /// Counts the claims of a dispatch; 0 before the first. An answer with an older fence comes from an earlier holder.
    Fence
}

/// Ids as a list in a sentence: `3, 5, 8`.
pub fn list<Id: std::fmt::Display>(ids: &[Id]) -> String {
    ids.iter().map(Id::to_string).collect::<Vec<_>>().join(", ")
}
