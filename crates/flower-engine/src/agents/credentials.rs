//! One file of credentials, lent to the home inside a jail and taken back when it was refreshed there. Whatever lies in that
//! home an earlier agent may have planted: no link in it is followed, and nothing in it is waited for.

use super::folder::{self, Folder};
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

/// Others hold the lock for one rename.
const DEADLINE: Duration = Duration::from_secs(5);

/// What is lent to whom, by where the copy is: agents of one home share it, and the last takes it away.
static LENT: Mutex<BTreeMap<PathBuf, Shared>> = Mutex::new(BTreeMap::new());

struct Shared {
    agents: usize,
    /// What the operator's file held when it was last the same as the copy.
    hash: String,
}

/// A copy of one file. [`Lent::take_back`] ends it; if it is dropped, nothing is taken back and the copy goes.
#[derive(Debug)]
pub struct Lent {
    /// The operator's own, where links lead.
    original: PathBuf,
    jail_home: PathBuf,
    below: PathBuf,
    ended: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    Unchanged,
    /// The operator's file has what the agent refreshed.
    Refreshed,
    /// It was changed, and the operator's file stays as it is.
    Left(String),
}

/// Lends the first of the profile's credentials that is there.
pub fn lend(profile: &Profile, user_home: &Path, jail_home: &Path) -> io::Result<Option<Lent>> {
    for name in &profile.credentials {
        let Some(below) = name.strip_prefix("~/").map(PathBuf::from) else { continue };
        let original = match user_home.join(&below).canonicalize() {
            Ok(original) => original,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let content = folder::read(&original)?;
        let mut lent = lent();
        let shared = lent.entry(jail_home.join(&below)).or_insert(Shared { agents: 0, hash: String::new() });
        // Another agent may have refreshed it meanwhile, and then only the copy is good.
        if shared.agents == 0 {
            Folder::make(jail_home, &below)?.write(&content)?;
            shared.hash = sha256(&content);
        }
        shared.agents += 1;
        return Ok(Some(Lent { original, jail_home: jail_home.to_owned(), below, ended: false }));
    }
    Ok(None)
}

impl Lent {
    /// Where the copy is, below the home.
    pub fn below(&self) -> &Path {
        &self.below
    }

    /// The operator's file gets what was refreshed, if it is plausible; the copy goes with its last user.
    pub fn take_back(mut self) -> Taken {
        let mut lent = lent();
        let taken = match lent.get_mut(&self.copy()) {
            Some(shared) => self.compare(shared),
            None => Taken::Unchanged,
        };
        self.end(&mut lent);
        taken
    }

    fn compare(&self, shared: &mut Shared) -> Taken {
        let content = match Folder::open(&self.jail_home, &self.below).and_then(|folder| folder.read()) {
            Ok(content) => content,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Taken::Left("it was deleted inside".into());
            }
            Err(error) => return Taken::Left(format!("what lies in its place is not taken: {error}")),
        };
        if sha256(&content) == shared.hash {
            return Taken::Unchanged;
        }
        match self.replace(&content, &shared.hash) {
            Ok(()) => {
                shared.hash = sha256(&content);
                Taken::Refreshed
            }
            Err(why) => Taken::Left(why),
        }
    }

    fn replace(&self, content: &[u8], lent_as: &str) -> Result<(), String> {
        let in_words = |error: io::Error| format!("{}: {error}", self.original.display());
        let folder = self.original.parent().ok_or("it has no folder")?;
        let _lock = lock(folder).map_err(in_words)?;
        let now = folder::read(&self.original).map_err(in_words)?;
        if sha256(&now) != lent_as {
            return Err("your own file has changed since it was lent".to_owned());
        }
        refreshed(&now, content)?;
        write(&self.original, content).map_err(in_words)
    }

    fn copy(&self) -> PathBuf {
        self.jail_home.join(&self.below)
    }

    fn end(&mut self, lent: &mut BTreeMap<PathBuf, Shared>) {
        self.ended = true;
        let copy = self.copy();
        let Some(shared) = lent.get_mut(&copy) else { return };
        shared.agents = shared.agents.saturating_sub(1);
        if shared.agents == 0 {
            lent.remove(&copy);
            // What cannot be removed is a folder of the agent's own making.
            let _ = Folder::open(&self.jail_home, &self.below).and_then(|folder| folder.remove());
        }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if !self.ended {
            self.end(&mut lent());
        }
    }
}

fn lent() -> MutexGuard<'static, BTreeMap<PathBuf, Shared>> {
    LENT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// On the folder itself, so that nothing is left lying around; other flowers do the same.
fn lock(folder: &Path) -> io::Result<File> {
    let file = File::open(folder)?;
    let start = Instant::now();
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK) if start.elapsed() < DEADLINE => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn write(original: &Path, content: &[u8]) -> io::Result<()> {
    let owner = fs::metadata(original)?;
    let mut draft = original.as_os_str().to_owned();
    draft.push(format!(".flower-{}", folder::random_name()));
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

/// Whether `new` is `old` with other tokens. An agent could otherwise log the operator in as somebody else.
fn refreshed(old: &[u8], new: &[u8]) -> Result<(), String> {
    let Ok(old) = serde_json::from_slice::<Value>(old) else { return Ok(()) };
    let new: Value = serde_json::from_slice(new).map_err(|_| "what the agent left there is no JSON".to_owned())?;
    same_shape(&old, &new, "")
}

fn same_shape(old: &Value, new: &Value, place: &str) -> Result<(), String> {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in old {
                let Some(other) = new.get(key) else {
                    return Err(format!("`{place}{key}` is missing in what the agent left there"));
                };
                if says_who(key) && value != other {
                    return Err(format!("the agent has changed `{place}{key}`, which is no token"));
                }
                same_shape(value, other, &format!("{place}{key}."))?;
            }
            match new.keys().find(|key| !old.contains_key(*key)) {
                Some(_) => Err(format!("the agent has added something to `{}`", place.trim_end_matches('.'))),
                None => Ok(()),
            }
        }
        (Value::Object(_), _) | (_, Value::Object(_)) => {
            Err(format!("`{}` is of another kind in what the agent left there", place.trim_end_matches('.')))
        }
        _ => Ok(()),
    }
}

/// Keys that say whose it is or where it is valid do not change by a refresh.
fn says_who(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    ["account", "email", "user", "org", "api_key", "apikey", "url", "issuer", "client"]
        .iter()
        .any(|word| key.contains(word))
}

#[cfg(test)]
mod tests {
    use super::super::folder::MOST_BYTES;
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

        fn lend(&self) -> Lent {
            lend(&self.profile, &self.user(), &self.jail()).unwrap().unwrap()
        }

        fn kept(&self) -> String {
            fs::read_to_string(self.original()).unwrap()
        }

        /// As agents do it.
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
        assert_eq!(lent.take_back(), Taken::Unchanged);
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
        assert_eq!(lent.take_back(), Taken::Refreshed);
        assert_eq!((homes.kept().as_str(), mode(&homes.original())), (SECOND, 0o600));
        assert_eq!(fs::read_dir(homes.user().join(".claude")).unwrap().count(), 1, "no draft is left");
        assert!(!homes.copy().exists());
    }

    #[test]
    fn a_linked_file_of_the_operator_stays_linked() {
        let homes = Homes::new();
        let elsewhere = homes.dir.path().join("dotfiles.json");
        fs::rename(homes.original(), &elsewhere).unwrap();
        symlink(&elsewhere, homes.original()).unwrap();
        let lent = homes.lend();
        homes.refresh(SECOND);
        assert_eq!(lent.take_back(), Taken::Refreshed);
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
            assert_eq!(lent.take_back(), Taken::Unchanged, "{what}");
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
            assert!(matches!(taken, Taken::Left(_)), "{what}: {taken:?}");
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
        assert!(matches!(lent.take_back(), Taken::Left(why) if why.contains("has changed")));
        assert_eq!(homes.kept(), third);
    }

    #[test]
    fn two_agents_share_the_copy_and_the_last_takes_it_away() {
        let homes = Homes::new();
        let first = homes.lend();
        homes.refresh(SECOND);
        let second = homes.lend();
        assert_eq!(fs::read_to_string(homes.copy()).unwrap(), SECOND, "the second does not undo the refresh");
        assert_eq!(first.take_back(), Taken::Refreshed);
        assert!(homes.copy().exists());
        let third = SECOND.replace("a-2", "a-3");
        homes.refresh(&third);
        assert_eq!(second.take_back(), Taken::Refreshed);
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
    fn whoever_holds_the_lock_too_long_is_not_waited_for() {
        let homes = Homes::new();
        let lent = homes.lend();
        homes.refresh(SECOND);
        let held = lock(homes.original().parent().unwrap()).unwrap();
        assert!(matches!(lent.take_back(), Taken::Left(_)));
        drop(held);
        assert_eq!(homes.kept(), FIRST);
    }

    #[test]
    fn what_is_too_large_is_not_lent() {
        let homes = Homes::new();
        fs::write(homes.original(), vec![b' '; MOST_BYTES + 1]).unwrap();
        assert!(lend(&homes.profile, &homes.user(), &homes.jail()).is_err());
    }
}
