//! The capacity of a volume, and the trigger of cleaning.

use crate::LogError;

/// Thresholds are kept in units of one over this, so that comparisons are exact.
const PARTS: u64 = 1_000_000_000;

/// The capacity of a volume, and the trigger of cleaning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Capacity {
    /// As many zones as needed; cleaned while the garbage proportion exceeds `gp` (SepBIT,
    /// SepFrozen).
    Elastic {
        /// Threshold, above 0 and below 1.
        gp: f64,
    },
    /// A fixed number of zones; cleaned while fewer than `reserve` are free (2R, real drives).
    Fixed {
        /// Zones.
        zones: u32,
        /// Free zones that are kept, at least [`Capacity::RESERVE`].
        reserve: u32,
    },
    /// A fixed number of zones; cleaned while the garbage proportion exceeds `gp` or fewer than
    /// `reserve` zones are free (a store on a device).
    Bounded {
        /// Threshold, above 0 and below 1.
        gp: f64,
        /// Zones.
        zones: u32,
        /// Free zones that are kept, at least [`Capacity::RESERVE`].
        reserve: u32,
    },
}

impl Capacity {
    /// The least reserve: one zone to clean into, one to write.
    pub const RESERVE: u32 = 2;

    /// The number of zones, if it is fixed.
    pub fn zones(&self) -> Option<u32> {
        match *self {
            Capacity::Elastic { .. } => None,
            Capacity::Fixed { zones, .. } | Capacity::Bounded { zones, .. } => Some(zones),
        }
    }

    /// The fixed capacity that over-provisions `pages` pages by `op`, which is (physical - logical)
    /// / logical. It is rounded up to whole zones.
    pub fn over_provisioned(pages: u64, zone_pages: u32, op: f64) -> Self {
        let zones = (pages as f64 * (1.0 + op) / f64::from(zone_pages)).ceil();
        Capacity::Fixed { zones: zones as u32, reserve: Self::RESERVE }
    }
}

/// The trigger in the form that the inner loop needs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trigger {
    /// Cleaning is due while garbage / written > gp / [`PARTS`].
    Garbage { gp: u64 },
    /// Cleaning is due while fewer zones than this are free.
    Free { reserve: usize },
    /// Cleaning is due if one of the two says so.
    Either { gp: u64, reserve: usize },
}

impl Trigger {
    pub(crate) fn new(capacity: Capacity) -> Result<Self, LogError> {
        match capacity {
            Capacity::Elastic { gp } => Ok(Trigger::Garbage { gp: parts(gp)? }),
            Capacity::Fixed { reserve, .. } => Ok(Trigger::Free { reserve: at_least(reserve) }),
            Capacity::Bounded { gp, reserve, .. } => {
                Ok(Trigger::Either { gp: parts(gp)?, reserve: at_least(reserve) })
            }
        }
    }

    /// The same with another garbage proportion, if it has one.
    pub(crate) fn with_gp(self, share: f64) -> Result<Self, LogError> {
        let gp = parts(share)?;
        Ok(match self {
            Trigger::Garbage { .. } => Trigger::Garbage { gp },
            Trigger::Either { reserve, .. } => Trigger::Either { gp, reserve },
            Trigger::Free { reserve } => Trigger::Free { reserve },
        })
    }

    /// True if cleaning is due.
    #[inline(always)]
    pub(crate) fn is_due(self, garbage: u64, written: u64, free: usize) -> bool {
        debug_assert!(garbage <= written, "more garbage than was written");
        match self {
            Trigger::Garbage { gp } => garbage * PARTS > gp * written,
            Trigger::Free { reserve } => free < reserve,
            Trigger::Either { gp, reserve } => garbage * PARTS > gp * written || free < reserve,
        }
    }

    /// True if fewer zones are free than are kept.
    pub(crate) fn lacks_zones(self, free: usize) -> bool {
        match self {
            Trigger::Garbage { .. } => false,
            Trigger::Free { reserve } | Trigger::Either { reserve, .. } => free < reserve,
        }
    }

    /// The least number of user writes, at least 1, before cleaning can be due, if no zone is
    /// opened meanwhile. With I garbage pages of T written, n writes make at most I + n of T + n:
    /// so the inner loop needs no test. In a fixed volume that is short of zones, any write may
    /// make a victim.
    #[inline(always)]
    pub(crate) fn slack(self, garbage: u64, written: u64, free: usize) -> u64 {
        match self {
            Trigger::Free { reserve } | Trigger::Either { reserve, .. } if free < reserve => 1,
            Trigger::Garbage { gp } | Trigger::Either { gp, .. } => {
                (gp * written).saturating_sub(garbage * PARTS) / (PARTS - gp) + 1
            }
            Trigger::Free { .. } => u64::MAX,
        }
    }
}

/// The free zones to keep if `reserve` are asked for.
fn at_least(reserve: u32) -> usize {
    reserve.max(Capacity::RESERVE) as usize
}

/// A garbage proportion in units of one over [`PARTS`].
fn parts(gp: f64) -> Result<u64, LogError> {
    match gp > 0.0 && gp < 1.0 {
        true => Ok(((gp * PARTS as f64).round() as u64).clamp(1, PARTS - 1)),
        false => Err(LogError::GarbageProportion { gp }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn within_the_slack_cleaning_is_never_due_and_after_it_may_be() {
        let trigger = Trigger::new(Capacity::Elastic { gp: 0.15 }).unwrap();
        for written in 0..200u64 {
            for garbage in (0..=written).filter(|&g| !trigger.is_due(g, written, 0)) {
                let n = trigger.slack(garbage, written, 0);
                assert!(n == 1 || !trigger.is_due(garbage + n - 1, written + n - 1, 0));
                assert!(trigger.is_due(garbage + n, written + n, 0));
            }
        }
    }

    #[test]
    fn over_provisioning_is_a_share_of_the_logical_pages() {
        let capacity = Capacity::over_provisioned(1000, 100, 0.1);
        assert_eq!(capacity, Capacity::Fixed { zones: 11, reserve: 2 });
    }
}
