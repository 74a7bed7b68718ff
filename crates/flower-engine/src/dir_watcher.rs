//! Hears from the kernel when something changes in a folder, and tells of whom. Nothing is polled.

use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
use std::collections::HashMap;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;

#[derive(Debug)]
pub(super) struct DirWatcher<T> {
    inotify: OwnedFd,
    /// By the kernel's own number of each watch: whose folder it is.
    heard: Mutex<HashMap<i32, T>>,
}

impl<T: Clone + Send + 'static> DirWatcher<T> {
    /// An ear, and what it hears; at most `waiting` of that wait, the rest is dropped.
    pub(super) fn open(name: &str, waiting: usize) -> io::Result<(Arc<DirWatcher<T>>, mpsc::Receiver<T>)> {
        let ear = Arc::new(DirWatcher { inotify: init(CreateFlags::CLOEXEC)?, heard: Mutex::default() });
        let (tell, told) = mpsc::channel(waiting);
        let listening = ear.clone();
        std::thread::Builder::new().name(name.to_owned()).spawn(move || listening.hear(&tell))?;
        Ok((ear, told))
    }

    /// Listens to a folder. What goes away takes its watch along.
    pub(super) fn listen(&self, dir: &Path, changes: WatchFlags, of: T) {
        match add_watch(&self.inotify, dir, changes | WatchFlags::ONLYDIR | WatchFlags::DONT_FOLLOW) {
            Ok(watch) => {
                self.heard.lock().expect("no panic while held").insert(watch, of);
            }
            Err(error) => tracing::debug!("{}: {error}", dir.display()),
        }
    }

    /// Until the process ends.
    fn hear(&self, tell: &mpsc::Sender<T>) {
        let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
        let mut reader = Reader::new(&self.inotify, &mut buffer);
        loop {
            match reader.next() {
                Ok(event) => {
                    // git takes and leaves its locks all the time, without any change.
                    let is_lock = event.file_name().is_some_and(|name| name.to_bytes().ends_with(b".lock"));
                    if is_lock && !event.events().contains(ReadFlags::MOVED_TO) {
                        continue;
                    }
                    let of = self.heard.lock().expect("no panic while held").get(&event.wd()).cloned();
                    if let Some(of) = of
                        && tell.try_send(of).is_err()
                        && tell.is_closed()
                    {
                        return;
                    }
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return tracing::warn!("the kernel tells of changes no longer: {error}"),
            }
        }
    }
}
