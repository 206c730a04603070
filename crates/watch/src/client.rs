//! Views of a store in another process, from its server.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use frostline_store::StoreView;

/// The longest that is waited for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The longest answer that is read.
const LONGEST: u64 = 256 << 20;

/// A view could not be fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// There is no answer.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The server refused, with this line.
    #[error("{0}")]
    Refused(String),
    /// The answer is no view of a store.
    #[error("the answer is no view of a store: {0}")]
    NotAView(#[from] serde_json::Error),
}

/// The store that is served at an address, as it is now.
///
/// # Errors
/// No answer within some seconds, or one that is no view of a store.
pub fn fetch(address: SocketAddr) -> Result<StoreView, FetchError> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    write!(stream, "GET /zones HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.take(LONGEST).read_to_end(&mut answer)?;
    let head_end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let (head, body) = answer.split_at(head_end.unwrap_or(answer.len()));
    let head = String::from_utf8_lossy(head);
    let status = head.lines().next().unwrap_or_default();
    match status.split(' ').nth(1) {
        Some("200") => Ok(serde_json::from_slice(body.trim_ascii_start())?),
        _ => Err(FetchError::Refused(refusal(status, body))),
    }
}

/// The first line of the body, or the status if there is none.
fn refusal(status: &str, body: &[u8]) -> String {
    let body = String::from_utf8_lossy(body);
    match body.trim().lines().next() {
        Some(line) => line.to_string(),
        None if status.is_empty() => "an empty answer".to_string(),
        None => status.to_string(),
    }
}
