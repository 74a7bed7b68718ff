//! A pager for text that is longer than the terminal.

use std::io::Write;
use std::process::{Command, Stdio};

/// Used without PAGER: keeps colours, and leaves the text on the screen.
const DEFAULT_PAGER: &str = "less -FRX";

/// Shows the text in the operator's pager. False if it fits the terminal or no pager runs; then nothing was printed.
pub fn show(text: &str) -> bool {
    let Some(rows) = rustix::termios::tcgetwinsize(std::io::stdout()).ok().map(|size| usize::from(size.ws_row)) else {
        return false;
    };
    let pager = std::env::var("PAGER").unwrap_or_else(|_| DEFAULT_PAGER.to_owned());
    if rows == 0 || text.lines().count() < rows || pager.trim().is_empty() || pager.trim() == "cat" {
        return false;
    }
    // Checked before, because a shell that does not find the pager has swallowed the text.
    let program = pager.split_whitespace().next().unwrap_or_default().to_owned();
    if !is_installed(&program) {
        return false;
    }
    // Through a shell: the variable may contain options.
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &pager]).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        shell.env("LESS", "FRX");
    }
    let Ok(mut child) = shell.spawn() else { return false };
    if let Some(mut pipe) = child.stdin.take() {
        // A pager that is left early closes the pipe.
        let _ = pipe.write_all(text.as_bytes());
    }
    let _ = child.wait();
    true
}

fn is_installed(program: &str) -> bool {
    if program.contains('/') {
        return std::path::Path::new(program).is_file();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
