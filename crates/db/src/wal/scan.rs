//! The batches that lie on a device.

use std::collections::BTreeMap;

use frostline_zone::{AlignedBuf, Device, ZoneInfo, ZoneState};

use super::batch::{BLOCK, HEAD, Head, MOST_BLOCKS, VERSION};
use super::error::WalError;

/// A batch as it was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScannedBatch {
    /// Its head.
    pub head: Head,
    /// True if the sum of its payload is right.
    pub is_whole: bool,
}

/// All batches of the log `id` that the zones hold, zone by zone.
///
/// Behind a batch lies the next one, or what a crash tore; behind that, a batch of a later opening
/// may begin at any block. So a search that finds no batch tries the next block. A record may hold
/// a copy of a batch, but no payload lies where its head says that it does.
pub(super) fn scan(
    device: &dyn Device,
    id: u64,
    zones: &[ZoneInfo],
) -> Result<Vec<ScannedBatch>, WalError> {
    let mut found = Vec::new();
    for (zone, info) in (0..).zip(zones) {
        if matches!(info.state, ZoneState::Offline | ZoneState::Conventional) {
            continue;
        }
        let blocks = info.write_pointer / BLOCK;
        let mut window = BlockWindow::new(device, zone, blocks);
        let mut at = 0;
        while at < blocks {
            let head = Head::decode(window.read(at, 1)?);
            let here = |head: &Head| (head.log, head.zone, u64::from(head.block)) == (id, zone, at);
            let Some(head) = head.filter(here) else {
                at += 1;
                continue;
            };
            if head.version != VERSION {
                return Err(WalError::Newer { found: head.version, known: VERSION });
            }
            let is_whole = at + head.blocks() <= blocks && window.payload(&head)?.is_some();
            found.push(ScannedBatch { head, is_whole });
            at += if is_whole { head.blocks() } else { 1 };
        }
    }
    Ok(found)
}

/// The logs that zones from `first` on hold, by number, each with its first zone. A log without a
/// zone that begins with a batch is not found.
pub fn logs_on(device: &dyn Device, first: u32) -> Result<BTreeMap<u64, u32>, WalError> {
    let mut logs = BTreeMap::new();
    let zones = device.report(0, device.geometry().zones)?;
    for (zone, info) in (0..).zip(&zones).skip(first as usize) {
        if matches!(info.state, ZoneState::Offline | ZoneState::Conventional) {
            continue;
        }
        let blocks = info.write_pointer / BLOCK;
        let mut window = BlockWindow::new(device, zone, blocks.min(1));
        let head = if blocks > 0 { Head::decode(window.read(0, 1)?) } else { None };
        let begin = head.and_then(|head| Some((head.log, zone.checked_sub(head.zone)?)));
        logs.extend(begin.filter(|&(_, begin)| begin >= first));
    }
    Ok(logs)
}

/// A part of a zone in memory, so that it is read in long pieces.
pub(super) struct BlockWindow<'a> {
    device: &'a dyn Device,
    zone: u32,
    /// Blocks of the zone that can be read.
    blocks: u64,
    buffer: AlignedBuf,
    /// The blocks in the buffer.
    from: u64,
    to: u64,
}

impl<'a> BlockWindow<'a> {
    /// An empty window on a zone with `blocks` written blocks.
    pub(super) fn new(device: &'a dyn Device, zone: u32, blocks: u64) -> Self {
        let buffer = AlignedBuf::zeroed((blocks.min(MOST_BLOCKS) * BLOCK) as usize);
        BlockWindow { device, zone, blocks, buffer, from: 0, to: 0 }
    }

    /// The zone.
    pub(super) fn zone(&self) -> u32 {
        self.zone
    }

    /// Blocks that are written, at most [`MOST_BLOCKS`] of them.
    fn read(&mut self, at: u64, blocks: u64) -> Result<&[u8], WalError> {
        if at < self.from || at + blocks > self.to {
            let to = self.blocks.min(at + MOST_BLOCKS);
            let bytes = &mut self.buffer[..((to - at) * BLOCK) as usize];
            (self.from, self.to) = (at, at);
            self.device.read(self.zone, at * BLOCK, bytes)?;
            self.to = to;
        }
        let first = ((at - self.from) * BLOCK) as usize;
        Ok(&self.buffer[first..first + (blocks * BLOCK) as usize])
    }

    /// The payload of a batch, as it is stored; none if it is damaged.
    pub(super) fn payload(&mut self, head: &Head) -> Result<Option<&[u8]>, WalError> {
        if u64::from(head.block) + head.blocks() > self.blocks {
            return Ok(None);
        }
        let bytes = self.read(u64::from(head.block), head.blocks())?;
        let payload = &bytes[HEAD..HEAD + head.stored as usize];
        Ok((crc32c::crc32c(payload) == head.sum).then_some(payload))
    }
}
