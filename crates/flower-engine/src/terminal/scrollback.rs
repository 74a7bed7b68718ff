//! The output of a terminal in one file. Positions only grow; when the file becomes too large, its older half is dropped.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Enough for hours of a full-screen program, and small enough for many agents on one disk.
pub const MAX_BYTES: u64 = 16 << 20;
/// What is left when the older half is dropped.
const KEPT_BYTES: u64 = MAX_BYTES / 2;

/// The first line of the file is this and the position of the first byte, in 20 digits. So one rename replaces the position
/// together with the bytes.
const TITLE: &str = "flower terminal ";
const HEADER: usize = TITLE.len() + 20 + 1;

/// The writer of a scrollback; one for each file.
pub struct Scrollback {
    path: PathBuf,
    snapshot: Snapshot,
}

/// The file at one moment. It stays readable when the older half was dropped since.
#[derive(Clone)]
pub struct Snapshot {
    file: Arc<File>,
    /// Position of the first byte that is still there.
    pub first: u64,
    /// Position after the last byte.
    pub end: u64,
}

impl Scrollback {
    /// Opens an existing file for reading only, also while another process writes it.
    pub fn read_only(path: &Path) -> io::Result<Option<Snapshot>> {
        match File::open(path) {
            Ok(file) => existing(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens or creates a file for appending.
    pub fn open(path: &Path) -> io::Result<Scrollback> {
        let snapshot = match OpenOptions::new().read(true).write(true).open(path) {
            Ok(file) => existing(file)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let snapshot = snapshot.map_or_else(|| create(path, 0, io::empty()), Ok)?;
        Ok(Scrollback { path: path.to_owned(), snapshot })
    }

    pub fn snapshot(&self) -> Snapshot {
        self.snapshot.clone()
    }

    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.snapshot.end - self.snapshot.first + bytes.len() as u64 > MAX_BYTES {
            let first = self.snapshot.end.saturating_sub(KEPT_BYTES).max(self.snapshot.first);
            let mut kept = &*self.snapshot.file;
            kept.seek(SeekFrom::Start(self.snapshot.in_file(first)))?;
            self.snapshot = create(&self.path, first, kept.take(self.snapshot.end - first))?;
        }
        self.snapshot.file.write_all_at(bytes, self.snapshot.in_file(self.snapshot.end))?;
        self.snapshot.end += bytes.len() as u64;
        Ok(())
    }
}

impl Snapshot {
    /// At most `max` bytes from a position, and the position of the first of them. If the requested position was dropped,
    /// reading starts with the oldest byte.
    pub fn read(&self, from: u64, max: u64) -> io::Result<(u64, Vec<u8>)> {
        let from = from.clamp(self.first, self.end);
        let mut bytes = vec![0; usize::try_from(max.min(self.end - from)).map_err(io::Error::other)?];
        self.file.read_exact_at(&mut bytes, self.in_file(from))?;
        Ok((from, bytes))
    }

    fn in_file(&self, position: u64) -> u64 {
        position - self.first + HEADER as u64
    }
}

/// None if the header is missing or incomplete.
fn existing(file: File) -> io::Result<Option<Snapshot>> {
    let mut header = [0; HEADER];
    match file.read_exact_at(&mut header, 0) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let text = std::str::from_utf8(&header).ok();
    let first: Option<u64> = text.and_then(|text| text.strip_prefix(TITLE)?.trim_end().parse().ok());
    let length = file.metadata()?.len() - HEADER as u64;
    Ok(first.map(|first| Snapshot { file: Arc::new(file), first, end: first + length }))
}

/// Replaces the file atomically by one with this content.
fn create(path: &Path, first: u64, mut content: impl Read) -> io::Result<Snapshot> {
    let mut draft = path.as_os_str().to_owned();
    draft.push(".draft");
    let mut file =
        OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(0o600).open(Path::new(&draft))?;
    writeln!(file, "{TITLE}{first:020}")?;
    let length = io::copy(&mut content, &mut file)?;
    fs::rename(&draft, path)?;
    Ok(Snapshot { file: Arc::new(file), first, end: first + length })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_only_grow_also_when_it_is_cut_or_opened_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("scrollback");
        let mut scrollback = Scrollback::open(&path).unwrap();
        scrollback.append(b"hello ").unwrap();
        scrollback.append(b"world").unwrap();
        let before = scrollback.snapshot();
        assert_eq!(before.read(6, 100).unwrap(), (6, b"world".to_vec()));
        let block: Vec<u8> = (0..1 << 20).map(|at| (at % 251) as u8).collect();
        for _ in 0..40 {
            scrollback.append(&block).unwrap();
            assert!(fs::metadata(&path).unwrap().len() <= MAX_BYTES + HEADER as u64);
        }
        let snapshot = scrollback.snapshot();
        assert_eq!(snapshot.end, 11 + 40 * block.len() as u64);
        assert!(snapshot.end - snapshot.first >= KEPT_BYTES);
        let (at, bytes) = snapshot.read(0, 1 << 20).unwrap();
        assert_eq!(at, snapshot.first, "reading starts with the oldest byte");
        let shift = usize::try_from((at - 11) % block.len() as u64).unwrap();
        assert_eq!(bytes[..1000], block[shift..shift + 1000]);
        assert_eq!(before.read(0, 5).unwrap().1, b"hello", "an old snapshot stays readable");
        drop(scrollback);
        let mut again = Scrollback::open(&path).unwrap();
        assert_eq!((again.snapshot().first, again.snapshot().end), (snapshot.first, snapshot.end));
        again.append(b"!").unwrap();
        assert_eq!(again.snapshot().read(snapshot.end, 10).unwrap(), (snapshot.end, b"!".to_vec()));
        assert_eq!(again.snapshot().read(u64::MAX, 10).unwrap().1, b"", "nothing is there yet");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no draft is left");
    }

    #[test]
    fn what_is_no_scrollback_is_begun_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("scrollback");
        for wrong in ["", "flower", "something else that is longer than any header of ours would be"] {
            fs::write(&path, wrong).unwrap();
            assert_eq!(Scrollback::open(&path).unwrap().snapshot().end, 0, "{wrong}");
        }
    }
}
