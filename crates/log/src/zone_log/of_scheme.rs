//! What of a log is compiled for each scheme.

use std::ops::{Deref, DerefMut};

use frostline_placement::{Choice, Scheme, VictimPolicy, Watch, ZoneScheme};

use super::capacity::Trigger;
use super::chunk_shape::ZoneChunks;
use super::options::slot_bits;
use super::{Counts, Cursor, Numbering, Options, Padding, SWEEP, ZoneLog, ZoneTable};
use crate::LogError;

/// The shape of a log, once options and scheme are known to fit together.
struct Shape {
    options: Options,
    trigger: Trigger,
    meta_pages: u32,
    max_zones: usize,
    classes: usize,
}

impl Shape {
    fn of(
        options: Options,
        scheme: &dyn ZoneScheme,
        numbering: Numbering,
    ) -> Result<Shape, LogError> {
        let has_numbers = numbering == Numbering::Kept;
        let meta_pages = if has_numbers { scheme.wants().meta_pages } else { 0 };
        if !(16..=1 << 30).contains(&options.zone_pages) || meta_pages >= options.zone_pages {
            return Err(LogError::ZoneSize { pages: options.zone_pages });
        }
        let options = Options { zone_pages: options.zone_pages - meta_pages, ..options };
        let Options { page_units, capacity, max_open, .. } = options;
        if !(1..=Options::MOST_UNITS).contains(&page_units) {
            return Err(LogError::Units { units: page_units, most: Options::MOST_UNITS });
        }
        debug_assert!(options.chunks.is_none_or(|shape| shape.page_units == page_units));
        if page_units > 1 && (meta_pages > 0 || scheme.wants().whole_pages) {
            return Err(LogError::WholePages);
        }
        let classes = scheme.classes().max(1);
        if let Some(limit) = max_open.filter(|&limit| classes > limit) {
            return Err(LogError::TooManyClasses { classes, limit });
        }
        let max_zones = options.most_zones(has_numbers)?;
        let trigger = Trigger::new(capacity)?;
        Ok(Shape { options, trigger, meta_pages, max_zones, classes })
    }
}

impl<S: Scheme> ZoneLog<S> {
    /// The zones of an empty log.
    ///
    /// # Errors
    /// The options are not valid, the scheme has more classes than zones may be open, or memory is
    /// short.
    pub(crate) fn new(
        options: Options,
        scheme: S,
        policy: Box<dyn VictimPolicy>,
        numbering: Numbering,
    ) -> Result<Self, LogError> {
        let shape = Shape::of(options, &scheme, numbering)?;
        let Shape { options, trigger, meta_pages, max_zones, classes } = shape;
        let zone_units = options.zone_pages * options.page_units;
        let mut log = ZoneLog {
            policy,
            watch: Watch::default(),
            options,
            trigger,
            zone_units,
            meta_pages,
            shift: slot_bits(zone_units),
            max_zones,
            zones: ZoneTable::new(zone_units),
            padding: vec![Padding::default()],
            free: Vec::new(),
            open: vec![Cursor::CLOSED; classes],
            open_zones: vec![0; classes],
            chunks: vec![ZoneChunks::default(); classes],
            now: options.start,
            next_sweep: (options.start | (2 * SWEEP - 1)).wrapping_add(1),
            written: 0,
            garbage: 0,
            valid: 0,
            cleaning: false,
            counts: Counts::new(zone_units, classes),
            choice: Choice::default(),
            most_zones: 0,
            scheme,
        };
        log.begin();
        Ok(log)
    }

    /// The scheme.
    pub fn scheme(&self) -> &S {
        &self.scheme
    }

    /// The scheme, for a driver that changes it.
    pub fn scheme_mut(&mut self) -> &mut S {
        &mut self.scheme
    }

    /// Goes on with a scheme that begins anew, as a store does that is closed and opened: the
    /// scheme recalls what the one before remembers, and sees the zones being opened and sealed, as
    /// if it happened now.
    pub(crate) fn restart(&mut self, mut scheme: S) {
        scheme.recall(&self.scheme.memory());
        self.scheme = scheme;
        self.show_zones();
    }
}

impl<S: Scheme> Deref for ZoneLog<S> {
    type Target = ZoneLog;

    #[inline(always)]
    fn deref(&self) -> &ZoneLog {
        self
    }
}

impl<S: Scheme> DerefMut for ZoneLog<S> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut ZoneLog {
        self
    }
}
