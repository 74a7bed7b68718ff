//! One async lock per key, created on first use.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex};
use tokio::sync::Mutex as AsyncMutex;

#[derive(Debug)]
pub(crate) struct KeyedLocks<K>(Mutex<HashMap<K, Arc<AsyncMutex<()>>>>);

impl<K> Default for KeyedLocks<K> {
    fn default() -> KeyedLocks<K> {
        KeyedLocks(Mutex::default())
    }
}

impl<K: Eq + Hash> KeyedLocks<K> {
    pub(crate) fn of<Q>(&self, key: &Q) -> Arc<AsyncMutex<()>>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ToOwned<Owned = K> + ?Sized,
    {
        let mut locks = self.0.lock().expect("no panic while held");
        if let Some(lock) = locks.get(key) {
            return lock.clone();
        }
        locks.entry(key.to_owned()).or_default().clone()
    }
}
