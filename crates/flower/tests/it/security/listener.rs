//! flower listens on loopback and nowhere else.

use crate::common::Flower;
use std::collections::HashSet;
use std::fs;

/// The local addresses of all the daemon's internet sockets that wait for others, as the kernel writes them.
fn listening(pid: u32) -> Vec<String> {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).expect("its files");
    let inodes: HashSet<String> = files
        .filter_map(|file| fs::read_link(file.ok()?.path()).ok())
        .filter_map(|link| Some(link.to_str()?.strip_prefix("socket:[")?.trim_end_matches(']').to_owned()))
        .collect();
    let mut found = Vec::new();
    for table in ["tcp", "tcp6", "udp", "udp6", "raw", "raw6"] {
        // Without IPv6 in the kernel, its tables are missing.
        let text = fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        for line in text.lines().skip(1) {
            let columns: Vec<&str> = line.split_whitespace().collect();
            const LISTEN: &str = "0A";
            let waits = !table.starts_with("tcp") || columns[3] == LISTEN;
            if waits && inodes.contains(columns[9]) {
                found.push(format!("{table} {}", columns[1]));
            }
        }
    }
    found
}

#[test]
fn only_loopback_is_listened_on() {
    let flower = Flower::started();
    let loopback = format!("tcp 0100007F:{:04X}", flower.port());
    assert_eq!(listening(flower.pid()), [loopback]);
}

#[test]
fn any_other_address_is_refused() {
    let flower = Flower::new();
    let addresses = ["0.0.0.0", "::", "192.0.2.1", "255.255.255.255", "::ffff:0.0.0.0"];
    for address in addresses {
        for args in [&["up", "--host", address][..], &["up", "--host", address, "--foreground"]] {
            let error = flower.fails(args, 1);
            assert_eq!(error["kind"], "refused", "{args:?}");
            assert!(error["message"].as_str().is_some_and(|m| m.contains("does not listen on")), "{error}");
            assert!(!flower.home.join("flower.sock").exists(), "{args:?} started something");
        }
    }
    let text = flower.run(&["up", "--host", "0.0.0.0"]);
    assert!(text.code == 1 && text.stderr.contains("hint:") && text.stdout.is_empty(), "{text:?}");
    // A daemon that runs already is no reason to answer as if the address were fine.
    flower.start();
    assert_eq!(flower.fails(&["up", "--host", "0.0.0.0"], 1)["kind"], "refused");
    assert_eq!(listening(flower.pid()).len(), 1);
    assert_eq!(flower.fails(&["up", "--host", "example.com"], 2)["kind"], "usage");
}
