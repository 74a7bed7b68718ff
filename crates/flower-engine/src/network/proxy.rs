//! The HTTP proxy of a network: `CONNECT` for TLS, and plain requests. It resolves names itself and connects to the address that it
//! has judged, so that a name cannot change its address in between.

use super::policy::{NetworkPolicy, Refused, judge_address, normal_host};
use super::record::Record;
use super::upstream::Upstream;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;

/// For the head of a request to arrive.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// For a name to be resolved.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(10);
/// For each address of a host.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

type Body = BoxBody<Bytes, hyper::Error>;

/// What the connections of one network share.
#[derive(Debug)]
pub(super) struct Proxy {
    pub(super) policy: NetworkPolicy,
    pub(super) record: Arc<Record>,
    /// The proxy that the machine itself must use.
    pub(super) upstream: Upstream,
}

/// Why a host was not reached.
enum Failure {
    Refused(Refused),
    Unreachable(String),
}

impl Proxy {
    /// Serves one connection from inside until it ends. The permit is kept as long as any part of it is open.
    pub(super) async fn serve(self: Arc<Self>, inside: TcpStream, permit: OwnedSemaphorePermit) {
        let permit = Arc::new(permit);
        let service = service_fn(move |request| {
            let (proxy, permit) = (self.clone(), permit.clone());
            async move { Ok::<_, Infallible>(proxy.answer(request, permit).await) }
        });
        let serving = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .preserve_header_case(true)
            .serve_connection(TokioIo::new(inside), service)
            .with_upgrades();
        // A client that breaks off is no error.
        let _ = serving.await;
    }

    async fn answer(&self, request: Request<Incoming>, permit: Arc<OwnedSemaphorePermit>) -> Response<Body> {
        let is_tunnel = request.method() == Method::CONNECT;
        let Some((host, port)) = target(request.uri(), is_tunnel) else {
            return text(StatusCode::BAD_REQUEST, "flower's proxy takes CONNECT and requests for http:// addresses\n");
        };
        let answered = match is_tunnel {
            true => self.open_tunnel(request, &host, port, permit).await,
            false => self.forward(request, &host, port).await,
        };
        match answered {
            Ok(response) => {
                self.record.reached(&host, port);
                response
            }
            Err(Failure::Refused(refused)) => {
                self.record.refused(&host, port, &refused);
                let remedy = refused
                    .remedy
                    .map_or_else(String::new, |line| format!("; `{line}` in `[worktree]` of flower.toml allows it"));
                text(StatusCode::FORBIDDEN, &format!("flower refuses {host}:{port}: {}{remedy}\n", refused.why))
            }
            Err(Failure::Unreachable(why)) => {
                text(StatusCode::BAD_GATEWAY, &format!("flower cannot reach {host}:{port}: {why}\n"))
            }
        }
    }

    async fn open_tunnel(
        &self,
        request: Request<Incoming>,
        host: &str,
        port: u16,
        permit: Arc<OwnedSemaphorePermit>,
    ) -> Result<Response<Body>, Failure> {
        let reach = self.policy.judge(host, port).map_err(Failure::Refused)?;
        let mut outside = match self.upstream.tunnel(host, port).await {
            Some(tunnel) => {
                self.judge_literal(host, port)?;
                tunnel.map_err(|error| Failure::Unreachable(error.to_string()))?
            }
            None => dial(host, port, |address| judge_address(address, port, reach)).await?,
        };
        tokio::spawn(async move {
            if let Ok(inside) = hyper::upgrade::on(request).await {
                let mut inside = TokioIo::new(inside);
                let _ = tokio::io::copy_bidirectional(&mut inside, &mut outside).await;
            }
            drop(permit);
        });
        Ok(Response::new(BoxBody::default()))
    }

    async fn forward(&self, mut request: Request<Incoming>, host: &str, port: u16) -> Result<Response<Body>, Failure> {
        let reach = self.policy.judge(host, port).map_err(Failure::Refused)?;
        let unreachable = |error: &dyn std::fmt::Display| Failure::Unreachable(error.to_string());
        remove_hop_headers(request.headers_mut());
        let outside = match self.upstream.for_plain(host) {
            Some(upstream) => {
                self.judge_literal(host, port)?;
                request.headers_mut().extend(upstream.authorization());
                upstream.connect().await.map_err(|error| unreachable(&error))?
            }
            None => {
                let authority = request.uri().authority().map(|authority| authority.as_str().to_owned());
                let host_header = authority.and_then(|text| HeaderValue::from_str(&text).ok());
                // The host that was judged is the host that the server sees.
                if let Some(value) = host_header {
                    request.headers_mut().insert(HOST, value);
                }
                let path = request.uri().path_and_query().map_or("/", |path| path.as_str()).parse::<Uri>();
                *request.uri_mut() = path.map_err(|error| unreachable(&error))?;
                dial(host, port, |address| judge_address(address, port, reach)).await?
            }
        };
        let handshake = hyper::client::conn::http1::Builder::new()
            .preserve_header_case(true)
            .handshake(TokioIo::new(outside))
            .await;
        let (mut sender, connection) = handshake.map_err(|error| unreachable(&error))?;
        tokio::spawn(connection);
        let mut response = sender.send_request(request).await.map_err(|error| unreachable(&error))?;
        remove_hop_headers(response.headers_mut());
        Ok(response.map(|body| body.boxed()))
    }

    /// Behind another proxy names are resolved there, but an address that is written out can be judged here.
    fn judge_literal(&self, host: &str, port: u16) -> Result<(), Failure> {
        let reach = self.policy.judge(host, port).map_err(Failure::Refused)?;
        match host.parse() {
            Ok(address) => judge_address(address, port, reach).map_err(Failure::Refused),
            Err(_) if host == "localhost" || host.ends_with(".localhost") => {
                judge_address(std::net::Ipv4Addr::LOCALHOST.into(), port, reach).map_err(Failure::Refused)
            }
            Err(_) => Ok(()),
        }
    }
}

/// The host and port that a request is for.
fn target(uri: &Uri, is_tunnel: bool) -> Option<(String, u16)> {
    let authority = uri.authority()?;
    // Credentials belong into headers, and make an address look like another.
    if authority.as_str().contains('@') {
        return None;
    }
    let default = match (is_tunnel, uri.scheme_str()) {
        (true, None) => None,
        (false, Some("http")) => Some(80),
        _ => return None,
    };
    let port = authority.port_u16().or(default).filter(|port| *port > 0)?;
    Some((normal_host(authority.host())?, port))
}

/// Resolves a host and connects to the first of its addresses that answers. All of them must be allowed.
async fn dial(
    host: &str,
    port: u16,
    judge: impl Fn(std::net::IpAddr) -> Result<(), Refused>,
) -> Result<TcpStream, Failure> {
    let resolving = tokio::time::timeout(RESOLVE_TIMEOUT, tokio::net::lookup_host((host, port))).await;
    let unresolved = |why: String| Failure::Unreachable(format!("the name cannot be resolved: {why}"));
    let addresses = resolving.map_err(|late| unresolved(late.to_string()))?;
    let addresses: Vec<_> = addresses.map_err(|error| unresolved(error.to_string()))?.collect();
    for address in &addresses {
        judge(address.ip()).map_err(Failure::Refused)?;
    }
    let mut last = io::Error::other("it has no address");
    for address in addresses {
        match tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => last = error,
            Err(late) => last = late.into(),
        }
    }
    Err(Failure::Unreachable(last.to_string()))
}

/// Removes headers that concern one connection, and those of the proxy itself.
fn remove_hop_headers(headers: &mut HeaderMap) {
    const HOP_HEADERS: [&str; 8] = [
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ];
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named {
        headers.remove(name);
    }
    headers.remove(CONNECTION);
    for name in HOP_HEADERS {
        headers.remove(name);
    }
}

fn text(status: StatusCode, message: &str) -> Response<Body> {
    let body = Full::new(Bytes::from(message.to_owned())).map_err(|never| match never {}).boxed();
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(hyper::header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tunnels_and_plain_requests_have_a_target() {
        let of = |uri: &str, tunnel: bool| target(&uri.parse().unwrap(), tunnel);
        assert_eq!(of("Example.COM:443", true), Some(("example.com".into(), 443)));
        assert_eq!(of("[::1]:443", true), Some(("::1".into(), 443)));
        assert_eq!(of("http://example.com./x", false), Some(("example.com".into(), 80)));
        assert_eq!(of("http://example.com:8080/x", false), Some(("example.com".into(), 8080)));
        for (uri, tunnel) in [
            ("example.com", true),
            ("example.com:0", true),
            ("/path", false),
            ("https://example.com/", false),
            ("ftp://example.com/", false),
            ("http://user@example.com/", false),
        ] {
            assert_eq!(of(uri, tunnel), None, "{uri}");
        }
    }
}
