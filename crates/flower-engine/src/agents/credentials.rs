//! Lends one credentials file to the home in a jail, and takes it over when the agent has refreshed it. An earlier agent may
//! have planted anything in that home, so no link in it is followed, and opening a file never blocks.

use super::guarded_file::{self, GuardedFile};
use crate::profiles::config::Profile;
use flower_core::chain::sha256;
use rustix::fs::{FlockOperation, flock};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Other processes hold the lock for one rename.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Copies by their path. Agents with the same home share a copy; it is deleted with the last of them.
static COPIES: Mutex<BTreeMap<PathBuf, SharedCopy>> = Mutex::new(BTreeMap::new());

struct SharedCopy {
    agents: usize,
    /// SHA-256 of the operator's file when it was last equal to the copy.
    hash: String,
}

/// One agent's use of a copy. [`LentCredentials::take_back`] ends it; if it is dropped instead, a refresh is lost.
#[derive(Debug)]
pub struct LentCredentials {
    /// The operator's file, with links resolved.
    original: PathBuf,
    jail_home: PathBuf,
    below: PathBuf,
    ended: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Returned {
    Unchanged,
    /// The operator's file has what the agent refreshed.
    Refreshed,
    /// The copy was changed, but the operator's file stays as it is.
    Rejected(String),
}

/// Lends the first credentials file of the profile that exists.
pub fn lend(profile: &Profile, user_home: &Path, jail_home: &Path) -> io::Result<Option<LentCredentials>> {
    for name in &profile.credentials {
        let Some(below) = name.strip_prefix("~/").map(PathBuf::from) else { continue };
        let original = match user_home.join(&below).canonicalize() {
            Ok(original) => original,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let content = guarded_file::read(&original)?;
        let mut copies = copies();
        let shared = copies.entry(jail_home.join(&below)).or_insert(SharedCopy { agents: 0, hash: String::new() });
        let mut lent = LentCredentials { original, jail_home: jail_home.to_owned(), below, ended: true };
        // An existing copy is kept: another agent may have refreshed it, which makes the operator's login invalid.
        if shared.agents == 0 {
            let content = match lent.left_behind() {
                Some(hash) => {
                    shared.hash = hash;
                    match lent.take_over(shared) {
                        Returned::Refreshed => guarded_file::read(&lent.original)?,
                        Returned::Unchanged | Returned::Rejected(_) => content,
                    }
                }
                None => content,
            };
            shared.hash = sha256(&content);
            lent.write_mark(&shared.hash)?;
            GuardedFile::create(jail_home, &lent.below)?.write(&content)?;
        }
        shared.agents += 1;
        lent.ended = false;
        return Ok(Some(lent));
    }
    Ok(None)
}

impl LentCredentials {
    /// The path of the copy, relative to the home.
    pub fn below(&self) -> &Path {
        &self.below
    }

    /// Ends this use of the copy. If the agent has refreshed it plausibly, the operator's file is replaced.
    pub fn take_back(mut self) -> Returned {
        let mut copies = copies();
        let returned = match copies.get_mut(&self.copy()) {
            Some(shared) => self.take_over(shared),
            None => Returned::Unchanged,
        };
        self.end(&mut copies);
        returned
    }

    fn take_over(&self, shared: &mut SharedCopy) -> Returned {
        let content = match GuardedFile::open(&self.jail_home, &self.below).and_then(|folder| folder.read()) {
            Ok(content) => content,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Returned::Rejected("the agent deleted its copy".into());
            }
            Err(error) => return Returned::Rejected(format!("the copy cannot be read: {error}")),
        };
        if sha256(&content) == shared.hash {
            return Returned::Unchanged;
        }
        match self.replace(&content, &shared.hash) {
            Ok(()) => {
                shared.hash = sha256(&content);
                let _ = self.write_mark(&shared.hash);
                Returned::Refreshed
            }
            Err(why) => Returned::Rejected(why),
        }
    }

    fn replace(&self, content: &[u8], lent_as: &str) -> Result<(), String> {
        let in_words = |error: io::Error| format!("{}: {error}", self.original.display());
        let folder = self.original.parent().ok_or("the file has no directory")?;
        let _lock = lock(folder).map_err(in_words)?;
        let now = guarded_file::read(&self.original).map_err(in_words)?;
        if sha256(&now) != lent_as {
            return Err("your own file has changed since it was lent".to_owned());
        }
        require_refresh(&now, content)?;
        write(&self.original, content).map_err(in_words)
    }

    /// Beside the home, where nothing of the jail can change it: the SHA-256 of the copy as it was lent. It is left behind, with the
    /// copy, by a daemon that was killed.
    fn mark(&self) -> PathBuf {
        let name = sha256(self.below.as_os_str().as_encoded_bytes());
        self.jail_home.with_file_name(format!("login-{}", &name[..16]))
    }

    fn left_behind(&self) -> Option<String> {
        fs::read_to_string(self.mark()).ok()
    }

    fn write_mark(&self, hash: &str) -> io::Result<()> {
        crate::home::write_private(&self.mark(), hash)
    }

    fn copy(&self) -> PathBuf {
        self.jail_home.join(&self.below)
    }

    fn end(&mut self, copies: &mut BTreeMap<PathBuf, SharedCopy>) {
        self.ended = true;
        let copy = self.copy();
        let Some(shared) = copies.get_mut(&copy) else { return };
        shared.agents = shared.agents.saturating_sub(1);
        if shared.agents == 0 {
            copies.remove(&copy);
            // Fails if the agent has put a directory in its place.
            let _ = GuardedFile::open(&self.jail_home, &self.below).and_then(|folder| folder.remove());
            let _ = fs::remove_file(self.mark());
        }
    }
}

impl Drop for LentCredentials {
    fn drop(&mut self) {
        if !self.ended {
            self.end(&mut copies());
        }
    }
}

fn copies() -> MutexGuard<'static, BTreeMap<PathBuf, SharedCopy>> {
    COPIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks the directory itself, so that no lock file is left; all daemons use this lock.
fn lock(folder: &Path) -> io::Result<File> {
    let file = File::open(folder)?;
    let start = Instant::now();
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK) if start.elapsed() < LOCK_TIMEOUT => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn write(original: &Path, content: &[u8]) -> io::Result<()> {
    let owner = fs::metadata(original)?;
    let mut draft = original.as_os_str().to_owned();
    draft.push(format!(".flower-{}", guarded_file::random_name()));
    let draft = PathBuf::from(draft);
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    let mut written = || -> io::Result<()> {
        let made = file.metadata()?;
        if (made.uid(), made.gid()) != (owner.uid(), owner.gid()) {
            fchown(&file, Some(owner.uid()), Some(owner.gid()))?;
        }
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&draft, original)
    };
    written().inspect_err(|_| {
        let _ = fs::remove_file(&draft);
    })
}

/// Fails unless `new` is `old` with other tokens. Otherwise an agent could log the operator in to another account.
fn require_refresh(old: &[u8], new: &[u8]) -> Result<(), String> {
    let Ok(old) = serde_json::from_slice::<Value>(old) else { return Ok(()) };
    let new: Value = serde_json::from_slice(new).map_err(|_| "the copy is no JSON".to_owned())?;
    same_shape(&old, &new, "")
}

fn same_shape(old: &Value, new: &Value, path: &str) -> Result<(), String> {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in old {
                let Some(other) = new.get(key) else {
                    return Err(format!("`{path}{key}` is missing in the copy"));
                };
                if names_identity(key) && value != other {
                    return Err(format!("the agent has changed `{path}{key}`, which is no token"));
                }
                same_shape(value, other, &format!("{path}{key}."))?;
            }
            match new.keys().find(|key| !old.contains_key(*key)) {
                Some(_) => Err(format!("the agent has added a field to `{}`", path.trim_end_matches('.'))),
                None => Ok(()),
            }
        }
        (Value::Object(_), _) | (_, Value::Object(_)) => {
            Err(format!("`{}` has another type in the copy", path.trim_end_matches('.')))
        }
        _ => Ok(()),
    }
}

/// Keys that name the account or the server; a refresh does not change them.
fn names_identity(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    ["account", "email", "user", "org", "api_key", "apikey", "url", "issuer", "client"]
        .iter()
        .any(|word| key.contains(word))
}

#[cfg(test)]
mod tests {
    use super::super::guarded_file::MAX_BYTES;
    use super::*;
    use crate::profiles::config::Config;
    use std::os::unix::fs::{PermissionsExt, symlink};

    const BELOW: &str = ".claude/.credentials.json";
    const FIRST: &str =
        r#"{"claudeAiOauth":{"accessToken":"a-1","refreshToken":"r-1","expiresAt":1},"organizationUuid":"o"}"#;
    const SECOND: &str =
        r#"{"claudeAiOauth":{"accessToken":"a-2","refreshToken":"r-2","expiresAt":2},"organizationUuid":"o"}"#;

    type Plant = fn(&Path, &Path);
    type Change = Box<dyn Fn(&Homes)>;

    struct Homes {
        dir: tempfile::TempDir,
        profile: Profile,
    }

    impl Homes {
        fn new() -> Homes {
            let homes = Homes {
                dir: tempfile::tempdir().unwrap(),
                profile: Config::parse("").unwrap().profile("claude").unwrap().clone(),
            };
            fs::create_dir_all(homes.original().parent().unwrap()).unwrap();
            fs::create_dir(homes.jail()).unwrap();
            fs::write(homes.original(), FIRST).unwrap();
            homes
        }

        fn user(&self) -> PathBuf {
            self.dir.path().join("me")
        }

        fn jail(&self) -> PathBuf {
            self.dir.path().join("jail")
        }

        fn original(&self) -> PathBuf {
            self.user().join(BELOW)
        }

        fn copy(&self) -> PathBuf {
            self.jail().join(BELOW)
        }

        fn lend(&self) -> LentCredentials {
            lend(&self.profile, &self.user(), &self.jail()).unwrap().unwrap()
        }

        fn kept(&self) -> String {
            fs::read_to_string(self.original()).unwrap()
        }

        /// Replaces the copy as agents do.
        fn refresh(&self, text: &str) {
            let draft = self.copy().with_extension("tmp");
            fs::write(&draft, text).unwrap();
            fs::rename(draft, self.copy()).unwrap();
        }
    }

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn exactly_one_file_is_lent_and_goes_again() {
        let homes = Homes::new();
        fs::write(homes.user().join(".claude/settings.json"), "{}").unwrap();
        let lent = homes.lend();
        assert_eq!(fs::read_to_string(homes.copy()).unwrap(), FIRST);
        assert_eq!((mode(&homes.copy()), mode(homes.copy().parent().unwrap())), (0o600, 0o700));
        assert_eq!(fs::read_dir(homes.jail().join(".claude")).unwrap().count(), 1);
        assert_eq!(lent.take_back(), Returned::Unchanged);
        assert!(!homes.copy().exists() && homes.kept() == FIRST);
        fs::remove_file(homes.original()).unwrap();
        assert!(lend(&homes.profile, &homes.user(), &homes.jail()).unwrap().is_none());
    }

    #[test]
    fn a_refresh_comes_back() {
        let homes = Homes::new();
        fs::set_permissions(homes.original(), fs::Permissions::from_mode(0o644)).unwrap();
        let lent = homes.lend();
        homes.refresh(SECOND);
        assert_eq!(lent.take_back(), Returned::Refreshed);
        assert_eq!((homes.kept().as_str(), mode(&homes.original())), (SECOND, 0o600));
        assert_eq!(fs::read_dir(homes.user().join(".claude")).unwrap().count(), 1, "no draft is left");
        assert!(!homes.copy().exists());
    }

    #[test]
    fn a_refresh_survives_a_daemon_that_was_killed() {
        let homes = Homes::new();
        let killed = || {
            std::mem::forget(homes.lend());
            copies().remove(&homes.copy());
        };
        killed();
        homes.refresh(SECOND);
        let lent = homes.lend();
        assert_eq!((homes.kept().as_str(), fs::read_to_string(homes.copy()).unwrap().as_str()), (SECOND, SECOND));
        assert_eq!(lent.take_back(), Returned::Unchanged);
        assert_eq!(fs::read_dir(homes.dir.path()).unwrap().count(), 2, "nothing else is left");
        // What the operator has changed meanwhile counts.
        killed();
        homes.refresh(FIRST);
        let own = SECOND.replace("a-2", "a-3");
        fs::write(homes.original(), &own).unwrap();
        let lent = homes.lend();
        assert_eq!((homes.kept(), fs::read_to_string(homes.copy()).unwrap()), (own.clone(), own));
        drop(lent);
    }

    #[test]
    fn a_linked_file_of_the_operator_stays_linked() {
        let homes = Homes::new();
        let elsewhere = homes.dir.path().join("dotfiles.json");
        fs::rename(homes.original(), &elsewhere).unwrap();
        symlink(&elsewhere, homes.original()).unwrap();
        let lent = homes.lend();
        homes.refresh(SECOND);
        assert_eq!(lent.take_back(), Returned::Refreshed);
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), SECOND);
        assert!(fs::symlink_metadata(homes.original()).unwrap().is_symlink());
    }

    #[test]
    fn what_was_planted_is_replaced_and_never_followed() {
        let homes = Homes::new();
        let outside = homes.dir.path().join("outside");
        fs::create_dir(&outside).unwrap();
        let plants: [(&str, Plant); 6] = [
            ("a link in its place", |copy, outside| symlink(outside.join("x"), copy).unwrap()),
            ("a link to a folder in its place", |copy, outside| symlink(outside, copy).unwrap()),
            ("a folder in its place", |copy, _| fs::create_dir_all(copy.join("x")).unwrap()),
            ("a pipe in its place", |copy, _| {
                let mode = rustix::fs::Mode::from_raw_mode(0o600);
                rustix::fs::mknodat(rustix::fs::CWD, copy, rustix::fs::FileType::Fifo, mode, 0).unwrap();
            }),
            ("a link as its folder", |copy, outside| {
                fs::remove_dir(copy.parent().unwrap()).unwrap();
                symlink(outside, copy.parent().unwrap()).unwrap();
            }),
            ("a file as its folder", |copy, _| {
                fs::remove_dir(copy.parent().unwrap()).unwrap();
                fs::write(copy.parent().unwrap(), "x").unwrap();
            }),
        ];
        for (what, plant) in plants {
            fs::remove_dir_all(homes.jail()).unwrap();
            fs::create_dir_all(homes.copy().parent().unwrap()).unwrap();
            plant(&homes.copy(), &outside);
            let lent = homes.lend();
            assert!(fs::symlink_metadata(homes.copy()).unwrap().is_file(), "{what}");
            assert_eq!(fs::read_to_string(homes.copy()).unwrap(), FIRST, "{what}");
            assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "{what}");
            assert_eq!(lent.take_back(), Returned::Unchanged, "{what}");
        }
        fs::remove_dir_all(homes.jail()).unwrap();
        symlink(&outside, homes.jail()).unwrap();
        assert!(lend(&homes.profile, &homes.user(), &homes.jail()).is_err(), "the home itself is a link");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    }

    #[test]
    fn what_is_no_refresh_does_not_come_back() {
        let outside = tempfile::tempdir().unwrap();
        let foreign = outside.path().join("foreign");
        fs::write(&foreign, SECOND).unwrap();
        let changes: Vec<(&str, Change)> = vec![
            ("garbage", Box::new(|homes| homes.refresh("{\"claudeAiOauth\""))),
            ("empty", Box::new(|homes| homes.refresh(""))),
            ("another account", Box::new(|homes| homes.refresh(&SECOND.replace("\"o\"", "\"p\"")))),
            ("more than there was", Box::new(|homes| homes.refresh(&SECOND.replacen('{', "{\"x\":1,", 1)))),
            ("less than there was", Box::new(|homes| homes.refresh("{\"organizationUuid\":\"o\"}"))),
            ("huge", Box::new(|homes| homes.refresh(&format!("{SECOND}{}", " ".repeat(2 << 20))))),
            ("deleted", Box::new(|homes| fs::remove_file(homes.copy()).unwrap())),
            (
                "a link",
                Box::new(move |homes| {
                    fs::remove_file(homes.copy()).unwrap();
                    symlink(&foreign, homes.copy()).unwrap();
                }),
            ),
            (
                "a pipe",
                Box::new(|homes| {
                    fs::remove_file(homes.copy()).unwrap();
                    let mode = rustix::fs::Mode::from_raw_mode(0o600);
                    rustix::fs::mknodat(rustix::fs::CWD, homes.copy(), rustix::fs::FileType::Fifo, mode, 0).unwrap();
                }),
            ),
            (
                "a link as its folder",
                Box::new(|homes| {
                    let folder = homes.copy().parent().unwrap().to_owned();
                    fs::rename(&folder, homes.jail().join("other")).unwrap();
                    symlink("other", folder).unwrap();
                }),
            ),
        ];
        for (what, change) in changes {
            let homes = Homes::new();
            let lent = homes.lend();
            change(&homes);
            let taken = lent.take_back();
            assert!(matches!(taken, Returned::Rejected(_)), "{what}: {taken:?}");
            assert_eq!(homes.kept(), FIRST, "{what}");
        }
        assert_eq!(fs::read_to_string(outside.path().join("foreign")).unwrap(), SECOND);
    }

    #[test]
    fn what_the_operator_changed_meanwhile_stays() {
        let homes = Homes::new();
        let lent = homes.lend();
        homes.refresh(SECOND);
        let third = FIRST.replace("a-1", "a-3");
        fs::write(homes.original(), &third).unwrap();
        assert!(matches!(lent.take_back(), Returned::Rejected(why) if why.contains("has changed")));
        assert_eq!(homes.kept(), third);
    }

    #[test]
    fn two_agents_share_the_copy_and_the_last_takes_it_away() {
        let homes = Homes::new();
        let first = homes.lend();
        homes.refresh(SECOND);
        let second = homes.lend();
        assert_eq!(fs::read_to_string(homes.copy()).unwrap(), SECOND, "the second does not undo the refresh");
        assert_eq!(first.take_back(), Returned::Refreshed);
        assert!(homes.copy().exists());
        let third = SECOND.replace("a-2", "a-3");
        homes.refresh(&third);
        assert_eq!(second.take_back(), Returned::Refreshed);
        assert_eq!(homes.kept(), third);
        assert!(!homes.copy().exists());
    }

    #[test]
    fn what_is_dropped_leaves_no_copy() {
        let homes = Homes::new();
        drop(homes.lend());
        assert!(!homes.copy().exists());
    }

    #[test]
    fn a_lock_that_is_held_too_long_is_not_waited_for() {
        let homes = Homes::new();
        let lent = homes.lend();
        homes.refresh(SECOND);
        let held = lock(homes.original().parent().unwrap()).unwrap();
        assert!(matches!(lent.take_back(), Returned::Rejected(_)));
        drop(held);
        assert_eq!(homes.kept(), FIRST);
    }

    #[test]
    fn what_is_too_large_is_not_lent() {
        let homes = Homes::new();
        fs::write(homes.original(), vec![b' '; MAX_BYTES + 1]).unwrap();
        assert!(lend(&homes.profile, &homes.user(), &homes.jail()).is_err());
    }
}
