//! Sets a new worktree up: playbooks, copied caches, submodules and setup commands.

use super::disk;
use super::facts::Facts;
use super::paths::WorktreePaths;
use crate::Worktrees;
use crate::home::Home;
use crate::projects::ProjectChoice;
use crate::settings::{Settings, WorktreeSettings};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{CommandsView, SetupState, SetupView};
use flower_core::pattern::Pattern;
use flower_core::policy::{self, Right};
use flower_core::worktree::Seal;
use flower_core::{Caller, Command};
use flower_git::repository::Repository;
use flower_git::{CommitId, GitError, Repo, TreeEntry};
use flower_store::worktrees;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const HOUSE_RULES: &str = include_str!("house_rules.md");
/// The folder of the house rules in a worktree.
pub(super) const FOLDER: &str = ".flower";
/// For one setup command.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// Bytes of the setup log in one answer.
const MAX_LOG_BYTES: u64 = 1024 * 1024;
const BEGIN: &str = "# flower: what it links into worktrees";
const END: &str = "# flower: end";

impl Worktrees {
    /// The commands in `flower.toml`, and whether they are approved.
    pub async fn project_commands(&self, project: &str) -> Result<CommandsView, Problem> {
        let settings = self.facts_of(project).await?.settings;
        let sha256 = settings.commands_sha256();
        let approved = self.is_approved(project, &sha256).await?;
        Ok(CommandsView { project: project.to_owned(), commands: settings.commands(), sha256, approved })
    }

    /// Approves the commands. Fails if they are not those that the operator has read, by their digest.
    pub async fn approve_commands(
        &self,
        caller: &Caller,
        project: &str,
        sha256: &str,
    ) -> Result<CommandsView, Problem> {
        policy::require_role(caller, Right::Own)?;
        let now = self.project_commands(project).await?;
        if now.sha256 != sha256 {
            return Err(Problem::new(
                ProblemKind::Conflict,
                "the commands have changed since you read them",
                format!("read them again: `flower project approve {project}`"),
            ));
        }
        let command = Command::ApproveCommands { project: project.to_owned(), sha256: now.sha256.clone() };
        self.store.execute(caller, command).await?;
        Ok(CommandsView { approved: true, ..now })
    }

    pub(crate) async fn is_approved(&self, project: &str, sha256: &str) -> Result<bool, Problem> {
        let (of, sha256) = (project.to_owned(), sha256.to_owned());
        Ok(self.store.read(move |conn| worktrees::is_approved(conn, &of, &sha256)).await?)
    }

    pub(crate) async fn require_approved(&self, project: &str, settings: &Settings) -> Result<(), Problem> {
        if self.is_approved(project, &settings.commands_sha256()).await? {
            return Ok(());
        }
        Err(Problem::new(
            ProblemKind::Refused,
            format!("what `{project}`'s flower.toml runs and opens is not approved, or has changed since"),
            format!("read and approve it: `flower project approve {project}`; or leave commands out: `--no-setup`"),
        ))
    }

    /// Runs the setup commands one after the other until one fails. The worktree stays in any case.
    pub(super) async fn run_setup(&self, place: &WorktreePaths, settings: &Settings) -> Result<(), Problem> {
        let io = |error: io::Error| self.home.problem(&place.folder, &error);
        let launcher = if place.seal == Seal::Sealed { self.launcher(place, settings).await? } else { Vec::new() };
        let log = fs::File::create(place.setup_log()).map_err(io)?;
        for command in &settings.worktree.setup {
            save_setup_state(
                place,
                &SetupView { state: SetupState::Running, command: Some(command.clone()), code: None },
            );
            let ended = flower_jail::run_logged(&launcher, command, &place.tree, &log, COMMAND_TIMEOUT).await;
            let code = *ended.as_ref().unwrap_or(&i32::from(flower_jail::EXIT_JAIL_FAILED));
            if code != 0 {
                let failed = SetupView { state: SetupState::Failed, command: Some(command.clone()), code: Some(code) };
                save_setup_state(place, &failed);
                return ended.map(|_| ()).map_err(io);
            }
        }
        save_setup_state(place, &SetupView { state: SetupState::Done, command: None, code: Some(0) });
        Ok(())
    }

    /// The output of the setup commands from a byte on.
    pub async fn setup_log(&self, choice: &ProjectChoice, name: &str, after: u64) -> Result<Vec<u8>, Problem> {
        use std::io::{Read, Seek};
        let worktree = self.find(choice, name).await?;
        let path = self.paths(&worktree).await?.setup_log();
        let mut text = Vec::new();
        if let Ok(mut file) = fs::File::open(path)
            && file.seek(io::SeekFrom::Start(after)).is_ok()
        {
            let _ = file.take(MAX_LOG_BYTES).read_to_end(&mut text);
        }
        Ok(text)
    }
}

fn save_setup_state(place: &WorktreePaths, state: &SetupView) {
    let text = serde_json::to_string(state).expect("plain data");
    if let Err(error) = fs::write(place.setup_state(), text) {
        tracing::warn!("{}: {error}", place.setup_state().display());
    }
}

/// The state of the last setup, if there was one.
pub(super) fn load_setup_state(place: &WorktreePaths) -> Option<SetupView> {
    serde_json::from_slice(&fs::read(place.setup_state()).ok()?).ok()
}

/// Marks a setup that ended with an earlier daemon as failed. It does not run again: its commands have run in part, and may not be
/// repeatable.
pub(super) fn record_interrupted_setup(place: &WorktreePaths) {
    if let Some(setup) = load_setup_state(place).filter(|setup| setup.state == SetupState::Running) {
        save_setup_state(place, &SetupView { state: SetupState::Failed, ..setup });
    }
}

/// A note about an interrupted setup. A command that ended by itself has an exit code.
pub(super) fn interrupted_note(place: &WorktreePaths, setup: &SetupView) -> Option<String> {
    let command = setup.command.as_deref().filter(|_| setup.state == SetupState::Failed && setup.code.is_none())?;
    Some(format!(
        "the daemon ended during setup: run `{command}`, and what follows it in flower.toml, inside: `flower worktree shell {}`",
        place.name
    ))
}

/// Fails if a list in `flower.toml` names a path outside of the repository.
pub(crate) fn require_inside(settings: &WorktreeSettings) -> Result<(), Problem> {
    for raw in settings.carry.iter().filter(|raw| is_pattern(raw)) {
        Pattern::parse(raw).map_err(|refusal| {
            Problem::new(
                ProblemKind::Refused,
                format!("flower.toml cannot carry `{raw}`: {refusal}"),
                "name folders of the repository, or patterns such as `**/node_modules`",
            )
        })?;
    }
    let all = settings.playbooks.iter().chain(&settings.carry);
    match all.into_iter().find(|path| disk::relative_path(path).is_none()) {
        None => Ok(()),
        Some(bad) => Err(Problem::new(
            ProblemKind::Refused,
            format!("flower.toml names `{bad}`, which does not stay inside of the repository"),
            "name files and folders of the repository, without `..` and `.git`",
        )),
    }
}

/// The listed paths without those below another one.
fn outermost(listed: &[String]) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = listed.iter().filter_map(|raw| disk::relative_path(raw)).collect();
    all.sort();
    all.dedup_by(|inner, outer| inner.starts_with(outer));
    all
}

/// Links the house rules and the project's playbooks into a worktree. Returns the lines that exclude them from git.
pub(super) fn playbooks(home: &Home, place: &WorktreePaths, settings: &WorktreeSettings) -> io::Result<Vec<String>> {
    let copies = home.in_project(home.playbooks(), &place.project);
    fs::create_dir_all(&copies)?;
    let rules = copies.join("house-rules.md");
    refresh(&rules, HOUSE_RULES.as_bytes())?;
    let folder = place.tree.join(FOLDER);
    let mut lines = Vec::new();
    // The repository's own folder of this name is kept.
    if link_rules(&rules, &folder)? {
        lines.push(format!("/{FOLDER}/"));
    }
    for path in outermost(&settings.playbooks) {
        let (Some(source), Some(target)) =
            (disk::existing_beneath(&place.repository.root, &path), disk::path_beneath(&place.tree, &path))
        else {
            continue;
        };
        let copy = copies.join("files").join(&path);
        // A tracked file exists already. The link itself may have been made by a concurrent call.
        if fs::symlink_metadata(&target).is_ok() && !fs::read_link(&target).is_ok_and(|to| to == copy) {
            continue;
        }
        refresh_tree(&source, &copy)?;
        if let Some(above) = target.parent() {
            fs::create_dir_all(above)?;
        }
        link(&copy, &target)?;
        lines.push(format!("/{}", path.display()));
    }
    Ok(lines)
}

/// Makes the folder with the house rules by a rename, because several calls may run at the same time. Returns whether the folder is
/// flower's.
fn link_rules(rules: &Path, folder: &Path) -> io::Result<bool> {
    let is_ours = || fs::read_link(folder.join("house-rules.md")).is_ok_and(|to| to == rules);
    if fs::symlink_metadata(folder).is_ok() {
        return Ok(is_ours());
    }
    let draft = folder.with_extension(format!("draft-{}", crate::home::random_hex()));
    fs::create_dir(&draft)?;
    std::os::unix::fs::symlink(rules, draft.join("house-rules.md"))?;
    if fs::rename(&draft, folder).is_ok() {
        return Ok(true);
    }
    disk::delete(&draft)?;
    Ok(is_ours())
}

/// Makes a link, unless it exists: several agents can start at the same time.
fn link(to: &Path, at: &Path) -> io::Result<()> {
    match std::os::unix::fs::symlink(to, at) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// Writes a read-only copy, unless its content is current.
fn refresh(path: &Path, content: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|now| now == content) {
        return Ok(());
    }
    // A random name, because a concurrent call may write the same copy.
    let draft = path.with_extension(format!("draft-{}", crate::home::random_hex()));
    let written = fs::write(&draft, content)
        .and_then(|()| fs::set_permissions(&draft, fs::Permissions::from_mode(0o444)))
        .and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

fn refresh_tree(from: &Path, to: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(from)?;
    if found.is_file() {
        if let Some(above) = to.parent() {
            fs::create_dir_all(above)?;
        }
        return refresh(to, &fs::read(from)?);
    }
    // Links could lead out of the repository, so they are not followed.
    if found.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            refresh_tree(&entry.path(), &to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// Adds lines to the exclude file of MAIN's repository, which git reads for all worktrees, between two markers.
pub(super) fn exclude_in_main(place: &WorktreePaths, lines: &[String]) -> io::Result<()> {
    let path = place.repository.git_dir.join("info/exclude");
    let text = fs::read_to_string(&path).unwrap_or_default();
    let (rest, mut ours) = split_exclude(&text);
    let before = ours.len();
    for line in lines {
        if !ours.contains(line) {
            ours.push(line.clone());
        }
    }
    if ours.len() == before {
        return Ok(());
    }
    write_exclude(&path, &format!("{rest}{BEGIN}\n{}\n{END}\n", ours.join("\n")))
}

/// Removes flower's lines from the exclude file.
pub(crate) fn restore_exclude(repository: &Repository) -> io::Result<()> {
    let path = repository.git_dir.join("info/exclude");
    let Ok(text) = fs::read_to_string(&path) else { return Ok(()) };
    let (rest, ours) = split_exclude(&text);
    if ours.is_empty() {
        return Ok(());
    }
    if rest.is_empty() { fs::remove_file(&path) } else { write_exclude(&path, &rest) }
}

fn write_exclude(path: &Path, text: &str) -> io::Result<()> {
    if let Some(above) = path.parent() {
        fs::create_dir_all(above)?;
    }
    let draft = path.with_extension("flower");
    // A repository from elsewhere may have a link of this name to another file.
    disk::delete(&draft)?;
    io::Write::write_all(&mut fs::File::create_new(&draft)?, text.as_bytes())?;
    fs::rename(&draft, path)
}

/// Splits the exclude file into the operator's text, ending with a line break, and flower's lines.
fn split_exclude(text: &str) -> (String, Vec<String>) {
    let Some((before, rest)) = text.split_once(&format!("{BEGIN}\n")) else {
        let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return (format!("{text}{newline}"), Vec::new());
    };
    let (ours, after) = rest.split_once(&format!("{END}\n")).unwrap_or((rest, ""));
    (format!("{before}{after}"), ours.lines().map(str::to_owned).collect())
}

/// A digest of the names, sizes and times of all carried files. `None` if they cannot be read, or if patterns name them, whose matches
/// depend on the checkout.
pub(crate) async fn carried_digest(root: &Path, settings: &WorktreeSettings) -> Option<String> {
    if settings.carry.iter().any(|raw| is_pattern(raw)) {
        return None;
    }
    let mut paths = outermost(&settings.carry);
    paths.retain(|path| disk::existing_beneath(root, path).is_some());
    let root = root.to_owned();
    if paths.is_empty() {
        return Some(String::new());
    }
    let reading = tokio::task::spawn_blocking(move || disk::digest(&root, &paths));
    reading.await.ok()?.ok()
}

/// Copies ignored folders of MAIN, such as build output, so that the first build is incremental.
pub(crate) async fn carry(place: &WorktreePaths, settings: &WorktreeSettings) -> io::Result<()> {
    if settings.carry.is_empty() {
        return Ok(());
    }
    let (root, tree, listed) = (place.repository.root.clone(), place.tree.clone(), settings.carry.clone());
    let copying = tokio::task::spawn_blocking(move || {
        for path in carried(&root, &tree, &listed) {
            let (Some(from), Some(to)) = (disk::existing_beneath(&root, &path), disk::path_beneath(&tree, &path))
            else {
                continue;
            };
            if fs::symlink_metadata(&to).is_ok() {
                continue;
            }
            if let Some(above) = to.parent() {
                fs::create_dir_all(above)?;
            }
            disk::copy(&from, &to)?;
        }
        Ok(())
    });
    copying.await.map_err(io::Error::other)?
}

/// Whether an entry of `carry` is a pattern, such as `**/node_modules`.
fn is_pattern(raw: &str) -> bool {
    raw.contains(['*', '?'])
}

/// The paths to copy: the plain ones of the list, and what its patterns match.
fn carried(root: &Path, tree: &Path, listed: &[String]) -> Vec<PathBuf> {
    let (patterns, plain): (Vec<String>, Vec<String>) = listed.iter().cloned().partition(|raw| is_pattern(raw));
    let patterns: Vec<Pattern> =
        patterns.iter().filter_map(|raw| Pattern::parse(raw.trim_end_matches('/')).ok()).collect();
    let mut paths = outermost(&plain);
    if !patterns.is_empty() {
        find_matches(root, tree, Path::new(""), &patterns, &mut paths);
    }
    paths.sort();
    paths.dedup_by(|inner, outer| inner.starts_with(outer));
    paths
}

/// Adds what MAIN's folder has, the checkout's lacks, and a pattern matches; then searches the folders that the checkout has. So no
/// folder inside of an ignored one is searched or made.
fn find_matches(root: &Path, tree: &Path, below: &Path, patterns: &[Pattern], found: &mut Vec<PathBuf>) {
    let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    for entry in fs::read_dir(root.join(below)).into_iter().flatten().flatten() {
        let path = below.join(entry.file_name());
        let Some(name) = path.to_str().filter(|_| entry.file_name() != ".git") else { continue };
        let target = tree.join(&path);
        if fs::symlink_metadata(&target).is_err() {
            if patterns.iter().any(|pattern| pattern.matches(name)) {
                found.push(path);
            }
        } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) && is_folder(&target) {
            find_matches(root, tree, &path, patterns, found);
        }
    }
}

/// Fills submodules with files from MAIN's clones of them, so that the project can be built. git inside treats them as uninitialised
/// submodules, so changes in them are not committed.
pub(crate) async fn submodules(place: &WorktreePaths, facts: &Facts) -> Result<(), Problem> {
    for (name, path) in listed_submodules(&facts.submodules) {
        let Some(inside) = disk::relative_path(&path) else { continue };
        let git_dir = place.repository.git_dir.join("modules").join(&name);
        let Some(tree) = disk::existing_beneath(&place.tree, &inside) else { continue };
        if !git_dir.join("HEAD").is_file() || !fs::symlink_metadata(&tree).is_ok_and(|found| found.is_dir()) {
            continue;
        }
        let listed = place.repo().list_path(&facts.base, &path).await?;
        let Some(gitlink) = listed.entries().next().filter(TreeEntry::is_gitlink) else { continue };
        let commit = CommitId::parse(gitlink.id)?;
        let index = place.folder.join("submodule.index");
        let module = Repo::main(&Repository { root: tree, git_dir }).with_index(&index);
        let filled = match module.read_index(&commit).await {
            Ok(()) => module.write_all_files().await,
            Err(error) => Err(error),
        };
        match filled {
            Err(GitError::Failed { stderr, .. }) => {
                tracing::warn!("submodule {path} of {} stays empty: {stderr}", place.name);
            }
            filled => filled?,
        }
        let _ = fs::remove_file(&index);
    }
    Ok(())
}

/// Paths of submodules that MAIN has no clone of.
pub(crate) fn empty_submodules(repository: &Repository, facts: &Facts) -> Vec<String> {
    let all = listed_submodules(&facts.submodules).into_iter();
    let has_clone = |name: &str| repository.git_dir.join("modules").join(name).join("HEAD").is_file();
    all.filter(|(name, _)| !has_clone(name)).map(|(_, path)| path).collect()
}

/// Names and paths from `.gitmodules`. Names that would lead out of git's folder are left out.
fn listed_submodules(text: &str) -> Vec<(String, String)> {
    let mut name = String::new();
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix("[submodule \"").and_then(|rest| rest.strip_suffix("\"]")) {
            header.clone_into(&mut name);
        } else if let Some((key, value)) = line.split_once('=')
            && key.trim() == "path"
            && disk::relative_path(&name).is_some()
        {
            found.push((name.clone(), value.trim().to_owned()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use flower_core::WorktreeId;

    #[test]
    fn the_list_of_excluded_files_is_given_back_as_it_was() {
        for before in ["", "# mine\n*.log\n"] {
            let (rest, ours) = split_exclude(before);
            assert_eq!((rest.as_str(), ours.len()), (before, 0));
            let with = format!("{rest}{BEGIN}\n/.flower/\n{END}\n");
            assert_eq!(split_exclude(&with), (before.to_owned(), vec!["/.flower/".to_owned()]));
            let more = format!("{with}later\n");
            assert_eq!(split_exclude(&more).0, format!("{before}later\n"));
        }
        assert_eq!(split_exclude("no newline").0, "no newline\n");
    }

    #[test]
    fn playbooks_can_be_linked_by_many_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("main");
        fs::create_dir_all(root.join("docs/agents")).unwrap();
        fs::write(root.join("docs/agents/a.md"), "a").unwrap();
        let home = Home::at(dir.path().join("home"));
        for round in 0..20 {
            let place = WorktreePaths {
                number: Some(WorktreeId(1)),
                repository: Repository { git_dir: root.join(".git"), root: root.clone() },
                project: format!("p{round}"),
                name: "one".into(),
                branch: "flower/one".into(),
                seal: Seal::Sealed,
                tree: dir.path().join(format!("tree{round}")),
                folder: dir.path().join("seal"),
                objects: dir.path().join("objects"),
                covered: Vec::new(),
            };
            fs::create_dir(&place.tree).unwrap();
            let settings = WorktreeSettings { playbooks: vec!["docs".into()], ..WorktreeSettings::default() };
            let linked = std::thread::scope(|scope| {
                let calls: Vec<_> = (0..8).map(|_| scope.spawn(|| playbooks(&home, &place, &settings))).collect();
                calls.into_iter().map(|call| call.join().unwrap()).collect::<Vec<_>>()
            });
            for lines in linked {
                assert_eq!(lines.unwrap(), ["/.flower/", "/docs"]);
            }
            assert_eq!(fs::read_to_string(place.tree.join("docs/agents/a.md")).unwrap(), "a");
            assert_eq!(fs::read_to_string(place.tree.join(".flower/house-rules.md")).unwrap(), HOUSE_RULES);
            assert_eq!(
                fs::read_dir(home.playbooks().join(format!("p{round}"))).unwrap().count(),
                2,
                "no draft is left"
            );
        }
    }

    #[test]
    fn what_is_listed_twice_is_taken_once() {
        let listed = ["b/c", "a/b", "a", "a.d", "b/c/d", "a/x/y", "b/cc"].map(str::to_owned);
        assert_eq!(outermost(&listed), ["a", "a.d", "b/c", "b/cc"].map(PathBuf::from));
    }

    #[test]
    fn a_pattern_matches_ignored_folders_beside_tracked_files() {
        let dir = tempfile::tempdir().unwrap();
        let (root, tree) = (dir.path().join("main"), dir.path().join("tree"));
        for path in [
            "node_modules/a/node_modules/b",
            "packages/one/node_modules/c",
            "packages/one/dist",
            "packages/two/node_modules",
            "packages/gone/node_modules",
            "build/node_modules",
            ".git/node_modules",
            "tracked/node_modules",
        ] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        for path in ["packages/one", "packages/two", "tracked/node_modules"] {
            fs::create_dir_all(tree.join(path)).unwrap();
        }
        fs::write(tree.join(".git"), "gitdir: x").unwrap();
        std::os::unix::fs::symlink("/etc", tree.join("linked")).unwrap();
        fs::create_dir_all(root.join("linked/node_modules")).unwrap();
        let found = |listed: &[&str]| {
            let listed: Vec<String> = listed.iter().map(|&raw| raw.to_owned()).collect();
            carried(&root, &tree, &listed).iter().map(|path| path.to_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(
            found(&["**/node_modules"]),
            ["node_modules", "packages/one/node_modules", "packages/two/node_modules"]
        );
        assert_eq!(found(&["packages/*/dist/", "node_modules"]), ["node_modules", "packages/one/dist"]);
        assert_eq!(found(&["packages/?ne/*", "packages/one"]), ["packages/one"]);
        assert_eq!(found(&["**/absent", "*.log"]), [""; 0]);
    }

    #[test]
    fn submodules_are_found_and_hostile_names_are_not() {
        let text = "[submodule \"lib\"]\n\tpath = vendor/lib\n\turl = -u\n[submodule \"../../x\"]\n\tpath = y\n";
        assert_eq!(listed_submodules(text), [("lib".to_owned(), "vendor/lib".to_owned())]);
    }
}
