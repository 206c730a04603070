//! A minimal client of the protocol for the tests, and a server for it.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use frostline_nbd::{Address, Server};
use frostline_store::{Cleaning, Format, Open, Store};
use frostline_zone::{Device, Shape, in_memory};

pub(crate) const PAGE: u64 = 4096;

pub(crate) const READ: u16 = 0;
pub(crate) const WRITE: u16 = 1;
pub(crate) const FLUSH: u16 = 3;
pub(crate) const TRIM: u16 = 4;
pub(crate) const WRITE_ZEROES: u16 = 6;
pub(crate) const BLOCK_STATUS: u16 = 7;

pub(crate) const FUA: u16 = 1;
pub(crate) const NO_HOLE: u16 = 2;
pub(crate) const ONE_PIECE: u16 = 4;
pub(crate) const FAST_ZERO: u16 = 16;

/// A device in memory of 24 zones of 256 KiB.
pub(crate) fn memory() -> Arc<dyn Device> {
    let bytes = 24 * (256 << 10);
    in_memory(&Shape { bytes, zone_bytes: Some(256 << 10), ..Shape::default() }).unwrap()
}

pub(crate) fn format(device: &Arc<dyn Device>) {
    Store::format(device.clone(), &Format::default()).unwrap();
}

/// A store without background work: everything happens in the order of its calls.
pub(crate) fn open(device: &Arc<dyn Device>) -> Store {
    let open = Open { cleaning: Cleaning::Inline, ..Open::default() };
    Store::open(device.clone(), open).unwrap()
}

/// Serves a store on a socket while `during` runs.
pub(crate) fn serving<T>(
    store: &Store,
    is_read_only: bool,
    socket: &Path,
    during: impl FnOnce() -> T,
) -> T {
    serving_by(
        Server::bind(&Address::Unix(socket.to_path_buf())).unwrap(),
        store,
        is_read_only,
        during,
    )
}

/// The same with a server that was set up.
pub(crate) fn serving_by<T>(
    server: Server,
    store: &Store,
    is_read_only: bool,
    during: impl FnOnce() -> T,
) -> T {
    /// Ends the server, which looks for that at the next connection at the latest.
    struct Stop<'a>(&'a AtomicBool, Address);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
            if let Address::Unix(path) = &self.1 {
                let _ = UnixStream::connect(path);
            }
        }
    }
    let (stopped, address) = (AtomicBool::new(false), server.address().clone());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            server.run(store, is_read_only, &|| stopped.load(Ordering::Relaxed)).unwrap();
        });
        let _stop = Stop(&stopped, address);
        during()
    })
}

/// A connection to a server.
pub(crate) struct Client {
    stream: UnixStream,
    is_structured: bool,
    cookie: u64,
    /// Bytes of the export.
    pub size: u64,
    /// Its flags.
    pub flags: u16,
}

/// A reply: bytes, or the number of an error; for block status, the bytes are pairs of length and
/// flags.
pub(crate) type Reply = Result<Vec<u8>, u32>;

impl Client {
    /// A connection before the handshake. It has a time limit for answers.
    pub(crate) fn raw(socket: &Path) -> UnixStream {
        let stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// A connection that is ready for requests.
    pub(crate) fn new(socket: &Path, is_structured: bool) -> Client {
        let stream = Client::raw(socket);
        let mut client = Client { stream, is_structured, cookie: 0, size: 0, flags: 0 };
        client.greet();
        if is_structured {
            assert_eq!(client.option(8, &[]).unwrap(), [(1, vec![])]);
            let query = [&[0; 4][..], &1u32.to_be_bytes(), &text(b"base:allocation")].concat();
            let contexts = client.option(10, &query).unwrap();
            assert_eq!(contexts[0], (4, [&[0, 0, 0, 1][..], b"base:allocation"].concat()));
        }
        let replies = client.option(7, &[0; 6]).unwrap();
        let (3, shown) = &replies[0] else { panic!("{replies:?}") };
        client.size = u64::from_be_bytes(shown[2..10].try_into().unwrap());
        client.flags = u16::from_be_bytes(shown[10..12].try_into().unwrap());
        client
    }

    /// The beginning of a handshake.
    pub(crate) fn greet(&mut self) {
        let mut hello = [0; 18];
        self.stream.read_exact(&mut hello).unwrap();
        assert_eq!(hello, *b"NBDMAGICIHAVEOPT\x00\x03");
        self.stream.write_all(&3u32.to_be_bytes()).unwrap();
    }

    /// A connection in the middle of its handshake.
    pub(crate) fn greeted(socket: &Path) -> Client {
        let stream = Client::raw(socket);
        let mut client = Client { stream, is_structured: false, cookie: 0, size: 0, flags: 0 };
        client.greet();
        client
    }

    /// Sends an option; returns the replies up to an acknowledgement, or the number of an error.
    pub(crate) fn option(&mut self, option: u32, data: &[u8]) -> Result<Vec<(u32, Vec<u8>)>, u32> {
        let length = data.len() as u32;
        let head = [&b"IHAVEOPT"[..], &option.to_be_bytes(), &length.to_be_bytes(), data];
        self.stream.write_all(&head.concat()).unwrap();
        let mut replies = Vec::new();
        loop {
            assert_eq!(self.u64(), 0x0003_e889_0455_65a9);
            assert_eq!(self.u32(), option);
            let (kind, length) = (self.u32(), self.u32());
            let data = self.bytes(length as usize);
            match kind {
                0x8000_0000.. => return Err(kind),
                _ => replies.push((kind, data)),
            }
            if kind == 1 {
                return Ok(replies);
            }
        }
    }

    /// Sends a request and waits for its reply.
    pub(crate) fn ask(
        &mut self,
        command: u16,
        flags: u16,
        offset: u64,
        length: u32,
        bytes: &[u8],
    ) -> Reply {
        self.send(command, flags, offset, length, bytes).unwrap();
        self.reply(command, offset, length)
    }

    /// Sends a request.
    pub(crate) fn send(
        &mut self,
        command: u16,
        flags: u16,
        offset: u64,
        length: u32,
        bytes: &[u8],
    ) -> io::Result<()> {
        self.cookie += 1;
        let mut request = 0x2560_9513u32.to_be_bytes().to_vec();
        request.extend(flags.to_be_bytes());
        request.extend(command.to_be_bytes());
        request.extend(self.cookie.to_be_bytes());
        request.extend(offset.to_be_bytes());
        request.extend(length.to_be_bytes());
        request.extend(bytes);
        self.stream.write_all(&request)
    }

    fn reply(&mut self, command: u16, offset: u64, length: u32) -> Reply {
        let mut bytes = vec![0xa5; if command == READ { length as usize } else { 0 }];
        loop {
            let magic = self.u32();
            if magic == 0x6744_6698 {
                let (error, cookie) = (self.u32(), self.u64());
                assert_eq!(cookie, self.cookie);
                if error != 0 {
                    return Err(error);
                }
                assert!(command != READ || !self.is_structured);
                self.stream.read_exact(&mut bytes).unwrap();
                return Ok(bytes);
            }
            assert_eq!(magic, 0x668e_33ef);
            let (flags, kind) = (self.u16(), self.u16());
            assert_eq!(self.u64(), self.cookie);
            let length = self.u32();
            let payload = self.bytes(length as usize);
            let at = || u64::from_be_bytes(payload[..8].try_into().unwrap()) - offset;
            match kind {
                1 => bytes[at() as usize..][..payload.len() - 8].copy_from_slice(&payload[8..]),
                2 => {
                    let hole = u32::from_be_bytes(payload[8..12].try_into().unwrap());
                    bytes[at() as usize..][..hole as usize].fill(0);
                }
                5 => bytes = payload[4..].to_vec(),
                0x8001 => return Err(u32::from_be_bytes(payload[..4].try_into().unwrap())),
                _ => panic!("chunk of type {kind}"),
            }
            if flags == 1 {
                return Ok(bytes);
            }
        }
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes).unwrap();
        bytes
    }

    fn u16(&mut self) -> u16 {
        u16::from_be_bytes(self.bytes(2).try_into().unwrap())
    }

    fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.bytes(4).try_into().unwrap())
    }

    fn u64(&mut self) -> u64 {
        u64::from_be_bytes(self.bytes(8).try_into().unwrap())
    }
}

/// A text that follows its length.
pub(crate) fn text(text: &[u8]) -> Vec<u8> {
    [&(text.len() as u32).to_be_bytes()[..], text].concat()
}
