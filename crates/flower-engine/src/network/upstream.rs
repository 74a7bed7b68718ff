//! The proxy that the machine itself must use, from the daemon's environment.

use base64::Engine;
use hyper::header::{HeaderName, HeaderValue, PROXY_AUTHORIZATION};
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// A proxy's answer to `CONNECT` is a few lines.
const MAX_ANSWER: usize = 16 << 10;

/// Both are none on a machine without a proxy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Upstream {
    https: Option<ProxyAddress>,
    http: Option<ProxyAddress>,
    /// Suffixes of hosts that are reached directly.
    direct: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProxyAddress {
    host: String,
    port: u16,
    /// The value of `Proxy-Authorization`.
    authorization: Option<String>,
}

impl Upstream {
    pub(super) fn from_environment() -> Upstream {
        Upstream::from_variables(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Upstream {
        let first = |names: &[&str]| names.iter().find_map(|name| variable(name));
        let address = |names: &[&str]| {
            let text = first(names)?;
            let parsed = ProxyAddress::parse(&text);
            if parsed.is_none() {
                // The address may contain a password.
                tracing::warn!("the proxy in {} cannot be used: only `http://HOST:PORT` is supported", names[0]);
            }
            parsed
        };
        let direct = first(&["NO_PROXY", "no_proxy"]).unwrap_or_default();
        let direct = direct.split(',').map(|host| host.trim().trim_start_matches("*.").trim_start_matches('.'));
        Upstream {
            https: address(&["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]),
            http: address(&["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]),
            direct: direct.filter(|host| !host.is_empty()).map(str::to_ascii_lowercase).collect(),
        }
    }

    fn is_direct(&self, host: &str) -> bool {
        let matches = |suffix: &String| {
            suffix == "*" || host.strip_suffix(suffix).is_some_and(|above| above.is_empty() || above.ends_with('.'))
        };
        self.direct.iter().any(matches)
    }

    /// A connection to the host through the machine's proxy; none if the host is reached directly.
    pub(super) async fn tunnel(&self, host: &str, port: u16) -> Option<io::Result<TcpStream>> {
        let proxy = self.https.as_ref().filter(|_| !self.is_direct(host))?;
        Some(proxy.tunnel(host, port).await)
    }

    /// The proxy for plain requests to the host; none if it is reached directly.
    pub(super) fn for_plain(&self, host: &str) -> Option<&ProxyAddress> {
        self.http.as_ref().filter(|_| !self.is_direct(host))
    }
}

impl ProxyAddress {
    fn parse(text: &str) -> Option<ProxyAddress> {
        let rest = text.strip_prefix("http://").or_else(|| (!text.contains("://")).then_some(text))?;
        let rest = rest.split('/').next()?;
        let (user, address) = rest.rsplit_once('@').map_or((None, rest), |(user, address)| (Some(user), address));
        let uri: hyper::Uri = address.parse().ok()?;
        let authority = uri.authority()?;
        let authorization = user.map(|user| {
            let user = percent_decoded(user);
            format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(user))
        });
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        Some(ProxyAddress { host, port: authority.port_u16().unwrap_or(80), authorization })
    }

    pub(super) fn authorization(&self) -> Option<(HeaderName, HeaderValue)> {
        let value = HeaderValue::from_str(self.authorization.as_deref()?).ok()?;
        Some((PROXY_AUTHORIZATION, value))
    }

    pub(super) async fn connect(&self) -> io::Result<TcpStream> {
        let connecting = TcpStream::connect((self.host.as_str(), self.port));
        tokio::time::timeout(CONNECT_TIMEOUT, connecting).await?
    }

    async fn tunnel(&self, host: &str, port: u16) -> io::Result<TcpStream> {
        let target = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        let authorization =
            self.authorization.as_ref().map_or_else(String::new, |value| format!("Proxy-Authorization: {value}\r\n"));
        let asking = async {
            let mut stream = self.connect().await?;
            let head = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{authorization}\r\n");
            stream.write_all(head.as_bytes()).await?;
            let mut answer = Vec::new();
            // Byte by byte: what follows the answer belongs to the tunnel.
            while !answer.ends_with(b"\r\n\r\n") {
                if answer.len() >= MAX_ANSWER {
                    return Err(io::Error::other("the machine's proxy sends an endless answer"));
                }
                answer.push(stream.read_u8().await?);
            }
            let line = String::from_utf8_lossy(&answer);
            let line = line.lines().next().unwrap_or_default();
            match line.split(' ').nth(1) {
                Some("200") => Ok(stream),
                _ => Err(io::Error::other(format!("the machine's proxy answers `{line}`"))),
            }
        };
        tokio::time::timeout(CONNECT_TIMEOUT, asking).await?
    }
}

fn percent_decoded(text: &str) -> Vec<u8> {
    percent_encoding::percent_decode_str(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_of_the_machine_name_its_proxy() {
        let upstream = Upstream::from_variables(|name| match name {
            "https_proxy" => Some("http://me:p%40ss@proxy.example:3128/".into()),
            "NO_PROXY" => Some("localhost, .internal.example,*.corp.example".into()),
            _ => None,
        });
        let https = upstream.https.clone().unwrap();
        assert_eq!((https.host.as_str(), https.port), ("proxy.example", 3128));
        // `me:p@ss`
        assert_eq!(https.authorization.as_deref(), Some("Basic bWU6cEBzcw=="));
        assert_eq!(upstream.http, None);
        for (host, direct) in [
            ("localhost", true),
            ("git.internal.example", true),
            ("corp.example", true),
            ("notcorp.example", false),
            ("example.com", false),
        ] {
            assert_eq!(upstream.is_direct(host), direct, "{host}");
        }
        for unusable in ["socks5://x:1", "https://x:1", "http://"] {
            assert_eq!(ProxyAddress::parse(unusable), None, "{unusable}");
        }
        assert_eq!(ProxyAddress::parse("proxy:8080").map(|proxy| proxy.port), Some(8080));
    }
}
