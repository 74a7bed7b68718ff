//! Ends a process group if this program ends first, even by SIGKILL.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

/// The script waits for a line on its standard input. A line means that all went well. The end of input
/// means that the holder of the pipe gave up or died, even by SIGKILL; then the script ends the group.
const SCRIPT: &str = r#"
group=$1 signal=$2 leftover=$3
read -r _ && exit 0
kill -"$signal" -"$group"
tenths=150
while [ "$tenths" -gt 0 ] && kill -0 -"$group"; do
    sleep 0.1
    tenths=$((tenths - 1))
done
kill -0 -"$group" && kill -KILL -"$group"
[ -z "$leftover" ] || rm -rf "$leftover"
"#;

pub(crate) struct Guard {
    shell: Child,
    pipe: Option<ChildStdin>,
}

/// How a process group is ended early.
#[derive(Clone, Copy)]
pub(crate) struct Ending<'a> {
    /// Sent first; SIGKILL follows 15 seconds later.
    pub(crate) signal: &'static str,
    /// A directory to remove once the group is gone.
    pub(crate) leftover: Option<&'a Path>,
}

impl Guard {
    pub(crate) fn start(group: u32, ending: Ending<'_>) -> std::io::Result<Self> {
        let mut shell = Command::new("sh")
            .args(["-c", SCRIPT, "guard", &group.to_string(), ending.signal])
            .arg(ending.leftover.unwrap_or(Path::new("")))
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C in the terminal must not reach the guard.
            .process_group(0)
            .spawn()?;
        let pipe = shell.stdin.take();
        Ok(Self { shell, pipe })
    }

    /// The group has ended by itself: ends the guard.
    pub(crate) fn dismiss(&mut self) {
        if let Some(mut pipe) = self.pipe.take() {
            let _ = pipe.write_all(b"done\n");
        }
        let _ = self.shell.wait();
    }

    /// Starts to end the group. The caller reaps its child, then calls [`Guard::join`].
    pub(crate) fn end_group(&mut self) {
        self.pipe = None;
    }

    pub(crate) fn join(&mut self) {
        let _ = self.shell.wait();
    }
}
