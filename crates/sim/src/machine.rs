//! A log volume whose scheme is known only by name.

use std::ops::{Range, RangeInclusive};

use frostline_log::{Counts, LogError, Options, Volume, Writes};
use frostline_placement::registry::Visitor;
use frostline_placement::{Scheme, VictimPolicy};

/// A log volume whose scheme is known only by name.
pub trait Machine {
    /// See [`Volume::write`].
    fn write(&mut self, writes: &Writes<'_>, range: Range<usize>) -> Result<(), LogError>;
    /// Trims pages, see [`Volume::trim`].
    fn trim(&mut self, lbas: RangeInclusive<u32>) -> Result<(), LogError>;
    /// See [`Volume::counts`].
    fn counts(&mut self) -> &Counts;
    /// See [`Volume::reset_counts`].
    fn reset_counts(&mut self);
    /// See [`Volume::peak_bytes`].
    fn peak_bytes(&self) -> usize;
    /// See [`Scheme::gauges`].
    fn gauges(&self) -> Vec<(&'static str, f64)>;
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

    fn counts(&mut self) -> &Counts {
        Volume::counts(self)
    }

    fn reset_counts(&mut self) {
        Volume::reset_counts(self);
    }

    fn peak_bytes(&self) -> usize {
        Volume::peak_bytes(self)
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        self.scheme().gauges()
    }

    fn verify(&self) -> Result<(), String> {
        Volume::verify(self)
    }
}

/// Makes the volume of whatever scheme it is handed.
pub struct MakeMachine {
    /// Layout of the volume.
    pub options: Options,
    /// Its victim policy.
    pub policy: Box<dyn VictimPolicy>,
}

impl Visitor for MakeMachine {
    type Output = Result<Box<dyn Machine>, LogError>;

    fn visit<S: Scheme>(self, scheme: S) -> Self::Output {
        Ok(Box::new(Volume::new(self.options, scheme, self.policy)?))
    }
}
