//! Reads the operator's keys, until the one that detaches.

use rustix::stdio::stdin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{Mutex, Notify, mpsc};

/// Ctrl-]
const DETACH_KEY: u8 = 0x1d;
/// The most that the daemon accepts at once.
const MAX_BYTES: usize = 64 * 1024;
/// Reads of up to 4 KB that wait to be sent. Further keys are dropped.
const MAX_QUEUED: usize = 256;

pub(super) struct Keyboard {
    typed: Mutex<mpsc::Receiver<Vec<u8>>>,
    detach: Arc<Detach>,
}

#[derive(Default)]
struct Detach {
    is_detached: AtomicBool,
    notify: Notify,
}

impl Keyboard {
    /// Reads on a thread of its own: non-blocking mode would change the terminal for other programs, too.
    pub(super) fn new() -> Keyboard {
        let (keys, typed) = mpsc::channel(MAX_QUEUED);
        let detach = Arc::new(Detach::default());
        let shared = detach.clone();
        std::thread::spawn(move || read(&keys, &shared));
        Keyboard { typed: Mutex::new(typed), detach }
    }

    /// The keys that were typed since the last call; none at the end of input.
    pub(super) async fn keys(&self) -> Option<Vec<u8>> {
        let mut typed = self.typed.lock().await;
        let mut keys = typed.recv().await?;
        while keys.len() <= MAX_BYTES - 4096
            && let Ok(more) = typed.try_recv()
        {
            keys.extend(more);
        }
        Some(keys)
    }

    pub(super) fn is_detached(&self) -> bool {
        self.detach.is_detached.load(Ordering::Relaxed)
    }

    /// Waits until the operator has detached and `time` has passed: earlier keys are still being sent.
    pub(super) async fn detached_for(&self, time: Duration) {
        self.detach.notify.notified().await;
        tokio::time::sleep(time).await;
    }
}

fn read(keys: &mpsc::Sender<Vec<u8>>, detach: &Detach) {
    let mut buffer = [0; 4096];
    loop {
        let length = match rustix::io::read(stdin(), &mut buffer) {
            Ok(length @ 1..) => length,
            Err(rustix::io::Errno::INTR) => continue,
            Ok(0) | Err(_) => return,
        };
        let end = buffer[..length].iter().position(|key| *key == DETACH_KEY);
        let typed = &buffer[..end.unwrap_or(length)];
        if !typed.is_empty() {
            let _ = keys.try_send(typed.to_vec());
        }
        if end.is_some() {
            detach.is_detached.store(true, Ordering::Relaxed);
            detach.notify.notify_one();
            return;
        }
    }
}
