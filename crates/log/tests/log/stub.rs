//! A scheme that shows what the log did to it: classes by LBA, relocations offered in batches, and
//! page states that count.

use std::collections::HashMap;

use bytemuck::{Pod, Zeroable};
use frostline_placement::{
    BuildError, Hotness, Info, PageState, Params, Relocation, Scheme, Setup, UserWrite,
};

/// What the log carried along with a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Tally {
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
pub struct Stub {
    classes: usize,
    batch: Vec<u32>,
    /// The state of each page when it was placed last.
    pub seen: HashMap<u32, Tally>,
}

impl Stub {
    pub fn new(classes: usize) -> Self {
        Stub { classes, ..Stub::default() }
    }
}

impl Scheme for Stub {
    type Page = Tally;
    const INFO: Info = Info { name: "stub", summary: "", source: "", params: &[], fast22: "" };
    const BATCHED: bool = true;

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

    fn prepare(&mut self, batch: &[(Relocation, Tally)], _: &[Hotness]) {
        assert!(batch.iter().enumerate().all(|(i, (r, _))| r.index == i));
        assert!(batch.iter().all(|(r, page)| self.seen[&r.lba] == *page));
        self.batch = batch.iter().map(|(r, _)| r.lba).collect();
    }

    fn place_relocation(&mut self, relocation: &Relocation, page: &mut Tally) -> usize {
        assert_eq!(self.batch[relocation.index], relocation.lba);
        page.relocations += 1;
        self.seen.insert(relocation.lba, *page);
        (relocation.lba as usize + 1) % self.classes
    }
}
