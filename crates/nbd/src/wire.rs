//! Numbers of the protocol, and functions to read them: all are big-endian.

use std::io::{self, Read};

/// The server's first word.
pub(crate) const HELLO: u64 = 0x4e42_444d_4147_4943;
/// The word before the server's flags, and before each option of a client.
pub(crate) const OPTION: u64 = 0x4948_4156_454f_5054;
/// The word before each reply to an option.
pub(crate) const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;
/// The word before each request.
pub(crate) const REQUEST: u32 = 0x2560_9513;
/// The word before a simple reply.
pub(crate) const SIMPLE_REPLY: u32 = 0x6744_6698;
/// The word before each chunk of a structured reply.
pub(crate) const CHUNK: u32 = 0x668e_33ef;

/// The longest read or write that is served, in bytes: the limit that clients assume when no limit
/// is advertised.
pub const LONGEST_REQUEST: u32 = 32 << 20;

/// The longest option that is read, in bytes.
pub(crate) const LONGEST_OPTION: u32 = 64 << 10;

/// Flags of the handshake, from both sides.
pub(crate) mod handshake {
    /// The side knows the options of the fixed newstyle protocol.
    pub(crate) const FIXED_NEWSTYLE: u16 = 1;
    /// No zeroes follow the reply to an export's name.
    pub(crate) const NO_ZEROES: u16 = 2;
}

/// Options of a client.
pub(crate) mod option {
    /// Chooses an export, without error replies.
    pub(crate) const EXPORT_NAME: u32 = 1;
    /// Ends the connection.
    pub(crate) const ABORT: u32 = 2;
    /// Asks for a list of exports.
    pub(crate) const LIST: u32 = 3;
    /// Asks for an export's size and abilities.
    pub(crate) const INFO: u32 = 6;
    /// The same as `INFO`, and then begins transmission.
    pub(crate) const GO: u32 = 7;
    /// Asks for structured replies.
    pub(crate) const STRUCTURED_REPLY: u32 = 8;
    /// Asks for the metadata contexts that block status can use.
    pub(crate) const LIST_META_CONTEXT: u32 = 9;
    /// Chooses metadata contexts.
    pub(crate) const SET_META_CONTEXT: u32 = 10;
}

/// Types of replies to options.
pub(crate) mod answer {
    /// The option is done.
    pub(crate) const ACK: u32 = 1;
    /// An export.
    pub(crate) const SERVER: u32 = 2;
    /// A piece of information about an export.
    pub(crate) const INFO: u32 = 3;
    /// A metadata context.
    pub(crate) const META_CONTEXT: u32 = 4;
    /// The option is not known.
    pub(crate) const UNSUPPORTED: u32 = 0x8000_0001;
    /// The option contradicts the protocol.
    pub(crate) const INVALID: u32 = 0x8000_0003;
    /// The export does not exist.
    pub(crate) const UNKNOWN: u32 = 0x8000_0006;
    /// The option is too long.
    pub(crate) const TOO_BIG: u32 = 0x8000_0009;
}

/// Types of information about an export.
pub(crate) mod info {
    /// Size and transmission flags.
    pub(crate) const EXPORT: u16 = 0;
    /// The name.
    pub(crate) const NAME: u16 = 1;
    /// A description for people.
    pub(crate) const DESCRIPTION: u16 = 2;
    /// Minimum, preferred and maximum length of a request.
    pub(crate) const BLOCK_SIZE: u16 = 3;
}

/// Flags of an export.
pub(crate) mod export {
    /// The flags are valid.
    pub(crate) const HAS_FLAGS: u16 = 1;
    /// The export is read-only.
    pub(crate) const READ_ONLY: u16 = 1 << 1;
    /// Flush is served.
    pub(crate) const FLUSH: u16 = 1 << 2;
    /// FUA is served.
    pub(crate) const FUA: u16 = 1 << 3;
    /// Trim is served.
    pub(crate) const TRIM: u16 = 1 << 5;
    /// Write zeroes is served.
    pub(crate) const WRITE_ZEROES: u16 = 1 << 6;
    /// A read may ask for a reply in one piece.
    pub(crate) const ONE_PIECE: u16 = 1 << 7;
    /// A flush on one connection holds for all connections.
    pub(crate) const SEVERAL_CONNECTIONS: u16 = 1 << 8;
    /// A client may ask for fast zeroing.
    pub(crate) const FAST_ZERO: u16 = 1 << 11;
}

/// Types of requests.
pub(crate) mod command {
    /// Read.
    pub(crate) const READ: u16 = 0;
    /// Write.
    pub(crate) const WRITE: u16 = 1;
    /// Ends the connection.
    pub(crate) const DISCONNECT: u16 = 2;
    /// Makes all earlier writes durable.
    pub(crate) const FLUSH: u16 = 3;
    /// Trims.
    pub(crate) const TRIM: u16 = 4;
    /// Sets bytes to zero.
    pub(crate) const WRITE_ZEROES: u16 = 6;
    /// Asks which parts are holes.
    pub(crate) const BLOCK_STATUS: u16 = 7;
}

/// Flags of requests.
pub(crate) mod flag {
    /// The change must be durable before the reply.
    pub(crate) const FUA: u16 = 1;
    /// Zeroes must take space.
    pub(crate) const NO_HOLE: u16 = 1 << 1;
    /// The reply to a read must be in one piece.
    pub(crate) const ONE_PIECE: u16 = 1 << 2;
    /// The reply must have only one extent.
    pub(crate) const ONE_EXTENT: u16 = 1 << 3;
    /// Zeroes must be fast, or fail.
    pub(crate) const FAST_ZERO: u16 = 1 << 4;
}

/// Types of chunks of a structured reply.
pub(crate) mod chunk {
    /// Bytes.
    pub(crate) const DATA: u16 = 1;
    /// Zeroes.
    pub(crate) const HOLE: u16 = 2;
    /// Extents.
    pub(crate) const BLOCK_STATUS: u16 = 5;
    /// An error.
    pub(crate) const ERROR: u16 = 0x8001;
    /// The flag of the last chunk.
    pub(crate) const DONE: u16 = 1;
}

/// Reads a number of two bytes.
pub(crate) fn read_u16(from: &mut dyn Read) -> io::Result<u16> {
    let mut bytes = [0; 2];
    from.read_exact(&mut bytes)?;
    Ok(u16::from_be_bytes(bytes))
}

/// Reads a number of four bytes.
pub(crate) fn read_u32(from: &mut dyn Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes)?;
    Ok(u32::from_be_bytes(bytes))
}

/// Reads a number of eight bytes.
pub(crate) fn read_u64(from: &mut dyn Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    Ok(u64::from_be_bytes(bytes))
}
