//! Git LFS: a file that `.gitattributes` assigns to `filter=lfs` is a *pointer* in git, with the hash and the size of its content.
//!
//! git converts between both with a filter, a program that the configuration names, and flower runs none of those. Where contents
//! matter, [`Repo::with_lfs`](crate::Repo::with_lfs) makes flower's own executable the filter instead: [`serve`] computes pointers,
//! and reads and writes only files named by their hash.

use crate::GitError;
use crate::repository::Repository;
use rustix::fs::{Mode, OFlags};
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// How attributes name the filter.
pub const ATTRIBUTE: &str = "filter=lfs";
/// git-lfs takes no longer file for a pointer.
pub const MAX_POINTER_BYTES: u64 = 1024;
const VERSION: &str = "version https://git-lfs.github.com/spec/v1";
/// Content in one packet of the protocol of filters.
const MAX_PACKET_BYTES: usize = 65_516;
/// The name of flower's command that calls [`serve`].
pub const COMMAND: &str = "lfs-filter";

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// The folder with the contents that git-lfs has in MAIN's repository.
pub fn contents(repository: &Repository) -> PathBuf {
    repository.git_dir.join("lfs/objects")
}

/// Sets flower's own executable, which git starts as the filter. Without it, contents count as changed.
pub fn set_filter_program(program: PathBuf) {
    let _ = PROGRAM.set(program);
}

/// What git does with files of LFS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lfs {
    /// Contents count as their pointers; pointers are written as they are.
    Pointers,
    /// Contents that are added are stored in this folder.
    Store(PathBuf),
    /// Contents that this folder has are written instead of pointers.
    Contents(PathBuf),
}

impl Lfs {
    /// The settings that make flower the filter.
    pub(crate) fn settings(&self) -> Vec<(OsString, OsString)> {
        let Some(program) = PROGRAM.get() else { return Vec::new() };
        let mut command = quoted(program);
        command.push(format!(" {COMMAND}"));
        match self {
            Lfs::Pointers => {}
            Lfs::Store(dir) => {
                command.push(" --store ");
                command.push(quoted(dir));
            }
            Lfs::Contents(dir) => {
                command.push(" --contents ");
                command.push(quoted(dir));
            }
        }
        vec![("filter.lfs.process".into(), command)]
    }
}

/// A word for the shell that starts a filter.
fn quoted(path: &Path) -> OsString {
    use std::os::unix::ffi::OsStringExt;
    let inner: Vec<u8> = path
        .as_os_str()
        .as_bytes()
        .iter()
        .flat_map(|&byte| match byte {
            b'\'' => b"'\\''".to_vec(),
            byte => vec![byte],
        })
        .collect();
    OsString::from_vec([&b"'"[..], &inner, b"'"].concat())
}

/// What git stores of a file of LFS.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pointer {
    /// The SHA-256 of the content, 64 hexadecimal digits in lower case.
    pub oid: String,
    pub size: u64,
}

impl Pointer {
    /// `None` if the text is no pointer, or one with extensions, which change the content in ways that flower does not know.
    pub fn parse(text: &[u8]) -> Option<Pointer> {
        if text.len() as u64 > MAX_POINTER_BYTES {
            return None;
        }
        let mut lines = str::from_utf8(text).ok()?.lines();
        if lines.next()? != VERSION {
            return None;
        }
        let oid = lines.next()?.strip_prefix("oid sha256:")?;
        let size = lines.next()?.strip_prefix("size ")?.parse().ok()?;
        let is_hash = oid.len() == 64 && oid.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        (is_hash && lines.next().is_none()).then(|| Pointer { oid: oid.to_owned(), size })
    }

    pub fn text(&self) -> String {
        format!("{VERSION}\noid sha256:{}\nsize {}\n", self.oid, self.size)
    }

    /// The path of its content in a folder such as `.git/lfs/objects`.
    pub fn path_in(&self, store: &Path) -> PathBuf {
        store.join(&self.oid[..2]).join(&self.oid[2..4]).join(&self.oid)
    }

    /// The content, if the folder has a file of its hash and size.
    fn open(&self, store: &Path) -> Option<File> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = File::from(rustix::fs::open(self.path_in(store), flags, Mode::empty()).ok()?);
        file.metadata().is_ok_and(|found| found.is_file() && found.len() == self.size).then_some(file)
    }

    /// Whether the folder has its content.
    pub fn is_in(&self, store: &Path) -> bool {
        self.open(store).is_some()
    }
}

/// The folder of flower's own below a folder such as `.git/lfs/objects`, for contents that are not complete. What a kill leaves there
/// can be deleted while nothing is stored.
pub fn drafts(store: &Path) -> PathBuf {
    store.join("flower-drafts")
}

/// Copies at most `most` bytes of `content` into a folder such as `.git/lfs/objects`, under the name of its hash. Nothing is stored
/// if the hash or the size is not that of `expected`.
pub fn store(dir: &Path, mut content: impl Read, expected: Option<&Pointer>, most: u64) -> io::Result<Pointer> {
    let mut draft = Draft::create(dir)?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = match content.read(&mut buffer) {
            Ok(0) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        draft.write(&buffer[..count])?;
        if draft.size > most {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it is longer than {most} bytes")));
        }
    }
    draft.finish(expected)
}

/// A content that is being stored.
struct Draft {
    dir: PathBuf,
    path: PathBuf,
    file: File,
    hash: Sha256,
    size: u64,
}

impl Draft {
    fn create(dir: &Path) -> io::Result<Draft> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let drafts = drafts(dir);
        fs::create_dir_all(&drafts)?;
        let path = drafts.join(format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
        let _ = fs::remove_file(&path);
        let file = File::create_new(&path)?;
        Ok(Draft { dir: dir.to_owned(), path, file, hash: Sha256::new(), size: 0 })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.size += bytes.len() as u64;
        self.file.write_all(bytes)
    }

    fn finish(mut self, expected: Option<&Pointer>) -> io::Result<Pointer> {
        let pointer = Pointer { oid: hex(std::mem::take(&mut self.hash)), size: self.size };
        if expected.is_some_and(|expected| *expected != pointer) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "its hash or size is another one"));
        }
        if !pointer.is_in(&self.dir) {
            self.file.sync_all()?;
            let path = pointer.path_in(&self.dir);
            fs::create_dir_all(path.parent().unwrap_or(&self.dir))?;
            fs::rename(&self.path, path)?;
        }
        Ok(pointer)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Serves git's protocol of filters (version 2) until git closes the input.
pub fn serve(lfs: &Lfs, input: impl Read, output: impl Write) -> Result<(), GitError> {
    let mut filter = Filter { input: BufReader::new(input), output: BufWriter::new(output) };
    filter.serve(lfs).map_err(|error| GitError::NotStarted(error.to_string()))
}

struct Filter<R: Read, W: Write> {
    input: BufReader<R>,
    output: BufWriter<W>,
}

/// A packet; `None` is the one that ends a list.
type Packet = Option<Vec<u8>>;

impl<R: Read, W: Write> Filter<R, W> {
    fn serve(&mut self, lfs: &Lfs) -> io::Result<()> {
        self.list()?;
        self.answer(&["git-filter-server", "version=2"])?;
        self.list()?;
        self.answer(&["capability=clean", "capability=smudge"])?;
        while let Some(request) = self.list_or_end()? {
            match request.iter().find_map(|line| line.strip_prefix("command=")) {
                Some("clean") => self.clean(lfs)?,
                Some("smudge") => self.smudge(lfs)?,
                _ => {
                    self.skip()?;
                    self.answer(&["status=error"])?;
                }
            }
        }
        Ok(())
    }

    /// Replaces a content by its pointer. A pointer stays, and so does an empty file, as with git-lfs.
    fn clean(&mut self, lfs: &Lfs) -> io::Result<()> {
        let mut draft = match lfs {
            Lfs::Store(dir) => Some(Draft::create(dir)?),
            Lfs::Pointers | Lfs::Contents(_) => None,
        };
        let (mut begin, mut size, mut hash) = (Vec::new(), 0, Sha256::new());
        while let Some(part) = self.packet()? {
            let room = (MAX_POINTER_BYTES as usize + 1).saturating_sub(begin.len());
            begin.extend_from_slice(&part[..part.len().min(room)]);
            size += part.len() as u64;
            match &mut draft {
                Some(draft) => draft.write(&part)?,
                None => hash.update(&part),
            }
        }
        if size == 0 || is_pointer(&begin) {
            return self.reply(&mut &*begin);
        }
        let pointer = match draft {
            Some(draft) => draft.finish(None)?,
            None => Pointer { oid: hex(hash), size },
        };
        self.reply(&mut pointer.text().as_bytes())
    }

    /// Replaces a pointer by its content if that is there. Everything else stays as it is.
    fn smudge(&mut self, lfs: &Lfs) -> io::Result<()> {
        let mut begin = Vec::new();
        let mut size = 0;
        while let Some(part) = self.packet()? {
            let room = (MAX_POINTER_BYTES as usize + 1).saturating_sub(begin.len());
            begin.extend_from_slice(&part[..part.len().min(room)]);
            size += part.len() as u64;
        }
        if size > MAX_POINTER_BYTES {
            // A file that was committed as it is: git takes it unchanged.
            return self.answer(&["status=error"]);
        }
        let pointer = Pointer::parse(&begin);
        let content = match lfs {
            Lfs::Contents(dir) => pointer.and_then(|pointer| pointer.open(dir)),
            Lfs::Pointers | Lfs::Store(_) => None,
        };
        match content {
            Some(mut content) => self.reply(&mut content),
            None => self.reply(&mut &*begin),
        }
    }

    fn reply(&mut self, content: &mut dyn Read) -> io::Result<()> {
        self.answer(&["status=success"])?;
        let mut buffer = vec![0; MAX_PACKET_BYTES];
        loop {
            match content.read(&mut buffer)? {
                0 => break,
                count => self.send(&buffer[..count])?,
            }
        }
        // The end of the content, and an empty list: the status stays.
        self.output.write_all(b"00000000")?;
        self.output.flush()
    }

    fn answer(&mut self, lines: &[&str]) -> io::Result<()> {
        for line in lines {
            self.send(format!("{line}\n").as_bytes())?;
        }
        self.output.write_all(b"0000")?;
        self.output.flush()
    }

    fn send(&mut self, content: &[u8]) -> io::Result<()> {
        write!(self.output, "{:04x}", content.len() + 4)?;
        self.output.write_all(content)
    }

    fn skip(&mut self) -> io::Result<()> {
        while self.packet()?.is_some() {}
        Ok(())
    }

    /// The lines of a list.
    fn list(&mut self) -> io::Result<Vec<String>> {
        self.list_or_end()?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// The lines of a list; `None` at the end of the input.
    fn list_or_end(&mut self) -> io::Result<Option<Vec<String>>> {
        let mut lines = Vec::new();
        loop {
            match self.packet() {
                Ok(Some(line)) => lines.push(String::from_utf8_lossy(&line).trim_end_matches('\n').to_owned()),
                Ok(None) => return Ok(Some(lines)),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && lines.is_empty() => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    fn packet(&mut self) -> io::Result<Packet> {
        let mut head = [0; 4];
        self.input.read_exact(&mut head)?;
        let length = str::from_utf8(&head).ok().and_then(|head| usize::from_str_radix(head, 16).ok());
        match length {
            Some(0) => Ok(None),
            Some(length @ 4..) if length <= MAX_PACKET_BYTES + 4 => {
                let mut content = vec![0; length - 4];
                self.input.read_exact(&mut content)?;
                Ok(Some(content))
            }
            _ => Err(io::Error::new(io::ErrorKind::InvalidData, "not a packet of git")),
        }
    }
}

/// Whether git-lfs takes a content for a pointer, also for one with extensions.
pub fn is_pointer(content: &[u8]) -> bool {
    content.len() as u64 <= MAX_POINTER_BYTES && content.starts_with(POINTER_BEGIN)
}

const POINTER_BEGIN: &[u8] = b"version https://git-lfs.github.com/spec/";

#[cfg(test)]
mod tests {
    use super::*;

    /// The SHA-256 of `abc`.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn abc() -> Pointer {
        Pointer { oid: ABC.to_owned(), size: 3 }
    }

    #[test]
    fn only_plain_pointers_are_parsed() {
        let text = abc().text();
        assert_eq!(Pointer::parse(text.as_bytes()), Some(abc()));
        for other in [
            String::new(),
            text.replace("v1", "v2"),
            text.replace("sha256:ba", "sha256:BA"),
            text.replace("sha256:ba", "sha256:"),
            text.replace("sha256:ba7816", "sha256:../../"),
            text.replace("size 3", "size -3"),
            format!("{text}x\n"),
            text.replace("oid", "ext-0-foo sha256:1\noid"),
        ] {
            assert_eq!(Pointer::parse(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn only_the_expected_content_is_stored() {
        let dir = tempfile::tempdir().unwrap();
        let other = Pointer { size: 4, ..abc() };
        assert!(store(dir.path(), &b"abc"[..], Some(&other), 10).is_err());
        assert!(store(dir.path(), &b"abd"[..], Some(&abc()), 10).is_err());
        assert!(store(dir.path(), &b"abc"[..], Some(&abc()), 2).is_err());
        assert!(Draft::create(dir.path()).unwrap().path.starts_with(drafts(dir.path())));
        let entries = || fs::read_dir(dir.path()).unwrap().chain(fs::read_dir(drafts(dir.path())).unwrap()).count();
        assert_eq!(entries(), 1, "nothing is left but the folder of drafts");
        assert_eq!(store(dir.path(), &b"abc"[..], Some(&abc()), 3).unwrap(), abc());
        assert!(abc().is_in(dir.path()) && !other.is_in(dir.path()));
        assert_eq!(store(dir.path(), &b"abc"[..], None, 3).unwrap(), abc());
        assert_eq!(entries(), 2, "no draft is left");
    }

    fn packets(lists: &[&[&[u8]]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for list in lists {
            for packet in *list {
                bytes.extend(format!("{:04x}", packet.len() + 4).into_bytes());
                bytes.extend_from_slice(packet);
            }
            bytes.extend_from_slice(b"0000");
        }
        bytes
    }

    fn converted(lfs: &Lfs, command: &[u8], content: &[&[u8]]) -> Vec<u8> {
        let begin: [&[&[u8]]; 2] =
            [&[b"git-filter-client\n", b"version=2\n"], &[b"capability=clean\n", b"capability=smudge\n"]];
        let input = packets(&[begin[0], begin[1], &[command, b"pathname=x\n"], content]);
        let mut output = Vec::new();
        serve(lfs, &*input, &mut output).unwrap();
        let hello =
            packets(&[&[b"git-filter-server\n", b"version=2\n"], &[b"capability=clean\n", b"capability=smudge\n"]]);
        output.strip_prefix(&hello[..]).expect("a greeting").to_vec()
    }

    fn success(content: &[u8]) -> Vec<u8> {
        let parts: &[&[u8]] = if content.is_empty() { &[] } else { &[content] };
        packets(&[&[b"status=success\n"], parts, &[]])
    }

    #[test]
    fn contents_become_pointers_and_back() {
        let dir = tempfile::tempdir().unwrap();
        let (text, clean, smudge) = (abc().text(), &b"command=clean\n"[..], &b"command=smudge\n"[..]);
        assert_eq!(converted(&Lfs::Pointers, clean, &[b"a", b"bc"]), success(text.as_bytes()));
        assert_eq!(converted(&Lfs::Pointers, clean, &[text.as_bytes()]), success(text.as_bytes()));
        assert_eq!(converted(&Lfs::Pointers, clean, &[]), success(b""));
        assert_eq!(converted(&Lfs::Pointers, smudge, &[text.as_bytes()]), success(text.as_bytes()));
        let contents = Lfs::Contents(dir.path().to_owned());
        assert_eq!(converted(&contents, smudge, &[text.as_bytes()]), success(text.as_bytes()), "it is not there");
        assert_eq!(converted(&Lfs::Store(dir.path().to_owned()), clean, &[b"abc"]), success(text.as_bytes()));
        assert_eq!(converted(&contents, smudge, &[text.as_bytes()]), success(b"abc"));
        assert_eq!(converted(&contents, smudge, &[b"plain"]), success(b"plain"));
        let long = vec![b'x'; 2000];
        assert_eq!(converted(&contents, smudge, &[&long]), packets(&[&[b"status=error\n"]]));
        assert_eq!(converted(&contents, b"command=list\n", &[b"x"]), packets(&[&[b"status=error\n"]]));
        assert!(serve(&contents, &b"zzzz"[..], Vec::new()).is_err());
    }
}
