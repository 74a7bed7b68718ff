//! Recognizes output of programs that could not reach another machine.

/// Whether the output of a program says that it could not reach a host outside.
pub(crate) fn misses_network(output: &str) -> bool {
    const SIGNS: &[&str] = &[
        "ENETUNREACH",
        "EAI_AGAIN",
        "Network is unreachable",
        "network is unreachable",
        "Could not resolve",
        "could not resolve",
        "Temporary failure in name resolution",
        "Name or service not known",
        "ENOTFOUND",
        "no such host",
        "failed to lookup address",
        "CONNECT tunnel failed, response 403",
    ];
    // A refused connection to loopback means that a server of the test itself is not there.
    let refused_outside = |line: &str| {
        let line = line.to_ascii_lowercase();
        let refused = line.contains("econnrefused") || line.contains("connection refused");
        refused
            && !["127.0.0.1", "localhost", "::1", "0.0.0.0"].iter().any(|own| line.contains(own))
            && line.split(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '-').any(is_address)
    };
    output.lines().any(|line| SIGNS.iter().any(|sign| line.contains(sign)) || refused_outside(line))
}

/// Whether a word looks like a host name or an IPv4 address.
fn is_address(word: &str) -> bool {
    let parts: Vec<&str> = word.split('.').collect();
    let whole = parts.iter().all(|part| !part.is_empty());
    whole
        && (parts.len() == 4 && parts.iter().all(|part| part.parse::<u8>().is_ok())
            || parts.len() >= 2 && is_domain(&parts))
}

fn is_domain(parts: &[&str]) -> bool {
    parts.last().is_some_and(|last| (2..=24).contains(&last.len()) && last.chars().all(|c| c.is_ascii_alphabetic()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_network_is_recognized_and_a_missing_server_is_not() {
        for output in [
            "npm error code EAI_AGAIN\nnpm error syscall getaddrinfo",
            "fatal: unable to access: Could not resolve host: github.com",
            "Error: connect ENETUNREACH 104.16.3.35:443",
            "Error: connect ECONNREFUSED 104.16.3.35:443",
            "curl: (7) Failed to connect to example.com port 443: Connection refused",
            "dial tcp: lookup packages.example: no such host",
        ] {
            assert!(misses_network(output), "{output}");
        }
        for output in [
            "",
            "assertion failed",
            "Error: connect ECONNREFUSED 127.0.0.1:3000",
            "connect to localhost port 5432: Connection refused",
            "expected ECONNREFUSED but got nothing",
        ] {
            assert!(!misses_network(output), "{output}");
        }
    }
}
