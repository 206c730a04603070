//! A request of a client.

use std::io::{self, ErrorKind, Read};

use crate::wire::{self, LONGEST_REQUEST, command, flag, read_u16, read_u32, read_u64};

/// A request, without the bytes to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NbdRequest {
    /// [Flags](flag).
    pub flags: u16,
    /// [Type](command).
    pub command: u16,
    /// The client's identifier of the request, repeated in the reply.
    pub cookie: u64,
    /// The first byte.
    pub offset: u64,
    /// Length in bytes.
    pub length: u32,
}

/// The reason why a request fails, with the protocol's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Refusal {
    /// The export is read-only.
    NotPermitted = 1,
    /// The store or its device failed.
    Io = 5,
    /// The request is longer than the server accepts.
    NoMemory = 12,
    /// The request violates the protocol.
    Invalid = 22,
    /// The request goes beyond the end of the export, or the store is full.
    NoSpace = 28,
    /// Fast zeroing is not possible here.
    NotSupported = 95,
}

impl NbdRequest {
    /// Reads a request.
    pub(crate) fn read(from: &mut dyn Read) -> io::Result<NbdRequest> {
        if read_u32(from)? != wire::REQUEST {
            return Err(io::Error::new(ErrorKind::InvalidData, "no request where one must begin"));
        }
        Ok(NbdRequest {
            flags: read_u16(from)?,
            command: read_u16(from)?,
            cookie: read_u64(from)?,
            offset: read_u64(from)?,
            length: read_u32(from)?,
        })
    }

    /// True if the flag is set.
    pub(crate) fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    /// Bytes of payload that follow the request.
    pub(crate) fn payload(&self) -> u32 {
        if self.command == command::WRITE { self.length } else { 0 }
    }

    /// Bytes of memory that the request takes until its reply is sent.
    pub(crate) fn memory(&self) -> usize {
        match self.command {
            command::READ | command::WRITE => self.length.min(LONGEST_REQUEST) as usize,
            _ => 0,
        }
    }

    /// Refuses a request that an export of `size` bytes can't serve.
    pub(crate) fn check(&self, size: u64, is_read_only: bool) -> Result<(), Refusal> {
        let (known, changes) = match self.command {
            command::READ => (flag::ONE_PIECE, false),
            command::WRITE | command::TRIM => (flag::FUA, true),
            command::FLUSH => (0, false),
            command::WRITE_ZEROES => (flag::FUA | flag::NO_HOLE | flag::FAST_ZERO, true),
            command::BLOCK_STATUS => (flag::ONE_EXTENT, false),
            _ => return Err(Refusal::Invalid),
        };
        // Clients may set FUA where it has no meaning.
        if self.flags & !(known | flag::FUA) != 0 {
            return Err(Refusal::Invalid);
        }
        if self.command == command::FLUSH {
            return Ok(());
        }
        let ends = self.offset.checked_add(u64::from(self.length));
        match () {
            () if changes && is_read_only => Err(Refusal::NotPermitted),
            () if self.memory() < self.payload() as usize => Err(Refusal::NoMemory),
            () if self.command == command::READ && self.length > LONGEST_REQUEST => {
                Err(Refusal::NoMemory)
            }
            () if self.length == 0 => Err(Refusal::Invalid),
            () if ends.is_none_or(|end| end > size) && changes => Err(Refusal::NoSpace),
            () if ends.is_none_or(|end| end > size) => Err(Refusal::Invalid),
            () => Ok(()),
        }
    }
}
