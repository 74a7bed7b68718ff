//! Blobs: files named by the SHA-256 of their content. The same content is stored once.

use super::error::StoreError;
use flower_core::chain;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub struct Blobs {
    folder: PathBuf,
}

impl Blobs {
    pub fn new(folder: PathBuf) -> Blobs {
        Blobs { folder }
    }

    /// Stores the bytes durably and returns their name. After a kill the blob is absent or complete.
    pub fn put(&self, bytes: &[u8]) -> Result<String, StoreError> {
        let sha256 = chain::sha256(bytes);
        let path = self.path(&sha256);
        let stored = if path.exists() { Ok(()) } else { write(&path, bytes) };
        // Also if the blob exists: an earlier writer may have been killed before it synced the folders.
        stored.and_then(|()| sync_folders(&path)).map_err(|error| io_error(&path, &error))?;
        Ok(sha256)
    }

    pub fn get(&self, sha256: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let named = sha256.len() == 64 && sha256.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if !named {
            return Ok(None);
        }
        let path = self.path(sha256);
        match fs::read(&path) {
            Ok(bytes) if chain::sha256(&bytes) == sha256 => Ok(Some(bytes)),
            Ok(_) => Err(StoreError::Corrupt(format!("blob {sha256} is not what was stored"))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error(&path, &error)),
        }
    }

    fn path(&self, sha256: &str) -> PathBuf {
        self.folder.join(&sha256[..2]).join(sha256)
    }
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().expect("a blob lies in a folder");
    fs::create_dir_all(folder)?;
    // Two writers of the same blob write the same bytes, each to its own draft file.
    let draft = folder.join(format!("draft-{}-{:?}", std::process::id(), std::thread::current().id()));
    let written = (|| {
        let mut file = File::create(&draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&draft, path)
    })();
    if written.is_err() {
        // The draft is useless; the error to report is the one above.
        let _ = fs::remove_file(&draft);
    }
    written
}

/// Syncs the parent folders, because a file's name is durable only when each folder above it is: the folders of
/// letters, `blobs` and the home.
fn sync_folders(path: &Path) -> io::Result<()> {
    path.ancestors().skip(1).take(3).try_for_each(|folder| File::open(folder)?.sync_all())
}

/// The store's error for a failed file operation.
pub fn io_error(path: &Path, error: &io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full,
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            StoreError::ReadOnly(path.display().to_string())
        }
        _ => StoreError::Disk(format!("{}: {error}", path.display())),
    }
}
