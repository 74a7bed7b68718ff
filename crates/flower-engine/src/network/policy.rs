//! What programs inside may reach: decided by host name, port and address, without IO.

use flower_contract::view::NetworkMode;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The ports of the web, for hosts that are named without a port.
const WEB_PORTS: [u16; 2] = [80, 443];
/// Longest host name that DNS allows.
const MAX_HOST: usize = 253;

/// The rules of one network.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkPolicy {
    pub mode: NetworkMode,
    /// With [`NetworkMode::Web`], each list that is not empty must contain the host. Project and profile may each have one.
    pub allow: Vec<Vec<HostPattern>>,
    pub deny: Vec<HostPattern>,
    /// Ports of the host's loopback that are forwarded to the same port inside, in every mode.
    pub connect: Vec<u16>,
}

/// Which addresses a host may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Public ones: for hosts that no list names.
    Public,
    /// Also private ones: the operator named the host.
    Named,
}

/// Why a connection is refused, and the setting that would allow it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) why: String,
    pub(super) remedy: Option<String>,
}

impl NetworkPolicy {
    /// The policy under which both allow a connection, except that the forwarded ports are those of both.
    pub(crate) fn narrowed_by(&self, other: &NetworkPolicy) -> NetworkPolicy {
        let mut narrowed = self.clone();
        narrowed.mode = self.mode.min(other.mode);
        narrowed.allow.extend(other.allow.iter().cloned());
        narrowed.deny.extend(other.deny.iter().cloned());
        narrowed.connect.extend(other.connect.iter().copied());
        narrowed.connect.sort_unstable();
        narrowed.connect.dedup();
        narrowed
    }

    /// Decides by name and port. The addresses of the host are decided by [`judge_address`] afterwards.
    pub(super) fn judge(&self, host: &str, port: u16) -> Result<Reach, Refused> {
        let refuse = |why: String, remedy: Option<String>| Err(Refused { why, remedy });
        if let Some(pattern) = self.deny.iter().find(|pattern| pattern.covers(host, port)) {
            return refuse(format!("`deny` lists `{pattern}`"), None);
        }
        let written = if WEB_PORTS.contains(&port) { host.to_owned() } else { format!("{host}:{port}") };
        let remedy = Some(format!("allow = [\"{written}\"]"));
        let mut lists = self.allow.iter().filter(|list| !list.is_empty()).peekable();
        if lists.peek().is_some() {
            return match lists.all(|list| list.iter().any(|pattern| pattern.allows(host, port))) {
                true => Ok(Reach::Named),
                false => refuse("`allow` does not list it".to_owned(), remedy),
            };
        }
        if !WEB_PORTS.contains(&port) {
            return refuse("only ports 80 and 443 are open".to_owned(), remedy);
        }
        Ok(Reach::Public)
    }
}

/// Decides by the address that a name was resolved to. The list names what is refused, because mirrors of companies have addresses in
/// unusual ranges.
pub(super) fn judge_address(address: IpAddr, port: u16, reach: Reach) -> Result<(), Refused> {
    let refuse = |why: &str, remedy: Option<String>| Err(Refused { why: format!("{address} {why}"), remedy });
    let address = match address {
        IpAddr::V6(v6) => embedded(v6).map_or(address, IpAddr::V4),
        v4 => v4,
    };
    if is_loopback(address) {
        return refuse("is this machine", Some(format!("connect = [{port}]")));
    }
    if is_metadata(address) {
        return refuse("gives out credentials of this machine", None);
    }
    let unusable = match address {
        IpAddr::V4(v4) => v4.octets()[0] == 0 || v4.is_broadcast() || v4.is_multicast(),
        IpAddr::V6(v6) => v6.is_unspecified() || v6.is_multicast(),
    };
    if unusable {
        return refuse("is no address of a host", None);
    }
    if reach == Reach::Public && is_private(address) {
        return refuse("is a private address, which only a host in `allow` may have", None);
    }
    Ok(())
}

fn is_loopback(address: IpAddr) -> bool {
    address.is_loopback()
}

/// Services of clouds that answer every program on the machine.
fn is_metadata(address: IpAddr) -> bool {
    const V4: [Ipv4Addr; 3] =
        [Ipv4Addr::new(169, 254, 169, 254), Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(168, 63, 129, 16)];
    const V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);
    match address {
        IpAddr::V4(v4) => V4.contains(&v4),
        IpAddr::V6(v6) => v6 == V6,
    }
}

fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let shared = v4.octets()[0] == 100 && (64..128).contains(&v4.octets()[1]);
            v4.is_private() || v4.is_link_local() || shared
        }
        IpAddr::V6(v6) => v6.is_unique_local() || v6.is_unicast_link_local(),
    }
}

/// The IPv4 address that an IPv6 address stands for: mapped, compatible, NAT64 or 6to4.
fn embedded(v6: Ipv6Addr) -> Option<Ipv4Addr> {
    let parts = v6.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match parts {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
            Some(v4(high, low))
        }
        // `::` and `::1` are addresses of their own.
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => Some(v4(high, low)),
        _ => None,
    }
}

/// A host name in one spelling: lower case, without a final dot or brackets. None if it cannot be one.
pub(super) fn normal_host(host: &str) -> Option<String> {
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let fits = !host.is_empty() && host.len() <= MAX_HOST;
    let plain = host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte));
    (fits && plain).then_some(host)
}

/// A host in `allow` or `deny`: `example.com`, `*.example.com` or either with `:PORT`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostPattern {
    /// The name, or what follows `*.`.
    host: String,
    below: bool,
    port: Option<u16>,
}

impl HostPattern {
    /// As an entry of `allow`: without a port it means the ports of the web.
    fn allows(&self, host: &str, port: u16) -> bool {
        self.names(host) && self.port.map_or(WEB_PORTS.contains(&port), |own| own == port)
    }

    /// As an entry of `deny`: without a port it means every port.
    fn covers(&self, host: &str, port: u16) -> bool {
        self.names(host) && self.port.is_none_or(|own| own == port)
    }

    fn names(&self, host: &str) -> bool {
        match self.below {
            true => host.strip_suffix(&self.host).is_some_and(|above| above.len() > 1 && above.ends_with('.')),
            false => host == self.host,
        }
    }
}

impl TryFrom<String> for HostPattern {
    type Error = String;

    fn try_from(text: String) -> Result<HostPattern, String> {
        let wrong = || format!("`{text}` is no host such as `example.com`, `*.example.com` or `example.com:8443`");
        let (below, rest) = text.strip_prefix("*.").map_or((false, text.as_str()), |rest| (true, rest));
        // An IPv6 address with a port has brackets; without brackets all of it is the address.
        let split = match rest.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => Some((host, port)),
            _ => None,
        };
        let (host, port) = match split {
            Some((host, port)) => (host, Some(port.parse::<u16>().ok().filter(|port| *port > 0).ok_or_else(wrong)?)),
            None => (rest, None),
        };
        let host = normal_host(host).ok_or_else(wrong)?;
        let is_address = host.parse::<IpAddr>().is_ok();
        if (below && is_address) || (host.contains(':') && !is_address) {
            return Err(wrong());
        }
        Ok(HostPattern { host, below, port })
    }
}

impl From<HostPattern> for String {
    fn from(pattern: HostPattern) -> String {
        pattern.to_string()
    }
}

impl Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        write!(f, "{}{host}", if self.below { "*." } else { "" })?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(texts: &[&str]) -> Vec<HostPattern> {
        texts.iter().map(|text| HostPattern::try_from((*text).to_owned()).expect("a pattern")).collect()
    }

    fn web(allow: &[&str], deny: &[&str]) -> NetworkPolicy {
        NetworkPolicy {
            mode: NetworkMode::Web,
            allow: vec![patterns(allow)],
            deny: patterns(deny),
            ..NetworkPolicy::default()
        }
    }

    #[test]
    fn without_a_list_any_host_is_reached_on_the_ports_of_the_web() {
        let policy = web(&[], &["bad.example", "*.worse.example", "half.example:443"]);
        for (host, port, reached) in [
            ("example.com", 443, true),
            ("example.com", 80, true),
            ("example.com", 22, false),
            ("bad.example", 443, false),
            ("sub.bad.example", 443, true),
            ("a.b.worse.example", 80, false),
            ("worse.example", 80, true),
            ("notworse.example", 80, true),
            ("half.example", 443, false),
            ("half.example", 80, true),
        ] {
            assert_eq!(policy.judge(host, port).is_ok(), reached, "{host}:{port}");
        }
        let refused = policy.judge("db.example", 5432).unwrap_err();
        assert_eq!(refused.remedy.as_deref(), Some("allow = [\"db.example:5432\"]"));
    }

    #[test]
    fn a_list_narrows_and_names_further_ports() {
        let policy = web(&["example.com", "*.internal.example", "db.example:5432", "[fd00::5]:8080"], &[]);
        for (host, port, reached) in [
            ("example.com", 443, true),
            ("example.com", 8443, false),
            ("www.example.com", 443, false),
            ("git.internal.example", 443, true),
            ("internal.example", 443, false),
            ("evilinternal.example", 443, false),
            ("db.example", 5432, true),
            ("db.example", 443, false),
            ("fd00::5", 8080, true),
        ] {
            assert_eq!(policy.judge(host, port).is_ok(), reached, "{host}:{port}");
        }
        assert_eq!(policy.judge("git.internal.example", 443), Ok(Reach::Named));
        assert_eq!(policy.judge("other.example", 443).unwrap_err().remedy.unwrap(), "allow = [\"other.example\"]");
    }

    #[test]
    fn the_narrower_of_two_policies_wins() {
        let project = NetworkPolicy { connect: vec![5432], ..web(&["a.example", "b.example"], &[]) };
        let profile = NetworkPolicy { connect: vec![9], ..web(&["b.example", "c.example"], &["b.example:80"]) };
        let both = project.narrowed_by(&profile);
        let reached = |host: &str, port| both.judge(host, port).is_ok();
        assert!(reached("b.example", 443));
        assert!(!reached("a.example", 443) && !reached("c.example", 443) && !reached("b.example", 80));
        assert_eq!(both.connect, [9, 5432]);
        for (one, other, narrower) in [
            (NetworkMode::Closed, NetworkMode::Open, NetworkMode::Closed),
            (NetworkMode::Open, NetworkMode::Web, NetworkMode::Web),
            (NetworkMode::Open, NetworkMode::Open, NetworkMode::Open),
        ] {
            let mode = |mode| NetworkPolicy { mode, ..NetworkPolicy::default() };
            assert_eq!(mode(one).narrowed_by(&mode(other)).mode, narrower);
            assert_eq!(mode(other).narrowed_by(&mode(one)).mode, narrower);
        }
    }

    #[test]
    fn addresses_of_this_machine_and_of_private_networks_are_refused() {
        for (address, public, named) in [
            ("93.184.216.34", true, true),
            ("203.0.113.80", true, true),
            ("198.18.0.1", true, true),
            ("2606:2800:220:1::1", true, true),
            ("127.0.0.1", false, false),
            ("127.8.9.10", false, false),
            ("::1", false, false),
            ("::ffff:127.0.0.1", false, false),
            ("::127.0.0.1", false, false),
            ("64:ff9b::7f00:1", false, false),
            ("2002:7f00:1::", false, false),
            ("0.0.0.0", false, false),
            ("0.1.2.3", false, false),
            ("::", false, false),
            ("255.255.255.255", false, false),
            ("224.0.0.1", false, false),
            ("ff02::1", false, false),
            ("169.254.169.254", false, false),
            ("::ffff:169.254.169.254", false, false),
            ("fd00:ec2::254", false, false),
            ("100.100.100.200", false, false),
            ("10.1.2.3", false, true),
            ("172.16.0.1", false, true),
            ("172.32.0.1", true, true),
            ("192.168.1.1", false, true),
            ("::ffff:192.168.1.1", false, true),
            ("100.64.0.1", false, true),
            ("100.128.0.1", true, true),
            ("169.254.1.1", false, true),
            ("fe80::1", false, true),
            ("fc00::1", false, true),
        ] {
            let judged = |reach| judge_address(address.parse().unwrap(), 443, reach).is_ok();
            assert_eq!((judged(Reach::Public), judged(Reach::Named)), (public, named), "{address}");
        }
        let refused = judge_address("127.0.0.1".parse().unwrap(), 5432, Reach::Named).unwrap_err();
        assert_eq!(refused.remedy.as_deref(), Some("connect = [5432]"));
    }

    #[test]
    fn patterns_keep_their_spelling_and_nonsense_is_refused() {
        for good in ["example.com", "*.example.com", "example.com:8443", "10.0.0.5", "10.0.0.5:81", "[fd00::5]:80"] {
            assert_eq!(patterns(&[good])[0].to_string(), good);
        }
        assert_eq!(patterns(&["EXAMPLE.com."])[0].to_string(), "example.com");
        for bad in
            ["", "*", "*.", "a b", "http://x.example", "x.example:0", "x.example:99999", "x/y", "*.*.x", "ü.example"]
        {
            assert!(HostPattern::try_from(bad.to_owned()).is_err(), "{bad}");
        }
    }
}
