//! A user of a store, whose steps may fail, and what the pages may be by then.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use frostline_store::{Cleaning, Compression, Open, PageWrite, Store, StoreError};
use frostline_zone::Faulty;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::versioned::{Contents, Version, Writer};

/// Contents are so regular that compressed images would be shorter than any delta.
const OPEN: Open = Open {
    cleaning: Cleaning::Inline,
    map_bytes: 1,
    compression: Compression::None,
    ..Open::DEFAULT
};

/// A step of the user.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Open,
    Write(u32),
    Batch(Vec<u32>),
    Group(Vec<u32>),
    Trim(u32),
    Read(u32),
    Sync,
    Checkpoint,
    Mapped,
    Look,
    Check,
    Scrub,
    Close,
}

/// The versions of a page, `None` where there is none.
#[derive(Clone)]
struct Versions {
    /// What it may be after a power cut.
    later: Vec<Option<u64>>,
    /// What it may be now: one, unless a write or trim failed.
    now: Vec<Option<u64>>,
}

/// A user, and the versions of all pages.
#[derive(Clone)]
pub(crate) struct User {
    /// The store has deltas.
    has_deltas: bool,
    writer: Writer,
    pages: BTreeMap<u32, Versions>,
    next: u64,
    /// A sync failed: none may succeed until the store is opened anew.
    unsynced: bool,
    /// Calls that failed.
    pub failed: u64,
}

/// Several writes of a page that is written often have the same words, so that it gets tails.
fn writer(has_deltas: bool) -> Writer {
    Writer::new(Contents { has_deltas, near: 50, far: 200 })
}

/// Steps drawn from a seed, a few pages more often than the others.
pub(crate) fn steps(seed: u64, pages: u32, count: usize) -> Vec<Step> {
    let mut rng = SmallRng::seed_from_u64(seed);
    let draw = |rng: &mut SmallRng| {
        let most = if rng.random_bool(0.6) { pages / 5 } else { pages };
        rng.random_range(0..most)
    };
    (0..count)
        .map(|_| match rng.random_range(0..100) {
            0..66 => Step::Write(draw(&mut rng)),
            66..70 => {
                let count = rng.random_range(2..20);
                Step::Batch((0..count).map(|_| draw(&mut rng)).collect())
            }
            70..72 => {
                let count = rng.random_range(2..12);
                Step::Group((0..count).map(|_| draw(&mut rng)).collect())
            }
            72..80 => Step::Trim(draw(&mut rng)),
            80..86 => Step::Read(draw(&mut rng)),
            86..94 => Step::Sync,
            94..96 => Step::Checkpoint,
            96 => Step::Mapped,
            97 => Step::Look,
            98 => Step::Check,
            _ => Step::Scrub,
        })
        .collect()
}

impl User {
    pub(crate) fn new(unit: u32) -> Self {
        let (has_deltas, pages) = (unit < 4096, BTreeMap::new());
        User { has_deltas, writer: writer(has_deltas), pages, next: 1, unsynced: false, failed: 0 }
    }

    fn versions(&mut self, lba: u32) -> &mut Versions {
        let none = || Versions { later: vec![None], now: vec![None] };
        self.pages.entry(lba).or_insert_with(none)
    }

    fn begin_write(&mut self, lba: u32) -> u64 {
        let version = self.next;
        self.next += 1;
        self.versions(lba).later.push(Some(version));
        version
    }

    /// A page was written or trimmed, or perhaps.
    fn changed(&mut self, lba: u32, to: Option<u64>, surely: bool) {
        let versions = self.versions(lba);
        if surely {
            versions.now.clear();
        }
        versions.now.push(to);
    }

    fn durable(&mut self) {
        for versions in self.pages.values_mut() {
            versions.later = versions.now.clone();
        }
    }

    /// Takes a step; a failure of it is counted and returned.
    pub(crate) fn take(
        &mut self,
        store: &mut Option<Store>,
        device: &Arc<Faulty>,
        step: &Step,
    ) -> Result<(), StoreError> {
        let result = match (step, store.as_mut()) {
            (Step::Open, Some(_)) => Ok(()),
            (Step::Open, None) => {
                Store::open(device.clone(), OPEN).map(|opened| *store = Some(opened))
            }
            (Step::Close, _) => match store.take() {
                Some(store) => self.synced(store.close()),
                None => Ok(()),
            },
            // The store could not be opened.
            (_, None) => Ok(()),
            (step, Some(store)) => self.call(store, step),
        };
        self.failed += u64::from(result.is_err());
        assert!(!matches!(result, Err(StoreError::Panicked)), "{step:?} panicked");
        result
    }

    fn call(&mut self, store: &mut Store, step: &Step) -> Result<(), StoreError> {
        match step {
            Step::Write(lba) => self.write_pages(store, &[*lba], Store::write_batch),
            Step::Batch(lbas) => self.write_pages(store, lbas, Store::write_batch),
            Step::Group(lbas) => {
                let lbas: BTreeSet<u32> = lbas.iter().copied().collect();
                let lbas: Vec<u32> = lbas.into_iter().collect();
                // If it fails, nothing of it may have been placed, and a sync may succeed.
                self.write_pages(store, &lbas, Store::write_group)?;
                self.synced(Ok(()))
            }
            Step::Trim(lba) => {
                self.versions(*lba).later.push(None);
                self.writer.forget(*lba);
                let trimmed = store.trim(*lba);
                self.changed(*lba, None, trimmed.is_ok());
                trimmed.map(drop)
            }
            Step::Read(lba) => self.read(store, *lba),
            Step::Sync => self.synced(store.sync()),
            Step::Checkpoint => self.synced(store.checkpoint()),
            Step::Mapped => {
                let mut found = Vec::new();
                store.mapped(0..u32::MAX, &mut |lba| found.push(lba))?;
                for (lba, versions) in &self.pages {
                    let may = |there: bool| versions.now.iter().any(|v| v.is_some() == there);
                    assert!(may(found.contains(lba)), "LBA {lba} is mapped wrongly");
                }
                Ok(())
            }
            Step::Look => {
                store.stats()?;
                store.info()?;
                store.view()?;
                store.metrics().map(drop)
            }
            Step::Check => store.check().map(drop),
            Step::Scrub => store.scrub(None, &mut |_| ()).map(drop),
            Step::Open | Step::Close => Ok(()),
        }
    }

    /// Writes pages. In a store with deltas those are read before of which it is not known what the
    /// store has.
    fn write_pages(
        &mut self,
        store: &Store,
        lbas: &[u32],
        write: impl FnOnce(&Store, &[PageWrite<'_>]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        for &lba in lbas {
            if self.has_deltas && !self.writer.knows(lba) {
                self.read(store, lba)?;
            }
        }
        let writes: Vec<_> = lbas.iter().map(|&lba| (lba, self.begin_write(lba))).collect();
        let next = |&(lba, version): &(u32, u64)| self.writer.next(lba, version);
        let versions: Vec<Version> = writes.iter().map(next).collect();
        let batch: Vec<_> = versions.iter().map(Version::write).collect();
        let written = write(store, &batch);
        for (lba, version) in writes {
            self.changed(lba, Some(version), written.is_ok());
            if written.is_err() {
                self.writer.forget(lba);
            }
        }
        written
    }

    /// The outcome of a call that makes everything durable.
    fn synced(&mut self, result: Result<(), StoreError>) -> Result<(), StoreError> {
        match &result {
            Ok(()) => {
                assert!(!self.unsynced, "a sync succeeded after one that failed");
                self.durable();
            }
            Err(_) => self.unsynced = true,
        }
        result
    }

    fn read(&mut self, store: &Store, lba: u32) -> Result<(), StoreError> {
        let found = self.writer.read(store, lba)?;
        let versions = self.versions(lba);
        assert!(versions.now.contains(&found), "LBA {lba} is {found:?}, not of {:?}", versions.now);
        versions.now = vec![found];
        Ok(())
    }

    /// Nothing fails any more: every page of an open store can be read.
    pub(crate) fn read_all(&mut self, store: &Store) {
        let all: Vec<u32> = self.pages.keys().copied().collect();
        for lba in all {
            self.read(store, lba).unwrap_or_else(|error| panic!("LBA {lba}: {error}"));
        }
    }

    /// The store was ended, by a power cut or otherwise.
    pub(crate) fn ended(&mut self) {
        self.unsynced = false;
        self.writer = writer(self.has_deltas);
        for versions in self.pages.values_mut() {
            versions.now = versions.later.clone();
        }
    }

    /// What was read is durable: the power was cut before.
    pub(crate) fn opened_again(&mut self) {
        self.durable();
    }
}
