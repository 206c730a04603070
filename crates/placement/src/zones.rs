//! The zones of a log, as victim policies and schemes read them.

/// The columns that a log keeps of its zones, by zone number. Zone 0 does not exist.
#[derive(Debug, Clone, Copy)]
pub struct ZoneColumns<'a> {
    /// Pages in a zone.
    pub zone_pages: u32,
    /// Time: user page writes so far, modulo 2^32.
    pub now: u32,
    /// Garbage pages of a sealed zone; negative for a zone that can't be cleaned: it is free, open
    /// or set aside.
    pub garbage: &'a [i32],
    /// Class; without meaning for a free zone.
    pub class: &'a [u8],
    /// Time the zone was opened.
    pub opened_at: &'a [u32],
    /// Time from which the age of a sealed zone counts: it was full then, or opened if it was
    /// sealed early.
    pub sealed_at: &'a [u32],
    /// Order of sealing.
    pub seal_order: &'a [u64],
    /// Resets of the zone so far.
    pub resets: &'a [u32],
}

/// A class whose pages are expected to be written again soon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShortLiving {
    /// The class.
    pub class: usize,
    /// Lifespan below which a page counts as short-living.
    pub threshold: u32,
}

/// A read-only view of the zones of a log.
///
/// Methods that take a zone expect a number from 1 to [`len`](Self::len) - 1.
#[derive(Debug, Clone, Copy)]
pub struct ZoneView<'a> {
    pub(crate) columns: ZoneColumns<'a>,
    least_garbage: i32,
    pub(crate) short_living: Option<ShortLiving>,
    /// The rank of each zone among equals; if empty, the zone's number is its rank.
    ranks: &'a [u64],
    is_partial: bool,
}

impl<'a> ZoneView<'a> {
    /// A view of these columns. Every sealed zone with garbage is a candidate; among equals, the
    /// lowest number goes first.
    ///
    /// # Panics
    /// The columns are not of the same length.
    pub fn new(columns: ZoneColumns<'a>) -> Self {
        let ZoneColumns { class, opened_at, sealed_at, seal_order, resets, .. } = columns;
        let lengths =
            [class.len(), opened_at.len(), sealed_at.len(), seal_order.len(), resets.len()];
        assert_eq!(lengths, [columns.garbage.len(); 5], "columns of one table");
        ZoneView { columns, least_garbage: 1, short_living: None, ranks: &[], is_partial: false }
    }

    /// The same zones; only those with at least `garbage` garbage pages are candidates.
    #[must_use]
    pub fn with_least_garbage(self, garbage: u32) -> Self {
        debug_assert!(i32::try_from(garbage).is_ok(), "garbage is counted below 2^31");
        ZoneView { least_garbage: (garbage as i32).max(1), ..self }
    }

    /// The same zones, with the scheme's class of short-living pages.
    #[must_use]
    pub fn with_short_living(self, short_living: Option<ShortLiving>) -> Self {
        ZoneView { short_living, ..self }
    }

    /// The same zones, with a rank for each: among equals, the lowest rank goes first.
    #[must_use]
    pub fn with_ranks(self, ranks: &'a [u64]) -> Self {
        ZoneView { ranks, ..self }
    }

    /// The same zones with another column of garbage, which is negative for zones that shall not be
    /// chosen.
    pub(crate) fn with_garbage(self, garbage: &'a [i32]) -> Self {
        debug_assert_eq!(garbage.len(), self.len(), "columns of one table");
        let columns = ZoneColumns { garbage, ..self.columns };
        ZoneView { columns, is_partial: true, ..self }
    }

    /// True if it hides zones that may be victims.
    pub fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// Number of zones, zone 0 included.
    pub fn len(&self) -> usize {
        self.columns.garbage.len()
    }

    /// True if there is no zone but zone 0.
    pub fn is_empty(&self) -> bool {
        self.len() <= 1
    }

    /// Pages in a zone.
    #[inline(always)]
    pub fn zone_pages(&self) -> u32 {
        self.columns.zone_pages
    }

    /// Time: user page writes so far, modulo 2^32.
    #[inline(always)]
    pub fn now(&self) -> u32 {
        self.columns.now
    }

    /// All zones that may be victims, by number.
    pub fn candidates(&self) -> impl Iterator<Item = u32> + use<'a> {
        let least = self.least_garbage;
        let zones = (0u32..).zip(self.columns.garbage);
        zones.filter(move |&(_, &garbage)| garbage >= least).map(|(zone, _)| zone)
    }

    /// True if the zone may be a victim: sealed, readable, with enough garbage.
    #[inline(always)]
    pub fn is_candidate(&self, zone: u32) -> bool {
        self.columns.garbage[zone as usize] >= self.least_garbage
    }

    /// The fewest garbage pages of a candidate, at least 1.
    pub(crate) fn least_garbage(&self) -> i32 {
        self.least_garbage
    }

    /// True if the zone is sealed. Each slot then holds a page, or was left over when the zone was
    /// sealed early; left-over slots count as garbage.
    #[inline(always)]
    pub fn is_sealed(&self, zone: u32) -> bool {
        self.columns.garbage[zone as usize] >= 0
    }

    /// Garbage pages of a sealed zone, 0 for any other.
    #[inline(always)]
    pub fn garbage(&self, zone: u32) -> u32 {
        self.columns.garbage[zone as usize].max(0) as u32
    }

    /// Valid pages of a sealed zone, 0 for any other.
    #[inline(always)]
    pub fn valid(&self, zone: u32) -> u32 {
        match self.is_sealed(zone) {
            true => {
                debug_assert!(self.garbage(zone) <= self.zone_pages(), "garbage lies in its zone");
                self.zone_pages() - self.garbage(zone)
            }
            false => 0,
        }
    }

    /// Class of an open or sealed zone.
    #[inline(always)]
    pub fn class(&self, zone: u32) -> usize {
        usize::from(self.columns.class[zone as usize])
    }

    /// Open and sealed zones of a class.
    pub(crate) fn of_class(&self, class: u8) -> u32 {
        self.columns.class.iter().filter(|&&of| of == class).count() as u32
    }

    /// Time of the first append to an open or sealed zone.
    #[inline(always)]
    pub fn opened_at(&self, zone: u32) -> u32 {
        self.columns.opened_at[zone as usize]
    }

    /// Time at which a sealed zone was full, or opened if it was sealed for its garbage.
    #[inline(always)]
    pub fn sealed_at(&self, zone: u32) -> u32 {
        self.columns.sealed_at[zone as usize]
    }

    /// User writes since a zone was full, or opened if it was sealed for its garbage.
    #[inline(always)]
    pub fn age(&self, zone: u32) -> u32 {
        self.now().wrapping_sub(self.sealed_at(zone))
    }

    /// The place of a sealed zone in the order of sealing; of two zones the lower was sealed first.
    #[inline(always)]
    pub fn seal_order(&self, zone: u32) -> u64 {
        self.columns.seal_order[zone as usize]
    }

    /// Resets of the zone so far.
    #[inline(always)]
    pub fn resets(&self, zone: u32) -> u32 {
        self.columns.resets[zone as usize]
    }

    /// Among equals, the zone with the smallest rank is taken.
    pub fn rank(&self, zone: u32) -> u64 {
        self.ranks.get(zone as usize).copied().unwrap_or(u64::from(zone))
    }

    /// True if zones are ranked by something other than their numbers.
    pub(crate) fn is_ranked(&self) -> bool {
        !self.ranks.is_empty()
    }
}

/// Zones for the tests of this crate.
#[cfg(test)]
pub(crate) mod table {
    use super::{ZoneColumns, ZoneView};

    /// Sealed zones, from number 1 on.
    #[derive(Debug, Clone)]
    pub(crate) struct ZoneRows {
        pub zone_pages: u32,
        pub now: u32,
        pub resets: Vec<u32>,
        pub ranks: Vec<u64>,
        garbage: Vec<i32>,
        class: Vec<u8>,
        sealed_at: Vec<u32>,
        seal_order: Vec<u64>,
    }

    impl ZoneRows {
        pub(crate) fn new(zone_pages: u32) -> Self {
            ZoneRows {
                zone_pages,
                now: 0,
                resets: vec![0],
                ranks: Vec::new(),
                garbage: vec![-1],
                class: vec![u8::MAX],
                sealed_at: vec![0],
                seal_order: vec![0],
            }
        }

        /// Adds a sealed zone.
        pub(crate) fn seal(&mut self, class: usize, garbage: i32, sealed_at: u32) -> u32 {
            let zone = self.garbage.len() as u32;
            self.garbage.push(garbage);
            self.class.push(class as u8);
            self.sealed_at.push(sealed_at);
            self.seal_order.push(u64::from(zone));
            self.resets.push(0);
            zone
        }

        /// A page of a zone that has valid ones becomes garbage.
        pub(crate) fn discard(&mut self, zone: u32) {
            let garbage = &mut self.garbage[zone as usize];
            *garbage = (*garbage + 1).min(self.zone_pages as i32);
        }

        /// A zone is freed, written and sealed again.
        pub(crate) fn replace(&mut self, zone: u32, garbage: i32) {
            self.garbage[zone as usize] = garbage;
            self.sealed_at[zone as usize] = self.now;
        }

        pub(crate) fn view(&self) -> ZoneView<'_> {
            ZoneView::new(ZoneColumns {
                zone_pages: self.zone_pages,
                now: self.now,
                garbage: &self.garbage,
                class: &self.class,
                opened_at: &self.sealed_at,
                sealed_at: &self.sealed_at,
                seal_order: &self.seal_order,
                resets: &self.resets,
            })
            .with_ranks(&self.ranks)
        }
    }
}
