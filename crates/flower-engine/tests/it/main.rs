//! The services without a daemon: a home, a store and a repository in a temporary directory, and no door. There is no jail
//! either, since the program holds it: sealed worktrees and checks are tested with the program.

mod briefs;
mod dispatch;
mod harness;
mod leases;
mod main_branch;
mod merge_queue;
mod overview;
mod registration;
mod worktrees;
