//! A scheme that shows the log's calls: classes go by LBA, every fourth relocation gets its class
//! in the batch, and page states count.

use std::collections::HashMap;

use bytemuck::{Pod, Zeroable};
use frostline_placement::{
    BuildError, Info, PageState, Pages, Params, Relocation, Scheme, Setup, UserWrite, Victim, Wants,
};

/// State that the log keeps with a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Tally {
    pub user_writes: u32,
    pub relocations: u32,
    pub clamps: u32,
}

impl PageState for Tally {
    fn clamp(&mut self, _now: u32) {
        self.clamps += 1;
    }
}

/// User writes go to class LBA mod classes, relocations to the next one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stub {
    classes: usize,
    batch: Vec<u32>,
    /// The state of each page when it was placed last.
    pub seen: HashMap<u32, Tally>,
}

impl Stub {
    pub(crate) fn new(classes: usize) -> Self {
        Stub { classes, ..Stub::default() }
    }
}

impl Scheme for Stub {
    type Page = Tally;
    const INFO: Info = Info { name: "stub", summary: "", source: "", params: &[] };
    const WANTS: Wants = Wants { batches: true, ..Wants::NOTHING };

    fn build(_: &Setup<'_>, _: &mut Params) -> Result<Self, BuildError> {
        Ok(Stub::new(3))
    }

    fn classes(&self) -> usize {
        self.classes
    }

    fn place_user(&mut self, write: &UserWrite, page: &mut Tally) -> usize {
        page.user_writes += 1;
        self.seen.insert(write.lba, *page);
        write.lba as usize % self.classes
    }

    fn place_batch(&mut self, _: &Victim, pages: &Pages<'_, Tally>, classes: &mut [Option<u8>]) {
        assert!(pages.lbas.iter().zip(pages.states).all(|(lba, page)| self.seen[lba] == *page));
        self.batch = pages.lbas.to_vec();
        for (class, &lba) in classes.iter_mut().zip(pages.lbas).filter(|(_, lba)| **lba % 4 == 0) {
            *class = Some((lba as usize + 1) as u8 % self.classes as u8);
        }
    }

    fn place_relocation(&mut self, relocation: &Relocation, page: &mut Tally) -> usize {
        assert!(self.batch.contains(&relocation.lba) && !relocation.lba.is_multiple_of(4));
        page.relocations += 1;
        self.seen.insert(relocation.lba, *page);
        (relocation.lba as usize + 1) % self.classes
    }
}
