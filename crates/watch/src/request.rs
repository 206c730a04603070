//! The head of a request, from a client that may be slow or send anything.

use std::io::{self, ErrorKind, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The longest head that is read.
const LONGEST: usize = 8192;

/// The head of a request; its body, if it has one, does not matter.
pub(crate) struct HttpRequest {
    /// Its method, as `GET`.
    pub method: String,
    /// Its path, without what is asked for behind a question mark.
    pub path: String,
    /// The hosts that it asks: one, but for clients that say none, or several.
    pub hosts: Vec<String>,
}

/// Reads the head of a request, for no longer than `patience`.
pub(crate) fn read(client: &mut TcpStream, patience: Duration) -> io::Result<HttpRequest> {
    let end = Instant::now() + patience;
    let (mut head, mut some) = (Vec::new(), [0; 1024]);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        client.set_read_timeout(Some(left))?;
        match client.read(&mut some)? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            _ if head.len() > LONGEST => return Err(ErrorKind::InvalidData.into()),
            n => head.extend_from_slice(&some[..n]),
        }
    }
    Ok(parsed(&String::from_utf8_lossy(&head)))
}

fn parsed(head: &str) -> HttpRequest {
    let mut words = head.lines().next().unwrap_or_default().split(' ');
    let method = words.next().unwrap_or_default().to_string();
    let target = words.next().unwrap_or_default();
    let path = target.split('?').next().unwrap_or_default().to_string();
    let field = |line: &str| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host").then(|| value.trim().to_string())
    };
    let fields = head.lines().skip(1).take_while(|line| !line.is_empty());
    HttpRequest { method, path, hosts: fields.filter_map(field).collect() }
}
