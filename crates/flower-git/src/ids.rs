//! Ids and names of git, validated when they are created.

use crate::GitError;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Deref;

mod sealed {
    pub trait Named {
        fn name(&self) -> &str;
    }
}

pub(crate) use sealed::Named;

/// The id of an object of any kind.
pub trait AnyObject: Named {}

/// A commit, by its id or by a ref.
pub trait Committish: Named {}

/// A tree or a commit, by its id or by a ref.
pub trait Treeish: Named {}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Fails unless the text has 40 or 64 hexadecimal digits.
            pub fn parse(text: &str) -> Result<$name, GitError> {
                let is_id = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
                match is_id {
                    true => Ok($name(text.to_ascii_lowercase())),
                    false => Err(bad($what, text)),
                }
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The first 12 digits, for people.
            pub fn short(&self) -> &str {
                &self.0[..12]
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = GitError;

            fn try_from(text: String) -> Result<$name, GitError> {
                $name::parse(&text)
            }
        }

        impl Named for $name {
            fn name(&self) -> &str {
                &self.0
            }
        }

        impl AnyObject for $name {}
    };
}

id!(
    /// The id of a commit.
    CommitId,
    "commit id"
);
id!(
    /// The id of a tree.
    TreeId,
    "tree id"
);
id!(
    /// The id of an object whose kind is not known or does not matter.
    ObjectId,
    "object id"
);

impl Committish for CommitId {}
impl Treeish for CommitId {}
impl Treeish for TreeId {}

impl From<CommitId> for ObjectId {
    fn from(id: CommitId) -> ObjectId {
        ObjectId(id.0)
    }
}

impl From<TreeId> for ObjectId {
    fn from(id: TreeId) -> ObjectId {
        ObjectId(id.0)
    }
}

impl CommitId {
    /// An object that is known to be a commit.
    pub fn of_object(id: ObjectId) -> CommitId {
        CommitId(id.0)
    }
}

/// The commit that is checked out.
#[derive(Clone, Copy, Debug)]
pub struct Head;

impl Named for Head {
    fn name(&self) -> &'static str {
        "HEAD"
    }
}

impl Treeish for Head {}

/// The full name of a ref, as in `refs/heads/main`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RefName(String);

impl RefName {
    /// Fails unless git allows the name below `refs/`.
    pub fn parse(text: &str) -> Result<RefName, GitError> {
        match is_ref(text) {
            true => Ok(RefName(text.to_owned())),
            false => Err(bad("name of a ref", text)),
        }
    }

    /// The ref of a branch, from its short name.
    pub fn branch(name: &str) -> Result<RefName, GitError> {
        RefName::parse(&format!("refs/heads/{name}"))
    }

    /// A name that git has listed, which needs no validation.
    pub(crate) fn listed(text: &str) -> RefName {
        RefName(text.to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RefName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for RefName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl From<RefName> for String {
    fn from(name: RefName) -> String {
        name.0
    }
}

impl TryFrom<String> for RefName {
    type Error = GitError;

    fn try_from(text: String) -> Result<RefName, GitError> {
        RefName::parse(&text)
    }
}

impl Named for RefName {
    fn name(&self) -> &str {
        &self.0
    }
}

impl Committish for RefName {}
impl Treeish for RefName {}

/// A ref that flower makes and moves itself: below `refs/flower/`, or a branch of a worktree below `refs/heads/flower/`. Only
/// these can be written by [`crate::Repo`], so that no operation of it moves MAIN's branch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnRef(RefName);

impl OwnRef {
    /// Fails unless it is the name of one of flower's own refs.
    pub fn parse(text: &str) -> Result<OwnRef, GitError> {
        OwnRef::of(RefName::parse(text)?)
    }

    /// The branch of a worktree, from its short name.
    pub fn branch(name: &str) -> Result<OwnRef, GitError> {
        OwnRef::of(RefName::branch(name)?)
    }

    /// Fails unless the name is one of flower's own.
    pub fn of(name: RefName) -> Result<OwnRef, GitError> {
        let is_own = ["refs/flower/", "refs/heads/flower/"].iter().any(|prefix| name.0.starts_with(prefix));
        if is_own { Ok(OwnRef(name)) } else { Err(bad("ref of flower's own", &name.0)) }
    }
}

impl Deref for OwnRef {
    type Target = RefName;

    fn deref(&self) -> &RefName {
        &self.0
    }
}

impl fmt::Display for OwnRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<OwnRef> for String {
    fn from(name: OwnRef) -> String {
        name.0.0
    }
}

impl Named for OwnRef {
    fn name(&self) -> &str {
        self.as_str()
    }
}

impl Committish for OwnRef {}
impl Treeish for OwnRef {}

fn bad(what: &'static str, text: &str) -> GitError {
    GitError::BadName { what, name: text.chars().take(100).collect() }
}

/// The rules of `git check-ref-format`, for a name below `refs/`.
fn is_ref(text: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    let is_forbidden = |c: char| c.is_ascii_control() || " ~^:?*[\\".contains(c);
    text.strip_prefix("refs/").is_some_and(|rest| rest.split('/').all(is_part))
        && !text.contains("..")
        && !text.contains("@{")
        && !text.ends_with('.')
        && !text.contains(is_forbidden)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_whole_hexadecimal_names() {
        let commit = CommitId::parse(&"AB12".repeat(10)).unwrap();
        assert_eq!((commit.as_str(), commit.short()), ("ab12".repeat(10).as_str(), "ab12ab12ab12"));
        assert!(CommitId::parse(&"0".repeat(64)).is_ok());
        for bad in ["", "HEAD", "ab12", &"g".repeat(40), &"0".repeat(41), &format!("-{}", "0".repeat(39))] {
            assert!(CommitId::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn refs_have_the_names_that_git_lets_them_have() {
        for good in ["refs/heads/main", "refs/heads/a/b-c", "refs/tags/v1.0", "refs/heads/ä", "refs/heads/-x"] {
            assert!(RefName::parse(good).is_ok(), "{good}");
        }
        let bad = [
            "main",
            "HEAD",
            "--all",
            "refs/",
            "refs/heads/",
            "refs//x",
            "refs/heads/.x",
            "refs/heads/x.lock",
            "refs/heads/x..y",
            "refs/heads/x^{tree}",
            "refs/heads/x y",
            "refs/heads/x\ny",
            "refs/heads/x@{1}",
            "refs/heads/x.",
        ];
        for bad in bad {
            assert!(RefName::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_flowers_refs_are_its_own() {
        assert!(OwnRef::parse("refs/flower/landing/7").is_ok());
        assert_eq!(OwnRef::branch("flower/w").unwrap().as_str(), "refs/heads/flower/w");
        for foreign in ["refs/heads/main", "refs/heads/flower", "refs/tags/flower/x", "refs/remotes/origin/main"] {
            assert!(OwnRef::parse(foreign).is_err(), "{foreign}");
        }
    }

    #[test]
    fn ids_are_stored_as_plain_text() {
        let commit = CommitId::parse(&"0a".repeat(20)).unwrap();
        let text = serde_json::to_string(&commit).unwrap();
        assert_eq!(text, format!("\"{commit}\""));
        assert_eq!(serde_json::from_str::<CommitId>(&text).unwrap(), commit);
        assert!(serde_json::from_str::<CommitId>("\"main\"").is_err());
    }
}
