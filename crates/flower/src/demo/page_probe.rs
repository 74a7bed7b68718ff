//! Serves MAIN's checkout over HTTP during the demo and requests its files all the time. Each file must exist and be complete. A
//! landing replaces files one after the other, as git does: it deletes a file and writes it again. So for a moment a reader may
//! meet files of two editions, or an incomplete file; both are counted, and a second request must find the file complete.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::repository::PARTS;

const REQUEST_INTERVAL: Duration = Duration::from_millis(20);
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// Failures that are reported.
const MAX_FAILURES: usize = 5;

pub(crate) struct PageProbe {
    port: u16,
    stop: Arc<AtomicBool>,
    seen: Arc<Mutex<ProbeReport>>,
    prober: Option<JoinHandle<()>>,
}

#[derive(Clone, Default)]
pub(crate) struct ProbeReport {
    pub(crate) rounds: u64,
    pub(crate) answers: u64,
    /// Files that were complete only at the second request.
    pub(crate) gaps: u64,
    pub(crate) mixed: u64,
    pub(crate) editions: BTreeSet<u64>,
    pub(crate) failures: Vec<String>,
    pub(crate) slowest: Duration,
}

impl PageProbe {
    pub(crate) fn start(site: PathBuf) -> Result<Self, String> {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| format!("no port for MAIN's page: {error}"))?;
        let port = listener.local_addr().map_err(|error| error.to_string())?.port();
        let folder = site.clone();
        // The thread runs until the program ends.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = serve(&folder, &stream);
            }
        });
        let (stop, seen) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(ProbeReport::default())));
        let (stopped, report) = (stop.clone(), seen.clone());
        let prober = thread::spawn(move || {
            let mut known = BTreeSet::new();
            while !stopped.load(Ordering::Relaxed) {
                request_all(port, &site, &mut known, &report);
                thread::sleep(REQUEST_INTERVAL);
            }
        });
        Ok(Self { port, stop, seen, prober: Some(prober) })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// Stops the requests and returns the results.
    pub(crate) fn end(&mut self) -> ProbeReport {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(prober) = self.prober.take() {
            let _ = prober.join();
        }
        self.seen.lock().map(|seen| seen.clone()).unwrap_or_default()
    }
}

/// Requests the front page with its parts, and each other page that has ever existed.
fn request_all(port: u16, site: &Path, known: &mut BTreeSet<String>, report: &Mutex<ProbeReport>) {
    let pages = fs::read_dir(site).into_iter().flatten().flatten();
    known.extend(pages.filter_map(|page| page.file_name().into_string().ok()).filter(|name| name.ends_with(".html")));
    let mut seen = ProbeReport { rounds: 1, ..ProbeReport::default() };
    let names = PARTS.iter().copied().chain(known.iter().map(String::as_str).filter(|page| !PARTS.contains(page)));
    for name in names {
        let begun = Instant::now();
        let ask = || get(port, name).and_then(|text| require_complete(name, &text).map(|()| text));
        let found = ask().or_else(|_| {
            seen.gaps += 1;
            thread::sleep(REQUEST_INTERVAL);
            ask()
        });
        seen.slowest = seen.slowest.max(begun.elapsed());
        seen.answers += 1;
        match found {
            Ok(text) if PARTS.contains(&name) => seen.editions.extend(edition(&text)),
            Ok(_) => {}
            Err(why) => seen.failures.push(format!("{name}: {why}")),
        }
    }
    let Ok(mut all) = report.lock() else { return };
    all.rounds += 1;
    all.answers += seen.answers;
    all.gaps += seen.gaps;
    all.mixed += u64::from(seen.editions.len() > 1);
    all.editions.extend(seen.editions);
    all.slowest = all.slowest.max(seen.slowest);
    let room = MAX_FAILURES.saturating_sub(all.failures.len());
    all.failures.extend(seen.failures.into_iter().take(room));
}

fn require_complete(name: &str, text: &str) -> Result<(), String> {
    let (begin, end) = match name.rsplit_once('.') {
        Some((_, "html")) => ("<!doctype html>\n", "</html>\n"),
        Some((_, "css")) => ("/* edition ", "}\n"),
        _ => ("{\"about\": \"edition ", "}\n"),
    };
    let is_complete = text.starts_with(begin) && text.ends_with(end);
    if is_complete { Ok(()) } else { Err(format!("incomplete: {text:?}")) }
}

fn edition(text: &str) -> Option<u64> {
    let digits = text.split_once("edition ")?.1.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

fn get(port: u16, name: &str) -> Result<String, String> {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(READ_TIMEOUT))?;
        write!(stream, "GET /{name} HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer = ask().map_err(|error| error.to_string())?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or("it was not answered")?;
    if head.starts_with("HTTP/1.0 200") { Ok(body.to_owned()) } else { Err(head.to_owned()) }
}

/// Serves one file of the checkout.
fn serve(site: &Path, mut stream: &TcpStream) -> std::io::Result<()> {
    stream.set_read_timeout(Some(READ_TIMEOUT))?;
    let mut reader = BufReader::new(stream).take(8 << 10);
    let (mut first, mut line) = (String::new(), String::new());
    reader.read_line(&mut first)?;
    while reader.read_line(&mut line)? > 2 {
        line.clear();
    }
    let path = first.split_whitespace().nth(1).unwrap_or("/").trim_start_matches('/');
    let name = if path.is_empty() { "index.html" } else { path };
    let is_ours = !name.starts_with('.') && !name.contains('/');
    match fs::read(site.join(name)).ok().filter(|_| is_ours) {
        Some(body) => {
            let content_type = match name.rsplit_once('.') {
                Some((_, "html")) => "text/html",
                Some((_, "css")) => "text/css",
                _ => "application/json",
            };
            write!(
                stream,
                "HTTP/1.0 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\r\n",
                body.len()
            )?;
            stream.write_all(&body)
        }
        None => write!(stream, "HTTP/1.0 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::scratch::Scratch;
    use super::*;

    #[test]
    fn missing_incomplete_and_mixed_files_are_reported() {
        let scratch = Scratch::new("probe").unwrap();
        let put = |name: &str, text: &str| fs::write(scratch.path().join(name), text).unwrap();
        put("index.html", "<!doctype html>\n<html> <!-- edition 1 -->\n</html>\n");
        put("style.css", "/* edition 1 */\nh1 { }\n");
        put("prices.json", "{\"about\": \"edition 2\"}\n");
        put("cart.html", "<!doctype html>\n");
        let mut probe = PageProbe::start(scratch.path().to_owned()).unwrap();
        thread::sleep(REQUEST_INTERVAL * 5);
        fs::remove_file(scratch.path().join("style.css")).unwrap();
        thread::sleep(REQUEST_INTERVAL * 5);
        let ProbeReport { mixed, editions, failures, .. } = probe.end();
        assert!(mixed > 0 && editions == BTreeSet::from([1, 2]), "{mixed} {editions:?}");
        assert!(failures[0].starts_with("cart.html: incomplete"), "{failures:?}");
        assert!(get(probe.port, "style.css").unwrap_err().contains("404"));
        assert!(get(probe.port, "../secret").unwrap_err().contains("404"));
        assert!(get(probe.port, "").unwrap().contains("edition 1"));
    }
}
