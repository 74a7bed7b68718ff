//! Blobs: files named by the SHA-256 of their content. Writing the same thing twice stores it once.

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

    /// Stores the bytes durably and gives their name. A kill leaves nothing, or all of it.
    pub fn put(&self, bytes: &[u8]) -> Result<String, StoreError> {
        let sha256 = chain::sha256(bytes);
        let path = self.path(&sha256);
        let stored = if path.exists() { Ok(()) } else { write(&path, bytes) };
        // Also for one that is there: whoever put it there may have failed at just this.
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
    // Two writers of the same blob write the same bytes, each to a file of its own.
    let draft = folder.join(format!("draft-{}-{:?}", std::process::id(), std::thread::current().id()));
    let written = (|| {
        let mut file = File::create(&draft)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&draft, path)
    })();
    if written.is_err() {
        // The draft is of no use; the error that matters is the one above.
        let _ = fs::remove_file(&draft);
    }
    written
}

/// A name is on disk once its folder is, and that folder's name in its own: the letters, `blobs`, the home.
fn sync_folders(path: &Path) -> io::Result<()> {
    path.ancestors().skip(1).take(3).try_for_each(|folder| File::open(folder)?.sync_all())
}

/// What a failed file operation means for whoever asked for it.
pub fn io_error(path: &Path, error: &io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full,
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            StoreError::ReadOnly(path.display().to_string())
        }
        _ => StoreError::Disk(format!("{}: {error}", path.display())),
    }
}
