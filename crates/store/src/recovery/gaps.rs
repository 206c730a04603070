//! Headers that a rebuild can't read: torn by a crash, or of chunks that were synced.

use std::collections::BTreeMap;

use super::run::{Gap, Recovery};
use super::zone_epoch::PostCheckpointChunk;
use crate::format::Witness;

impl Recovery<'_> {
    /// Tells gaps that a crash tore from those that may have held a chunk up to number `known`, all
    /// of which were durable. In a torn one each of these lay elsewhere: it is there, or the header
    /// of the next one says so.
    pub(super) fn sort_gaps(&mut self, chunks: &[PostCheckpointChunk], known: u64) {
        let Some(salvage) = &mut self.salvage else { return };
        let known = known.max(salvage.known);
        // Chunks behind damaged headers prove nothing: their numbers may have been given away
        // again.
        let damaged = &salvage.damaged;
        let sound = chunks.iter().filter(|chunk| !damaged.contains(&chunk.epoch));
        let there: BTreeMap<u64, Witness> =
            sound.map(|chunk| (chunk.head.seq, chunk.witness)).collect();
        for Gap { loss, after } in std::mem::take(&mut salvage.gaps) {
            let told = |next: &Witness| next.opening != 0 && next.zone != loss.zone;
            let is_elsewhere = |seq: u64| {
                there.contains_key(&seq) || there.get(&seq.saturating_add(1)).is_some_and(told)
            };
            // It ends at the first number that is not known, however large `known` is.
            let mut numbers = after.saturating_add(1)..known.saturating_add(1);
            match numbers.all(is_elsewhere) {
                true => drop(salvage.torn.insert(loss.zone)),
                false => self.missing.push(loss),
            }
        }
    }
}
