//! Watches directories with inotify, and sends the owner of a directory when something in it changes.

use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
use std::collections::HashMap;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;

/// `T` identifies the owner of a watched directory.
#[derive(Debug)]
pub(super) struct DirWatcher<T> {
    inotify: OwnedFd,
    /// The owner of each directory, by its inotify watch descriptor.
    owners: Mutex<HashMap<i32, T>>,
}

impl<T: Clone + Send + 'static> DirWatcher<T> {
    /// Starts the watching thread `name`. Returns the watcher and its channel of `capacity`; owners that do not fit are dropped.
    pub(super) fn start(name: &str, capacity: usize) -> io::Result<(Arc<DirWatcher<T>>, mpsc::Receiver<T>)> {
        let watcher = Arc::new(DirWatcher { inotify: init(CreateFlags::CLOEXEC)?, owners: Mutex::default() });
        let (sender, receiver) = mpsc::channel(capacity);
        let running = watcher.clone();
        std::thread::Builder::new().name(name.to_owned()).spawn(move || running.run(&sender))?;
        Ok((watcher, receiver))
    }

    /// Watches a directory. The kernel removes the watch when the directory is deleted.
    pub(super) fn watch(&self, dir: &Path, changes: WatchFlags, owner: T) {
        match add_watch(&self.inotify, dir, changes | WatchFlags::ONLYDIR | WatchFlags::DONT_FOLLOW) {
            Ok(watch) => {
                self.owners.lock().expect("no panic while held").insert(watch, owner);
            }
            Err(error) => tracing::debug!("{}: {error}", dir.display()),
        }
    }

    /// Runs until the process ends or the receiver is dropped.
    fn run(&self, sender: &mpsc::Sender<T>) {
        let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
        let mut reader = Reader::new(&self.inotify, &mut buffer);
        loop {
            match reader.next() {
                Ok(event) => {
                    // git creates and deletes lock files without changing anything; only a rename to a `.lock` name counts.
                    let is_lock = event.file_name().is_some_and(|name| name.to_bytes().ends_with(b".lock"));
                    if is_lock && !event.events().contains(ReadFlags::MOVED_TO) {
                        continue;
                    }
                    let owner = self.owners.lock().expect("no panic while held").get(&event.wd()).cloned();
                    if let Some(owner) = owner
                        && sender.try_send(owner).is_err()
                        && sender.is_closed()
                    {
                        return;
                    }
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return tracing::warn!("directories are no longer watched: {error}"),
            }
        }
    }
}
