//! Every content of a store, read and compared with its sum.

use std::time::{Duration, Instant};

use frostline_zone::AlignedBuf;

use crate::error::of_zone;
use crate::face::finding::Finding;
use crate::format::PAGE;
use crate::state::mapped_page::RecordLookup;
use crate::sync::sleep;
use crate::{Store, StoreError};

/// The result of [`Store::scrub`] and [`Store::repair`].
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ScrubReport {
    /// Everything that can't be read any more, or only with the help of parity; empty if all is
    /// well.
    pub findings: Vec<Finding>,
    /// What was wrong, and is right since it was written anew elsewhere: by [`Store::repair`]
    /// alone.
    pub repaired: Vec<Finding>,
    /// Pages that were read.
    pub pages: u64,
    /// Bytes that were read.
    pub bytes: u64,
}

/// The findings of one reading of all pages.
pub(crate) struct Pass {
    /// What can't be read.
    pub report: ScrubReport,
    /// Records that can be read, though something is wrong.
    pub lacking: Vec<(u64, Finding)>,
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
        let pass = self.pass(rate, progress, false)?;
        let mut report = pass.report;
        report.findings.extend(pass.lacking.into_iter().map(|(_, finding)| finding));
        Ok(report)
    }

    /// Reads every valid page. One that only parity has, or whose parity is wrong, comes with its
    /// finding and not with the errors. With `compare` parity of sound pages is read as well.
    pub(crate) fn pass(
        &self,
        rate: Option<u64>,
        progress: &mut dyn FnMut(u64),
        compare: bool,
    ) -> Result<Pass, StoreError> {
        let (begun, mut report) = (Instant::now(), ScrubReport::default());
        let mut lacking = Vec::new();
        let mut page = vec![0; PAGE];
        let mut next = 0;
        while let Some(leaf) = self.engine.loader.next_leaf(next)? {
            next = leaf + 1;
            let is_resident = self.engine.core.state()?.map().has(leaf);
            let records = match self.engine.loader.records_of_leaf(leaf) {
                Ok(records) => records,
                Err(error) => {
                    report.findings.push(Finding::of_leaf(
                        self.engine.core.layout.leaf,
                        leaf,
                        error,
                    )?);
                    continue;
                }
            };
            for (lba, ..) in records {
                let before = self.read_by_parity();
                let read = self.engine.reader.read_record(lba, &mut page);
                if read.is_ok() {
                    let what = match self.read_by_parity() > before {
                        true => Some("it is not what was written there; parity has its content"),
                        false => match compare && self.has_wrong_parity(lba)? {
                            true => Some("its parity is wrong"),
                            false => None,
                        },
                    };
                    if let Some(what) = what {
                        let finding = Finding { what: what.into(), ..Finding::default() };
                        lacking.push((lba, self.locate(lba, finding)?));
                    }
                }
                // A record that can't be read counts as a whole page: its length is not known.
                let bytes = read.as_ref().map_or(PAGE, |bytes| bytes.unwrap_or(0));
                if let Err(error) = read {
                    report.findings.push(self.locate(lba, Finding::of(error)?)?);
                }
                report.pages += u64::from(!self.engine.core.layout.sizes.is_delta(lba));
                report.bytes += bytes as u64;
                progress(report.pages);
                if let Some(rate) = rate {
                    let due = Duration::from_secs_f64(report.bytes as f64 / rate.max(1) as f64);
                    sleep(due.saturating_sub(begun.elapsed()));
                }
            }
            if !is_resident {
                self.engine.core.state()?.map_mut().let_go(leaf);
            }
            self.engine.upkeep.shrink_map()?;
        }
        Ok(Pass { report, lacking })
    }

    /// Records and blocks that came from parity so far.
    pub(crate) fn read_by_parity(&self) -> u64 {
        self.engine.core.counters.repaired() + self.engine.core.device.rebuilt_blocks()
    }

    /// True if parity says something else than the zone of a record that is sound.
    fn has_wrong_parity(&self, lba: u64) -> Result<bool, StoreError> {
        let mapped = self.engine.loader.mapped(self.engine.core.state()?, lba)?;
        let mut page = [0; PAGE];
        let found = mapped.find(&mut page)?;
        drop(mapped);
        let Some(RecordLookup::At(record)) = found else { return Ok(false) };
        let (device, zone, span) = (&self.engine.core.device, record.zone, record.span);
        let (mut page, mut other) = (AlignedBuf::zeroed(PAGE), AlignedBuf::zeroed(PAGE));
        for number in span.page..span.end() {
            let at = u64::from(number) * PAGE as u64;
            let has_other = of_zone(device.read_other(zone, at, &mut other))?;
            let read = of_zone(device.read(zone, at, &mut page))?;
            if matches!(has_other, Ok(true)) && read.is_ok() && page[..] != other[..] {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Adds the page's place to the finding.
    fn locate(&self, lba: u64, finding: Finding) -> Result<Finding, StoreError> {
        let mapped = self.engine.loader.mapped(self.engine.core.state()?, lba)?;
        let at = mapped.place().map(|(at, _)| at).filter(|at| at.slot.zone != 0);
        let state = mapped.into_state();
        let place = at.map(|at| {
            let zone = state.zones().get(at.slot.zone);
            (zone.device_zone, zone.span_of(at, self.engine.core.layout.sizes).page)
        });
        Ok(Finding {
            zone: finding.zone.or(place.map(|(zone, _)| zone)),
            page: finding.page.or(place.map(|(_, page)| page)),
            lba: Some(self.engine.core.layout.sizes.page_of(lba)),
            ..finding
        })
    }
}
