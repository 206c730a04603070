//! Parts that schemes with knowledge of the future share: deaths, and logarithmic classes of
//! lifespans.

use crate::{BuildError, NEVER, PageState, Param, Setup, UserWrite};

/// The time at which a page will be invalidated.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct Death(u32);

impl PageState for Death {}

impl Death {
    /// The death of the version that is being written.
    #[inline(always)]
    pub fn of(write: &UserWrite) -> Self {
        // Lifespans are known only for traces shorter than 2^32 writes, so only the death of a
        // frozen page saturates.
        Death(write.now.saturating_add(write.lifespan))
    }

    /// User writes from `now` to the death; `None` if the page is frozen.
    #[inline(always)]
    pub fn remaining(self, now: u32) -> Option<u32> {
        (self.0 != NEVER).then(|| self.0.saturating_sub(now))
    }
}

/// The parameter that chooses the base of the logarithm.
pub(crate) const BASE: Param = Param::real("base", 2.0, 1.01..=1000.0, "base of the logarithm");

/// Upper bounds of logarithmic classes: `base^k` zones' worth of user writes, for k from 0.
pub(crate) fn log_cuts(setup: &Setup<'_>, base: f64, cuts: usize) -> Vec<u32> {
    let cut = |k: usize| f64::from(setup.zone_pages) * base.powi(k as i32);
    (0..cuts).map(|k| cut(k).min(f64::from(NEVER - 1)) as u32).collect()
}

/// The logarithmic class of every LBA, by its mean lifespan over the whole trace.
///
/// # Errors
/// The trace was not annotated with mean lifespans.
pub(crate) fn rate_classes(
    setup: &Setup<'_>,
    cuts: &[u32],
    name: &'static str,
) -> Result<Vec<u8>, BuildError> {
    let means = setup.mean_lifespans.ok_or(BuildError::NeedsForesight { name })?;
    let class = |&mean: &f32| cuts.partition_point(|&cut| f64::from(mean) > f64::from(cut)) as u8;
    Ok(means.iter().map(class).collect())
}
