//! The volume behind the store: the very one that the simulator runs, over leaves of a map.
//!
//! A volume is compiled for each scheme; [`Placer`] hides which.

use std::sync::Arc;

use frostline_log::{Counts, LOST, LogError, Map, Options, Slot, Volume, ZoneImage};
use frostline_placement::registry::{SchemeSpec, Visitor};
use frostline_placement::{BuildError, Hotness, Scheme, Semantics, Setup, VictimPolicy, victims};

use crate::leaves::{Evicted, Image, Leaves};

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

/// A volume of any scheme. Before a page is named, its leaf must be in memory.
pub trait Placer: Send {
    /// Places a user write; the old copy is garbage from now on.
    fn place_user(
        &mut self,
        lba: u32,
        sum: u32,
        hotness: Option<&Hotness>,
    ) -> Result<Placed, LogError>;
    /// Copies a page from `from`, the `index`-th valid one of its zone; none if it is not there
    /// any more.
    fn relocate(&mut self, from: Candidate, index: usize) -> Result<Option<Placed>, LogError>;
    /// See [`Volume::add_to_batch`].
    fn add_to_batch(&mut self, zone: u32, lba: u32);
    /// See [`Volume::offer_batch`].
    fn offer_batch(&mut self, hotness: &[Hotness]);
    /// True if the scheme wants all valid pages of a victim at once.
    fn is_batched(&self) -> bool;
    /// Forgets a page; true if there was one.
    fn trim(&mut self, lba: u32) -> Result<bool, LogError>;
    /// Where a page lies, and the sum of its content; zone 0 if its content is lost.
    fn find(&self, lba: u32) -> Option<(Slot, u32)>;
    /// Points a page to a slot, or to nothing, before the volume is restored.
    fn point(&mut self, lba: u32, to: Option<(Slot, u32)>);
    /// Marks a page as lost.
    fn lose(&mut self, lba: u32);
    /// The slots of a leaf's pages: (LBA, slot), those that have one.
    fn slots(&self, leaf: u32) -> Vec<(u32, Slot)>;
    /// See [`Volume::cleaning_due`].
    fn cleaning_due(&self) -> bool;
    /// See [`Volume::end_stale`].
    fn end_stale(&mut self) -> Vec<u32>;
    /// See [`Volume::begin_cleaning`].
    fn begin_cleaning(&mut self) -> Vec<u32>;
    /// See [`Volume::release`].
    fn release(&mut self, zone: u32) -> bool;
    /// See [`Volume::end_early`].
    fn end_early(&mut self, class: usize) -> u32;
    /// See [`Volume::quarantine`].
    fn quarantine(&mut self, zone: u32);
    /// See [`Volume::retire`].
    fn retire(&mut self) -> bool;
    /// See [`Volume::images`].
    fn images(&self) -> Vec<ZoneImage>;
    /// See [`Volume::restore`].
    fn restore(&mut self, now: u32, valid: u64, images: &[ZoneImage]) -> Result<(), LogError>;
    /// Free zones.
    fn free_zones(&self) -> usize;
    /// Valid pages.
    fn valid_pages(&self) -> u64;
    /// See [`Volume::garbage_proportion`].
    fn garbage_proportion(&self) -> f64;
    /// See [`Volume::counts`].
    fn counts(&mut self) -> Counts;
    /// Number of classes.
    fn classes(&self) -> usize;
    /// See [`Scheme::memory`].
    fn memory(&self) -> Vec<u8>;
    /// See [`Scheme::recall`].
    fn recall(&mut self, memory: &[u8]);
    /// Figures of the scheme's own.
    fn gauges(&self) -> Vec<(&'static str, f64)>;
    /// Bytes that map, zones and scheme hold.
    fn bytes(&self) -> usize;

    /// See [`Leaves::has`].
    fn has_leaf(&self, leaf: u32) -> bool;
    /// See [`Leaves::insert`].
    fn insert_leaf(&mut self, leaf: u32, bytes: Option<(&[u8], u64)>, now: u64);
    /// See [`Leaves::take_dirty`] and [`Leaves::take_all`].
    fn take_leaves(&mut self, all: bool) -> Vec<(u32, Arc<dyn Image>)>;
    /// See [`Leaves::written`].
    fn leaf_written(&mut self, leaf: u32);
    /// See [`Leaves::evict`].
    fn evict_leaf(&mut self) -> Evicted;
    /// See [`Leaves::drop_clean`].
    fn drop_clean_leaves(&mut self, most: usize);
    /// Leaves in memory.
    fn resident_leaves(&self) -> usize;
}

/// Builds the volume of a store; `told` if its writes come with hotness records.
pub fn build(
    scheme: &SchemeSpec,
    victim: &str,
    seed: u64,
    options: Options,
    told: bool,
) -> Result<Box<dyn Placer>, PlacerError> {
    struct Build {
        options: Options,
        policy: Box<dyn VictimPolicy>,
    }
    impl Visitor for Build {
        type Output = Result<Box<dyn Placer>, LogError>;
        fn visit<S: Scheme>(self, scheme: S) -> Self::Output {
            let leaves = Leaves::new(self.options.space);
            Ok(Box::new(Volume::over(self.options, scheme, self.policy, leaves)?))
        }
    }
    let victim = scheme.victim.filter(|_| scheme.entry.own_victim.is_none()).unwrap_or(victim);
    let policy = victims::build(victim, Semantics::Published, seed)?;
    // No model of a file: a store learns by itself.
    let recogniser = |by: &str, setup: &Setup<'_>| frostline_learn::recogniser(by, setup, None);
    let setup = Setup {
        seed,
        told,
        recogniser: Some(&recogniser),
        ..Setup::new(options.zone_pages, options.space)
    };
    Ok(scheme.build(&setup, Build { options, policy })??)
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

type Over<S> = Volume<S, Leaves<<S as Scheme>::Page>>;

impl<S: Scheme> Placer for Over<S> {
    fn place_user(
        &mut self,
        lba: u32,
        sum: u32,
        hotness: Option<&Hotness>,
    ) -> Result<Placed, LogError> {
        let ticket = Volume::place_user(self, lba, hotness)?;
        let placed = Placed { class: ticket.class, slot: ticket.slot };
        self.commit_user(ticket);
        self.map_mut().set_sum(lba, sum);
        Ok(placed)
    }

    fn relocate(&mut self, from: Candidate, index: usize) -> Result<Option<Placed>, LogError> {
        let Some(ticket) = self.place_relocation(from.lba, from.slot, index)? else {
            return Ok(None);
        };
        let placed = Placed { class: ticket.class, slot: ticket.slot };
        self.commit_relocation(ticket);
        Ok(Some(placed))
    }

    fn add_to_batch(&mut self, zone: u32, lba: u32) {
        Volume::add_to_batch(self, zone, lba);
    }

    fn offer_batch(&mut self, hotness: &[Hotness]) {
        Volume::offer_batch(self, hotness);
    }

    fn is_batched(&self) -> bool {
        S::BATCHED
    }

    fn trim(&mut self, lba: u32) -> Result<bool, LogError> {
        Volume::trim(self, lba)
    }

    fn find(&self, lba: u32) -> Option<(Slot, u32)> {
        let slot = self.slot_of(lba)?;
        Some((slot, self.map().sum(lba)))
    }

    fn point(&mut self, lba: u32, to: Option<(Slot, u32)>) {
        let number = to.map_or(0, |(slot, _)| self.number(slot));
        self.map_mut().entry_mut(lba).slot = number;
        self.map_mut().set_sum(lba, to.map_or(0, |(_, sum)| sum));
    }

    fn lose(&mut self, lba: u32) {
        self.map_mut().entry_mut(lba).slot = LOST;
    }

    fn slots(&self, leaf: u32) -> Vec<(u32, Slot)> {
        let first = leaf * crate::leaves::LEAF as u32;
        let slots = (first..).zip(self.map().slots(leaf)).filter(|&(_, slot)| slot != 0);
        slots.map(|(lba, slot)| (lba, self.slot(slot))).collect()
    }

    fn cleaning_due(&self) -> bool {
        Volume::cleaning_due(self)
    }

    fn end_stale(&mut self) -> Vec<u32> {
        Volume::end_stale(self)
    }

    fn begin_cleaning(&mut self) -> Vec<u32> {
        Volume::begin_cleaning(self)
    }

    fn release(&mut self, zone: u32) -> bool {
        Volume::release(self, zone)
    }

    fn end_early(&mut self, class: usize) -> u32 {
        Volume::end_early(self, class)
    }

    fn quarantine(&mut self, zone: u32) {
        Volume::quarantine(self, zone);
    }

    fn retire(&mut self) -> bool {
        Volume::retire(self)
    }

    fn images(&self) -> Vec<ZoneImage> {
        Volume::images(self)
    }

    fn restore(&mut self, now: u32, valid: u64, images: &[ZoneImage]) -> Result<(), LogError> {
        Volume::restore(self, now, valid, images)
    }

    fn free_zones(&self) -> usize {
        Volume::free_zones(self)
    }

    fn valid_pages(&self) -> u64 {
        Volume::valid_pages(self)
    }

    fn garbage_proportion(&self) -> f64 {
        Volume::garbage_proportion(self)
    }

    fn counts(&mut self) -> Counts {
        Volume::counts(self).clone()
    }

    fn classes(&self) -> usize {
        self.scheme().classes()
    }

    fn memory(&self) -> Vec<u8> {
        self.scheme().memory()
    }

    fn recall(&mut self, memory: &[u8]) {
        self.scheme_mut().recall(memory);
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        self.scheme().gauges()
    }

    fn bytes(&self) -> usize {
        self.map().bytes() + self.zones().bytes() + self.scheme().bytes()
    }

    fn has_leaf(&self, leaf: u32) -> bool {
        self.map().has(leaf)
    }

    fn insert_leaf(&mut self, leaf: u32, bytes: Option<(&[u8], u64)>, now: u64) {
        let (scheme, map) = self.scheme_and_map();
        map.insert(leaf, bytes, now, |page, at| scheme.clamp(page, at));
    }

    fn take_leaves(&mut self, all: bool) -> Vec<(u32, Arc<dyn Image>)> {
        match all {
            true => self.map_mut().take_all(),
            false => self.map_mut().take_dirty(),
        }
    }

    fn leaf_written(&mut self, leaf: u32) {
        self.map_mut().written(leaf);
    }

    fn evict_leaf(&mut self) -> Evicted {
        self.map_mut().evict()
    }

    fn drop_clean_leaves(&mut self, most: usize) {
        self.map_mut().drop_clean(most);
    }

    fn resident_leaves(&self) -> usize {
        self.map().resident()
    }
}
