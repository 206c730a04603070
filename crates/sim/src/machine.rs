//! A log that a trace is replayed against, with its scheme's type erased.

use std::any::Any;
use std::ops::{Range, RangeInclusive};

use frostline_log::{Counts, LogError, Options, Volume, Writes, ZoneTable};
use frostline_placement::{AnyScheme, Scheme, VictimPolicy, Visitor};

use crate::fast22::{self, Fast22Options};

/// A log that a trace is replayed against, with its scheme's type erased.
pub trait Machine {
    /// See [`Volume::write`].
    fn write(&mut self, writes: &Writes<'_>, range: Range<usize>) -> Result<(), LogError>;
    /// Trims pages, see [`Volume::trim`].
    fn trim(&mut self, lbas: RangeInclusive<u32>) -> Result<(), LogError>;
    /// Ends all chunks, see [`Volume::end_chunks`].
    fn sync(&mut self);
    /// Goes on with a new scheme, if the log has no type of scheme; see [`Volume::restart`].
    fn restart(&mut self, scheme: AnyScheme);
    /// Shows the scheme a read, see [`Volume::read`].
    fn read(&mut self, lba: u32, pages: u32);
    /// See [`Volume::counts`].
    fn counts(&mut self) -> &Counts;
    /// See [`Volume::reset_counts`].
    fn reset_counts(&mut self);
    /// See [`Volume::peak_bytes`].
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
    /// See [`Volume::verify`].
    fn verify(&self) -> Result<(), String>;
}

impl<S: Scheme> Machine for Volume<S> {
    fn write(&mut self, writes: &Writes<'_>, range: Range<usize>) -> Result<(), LogError> {
        Volume::write(self, writes, range)
    }

    fn trim(&mut self, mut lbas: RangeInclusive<u32>) -> Result<(), LogError> {
        lbas.try_for_each(|lba| Volume::trim(self, lba).map(drop))
    }

    fn sync(&mut self) {
        if let Some(volume) = without_type(self) {
            volume.end_chunks();
        }
    }

    fn restart(&mut self, scheme: AnyScheme) {
        if let Some(volume) = without_type(self) {
            volume.restart(scheme);
        }
    }

    fn read(&mut self, lba: u32, pages: u32) {
        Volume::read(self, lba, pages);
    }

    fn counts(&mut self) -> &Counts {
        Volume::counts(self)
    }

    fn reset_counts(&mut self) {
        Volume::reset_counts(self);
    }

    fn peak_bytes(&self) -> usize {
        Volume::peak_bytes(self)
    }

    fn explain(&self) -> Vec<String> {
        self.scheme().explain()
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        self.scheme().gauges()
    }

    fn census(&self) -> Vec<[u32; 10]> {
        census(self.zones(), self.scheme().classes())
    }

    fn class_of(&self, lba: u32) -> Option<usize> {
        self.slot_of(lba).map(|slot| self.zones().class(slot.zone))
    }

    fn verify(&self) -> Result<(), String> {
        Volume::verify(self)
    }
}

/// A volume as one without the type of its scheme, which all that have chunks and begin anew are.
fn without_type<S: Scheme>(volume: &mut Volume<S>) -> Option<&mut Volume<AnyScheme>> {
    (volume as &mut dyn Any).downcast_mut()
}

/// Sealed zones by class, and by tenths of valid pages.
fn census(zones: &ZoneTable, classes: usize) -> Vec<[u32; 10]> {
    let all = zones.zone_pages();
    let mut census = vec![[0; 10]; classes];
    for zone in (1..zones.len() as u32).filter(|&zone| zones.is_sealed(zone)) {
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
        Ok(Box::new(Volume::new(options, scheme, policy)?))
    }
}

/// The log that a run is made over.
pub(crate) enum Log<'a> {
    /// The log in the papers' reading.
    Published(Options, Box<dyn VictimPolicy>),
    /// The log of the simulator published with SepBIT, with the trace's times.
    Fast22(Fast22Options, fast22::Policy, Option<&'a [u64]>),
}
