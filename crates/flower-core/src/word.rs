//! Enums whose variants are words in JSON, SQL and on the command line, defined by one list.

/// Defines an enum whose variants have one spelling everywhere, with the list of all variants and parsing that names the
/// choices. A word is a token, not a `literal`: derives see through it.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident ($what:literal) { $($(#[$vdoc:meta])* $variant:ident = $word:tt),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(serde::Serialize, serde::Deserialize)]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $word)] $variant),* }

        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word),* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = crate::Refusal;
            fn from_str(word: &str) -> Result<Self, Self::Err> {
                Self::ALL.iter().copied().find(|v| v.as_str() == word).ok_or_else(|| crate::Refusal::UnknownWord {
                    what: $what,
                    word: word.to_owned(),
                    choices: Self::ALL.iter().map(|v| v.as_str()).collect(),
                })
            }
        }
    };
}
pub(crate) use words;
