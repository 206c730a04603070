//! Repair: what only parity has is written anew, and zones that lost a part are given up.

use std::collections::BTreeSet;

use frostline_zone::ZoneState;

use crate::face::finding::Finding;
use crate::face::scrub::{Pass, ScrubReport};
use crate::{Store, StoreError};

impl Store {
    /// True if the device keeps parity: without it there is nothing that [`Store::repair`] could
    /// repair pages from.
    pub fn has_parity(&self) -> bool {
        self.engine.core.device.geometry().parity.is_some()
    }

    /// Reads every valid page as [`Store::scrub`] does, and its parity. The zones of pages that
    /// only parity has, of pages whose parity is wrong, and zones that lost one of their parts are
    /// copied elsewhere and reset; one that can't be reset is not used any more. Then all metadata
    /// are written anew. What can't be read even so is left as it is.
    ///
    /// # Errors
    /// As for [`Store::scrub`] and [`Store::sync`]; a store that is too full to copy a zone.
    pub fn repair(
        &self,
        rate: Option<u64>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<ScrubReport, StoreError> {
        let Pass { mut report, lacking } = self.pass(rate, progress, true)?;
        if !self.has_parity() {
            return Ok(report);
        }
        let mut zones: BTreeSet<u32> = lacking.iter().filter_map(|(_, f)| f.zone).collect();
        let worn = self.worn()?;
        zones.extend(&worn);
        zones.iter().try_for_each(|&zone| self.engine.upkeep.move_away(zone))?;
        self.engine.checkpoint(true)?;
        let mut page = vec![0; crate::format::PAGE];
        for (lba, finding) in lacking {
            let before = self.read_by_parity();
            let read = self.engine.reader.read_record(lba, &mut page);
            let is_repaired = read.is_ok() && self.read_by_parity() == before;
            let findings = if is_repaired { &mut report.repaired } else { &mut report.findings };
            findings.push(finding);
        }
        let left: BTreeSet<u32> = self.zones_in_use()?;
        for zone in worn {
            let what =
                "it lost a part: its pages were copied to other zones, and it is not used any more";
            let (findings, what) = match left.contains(&zone) {
                false => (&mut report.repaired, what),
                true => {
                    (&mut report.findings, "it lost a part, and holds pages that can't be copied")
                }
            };
            findings.push(Finding::at(zone, 0, None, what));
        }
        Ok(report)
    }

    /// Zones that hold pages, and can't be written or reset any more.
    fn worn(&self) -> Result<Vec<u32>, StoreError> {
        let zones = self.engine.core.device.report(0, self.engine.core.device.geometry().zones)?;
        let in_use = self.zones_in_use()?;
        let is_worn = |zone: &u32| zones[*zone as usize].state == ZoneState::ReadOnly;
        Ok(in_use.into_iter().filter(is_worn).collect())
    }

    /// Zones of the device that hold valid pages.
    fn zones_in_use(&self) -> Result<BTreeSet<u32>, StoreError> {
        let state = self.engine.core.state()?;
        let images = state.log().images();
        let holds = images.iter().filter(|image| image.used > image.garbage);
        Ok(holds.map(|image| state.zones().get(image.zone).device_zone).collect())
    }
}
