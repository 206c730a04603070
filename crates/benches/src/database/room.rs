//! The default size of a new device.

use frostline_zone::default_zone_bytes;

/// Zones in addition to those that the garbage proportion requires: open ones, free ones, metadata.
const SPARE_ZONES: u64 = 48;

/// The approximate limit of a device's zones.
const MOST_ZONES: u64 = 2048;

/// The fewest zones of a log.
const LOG_ZONES: u64 = 4;

/// The data that need room.
pub(super) struct Room {
    /// Number of databases.
    pub(super) tenants: u64,
    /// Bytes of pages after loading, for each database.
    pub(super) loaded: u64,
    /// Bytes by which a transaction makes the pages grow.
    pub(super) grown: u64,
    /// Transactions of a thread in a second.
    pub(super) rate: u64,
    /// Transactions of each database, if their number is fixed.
    pub(super) transactions: Option<u64>,
    /// Length of the run in seconds, if it is fixed.
    pub(super) seconds: Option<u64>,
    /// Threads of each database.
    pub(super) threads: u64,
    /// Garbage proportion above which the store cleans.
    pub(super) gp: f64,
    /// Bytes of a zone, if they are fixed.
    pub(super) zone: Option<u64>,
    /// Bytes of each log, if they are fixed.
    pub(super) log: Option<u64>,
    /// Bytes of each log otherwise, at least, but for half of the store's.
    pub(super) least_log: u64,
}

/// Sizes of a device, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// The whole device.
    pub(super) device: u64,
    /// A zone.
    pub(super) zone: u64,
    /// The log of each database.
    pub(super) log: u64,
}

impl Room {
    /// Sizes of a device with room for the data.
    pub(super) fn device(&self) -> Sizes {
        let data = self.loaded.saturating_add(self.growth()).saturating_mul(self.tenants);
        // 5 % more, for headers of chunks and metadata.
        let written = data as f64 * 1.05 / (1.0 - self.gp);
        let zone = self.zone.unwrap_or_else(|| {
            let of_loaded = default_zone_bytes(self.loaded.saturating_mul(self.tenants));
            let fewest = (written / MOST_ZONES as f64) as u64;
            of_loaded.max(fewest.next_power_of_two())
        });
        let store = (written as u64).saturating_add(SPARE_ZONES.saturating_mul(zone));
        let log = self.log(store, zone);
        let bytes = store.saturating_add(log.saturating_mul(self.tenants));
        let device = bytes.checked_next_multiple_of(zone.max(1)).unwrap_or(bytes);
        Sizes { device, zone, log }
    }

    /// Bytes by which the pages of each database may grow.
    fn growth(&self) -> u64 {
        let in_time = |seconds: u64| seconds.saturating_mul(self.rate).saturating_mul(self.threads);
        let most = self.seconds.map(in_time).into_iter().chain(self.transactions).min();
        self.grown.saturating_mul(most.unwrap_or(0))
    }

    /// Bytes of each log, if the store takes `store` bytes of the device.
    fn log(&self, store: u64, zone: u64) -> u64 {
        let share = (store / 15).min(1 << 30) / self.tenants;
        let each = self.log.unwrap_or(share.max(self.least_log.min(store / 2)));
        each.div_ceil(zone.max(1)).max(LOG_ZONES).saturating_mul(zone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Room = Room {
        tenants: 1,
        loaded: 440 << 20,
        grown: 512,
        rate: 40_000,
        transactions: None,
        seconds: Some(60),
        threads: 1,
        gp: 0.15,
        zone: None,
        log: None,
        least_log: 8 << 20,
    };

    #[test]
    fn zones_follow_what_is_loaded_and_the_size_what_may_come() {
        let sizes = SMALL.device();
        assert_eq!(sizes.zone, 2 << 20);
        assert!((2 << 30..3 << 30).contains(&sizes.device), "{sizes:?}");
        assert!((100 << 20..200 << 20).contains(&sizes.log), "{sizes:?}");
        let steady = Room { grown: 0, ..SMALL }.device().device;
        assert!((600 << 20..900 << 20).contains(&steady), "{steady}");
        let large = |least_log| Room { least_log, ..SMALL }.device().log;
        assert_eq!(large(1 << 30), 1 << 30);
        assert!(large(1 << 40) < 2 << 30, "{}", large(1 << 40));
        let counted = Room { transactions: Some(1000), ..SMALL }.device().device;
        assert!((steady..steady + (4 << 20)).contains(&counted), "{counted}");
    }

    #[test]
    fn a_long_run_has_larger_zones_instead_of_countless_ones() {
        let sizes = Room { seconds: Some(36_000), ..SMALL }.device();
        assert!(sizes.device / sizes.zone < 2 * MOST_ZONES && sizes.zone == 1 << 29, "{sizes:?}");
    }

    #[test]
    fn what_has_no_room_anywhere_does_not_overflow() {
        let sizes = Room { loaded: u64::MAX, zone: Some(1 << 62), ..SMALL }.device();
        assert_eq!(sizes.device, u64::MAX);
    }
}
