//! Counts as they are kept in a file, from which they come back as they were.

use frostline_log::{ClassCounts, Counts};
use serde::{Deserialize, Serialize};

/// The fields of [`Counts`], for serde.
#[derive(Deserialize, Serialize)]
#[serde(remote = "Counts")]
pub(crate) struct StoredCounts {
    user_writes: u64,
    relocations: u64,
    user_units: u64,
    relocated_units: u64,
    #[serde(default)]
    delta_writes: u64,
    #[serde(default)]
    merges: u64,
    frozen_relocations: u64,
    runs: u64,
    cleanings: u64,
    zones_reclaimed: u64,
    stalls: u64,
    spilled: u64,
    meta_pages: u64,
    skipped: u64,
    #[serde(with = "victims")]
    victim_garbage: Vec<u64>,
    #[serde(with = "classes")]
    classes: Vec<ClassCounts>,
}

/// Victims by garbage: the length of the list, and its numbers other than 0 with their places.
mod victims {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// The most units of a zone that are believed of a file.
    const MOST: usize = 1 << 30;

    pub(super) fn serialize<S: Serializer>(victims: &[u64], to: S) -> Result<S::Ok, S::Error> {
        let some: Vec<_> = victims.iter().enumerate().filter(|(_, zones)| **zones > 0).collect();
        (victims.len(), some).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u64>, D::Error> {
        let (len, some) = <(usize, Vec<(usize, u64)>)>::deserialize(from)?;
        if len > MOST || some.iter().any(|&(garbage, _)| garbage >= len) {
            return Err(D::Error::custom("a victim has more garbage than a zone"));
        }
        let mut victims = vec![0; len];
        for (garbage, zones) in some {
            victims[garbage] = zones;
        }
        Ok(victims)
    }
}

/// Page writes by class, as pairs of user writes and relocations.
mod classes {
    use frostline_log::ClassCounts;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        classes: &[ClassCounts],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(classes.iter().map(|class| (class.user_writes, class.relocations)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<ClassCounts>, D::Error> {
        let pairs = Vec::<(u64, u64)>::deserialize(from)?;
        let class = |(user_writes, relocations)| ClassCounts { user_writes, relocations };
        Ok(pairs.into_iter().map(class).collect())
    }
}
