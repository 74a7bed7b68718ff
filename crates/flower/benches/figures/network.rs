//! P28: a jail with its own network against one in the host's, and downloads through flower's proxy against direct ones.

use crate::scratch::home;
use crate::worktrees::{Bench, jail_command, until_running};
use crate::{Figure, ms, quantile};
use flower_jail::{Network, Spec};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// An address that is neither loopback nor private, on the loopback device of a network of our own.
const REGISTRY: &str = "203.0.113.80";
/// Set in that network.
const INSIDE: &str = "FLOWER_BENCH_NETWORK";
const CRATES: usize = 150;
const GOAL: &str = "≤ 1.2";

pub fn measure() -> Vec<Figure> {
    let mut figures = start();
    figures.extend(match std::env::var_os(INSIDE) {
        Some(_) => downloads(),
        None => in_own_network(),
    });
    figures
}

fn start() -> Vec<Figure> {
    const RUNS: usize = 60;
    if std::env::var_os(INSIDE).is_some() {
        return Vec::new();
    }
    let bench = Bench::new(200);
    for name in ["alone", "shared"] {
        assert!(run(&mut bench.flower(&["worktree", "new", name])), "a worktree");
        assert!(run(&mut bench.flower(&["worktree", "shell", name, "--", "true"])), "a shell");
    }
    let spec = |name: &str| bench.dir.path().join("home/seals/main").join(name).join("jail.json");
    let host = bench.dir.path().join("host.json");
    let mut in_host = Spec::load(&spec("alone")).expect("a spec");
    in_host.network = Network::Host;
    in_host.save(&host).expect("saved");
    let mut holder = jail_command(&spec("shared"), &["sleep", "300"]).stdin(Stdio::null()).spawn().expect("it runs");
    let (mut hosts, mut alone, mut shared) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..RUNS {
        hosts.push(until_running(&mut jail_command(&host, &["date"])));
        shared.push(until_running(&mut jail_command(&spec("shared"), &["date"])));
        alone.push(until_running(&mut jail_command(&spec("alone"), &["date"])));
    }
    let _ = holder.kill();
    let _ = holder.wait();
    let hosts = quantile(&mut hosts, 0.5);
    let figure = |what: &str, samples: &mut [Duration]| {
        let took = quantile(samples, 0.5);
        let ratio = took.as_secs_f64() / hosts.as_secs_f64();
        Figure {
            id: "P28",
            what: format!("start of a jail {what}, median of {RUNS}"),
            measured: ms(took),
            peer: format!("in the host's network: {}", ms(hosts)),
            ratio: Some(ratio),
            goal: GOAL,
            reached: ratio <= 1.2,
        }
    };
    vec![figure("that joins a network", &mut shared), figure("that creates its network", &mut alone)]
}

/// Measures the downloads in a network whose loopback device has the registry's address. Needs root.
fn in_own_network() -> Vec<Figure> {
    let script = format!("ip link set lo up && ip addr add {REGISTRY}/32 dev lo && exec \"$@\"");
    let output = Command::new("unshare")
        .args(["--net", "sh", "-c", &script, "sh"])
        .arg(std::env::current_exe().expect("this program"))
        .arg("P28")
        .env(INSIDE, "1")
        .stderr(Stdio::inherit())
        .output();
    let output = output.expect("`unshare` of util-linux runs");
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    let numbers: Vec<f64> = lines
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter_map(|figure| figure["ratio"].as_f64())
        .collect();
    let text = |field: &str| {
        let first: serde_json::Value =
            lines.lines().next().and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default();
        first[field].as_str().unwrap_or("not run: needs root and `ip`").to_owned()
    };
    vec![Figure {
        id: "P28",
        what: format!("`cargo fetch` of {CRATES} crates through flower's proxy, median of 7"),
        measured: text("measured"),
        peer: text("peer"),
        ratio: numbers.first().copied(),
        goal: GOAL,
        reached: numbers.first().is_some_and(|ratio| *ratio <= 1.2),
    }]
}

fn downloads() -> Vec<Figure> {
    let folder = home();
    let listener = TcpListener::bind((REGISTRY, 80)).expect("the registry listens");
    let files = folder.path().join("registry");
    make_registry(&files);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let root = files.clone();
            std::thread::spawn(move || serve(&stream, &root));
        }
    });
    let manifest = (0..CRATES).fold(
        "[workspace]\n[package]\nname = \"all\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[lib]\npath = \"lib.rs\"\n[dependencies]\n".to_owned(),
        |text, number| text + &format!("{} = \"1\"\n", name(number)),
    );
    let source = format!(
        "[source.crates-io]\nreplace-with = \"bench\"\n[source.bench]\nregistry = \"sparse+http://{REGISTRY}/index/\"\n"
    );
    let bench = Bench::having(1, &[("Cargo.toml", &manifest), ("lib.rs", ""), ("cargo-config", &source)]);
    assert!(run(&mut bench.flower(&["worktree", "new", "one"])), "a worktree");
    // Each with an empty cache, in the same file system.
    let fetch = |dir: &str| {
        format!(
            "rm -rf {dir} Cargo.lock && mkdir -p {dir} && cp cargo-config {dir}/config.toml && CARGO_HOME={dir} cargo fetch --quiet"
        )
    };
    let tree = bench.dir.path().join("home/worktrees/main/one");
    let outside = fetch(&bench.dir.path().join("cargo").display().to_string());
    let inside = fetch("/tmp/cargo");
    let (mut direct, mut proxied) = (Vec::new(), Vec::new());
    for _ in 0..7 {
        let begun = Instant::now();
        assert!(run(Command::new("sh").args(["-ec", &outside]).current_dir(&tree)), "a direct fetch");
        direct.push(begun.elapsed());
        let begun = Instant::now();
        assert!(run(&mut bench.flower(&["worktree", "shell", "one", "--", "sh", "-ec", &inside])), "a fetch inside");
        proxied.push(begun.elapsed());
    }
    let (direct, proxied) = (quantile(&mut direct, 0.5), quantile(&mut proxied, 0.5));
    let ratio = proxied.as_secs_f64() / direct.as_secs_f64();
    vec![Figure {
        id: "P28",
        what: String::new(),
        measured: ms(proxied),
        peer: format!("outside, direct: {}", ms(direct)),
        ratio: Some(ratio),
        goal: GOAL,
        reached: ratio <= 1.2,
    }]
}

fn name(number: usize) -> String {
    format!("bench-crate-{number}")
}

/// A sparse registry in files: for each crate its index entry and its archive of some 60 kB.
fn make_registry(files: &Path) {
    let index = files.join("index");
    fs::create_dir_all(files.join("crates")).expect("a folder");
    fs::create_dir_all(&index).expect("a folder");
    let config = format!("{{\"dl\":\"http://{REGISTRY}/crates/{{crate}}.crate\"}}");
    fs::write(index.join("config.json"), config).expect("the configuration");
    let work = files.join("work");
    for number in 0..CRATES {
        let name = name(number);
        let package = work.join(format!("{name}-1.0.0"));
        fs::create_dir_all(&package).expect("a folder");
        fs::write(
            package.join("Cargo.toml"),
            format!("[package]\nname = \"{name}\"\nversion = \"1.0.0\"\n[lib]\npath = \"lib.rs\"\n"),
        )
        .expect("a manifest");
        fs::write(package.join("lib.rs"), "").expect("a file");
        let mut noise = vec![0; 60_000];
        fs::File::open("/dev/urandom")
            .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut noise))
            .expect("noise");
        fs::write(package.join("noise"), noise).expect("a file");
        let archive = files.join("crates").join(format!("{name}.crate"));
        let tar =
            Command::new("tar").arg("-czf").arg(&archive).arg("-C").arg(&work).arg(format!("{name}-1.0.0")).status();
        assert!(tar.is_ok_and(|status| status.success()), "tar");
        let sum = flower_core::chain::sha256(&fs::read(&archive).expect("the archive"));
        let entry = serde_json::json!({"name": name, "vers": "1.0.0", "deps": [], "cksum": sum, "features": {}, "yanked": false});
        let folder = index.join(&name[..2]).join(&name[2..4]);
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join(&name), format!("{entry}\n")).expect("an entry");
    }
}

/// Serves files over one connection, as long as the client keeps it.
fn serve(stream: &TcpStream, root: &Path) {
    let (mut reader, mut writer) = (BufReader::new(stream), stream);
    loop {
        let mut path: Option<PathBuf> = None;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if let Some(asked) = line.strip_prefix("GET /") {
                path = asked.split(' ').next().map(|asked| root.join(asked));
            }
            if line == "\r\n" {
                break;
            }
        }
        let body = path.and_then(|path| fs::read(path).ok());
        let status = if body.is_some() { "200 OK" } else { "404 Not Found" };
        let body = body.unwrap_or_default();
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", body.len());
        if writer.write_all(head.as_bytes()).and_then(|()| writer.write_all(&body)).is_err() {
            return;
        }
    }
}

fn run(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).status().is_ok_and(|status| status.success())
}
