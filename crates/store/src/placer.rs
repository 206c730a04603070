//! The volume behind the store: the very one that the simulator runs, over leaves of a map.

use std::ops::{Deref, DerefMut};

use frostline_log::{LOST, LogError, Options, Slot, Volume};
use frostline_placement::registry::SchemeSpec;
use frostline_placement::{AnyScheme, BuildError, Hotness, Scheme, Setup, victims};

use crate::leaves::{LEAF, Leaves, WORDS};

/// Where a page goes.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    /// Its class.
    pub class: usize,
    /// Its slot.
    pub slot: Slot,
}

/// A page of a victim.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// Its LBA.
    pub lba: u32,
    /// Its slot.
    pub slot: Slot,
}

/// A volume of any scheme, which is only known by name here: a call through a pointer is nothing
/// beside the writing of a page. Before a page is named, its leaf must be in memory.
pub struct Placer(Volume<AnyScheme<WORDS>, Leaves>);

impl Deref for Placer {
    type Target = Volume<AnyScheme<WORDS>, Leaves>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Placer {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

/// Why a volume can't be built.
#[derive(Debug, thiserror::Error)]
pub enum PlacerError {
    /// The scheme or the victim policy.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The volume.
    #[error(transparent)]
    Log(#[from] LogError),
}

impl Placer {
    /// Builds the volume of a store; `told` if its writes come with hotness records.
    pub fn build(
        scheme: &SchemeSpec,
        victim: &str,
        seed: u64,
        options: Options,
        told: bool,
    ) -> Result<Self, PlacerError> {
        let victim = scheme.victim.filter(|_| scheme.entry.own_victim.is_none()).unwrap_or(victim);
        let policy = victims::build(victim, seed)?;
        // No model of a file: a store learns by itself.
        let recogniser = |by: &str, setup: &Setup<'_>| frostline_learn::recogniser(by, setup, None);
        let setup = Setup {
            seed,
            told,
            recogniser: Some(&recogniser),
            ..Setup::new(options.zone_pages, options.space)
        };
        let leaves = Leaves::new(options.space, scheme.entry.page_bytes);
        Ok(Placer(Volume::over(options, scheme.build_any(&setup)?, policy, leaves)?))
    }

    /// Places a user write; the old copy is garbage from now on.
    pub fn place_user(
        &mut self,
        lba: u32,
        sum: u32,
        hotness: Option<&Hotness>,
    ) -> Result<Placed, LogError> {
        let ticket = self.0.place_user(lba, hotness)?;
        let placed = Placed { class: ticket.class, slot: ticket.slot };
        self.commit_user(ticket);
        self.map_mut().set_sum(lba, sum);
        Ok(placed)
    }

    /// Copies a page from `from`, to the class that was given it if one was; none if it is not there
    /// any more.
    pub fn relocate(
        &mut self,
        from: Candidate,
        class: Option<u8>,
    ) -> Result<Option<Placed>, LogError> {
        let Some(ticket) = self.place_relocation(from.lba, from.slot, class)? else {
            return Ok(None);
        };
        let placed = Placed { class: ticket.class, slot: ticket.slot };
        self.commit_relocation(ticket);
        Ok(Some(placed))
    }

    /// Where a page lies, and the sum of its content; zone 0 if its content is lost.
    pub fn find(&self, lba: u32) -> Option<(Slot, u32)> {
        let slot = self.slot_of(lba)?;
        Some((slot, self.map().sum(lba)))
    }

    /// Points a page to a slot, or to nothing, before the volume is restored.
    pub fn point(&mut self, lba: u32, to: Option<(Slot, u32)>) {
        let number = to.map_or(0, |(slot, _)| self.number(slot));
        self.map_mut().set_slot(lba, number);
        self.map_mut().set_sum(lba, to.map_or(0, |(_, sum)| sum));
    }

    /// Marks a page as lost.
    pub fn lose(&mut self, lba: u32) {
        self.map_mut().set_slot(lba, LOST);
    }

    /// The slots of a leaf's pages: (LBA, slot), those that have one.
    pub fn slots(&self, leaf: u32) -> Vec<(u32, Slot)> {
        let first = leaf * LEAF as u32;
        let slots = (first..).zip(self.map().slots(leaf)).filter(|&(_, slot)| slot != 0);
        slots.map(|(lba, slot)| (lba, self.slot(slot))).collect()
    }

    /// See [`Leaves::insert`].
    pub fn insert_leaf(&mut self, leaf: u32, bytes: Option<(&[u8], u64)>, now: u64) {
        let (scheme, map) = self.scheme_and_map();
        map.insert(leaf, bytes, now, |state, at| scheme.clamp(state, at));
    }

    /// Bytes that map, zones and scheme hold.
    pub fn bytes(&self) -> usize {
        self.map().bytes() + self.zones().bytes() + self.scheme().bytes()
    }
}
