//! The server: accepts connections and serves each with threads of its own.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use frostline_disk::Disk;
use frostline_store::Store;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::address::Address;
use crate::connection::{Connection, Listener};
use crate::negotiation::ShownExport;
use crate::session;

/// The most connections that are served at once; further ones wait.
pub const MOST_CONNECTIONS: usize = 16;

/// How long a client may take for the handshake, unless another time is set. Those who only connect
/// would keep others out.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// The interval at which the server checks whether it shall stop.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// An error of the server itself.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The server can't listen on the address.
    #[error("{address}: {source}")]
    Listen {
        /// The address.
        address: Address,
        /// The reason.
        source: io::Error,
    },
}

/// A server that listens on an address.
pub struct Server {
    listener: Listener,
    address: Address,
    handshake: Duration,
}

/// The open connections, by number.
type OpenConnections = Mutex<BTreeMap<u64, Connection>>;

impl Server {
    /// Listens on an address.
    ///
    /// # Errors
    /// The address is in use, or does not belong to this machine.
    pub fn bind(address: &Address) -> Result<Server, ServeError> {
        let failed = |source| ServeError::Listen { address: address.clone(), source };
        let listener = Listener::bind(address).map_err(failed)?;
        let address = listener.address().map_err(failed)?;
        Ok(Server { listener, address, handshake: HANDSHAKE })
    }

    /// Ends connections whose clients take longer than this for the whole handshake, in place of
    /// ten seconds. After it a client may be idle for as long as it likes.
    pub fn handshake_within(self, handshake: Duration) -> Server {
        Server { handshake, ..self }
    }

    /// The address, with the port that was chosen.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Serves a store until `is_stopped` returns true. Then it ends the connections, after the
    /// requests that were under way are done. What no client flushes is flushed when the disk is
    /// idle. It does not sync the store at the end.
    ///
    /// # Errors
    /// The server can't wait for connections.
    pub fn run(
        &self,
        store: &Store,
        is_read_only: bool,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<(), ServeError> {
        let disk = Disk::new(store);
        let shown = ShownExport { size: disk.size(), is_read_only };
        let open = OpenConnections::default();
        thread::scope(|scope| {
            let mut number = 0;
            let result = loop {
                let next = self.next(&open);
                if is_stopped() {
                    break Ok(());
                }
                if let Err(error) = disk.flush_when_idle(Instant::now()) {
                    tracing::warn!(%error, "what no client has flushed is not durable");
                }
                match next.and_then(|next| next.map(|c| Ok((c.try_clone()?, c))).transpose()) {
                    Ok(Some((handle, connection))) => {
                        number += 1;
                        // Inserted before the thread runs, so that stopping right now also ends
                        // this connection.
                        lock(&open).insert(number, handle);
                        let (disk, open, time) = (&disk, &open, self.handshake);
                        let served = move || serve(number, &connection, time, open, disk, shown);
                        if let Err(error) = thread::Builder::new().spawn_scoped(scope, served) {
                            tracing::info!(%error, "a connection was not taken");
                            lock(open).remove(&number);
                        }
                    }
                    Ok(None) => {}
                    Err(source) => {
                        break Err(ServeError::Listen { address: self.address.clone(), source });
                    }
                }
            };
            lock(&open).values().for_each(Connection::shut_down);
            result
        })
    }

    /// Waits a while for a connection, if one more may be served.
    fn next(&self, open: &OpenConnections) -> io::Result<Option<Connection>> {
        let is_full = lock(open).len() >= MOST_CONNECTIONS;
        let mut wait = [PollFd::new(&self.listener, PollFlags::IN)];
        let sockets = if is_full { &mut [][..] } else { &mut wait[..] };
        match poll(sockets, Some(&TICK)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(None),
            Ok(_) => {}
            Err(errno) => return Err(errno.into()),
        }
        match self.listener.accept() {
            Ok(connection) => Ok(Some(connection)),
            // The client is gone, or no descriptor is free at the moment.
            Err(error) => {
                if error.kind() != ErrorKind::WouldBlock {
                    tracing::info!(%error, "a connection was not taken");
                }
                Ok(None)
            }
        }
    }
}

fn serve(
    number: u64,
    connection: &Connection,
    handshake: Duration,
    open: &OpenConnections,
    disk: &Disk<'_>,
    shown: ShownExport,
) {
    tracing::info!(number, "a connection begins");
    match session::serve(connection, handshake, disk, shown) {
        Ok(()) => tracing::info!(number, "a connection ends"),
        Err(error) => tracing::info!(number, %error, "a connection breaks"),
    }
    connection.shut_down();
    lock(open).remove(&number);
}

fn lock(open: &OpenConnections) -> MutexGuard<'_, BTreeMap<u64, Connection>> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}
