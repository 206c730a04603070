//! Numbers in the log: seven bits in each byte, the lowest first; bytes with the highest bit are
//! followed by another.

/// Bytes of a number below 2^35 at most.
pub(crate) const MOST_BYTES: usize = 5;

/// Appends a number.
pub(crate) fn put_number(mut number: usize, into: &mut Vec<u8>) {
    while number >= 0x80 {
        into.push(number as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

/// Bytes of a number.
pub(crate) fn number_bytes(number: usize) -> usize {
    (number | 1).ilog2() as usize / 7 + 1
}

/// Reads a number below 2^35.
pub(crate) fn take_number(bytes: &mut &[u8]) -> Option<usize> {
    let mut number = 0;
    for shift in (0..7 * MOST_BYTES).step_by(7) {
        let [byte] = take::<1>(bytes)?;
        number |= usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Takes so many bytes off the beginning.
pub(crate) fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_they_were_written() {
        for number in [0, 1, 0x7f, 0x80, 0x3fff, 0x4000, u32::MAX as usize, (1 << 35) - 1] {
            let mut bytes = Vec::new();
            put_number(number, &mut bytes);
            assert_eq!(bytes.len(), number_bytes(number));
            bytes.push(7);
            let mut rest = &bytes[..];
            assert_eq!((take_number(&mut rest), rest), (Some(number), &[7][..]));
            let mut part = &bytes[..bytes.len() - 2];
            assert_eq!(take_number(&mut part), None);
        }
        assert_eq!(take_number(&mut &[0xff; 8][..]), None);
    }
}
