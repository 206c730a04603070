//! Finding the log among the batches on a device, and its end.
//!
//! Batches are numbered. Each opening of the log (an *epoch*) goes on with the number behind the
//! last batch that it found, and each of its batches has that number (`epoch_first`). A batch of
//! an earlier epoch with that number or a higher one was cut off: it lay behind a torn batch,
//! and is not part of the log, even if the batches of the new epoch are torn as well.
//!
//! A batch also says up to which number all batches were durable when it was written. What is
//! missing up to there is damage, and an error. Behind that, the first batch that is missing or
//! torn is where the log ends: batches of one flush go to several zones, and a crash may keep the
//! later and lose the earlier.
//!
//! None of this depends on resets, which a crash may undo: a zone that comes back holds batches
//! whose numbers are too low to matter, or that were cut off.

use std::collections::BTreeMap;

use frostline_zone::{ZoneInfo, ZoneState};

use super::batch::{BLOCK, Head, NONE};
use super::error::WalError;
use super::lsn::Lsn;
use super::scan::ScannedBatch;

/// The log as it was found.
#[derive(Debug)]
pub(super) struct Chain {
    /// The batches that are needed, in order: in the first, and in no later one, a record begins
    /// at or before `keep_from`.
    pub parts: Vec<LogExtent>,
    /// The last of them.
    pub last: Head,
    /// Records that end here or before are not needed.
    pub keep_from: Lsn,
    /// The end of the last whole record.
    pub end: Lsn,
    /// The epoch that begins now.
    pub epoch: u64,
}

/// A batch, and the part of it that is the log.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogExtent {
    /// Its head.
    pub head: Head,
    /// The position at which a later epoch went on, or the batch ends. Before the batch, if it
    /// holds only the middle of a record that was never completed.
    pub end: Lsn,
}

impl Chain {
    /// The log among the batches of a device with these zones.
    pub(super) fn find(
        id: u64,
        zones: &[ZoneInfo],
        found: &[ScannedBatch],
    ) -> Result<Chain, WalError> {
        let epoch = found.iter().map(|batch| batch.head.epoch).max();
        let durable = found.iter().map(|batch| batch.head.durable).max();
        let (Some(epoch), Some(durable)) = (epoch, durable) else {
            return Err(WalError::NotALog { id });
        };
        let search = Search { live: live(found), found, zones };
        let number = search.last(durable)?;
        let last = *search.at(number, 0)?;
        search.check_end(&last)?;
        let heads = search.needed(last)?;
        let keep_from = last.keep_from;
        let end = heads.iter().filter_map(Head::last_boundary).max().unwrap_or(0);
        if end < keep_from {
            return Err(search.damaged(number, 0, "it lets go of records that do not exist"));
        }
        Ok(Chain { parts: parts(&heads, end), last, keep_from, end, epoch: epoch + 1 })
    }

    /// Checks that the log goes on up to a position at which it was durable. A log that is cut
    /// there looks as if a crash had torn it.
    pub(super) fn check_end(&self, durable: Lsn) -> Result<(), WalError> {
        if self.end >= durable {
            return Ok(());
        }
        let (zone, page) = (self.last.zone, u64::from(self.last.block) + self.last.blocks());
        let why = "what was durable behind it is missing";
        Err(WalError::Damaged { zone, page, lsn: self.end, why })
    }
}

/// Cuts batches, given latest first, to a log that ends at `end`.
fn parts(heads: &[Head], end: Lsn) -> Vec<LogExtent> {
    let mut cut = end;
    let mut part = |head: &Head| {
        let end = cut.min(head.end());
        cut = cut.min(head.offset);
        LogExtent { head: *head, end }
    };
    let mut parts: Vec<_> = heads.iter().map(&mut part).collect();
    parts.reverse();
    parts
}

/// The whole batches that no later epoch cut off, by number.
fn live(found: &[ScannedBatch]) -> BTreeMap<u64, Head> {
    let mut begins = BTreeMap::new();
    for ScannedBatch { head, .. } in found {
        let first = begins.entry(head.epoch).or_insert(head.epoch_first);
        *first = head.epoch_first.min(*first);
    }
    let mut cut = u64::MAX;
    let mut cuts = BTreeMap::new();
    for (&epoch, &first) in begins.iter().rev() {
        cuts.insert(epoch, cut);
        cut = cut.min(first);
    }
    let is_live =
        |batch: &&ScannedBatch| batch.is_whole && batch.head.number < cuts[&batch.head.epoch];
    found.iter().filter(is_live).map(|batch| (batch.head.number, batch.head)).collect()
}

struct Search<'a> {
    live: BTreeMap<u64, Head>,
    found: &'a [ScannedBatch],
    zones: &'a [ZoneInfo],
}

impl Search<'_> {
    fn at(&self, number: u64, keep_from: Lsn) -> Result<&Head, WalError> {
        let missing = || self.damaged(number, keep_from, "a batch that was durable is missing");
        self.live.get(&number).ok_or_else(missing)
    }

    /// Number of the last batch of the log.
    fn last(&self, durable: u64) -> Result<u64, WalError> {
        let behind = self.live.range(durable + 1..).zip(durable + 1..);
        let run = behind.take_while(|((number, _), expected)| *number == expected).count() as u64;
        let last = durable + run;
        self.at(last, 0).map(|_| last)
    }

    /// A log that fills its last zone may go on in one that is lost. Without a word about what
    /// was in it, nothing says that the log ends here.
    fn check_end(&self, last: &Head) -> Result<(), WalError> {
        let blocks = |zone: u32| self.zones.get(zone as usize).map_or(0, |z| z.capacity / BLOCK);
        if u64::from(last.block) + last.blocks() < blocks(last.zone) {
            return Ok(());
        }
        let may_follow = |zone: u32| zone == last.next_zone || last.next_zone == NONE;
        let mut lost = (0..).zip(self.zones).filter(|(_, z)| z.state == ZoneState::Offline);
        match lost.find(|&(zone, _)| may_follow(zone)) {
            None => Ok(()),
            Some((zone, _)) => {
                let why = "the zone is offline, and may hold the end of the log";
                Err(WalError::Damaged { zone, page: 0, lsn: last.end(), why })
            }
        }
    }

    /// The batches that are needed, the last one first.
    fn needed(&self, last: Head) -> Result<Vec<Head>, WalError> {
        let keep_from = last.keep_from;
        let mut heads = vec![last];
        let mut next = last;
        while next.first_record().is_none_or(|first| first > keep_from) {
            let head = *self.at(next.number - 1, keep_from)?;
            if !follows(&head, &next) {
                return Err(self.damaged(
                    next.number,
                    keep_from,
                    "it contradicts the batch before it",
                ));
            }
            heads.push(head);
            next = head;
        }
        Ok(heads)
    }

    /// The error for a batch that is missing or wrong. The gap may begin earlier, but records are
    /// needed only from `keep_from` on.
    fn damaged(&self, number: u64, keep_from: Lsn, why: &'static str) -> WalError {
        let before = self.live.range(..number).next_back().map(|(_, head)| head);
        let before = before.filter(|head| head.end() >= keep_from);
        let number = before.map_or(number, |head| head.number + 1);
        let torn = self.found.iter().find(|b| b.head.number == number && !b.is_whole);
        let after = self.live.range(number..).next().map(|(_, head)| head);
        let (zone, page) = match (torn, before, after) {
            (Some(torn), _, _) => (torn.head.zone, u64::from(torn.head.block)),
            (_, Some(before), _) => self.behind(before),
            (_, _, Some(after)) => (after.zone, u64::from(after.block.saturating_sub(1))),
            _ => (0, 0),
        };
        let lsn = before.map_or(keep_from, Head::end);
        WalError::Damaged { zone, page, lsn, why }
    }

    /// The place at which the batch behind this one should lie.
    fn behind(&self, head: &Head) -> (u32, u64) {
        let page = u64::from(head.block) + head.blocks();
        let written = self.zones.get(head.zone as usize).map_or(0, |z| z.write_pointer / BLOCK);
        if page >= written && head.next_zone != NONE {
            (head.next_zone, 0)
        } else {
            (head.zone, page)
        }
    }
}

/// True if one batch may follow the other in the log.
fn follows(head: &Head, next: &Head) -> bool {
    let joins = match head.epoch == next.epoch {
        true => head.end() == next.offset,
        false => head.epoch < next.epoch && head.end() >= next.offset,
    };
    joins && head.keep_from <= next.keep_from && head.durable <= next.durable
}
