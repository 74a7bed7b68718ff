//! The variables by which programs inside find flower's proxy and the certificates of the machine.

use flower_jail::Spec;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

/// The proxy's address inside. The port is below those that the kernel gives out by itself, and none that servers of projects use.
pub(super) const PROXY: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 31128);

/// Hosts that are reached without the proxy.
const DIRECT: &str = "localhost,127.0.0.1,::1,.localhost";

/// Variables that name the proxy. Programs disagree on the case; `curl` reads only the lower one for plain HTTP.
const PROXY_VARIABLES: &[&str] = &[
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
    "YARN_HTTP_PROXY",
    "YARN_HTTPS_PROXY",
];
const DIRECT_VARIABLES: &[&str] = &["NO_PROXY", "no_proxy"];

/// Variables that name files or folders with certificates.
const CERTIFICATE_VARIABLES: &[&str] = &[
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "CARGO_HTTP_CAINFO",
    "GIT_SSL_CAINFO",
];

/// Points programs at the proxy of their network.
pub(super) fn use_proxy(spec: &mut Spec) {
    let (host, port) = PROXY;
    let address = format!("http://{host}:{port}");
    let mut set = |name: &str, value: &str| spec.env.insert(name.to_owned(), value.to_owned());
    for name in PROXY_VARIABLES {
        set(name, &address);
    }
    for name in DIRECT_VARIABLES {
        set(name, DIRECT);
    }
    // Node reads the variables only if it is told to.
    set("NODE_USE_ENV_PROXY", "1");
    let java = format!(
        "-Dhttp.proxyHost={host} -Dhttp.proxyPort={port} -Dhttps.proxyHost={host} -Dhttps.proxyPort={port} \
         -Dhttp.nonProxyHosts=localhost|127.*|[::1]|*.localhost"
    );
    set("MAVEN_OPTS", &java);
    set("GRADLE_OPTS", &java);
}

/// Hands the operator's own proxy to programs in the host's network.
pub(super) fn pass_proxy(spec: &mut Spec) {
    let names = PROXY_VARIABLES.iter().chain(DIRECT_VARIABLES).map(|name| (*name).to_owned());
    spec.pass_env.extend(names);
}

/// Hands in the certificates that the operator's programs trust.
pub(super) fn pass_certificates(spec: &mut Spec) {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    for name in CERTIFICATE_VARIABLES {
        let Ok(path) = std::env::var(name) else { continue };
        if flower_jail::may_be_listed(Path::new(&path), home.as_deref()) && Path::new(&path).exists() {
            spec.read.push(path.clone().into());
            spec.env.insert((*name).to_owned(), path);
        }
    }
}
