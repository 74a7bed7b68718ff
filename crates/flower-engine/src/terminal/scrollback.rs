//! What a terminal has shown, in one file: positions only grow, and the older half goes when it becomes too large.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Hours of a full-screen program, and an agent's worth of it does not fill a disk.
pub const MOST: u64 = 16 << 20;
/// What is left of it then.
const KEPT: u64 = MOST / 2;

/// Before the position of the first byte, in 20 digits and a line of its own: moving that line into place with the bytes
/// behind it makes both true at the same moment.
const TITLE: &str = "flower terminal ";
const HEADER: usize = TITLE.len() + 20 + 1;

/// The file as it is being written. There is one of these for each file.
pub struct Scrollback {
    path: PathBuf,
    place: Place,
}

/// The file as it was at one moment. It can be read for as long as somebody has this, also when the file was cut since.
#[derive(Clone)]
pub struct Place {
    file: Arc<File>,
    /// Of the first byte that is still there.
    pub first: u64,
    /// Behind the last.
    pub end: u64,
}

impl Scrollback {
    /// What is there, for somebody who only reads: nothing is made, and nobody who writes is disturbed.
    pub fn look(path: &Path) -> io::Result<Option<Place>> {
        match File::open(path) {
            Ok(file) => existing(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Goes on after what is there.
    pub fn open(path: &Path) -> io::Result<Scrollback> {
        let place = match OpenOptions::new().read(true).write(true).open(path) {
            Ok(file) => existing(file)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let place = place.map_or_else(|| begin(path, 0, io::empty()), Ok)?;
        Ok(Scrollback { path: path.to_owned(), place })
    }

    pub fn place(&self) -> Place {
        self.place.clone()
    }

    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.place.end - self.place.first + bytes.len() as u64 > MOST {
            let first = self.place.end.saturating_sub(KEPT).max(self.place.first);
            let mut kept = &*self.place.file;
            kept.seek(SeekFrom::Start(self.place.in_file(first)))?;
            self.place = begin(&self.path, first, kept.take(self.place.end - first))?;
        }
        self.place.file.write_all_at(bytes, self.place.in_file(self.place.end))?;
        self.place.end += bytes.len() as u64;
        Ok(())
    }
}

impl Place {
    /// At most `most` bytes from a position on, and the position of the first: that, or the oldest that is there.
    pub fn read(&self, from: u64, most: u64) -> io::Result<(u64, Vec<u8>)> {
        let from = from.clamp(self.first, self.end);
        let mut bytes = vec![0; usize::try_from(most.min(self.end - from)).map_err(io::Error::other)?];
        self.file.read_exact_at(&mut bytes, self.in_file(from))?;
        Ok((from, bytes))
    }

    fn in_file(&self, position: u64) -> u64 {
        position - self.first + HEADER as u64
    }
}

/// None if it is not one of ours, or was never finished.
fn existing(file: File) -> io::Result<Option<Place>> {
    let mut header = [0; HEADER];
    match file.read_exact_at(&mut header, 0) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let text = std::str::from_utf8(&header).ok();
    let first: Option<u64> = text.and_then(|text| text.strip_prefix(TITLE)?.trim_end().parse().ok());
    let length = file.metadata()?.len() - HEADER as u64;
    Ok(first.map(|first| Place { file: Arc::new(file), first, end: first + length }))
}

/// A new file in its place, whole or not at all.
fn begin(path: &Path, first: u64, mut content: impl Read) -> io::Result<Place> {
    let mut draft = path.as_os_str().to_owned();
    draft.push(".draft");
    let mut file =
        OpenOptions::new().read(true).write(true).create(true).truncate(true).mode(0o600).open(Path::new(&draft))?;
    writeln!(file, "{TITLE}{first:020}")?;
    let length = io::copy(&mut content, &mut file)?;
    fs::rename(&draft, path)?;
    Ok(Place { file: Arc::new(file), first, end: first + length })
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
        let before = scrollback.place();
        assert_eq!(before.read(6, 100).unwrap(), (6, b"world".to_vec()));
        let block: Vec<u8> = (0..1 << 20).map(|at| (at % 251) as u8).collect();
        for _ in 0..40 {
            scrollback.append(&block).unwrap();
            assert!(fs::metadata(&path).unwrap().len() <= MOST + HEADER as u64);
        }
        let place = scrollback.place();
        assert_eq!(place.end, 11 + 40 * block.len() as u64);
        assert!(place.end - place.first >= KEPT);
        let (at, bytes) = place.read(0, 1 << 20).unwrap();
        assert_eq!(at, place.first, "what is gone begins with the first that is there");
        let shift = usize::try_from((at - 11) % block.len() as u64).unwrap();
        assert_eq!(bytes[..1000], block[shift..shift + 1000]);
        assert_eq!(before.read(0, 5).unwrap().1, b"hello", "whoever has the old one can still read it");
        drop(scrollback);
        let mut again = Scrollback::open(&path).unwrap();
        assert_eq!((again.place().first, again.place().end), (place.first, place.end));
        again.append(b"!").unwrap();
        assert_eq!(again.place().read(place.end, 10).unwrap(), (place.end, b"!".to_vec()));
        assert_eq!(again.place().read(u64::MAX, 10).unwrap().1, b"", "nothing is there yet");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no draft is left");
    }

    #[test]
    fn what_is_no_scrollback_is_begun_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("scrollback");
        for wrong in ["", "flower", "something else that is longer than any header of ours would be"] {
            fs::write(&path, wrong).unwrap();
            assert_eq!(Scrollback::open(&path).unwrap().place().end, 0, "{wrong}");
        }
    }
}
