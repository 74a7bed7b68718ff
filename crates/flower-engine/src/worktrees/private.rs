//! The inside of a sealed worktree: a private repository that borrows the lent part of MAIN's objects, and the jail around it.

use super::caches;
use super::disk;
use super::facts::Facts;
use super::lfs;
use super::object_store;
use super::partial::may_be_partial;
use super::paths::{WorktreePaths, gitfile_text};
use crate::home::Home;
use crate::settings::WorktreeSettings;
use flower_git::repository::Repository;
use flower_git::{CommitId, Identity, ObjectId, RefName};
use flower_jail::{self, Bind, Spec};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Writes the private repository as `git clone --shared --no-checkout --separate-git-dir` would. It is a handful of small files, and
/// starting git would take some thirty milliseconds. [`copy_index`] adds the index.
pub(crate) fn write(place: &WorktreePaths, facts: &Facts, base: &CommitId, identity: &Identity) -> io::Result<()> {
    let private = place.private();
    for dir in ["objects/info", "objects/pack", "refs/heads/flower", "refs/tags", "refs/remotes/origin", "info"] {
        fs::create_dir_all(private.join(dir))?;
    }
    let git = |path: &str, text: &str| fs::write(private.join(path), text);
    git("objects/info/alternates", &format!("{}\n", place.repository.git_dir.join("objects").display()))?;
    git("HEAD", &format!("ref: {}\n", place.full_branch()))?;
    git(place.full_branch().as_str(), &format!("{base}\n"))?;
    let origin = format!("refs/remotes/origin/{}", facts.main_branch);
    if let Some(above) = private.join(&origin).parent() {
        fs::create_dir_all(above)?;
    }
    git(&origin, &format!("{}\n", facts.main_tip))?;
    git("config", &config(base, identity, may_be_partial(&place.repository)))?;
    // Commits that a shallow clone leaves out are left out here too.
    if place.repository.git_dir.join("shallow").exists() {
        fs::copy(place.repository.git_dir.join("shallow"), private.join("shallow"))?;
    }
    write_hooks(&private)?;
    fs::write(place.gitfile(), gitfile_text(&private))
}

/// Without a token there is no agent whose commit flower could check.
const HOOK: &str = "[ -n \"$FLOWER_TOKEN\" ] && [ -x \"$FLOWER_PROGRAM\" ] || exit 0\n";

/// Writes hooks that ask flower before a commit and report it afterwards. They are a courtesy: a commit without them is found by the
/// mirror.
fn write_hooks(private: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let hooks = private.join("hooks");
    fs::create_dir_all(&hooks)?;
    for (name, say) in
        [("pre-commit", "git diff --cached --name-only --no-renames -z"), ("post-commit", "git rev-parse HEAD")]
    {
        let file = hooks.join(name);
        fs::write(&file, format!("#!/bin/sh\n{HOOK}{say} | \"$FLOWER_PROGRAM\" hook {name}\n"))?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

fn config(base: &CommitId, identity: &Identity, is_partial: bool) -> String {
    // Ids of a SHA-256 repository have 64 digits.
    let is_sha256 = base.as_str().len() == 64;
    let version = u8::from(is_sha256 || is_partial);
    let mut extensions = String::new();
    if is_sha256 {
        extensions.push_str("[extensions]\n\tobjectFormat = sha256\n");
    }
    if is_partial {
        // Objects that MAIN does not have either are no damage, but there is no network to fetch them with.
        extensions.push_str("[extensions]\n\tpartialClone = main\n[remote \"main\"]\n\tpromisor = true\n");
    }
    let quoted = |value: &str| format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""));
    let mut text = format!(
        "[core]\n\trepositoryformatversion = {version}\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n{extensions}"
    );
    if flower_git::has_lfs() {
        text.push_str(lfs::FILTER);
    }
    if identity.name.is_some() || identity.email.is_some() {
        text.push_str("[user]\n");
    }
    for (key, value) in [("name", &identity.name), ("email", &identity.email)] {
        if let Some(value) = value {
            text.push_str(&format!("\t{key} = {}\n", quoted(value)));
        }
    }
    text
}

/// Copies the operator's index to the private repository, so that git need not read all files again.
pub(super) fn copy_index(place: &WorktreePaths, admin: &Path) -> io::Result<()> {
    disk::copy_index(&admin.join("index"), &place.private().join("index"))
}

/// Writes MAIN's current tags, for commands such as `git describe`.
pub(super) fn write_tags(place: &WorktreePaths, tags: &[(RefName, ObjectId)]) -> io::Result<()> {
    if tags.is_empty() {
        return Ok(());
    }
    let mut lines: Vec<String> = tags.iter().map(|(name, object)| format!("{object} {name}\n")).collect();
    lines.sort_unstable_by(|a, b| a.split_once(' ').map(|a| a.1).cmp(&b.split_once(' ').map(|b| b.1)));
    fs::write(place.private().join("packed-refs"), format!("# pack-refs with: sorted \n{}", lines.concat()))
}

/// Excludes paths of the worktree from git, in addition to MAIN's own excludes.
pub(super) fn exclude(place: &WorktreePaths, lines: &[String]) -> io::Result<()> {
    let common = fs::read_to_string(place.repository.git_dir.join("info/exclude")).unwrap_or_default();
    fs::write(place.private().join("info/exclude"), format!("{common}\n{}\n", lines.join("\n")))
}

/// The jail around a worktree, for a command that works in it. Its network is closed; `Networks::connect` gives it another.
pub(crate) fn spec(
    home: &Home,
    place: &WorktreePaths,
    settings: &WorktreeSettings,
    flower_port: Option<u16>,
) -> io::Result<Spec> {
    let mut spec = base_spec(place)?;
    let outer_home = std::env::var_os("HOME").map_or_else(|| place.home(), PathBuf::from);
    spec.write.push(place.tree.clone());
    spec.binds.push(Bind { from: place.gitfile(), at: place.tree.join(".git"), write: false });
    spec.binds.push(Bind { from: place.home(), at: outer_home.clone(), write: true });
    spec.read.push(home.in_project(home.playbooks(), &place.project));
    spec.read.extend(settings.read.iter().cloned());
    caches::add(&mut spec, place, &outer_home)?;
    spec.env.insert("HOME".into(), outer_home.to_string_lossy().into_owned());
    spec.env.insert("FLOWER_WORKTREE".into(), place.name.clone());
    add_flower_access(&mut spec, flower_port);
    Ok(spec)
}

/// Lets programs inside reach the daemon. The token, if there is one, comes from the environment of the process that starts them.
fn add_flower_access(spec: &mut Spec, port: Option<u16>) {
    let (Some(port), Ok(flower)) = (port, std::env::current_exe()) else { return };
    spec.env.insert("FLOWER_URL".into(), format!("http://127.0.0.1:{port}"));
    spec.pass_env.push("FLOWER_TOKEN".into());
    spec.programs.extend(flower.parent().map(Path::to_owned));
    // A login shell resets PATH, so the hooks get the program's full path.
    spec.env.insert("FLOWER_PROGRAM".into(), flower.to_string_lossy().into_owned());
    spec.read.push(flower);
}

/// The jail for flower's own git in the private repository: no network, no home, no files of the worktree.
pub(super) fn spec_for_git(place: &WorktreePaths) -> io::Result<Spec> {
    let mut spec = base_spec(place)?;
    spec.dir = place.private();
    spec.env.insert("HOME".into(), "/nonexistent".into());
    spec.env.insert("GIT_CONFIG_NOSYSTEM".into(), "1".into());
    spec.env.insert("GIT_DIR".into(), place.private().to_string_lossy().into_owned());
    spec.lock = None;
    Ok(spec)
}

/// What both jails have: the private repository, and read-only the objects that it borrows.
fn base_spec(place: &WorktreePaths) -> io::Result<Spec> {
    for dir in [place.home(), place.tmp()] {
        disk::make_private(&dir)?;
    }
    fs::OpenOptions::new().create(true).append(true).open(place.lock())?;
    let mut spec = Spec::new(place.tree.clone());
    spec.cover(&place.covered);
    spec.write.push(place.private());
    spec.binds.push(Bind { from: place.tmp(), at: "/tmp".into(), write: true });
    // At MAIN's path there is a read-only folder with nothing but the borrowed objects: a write there fails, instead of
    // succeeding in a private folder of the same name.
    let shell = place.folder.join("main");
    fs::create_dir_all(shell.join(".git/objects"))?;
    spec.binds.push(Bind { from: shell, at: place.repository.root.clone(), write: false });
    match place.store() {
        // Mounted at the path of MAIN's objects, which the private repository names as its alternate.
        Some(_) => {
            let store = object_store::objects_dir(&place.objects);
            fs::create_dir_all(&store)?;
            spec.binds.push(Bind { from: store, at: place.repository.git_dir.join("objects"), write: false });
        }
        None => spec.read.extend(borrowed_by_main(&place.repository)),
    }
    spec.lock = Some(place.lock());
    Ok(spec)
}

/// MAIN's object folder, and those that MAIN itself borrows from.
pub(super) fn borrowed_by_main(repository: &Repository) -> Vec<PathBuf> {
    /// git follows no more than five.
    const MAX_ALTERNATES: usize = 5;
    let mut all = vec![repository.git_dir.join("objects")];
    let mut at = 0;
    while at < all.len() && all.len() <= MAX_ALTERNATES {
        let alternates = fs::read_to_string(all[at].join("info/alternates")).unwrap_or_default();
        let lines = alternates.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let found: Vec<PathBuf> = lines.map(|line| all[at].join(line)).filter(|path| is_objects_dir(path)).collect();
        all.extend(found);
        at += 1;
    }
    all
}

/// Whether the path is the object folder of a repository. The list of alternates may come from elsewhere with the repository, and
/// could otherwise make any folder visible inside.
fn is_objects_dir(path: &Path) -> bool {
    let Ok(real) = path.canonicalize() else { return false };
    let in_repository =
        real.parent().is_some_and(|git_dir| git_dir.join("HEAD").is_file() && git_dir.join("refs").is_dir());
    in_repository && real.file_name().is_some_and(|name| name == "objects")
}

/// Saves a jail's spec, and returns the words to put before a command so that it runs in the jail.
pub(crate) fn launcher(place: &WorktreePaths, spec: &Spec, name: &str) -> io::Result<Vec<std::ffi::OsString>> {
    let file = place.folder.join(format!("{name}.json"));
    spec.save(&file)?;
    Ok(flower_jail::command(&std::env::current_exe()?, &file))
}
