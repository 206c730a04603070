//! Every content of a store, read and compared with its sum.

use std::time::{Duration, Instant};

use crate::Store;
use crate::StoreError;
use crate::finding::Finding;
use crate::format::PAGE;
use crate::sync::sleep;

/// The result of [`Store::scrub`].
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct ScrubReport {
    /// Everything that can't be read any more; empty if all is well.
    pub findings: Vec<Finding>,
    /// Pages that were read.
    pub pages: u64,
    /// Bytes that were read.
    pub bytes: u64,
}

impl Store {
    /// Reads every valid page, in order of LBAs, and compares it with its sum; goes on after
    /// damage. No more than `rate` bytes a second are read, if one is given. `progress` is
    /// called after each page with the number of pages read. Others may use the store meanwhile.
    ///
    /// # Errors
    /// A device or a store that no longer works at all. Damage is no error, but a [`Finding`].
    pub fn scrub(
        &self,
        rate: Option<u64>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<ScrubReport, StoreError> {
        let (begun, mut report) = (Instant::now(), ScrubReport::default());
        let mut page = vec![0; PAGE];
        let leaves = self.inner.state()?.volume.map().leaves();
        for leaf in 0..self.inner.layout.leaves() {
            let lbas = match self.lbas(leaf) {
                Ok(lbas) => lbas,
                Err(error) => {
                    report.findings.push(Finding::of_leaf(leaves, leaf, error)?);
                    continue;
                }
            };
            for lba in lbas {
                let read = self.inner.read_record(lba, &mut page);
                // A record that can't be read counts as a whole page: its length is not known.
                let bytes = read.as_ref().map_or(PAGE, |bytes| bytes.unwrap_or(0));
                if let Err(error) = read {
                    report.findings.push(self.locate(lba, Finding::of(error)?)?);
                }
                report.pages += u64::from(!self.inner.layout.sizes.is_delta(lba));
                report.bytes += bytes as u64;
                progress(report.pages);
                if let Some(rate) = rate {
                    let due = Duration::from_secs_f64(report.bytes as f64 / rate.max(1) as f64);
                    sleep(due.saturating_sub(begun.elapsed()));
                }
            }
            self.inner.shrink_map()?;
        }
        Ok(report)
    }

    /// The records of a leaf that were written.
    fn lbas(&self, leaf: u32) -> Result<Vec<u32>, StoreError> {
        let state = self.inner.state()?;
        let first = state.volume.map().leaves().pages_of(leaf).start;
        let page = self.inner.mapped(state, first)?;
        Ok(page.places_of_leaf().into_iter().map(|(lba, _)| lba).collect())
    }

    /// Adds the page's place to the finding.
    fn locate(&self, lba: u32, finding: Finding) -> Result<Finding, StoreError> {
        let mapped = self.inner.mapped(self.inner.state()?, lba)?;
        let at = mapped.place().map(|(at, _)| at).filter(|at| at.slot.zone != 0);
        let state = mapped.into_state();
        let place = at.map(|at| {
            let zone = state.zones.get(at.slot.zone);
            (zone.device_zone, zone.span_of(at, self.inner.layout.sizes).page)
        });
        Ok(Finding {
            zone: finding.zone.or(place.map(|(zone, _)| zone)),
            page: finding.page.or(place.map(|(_, page)| page)),
            lba: Some(self.inner.layout.sizes.page_of(lba)),
            ..finding
        })
    }
}
