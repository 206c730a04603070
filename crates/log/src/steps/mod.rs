//! The log step by step, for a driver that keeps the map.
//!
//! The driver passes a page's map entry and puts it back with the new slot; the copy in the old
//! slot is then garbage at once. So the decisions about classes and victims are those of a replay,
//! however long the driver takes to write a page. Until the page is written, its old copy may be
//! the only one on the medium: the driver must not erase a released zone before.

mod merge;

use bytemuck::Zeroable;
use frostline_placement::{
    FOLLOWING_MOST, Hotness, NEVER, Pages, Relocation, Request, Scheme, UserWrite, VictimPolicy,
    ZoneEvent,
};

pub use self::merge::{MergeUnits, takes_delta};

use crate::map::{Map, PageEntry};
use crate::places::{Extent, Slot, Units};
use crate::survey::{Survey, sees_others};
use crate::zone_log::{Numbering, Options, Placed, ZoneImage, ZoneLog};
use crate::{LogError, MAX_LBA};

/// The LBA that a scheme sees for this one: a driver may have more than 31 bits number, and then
/// some share one.
pub fn scheme_lba(lba: u64) -> u32 {
    lba as u32 & MAX_LBA
}

/// A page write of the user that is being placed.
pub(crate) struct Write<'a> {
    /// The LBA.
    pub lba: u64,
    /// True if this version lives to the end of the trace.
    pub last: bool,
    /// User writes until the LBA is written again or trimmed; [`NEVER`] if that is not known.
    pub lifespan: u32,
    /// The units of its record.
    pub units: Units,
    /// The request that begins with this write, if one does.
    pub request: Option<Request>,
    /// Pages of the same request that follow.
    pub following: u8,
    /// The hotness record, if the engine gave one.
    pub hotness: Option<&'a Hotness>,
}

/// A log over a driver's map.
pub struct Steps<S, M> {
    log: ZoneLog<S>,
    map: M,
    survey: Survey,
}

impl<S: Scheme, M: Map<S::Page>> Steps<S, M> {
    /// An empty log over the driver's map, which must be empty.
    ///
    /// # Errors
    /// The options are not valid, the scheme has more classes than zones may be open, or memory is
    /// short.
    pub fn over(
        options: Options,
        scheme: S,
        policy: Box<dyn VictimPolicy>,
        map: M,
    ) -> Result<Self, LogError> {
        let log = ZoneLog::new(options, scheme, policy, Numbering::None)?;
        Ok(Steps::new(log, map))
    }

    pub(crate) fn new(log: ZoneLog<S>, map: M) -> Self {
        Steps { log, map, survey: Survey::default() }
    }

    /// The zones.
    pub fn log(&self) -> &ZoneLog<S> {
        &self.log
    }

    /// The zones, for steps that need no map.
    pub fn log_mut(&mut self) -> &mut ZoneLog<S> {
        &mut self.log
    }

    /// The map.
    pub fn map(&self) -> &M {
        &self.map
    }

    /// The map, for its driver.
    pub fn map_mut(&mut self) -> &mut M {
        &mut self.map
    }

    /// The scheme and the map, for a driver that loads pages' states into the map, which the scheme
    /// must then [clamp](Scheme::clamp).
    pub fn scheme_and_map(&mut self) -> (&S, &mut M) {
        (self.log.scheme(), &mut self.map)
    }

    /// Restores an earlier state in an empty log: `valid` pages in these zones at time `now`. The
    /// driver restores the map before. The scheme sees the zones being opened and sealed, as if it
    /// happened now.
    ///
    /// # Errors
    /// The images contradict each other or the options.
    pub fn restore(&mut self, now: u32, valid: u64, images: &[ZoneImage]) -> Result<(), LogError> {
        self.survey.reach = self.map.reach();
        self.log.restore(now, valid, images)
    }

    pub(crate) fn restart(&mut self, scheme: S) {
        self.survey.restart();
        self.log.restart(scheme);
    }

    /// Places a page written by the user, a request of its own for schemes that go by requests,
    /// with the number of pages that follow in its request, and its hotness record if the engine
    /// gave one. Does not clean: see [`ZoneLog::begin_cleaning`].
    ///
    /// # Errors
    /// The LBA is beyond the map, the record is longer than a page, or the log already holds its
    /// logical pages or has no room. The driver must then not put the entry back.
    pub fn place_user(
        &mut self,
        lba: u64,
        entry: &mut PageEntry<S::Page>,
        units: Units,
        following: u8,
        hotness: Option<&Hotness>,
    ) -> Result<Placed, LogError> {
        let (now, valid) = (self.log.now(), self.log.valid_pages());
        let request = Some(Request { lba: scheme_lba(lba), pages: 1, now, valid });
        let (last, lifespan) = (false, NEVER);
        let write = Write { lba, last, lifespan, units, request, following, hotness };
        self.place_write(entry, &write)
    }

    /// Places a page written by the user.
    pub(crate) fn place_write(
        &mut self,
        entry: &mut PageEntry<S::Page>,
        write: &Write<'_>,
    ) -> Result<Placed, LogError> {
        let &Write { lba, last, lifespan, units, request, following, hotness } = write;
        self.check_lba(lba)?;
        let most = self.log.options().page_units;
        if !(1..=most).contains(&units.after) {
            return Err(LogError::Units { units: units.after, most });
        }
        let slot @ Slot { zone: old, offset } = entry.slot;
        let first = old == 0;
        if !first {
            self.log.check_valid(Extent { slot, units: units.before })?;
        }
        self.log.check_room(first)?;
        if let Some(request) = request.filter(|_| S::WANTS.requests) {
            self.log.scheme_mut().on_request(&request);
        }
        self.log.tick();
        self.sweep_if_due(entry);
        self.show_others(lba);
        let write = UserWrite {
            lba: scheme_lba(lba),
            now: self.log.now(),
            first,
            zone: old,
            offset: offset / most,
            class: self.log.zones().class(old),
            valid: self.log.valid_pages(),
            last,
            lifespan,
            following: following.min(FOLLOWING_MOST),
            kind: self.log.options().kind(lba),
            hotness,
        };
        let class = self.log.scheme_mut().place_user(&write, &mut entry.page);
        let placed = self.log.append_user(lba, class, old, units)?;
        debug_assert_ne!(placed.slot, entry.slot, "a log writes nothing in place");
        entry.slot = placed.slot;
        Ok(placed)
    }

    /// Trims a page whose record has `units` units: they become garbage, and the page counts as
    /// never written, so that its next write is a first one. The time does not advance, and
    /// cleaning waits for the next write. False if the page has no slot.
    ///
    /// # Errors
    /// The LBA is beyond the map.
    pub fn trim_entry(
        &mut self,
        lba: u64,
        entry: &mut PageEntry<S::Page>,
        units: u32,
    ) -> Result<bool, LogError> {
        self.check_lba(lba)?;
        let slot = entry.slot;
        if slot.zone != 0 {
            self.log.check_valid(Extent { slot, units })?;
        }
        let now = self.log.now();
        let page = (slot.zone != 0).then_some(&entry.page);
        self.log.scheme_mut().on_trim(scheme_lba(lba), page, now);
        *entry = PageEntry::zeroed();
        if slot.zone != 0 {
            self.log.trim(slot.zone, units);
        }
        Ok(slot != Slot::NONE)
    }

    /// The classes that the scheme gives the valid pages of a victim at once: to all, some or none
    /// of them. A scheme that does not place batches
    /// ([`Wants::batches`](frostline_placement::Wants::batches)) gives none.
    pub fn place_batch(&mut self, zone: u32, pages: &Pages<'_, S::Page>) -> Vec<Option<u8>> {
        let mut classes = vec![None; pages.lbas.len()];
        if self.offers_batch(zone) {
            let victim = self.log.victim(zone);
            assert_eq!(pages.states.len(), pages.lbas.len(), "each page has a state");
            self.log.scheme_mut().place_batch(&victim, pages, &mut classes);
            assert_eq!(classes.len(), pages.lbas.len(), "each page has a class or none");
        }
        classes
    }

    /// True if the scheme places the pages of a victim as a batch.
    pub(crate) fn offers_batch(&self, zone: u32) -> bool {
        let scheme = self.log.scheme();
        scheme.wants().batches && scheme.destination(&self.log.event(zone)).is_none()
    }

    /// Places a valid page of a victim as a record of so many units. `None` if the page is no
    /// longer in this slot.
    ///
    /// # Errors
    /// No slot is left.
    pub fn place_relocation(
        &mut self,
        lba: u64,
        entry: &mut PageEntry<S::Page>,
        from: Extent,
        units: u32,
        Given { class, last }: Given,
    ) -> Result<Option<Placed>, LogError> {
        if entry.slot != from.slot {
            return Ok(None);
        }
        self.log.check_valid(from)?;
        let Extent { slot: from, units: before } = from;
        let victim = self.log.event(from.zone);
        let scheme = self.log.scheme_mut();
        let class = match class.map(usize::from).or_else(|| scheme.destination(&victim)) {
            Some(class) => class,
            None => {
                let ZoneEvent { zone, class, now } = victim;
                let relocation = Relocation { lba: scheme_lba(lba), now, zone, class, last };
                scheme.place_relocation(&relocation, &mut entry.page)
            }
        };
        let units = Units { before, after: units };
        let placed = self.log.append_relocation(lba, class, from.zone, units, last)?;
        assert_ne!(placed.slot.zone, from.zone, "a page is copied out of its zone");
        entry.slot = placed.slot;
        Ok(Some(placed))
    }

    /// Checks that a page's LBA is within the map.
    pub(crate) fn check_lba(&self, lba: u64) -> Result<(), LogError> {
        ZoneLog::check_lba(lba, self.map.space())
    }

    /// Clamps the states of all pages, and that of the one being written, of which the map has
    /// another copy, if it is time for that.
    fn sweep_if_due(&mut self, entry: &mut PageEntry<S::Page>) {
        if self.log.sweep_if_due() {
            let (scheme, now) = (self.log.scheme(), self.log.now());
            self.map.each_page(&mut |page| scheme.clamp(page, now));
            scheme.clamp(&mut entry.page, now);
        }
    }

    /// Shows a scheme that sees others the neighbour of the page that the user writes now, and one
    /// page in turn.
    fn show_others(&mut self, lba: u64) {
        if !sees_others(self.log.scheme()) {
            return;
        }
        let (map, now) = (&self.map, self.log.now());
        let at = |lba| if lba < map.space() { map.peek(lba) } else { None };
        self.survey.show(self.log.scheme_mut(), lba, now, at, |_| ());
    }
}

/// What is known of a valid record of a victim.
#[derive(Clone, Copy, Debug, Default)]
pub struct Given {
    /// Its class, if [`Steps::place_batch`] gave it one.
    pub class: Option<u8>,
    /// True if its version lives to the end of the trace.
    pub last: bool,
}
