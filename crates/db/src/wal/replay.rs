//! Reads the records of a log that was found.

use frostline_zone::Device;

use super::batch::{BLOCK, Head, RECORD, record_at};
use super::chain::{Chain, LogExtent};
use super::error::WalError;
use super::lsn::Lsn;
use super::payload::unpack;
use super::scan::BlockWindow;

/// A function that replay calls with the position, kind and payload of each record.
pub type Visit<'a, E> = dyn FnMut(Lsn, u8, &[u8]) -> Result<(), E> + 'a;

/// Calls `visit` for every record that ends behind the chain's `keep_from` and begins in the batch
/// `from` of it or behind, in order; and `progress` after each batch with how many bytes of how
/// many are read. A record begins in that batch. Batches without a part of a record of these
/// `kinds`, given by their bits, are not read.
pub(super) fn replay<E: From<WalError>>(
    device: &dyn Device,
    chain: &Chain,
    from: usize,
    kinds: u32,
    visit: &mut Visit<'_, E>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), E> {
    let parts = &chain.parts[from..];
    let begin = parts.first().and_then(|part| part.head.first_record()).unwrap_or(0);
    let mut records = Records { at: begin, end: chain.end, carry: Vec::new() };
    let mut visit = |lsn, kind, payload: &[u8]| match lsn > chain.keep_from {
        true => visit(lsn, kind, payload),
        false => Ok(()),
    };
    let (mut window, mut room): (Option<BlockWindow<'_>>, _) = (None, Vec::new());
    let mut is_behind_gap = false;
    for &LogExtent { head, end } in parts {
        if head.has_none_of(kinds) {
            is_behind_gap = true;
            continue;
        }
        if is_behind_gap {
            // A record that began before is of another kind: the batch before was left out.
            let Some(first) = head.first_record().filter(|&first| first < end) else { continue };
            (records.at, is_behind_gap) = (first, false);
            records.carry.clear();
        }
        let window = match &mut window {
            Some(window) if window.zone() == head.zone => window,
            other => {
                let blocks = device.zone(head.zone).map_err(WalError::from)?.write_pointer / BLOCK;
                other.insert(BlockWindow::new(device, head.zone, blocks))
            }
        };
        let why = "the batch is not what was written";
        let payload = window.payload(&head)?.ok_or_else(|| head.damaged(records.at, why))?;
        let stream = unpack(&head, payload, &mut room)?;
        let from = records.next().saturating_sub(head.offset).min(stream.len() as u64);
        let to = end.saturating_sub(head.offset).max(from);
        let bytes = &stream[from as usize..to as usize];
        records.read(bytes, &head, &mut visit)?;
        progress(records.at.saturating_sub(begin), chain.end - begin);
    }
    match is_behind_gap || records.at == chain.end {
        true => Ok(()),
        false => Err(chain.last.damaged(records.at, "its last record is not whole").into()),
    }
}

/// Cuts a stream into records.
struct Records {
    /// The position of the next record.
    at: Lsn,
    /// The end of the stream.
    end: Lsn,
    /// The beginning of a record that goes on in the next part.
    carry: Vec<u8>,
}

impl Records {
    /// The position of the next part.
    fn next(&self) -> Lsn {
        self.at + self.carry.len() as u64
    }

    /// Reads a part of the stream, which lies in the batch `head`.
    fn read<E: From<WalError>>(
        &mut self,
        mut bytes: &[u8],
        head: &Head,
        visit: &mut impl FnMut(Lsn, u8, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        while !bytes.is_empty() {
            let mut carry = std::mem::take(&mut self.carry);
            // Whole in this part, as nearly all are: read where it lies.
            let is_carried = !carry.is_empty() || self.next_in(bytes, head)?.2 > bytes.len();
            if is_carried {
                bytes = self.complete(&mut carry, bytes, head)?;
            }
            let record = if is_carried { &carry[..] } else { bytes };
            let (kind, begin, length) = self.next_in(record, head)?;
            if length > record.len() {
                self.carry = carry;
                return Ok(());
            }
            let end = self.at + length as u64;
            visit(end, kind, &record[begin..length])?;
            self.at = end;
            if is_carried {
                carry.clear();
                self.carry = carry;
            } else {
                bytes = &bytes[length..];
            }
        }
        Ok(())
    }

    /// The kind of the record that begins so, where its payload begins, and its bytes; if too little
    /// of it is there to say, more bytes than that.
    fn next_in(&self, bytes: &[u8], head: &Head) -> Result<(u8, usize, usize), WalError> {
        let found = match record_at(bytes) {
            None if bytes.len() < RECORD => return Ok((0, 0, bytes.len() + 1)),
            found => found.filter(|&(.., end)| end as u64 <= self.end - self.at),
        };
        found.ok_or_else(|| head.damaged(self.at, "a record is longer than the log"))
    }

    /// Completes the beginning of a record from a part, as far as it goes, and returns the rest of
    /// the part.
    fn complete<'a>(
        &self,
        carry: &mut Vec<u8>,
        mut bytes: &'a [u8],
        head: &Head,
    ) -> Result<&'a [u8], WalError> {
        loop {
            let missing = self.next_in(carry, head)?.2.saturating_sub(carry.len());
            let (more, rest) = bytes.split_at(bytes.len().min(missing));
            carry.extend_from_slice(more);
            bytes = rest;
            if more.is_empty() {
                return Ok(bytes);
            }
        }
    }
}
