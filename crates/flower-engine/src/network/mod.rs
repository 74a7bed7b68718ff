//! Networks: what programs in a jail can reach. Each worktree has a network of its own, and so has each run of a check: a network
//! namespace whose loopback device belongs to the programs inside. Nothing leaves it but through sockets on which this service
//! listens in it: flower's own API, the ports of `connect`, and an HTTP proxy that judges by host name.
//!
//! The first jail that joins a network creates it; it ends with the last. A jail that outlives the daemon hands its network to the
//! next one.

mod environment;
pub(crate) mod failure;
mod policy;
mod proxy;
pub(crate) mod record;
mod upstream;

pub use policy::{HostPattern, NetworkPolicy};

use crate::Setup;
use crate::home::Home;
use crate::keyed_locks::KeyedLocks;
use crate::notify::ChangeHints;
use flower_contract::error::Problem;
use flower_contract::view::NetworkMode;
use flower_jail::{JOINED, Network, NetworkNamespace, Spec};
use proxy::Proxy;
use record::Record;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;
use tokio::io::{AsyncReadExt, Interest};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use upstream::Upstream;

/// Open connections out of one network. A package manager opens some dozens.
const MAX_CONNECTIONS: usize = 512;
/// Jails that join at the same time.
const MAX_JOINING: usize = 64;
const JOIN_TIMEOUT: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// After an error of accepting, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Forwarded ports of one network.
pub const MAX_FORWARDED: usize = 32;

pub struct Networks {
    home: Home,
    hints: ChangeHints,
    /// The port of flower's own API.
    api: Option<u16>,
    upstream: Upstream,
    /// By name. Alive as long as a jail is in it.
    living: Mutex<HashMap<String, Weak<LiveNetwork>>>,
    /// By name: held while a network is created.
    creating: KeyedLocks<String>,
}

/// What a jail asks for, written by flower into the jail's spec.
#[derive(Debug, Serialize, Deserialize)]
struct JoinRequest {
    name: String,
    policy: NetworkPolicy,
    /// The port at which programs inside find flower's API.
    api: Option<u16>,
    record: PathBuf,
}

struct LiveNetwork {
    namespace: NetworkNamespace,
    /// Ends when the network does.
    _doors: JoinSet<()>,
}

impl Networks {
    pub(crate) fn new(setup: &Setup) -> Networks {
        Networks {
            home: setup.home.clone(),
            hints: setup.hints.clone(),
            api: setup.url.rsplit(':').next().and_then(|port| port.parse().ok()),
            upstream: Upstream::from_environment(),
            living: Mutex::default(),
            creating: KeyedLocks::default(),
        }
    }

    /// Gives a jail its network. Jails with the same name and policy share one. With `api`, programs inside reach flower.
    /// The hosts that they ask for are recorded in `record`.
    pub(crate) fn connect(&self, spec: &mut Spec, name: &str, policy: &NetworkPolicy, api: bool, record: PathBuf) {
        environment::pass_certificates(spec);
        match policy.mode {
            NetworkMode::Open => {
                environment::pass_proxy(spec);
                spec.network = Network::Host;
                return;
            }
            NetworkMode::Web => environment::use_proxy(spec),
            // Nothing leaves it, so it needs no daemon.
            NetworkMode::Closed if policy.connect.is_empty() && !api => {
                spec.network = Network::Own;
                return;
            }
            NetworkMode::Closed => {}
        }
        let mut request =
            JoinRequest { name: String::new(), policy: policy.clone(), api: self.api.filter(|_| api), record };
        let rules = serde_json::to_string(&request).expect("plain data");
        request.name = format!("{name} {}", &flower_core::chain::sha256(rules.as_bytes())[..16]);
        let request = serde_json::to_string(&request).expect("plain data");
        spec.network = Network::Joined { socket: self.home.network_socket(), request };
    }

    /// The socket on which jails join. It must exist before the first jail starts.
    pub fn listen(&self) -> Result<UnixListener, Problem> {
        let path = self.home.network_socket();
        listen(&path).map_err(|error| self.home.problem(&path, &error))
    }

    /// Serves jails that join, until the daemon ends.
    pub async fn run(self: Arc<Self>, listener: UnixListener) {
        let joining = Arc::new(Semaphore::new(MAX_JOINING));
        let mut jails = JoinSet::new();
        loop {
            while jails.try_join_next().is_some() {}
            let Ok(permit) = joining.clone().acquire_owned().await else { return };
            match listener.accept().await {
                Ok((jail, _)) => {
                    jails.spawn(self.clone().serve_jail(jail, permit));
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            }
        }
    }

    /// Lets a jail join, and keeps its network until the jail closes the connection.
    async fn serve_jail(self: Arc<Self>, mut jail: UnixStream, permit: OwnedSemaphorePermit) {
        let joined = match tokio::time::timeout(JOIN_TIMEOUT, self.join(&jail)).await {
            Ok(joined) => joined,
            Err(late) => Err(late.into()),
        };
        drop(permit);
        let network = match joined {
            Ok(network) => network,
            Err(error) => {
                tracing::warn!("a jail has no network: {error}");
                let _ = tokio::io::AsyncWriteExt::write_all(&mut jail, error.to_string().as_bytes()).await;
                return;
            }
        };
        // A jail sends nothing more; its end closes the connection.
        let _ = jail.read_u8().await;
        drop(network);
    }

    async fn join(&self, jail: &UnixStream) -> io::Result<Arc<LiveNetwork>> {
        let (message, fds) = jail.async_io(Interest::READABLE, || flower_jail::receive(jail.as_fd())).await?;
        let request: JoinRequest = serde_json::from_slice(&message)?;
        let network = self.find_or_create(request, NetworkNamespace::from_descriptors(fds)).await?;
        jail.async_io(Interest::WRITABLE, || network.namespace.send(jail.as_fd(), &[JOINED])).await?;
        Ok(network)
    }

    /// The network that the request names. A new one is made, unless the jail brings the namespace that it is in.
    async fn find_or_create(
        &self,
        request: JoinRequest,
        brought: Option<NetworkNamespace>,
    ) -> io::Result<Arc<LiveNetwork>> {
        // One that outlived the last daemon may differ from the one that a jail of this daemon has made under the same name.
        let name = match &brought {
            Some(brought) => format!("{} {}", request.name, brought.id()?),
            None => request.name.clone(),
        };
        let lock = self.creating.of(name.as_str());
        let _creating = lock.lock().await;
        let find = |name: &str| self.living.lock().expect("no panic while held").get(name).and_then(Weak::upgrade);
        if let Some(living) = find(&name) {
            return Ok(living);
        }
        let network = Arc::new(self.open(&request, brought).await?);
        let mut living = self.living.lock().expect("no panic while held");
        living.retain(|_, network| network.strong_count() > 0);
        living.insert(name, Arc::downgrade(&network));
        // The next jail joins it.
        living.entry(request.name).or_insert_with(|| Arc::downgrade(&network));
        Ok(network)
    }

    /// Listens in the namespace for everything that the policy lets out.
    async fn open(&self, request: &JoinRequest, brought: Option<NetworkNamespace>) -> io::Result<LiveNetwork> {
        let JoinRequest { policy, api, record, .. } = request;
        let mut addresses: Vec<SocketAddr> = Vec::new();
        let forwarded: Vec<u16> = policy.connect.iter().copied().take(MAX_FORWARDED).chain(*api).collect();
        for port in forwarded {
            addresses.push((Ipv4Addr::LOCALHOST, port).into());
            addresses.push((Ipv6Addr::LOCALHOST, port).into());
        }
        let proxy_address = SocketAddr::from(environment::PROXY);
        if policy.mode == NetworkMode::Web {
            addresses.push(proxy_address);
        }
        addresses.sort_unstable();
        addresses.dedup();
        let flower = std::env::current_exe()?;
        let opening = tokio::task::spawn_blocking(move || match brought {
            Some(namespace) => namespace.listen(&flower, &addresses).map(|listeners| (namespace, listeners)),
            None => NetworkNamespace::create(&flower, &addresses),
        });
        let (namespace, listeners) = opening.await.map_err(io::Error::other)??;
        let proxy = Arc::new(Proxy {
            policy: policy.clone(),
            record: Arc::new(Record::open(record.clone(), self.hints.clone())),
            upstream: self.upstream.clone(),
        });
        let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let mut doors = JoinSet::new();
        for listener in listeners {
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            let listener = TcpListener::from_std(listener)?;
            let permits = permits.clone();
            if address == proxy_address {
                let proxy = proxy.clone();
                doors.spawn(accept(listener, permits, move |inside, permit| proxy.clone().serve(inside, permit)));
            } else {
                // A daemon that took the place of another may have another port than the programs inside know.
                let port = if Some(address.port()) == *api { self.api } else { Some(address.port()) };
                let port = port.unwrap_or(address.port());
                doors.spawn(accept(listener, permits, move |inside, permit| forward(inside, port, permit)));
            }
        }
        Ok(LiveNetwork { namespace, _doors: doors })
    }
}

/// Accepts connections from inside and serves each, until the network ends.
async fn accept<F: Future<Output = ()> + Send + 'static>(
    listener: TcpListener,
    permits: Arc<Semaphore>,
    serve: impl Fn(TcpStream, OwnedSemaphorePermit) -> F,
) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok(permit) = permits.clone().acquire_owned().await else { return };
        match listener.accept().await {
            Ok((inside, _)) => {
                connections.spawn(serve(inside, permit));
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

/// Copies between a connection from inside and the same port of the host's loopback.
async fn forward(mut inside: TcpStream, port: u16, _permit: OwnedSemaphorePermit) {
    for address in [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)] {
        let connecting = TcpStream::connect((address, port));
        if let Ok(Ok(mut outside)) = tokio::time::timeout(CONNECT_TIMEOUT, connecting).await {
            let _ = tokio::io::copy_bidirectional(&mut inside, &mut outside).await;
            return;
        }
    }
}

fn listen(path: &Path) -> io::Result<UnixListener> {
    // The daemon holds the lock of the home, so an existing socket belongs to one that has ended.
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let (_folder, short) = flower_jail::short_path(path)?;
    let listener = UnixListener::bind(short)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}
