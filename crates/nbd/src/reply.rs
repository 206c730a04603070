//! Replies to requests, simple ones and structured ones.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use frostline_disk::Extent;

use crate::request::{NbdRequest, Refusal};
use crate::wire::{CHUNK, SIMPLE_REPLY, chunk};

/// The number of the only metadata context, `base:allocation`.
pub(crate) const ALLOCATION: u32 = 1;

/// The flags of a hole: it takes no space, and reads as zeroes.
const HOLE: u32 = 1 | 2;

/// The sender of replies to a client, shared by several threads.
pub(crate) struct Replies<W> {
    to: Mutex<W>,
    /// True if reads are answered with structured replies.
    is_structured: bool,
}

impl<W: Write> Replies<W> {
    /// A sender of replies over `to`.
    pub(crate) fn new(to: W, is_structured: bool) -> Self {
        Replies { to: Mutex::new(to), is_structured }
    }

    /// Replies that the request is done.
    pub(crate) fn done(&self, request: &NbdRequest) -> io::Result<()> {
        self.send(&[&simple(request, 0)])
    }

    /// Replies that the request failed.
    pub(crate) fn refuse(&self, request: &NbdRequest, why: Refusal, text: &str) -> io::Result<()> {
        if !self.is_structured {
            return self.send(&[&simple(request, why as u32)]);
        }
        let text = &text[..text.floor_char_boundary(1024)];
        let mut payload = (why as u32).to_be_bytes().to_vec();
        payload.extend((text.len() as u16).to_be_bytes());
        payload.extend(text.as_bytes());
        self.send(&[&head(request, chunk::DONE, chunk::ERROR, payload.len()), &payload])
    }

    /// Replies to a read with its bytes. Holes are sent as holes if the reply may have several
    /// chunks.
    pub(crate) fn bytes(
        &self,
        request: &NbdRequest,
        bytes: &[u8],
        extents: &[Extent],
        is_one_piece: bool,
    ) -> io::Result<()> {
        if !self.is_structured {
            return self.send(&[&simple(request, 0), bytes]);
        }
        let whole = [Extent { length: bytes.len() as u64, is_hole: false }];
        let extents = if is_one_piece { &whole } else { extents };
        let covered: u64 = extents.iter().map(|extent| extent.length).sum();
        assert_eq!(covered, bytes.len() as u64, "the chunks of a reply cover its request");
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        let mut at = 0;
        for (index, extent) in extents.iter().enumerate() {
            let flags = if index + 1 == extents.len() { chunk::DONE } else { 0 };
            let offset = (request.offset + at as u64).to_be_bytes();
            let length = extent.length as usize;
            if extent.is_hole {
                to.write_all(&head(request, flags, chunk::HOLE, 12))?;
                to.write_all(&offset)?;
                to.write_all(&(length as u32).to_be_bytes())?;
            } else {
                to.write_all(&head(request, flags, chunk::DATA, 8 + length))?;
                to.write_all(&offset)?;
                to.write_all(&bytes[at..at + length])?;
            }
            at += length;
        }
        to.flush()
    }

    /// Replies to a request for block status with its extents.
    pub(crate) fn extents(&self, request: &NbdRequest, extents: &[Extent]) -> io::Result<()> {
        assert!(!extents.is_empty(), "a reply has an extent");
        let mut payload = ALLOCATION.to_be_bytes().to_vec();
        for extent in extents {
            assert!(extent.length <= request.length.into(), "an extent lies in its request");
            payload.extend((extent.length as u32).to_be_bytes());
            payload.extend(if extent.is_hole { HOLE } else { 0 }.to_be_bytes());
        }
        self.send(&[&head(request, chunk::DONE, chunk::BLOCK_STATUS, payload.len()), &payload])
    }

    fn send(&self, parts: &[&[u8]]) -> io::Result<()> {
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        parts.iter().try_for_each(|part| to.write_all(part))?;
        to.flush()
    }
}

fn simple(request: &NbdRequest, error: u32) -> Vec<u8> {
    let mut reply = SIMPLE_REPLY.to_be_bytes().to_vec();
    reply.extend(error.to_be_bytes());
    reply.extend(request.cookie.to_be_bytes());
    reply
}

fn head(request: &NbdRequest, flags: u16, kind: u16, length: usize) -> Vec<u8> {
    assert!(u32::try_from(length).is_ok(), "the length of a chunk has 32 bits");
    let mut head = CHUNK.to_be_bytes().to_vec();
    head.extend(flags.to_be_bytes());
    head.extend(kind.to_be_bytes());
    head.extend(request.cookie.to_be_bytes());
    head.extend((length as u32).to_be_bytes());
    head
}
