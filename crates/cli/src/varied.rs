//! The settings that the runs of a sweep differ in, as columns of its table.

use frostline_results::RunReport;
use frostline_sim::{Settings, Space, ZoneSize};

use crate::size::Size;

/// The settings that the runs of a sweep differ in.
pub(crate) struct Varied {
    page_size: u32,
    zones: usize,
    shares: usize,
    /// The option that sets the share of each run.
    share: &'static str,
}

impl Varied {
    /// The options in which these settings, one or more, differ.
    pub(crate) fn of(settings: &[Settings]) -> Varied {
        let (mut zones, mut shares) = (Vec::new(), Vec::new());
        for one in settings {
            zones.extend((!zones.contains(&one.zone_size)).then_some(one.zone_size));
            shares.extend((!shares.contains(&one.space)).then_some(one.space));
        }
        Varied {
            page_size: settings.first().map_or(0, |first| first.page_size),
            zones: zones.len(),
            shares: shares.len(),
            share: if matches!(shares[..], [Space::Op(_), ..]) { "op" } else { "gp" },
        }
    }

    /// The number of sizes of zones.
    pub(crate) fn zones(&self) -> usize {
        self.zones
    }

    /// The number of garbage proportions or shares of over-provisioning.
    pub(crate) fn shares(&self) -> usize {
        self.shares
    }

    /// The headings of their columns.
    pub(crate) fn headings(&self) -> Vec<&'static str> {
        self.chosen("zone", self.share)
    }

    /// Their values for a run.
    pub(crate) fn of_run(&self, run: &RunReport) -> Vec<String> {
        let zone = u64::from(run.zone_pages) * u64::from(self.page_size);
        let share = run.trigger.get(self.share).copied().unwrap_or_default();
        self.chosen(Size(zone).to_string(), share.to_string())
    }

    /// Their values for settings.
    pub(crate) fn of_settings(&self, settings: &Settings) -> Vec<String> {
        let zone = match settings.zone_size {
            ZoneSize::Bytes(bytes) => Size(bytes).to_string(),
            ZoneSize::Auto => String::new(),
        };
        let (Space::Gp(share) | Space::Op(share) | Space::Bounded { gp: share, .. }) =
            settings.space;
        self.chosen(zone, share.to_string())
    }

    /// Those of zone and share that differ.
    fn chosen<T>(&self, zone: T, share: T) -> Vec<T> {
        let zone = (self.zones > 1).then_some(zone);
        zone.into_iter().chain((self.shares > 1).then_some(share)).collect()
    }
}
