//! Metrics over HTTP, for who is on this machine.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use frostline_store::Store;

/// How often a new connection is looked for.
const TICK: Duration = Duration::from_millis(20);

/// How long a client may take.
const PATIENCE: Duration = Duration::from_secs(1);

/// The longest request that is read.
const LONGEST: usize = 8192;

/// Answers `GET /metrics` until `over`, one client after the other.
pub fn serve(listener: &TcpListener, store: &Store, over: &AtomicBool) {
    while !over.load(Relaxed) {
        match listener.accept() {
            // A client that went away, or is too slow, is no concern of the bench.
            Ok((client, _)) => drop(answer(client, store)),
            Err(_) => thread::sleep(TICK),
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

/// The head of a request: it has no body that matters.
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
