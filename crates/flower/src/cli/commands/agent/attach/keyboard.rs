//! The operator's keys, until the one that leaves.

use rustix::stdio::stdin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{Mutex, Notify, mpsc};

/// Ctrl-]
const LEAVE: u8 = 0x1d;
/// What the daemon takes at once.
const MOST: usize = 64 * 1024;
/// Reads of up to 4 KB that an agent has not taken yet. Who types more than that types into nothing.
const QUEUE: usize = 256;

pub(super) struct Keyboard {
    typed: Mutex<mpsc::Receiver<Vec<u8>>>,
    leaving: Arc<Leaving>,
}

#[derive(Default)]
struct Leaving {
    is_left: AtomicBool,
    bell: Notify,
}

impl Keyboard {
    /// Reads on a thread of its own: a terminal cannot be made not to block without changing it for others, too.
    pub(super) fn new() -> Keyboard {
        let (keys, typed) = mpsc::channel(QUEUE);
        let leaving = Arc::new(Leaving::default());
        let heard = leaving.clone();
        std::thread::spawn(move || read(&keys, &heard));
        Keyboard { typed: Mutex::new(typed), leaving }
    }

    /// Whatever was typed since; nothing at the end.
    pub(super) async fn keys(&self) -> Option<Vec<u8>> {
        let mut typed = self.typed.lock().await;
        let mut keys = typed.recv().await?;
        while keys.len() <= MOST - 4096
            && let Ok(more) = typed.try_recv()
        {
            keys.extend(more);
        }
        Some(keys)
    }

    pub(super) fn is_left(&self) -> bool {
        self.leaving.is_left.load(Ordering::Relaxed)
    }

    /// Ends so long after it was left: earlier keys may still be on their way.
    pub(super) async fn left_for(&self, time: Duration) {
        self.leaving.bell.notified().await;
        tokio::time::sleep(time).await;
    }
}

fn read(keys: &mpsc::Sender<Vec<u8>>, leaving: &Leaving) {
    let mut buffer = [0; 4096];
    loop {
        let length = match rustix::io::read(stdin(), &mut buffer) {
            Ok(length @ 1..) => length,
            Err(rustix::io::Errno::INTR) => continue,
            Ok(0) | Err(_) => return,
        };
        let leave = buffer[..length].iter().position(|key| *key == LEAVE);
        let typed = &buffer[..leave.unwrap_or(length)];
        if !typed.is_empty() {
            let _ = keys.try_send(typed.to_vec());
        }
        if leave.is_some() {
            leaving.is_left.store(true, Ordering::Relaxed);
            leaving.bell.notify_one();
            return;
        }
    }
}
