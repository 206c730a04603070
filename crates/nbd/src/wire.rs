//! Numbers of the protocol, and functions to read them: all are big-endian.

use std::io::{self, Read};

/// The server's first word.
pub const HELLO: u64 = 0x4e42_444d_4147_4943;
/// The word before the server's flags, and before each option of a client.
pub const OPTION: u64 = 0x4948_4156_454f_5054;
/// The word before each reply to an option.
pub const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;
/// The word before each request.
pub const REQUEST: u32 = 0x2560_9513;
/// The word before a simple reply.
pub const SIMPLE_REPLY: u32 = 0x6744_6698;
/// The word before each chunk of a structured reply.
pub const CHUNK: u32 = 0x668e_33ef;

/// The longest read or write that is served, in bytes: the limit that clients assume when no limit
/// is advertised.
pub const LONGEST_REQUEST: u32 = 32 << 20;

/// The longest option that is read, in bytes.
pub const LONGEST_OPTION: u32 = 64 << 10;

/// Flags of the handshake, from both sides.
pub mod handshake {
    /// The side knows the options of the fixed newstyle protocol.
    pub const FIXED_NEWSTYLE: u16 = 1;
    /// No zeroes follow the reply to an export's name.
    pub const NO_ZEROES: u16 = 2;
}

/// Options of a client.
pub mod option {
    /// Chooses an export, without error replies.
    pub const EXPORT_NAME: u32 = 1;
    /// Ends the connection.
    pub const ABORT: u32 = 2;
    /// Asks for a list of exports.
    pub const LIST: u32 = 3;
    /// Asks for an export's size and abilities.
    pub const INFO: u32 = 6;
    /// The same as `INFO`, and then begins transmission.
    pub const GO: u32 = 7;
    /// Asks for structured replies.
    pub const STRUCTURED_REPLY: u32 = 8;
    /// Asks for the metadata contexts that block status can use.
    pub const LIST_META_CONTEXT: u32 = 9;
    /// Chooses metadata contexts.
    pub const SET_META_CONTEXT: u32 = 10;
}

/// Types of replies to options.
pub mod answer {
    /// The option is done.
    pub const ACK: u32 = 1;
    /// An export.
    pub const SERVER: u32 = 2;
    /// A piece of information about an export.
    pub const INFO: u32 = 3;
    /// A metadata context.
    pub const META_CONTEXT: u32 = 4;
    /// The option is not known.
    pub const UNSUPPORTED: u32 = 0x8000_0001;
    /// The option contradicts the protocol.
    pub const INVALID: u32 = 0x8000_0003;
    /// The export does not exist.
    pub const UNKNOWN: u32 = 0x8000_0006;
    /// The option is too long.
    pub const TOO_BIG: u32 = 0x8000_0009;
}

/// Types of information about an export.
pub mod info {
    /// Size and transmission flags.
    pub const EXPORT: u16 = 0;
    /// The name.
    pub const NAME: u16 = 1;
    /// A description for people.
    pub const DESCRIPTION: u16 = 2;
    /// Minimum, preferred and maximum length of a request.
    pub const BLOCK_SIZE: u16 = 3;
}

/// Flags of an export.
pub mod export {
    /// The flags are valid.
    pub const HAS_FLAGS: u16 = 1;
    /// The export is read-only.
    pub const READ_ONLY: u16 = 1 << 1;
    /// Flush is served.
    pub const FLUSH: u16 = 1 << 2;
    /// FUA is served.
    pub const FUA: u16 = 1 << 3;
    /// Trim is served.
    pub const TRIM: u16 = 1 << 5;
    /// Write zeroes is served.
    pub const WRITE_ZEROES: u16 = 1 << 6;
    /// A read may ask for a reply in one piece.
    pub const ONE_PIECE: u16 = 1 << 7;
    /// A flush on one connection holds for all connections.
    pub const SEVERAL_CONNECTIONS: u16 = 1 << 8;
    /// A client may ask for fast zeroing.
    pub const FAST_ZERO: u16 = 1 << 11;
}

/// Types of requests.
pub mod command {
    /// Read.
    pub const READ: u16 = 0;
    /// Write.
    pub const WRITE: u16 = 1;
    /// Ends the connection.
    pub const DISCONNECT: u16 = 2;
    /// Makes all earlier writes durable.
    pub const FLUSH: u16 = 3;
    /// Trims.
    pub const TRIM: u16 = 4;
    /// Sets bytes to zero.
    pub const WRITE_ZEROES: u16 = 6;
    /// Asks which parts are holes.
    pub const BLOCK_STATUS: u16 = 7;
}

/// Flags of requests.
pub mod flag {
    /// The change must be durable before the reply.
    pub const FUA: u16 = 1;
    /// Zeroes must take space.
    pub const NO_HOLE: u16 = 1 << 1;
    /// The reply to a read must be in one piece.
    pub const ONE_PIECE: u16 = 1 << 2;
    /// The reply must have only one extent.
    pub const ONE_EXTENT: u16 = 1 << 3;
    /// Zeroes must be fast, or fail.
    pub const FAST_ZERO: u16 = 1 << 4;
}

/// Types of chunks of a structured reply.
pub mod chunk {
    /// Bytes.
    pub const DATA: u16 = 1;
    /// Zeroes.
    pub const HOLE: u16 = 2;
    /// Extents.
    pub const BLOCK_STATUS: u16 = 5;
    /// An error.
    pub const ERROR: u16 = 0x8001;
    /// The flag of the last chunk.
    pub const DONE: u16 = 1;
}

/// Reads a number of two bytes.
pub fn read_u16(from: &mut dyn Read) -> io::Result<u16> {
    let mut bytes = [0; 2];
    from.read_exact(&mut bytes)?;
    Ok(u16::from_be_bytes(bytes))
}

/// Reads a number of four bytes.
pub fn read_u32(from: &mut dyn Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    from.read_exact(&mut bytes)?;
    Ok(u32::from_be_bytes(bytes))
}

/// Reads a number of eight bytes.
pub fn read_u64(from: &mut dyn Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    Ok(u64::from_be_bytes(bytes))
}
