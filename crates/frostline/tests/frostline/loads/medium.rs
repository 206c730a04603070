//! The medium below a database, and the one that a backup makes.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use frostline::Db;
use frostline::zone::{Device, Fault, Faulty, ZoneState, in_memory, with_parity};

use super::draw::Load;

/// The medium below a database.
pub(super) struct World {
    pub faulty: Arc<Faulty>,
    /// Zones of data for each of parity.
    pub data_zones: Option<u32>,
    /// The sets that lost a zone.
    pub lost: BTreeSet<u32>,
}

impl World {
    pub(super) fn of(device: Arc<dyn Device>, seed: u64, data_zones: Option<u32>) -> World {
        World { faulty: Arc::new(Faulty::new(device, seed)), data_zones, lost: BTreeSet::new() }
    }

    pub(super) fn device(&self) -> Arc<dyn Device> {
        match self.data_zones {
            Some(zones) => with_parity(self.faulty.clone(), zones).unwrap(),
            None => self.faulty.clone(),
        }
    }

    /// The machine loses power under a database.
    pub(super) fn lose_power(&mut self, db: Db) {
        self.faulty.crash();
        drop(db);
        self.faulty = Arc::new(self.faulty.restart().unwrap());
    }

    /// A zone is lost soon, in a set that lost none.
    pub(super) fn lose_a_zone(&mut self, load: &mut Load) {
        let Some(data_zones) = self.data_zones else { return };
        // The last zones have the log of the database: if one of them is lost that is written, the
        // database has to be opened again.
        let zone = load.below(self.faulty.geometry().zones as usize / 2) as u32;
        let set = zone / (data_zones + 1);
        if self.lost.len() < 3 && self.lost.insert(set) {
            let wear = Fault::Wear { zone, state: ZoneState::Offline };
            self.faulty.schedule(self.faulty.operations() + 1 + load.below(300) as u64, wear);
        }
    }
}

/// The device of a backup.
pub(super) fn restored(backup: &Path) -> Arc<dyn Device> {
    let target = frostline::Target::new(backup).unwrap();
    let device = in_memory(&frostline_backup::shape(&target).unwrap()).unwrap();
    frostline_backup::restore(&target, &*device).unwrap();
    device
}
