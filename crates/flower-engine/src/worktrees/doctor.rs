//! Checks whether the log, git and the disk agree about worktrees.

use super::paths::{TreeState, keep};
use super::remove::archive;
use super::{disk, reclaim};
use crate::Worktrees;
use crate::findings::{bad, mended, ok};
use crate::own_refs::pins;
use crate::own_refs::{SAVED, UPSTREAM};
use flower_contract::error::Problem;
use flower_contract::view::Finding;
use flower_core::Worktree;
use flower_core::worktree::Stage;
use flower_git::repository::Repository;
use flower_git::{ObjectId, OwnRef, RefUpdates, Repo};
use flower_store::{landings, worktrees};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

impl Worktrees {
    pub(crate) async fn check_all(&self, fix: bool) -> Result<Vec<Finding>, Problem> {
        let live = self.store.read(|conn| worktrees::live(conn, None)).await?;
        let kept = self.store.read(|conn| worktrees::removed(conn, None)).await?;
        let mut findings = self.check_directories(&live).await;
        findings.extend(self.check_leftover_directories(&live, &kept, fix));
        findings.extend(self.check_leftover_objects(fix).await?);
        for project in self.projects.list().await? {
            let Ok(repository) = self.repository_of(&project) else { continue };
            findings.push(self.check_leftover_refs(&project.name, &repository, &live, &kept, fix).await?);
            findings.push(self.check_leftover_admin(&repository, &live, fix));
            findings.push(self.check_objects(&project.name, &repository, fix).await);
        }
        Ok(findings)
    }

    /// Checks that the directory of every live worktree is in place.
    async fn check_directories(&self, live: &[Worktree]) -> Vec<Finding> {
        let mut findings = Vec::new();
        for worktree in live.iter().filter(|worktree| worktree.stage == Stage::Ready) {
            let evidence = match self.paths(worktree).await.map(|place| place.tree_state()) {
                Ok(TreeState::Present) => continue,
                Ok(TreeState::Missing) => "its directory is gone".to_owned(),
                Ok(TreeState::Unknown(evidence)) => evidence,
                // The finding about the repository says what helps.
                Err(_) if self.repository(&worktree.project).await.is_err() => continue,
                Err(problem) => problem.message,
            };
            let fix = format!("`flower worktree restore {0}`, or `flower worktree remove {0}`", worktree.name);
            findings.push(bad("worktree", format!("{}: {evidence}", worktree.name), fix));
        }
        if findings.is_empty() {
            findings.push(ok("worktree", format!("{} worktrees are where they should be", live.len())));
        }
        findings
    }

    /// Finds directories below FLOWER_HOME that belong to no worktree. They may contain work, so they are moved, never deleted.
    fn check_leftover_directories(&self, live: &[Worktree], kept: &[Worktree], fix: bool) -> Vec<Finding> {
        let known = |base: PathBuf| -> HashSet<PathBuf> {
            live.iter().map(|worktree| self.home.in_project(&base, &worktree.project).join(&worktree.name)).collect()
        };
        let mut strange = Vec::new();
        for base in [self.home.worktrees(), self.home.seals()] {
            let expected = known(base.clone());
            let found = below(&base).into_iter().flat_map(|project| below(&project));
            strange.extend(found.filter(|path| !expected.contains(path)));
        }
        let archives: HashSet<PathBuf> =
            kept.iter().chain(live).map(|worktree| archive(&self.home, worktree.number)).collect();
        let is_ours =
            |path: &PathBuf| path.file_name().is_some_and(|n| n.as_encoded_bytes().iter().all(u8::is_ascii_digit));
        strange
            .extend(below(&self.home.archive()).into_iter().filter(|path| is_ours(path) && !archives.contains(path)));
        if strange.is_empty() {
            return vec![ok("leftovers", "no directory is left over")];
        }
        let mend = |path: PathBuf| {
            let evidence = format!("{} belongs to no worktree", path.display());
            if !fix {
                let fix = "`flower doctor --fix` moves it to FLOWER_HOME/archive/leftovers";
                return bad("leftovers", evidence, fix);
            }
            let name = path.strip_prefix(self.home.dir()).unwrap_or(&path).to_string_lossy().replace('/', "-");
            let stamp = crate::now().replace([':', '.'], "-");
            let to = self.home.archive().join("leftovers").join(format!("{name}-{stamp}"));
            let done = disk::make_private(&self.home.archive()).and_then(|()| disk::move_replacing(&path, &to));
            mended(
                "leftovers",
                evidence,
                done.map(|()| format!("moved to {}", to.display())).map_err(|e| e.to_string()),
            )
        };
        strange.into_iter().map(mend).collect()
    }

    /// Checks that the object store of a project is complete.
    async fn check_objects(&self, project: &str, repository: &Repository, fix: bool) -> Finding {
        let wrong = match self.verify_objects(project, repository).await {
            Ok(evidence) => return ok("objects", evidence),
            Err(problem) => problem.message,
        };
        if !fix {
            return bad("objects", wrong, "`flower doctor --fix` makes it again; nothing is lost");
        }
        let made = self.remake_objects(project, repository).await;
        mended("objects", wrong, made.map(|()| "made again".into()).map_err(|problem| problem.message))
    }

    /// Finds object stores of projects that do not exist any more.
    async fn check_leftover_objects(&self, fix: bool) -> Result<Option<Finding>, Problem> {
        let projects: HashSet<PathBuf> = self
            .projects
            .list()
            .await?
            .iter()
            .map(|project| self.home.in_project(self.home.objects(), &project.name))
            .collect();
        let strange: Vec<PathBuf> =
            below(&self.home.objects()).into_iter().filter(|path| !projects.contains(path)).collect();
        if strange.is_empty() {
            return Ok(None);
        }
        let evidence = strange.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
        if !fix {
            let fix = "`flower doctor --fix` deletes it: it is a copy that nothing reads";
            return Ok(Some(bad("objects", format!("{evidence} belongs to no project"), fix)));
        }
        strange.iter().for_each(|path| reclaim(&self.home, path));
        Ok(Some(mended("objects", evidence, Ok("deleted".into()))))
    }

    /// Finds refs of worktrees, archives and landings that have ended. A commit that no other ref reaches may be work: its ref moves to
    /// `refs/flower/saved` instead of being deleted.
    async fn check_leftover_refs(
        &self,
        project: &str,
        repository: &Repository,
        live: &[Worktree],
        kept: &[Worktree],
        fix: bool,
    ) -> Result<Finding, Problem> {
        let of_project = |worktree: &&Worktree| worktree.project == project;
        let mut needed: Vec<String> = live.iter().filter(of_project).map(|worktree| keep(&worktree.name)).collect();
        let archived = kept.iter().chain(live).filter(of_project);
        needed.extend(archived.map(|worktree| super::remove::archive_refs(worktree.number)));
        // Refs of `main restore`, `main rescue` and `main pull`.
        needed.extend([SAVED, UPSTREAM].map(|folder| format!("{folder}/")));
        let of = project.to_owned();
        let open = self.store.read(move |conn| landings::open(conn, Some(&of))).await?;
        let pins: HashSet<OwnRef> = open.iter().flat_map(|landing| pins(landing.number)).collect();
        let (mut strange, mut saved) = (Vec::new(), 0);
        for (name, object) in Repo::main(repository).own_refs_below("refs/flower/").await? {
            saved += usize::from(name.as_str().starts_with(SAVED));
            if !pins.contains(&name) && !needed.iter().any(|prefix| name.as_str().starts_with(prefix.as_str())) {
                strange.push((name, object));
            }
        }
        if strange.is_empty() {
            let kept =
                if saved == 0 { String::new() } else { format!("; {saved} below {SAVED} keep what was in MAIN") };
            return Ok(ok("refs", format!("no ref is left over in {}{kept}", repository.root.display())));
        }
        let evidence = strange.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
        if !fix {
            let fix = "`flower doctor --fix` deletes those whose commits another ref reaches, and moves the others to \
                       refs/flower/saved";
            return Ok(bad("refs", evidence, fix));
        }
        let done = delete_or_save(repository, strange).await;
        Ok(mended("refs", evidence, done.map_err(|problem| problem.message)))
    }

    /// Deletes the refs that [`Self::check_leftover_refs`] finds. Commits that nothing else reaches are kept below [`SAVED`].
    pub(super) async fn forget_leftover_refs(&self, project: &str, repository: &Repository) -> Result<(), Problem> {
        let live = self.store.read(|conn| worktrees::live(conn, None)).await?;
        let kept = self.store.read(|conn| worktrees::removed(conn, None)).await?;
        self.check_leftover_refs(project, repository, &live, &kept, true).await.map(drop)
    }

    /// Finds worktrees that git lists although flower has removed them.
    fn check_leftover_admin(&self, repository: &Repository, live: &[Worktree], fix: bool) -> Finding {
        let ours = self.home.worktrees().canonicalize().unwrap_or_else(|_| self.home.worktrees());
        let expected: HashSet<PathBuf> =
            live.iter().map(|worktree| self.home.in_project(&ours, &worktree.project).join(&worktree.name)).collect();
        let strange: Vec<PathBuf> = below(&repository.git_dir.join("worktrees"))
            .into_iter()
            .filter(|admin| {
                let Ok(line) = fs::read_to_string(admin.join("gitdir")) else { return false };
                let tree = Path::new(line.trim_end()).parent().unwrap_or(Path::new("")).to_owned();
                tree.starts_with(&ours) && !expected.contains(&tree) && !tree.exists()
            })
            .collect();
        if strange.is_empty() {
            return ok(
                "git worktrees",
                format!("git lists no missing worktree of flower in {}", repository.root.display()),
            );
        }
        let evidence = strange.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
        if !fix {
            return bad("git worktrees", evidence, "`flower doctor --fix` removes them from git's list");
        }
        strange.iter().for_each(|path| reclaim(&self.home, path));
        mended("git worktrees", evidence, Ok("removed from git's list".into()))
    }
}

/// Deletes refs whose commits a branch, a tag or a saved ref reaches, and moves the others below [`SAVED`], in one
/// transaction. Returns a description of what was done.
async fn delete_or_save(repository: &Repository, refs: Vec<(OwnRef, ObjectId)>) -> Result<String, Problem> {
    const ELSEWHERE: [&str; 4] = ["refs/heads", "refs/tags", "refs/remotes", SAVED];
    let repo = Repo::main(repository);
    let mut updates = RefUpdates::new();
    let mut saved = Vec::new();
    for (name, object) in refs {
        if !repo.is_reachable_from(&object, &ELSEWHERE).await? {
            let keeper = OwnRef::parse(&format!("{SAVED}/{object}"))?;
            updates.set(&keeper, &object);
            saved.push(String::from(keeper));
        }
        // Fails if the ref has changed meanwhile.
        updates.delete_at(&name, &object);
    }
    // Two refs of one commit are saved once.
    saved.sort();
    saved.dedup();
    repo.update_refs(updates).await?;
    Ok(match saved.as_slice() {
        [] => "deleted; other refs reach all of their commits".to_owned(),
        saved => format!("deleted; commits that nothing else reached are kept as {}", saved.join(", ")),
    })
}

fn below(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}
