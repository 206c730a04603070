//! A user of a store, whose steps may fail, and what the pages may be by then.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use frostline_store::{Cleaning, Compression, Open, PageWrite, Store, StoreError};
use frostline_zone::Faulty;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// Contents are so regular that compressed images would be shorter than any delta.
const OPEN: Open = Open {
    cleaning: Cleaning::Inline,
    map_bytes: 1,
    compression: Compression::None,
    ..Open::DEFAULT
};

/// A step of the user.
#[derive(Clone, Debug)]
pub enum Step {
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
pub struct User {
    pages: BTreeMap<u32, Versions>,
    next: u64,
    /// A sync failed: none may succeed until the store is opened anew.
    unsynced: bool,
    /// Calls that failed.
    pub failed: u64,
}

fn content(lba: u32, version: u64) -> Vec<u8> {
    let word = (u64::from(lba) << 40 ^ version).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    [&version.to_le_bytes()[..], &word.to_le_bytes().repeat(511)].concat()
}

fn version(lba: u32, page: &[u8]) -> u64 {
    let version = u64::from_le_bytes(page[..8].try_into().unwrap());
    assert_eq!(page, content(lba, version), "LBA {lba} is a mixture");
    version
}

/// Steps drawn from a seed, a few pages more often than the others.
pub fn steps(seed: u64, pages: u32, count: usize) -> Vec<Step> {
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
    pub fn new() -> Self {
        User { pages: BTreeMap::new(), next: 1, unsynced: false, failed: 0 }
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
    pub fn take(
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
            Step::Write(lba) => {
                let version = self.begin_write(*lba);
                let written = store.write(*lba, &content(*lba, version));
                self.changed(*lba, Some(version), written.is_ok());
                written
            }
            Step::Batch(lbas) => self.write_pages(lbas, |pages| store.write_batch(pages)),
            Step::Group(lbas) => {
                let lbas: BTreeSet<u32> = lbas.iter().copied().collect();
                let lbas: Vec<u32> = lbas.into_iter().collect();
                // If it fails, nothing of it may have been placed, and a sync may succeed.
                self.write_pages(&lbas, |pages| store.write_group(pages))?;
                self.synced(Ok(()))
            }
            Step::Trim(lba) => {
                self.versions(*lba).later.push(None);
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

    fn write_pages(
        &mut self,
        lbas: &[u32],
        write: impl FnOnce(&[PageWrite<'_>]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let writes: Vec<_> = lbas.iter().map(|&lba| (lba, self.begin_write(lba))).collect();
        let pages: Vec<_> = writes.iter().map(|&(lba, version)| content(lba, version)).collect();
        let batch: Vec<_> = lbas
            .iter()
            .zip(&pages)
            .map(|(&lba, page)| PageWrite { lba, page, hotness: None, changed: None })
            .collect();
        let written = write(&batch);
        for (lba, version) in writes {
            self.changed(lba, Some(version), written.is_ok());
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
        let mut page = vec![0; 4096];
        let found = store.read(lba, &mut page)?.then(|| version(lba, &page));
        let versions = self.versions(lba);
        assert!(versions.now.contains(&found), "LBA {lba} is {found:?}, not of {:?}", versions.now);
        versions.now = vec![found];
        Ok(())
    }

    /// Nothing fails any more: every page of an open store can be read.
    pub fn read_all(&mut self, store: &Store) {
        let all: Vec<u32> = self.pages.keys().copied().collect();
        for lba in all {
            self.read(store, lba).unwrap_or_else(|error| panic!("LBA {lba}: {error}"));
        }
    }

    /// The store was ended, by a power cut or otherwise.
    pub fn ended(&mut self) {
        self.unsynced = false;
        for versions in self.pages.values_mut() {
            versions.now = versions.later.clone();
        }
    }

    /// What was read is durable: the power was cut before.
    pub fn settle(&mut self) {
        self.durable();
    }
}
