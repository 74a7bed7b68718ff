//! The inside of a sealed worktree: a private repository that borrows those of MAIN's objects that are lent, and the jail in
//! which it is all there is.

use super::disk;
use super::facts::Facts;
use super::object_store;
use super::paths::{WorktreePaths, gitfile_text};
use crate::home::Home;
use crate::settings::WorktreeSettings;
use flower_git::repository::Repository;
use flower_git::{CommitId, Identity, ObjectId, RefName};
use flower_jail::{self, Bind, Network, Overlay, Spec};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Writes the private repository as `git clone --shared --no-checkout --separate-git-dir` would, without starting git
/// for it: a handful of small files against some thirty milliseconds. The index comes with [`take_index`].
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
    git("config", &config(base, identity))?;
    // Commits that a shallow clone leaves out are left out here too.
    if place.repository.git_dir.join("shallow").exists() {
        fs::copy(place.repository.git_dir.join("shallow"), private.join("shallow"))?;
    }
    write_hooks(&private)?;
    fs::write(place.gitfile(), gitfile_text(&private))
}

/// Whoever has no token has nobody to ask for.
const HOOK: &str = "[ -n \"$FLOWER_TOKEN\" ] && [ -x \"$FLOWER_PROGRAM\" ] || exit 0\n";

/// Hooks that ask flower before and tell it after a commit, for whoever has a token. A courtesy: whoever leaves them out is
/// found when the commits are collected.
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

fn config(base: &CommitId, identity: &Identity) -> String {
    // SHA-256 repositories name their commits with 64 digits.
    let (version, format) =
        if base.as_str().len() == 64 { (1, "[extensions]\n\tobjectFormat = sha256\n") } else { (0, "") };
    let quoted = |value: &str| format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""));
    let mut text = format!(
        "[core]\n\trepositoryformatversion = {version}\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n{format}"
    );
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

/// Gives the private repository the operator's index, so that nothing has to be read again.
pub(super) fn take_index(place: &WorktreePaths, admin: &Path) -> io::Result<()> {
    fs::copy(admin.join("index"), place.private().join("index")).map(|_| ())
}

/// Lets commands such as `git describe` see MAIN's tags, as they were when the worktree was made.
pub(super) fn write_tags(place: &WorktreePaths, tags: &[(RefName, ObjectId)]) -> io::Result<()> {
    if tags.is_empty() {
        return Ok(());
    }
    let mut lines: Vec<String> = tags.iter().map(|(name, object)| format!("{object} {name}\n")).collect();
    lines.sort_unstable_by(|a, b| a.split_once(' ').map(|a| a.1).cmp(&b.split_once(' ').map(|b| b.1)));
    fs::write(place.private().join("packed-refs"), format!("# pack-refs with: sorted \n{}", lines.concat()))
}

/// What git must not track although it is in the worktree.
pub(super) fn exclude(place: &WorktreePaths, lines: &[String]) -> io::Result<()> {
    let common = fs::read_to_string(place.repository.git_dir.join("info/exclude")).unwrap_or_default();
    fs::write(place.private().join("info/exclude"), format!("{common}\n{}\n", lines.join("\n")))
}

/// The jail around a worktree, for a command that works in it.
pub(crate) fn spec(
    home: &Home,
    place: &WorktreePaths,
    settings: &WorktreeSettings,
    flower_port: Option<u16>,
) -> io::Result<Spec> {
    let mut spec = around(place)?;
    let outer_home = std::env::var_os("HOME").map_or_else(|| place.home(), PathBuf::from);
    spec.write.push(place.tree.clone());
    spec.binds.push(Bind { from: place.gitfile(), at: place.tree.join(".git"), write: false });
    spec.binds.push(Bind { from: place.home(), at: outer_home.clone(), write: true });
    spec.read.push(home.playbooks().join(&place.project));
    spec.read.extend(settings.read.iter().cloned());
    spec.overlays = caches(place, &outer_home)?;
    spec.network = settings.network.unwrap_or(Network::Web);
    spec.connect.clone_from(&settings.connect);
    spec.connect.extend(flower_port);
    spec.forward.extend(flower_port);
    spec.env.insert("HOME".into(), outer_home.to_string_lossy().into_owned());
    spec.env.insert("FLOWER_WORKTREE".into(), place.name.clone());
    speak_to_flower(&mut spec, flower_port);
    Ok(spec)
}

/// What runs inside speaks to the daemon with a token of its own, if whoever starts it has one.
fn speak_to_flower(spec: &mut Spec, port: Option<u16>) {
    let (Some(port), Ok(flower)) = (port, std::env::current_exe()) else { return };
    spec.env.insert("FLOWER_URL".into(), format!("http://127.0.0.1:{port}"));
    spec.pass_env.push("FLOWER_TOKEN".into());
    spec.programs.extend(flower.parent().map(Path::to_owned));
    // A login shell forgets PATH, and the hooks need it all the same.
    spec.env.insert("FLOWER_PROGRAM".into(), flower.to_string_lossy().into_owned());
    spec.read.push(flower);
}

/// The jail in which flower itself asks the private repository: no network, no home, nothing of the worktree but its name.
pub(super) fn spec_for_git(place: &WorktreePaths) -> io::Result<Spec> {
    let mut spec = around(place)?;
    spec.dir = place.private();
    spec.env.insert("HOME".into(), "/nonexistent".into());
    spec.env.insert("GIT_CONFIG_NOSYSTEM".into(), "1".into());
    spec.env.insert("GIT_DIR".into(), place.private().to_string_lossy().into_owned());
    spec.lock = None;
    Ok(spec)
}

/// What both have in common: the private repository, and read-only the objects that it borrows.
fn around(place: &WorktreePaths) -> io::Result<Spec> {
    for dir in [place.home(), place.tmp()] {
        disk::make_private(&dir)?;
    }
    fs::OpenOptions::new().create(true).append(true).open(place.lock())?;
    let mut spec = Spec::new(place.tree.clone());
    spec.cover(&place.covered);
    spec.write.push(place.private());
    spec.binds.push(Bind { from: place.tmp(), at: "/tmp".into(), write: true });
    // Where MAIN is there is a read-only shell of it, with nothing but the objects that are borrowed: whatever is tried
    // there is refused, instead of succeeding in a private folder of the same name.
    let shell = place.folder.join("main");
    fs::create_dir_all(shell.join(".git/objects"))?;
    spec.binds.push(Bind { from: shell, at: place.repository.root.clone(), write: false });
    match place.store() {
        // In place of MAIN's own, so that private repositories find it where they look for that.
        Some(_) => {
            let store = object_store::shown(&place.objects);
            fs::create_dir_all(&store)?;
            spec.binds.push(Bind { from: store, at: place.repository.git_dir.join("objects"), write: false });
        }
        None => spec.read.extend(borrowed_by_main(&place.repository)),
    }
    spec.lock = Some(place.lock());
    Ok(spec)
}

/// MAIN's objects, and those that MAIN itself borrows.
pub(super) fn borrowed_by_main(repository: &Repository) -> Vec<PathBuf> {
    /// git gives up at five.
    const MOST: usize = 5;
    let mut all = vec![repository.git_dir.join("objects")];
    let mut at = 0;
    while at < all.len() && all.len() <= MOST {
        let alternates = fs::read_to_string(all[at].join("info/alternates")).unwrap_or_default();
        let lines = alternates.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let found: Vec<PathBuf> = lines.map(|line| all[at].join(line)).filter(|path| holds_objects(path)).collect();
        all.extend(found);
        at += 1;
    }
    all
}

/// Whether it is what it should be: the list of what is borrowed may come from elsewhere with the repository, and could
/// name any folder to be shown inside.
fn holds_objects(path: &Path) -> bool {
    let Ok(real) = path.canonicalize() else { return false };
    let around = real.parent().is_some_and(|git_dir| git_dir.join("HEAD").is_file() && git_dir.join("refs").is_dir());
    around && real.file_name().is_some_and(|name| name == "objects")
}

/// Caches of build tools that are read from the operator's and written to the worktree's own; never a folder which holds
/// credentials.
const CACHES: &[(&str, &str)] = &[
    ("cargo-registry", ".cargo/registry"),
    ("cargo-git", ".cargo/git"),
    ("npm", ".npm/_cacache"),
    ("go-mod", "go/pkg/mod"),
];

fn caches(place: &WorktreePaths, outer_home: &Path) -> io::Result<Vec<Overlay>> {
    let mut overlays = Vec::new();
    for (name, path) in CACHES {
        let lower = match (*path, std::env::var_os("CARGO_HOME")) {
            (".cargo/registry", Some(dir)) => PathBuf::from(dir).join("registry"),
            (".cargo/git", Some(dir)) => PathBuf::from(dir).join("git"),
            _ => outer_home.join(path),
        };
        if !lower.is_dir() {
            continue;
        }
        let own = place.folder.join("caches").join(name);
        let (upper, work) = (own.join("upper"), own.join("work"));
        fs::create_dir_all(&upper)?;
        fs::create_dir_all(&work)?;
        overlays.push(Overlay { lower, upper, work, at: outer_home.join(path), or_read_only: false });
    }
    Ok(overlays)
}

/// Writes a jail's description down and gives what stands before a command so that it runs inside.
pub(crate) fn launcher(place: &WorktreePaths, spec: &Spec, name: &str) -> io::Result<Vec<std::ffi::OsString>> {
    let file = place.folder.join(format!("{name}.json"));
    spec.save(&file)?;
    Ok(flower_jail::command(&std::env::current_exe()?, &file))
}
