//! Files of other kinds, recognised by their first bytes, so that they are not read as page
//! numbers.
//!
//! Page numbers may begin with any bytes. So a signature has at least four bytes, or a structure.

/// A kind of file whose files have the same bytes at one place.
struct Signature {
    /// The offset of the bytes.
    at: usize,
    bytes: &'static [u8],
    kind: ForeignKind,
}

/// A kind of file, and a hint for its user.
pub(crate) type ForeignKind = (&'static str, &'static str);

const UNPACK: &str = "unpack it first; plain, zstd and gzip files are read";
const CONVERT: &str = "convert it to a format of docs/formats.md first";
const NO_TRACE: &str = "is this the right file? if it holds page numbers, --format u32 reads them";

const fn signature(at: usize, bytes: &'static [u8], kind: ForeignKind) -> Signature {
    Signature { at, bytes, kind }
}

const SIGNATURES: [Signature; 22] = [
    signature(0, b"\x07\x74\x61\x65", BLKTRACE),
    signature(0, b"\xf0\xde\xbc\x9a\x78\x56\x34\x12", LCS),
    signature(0, b"\xfd7zXZ\0", ("compressed with xz", UNPACK)),
    signature(4, b"1AY&SY", ("compressed with bzip2", UNPACK)),
    signature(0, b"\x04\x22\x4d\x18", ("compressed with lz4", UNPACK)),
    signature(0, b"PK\x03\x04", ("a zip archive", UNPACK)),
    signature(0, b"7z\xbc\xaf\x27\x1c", ("a 7z archive", UNPACK)),
    signature(0, b"Rar!\x1a\x07", ("a rar archive", UNPACK)),
    signature(257, b"ustar", ("a tar archive", UNPACK)),
    signature(0, b"SQLite format 3\0", ("an SQLite database", CONVERT)),
    signature(0, b"ARROW1\0\0", ("an Arrow file", CONVERT)),
    signature(0, b"\x89HDF\r\n\x1a\n", ("an HDF5 file", CONVERT)),
    signature(0, b"\x93NUMPY", ("a NumPy array", CONVERT)),
    signature(0, b"Obj\x01", ("an Avro file", CONVERT)),
    signature(0, b"PERFILE2", ("a recording of perf", CONVERT)),
    signature(0, b"\x17\x08\x44tracing", ("a recording of trace-cmd", CONVERT)),
    signature(0, b"\x7fELF", ("a program (ELF)", NO_TRACE)),
    signature(0, b"\x89PNG\r\n\x1a\n", ("a picture (PNG)", NO_TRACE)),
    signature(0, b"\xff\xd8\xff\xe0", ("a picture (JPEG)", NO_TRACE)),
    signature(0, b"\xff\xd8\xff\xe1", ("a picture (JPEG)", NO_TRACE)),
    signature(0, b"GIF8", ("a picture (GIF)", NO_TRACE)),
    signature(0, b"%PDF-", ("a PDF document", NO_TRACE)),
];

const BLKTRACE: ForeignKind =
    ("a binary recording of blktrace", "blkparse -i makes it text, which is read");
const LCS: ForeignKind = (
    "an lcs trace of libCacheSim",
    "libCacheSim's traceConv makes it oracleGeneral, which is read",
);
const VSCSI: ForeignKind = ("a vscsi trace", CONVERT);
const UTF_16: ForeignKind =
    ("text in UTF-16", "iconv -f UTF-16 -t UTF-8 makes it text that is read");

/// The kind of a file with this head; `None` if it may be a trace.
pub(crate) fn kind_of(head: &[u8]) -> Option<ForeignKind> {
    let begins = |s: &&Signature| head.get(s.at..).is_some_and(|rest| rest.starts_with(s.bytes));
    let known = SIGNATURES.iter().find(begins).map(|signature| signature.kind);
    known.or_else(|| is_vscsi(head).then_some(VSCSI)).or_else(|| is_utf_16(head).then_some(UTF_16))
}

/// True if all records in the head have a version and a command of VMware's vscsi traces.
fn is_vscsi(head: &[u8]) -> bool {
    const RECORDS: usize = 64;
    let all = |size: usize, command: usize, version: u8| {
        let mut records = head.chunks_exact(size).take(RECORDS);
        // The version is the high byte of the second number, the command a byte in the first.
        let fits = |r: &[u8]| r[command + 3] == version && r[command + 1] == 0;
        records.len() >= 4 && records.all(fits)
    };
    all(32, 12, 1) || all(40, 0, 2)
}

/// True if nearly all numbers of 16 bits are characters of ASCII.
fn is_utf_16(head: &[u8]) -> bool {
    const LOOKED_AT: usize = 4096;
    let (units, _) = head[..head.len().min(LOOKED_AT)].as_chunks::<2>();
    let characters = |of: fn([u8; 2]) -> u16| {
        let is_character = |unit: u16| {
            u8::try_from(unit).is_ok_and(|b| b.is_ascii_graphic() || b.is_ascii_whitespace())
        };
        units.iter().filter(|unit| is_character(of(**unit))).count()
    };
    let most = characters(u16::from_le_bytes).max(characters(u16::from_be_bytes));
    units.len() >= 8 && most * 10 >= units.len() * 9
}
