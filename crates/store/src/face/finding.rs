//! Something that is wrong with a store, and where.

use std::fmt;

use crate::format::leaf::LeafShape;
use crate::{Loss, StoreError};

/// Something that is wrong with a store. What is not known of its place is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Finding {
    /// Zone of the device.
    pub zone: Option<u32>,
    /// Page in it.
    pub page: Option<u32>,
    /// The page concerned; of a leaf of the map the first one.
    pub lba: Option<u32>,
    /// The damage.
    pub what: String,
}

impl Finding {
    pub(crate) fn at(zone: u32, page: u32, lba: Option<u32>, what: impl Into<String>) -> Self {
        Finding { zone: Some(zone), page: Some(page), lba, what: what.into() }
    }

    /// The damage that an error names. An error after which nothing more can be found out stays
    /// one.
    pub(crate) fn of(error: StoreError) -> Result<Self, StoreError> {
        match error {
            StoreError::Damaged { zone, page, why } => Ok(Finding::at(zone, page, None, why)),
            StoreError::Checksum { lba, zone, page } => {
                Ok(Finding::at(zone, page, Some(lba), "it is not what was written there"))
            }
            StoreError::Lost { lba } => {
                let what = "it is lost: the record of its last copy was damaged".to_string();
                Ok(Finding { lba: Some(lba), what, ..Finding::default() })
            }
            StoreError::Device(ref device) if device.is_of_zone() => {
                Ok(Finding { what: device.to_string(), ..Finding::default() })
            }
            other => Err(other),
        }
    }

    /// The pages of a zone that are missing.
    pub(crate) fn of_loss(loss: &Loss) -> Self {
        Finding {
            zone: Some(loss.zone),
            what: format!("it {}", loss.describe()),
            ..Finding::default()
        }
    }

    /// The damage of a leaf of the map that can't be read.
    pub(crate) fn of_leaf(
        shape: LeafShape,
        leaf: u32,
        error: StoreError,
    ) -> Result<Self, StoreError> {
        let is_damaged = matches!(error, StoreError::Damaged { .. });
        let mut finding = Finding::of(error)?;
        finding.lba = Some(shape.pages_of_leaf(leaf).start as u32);
        if !is_damaged {
            // An error of the device does not say what the leaf is for.
            finding.what += &format!("; {}", shape.tells(leaf));
        }
        Ok(finding)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places = [("zone", self.zone), ("page", self.page), ("LBA", self.lba)];
        let known = places.iter().filter_map(|(name, at)| Some(format!("{name} {}", (*at)?)));
        let place = known.collect::<Vec<_>>().join(", ");
        if !place.is_empty() {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.what)
    }
}
