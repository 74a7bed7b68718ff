//! Sockets outside are out of reach, and those of its own network are free. The networks that the daemon keeps are tested with it
//! (`worktrees/network.rs`).

use crate::common::skip::skip;
use crate::jail::world::World;
use flower_jail::{Bind, Network};
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};

fn refused(world: &World, args: &[&str]) {
    world.all_refused(args, 1);
}

fn works(world: &World, args: &[&str]) {
    let output = world.attack(args);
    assert!(output.stdout.ends_with(" done\n"), "{args:?}: {output:?}");
}

as_both!(unix_sockets_outside_are_out_of_reach, |mut world| {
    world.arm();
    let mut names = Vec::new();
    let mut listeners = Vec::new();
    for place in ["main/socket", "home/flower.sock", "user/agent.sock"] {
        listeners.push(UnixListener::bind(world.path(place)).expect("it listens"));
        std::fs::set_permissions(world.path(place), std::fs::Permissions::from_mode(0o777)).expect("for all");
        names.push(world.text(place));
    }
    let name = format!("flower-test-{}", std::process::id());
    let abstract_name = |sort: &str| SocketAddr::from_abstract_name(format!("{name}-{sort}")).expect("a name");
    let _stream = UnixListener::bind_addr(&abstract_name("stream")).expect("it listens");
    let _datagram = UnixDatagram::bind_addr(&abstract_name("datagram")).expect("it listens");
    names.extend([format!("@{name}-stream"), format!("@{name}-datagram")]);
    for network in [Network::Own, Network::Host] {
        world.spec.network = network;
        for name in &names {
            refused(&world, &["unix", name]);
            if let Some(path) = name.strip_prefix('/') {
                refused(&world, &["unix", &format!("/proc/1/root/{path}")]);
            }
        }
    }
    for name in names {
        let outside = world.attack_from_outside(&["unix", &name]);
        assert!(outside.stdout.contains(" done"), "{name}: {outside:?}");
    }
});

as_both!(unix_sockets_inside_work, |mut world| {
    for network in [Network::Own, Network::Host] {
        world.spec.network = network;
        // Outside of a network of its own, abstract names are shared by the whole machine.
        let python = "import socket,uuid\n\
                      for name in ['/tmp/s', 's', '\\0inside'+uuid.uuid4().hex]:\n \
                       a=socket.socket(socket.AF_UNIX); a.bind(name); a.listen()\n \
                       b=socket.socket(socket.AF_UNIX); b.connect(name)\n \
                       b.send(b'x'); assert a.accept()[0].recv(1)==b'x'";
        world.file("worktree/sockets.py", python);
        if world.run("command -v /usr/bin/python3").code != 0 {
            return skip("there is no /usr/bin/python3");
        }
        world.ok("rm -f s; /usr/bin/python3 sockets.py");
    }
});

as_both!(a_listed_socket_can_be_reached, |mut world| {
    world.arm();
    let _listener = UnixListener::bind(world.path("home/flower.sock")).expect("it listens");
    world.own();
    let at = "/run/flower.sock";
    world.spec.binds.push(Bind { from: world.path("home/flower.sock"), at: at.into(), write: true });
    for network in [Network::Own, Network::Host] {
        world.spec.network = network;
        let output = world.attack(&["unix", at]);
        assert!(output.stdout.starts_with("stream done\n"), "{output:?}");
        refused(&world, &["unix", &world.text("home/flower.sock")]);
    }
});

as_both!(nothing_outside_of_its_own_network_can_be_reached, |mut world| {
    world.arm();
    let listener = TcpListener::bind("127.0.0.1:0").expect("it listens");
    let port = listener.local_addr().expect("an address").port().to_string();
    for attack in ["connect", "fast_open", "fast_open_message"] {
        refused(&world, &["tcp", attack, &port]);
    }
    world.spec.network = Network::Host;
    works(&world, &["tcp", "connect", &port]);
    // Seccomp refuses it everywhere: it would pass a filter of `connect`.
    refused(&world, &["tcp", "fast_open", &port]);
});

as_both!(any_port_of_its_own_network_can_be_bound, |world| {
    world.arm();
    for port in ["80", "3000", "31128"] {
        works(&world, &["tcp", "bind", port]);
    }
});

as_both!(without_its_daemon_a_jail_that_joins_does_not_start, |mut world| {
    world.spec.network = Network::Joined { socket: world.path("home/network.sock"), request: "{}".into() };
    let output = world.run("true");
    assert_eq!(output.code, 125, "{output:?}");
    assert!(
        output.stderr.contains("the daemon cannot be reached") && output.stderr.contains("flower up"),
        "{output:?}"
    );
});
