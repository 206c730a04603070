//! Shares: the garbage proportion and the over-provisioning of a replay, and others.

use std::ops::RangeInclusive;

/// A share is outside its bounds.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("must be from {} to {}", bounds.start(), bounds.end())]
pub struct ShareError {
    value: f64,
    bounds: RangeInclusive<f64>,
}

impl ShareError {
    /// The share that was meant if the value is in percent, as text: `0.10` for 10.
    pub fn meant(&self) -> Option<String> {
        let share = self.value / 100.0;
        let is_percent = self.value >= 1.0 && self.bounds.contains(&share);
        is_percent.then(|| {
            let digits = if self.value.fract() == 0.0 { 2 } else { 4 };
            format!("{share:.digits$}")
        })
    }
}

/// The value, if it is within the bounds of a share.
///
/// # Errors
/// It is outside them, or is not a number.
pub fn share(value: f64, bounds: RangeInclusive<f64>) -> Result<f64, ShareError> {
    if bounds.contains(&value) { Ok(value) } else { Err(ShareError { value, bounds }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_are_told_from_a_share_and_other_values_are_only_refused() {
        let meant = |value: f64| share(value, 0.0001..=0.9).map_err(|error| error.meant());
        assert_eq!(meant(0.15), Ok(0.15));
        let percent =
            [(10.0, "0.10"), (15.0, "0.15"), (7.0, "0.07"), (7.5, "0.0750"), (1.0, "0.01")];
        for (value, share) in percent {
            assert_eq!(meant(value), Err(Some(share.to_string())));
        }
        for value in [0.0, -10.0, 0.95, 91.0, 1500.0, f64::NAN, f64::INFINITY] {
            assert_eq!(meant(value), Err(None), "{value}");
        }
    }
}
