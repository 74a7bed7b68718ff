//! Each family of operations on a real repository: what it does, what it answers when something is missing, odd names, and that
//! nothing which the repository configures runs.

#![expect(clippy::cloned_ref_to_slice_refs, reason = "a list of one reads better in an assertion")]

mod checkout;
mod fixture;
mod harmless;
mod history;
mod objects;
mod packs;
mod refs;
mod remotes;
mod trees;
