//! A scheme's metadata at its real cost: meta pages at the tail of each zone hold the scheme's
//! state of the zone's pages, and a small cache holds some of them (PHFTL, DAC 2023, section
//! III-C).
//!
//! Our readings where the paper is silent: the metadata of an open zone is in memory until the zone
//! is sealed, and does not stay in the cache then; the cache holds 1 % of the meta pages of all
//! zones that were ever open.

use crate::Setup;

/// Meta pages in the volume for each meta page that the cache holds.
const SHARE: usize = 100;
/// Stands for "not in the cache" and for "no neighbour".
const NONE: u32 = u32::MAX;

/// The place of a zone's metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MetadataPlace {
    Open,
    Sealed,
}

/// Counts the reads of metadata that the cache serves. Entries are indexed by the number of the
/// meta page, and chained from the newest use to the oldest.
#[derive(Debug)]
pub struct MetaCache {
    /// Pages whose metadata a meta page holds.
    per_page: u32,
    /// Meta pages of a zone.
    pages: u32,
    zones: Vec<MetadataPlace>,
    /// The place of each meta page in the cache, by its number.
    places: Vec<u32>,
    cached: Vec<Cached>,
    newest: u32,
    oldest: u32,
    reads: u64,
    misses: u64,
}

#[derive(Clone, Copy, Debug)]
struct Cached {
    page: u32,
    newer: u32,
    older: u32,
}

impl MetaCache {
    /// An empty cache for `bytes` bytes of metadata a page.
    pub fn new(bytes: usize, setup: &Setup<'_>) -> Self {
        let per_page = (setup.page_bytes / bytes as u32).max(1);
        MetaCache {
            per_page,
            // Enough meta pages for the metadata of the zone's other pages.
            pages: setup.zone_pages.div_ceil(per_page + 1),
            zones: Vec::new(),
            places: Vec::new(),
            cached: Vec::new(),
            newest: NONE,
            oldest: NONE,
            reads: 0,
            misses: 0,
        }
    }

    /// Meta pages at the tail of a zone.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// A zone is opened: its metadata is in memory.
    pub fn open(&mut self, zone: u32) {
        let zones = self.zones.len().max(zone as usize + 1);
        self.zones.resize(zones, MetadataPlace::Sealed);
        self.places.resize(zones * self.pages as usize, NONE);
        assert!(self.places.len() < NONE as usize, "meta pages are numbered below 2^32");
        self.zones[zone as usize] = MetadataPlace::Open;
    }

    /// A zone is sealed: its meta pages are written.
    pub fn seal(&mut self, zone: u32) {
        if let Some(state) = self.zones.get_mut(zone as usize) {
            *state = MetadataPlace::Sealed;
        }
    }

    /// A zone is free again: its meta pages are gone.
    pub fn free(&mut self, zone: u32) {
        for page in zone * self.pages..(zone + 1) * self.pages {
            let place = self.places.get(page as usize).copied().unwrap_or(NONE);
            if place != NONE {
                self.unlink(place);
                self.remove(place);
            }
        }
    }

    /// The scheme reads the metadata of the page at `offset` of `zone`.
    #[inline]
    pub fn read(&mut self, zone: u32, offset: u32) {
        self.reads += 1;
        if self.zones.get(zone as usize) != Some(&MetadataPlace::Sealed) {
            return;
        }
        let page = zone * self.pages + offset / self.per_page;
        debug_assert!(offset / self.per_page < self.pages, "a meta page of the zone");
        let place = self.places[page as usize];
        if place == self.newest && place != NONE {
            return;
        }
        if place == NONE {
            self.miss(page);
        } else {
            self.unlink(place);
            self.link(place);
        }
    }

    /// Reads a meta page into the cache. A full cache first drops the page whose last use is
    /// oldest.
    fn miss(&mut self, page: u32) {
        self.misses += 1;
        let room = (self.places.len() / SHARE).max(1);
        if self.cached.len() >= room {
            let oldest = self.oldest;
            self.unlink(oldest);
            self.remove(oldest);
        }
        let place = self.cached.len() as u32;
        self.cached.push(Cached { page, newer: NONE, older: NONE });
        debug_assert!(self.cached.len() <= room, "the cache holds a share of all meta pages");
        self.places[page as usize] = place;
        self.link(place);
    }

    /// Removes an entry that is not in the chain; the last entry moves to its place.
    fn remove(&mut self, place: u32) {
        let removed = self.cached.swap_remove(place as usize);
        debug_assert_eq!(self.places[removed.page as usize], place, "a meta page has one place");
        self.places[removed.page as usize] = NONE;
        let Some(&moved) = self.cached.get(place as usize) else { return };
        self.places[moved.page as usize] = place;
        self.point(moved.newer, moved.older, place, place);
    }

    fn unlink(&mut self, place: u32) {
        let Cached { newer, older, .. } = self.cached[place as usize];
        self.point(newer, older, older, newer);
    }

    /// Makes the newer neighbour point to `older_of_newer`, the older one to `newer_of_older`.
    fn point(&mut self, newer: u32, older: u32, older_of_newer: u32, newer_of_older: u32) {
        match self.cached.get_mut(newer as usize) {
            Some(newer) => newer.older = older_of_newer,
            None => self.newest = older_of_newer,
        }
        match self.cached.get_mut(older as usize) {
            Some(older) => older.newer = newer_of_older,
            None => self.oldest = newer_of_older,
        }
    }

    fn link(&mut self, place: u32) {
        let older = self.newest;
        let cached = &mut self.cached[place as usize];
        (cached.newer, cached.older) = (NONE, older);
        self.point(NONE, older, place, place);
    }

    /// Bytes that the struct holds; the metadata itself would take 1 % of all metadata.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.places[..]) + size_of_val(&self.cached[..]) + self.zones.len()
    }

    /// Reads of metadata, reads that missed the cache, and the share of hits.
    pub fn gauges(&self) -> Vec<(&'static str, f64)> {
        let hits = 1.0 - self.misses as f64 / self.reads.max(1) as f64;
        let (reads, misses) = (self.reads as f64, self.misses as f64);
        vec![("meta_reads", reads), ("meta_misses", misses), ("meta_hit_rate", hits)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use frostline_random::SplitMix;

    /// Ten pages in a meta page, ten meta pages in a zone of 110.
    fn cache() -> MetaCache {
        let setup = Setup { page_bytes: 40, ..Setup::new(110, 1000) };
        MetaCache::new(4, &setup)
    }

    #[test]
    fn meta_pages_hold_the_metadata_of_all_other_pages_of_a_zone() {
        for zone_pages in 16..2000 {
            let setup = Setup { page_bytes: 4096, ..Setup::new(zone_pages, 1) };
            let cache = MetaCache::new(36, &setup);
            let data = zone_pages - cache.pages();
            assert!(cache.pages() * cache.per_page >= data, "zones of {zone_pages}");
            assert!((cache.pages() - 1) * cache.per_page < data + 1, "zones of {zone_pages}");
        }
    }

    #[test]
    fn metadata_of_an_open_zone_is_in_memory_and_then_one_read_serves_a_meta_page() {
        let mut cache = cache();
        cache.open(1);
        cache.read(1, 5);
        assert_eq!(cache.misses, 0);
        cache.seal(1);
        [5, 9, 0, 10, 5].iter().for_each(|&offset| cache.read(1, offset));
        // The cache holds one meta page of twenty.
        assert_eq!((cache.reads, cache.misses), (6, 3));
    }

    #[test]
    fn a_freed_zone_leaves_nothing_in_the_cache() {
        let mut cache = cache();
        (1..=100).for_each(|zone| cache.open(zone));
        (1..=100).for_each(|zone| cache.seal(zone));
        (0..5).for_each(|page| cache.read(7, page * 10));
        cache.free(7);
        assert!(cache.cached.is_empty());
        cache.open(7);
        cache.seal(7);
        cache.read(7, 0);
        assert_eq!(cache.misses, 6);
    }

    #[test]
    fn the_page_that_was_not_used_for_longest_goes() {
        let mut cache = cache();
        (1..=100).for_each(|zone| cache.open(zone));
        (1..=100).for_each(|zone| cache.seal(zone));
        let capacity = cache.places.len() / SHARE;
        let (mut chance, mut naive, mut misses) = (SplitMix::new(3), Vec::new(), 0);
        for _ in 0..20_000 {
            let (zone, offset) = (1 + chance.below(3), chance.below(100));
            if chance.below(500) == 0 {
                cache.free(zone);
                naive.retain(|&(z, _)| z != zone);
            }
            let page = (zone, offset / 10);
            let hit = naive.iter().position(|p| *p == page);
            hit.map(|at| naive.remove(at));
            misses += u64::from(hit.is_none());
            naive.insert(0, page);
            naive.truncate(capacity);
            cache.read(zone, offset);
            assert_eq!(cache.misses, misses);
        }
    }
}
