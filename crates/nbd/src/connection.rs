//! Connections over both kinds of sockets.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::address::Address;

/// A listening socket.
pub(crate) enum Listener {
    /// A socket of the network.
    Tcp(TcpListener),
    /// A socket in the file system. The path of one that was made here is removed when it is
    /// dropped.
    Unix(UnixListener, Option<PathBuf>),
}

impl Listener {
    /// Listens on an address. If a server that was killed left its socket in the file system, the
    /// socket is replaced.
    pub(crate) fn bind(address: &Address) -> io::Result<Listener> {
        let listener = match address {
            Address::Tcp(address) => Listener::Tcp(TcpListener::bind(address)?),
            Address::Unix(path) => {
                let bound = UnixListener::bind(path);
                // Connections to a plain file are refused as well.
                let is_socket = || path.symlink_metadata().is_ok_and(|m| m.file_type().is_socket());
                let is_left = || {
                    let connected = UnixStream::connect(path);
                    connected.is_err_and(|e| e.kind() == io::ErrorKind::ConnectionRefused)
                };
                let bound = match bound {
                    Err(e) if e.kind() == io::ErrorKind::AddrInUse && is_socket() && is_left() => {
                        std::fs::remove_file(path)?;
                        UnixListener::bind(path)
                    }
                    bound => bound,
                };
                Listener::Unix(bound?, Some(path.clone()))
            }
            Address::Inherited => Listener::inherited(io::stdin().as_fd().try_clone_to_owned()?)?,
        };
        match &listener {
            Listener::Tcp(socket) => socket.set_nonblocking(true)?,
            Listener::Unix(socket, _) => socket.set_nonblocking(true)?,
        }
        Ok(listener)
    }

    /// A socket that another made, of either kind.
    fn inherited(socket: OwnedFd) -> io::Result<Listener> {
        let unix = UnixListener::from(socket);
        if unix.local_addr().is_ok() {
            return Ok(Listener::Unix(unix, None));
        }
        let network = TcpListener::from(OwnedFd::from(unix));
        let is_socket = network.local_addr().is_ok();
        let none = || io::Error::new(ErrorKind::InvalidInput, "standard input is not a socket");
        is_socket.then_some(Listener::Tcp(network)).ok_or_else(none)
    }

    /// The address, with the port that was chosen.
    pub(crate) fn address(&self) -> io::Result<Address> {
        match self {
            Listener::Tcp(socket) => socket.local_addr().map(Address::Tcp),
            Listener::Unix(_, Some(path)) => Ok(Address::Unix(path.clone())),
            Listener::Unix(socket, None) => {
                let address = socket.local_addr()?;
                let path = address.as_pathname().map(|path| Address::Unix(path.to_path_buf()));
                Ok(path.unwrap_or(Address::Inherited))
            }
        }
    }

    /// The next connection; an error of kind `WouldBlock` if there is none now.
    pub(crate) fn accept(&self) -> io::Result<Connection> {
        let connection = match self {
            Listener::Tcp(socket) => Connection::Tcp(socket.accept()?.0),
            Listener::Unix(socket, _) => Connection::Unix(socket.accept()?.0),
        };
        match &connection {
            Connection::Tcp(socket) => {
                socket.set_nonblocking(false)?;
                // Replies are small, and clients wait for each.
                socket.set_nodelay(true)?;
            }
            Connection::Unix(socket) => socket.set_nonblocking(false)?,
        }
        Ok(connection)
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Tcp(socket) => socket.as_fd(),
            Listener::Unix(socket, _) => socket.as_fd(),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::Unix(_, Some(path)) = self {
            // The file may be gone already.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// A connection.
#[derive(Debug)]
pub(crate) enum Connection {
    /// A connection over the network.
    Tcp(TcpStream),
    /// A connection over the file system.
    Unix(UnixStream),
}

impl Connection {
    /// Another handle of the connection.
    pub(crate) fn try_clone(&self) -> io::Result<Connection> {
        match self {
            Connection::Tcp(socket) => socket.try_clone().map(Connection::Tcp),
            Connection::Unix(socket) => socket.try_clone().map(Connection::Unix),
        }
    }

    /// Lets reads and writes of all handles fail after this time; `None` lets them wait.
    fn set_timeout(&self, time: Option<Duration>) -> io::Result<()> {
        match self {
            Connection::Tcp(socket) => {
                socket.set_read_timeout(time).and_then(|()| socket.set_write_timeout(time))
            }
            Connection::Unix(socket) => {
                socket.set_read_timeout(time).and_then(|()| socket.set_write_timeout(time))
            }
        }
    }

    /// Ends the connection in both directions, for all handles.
    pub(crate) fn shut_down(&self) {
        // The client may have ended it already.
        let _ = match self {
            Connection::Tcp(socket) => socket.shutdown(Shutdown::Both),
            Connection::Unix(socket) => socket.shutdown(Shutdown::Both),
        };
    }
}

/// A connection whose reads and writes all end by a moment, however little the client sends or
/// takes at a time.
pub(crate) struct UntilMoment {
    connection: Connection,
    end: Instant,
}

impl UntilMoment {
    /// Lets reads and writes fail `time` from now.
    pub(crate) fn new(connection: Connection, time: Duration) -> Self {
        UntilMoment { connection, end: Instant::now() + time }
    }

    /// The connection, which waits for its client again.
    pub(crate) fn without_end(self) -> io::Result<Connection> {
        self.connection.set_timeout(None)?;
        Ok(self.connection)
    }

    /// The connection, if there is time left.
    fn in_time(&mut self) -> io::Result<&mut Connection> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.connection.set_timeout(Some(left))?;
        Ok(&mut self.connection)
    }
}

impl Read for UntilMoment {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.in_time()?.read(into)
    }
}

impl Write for UntilMoment {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.in_time()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.connection.flush()
    }
}

impl Read for Connection {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Connection::Tcp(socket) => socket.read(into),
            Connection::Unix(socket) => socket.read(into),
        }
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Connection::Tcp(socket) => socket.write(bytes),
            Connection::Unix(socket) => socket.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
