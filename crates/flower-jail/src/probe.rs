//! Whether this machine can hold a jail: found out by making one.

use super::spec::{Network, Spec};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A jail starts in milliseconds; on a machine that is busy beyond measure it may take longer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Starts a tiny jail of each kind. What is missing is said in words, with what would give it. Blocks.
pub fn probe() -> Result<(), Vec<String>> {
    let flower = std::env::current_exe().map_err(|error| vec![format!("flower does not find itself: {error}")])?;
    probe_with(&flower)
}

/// The same with a given program.
pub fn probe_with(flower: &Path) -> Result<(), Vec<String>> {
    let mut missing: Vec<String> = Vec::new();
    for network in [Network::Closed, Network::Web] {
        if let Err(reason) = try_one(flower, network)
            && !missing.contains(&reason)
        {
            missing.push(reason);
        }
    }
    if missing.is_empty() { Ok(()) } else { Err(missing) }
}

fn try_one(flower: &Path, network: Network) -> Result<(), String> {
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
        // One that refuses early closes it; its own words are the reason then.
        let _ = stdin.write_all(&spec);
    }
    let deadline = Instant::now() + PATIENCE;
    let status = loop {
        match jail.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(2)),
            _ => {
                let _ = jail.kill();
                let _ = jail.wait();
                return Err(format!("a jail did not start within {} seconds", PATIENCE.as_secs()));
            }
        }
    };
    if status.success() {
        return Ok(());
    }
    let mut said = String::new();
    if let Some(stderr) = jail.stderr.take() {
        let _ = stderr.take(64 << 10).read_to_string(&mut said);
    }
    let reason = said.lines().rev().find_map(|line| line.strip_prefix("flower jail: "));
    Err(reason.map_or_else(|| format!("a jail does not start: {status}"), str::to_owned))
}
