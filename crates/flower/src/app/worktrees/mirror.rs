//! The two ways between a private repository and MAIN's: commits come out as the worktree's branch, MAIN's tip goes in.
//! git on the private side runs inside a jail, always.

use super::observe::is_dirty;
use super::place::Place;
use super::private;
use super::refs::tip;
use crate::app::App;
use crate::app::projects::ProjectChoice;
use crate::error::{Problem, ProblemKind};
use crate::git;
use crate::view::SyncView;
use flower_core::worktree::{Seal, Stage};
use flower_core::{Refusal, Worktree};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

/// A large branch, on a slow disk.
const TRANSFER: Duration = Duration::from_secs(10 * 60);

impl App {
    /// Brings new commits out and MAIN's tip in, and merges it if nobody is at work there.
    pub async fn sync_worktree(&self, choice: &ProjectChoice, name: &str) -> Result<SyncView, Problem> {
        let worktree = self.worktree(choice, name).await?;
        let place = self.require_ready(&worktree).await?;
        let facts = self.facts_of(&worktree.project).await?;
        if place.seal == Seal::Sealed {
            self.mirror(&place).await?;
            self.hand_in(&place, &facts.main_branch, &facts.main_tip).await?;
        }
        let merged = self.bring_up_to_date(&place, &facts.main_branch, &facts.main_tip).await?;
        let worktree = self.observe(worktree).await?;
        Ok(SyncView { merged: merged.is_none(), reason: merged, worktree })
    }

    /// Ready, and where it should be.
    pub(in crate::app) async fn require_ready(&self, worktree: &Worktree) -> Result<Place, Problem> {
        if worktree.stage != Stage::Ready {
            return Err(Refusal::WorktreeStage { name: worktree.name.clone(), stage: worktree.stage }.into());
        }
        let place = self.place(worktree).await?;
        let evidence = match place.look() {
            super::place::Found::There => return Ok(place),
            super::place::Found::Missing => format!("{} is gone", place.tree.display()),
            super::place::Found::Unknown(evidence) => evidence,
        };
        Err(Problem::new(
            ProblemKind::Refused,
            format!("worktree `{}` is not where it should be: {evidence}", worktree.name),
            format!("put it back, or let flower do so: `flower worktree restore {}`", worktree.name),
        ))
    }

    /// Fetches the private branch into MAIN's repository, if anything moved there.
    pub(in crate::app) async fn mirror(&self, place: &Place) -> Result<(), Problem> {
        let turn = self.worktrees.turn(&place.folder);
        let _turn = turn.lock().await;
        let now = stamp(place);
        let before = fs::read_to_string(place.mirrored()).unwrap_or_default();
        let (seen, mirrored) = before.split_once('\n').unwrap_or((&before, ""));
        if seen == now {
            return Ok(());
        }
        let io = |error: std::io::Error| self.home.problem(&place.folder, &error);
        let old = tip(&place.repository, &place.full_branch()).await?;
        let launcher = private::launcher(place, &private::spec_for_git(place).map_err(io)?, "git").map_err(io)?;
        let branch = place.full_branch();
        let fresh = fresh(&place.name);
        let fetched = git::in_main(&place.repository)
            .args(["-c", "fetch.fsckObjects=true", "-c", "transfer.maxPackSize=0", "fetch", "--quiet", "--no-tags"])
            .args(["--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules"])
            .args([OsString::from("--upload-pack"), upload_pack(&launcher), place.private().into()])
            .args([format!("+{branch}:{fresh}")])
            .env("GIT_ALLOW_PROTOCOL", "file")
            .deadline(TRANSFER)
            .run()
            .await;
        fetched.map_err(|error| no_branch(place, error))?;
        let Some(new) = tip(&place.repository, &fresh).await? else {
            return Err(Problem::bug("git fetched a branch which is not there"));
        };
        let mut lines = vec![format!("delete {fresh}")];
        // What the operator committed here stays, as long as nothing was committed inside meanwhile.
        let operators_turn = old.as_deref().is_some_and(|old| old != mirrored) && new == mirrored;
        let moves = old.as_deref() != Some(new.as_str()) && !operators_turn;
        if moves {
            // Only if it still is where it was: the operator may be committing at this moment.
            lines.push(match &old {
                Some(old) => format!("update {branch} {new} {old}"),
                None => format!("create {branch} {new}"),
            });
        }
        if let (true, Some(old)) = (moves, &old) {
            // The private repository may have dropped its own copy of whatever MAIN's once had, so that stays.
            let is_ancestor = ["merge-base", "--is-ancestor", old, &new];
            if !git::in_main(&place.repository).args(is_ancestor).succeeds().await? {
                lines.push(format!("update {}{old} {old}", place.keep()));
            }
        }
        super::refs::update_refs(&place.repository, lines).await?;
        if moves {
            self.move_operators_index(place).await?;
        }
        fs::write(place.mirrored(), format!("{now}\n{new}")).map_err(io)
    }

    /// The operator's index follows the branch; files and what is known about them stay.
    async fn move_operators_index(&self, place: &Place) -> Result<(), Problem> {
        let Some(admin) = place.admin() else { return Ok(()) };
        git::in_linked(&place.repository, &admin, &place.tree).args(["read-tree", "--reset", "HEAD"]).run().await?;
        Ok(())
    }

    /// Lets what runs inside see MAIN's newest commit, as `origin/main`.
    pub(in crate::app) async fn hand_in(&self, place: &Place, main: &str, commit: &str) -> Result<(), Problem> {
        let io = |error: std::io::Error| self.home.problem(&place.folder, &error);
        // MAIN could be rewound; what was handed in once stays.
        let keep = format!("{}{commit}", place.keep());
        git::in_main(&place.repository).args(["update-ref", &keep, commit]).run().await?;
        let launcher = private::launcher(place, &private::spec_for_git(place).map_err(io)?, "git").map_err(io)?;
        git::in_jail(launcher).args(["update-ref", &format!("refs/remotes/origin/{main}"), commit]).run().await?;
        Ok(())
    }

    /// Merges MAIN's tip where nobody is at work. Gives the reason if it did not.
    async fn bring_up_to_date(&self, place: &Place, main: &str, commit: &str) -> Result<Option<String>, Problem> {
        let up_to_date = ["merge-base", "--is-ancestor", commit, &place.full_branch()];
        if git::in_main(&place.repository).args(up_to_date).succeeds().await? {
            return Ok(None);
        }
        if let Some(who) = super::remove::at_work(place) {
            return Ok(Some(format!("{who} is at work there; `origin/{main}` is there to be merged")));
        }
        if is_dirty(place).await? {
            return Ok(Some(format!("it has changes that are not committed; `origin/{main}` is there to be merged")));
        }
        let (merge, abort) = match place.seal {
            Seal::Sealed => {
                let io = |error: std::io::Error| self.home.problem(&place.folder, &error);
                let settings = crate::app::settings::WorktreeSettings::default();
                let mut spec = private::spec(&self.home, place, &settings, None).map_err(io)?;
                spec.network = crate::jail::Network::Closed;
                let launcher = private::launcher(place, &spec, "merge").map_err(io)?;
                (git::in_jail(launcher.clone()), git::in_jail(launcher))
            }
            Seal::Linked => {
                let admin = place.admin().ok_or_else(|| Problem::bug("a worktree that git does not know"))?;
                let linked = || git::in_linked(&place.repository, &admin, &place.tree).with_operators_settings();
                (linked(), linked())
            }
        };
        let merged = merge.args(["merge", "--no-edit", "--quiet", commit]).deadline(TRANSFER).output().await?;
        if merged.code == 0 {
            if place.seal == Seal::Sealed {
                self.mirror(place).await?;
            }
            return Ok(None);
        }
        abort.args(["merge", "--abort"]).output().await?;
        Err(Problem::new(
            ProblemKind::Conflict,
            format!("MAIN's tip does not merge into `{}`: {}", place.name, conflicts(&merged)),
            format!(
                "merge it inside and settle them: `flower worktree shell {} -- git merge origin/{main}`",
                place.name
            ),
        ))
    }
}

/// Whoever works inside can rename or delete the branch; then there is nothing to mirror.
fn no_branch(place: &Place, error: git::GitError) -> Problem {
    match &error {
        git::GitError::Failed { stderr, .. } if stderr.contains("couldn't find remote ref") => Problem::new(
            ProblemKind::Refused,
            format!("inside there is no branch `{}` any more", place.branch),
            format!("make it again: `flower worktree shell {} -- git branch {}`", place.name, place.branch),
        ),
        _ => error.into(),
    }
}

/// Notes that a private repository and MAIN's branch are the same, as they are when it was just made.
pub(super) fn note_mirrored(place: &Place, commit: &str) -> std::io::Result<()> {
    fs::write(place.mirrored(), format!("{}\n{commit}", stamp(place)))
}

/// What was fetched from the private repository before it is looked at.
pub(super) fn fresh(name: &str) -> String {
    format!("refs/flower/fresh/{name}")
}

/// The lines in which git names what does not merge.
fn conflicts(output: &git::Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("CONFLICT")).take(10).collect();
    if lines.is_empty() { output.stderr.clone() } else { lines.join("; ") }
}

/// What the private repository's branches look like from outside. Whoever is inside can lie about it, and only delays its
/// own mirror.
fn stamp(place: &Place) -> String {
    let private = place.private();
    let files = ["HEAD", "packed-refs", "logs/HEAD", "reftable", &place.full_branch()];
    let seen = files.map(|file| {
        fs::symlink_metadata(private.join(file))
            .map_or_else(|_| "-".to_owned(), |f| format!("{}.{}.{}.{}", f.ino(), f.size(), f.mtime(), f.mtime_nsec()))
    });
    seen.join(" ")
}

/// git hands this to a shell, together with the repository's path: every word is quoted.
fn upload_pack(launcher: &[OsString]) -> OsString {
    let mut text = OsString::new();
    for word in launcher.iter().map(OsString::as_os_str).chain(["git".as_ref(), "upload-pack".as_ref()]) {
        if !text.is_empty() {
            text.push(" ");
        }
        text.push(quoted(word));
    }
    text
}

fn quoted(word: &std::ffi::OsStr) -> OsString {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let mut bytes = vec![b'\''];
    for &byte in word.as_bytes() {
        if byte == b'\'' {
            bytes.extend_from_slice(br"'\''");
        } else {
            bytes.push(byte);
        }
    }
    bytes.push(b'\'');
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_the_shell_are_quoted() {
        assert_eq!(quoted("a b".as_ref()), "'a b'");
        assert_eq!(quoted("it's $(id) `x`".as_ref()), r"'it'\''s $(id) `x`'");
        assert_eq!(upload_pack(&["/a b/flower".into(), "jail".into()]), "'/a b/flower' 'jail' 'git' 'upload-pack'");
    }
}
