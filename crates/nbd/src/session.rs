//! One connection, from the handshake to its end.

use std::io::{self, BufReader, BufWriter, ErrorKind, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use frostline_disk::Disk;
use frostline_store::StoreError;

use crate::budget::{Budget, Share};
use crate::connection::{Connection, UntilMoment};
use crate::negotiation::{Agreed, ShownExport, negotiate};
use crate::reply::Replies;
use crate::request::{NbdRequest, Refusal};
use crate::wire::{LONGEST_REQUEST, command, flag};

/// The most bytes of reads and writes of a connection that are under way at once.
pub const IN_FLIGHT_BYTES: usize = 2 * LONGEST_REQUEST as usize;
const _: () = assert!(LONGEST_REQUEST as usize <= IN_FLIGHT_BYTES, "the longest request is served");

/// Threads that serve the requests of a connection.
const WORKERS: usize = 4;

/// The most extents in a reply to a request for block status.
const MOST_EXTENTS: usize = 4096;

/// A request on its way to a worker.
struct Job<'b> {
    request: NbdRequest,
    payload: Vec<u8>,
    _memory: Share<'b>,
}

/// Serves a connection to its end. The client may take `handshake` to agree on options, and then as
/// long as it likes.
///
/// # Errors
/// The client contradicts the protocol, or takes too long to begin; the connection breaks; the
/// system gives no thread.
pub(crate) fn serve(
    connection: &Connection,
    handshake: Duration,
    disk: &Disk<'_>,
    shown: ShownExport,
) -> io::Result<()> {
    let mut both = UntilMoment::new(connection.try_clone()?, handshake);
    let Some(agreed) = negotiate(&mut both, shown)? else { return Ok(()) };
    let both = both.without_end()?;
    let budget = Budget::new(IN_FLIGHT_BYTES);
    let (send, receive) = sync_channel(WORKERS);
    let receive = Mutex::new(receive);
    let session = Transmission {
        disk,
        shown,
        agreed,
        replies: Replies::new(BufWriter::new(connection.try_clone()?), agreed.is_structured),
    };
    thread::scope(|scope| {
        for number in 0..WORKERS {
            let work = || session.work(&receive, connection);
            match thread::Builder::new().spawn_scoped(scope, work) {
                Err(error) if number == 0 => return Err(error),
                // Those that there are do it.
                Err(_) => break,
                Ok(_) => {}
            }
        }
        session.take_requests(&mut BufReader::new(both), &budget, send)
    })
}

struct Transmission<'a> {
    disk: &'a Disk<'a>,
    shown: ShownExport,
    agreed: Agreed,
    replies: Replies<BufWriter<Connection>>,
}

impl Transmission<'_> {
    /// Reads requests and hands them to the workers, until the client ends the connection.
    fn take_requests<'b>(
        &self,
        from: &mut dyn Read,
        budget: &'b Budget,
        send: SyncSender<Job<'b>>,
    ) -> io::Result<()> {
        loop {
            let request = match NbdRequest::read(from) {
                Ok(request) if request.command == command::DISCONNECT => return Ok(()),
                Ok(request) => request,
                // The client has gone without a disconnect request.
                Err(e) if e.kind() == ErrorKind::UnexpectedEof => return Ok(()),
                Err(e) => return Err(e),
            };
            let memory = budget.take(request.memory());
            let checked = request.check(self.shown.size, self.shown.is_read_only);
            let mut rest = from.take(request.payload().into());
            if let Err(why) = checked {
                io::copy(&mut rest, &mut io::sink())?;
                self.replies.refuse(&request, why, "")?;
                continue;
            }
            let mut payload = vec![0; request.payload() as usize];
            rest.read_exact(&mut payload)?;
            if send.send(Job { request, payload, _memory: memory }).is_err() {
                return Ok(());
            }
        }
    }

    /// Serves requests until there are no more.
    fn work(&self, jobs: &Mutex<Receiver<Job<'_>>>, connection: &Connection) {
        let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        while let Ok(job) = next() {
            if self.serve(&job).is_err() {
                // Replies no longer reach the client, so the reader must end, too.
                connection.shut_down();
            }
        }
    }

    fn serve(&self, job: &Job<'_>) -> io::Result<()> {
        let request = &job.request;
        match request.command {
            command::READ => self.read(request),
            command::BLOCK_STATUS => self.status(request),
            _ => match self.change(request, &job.payload) {
                Ok(Ok(())) => self.replies.done(request),
                Ok(Err(why)) => self.replies.refuse(request, why, ""),
                Err(error) => self.failed(request, &error),
            },
        }
    }

    fn read(&self, request: &NbdRequest) -> io::Result<()> {
        let mut bytes = vec![0; request.length as usize];
        match self.disk.read(request.offset, &mut bytes) {
            Ok(extents) => {
                let is_one_piece = request.has(flag::ONE_PIECE);
                self.replies.bytes(request, &bytes, &extents, is_one_piece)
            }
            Err(error) => self.failed(request, &error),
        }
    }

    fn status(&self, request: &NbdRequest) -> io::Result<()> {
        if !self.agreed.has_allocation {
            return self.replies.refuse(request, Refusal::Invalid, "no context was chosen");
        }
        let most = if request.has(flag::ONE_EXTENT) { 1 } else { MOST_EXTENTS };
        match self.disk.extents(request.offset, request.length, most) {
            Ok(extents) => self.replies.extents(request, &extents),
            Err(error) => self.failed(request, &error),
        }
    }

    fn change(
        &self,
        request: &NbdRequest,
        payload: &[u8],
    ) -> Result<Result<(), Refusal>, StoreError> {
        let NbdRequest { offset, length, .. } = *request;
        match request.command {
            command::WRITE => self.disk.write(offset, payload)?,
            command::TRIM => self.disk.trim(offset, length)?,
            command::FLUSH => self.disk.flush()?,
            command::WRITE_ZEROES if !request.has(flag::NO_HOLE) => {
                self.disk.zero(offset, length)?;
            }
            command::WRITE_ZEROES if request.has(flag::FAST_ZERO) => {
                return Ok(Err(Refusal::NotSupported));
            }
            command::WRITE_ZEROES => self.disk.write_zeroes(offset, length)?,
            _ => return Ok(Err(Refusal::Invalid)),
        }
        if request.has(flag::FUA) && request.command != command::FLUSH {
            self.disk.flush()?;
        }
        Ok(Ok(()))
    }

    fn failed(&self, request: &NbdRequest, error: &StoreError) -> io::Result<()> {
        tracing::info!(%error, offset = request.offset, "a request failed");
        let why = match error.is_full() {
            true => Refusal::NoSpace,
            false => Refusal::Io,
        };
        self.replies.refuse(request, why, &error.to_string())
    }
}
