//! The server: takes connections, and answers each by a thread of its own.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::names::Names;
use crate::{Watched, answer, request};

/// The interval at which new connections are looked for.
const TICK: Duration = Duration::from_millis(20);

/// The longest that a client may take to ask, and to take its answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Connections that are answered at once; others are closed. A browser opens some that it may never
/// use.
const MOST: usize = 16;

/// A server that has an address.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    names: Names,
}

impl Server {
    /// Takes an address; port 0 is any that is free.
    ///
    /// # Errors
    /// It is taken, or not this machine's.
    pub fn bind(address: SocketAddr) -> io::Result<Server> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Server { listener, address, names: Names::of(address) })
    }

    /// Also answers requests that ask for a host of this name, by which others reach the address.
    pub fn known_as(mut self, name: &str) -> Server {
        self.names.add(name);
        self
    }

    /// Its address, with the port that was free.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers clients until `is_over`, and those who have asked before that.
    fn serve(&self, watched: &dyn Watched, is_over: &dyn Fn() -> bool) {
        let busy = &AtomicUsize::new(0);
        thread::scope(|scope| {
            while !is_over() {
                let Ok((client, _)) = self.listener.accept() else {
                    thread::sleep(TICK);
                    continue;
                };
                if busy.load(Relaxed) >= MOST {
                    continue;
                }
                busy.fetch_add(1, Relaxed);
                let answered = thread::Builder::new().spawn_scoped(scope, move || {
                    // What is watched goes on without a client that went away or is too slow.
                    if let Err(error) = serve_one(client, &self.names, watched) {
                        tracing::debug!(%error, "a client was not answered");
                    }
                    busy.fetch_sub(1, Relaxed);
                });
                if answered.is_err() {
                    busy.fetch_sub(1, Relaxed);
                }
            }
        });
    }

    /// Answers clients while `work` is done.
    ///
    /// # Errors
    /// The system refuses a thread; then no work is done.
    pub fn during<T>(&self, watched: &dyn Watched, work: impl FnOnce() -> T) -> io::Result<T> {
        let over = &AtomicBool::new(false);
        thread::scope(|scope| {
            // Ends the server also when the work panics.
            let _over = SetOnDrop(over);
            let serve = || self.serve(watched, &|| over.load(Relaxed));
            thread::Builder::new().spawn_scoped(scope, serve)?;
            Ok(work())
        })
    }

    /// Answers clients by a thread of its own, until the value that is returned is dropped.
    ///
    /// # Errors
    /// The system refuses a thread.
    pub fn spawn(self, watched: Arc<impl Watched + 'static>) -> io::Result<Watching> {
        let (address, over) = (self.address, Arc::new(AtomicBool::new(false)));
        let is_over = over.clone();
        let serve = move || self.serve(&*watched, &|| is_over.load(Relaxed));
        let thread = thread::Builder::new().name("frostline-watch".to_string()).spawn(serve)?;
        Ok(Watching { address, over, thread: Some(thread) })
    }
}

/// Sets a flag when it goes.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

fn serve_one(mut client: TcpStream, names: &Names, watched: &dyn Watched) -> io::Result<()> {
    client.set_nonblocking(false)?;
    client.set_write_timeout(Some(PATIENCE))?;
    let request = request::read(&mut client, PATIENCE)?;
    client.write_all(answer::to(&request, names, watched).as_bytes())
}

/// A server with a thread of its own, which ends when this is dropped.
#[derive(Debug)]
pub struct Watching {
    address: SocketAddr,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watching {
    /// The address of the server.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.over.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic in it was of what is watched, and is that one's to tell.
            let _ = thread.join();
        }
    }
}
