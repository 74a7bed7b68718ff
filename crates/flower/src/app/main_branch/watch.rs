//! The watch over MAIN: whoever else moves its branch or edits in it is noticed. The kernel tells of git's own files at once;
//! everything else is looked for every ten seconds.

use crate::app::App;
use crate::repository::Repository;
use rustix::fs::inotify::{CreateFlags, Reader, WatchFlags, add_watch, init};
use std::collections::{BTreeSet, HashMap};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// git writes several files for one move.
const SETTLE: Duration = Duration::from_millis(100);
const EVERY: Duration = Duration::from_secs(10);
/// Looking takes at most this part of the time, however large the checkout is.
const SHARE: u32 = 100;
const QUEUE: usize = 256;

#[derive(Debug, Default)]
pub struct Watch {
    ear: OnceLock<Arc<Ear>>,
}

#[derive(Debug)]
struct Ear {
    inotify: OwnedFd,
    /// By the kernel's own number of each watch: the project.
    heard: Mutex<HashMap<i32, String>>,
}

impl Watch {
    /// Listens to a project's repository.
    pub(in crate::app) fn add(&self, project: &str, repository: &Repository, branch: &str) {
        let Some(ear) = self.ear.get() else { return };
        // HEAD, packed refs and the index; the folder of the branch; the files of the first level.
        let branch = repository.git_dir.join("refs/heads").join(branch);
        let folders = [Some(repository.git_dir.as_path()), branch.parent(), Some(&repository.root)];
        for dir in folders.into_iter().flatten() {
            ear.listen(dir, project);
        }
    }
}

impl Ear {
    fn listen(&self, dir: &Path, project: &str) {
        let flags = WatchFlags::MOVED_TO
            | WatchFlags::MOVED_FROM
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::ONLYDIR
            | WatchFlags::DONT_FOLLOW;
        match add_watch(&self.inotify, dir, flags) {
            Ok(watch) => {
                self.heard.lock().expect("no panic while held").insert(watch, project.to_owned());
            }
            Err(error) => tracing::debug!("{}: {error}", dir.display()),
        }
    }
}

impl App {
    /// Until the daemon ends.
    pub async fn watch_mains(self: Arc<Self>) {
        let (tell, mut told) = mpsc::channel(QUEUE);
        match init(CreateFlags::CLOEXEC) {
            Ok(inotify) => {
                let ear = Arc::new(Ear { inotify, heard: Mutex::default() });
                let listening = ear.clone();
                let thread = std::thread::Builder::new().name("main-watch".into());
                match thread.spawn(move || listen(&listening, &tell)) {
                    Ok(_) => {
                        let _ = self.landings.watch.ear.set(ear);
                    }
                    Err(error) => tracing::warn!("MAIN is only looked at every {EVERY:?}: {error}"),
                }
            }
            Err(error) => tracing::warn!("MAIN is only looked at every {EVERY:?}: {error}"),
        }
        let mut due: HashMap<String, Instant> = HashMap::new();
        loop {
            let mut heard = BTreeSet::new();
            if let Ok(Some(first)) = tokio::time::timeout(EVERY / 10, told.recv()).await {
                tokio::time::sleep(SETTLE).await;
                heard.insert(first);
                while let Ok(more) = told.try_recv() {
                    heard.insert(more);
                }
            }
            let Ok(projects) = self.projects().await else { continue };
            let now = Instant::now();
            for project in projects {
                let is_due = due.get(&project.name).is_none_or(|due| *due <= now);
                if is_due || heard.contains(&project.name) {
                    let took = self.look_at_main(&project.name, &PathBuf::from(&project.root)).await;
                    // Also after a call: a checkout in which much happens is not looked at without pause.
                    due.insert(project.name, Instant::now() + EVERY.max(took * SHARE));
                }
            }
        }
    }

    async fn look_at_main(&self, project: &str, root: &Path) -> Duration {
        let began = Instant::now();
        // A repository without commits, or one that is gone, is not watched until it is there.
        if Repository::discover(root).is_none_or(|found| found.root != root) {
            return began.elapsed();
        }
        let looked = async {
            let turn = self.main_turn(project).await?;
            let (main, _) = self.check_main(&turn).await?;
            self.landings.watch.add(project, &turn.repository, &main.branch);
            Ok::<_, crate::error::Problem>(())
        };
        if let Err(problem) = looked.await {
            tracing::debug!("MAIN of {project}: {}", problem.message);
        }
        began.elapsed()
    }
}

/// Until the process ends.
fn listen(ear: &Ear, tell: &mpsc::Sender<String>) {
    let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
    let mut reader = Reader::new(&ear.inotify, &mut buffer);
    loop {
        match reader.next() {
            Ok(event) => {
                // git takes and leaves its lock all the time, without any change.
                let name = event.file_name().map(|name| name.to_bytes().to_vec()).unwrap_or_default();
                if name.ends_with(b".lock") && !event.events().contains(rustix::fs::inotify::ReadFlags::MOVED_TO) {
                    continue;
                }
                let project = ear.heard.lock().expect("no panic while held").get(&event.wd()).cloned();
                if let Some(project) = project
                    && tell.try_send(project).is_err()
                    && tell.is_closed()
                {
                    return;
                }
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return tracing::warn!("MAIN is only looked at now and then: {error}"),
        }
    }
}
