//! A log that a trace is replayed against, with its scheme's type erased.

use std::any::Any;
use std::ops::{Range, RangeInclusive};

use frostline_log::{Counts, LogError, Options, PageReplay, Replay, Writes, ZoneTable};
use frostline_placement::{AnyScheme, Scheme, VictimPolicy, Visitor};

use crate::fast22::{self, Fast22Options};

/// A log that a trace is replayed against, with its scheme's type erased.
pub trait Machine {
    /// See [`Replay::write`].
    fn write(&mut self, writes: &Writes<'_>, range: Range<usize>) -> Result<(), LogError>;
    /// Trims pages, see [`Replay::trim`].
    fn trim(&mut self, lbas: RangeInclusive<u32>) -> Result<(), LogError>;
    /// Ends all chunks, see [`Replay::sync`].
    fn sync(&mut self);
    /// Goes on with a new scheme, if the log has no type of scheme; see [`Replay::restart`].
    fn restart(&mut self, scheme: AnyScheme);
    /// Shows the scheme a read, see [`ZoneLog::read`](frostline_log::ZoneLog::read).
    fn read(&mut self, lba: u32, pages: u32);
    /// See [`ZoneLog::counts`](frostline_log::ZoneLog::counts).
    fn counts(&mut self) -> &Counts;
    /// See [`ZoneLog::reset_counts`](frostline_log::ZoneLog::reset_counts).
    fn reset_counts(&mut self);
    /// See [`Replay::peak_bytes`].
    fn peak_bytes(&self) -> usize;
    /// See [`Scheme::explain`].
    fn explain(&self) -> Vec<String>;
    /// See [`Scheme::gauges`].
    fn gauges(&self) -> Vec<(&'static str, f64)>;
    /// Sealed zones by class, and by tenths of valid pages; empty if the log has no such census.
    fn census(&self) -> Vec<[u32; 10]> {
        Vec::new()
    }
    /// The class that a valid page lies in, from 0, if the log tells.
    fn class_of(&self, lba: u32) -> Option<usize> {
        let _ = lba;
        None
    }
    /// See [`Replay::verify`].
    fn verify(&self) -> Result<(), String>;
}

impl<R: Replay> Machine for R {
    fn write(&mut self, writes: &Writes<'_>, range: Range<usize>) -> Result<(), LogError> {
        Replay::write(self, writes, range)
    }

    fn trim(&mut self, mut lbas: RangeInclusive<u32>) -> Result<(), LogError> {
        lbas.try_for_each(|lba| Replay::trim(self, lba).map(drop))
    }

    fn sync(&mut self) {
        Replay::sync(self);
    }

    fn restart(&mut self, scheme: AnyScheme) {
        let scheme: Box<dyn Any> = Box::new(scheme);
        if let Ok(scheme) = scheme.downcast() {
            Replay::restart(self, *scheme);
        }
    }

    fn read(&mut self, lba: u32, pages: u32) {
        self.log_mut().read(lba, pages);
    }

    fn counts(&mut self) -> &Counts {
        self.log_mut().counts()
    }

    fn reset_counts(&mut self) {
        self.log_mut().reset_counts();
    }

    fn peak_bytes(&self) -> usize {
        Replay::peak_bytes(self)
    }

    fn explain(&self) -> Vec<String> {
        self.log().scheme().explain()
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        self.log().scheme().gauges()
    }

    fn census(&self) -> Vec<[u32; 10]> {
        census(self.log().zones(), self.log().scheme().classes())
    }

    fn class_of(&self, lba: u32) -> Option<usize> {
        self.slot_of(lba).map(|slot| self.log().zones().class(slot.zone))
    }

    fn verify(&self) -> Result<(), String> {
        Replay::verify(self)
    }
}

/// Sealed zones by class, and by tenths of valid pages.
fn census(zones: &ZoneTable, classes: usize) -> Vec<[u32; 10]> {
    let all = zones.zone_pages();
    let mut census = vec![[0; 10]; classes];
    for zone in (1..zones.len() as u32).filter(|&zone| zones.is_sealed(zone)) {
        assert!(zones.garbage(zone) <= all, "garbage lies in its zone");
        let tenths = u64::from(all - zones.garbage(zone)) * 10 / u64::from(all);
        if let Some(class) = census.get_mut(zones.class(zone)) {
            class[tenths.min(9) as usize] += 1;
        }
    }
    census
}

/// Makes a log of whole pages for the type of scheme that it visits: only this is compiled for each
/// scheme.
pub(crate) struct InPages(pub Options, pub Box<dyn VictimPolicy>);

impl Visitor for InPages {
    type Output = Result<Box<dyn Machine>, LogError>;

    fn visit<S: Scheme>(self, scheme: S) -> Self::Output {
        let InPages(options, policy) = self;
        Ok(Box::new(PageReplay::new(options, scheme, policy)?))
    }
}

/// The log that a run is made over.
pub(crate) enum Log<'a> {
    /// The log in the papers' reading.
    Published(Options, Box<dyn VictimPolicy>),
    /// The log of the simulator published with SepBIT, with the trace's times.
    Fast22(Fast22Options, fast22::Policy, Option<&'a [u64]>),
}
