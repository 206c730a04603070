//! Metrics over HTTP, for programs on this machine.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use frostline_store::Store;

use crate::{Error, Result};

/// The interval between two checks for new connections.
const TICK: Duration = Duration::from_millis(20);

/// The longest time that a client may take.
const PATIENCE: Duration = Duration::from_secs(1);

/// The longest request that is read, in bytes.
const LONGEST: usize = 8192;

/// A server of metrics that listens on an address.
pub(crate) struct Metrics {
    listener: TcpListener,
    /// Its address.
    pub(crate) address: SocketAddr,
}

impl Metrics {
    /// Listens on an address; port 0 means any free port.
    pub(crate) fn listen(address: SocketAddr) -> Result<Metrics> {
        let listen = || {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            Ok(Metrics { listener, address })
        };
        listen().map_err(|source| Error::Metrics { address, source })
    }

    /// Answers `GET /metrics` until `over` is set, one client after the other.
    pub(crate) fn serve(&self, store: &Store, over: &AtomicBool) {
        while !over.load(Relaxed) {
            match self.listener.accept() {
                // The bench does not fail because a client is gone or too slow.
                Ok((client, _)) => drop(answer(client, store)),
                Err(_) => thread::sleep(TICK),
            }
        }
    }
}

fn answer(mut client: TcpStream, store: &Store) -> io::Result<()> {
    client.set_nonblocking(false)?;
    client.set_read_timeout(Some(PATIENCE))?;
    client.set_write_timeout(Some(PATIENCE))?;
    let request = read_request(&mut client)?;
    let mut words = request.split(' ');
    let (status, body) = match (words.next(), words.next()) {
        (Some("GET"), Some("/metrics")) => match store.metrics() {
            Ok(text) => ("200 OK", text),
            Err(error) => ("500 Internal Server Error", format!("{error}\n")),
        },
        (Some("GET"), Some(_)) => ("404 Not Found", "only /metrics is here\n".to_string()),
        _ => ("405 Method Not Allowed", "only GET\n".to_string()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    client.write_all((head + &body).as_bytes())
}

/// Reads the head of a request; a body is ignored.
fn read_request(client: &mut TcpStream) -> io::Result<String> {
    let (mut request, mut some) = (Vec::new(), [0; 1024]);
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        match client.read(&mut some)? {
            0 => break,
            _ if request.len() > LONGEST => return Err(ErrorKind::InvalidData.into()),
            n => request.extend_from_slice(&some[..n]),
        }
    }
    Ok(String::from_utf8_lossy(&request).into_owned())
}
