//! The address on which a server listens.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// A network address, or a socket in the file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// An IP address and a port; port 0 means any free port.
    Tcp(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
    /// The socket that this process was started with as standard input, on which another listens
    /// already: what starts a server when the first client connects.
    Inherited,
}

/// The text is not an address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be an address with a port, as 127.0.0.1:10809, the path of a socket with a / in it, or - for the socket on \
     standard input"
)]
pub struct NotAnAddress;

impl FromStr for Address {
    type Err = NotAnAddress;

    /// A text with a `/` is a path, `-` stands for standard input; any other text is an IP address
    /// with a port.
    fn from_str(text: &str) -> Result<Self, NotAnAddress> {
        match text.contains('/') {
            _ if text == "-" => Ok(Address::Inherited),
            true => Ok(Address::Unix(PathBuf::from(text))),
            false => text.parse().map(Address::Tcp).map_err(|_| NotAnAddress),
        }
    }
}

impl fmt::Display for Address {
    /// The URI that clients accept.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => write!(f, "nbd://{address}"),
            Address::Unix(path) => write!(f, "nbd+unix:///?socket={}", path.display()),
            Address::Inherited => f.write_str("the socket on standard input"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_paths_are_told_apart_and_shown_as_clients_take_them() {
        let shown = |text: &str| text.parse::<Address>().map(|address| address.to_string());
        assert_eq!(shown("127.0.0.1:10809").unwrap(), "nbd://127.0.0.1:10809");
        assert_eq!(shown("[::1]:1").unwrap(), "nbd://[::1]:1");
        assert_eq!(shown("./disk.sock").unwrap(), "nbd+unix:///?socket=./disk.sock");
        assert_eq!(shown("-").unwrap(), "the socket on standard input");
        assert_eq!(shown("localhost"), Err(NotAnAddress));
    }
}
