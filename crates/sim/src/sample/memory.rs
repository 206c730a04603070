//! The state of each page during the walk through a trace.

use std::ops::RangeInclusive;

use frostline_learn::FeatureLayout;
use frostline_placement::{Hotness, Past, Requests};

/// The state of the pages that a store or an engine would have at this point of the trace.
pub(super) enum PageMemory {
    Block { requests: Requests, pasts: Vec<Past> },
    Engine { hotness: Vec<Hotness>, newest: Vec<u32>, before: Vec<u32> },
}

impl PageMemory {
    /// The memory of `space` pages, with the block layer's view of each.
    pub(super) fn block(space: u32) -> Self {
        let pasts = vec![Past::default(); space as usize];
        PageMemory::Block { requests: Requests::default(), pasts }
    }

    /// The memory of `space` pages, with the engine's record of each write.
    pub(super) fn engine(space: u32, hotness: Vec<Hotness>) -> Self {
        let before = vec![0; hotness.len()];
        PageMemory::Engine { hotness, newest: vec![0; space as usize], before }
    }

    /// A request begins.
    pub(super) fn begin(&mut self, lba: u32, pages: u32) {
        if let PageMemory::Block { requests, .. } = self {
            requests.begin(lba, pages);
        }
    }

    /// Write `i`, counted from 0, is a write of page `lba`.
    pub(super) fn write(&mut self, i: u32, lba: u32) {
        match self {
            PageMemory::Block { requests, pasts } => pasts[lba as usize].write(i + 1, requests),
            PageMemory::Engine { newest, before, .. } => {
                // A write is identified by its number plus one; 0 stands for no write.
                before[i as usize] = std::mem::replace(&mut newest[lba as usize], i + 1);
            }
        }
    }

    /// Trims pages: their state is gone.
    pub(super) fn trim(&mut self, lbas: RangeInclusive<u32>) {
        let pages = *lbas.start() as usize..*lbas.end() as usize + 1;
        match self {
            PageMemory::Block { pasts, .. } => pasts[pages].fill(Past::default()),
            PageMemory::Engine { newest, .. } => newest[pages].fill(0),
        }
    }

    /// The features that the page will have at an age, if it is not written before then.
    pub(super) fn features(
        &self,
        layout: FeatureLayout,
        lba: u32,
        age: u32,
        put: &mut dyn FnMut(f32),
    ) {
        match self {
            PageMemory::Block { pasts, .. } => layout.of_past(age, &pasts[lba as usize], put),
            PageMemory::Engine { hotness, newest, before } => {
                let earlier = |&write: &u32| Some(before[write.checked_sub(1)? as usize]);
                let mut records = [Default::default(); FeatureLayout::LONGEST];
                let writes = std::iter::successors(Some(newest[lba as usize]), earlier);
                // Each record also holds the record of the write before.
                for (back, write) in (1..FeatureLayout::LONGEST).zip(writes.take_while(|&w| w > 0))
                {
                    let Hotness { lifespan, current, last, .. } = hotness[write as usize - 1];
                    if back == 1 {
                        records[0] = (age, current);
                    }
                    records[back] = (lifespan, last);
                }
                layout.of_records(&records, put);
            }
        }
    }
}
