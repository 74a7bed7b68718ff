//! The network of a worktree: its own loopback, and outside of it what the settings name.

use super::*;
use crate::common::Output;
use crate::reliability::namespace::with_addresses;
use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::sync::mpsc;

/// The address of flower's proxy inside.
const PROXY: u16 = 31128;

/// A script that opens descriptor 3 to a port of its own loopback.
fn connect(port: impl std::fmt::Display) -> String {
    format!("exec 3<>/dev/tcp/127.0.0.1/{port}")
}

fn bash(flower: &Flower, name: &str, script: &str) -> Output {
    flower.run(&["worktree", "shell", name, "--", "timeout", "20", "bash", "-ec", script])
}

/// What the proxy answers to a request from inside.
fn ask_proxy(flower: &Flower, name: &str, request: &str) -> String {
    let script = format!("{}; printf '{request}\\r\\nConnection: close\\r\\n\\r\\n' >&3; cat <&3", connect(PROXY));
    bash(flower, name, &script).stdout
}

fn get(flower: &Flower, url: &str) -> String {
    ask_proxy(flower, "one", &format!("GET {url} HTTP/1.1\\r\\nHost: x"))
}

/// Settings of MAIN, approved.
fn settings(flower: &Flower, text: &str) {
    commit_in_main(flower, "flower.toml", text);
    flower.run(&["project", "approve", "repo", "--yes"]);
}

/// A server of the host: what it is asked, until it ends.
fn serve(listener: TcpListener) -> mpsc::Receiver<String> {
    let (sender, received) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (mut stream, mut head) = (stream, vec![0; 4096]);
            let count = stream.read(&mut head).unwrap_or(0);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
            if sender.send(String::from_utf8_lossy(&head[..count]).into_owned()).is_err() {
                return;
            }
        }
    });
    received
}

#[test]
fn two_worktrees_listen_on_one_port_and_do_not_meet() {
    as_each_user(|flower| {
        let serve = |name: &str| {
            new(flower, name, &[]);
            // A port below 1024 too: the loopback belongs to the worktree.
            let script = format!(
                "mkdir -p /tmp/{name} && cd /tmp/{name} && echo {name} > name && (python3 -m http.server 80 >/dev/null 2>&1 & \
                 exec python3 -m http.server 3000 >/dev/null 2>&1 &) ; \
                 until bash -c ': </dev/tcp/127.0.0.1/3000 </dev/tcp/127.0.0.1/80' 2>/dev/null; do sleep 0.05; done"
            );
            Running::after(flower, name, &script)
        };
        let running = [serve("one"), serve("two")];
        for name in ["one", "two"] {
            for port in [3000, 80] {
                let asked = format!("{}; printf 'GET /name HTTP/1.0\\r\\n\\r\\n' >&3; tail -n 1 <&3", connect(port));
                let output = bash(flower, name, &asked);
                assert_eq!(output.stdout.trim(), name, "port {port}: {output:?}");
            }
        }
        drop(running);
        assert_ne!(bash(flower, "one", &connect(3000)).code, 0, "it ends with the jail that started it");
    });
}

#[test]
fn listed_ports_and_flower_are_reached_in_every_mode_and_no_other_port() {
    as_each_user(|flower| {
        let [listed, other] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("it listens"));
        let [port, closed] = [&listed, &other].map(|one| one.local_addr().expect("an address").port());
        let _asked = serve(listed);
        other.set_nonblocking(true).expect("a socket");
        for mode in ["closed", "web"] {
            settings(flower, &format!("[worktree]\nnetwork = \"{mode}\"\nconnect = [{port}]\n"));
            new(flower, mode, &[]);
            let hello = format!("{}; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; tail -n 1 <&3", connect(port));
            assert!(bash(flower, mode, &hello).stdout.ends_with("hello"), "{mode}");
            let health = "port=${FLOWER_URL##*:}; exec 3<>/dev/tcp/127.0.0.1/$port; \
                 printf 'GET /healthz HTTP/1.0\\r\\nHost: 127.0.0.1:%s\\r\\n\\r\\n' $port >&3; tail -n 1 <&3";
            assert_eq!(bash(flower, mode, health).stdout.trim(), "ok", "{mode}");
            assert_ne!(bash(flower, mode, &connect(closed)).code, 0, "{mode}");
            // The proxy is there with the web only.
            assert_eq!(bash(flower, mode, &connect(PROXY)).code == 0, mode == "web");
            assert_eq!(show(flower, mode)["network"]["mode"], mode);
        }
        assert!(other.accept().is_err(), "another port of this machine was reached");
    });
}

/// The outside, on the loopback device of a network of its own: a public host, a private one, and the metadata of a cloud.
const OUTSIDE: &[&str] = &["203.0.113.80/32", "10.1.2.3/32", "169.254.169.254/32"];
const HOSTS: &str = "127.0.0.1 localhost\n203.0.113.80 public.example git.sub.example\n127.0.0.1 rebinds.example\n\
                     10.1.2.3 private.example\n203.0.113.80 mixed.example\n127.0.0.1 mixed.example\n169.254.169.254 metadata.example\n";

/// Names that resolve to those addresses, for every process of the test.
fn with_outside(test: &str, body: impl FnOnce()) {
    with_addresses(test, OUTSIDE, || {
        let hosts = tempfile::NamedTempFile::new().expect("a file");
        fs::write(hosts.path(), HOSTS).expect("the names");
        let mount = Command::new("mount").arg("--bind").arg(hosts.path()).arg("/etc/hosts").status();
        assert!(mount.expect("mount runs").success());
        body();
    });
}

#[test]
fn the_web_is_reached_by_name_and_nothing_private_is() {
    with_outside("worktrees::network::the_web_is_reached_by_name_and_nothing_private_is", || {
        let flower = with_one(&[]);
        let asked = serve(TcpListener::bind("203.0.113.80:80").expect("it listens"));
        let others = ["127.0.0.1:80", "10.1.2.3:80", "169.254.169.254:80", "203.0.113.80:8080"].map(|address| {
            let listener = TcpListener::bind(address).expect("it listens");
            listener.set_nonblocking(true).expect("a socket");
            listener
        });
        let answer = get(&flower, "http://public.example/path?x=1");
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("hello"), "{answer}");
        let seen = asked.recv_timeout(HANG).expect("it was asked");
        // The server sees the host that was judged, not the one that the client wrote into its header.
        assert!(seen.starts_with("GET /path?x=1 HTTP/1.1\r\n") && seen.contains("public.example"), "{seen}");
        assert!(!seen.contains("Host: x\r\n") && !seen.to_lowercase().contains("proxy"), "{seen}");
        for (url, reason) in [
            ("http://rebinds.example/", "127.0.0.1 is this machine"),
            ("http://localhost/", "is this machine"),
            ("http://2130706433/", "is this machine"),
            ("http://0x7f.1/", "is this machine"),
            ("http://[::1]/", "is this machine"),
            ("http://[::ffff:127.0.0.1]/", "is this machine"),
            ("http://0.0.0.0/", "is no address of a host"),
            ("http://private.example/", "10.1.2.3 is a private address"),
            ("http://mixed.example/", "127.0.0.1 is this machine"),
            ("http://metadata.example/", "gives out credentials"),
            ("http://169.254.169.254/latest/", "gives out credentials"),
            ("http://public.example:8080/", "only ports 80 and 443 are open"),
        ] {
            let answer = get(&flower, url);
            assert!(answer.starts_with("HTTP/1.1 403") && answer.contains(reason), "{url}: {answer}");
        }
        let tunnel = |target: &str| ask_proxy(&flower, "one", &format!("CONNECT {target} HTTP/1.1\\r\\nHost: x"));
        assert!(tunnel("rebinds.example:443").starts_with("HTTP/1.1 403"));
        assert!(tunnel("public.example:22").starts_with("HTTP/1.1 403"));
        assert!(get(&flower, "http://user@public.example/").starts_with("HTTP/1.1 400"));
        assert!(others.iter().all(|listener| listener.accept().is_err()), "something private was reached");

        // Without the proxy there is no way out at all, whatever the protocol.
        let name_server = UdpSocket::bind("203.0.113.80:53").expect("it listens");
        name_server.set_nonblocking(true).expect("a socket");
        for script in
            ["exec 3<>/dev/tcp/203.0.113.80/80", "echo x > /dev/udp/203.0.113.80/53", "exec 3<>/dev/tcp/10.1.2.3/80"]
        {
            assert_ne!(bash(&flower, "one", script).code, 0, "{script}");
        }
        assert!(name_server.recv(&mut [0]).is_err(), "a packet got out");

        let network = show(&flower, "one")["network"].clone();
        let host = |name: &str| {
            let hosts = network["hosts"].as_array().expect("a list");
            hosts.iter().find(|host| host["host"] == name).unwrap_or_else(|| panic!("{name}: {network}")).clone()
        };
        assert_eq!(host("public.example:80")["reached"], true);
        assert_eq!(host("public.example:8080")["remedy"], "allow = [\"public.example:8080\"]");
        assert_eq!(host("private.example:80")["reached"], false);
        let page = flower.ok(&["worktree", "show", "one"]);
        assert!(page.contains("reached public.example:80") && page.contains("refused private.example:80"), "{page}");
    });
}

#[test]
fn a_list_of_hosts_narrows_the_web_and_opens_private_hosts() {
    with_outside("worktrees::network::a_list_of_hosts_narrows_the_web_and_opens_private_hosts", || {
        let flower = served();
        settings(
            &flower,
            "[worktree]\nallow = [\"private.example\", \"*.sub.example:8080\", \"rebinds.example\", \"metadata.example\"]\n\
             deny = [\"private.example:443\"]\n",
        );
        new(&flower, "one", &[]);
        let _servers =
            ["10.1.2.3:80", "203.0.113.80:8080"].map(|address| serve(TcpListener::bind(address).expect("it listens")));
        for (url, status) in [
            ("http://private.example/", "200"),
            ("http://git.sub.example:8080/", "200"),
            ("http://git.sub.example/", "403"),
            ("http://public.example/", "403"),
            ("http://rebinds.example/", "403"),
            ("http://metadata.example/", "403"),
        ] {
            let answer = get(&flower, url);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{url}: {answer}");
        }
        let tunnel = ask_proxy(&flower, "one", "CONNECT private.example:443 HTTP/1.1\\r\\nHost: x");
        assert!(tunnel.contains("`deny` lists `private.example:443`"), "{tunnel}");
    });
}

#[test]
fn the_proxy_of_the_machine_is_used_and_names_are_still_judged() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("it listens");
    let port = listener.local_addr().expect("an address").port();
    let asked = serve(listener);
    let mut flower = Flower::new();
    flower.env("HTTP_PROXY", &format!("http://me:secret@127.0.0.1:{port}"));
    flower.env("HTTPS_PROXY", &format!("http://127.0.0.1:{port}"));
    prepare(&flower);
    new(&flower, "one", &[]);
    assert!(get(&flower, "http://far.example/page").contains("hello"));
    let seen = asked.recv_timeout(HANG).expect("it was asked");
    assert!(seen.starts_with("GET http://far.example/page HTTP/1.1\r\n"), "{seen}");
    assert!(seen.to_lowercase().contains("proxy-authorization: basic bwu6c2vjcmv0"), "{seen}");
    ask_proxy(&flower, "one", "CONNECT far.example:443 HTTP/1.1\\r\\nHost: x");
    let seen = asked.recv_timeout(HANG).expect("it was asked");
    assert!(seen.starts_with("CONNECT far.example:443 HTTP/1.1\r\n"), "{seen}");
    for refused in ["http://127.0.0.1/", "http://localhost/", "http://10.0.0.1/", "http://169.254.169.254/"] {
        assert!(get(&flower, refused).starts_with("HTTP/1.1 403"), "{refused}");
    }
    assert!(asked.try_recv().is_err(), "a refused request was passed on");
    let environment = bash(&flower, "one", "env").stdout;
    assert!(!environment.contains("secret"), "the password of the machine's proxy stays outside: {environment}");
}

#[test]
fn a_shell_that_outlives_the_daemon_keeps_its_network() {
    as_each_user(|flower| {
        new(flower, "one", &[]);
        let script = "exec 4<>/tmp/fifo; while read -r word <&4; do bash -c \": </dev/tcp/127.0.0.1/${FLOWER_URL##*:}\" 2>/dev/null \
                      && echo $word up >> answers || echo $word down >> answers; done";
        let shell =
            Running::start(flower, "one", &format!("mkfifo /tmp/fifo; echo ready; exec bash -c '{script}'"), "ready\n");
        let answers = tree(flower, "one").join("answers");
        let fifo = flower.home.join("seals/repo/one/tmp/fifo");
        let ask = |word: &str| {
            let mut pipe = fs::OpenOptions::new().read(true).write(true).open(&fifo).expect("the pipe");
            writeln!(pipe, "{word}").expect("written");
            eventually("the shell answers", || {
                let said = fs::read_to_string(&answers).unwrap_or_default();
                said.lines().find_map(|line| line.strip_prefix(&format!("{word} ")).map(str::to_owned))
            })
        };
        assert_eq!(ask("before"), "up");
        let daemon = rustix::process::Pid::from_raw(flower.pid().cast_signed()).expect("a process");
        rustix::process::kill_process(daemon, rustix::process::Signal::KILL).expect("killed");
        eventually("the daemon is gone", || rustix::process::test_kill_process(daemon).is_err().then_some(()));
        flower.start();
        let mut round = 0;
        eventually("the next daemon has taken over the network", || {
            round += 1;
            (ask(&format!("round-{round}")) == "up").then_some(())
        });
        drop(shell);
    });
}
