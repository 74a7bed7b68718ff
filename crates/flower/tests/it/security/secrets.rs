//! Where tokens are kept: the operator's in one file, all others nowhere but as a hash, and all of it for the owner alone.

use crate::common::{Flower, finish};
use flower_core::chain::sha256;
use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).permissions().mode() & 0o777
}

#[test]
fn tokens_are_never_written_down() {
    let flower = Flower::new();
    let up = flower.start();
    let code = up["open_url"].as_str().unwrap().split_once("#open=").unwrap().1.to_owned();
    let session =
        flower.request("POST", "/api/session").token(&code).send().json()["token"].as_str().unwrap().to_owned();
    let agent = flower.json(&["token", "new", "--agent", "a"])["token"].as_str().unwrap().to_owned();
    for token in [&session, &agent] {
        assert_eq!(flower.request("GET", "/api/briefs").token(token).send().status, 200);
    }
    let export = flower.ok(&["log", "export"]);
    assert!(export.contains(&sha256(agent.as_bytes())), "the log knows the token by its hash");
    flower.restart();
    let operator = flower.token();
    for path in files(&flower.home).iter().filter(|path| !fs::metadata(path).unwrap().file_type().is_socket()) {
        let content = String::from_utf8_lossy(&fs::read(path).expect("a file")).into_owned();
        for (whose, token) in [("the code", &code), ("the session", &session), ("the agent's", &agent)] {
            assert!(!content.contains(token.as_str()), "{whose} token stands in {}", path.display());
        }
        let its_place = path.file_name().unwrap() == "token";
        assert_eq!(content.contains(&operator), its_place, "the operator's token and {}", path.display());
    }
    for file in ["cmdline", "environ"] {
        let text = fs::read(format!("/proc/{}/{file}", flower.pid())).unwrap();
        assert!(!String::from_utf8_lossy(&text).contains(&operator), "the operator's token is in /proc/PID/{file}");
    }
    for args in [&["status"][..], &["status", "--json"], &["token", "--json"], &["log", "export"], &["trace", "--json"]]
    {
        let said = flower.ok(args);
        assert!(![&operator, &session, &agent].iter().any(|token| said.contains(token.as_str())), "{args:?}");
    }
}

#[test]
fn files_are_for_their_owner_alone_with_any_umask() {
    let flower = Flower::new();
    // A home that was there before, open to all, and a shell that makes everything open to all.
    fs::create_dir(&flower.home).unwrap();
    fs::set_permissions(&flower.home, fs::Permissions::from_mode(0o777)).unwrap();
    let up = flower.command(&["up", "--json"]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "umask 000; exec \"$0\" up --json"]).arg(up.get_program());
    shell.envs(up.get_envs().filter_map(|(name, value)| Some((name, value?)))).current_dir(&flower.repo);
    let up: serde_json::Value = serde_json::from_str(&finish(shell).stdout).expect("what `flower up` says");
    let code = up["open_url"].as_str().unwrap().split_once("#open=").unwrap().1;
    assert_eq!(flower.request("POST", "/api/session").token(code).send().status, 200);
    assert_eq!(mode(&flower.home), 0o700);
    for name in ["token", "sessions.json", "flower.sock"] {
        assert_eq!(mode(&flower.home.join(name)), 0o600, "{name}");
    }
    assert!(flower.home.join("flower.db").exists());
    // In a folder that no other user can enter, the rest may have any mode.
    flower.restart();
    assert_eq!(mode(&flower.home), 0o700);
}
