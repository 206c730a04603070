//! Values that are too long for a page, in pieces: records of a tree of their own. The value's
//! record has its number and its length in their place.

use crate::DbError;
use crate::layout::OVERFLOW_TREE;

/// Bytes of a long value that are kept together: three pieces fill a page.
pub const PIECE: usize = 1240;

/// The longest value, in bytes. A transaction must also fit into the log.
pub const LONGEST_VALUE: usize = 1 << 30;

/// The key of a piece: the number of its value, and its place in it.
pub fn piece_key(id: u64, n: usize) -> [u8; 12] {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&id.to_be_bytes());
    key[8..].copy_from_slice(&(n as u32).to_be_bytes());
    key
}

/// The reference to a long value, in place of the value: number (u64) and length (u32).
pub fn reference_to(id: u64, len: usize) -> [u8; 12] {
    let mut whole = [0; 12];
    whole[..8].copy_from_slice(&id.to_le_bytes());
    whole[8..].copy_from_slice(&(len as u32).to_le_bytes());
    whole
}

/// The number and the length of a long value.
pub fn parse_overflow(value: &[u8]) -> Result<(u64, usize), DbError> {
    let wrong =
        || DbError::Page { page: OVERFLOW_TREE, what: "is not where pieces are said to be" };
    let (id, len) = value.split_first_chunk::<8>().ok_or_else(wrong)?;
    let len = u32::from_le_bytes(len.try_into().map_err(|_| wrong())?) as usize;
    if len > LONGEST_VALUE {
        return Err(wrong());
    }
    Ok((u64::from_le_bytes(*id), len))
}

/// The number of the long value that a piece belongs to, and its place in it.
pub fn piece_number(key: &[u8]) -> Option<(u64, usize)> {
    let (number, n) = key.split_first_chunk::<8>()?;
    let n = u32::from_be_bytes(n.try_into().ok()?);
    Some((u64::from_be_bytes(*number), n as usize))
}

/// The number behind that of a piece.
pub fn number_behind(key: &[u8]) -> u64 {
    key.first_chunk::<8>().map_or(0, |id| u64::from_be_bytes(*id).saturating_add(1))
}
