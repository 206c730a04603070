//! The zones of a log, and how batches get into them.
//!
//! One zone is written at a time, up to its last block, so that no more than one is ever active;
//! then the one that has been empty longest, of those that the log has used before: so it takes no
//! more zones than it ever needed at a time, and one, however many it may have. Zones are reset
//! once no record in them is needed and a batch that says so is durable.
//!
//! After an opening the log goes on at the write pointer of its last zone, behind the blocks that a
//! crash tore there: those blocks can't be written again, and a fresh zone for each opening would
//! leave none to a log that crashes a few times before its owner can release records. This is
//! safe (chain.rs): a torn batch has the same number as the batch that is written behind it, and an
//! older epoch.

use std::collections::VecDeque;
use std::sync::Arc;

use frostline_store::Compression;
use frostline_store::compression::Compressor;
use frostline_zone::{AlignedBuf, Device, DeviceError, ZoneInfo, ZoneState};

use super::batch::Packing;
use super::batch::{BLOCK, HEAD, Head, MOST_BLOCKS, NONE, VERSION, kind_bit, record_at};
use super::chain::Chain;
use super::error::WalError;
use super::lsn::Lsn;
use super::round::Round;

/// Blocks of the zone that is written, or a share of it, from which on it is left when a log is
/// closed of which nothing is needed.
const WORTH_LEAVING: u64 = 32;

/// A position in the stream, and the blocks of the log that are in use before it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mark {
    /// The position.
    pub at: Lsn,
    /// The blocks.
    pub blocks: u64,
}

/// The end of a log.
pub(super) struct Writer {
    device: Arc<dyn Device>,
    id: u64,
    epoch: u64,
    epoch_first: u64,
    /// Number of the next batch.
    number: u64,
    /// Number of the last batch that is durable.
    durable: u64,
    /// The end of the last record that is whole on the device.
    end: Lsn,
    /// The first end of a record that is not before the end of what is on the device: behind `end`
    /// if that is in the middle of a record.
    next: Lsn,
    /// The kind of the record that ends there.
    kind: u8,
    /// Zones that hold records, oldest first. The last is written.
    held: VecDeque<HeldZone>,
    /// Next block of the last of them.
    at: u64,
    /// Empty zones and their blocks, in the order in which they are written. The first is named in
    /// the batches before it, so none comes before it any more.
    empty: VecDeque<(u32, u64)>,
    /// The last of them, which were not written since the opening.
    unused: usize,
    staging: AlignedBuf,
    compressor: Compressor,
    /// Zones that the log does without, as they could not be reset.
    pub zones_lost: u64,
}

/// The part of a round that was written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written {
    /// Blocks of the device.
    pub blocks: u64,
    /// Blocks that compression saved.
    pub blocks_saved: u64,
    /// Bytes of the round. The others begin the next one.
    pub bytes: usize,
    /// The end of the last record that is whole on the device.
    pub end: Lsn,
}

/// A zone that holds batches of the log.
struct HeldZone {
    zone: u32,
    /// Blocks it can hold.
    blocks: u64,
    /// The position of the first record that begins in it.
    first: Option<Lsn>,
    /// False if it can't be reset.
    returns: bool,
}

impl Writer {
    /// The end of a new log, whose zones are empty.
    pub(super) fn begin(
        device: Arc<dyn Device>,
        id: u64,
        zones: &[ZoneInfo],
        compression: Compression,
    ) -> Writer {
        let empty = (0..).zip(zones).filter(|(_, info)| info.state == ZoneState::Empty);
        let empty: VecDeque<_> = empty.map(|(zone, info)| (zone, info.capacity / BLOCK)).collect();
        Writer {
            device,
            id,
            epoch: 1,
            epoch_first: 1,
            number: 1,
            durable: 0,
            end: 0,
            next: 0,
            kind: 0,
            held: VecDeque::new(),
            at: 0,
            unused: empty.len(),
            empty,
            staging: AlignedBuf::zeroed((MOST_BLOCKS * BLOCK) as usize),
            compressor: Compressor::new(compression),
            zones_lost: 0,
        }
    }

    /// The end of a log that was found, `zones` being as they are. Zones without a needed batch
    /// are reset.
    pub(super) fn resume(
        device: Arc<dyn Device>,
        id: u64,
        chain: &Chain,
        zones: &[ZoneInfo],
        compression: Compression,
    ) -> Result<Writer, WalError> {
        let number = chain.last.number + 1;
        let held = held(chain, zones);
        let (epoch, epoch_first, durable) = (chain.epoch, number, number - 1);
        let mut writer = Writer {
            epoch,
            epoch_first,
            number,
            durable,
            end: chain.end,
            next: chain.end,
            held,
            ..Writer::begin(device, id, &[], compression)
        };
        // The records that were found are trusted from now on, so they must be durable; so must the
        // batch that says which records are not needed, before those are overwritten.
        writer.device.flush()?;
        writer.empty_the_others(zones, chain.last.next_zone)?;
        writer.finish_held_zones(zones)?;
        // No reset is undone once there are batches of this epoch.
        writer.device.flush()?;
        Ok(writer)
    }

    /// Resets the zones without a needed batch. The one that the last batch named is written first,
    /// then those of low numbers: zones that were never used are behind them, as they were for
    /// earlier openings.
    fn empty_the_others(&mut self, zones: &[ZoneInfo], next: u32) -> Result<(), WalError> {
        let (named, others): (Vec<_>, Vec<_>) =
            (0..).zip(zones).partition(|&(zone, _)| zone == next);
        for (zone, info) in named.into_iter().chain(others) {
            if self.held.iter().any(|held| held.zone == zone) {
                continue;
            }
            let blocks = info.capacity / BLOCK;
            match info.state {
                ZoneState::Empty => self.empty.push_back((zone, blocks)),
                ZoneState::ReadOnly | ZoneState::Offline | ZoneState::Conventional => {}
                ZoneState::Full => self.empty(zone, blocks)?,
                // The log can't do without: it would stay active beside the one that is written.
                _ => {
                    self.device.reset(zone)?;
                    self.empty.push_back((zone, blocks));
                }
            }
        }
        self.unused = self.empty.len();
        Ok(())
    }

    /// Finds the zone to go on in, and finishes the other active zones.
    fn finish_held_zones(&mut self, zones: &[ZoneInfo]) -> Result<(), WalError> {
        let last = self.held.len().saturating_sub(1);
        for (n, held) in self.held.iter().enumerate() {
            let info = zones[held.zone as usize];
            let next = info.write_pointer / BLOCK;
            let fits = info.write_pointer.is_multiple_of(BLOCK) && next < held.blocks;
            if n == last {
                self.at = if fits && info.state.is_writable() { next } else { held.blocks };
            }
            if info.state.is_active() && !(n == last && fits) {
                self.device.finish(held.zone)?;
            }
        }
        Ok(())
    }

    /// Blocks that can still be written.
    pub(super) fn room(&self) -> u64 {
        self.rest() + self.empty.iter().map(|(_, blocks)| blocks).sum::<u64>()
    }

    /// Blocks of all zones that can be written, now or when they are reset.
    pub(super) fn blocks(&self) -> u64 {
        let held = self.held.iter().filter(|held| held.returns).map(|held| held.blocks);
        held.sum::<u64>() + self.empty.iter().map(|(_, blocks)| blocks).sum::<u64>()
    }

    /// Zones that can be written, now or when they are reset.
    pub(super) fn zones(&self) -> usize {
        self.held.iter().filter(|held| held.returns).count() + self.empty.len()
    }

    /// Blocks left in the zone that is written.
    fn rest(&self) -> u64 {
        self.held.back().map_or(0, |held| held.blocks.saturating_sub(self.at))
    }

    /// Ends the zone that is written, if another one is empty and it holds enough to be worth it:
    /// the next batch begins that one, so that this one can be reset once none of its records is
    /// needed.
    pub(super) fn leave_zone(&mut self) -> Result<(), WalError> {
        let Some(held) = self.held.back() else { return Ok(()) };
        let least = WORTH_LEAVING.max(held.blocks / 64).min(held.blocks / 2);
        if self.at >= least && self.at < held.blocks && !self.empty.is_empty() {
            self.device.finish(held.zone)?;
            self.at = held.blocks;
        }
        Ok(())
    }

    /// Writes the records and makes them durable, all or those up to the end of a whole block, then
    /// returns what was written. An empty round writes a batch as well, for the sake of its head.
    pub(super) fn write(&mut self, round: &Round<'_>) -> Result<Written, WalError> {
        let begins = self.next.saturating_sub(round.offset) as usize;
        let mut boundaries = Boundaries { bytes: round.bytes, at: begins, kind: self.kind };
        let (mut from, mut blocks, mut blocks_saved, mut end) = (0, 0, 0, self.end);
        loop {
            let room = self.place()?.min(MOST_BLOCKS);
            let part = round.part(from, room, &self.compressor);
            let (first, last, kinds) = boundaries.between(from, part.to);
            let packing = match part.short {
                Some(_) => self.compressor.compression.into(),
                None => Packing::Plain,
            };
            let payload = part.short.as_deref().unwrap_or(&round.bytes[from..part.to]);
            let head = Head {
                packing,
                kinds,
                stored: payload.len() as u32,
                bytes: (part.to - from) as u32,
                first,
                last,
                offset: round.offset + from as u64,
                keep_from: round.keep_from,
                ..self.head()
            };
            self.append(head, payload)?;
            blocks += head.blocks();
            blocks_saved += head.blocks_saved();
            if last != NONE {
                end = head.offset + u64::from(last);
            }
            from = part.to;
            if part.is_last {
                break;
            }
        }
        self.device.flush()?;
        assert!(self.end <= end, "the log ends before it did");
        self.durable = self.number - 1;
        self.end = end;
        (self.next, self.kind) = (round.offset + boundaries.at as u64, boundaries.kind);
        Ok(Written { blocks, blocks_saved, bytes: from, end })
    }

    /// The fields that all heads have in common.
    fn head(&self) -> Head {
        Head {
            version: VERSION,
            log: self.id,
            epoch: self.epoch,
            epoch_first: self.epoch_first,
            number: self.number,
            durable: self.durable,
            zone: self.held.back().map_or(NONE, |held| held.zone),
            block: self.at as u32,
            next_zone: self.empty.front().map_or(NONE, |(zone, _)| *zone),
            ..Head::default()
        }
    }

    /// Ensures that the open zone has room, and returns how much, in blocks.
    fn place(&mut self) -> Result<u64, WalError> {
        while self.rest() == 0 {
            let Some((zone, blocks)) = self.empty.pop_front() else {
                let capacity = self.blocks() * BLOCK;
                return Err(WalError::Full { used: capacity, capacity });
            };
            // It may have failed since it was reset.
            if self.device.zone(zone)?.state == ZoneState::Empty {
                self.held.push_back(HeldZone { zone, blocks, first: None, returns: true });
                self.at = 0;
            }
        }
        Ok(self.rest())
    }

    fn append(&mut self, head: Head, payload: &[u8]) -> Result<(), WalError> {
        let blocks = head.blocks();
        assert!(blocks <= self.rest(), "a batch fits into its zone");
        debug_assert!(head.number == self.number && u64::from(head.block) == self.at);
        let bytes = &mut self.staging[..(blocks * BLOCK) as usize];
        let (to, padding) = bytes[HEAD..].split_at_mut(payload.len());
        to.copy_from_slice(payload);
        padding.fill(0);
        Head { sum: crc32c::crc32c(payload), ..head }.encode(bytes);
        self.device.append(head.zone, self.at * BLOCK, bytes)?;
        self.number += 1;
        self.at += blocks;
        if let Some(held) = self.held.back_mut() {
            held.first = held.first.or(head.first_record());
        }
        Ok(())
    }

    /// The position up to which records must be released for the next batch to free a zone.
    pub(super) fn frees_at(&self) -> Lsn {
        match self.held.len() {
            0 | 1 => Lsn::MAX,
            // Of the last zone, a record may fill all that is written: the next begins at its end,
            // which may not be on the device yet.
            _ => self.oldest_goes_at().unwrap_or(self.next),
        }
    }

    /// The position of the first record that begins behind the oldest zone: a record may begin in
    /// one zone and fill the next.
    fn oldest_goes_at(&self) -> Option<Lsn> {
        self.held.iter().skip(1).find_map(|held| held.first)
    }

    /// Where the zones in use begin, oldest first, and behind them what is written up to `end`.
    pub(super) fn marks(&self, end: Lsn) -> impl Iterator<Item = Mark> {
        let mut blocks = 0;
        let begins = self.held.iter().filter_map(move |held| {
            let mark = held.first.map(|at| Mark { at, blocks });
            blocks += held.blocks;
            mark
        });
        let written = self.held.iter().map(|held| held.blocks).sum::<u64>() - self.rest();
        begins.chain([Mark { at: end, blocks: written }])
    }

    /// Resets the zones that hold no record that ends behind `keep_from`, which is durable.
    pub(super) fn release(&mut self, keep_from: Lsn) -> Result<(), WalError> {
        while self.oldest_goes_at().is_some_and(|first| first <= keep_from) {
            assert!(self.held.len() > 1, "the zone that is written is not reset");
            let Some(HeldZone { zone, blocks, returns, .. }) = self.held.pop_front() else {
                break;
            };
            if returns {
                self.empty(zone, blocks)?;
            }
        }
        Ok(())
    }

    fn empty(&mut self, zone: u32, blocks: u64) -> Result<(), WalError> {
        debug_assert!(self.empty.iter().all(|&(other, _)| other != zone), "zone {zone} is empty");
        debug_assert!(self.held.iter().all(|held| held.zone != zone), "zone {zone} is in use");
        match self.device.reset(zone) {
            Ok(()) => {
                self.unused = self.unused.min(self.empty.len().saturating_sub(1));
                self.empty.insert(self.empty.len() - self.unused, (zone, blocks));
            }
            Err(DeviceError::Crashed) => return Err(DeviceError::Crashed.into()),
            // The log does without the zone, which holds nothing that is needed, while it can.
            Err(error) if self.zones() < 2 => return Err(error.into()),
            Err(error) => {
                self.zones_lost += 1;
                tracing::warn!(zone, %error, "the log does without a zone that can't be reset");
            }
        }
        Ok(())
    }
}

/// The zones of a log that was found, oldest first.
fn held(chain: &Chain, zones: &[ZoneInfo]) -> VecDeque<HeldZone> {
    let mut all = VecDeque::<HeldZone>::new();
    for part in &chain.parts {
        let zone = part.head.zone;
        let first = part.head.first_record();
        match all.back_mut() {
            Some(held) if held.zone == zone => held.first = held.first.or(first),
            _ => {
                let info = zones[zone as usize];
                let returns = info.state != ZoneState::ReadOnly;
                all.push_back(HeldZone { zone, blocks: info.capacity / BLOCK, first, returns });
            }
        }
    }
    all
}

/// Walks over records, from boundary to boundary.
struct Boundaries<'a> {
    bytes: &'a [u8],
    /// The first boundary that was not passed.
    at: usize,
    /// The kind of the record that ends there.
    kind: u8,
}

impl Boundaries<'_> {
    /// Of a part that begins where the last one ended: where in it the first record begins, where
    /// the last one ends, and the bits of their kinds.
    fn between(&mut self, from: usize, to: usize) -> (u32, u32, u32) {
        let relative = |at: usize| (at - from) as u32;
        let begins = self.at < to || from == to;
        let first = if begins { relative(self.at) } else { NONE };
        let mut last = if self.at == to && to > from { relative(to) } else { NONE };
        let mut kinds = if from < self.at && from < to { kind_bit(self.kind) } else { 0 };
        while self.at < to {
            let record = record_at(&self.bytes[self.at..]);
            let (kind, _, end) = record.expect("records are written as wholes");
            kinds |= kind_bit(kind);
            (self.at, self.kind) = (self.at + end, kind);
            if self.at <= to {
                last = relative(self.at);
            }
        }
        (first, last, kinds)
    }
}
