//! Checks whether jails work on this machine, by starting one.

use super::spec::{Network, Spec};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A jail starts in milliseconds, longer on an overloaded machine.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// Starts a small jail of each kind. The error lists what is missing, with how to provide it. Blocks.
pub fn probe() -> Result<(), Vec<String>> {
    let flower = std::env::current_exe()
        .map_err(|error| vec![format!("the path of the flower program cannot be determined: {error}")])?;
    probe_with(&flower)
}

/// Like [`probe`], with the given flower program.
pub fn probe_with(flower: &Path) -> Result<(), Vec<String>> {
    let mut missing: Vec<String> = Vec::new();
    for network in [Network::Own, Network::Host] {
        if let Err(reason) = probe_network(flower, network)
            && !missing.contains(&reason)
        {
            missing.push(reason);
        }
    }
    if missing.is_empty() { Ok(()) } else { Err(missing) }
}

fn probe_network(flower: &Path, network: Network) -> Result<(), String> {
    let spec = Spec { network, ..Spec::new("/") };
    let spec = serde_json::to_vec(&spec).map_err(|error| error.to_string())?;
    let mut jail = Command::new(flower)
        .args(["jail", "--spec", "/dev/stdin", "--", "true"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("`{}` cannot be started: {error}", flower.display()))?;
    if let Some(mut stdin) = jail.stdin.take() {
        // A jail that fails early closes its input; its message is the reason then.
        let _ = stdin.write_all(&spec);
    }
    let deadline = Instant::now() + START_TIMEOUT;
    let status = loop {
        match jail.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(2)),
            _ => {
                let _ = jail.kill();
                let _ = jail.wait();
                return Err(format!("a jail did not start within {} seconds", START_TIMEOUT.as_secs()));
            }
        }
    };
    if status.success() {
        return Ok(());
    }
    let mut message = String::new();
    if let Some(stderr) = jail.stderr.take() {
        let _ = stderr.take(64 << 10).read_to_string(&mut message);
    }
    let reason = message.lines().rev().find_map(|line| line.strip_prefix("flower jail: "));
    Err(reason.map_or_else(|| format!("a jail does not start: {status}"), str::to_owned))
}
