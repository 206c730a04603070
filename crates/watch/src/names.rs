//! The names by which a server is known. A page of another site may have a name of its own that
//! leads to this machine, so that browsers let it read what is here: the name in the request tells
//! it.

use std::net::{IpAddr, SocketAddr};

/// The names of a server that listens on an address.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    /// True if this machine's own name for itself leads to it.
    is_local: bool,
    /// Those that it was given.
    given: Vec<String>,
}

impl Names {
    /// Those of the address itself.
    pub(crate) fn of(address: SocketAddr) -> Names {
        let ip = address.ip();
        Names { is_local: ip.is_loopback() || ip.is_unspecified(), given: Vec::new() }
    }

    /// Adds a name.
    pub(crate) fn add(&mut self, name: &str) {
        self.given.push(name.to_ascii_lowercase());
    }

    /// True if the host of a request, which may have a port, is this server. An address in digits
    /// is: no other site can have a page there.
    pub(crate) fn have(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let (name, port) = match host.rsplit_once(':') {
            // The colons of an address are between brackets.
            Some((name, port)) if !port.contains(']') => (name, port),
            _ => (&host[..], ""),
        };
        if !port.bytes().all(|byte| byte.is_ascii_digit()) {
            return false;
        }
        let in_brackets = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        let is_address = match in_brackets {
            Some(name) => name.parse::<IpAddr>().is_ok_and(|ip| ip.is_ipv6()),
            None => name.parse::<IpAddr>().is_ok_and(|ip| ip.is_ipv4()),
        };
        let name = name.strip_suffix('.').unwrap_or(name);
        let is_localhost = name == "localhost" || name.ends_with(".localhost");
        is_address || self.is_local && is_localhost || self.given.iter().any(|given| given == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_known_by_addresses_and_its_names_alone() {
        let names = |address: &str| Names::of(address.parse().unwrap());
        let (local, mut far) = (names("127.0.0.1:9464"), names("192.0.2.7:80"));
        for host in
            ["127.0.0.1", "127.0.0.1:9464", "192.0.2.7:80", "[::1]", "[::1]:9464", "[fe80::1]:"]
        {
            assert!(local.have(host) && far.have(host), "{host}");
        }
        for host in ["localhost", "LocalHost:9464", "localhost.", "frost.localhost:1"] {
            assert!(local.have(host) && !far.have(host), "{host}");
        }
        assert!(names("[::1]:1").have("localhost") && names("0.0.0.0:1").have("localhost"));
        for host in [
            "",
            ":",
            "evil.example",
            "evil.example:9464",
            "127.0.0.1.evil.example",
            "127.0.0.1:x",
            "localhost.evil.example",
            "notlocalhost",
            "[localhost]",
            "[::1",
            "::1",
            "2130706433",
            "0x7f.1",
            "[127.0.0.1]",
            "127.0.0.1@evil.example",
            "db.example",
        ] {
            assert!(!local.have(host) && !far.have(host), "{host}");
        }
        far.add("DB.example");
        assert!(far.have("db.example:80") && far.have("DB.EXAMPLE") && !far.have("b.example"));
    }
}
