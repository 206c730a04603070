//! Space over data that a store may take: it follows the garbage proportion above which it is
//! cleaned.
//!
//! The *data* are the images of all pages. Beside them a store has deltas and tails, headers and
//! padding, and garbage. What it would take without garbage is measured, as a multiple of the data;
//! what is left up to the target is for garbage. So the trigger rises as deltas are merged, and
//! falls as they grow, and the target is met without a loop that has to converge.

use std::ops::RangeInclusive;

use crate::StoreError;
use crate::state::State;
use crate::state::written::Written;

/// The targets that can be given.
const TARGETS: RangeInclusive<f64> = 1.01..=100.0;

/// The garbage proportions between which a target moves the trigger.
const SHARES: RangeInclusive<f64> = 0.05..=0.95;

/// A target that makes cleaning copy more than so many bytes for each that the user writes is not
/// met: the least garbage proportion rises until it copies less.
const MOST_COPIES: u64 = 4;

/// The least garbage proportion changes by this much,
const STEP: f64 = 0.01;

/// whenever the user has written so many zones.
const STEP_ZONES: u64 = 8;

/// Space over data that the store may take, and what it costs.
pub(crate) struct SpaceTarget {
    target: f64,
    /// The least garbage proportion.
    least: f64,
    /// Bytes written when it was last changed: by the user, and copied.
    written: (u64, u64),
}

impl SpaceTarget {
    /// A target that was asked for.
    pub(crate) fn new(target: f64) -> Result<Self, StoreError> {
        match TARGETS.contains(&target) {
            true => Ok(SpaceTarget { target, least: *SHARES.start(), written: (0, 0) }),
            false => {
                let why = format!("{target} is not from 1.01 to 100");
                Err(StoreError::Options { what: "space over data", why })
            }
        }
    }

    /// Raises the least garbage proportion while cleaning copies too much, and lowers it again. The
    /// user has written so many bytes, and cleaning copied so many.
    fn limit_copies(&mut self, user: u64, copied: u64, zone_bytes: u64) {
        let (user_before, copied_before) = self.written;
        let new = user - user_before;
        if new < STEP_ZONES * zone_bytes {
            return;
        }
        let step = if copied - copied_before > MOST_COPIES * new { STEP } else { -STEP };
        self.least = (self.least + step).clamp(*SHARES.start(), *SHARES.end());
        self.written = (user, copied);
    }

    /// The garbage proportion that meets the target if without garbage the store would take so many
    /// times the space of its data.
    fn share(&self, without_garbage: f64) -> f64 {
        (1.0 - without_garbage / self.target).clamp(self.least, *SHARES.end())
    }
}

impl State {
    /// From now on the store takes so much space over its data.
    pub(crate) fn aim_at(&mut self, mut target: SpaceTarget) -> Result<(), StoreError> {
        target.written = (self.written.user_bytes, self.written.relocated_bytes);
        self.space_target = Some(target);
        self.follow_target()
    }

    /// Moves the trigger of cleaning to where the target of space has it now.
    pub(crate) fn follow_target(&mut self) -> Result<(), StoreError> {
        let Some(mut target) = self.space_target.take() else { return Ok(()) };
        let zone_bytes = u64::from(self.layout.zone_units()) * u64::from(self.layout.sizes.unit());
        let Written { user_bytes, relocated_bytes, .. } = self.written;
        target.limit_copies(user_bytes, relocated_bytes, zone_bytes);
        let ((_, written), data) = (self.written_bytes(), self.data_bytes());
        if data > 0 && written > 0 {
            let valid = 1.0 - self.volume.log().garbage_proportion();
            let share = target.share(written as f64 / data as f64 * valid);
            self.volume.log_mut().set_gp(share)?;
        }
        self.space_target = Some(target);
        Ok(())
    }
}
