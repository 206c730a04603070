//! Which zones have gained enough garbage to matter to a victim policy.
//!
//! A policy sets a limit for each zone that it need not look at before. The log counts garbage
//! anyway, and compares the count with the limit; a zone that reaches it is reported once.

/// Limits of garbage by zone, and the zones that reached theirs.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    limits: Vec<i32>,
    /// Each once, and with the limit [`QUIET`].
    reached: Vec<u32>,
    /// True if limits are set, and all that happened since was reported.
    is_kept: bool,
}

/// The limit of a zone that is not reported: the policy has it in view, or sets no limits.
pub(crate) const QUIET: i32 = i32::MAX;

impl Watch {
    /// Extends the watch to so many zones, zone 0 included.
    pub fn cover(&mut self, zones: usize) {
        let quiet = if self.is_kept { 0 } else { QUIET };
        self.limits.resize(zones, quiet);
        self.reached.reserve(zones - self.reached.len());
    }

    /// The part that runs of writes work on.
    #[inline(always)]
    pub fn bell(&mut self) -> Bell<'_> {
        Bell { limits: &mut self.limits, reached: &mut self.reached }
    }

    /// A zone was sealed: whatever its garbage, it is reported.
    pub fn seal(&mut self, zone: u32) {
        self.bell().note(zone, QUIET - 1);
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.limits.len() * 2 * size_of::<u32>()
    }

    /// True if limits were set, and hold.
    pub(crate) fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// The limits, to be set for all zones. Nothing that happened before is reported.
    pub(crate) fn begin(&mut self) -> &mut [i32] {
        self.is_kept = true;
        self.reached.clear();
        &mut self.limits
    }

    /// Sets the limit of a zone, which was quiet.
    pub(crate) fn set(&mut self, zone: u32, limit: i32) {
        debug_assert_eq!(self.limits[zone as usize], QUIET, "zone {zone} is in view");
        self.limits[zone as usize] = limit;
    }

    /// A zone is in view.
    pub(crate) fn quiet(&mut self, zone: u32) {
        self.limits[zone as usize] = QUIET;
    }

    /// Takes a zone that was reported. It stays quiet.
    pub(crate) fn take(&mut self) -> Option<u32> {
        self.reached.pop()
    }
}

/// The side of a [`Watch`] that counts garbage: it reports zones.
#[derive(Debug)]
pub struct Bell<'a> {
    limits: &'a mut [i32],
    reached: &'a mut Vec<u32>,
}

impl Bell<'_> {
    /// A zone has this number of garbage pages now; negative if it can't be a victim.
    #[inline(always)]
    pub fn note(&mut self, zone: u32, garbage: i32) {
        if garbage >= self.limits[zone as usize] {
            self.ring(zone);
        }
    }

    #[cold]
    fn ring(&mut self, zone: u32) {
        self.limits[zone as usize] = QUIET;
        self.reached.push(zone);
    }
}
