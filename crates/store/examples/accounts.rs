//! A small engine on the store: accounts, of which a page has 512. A transfer changes two pages,
//! both or neither. The store is told which words changed, so that it writes only those, and how
//! pages are used, for placement; a mark counts the transfers that were begun.
//!
//! `cargo run -p frostline-store --example accounts`

use frostline_placement::Hotness;
use frostline_store::{ChangedWords, Format, Open, PageWrite, Store, StoreError};
use frostline_zone::{Shape, in_memory};

const IN_PAGE: usize = 512;
const PAGES: u32 = 64;
/// The number of the mark that counts transfers.
const TRANSFERS: u32 = 0;

struct Page {
    bytes: [u8; 4096],
    /// Words in which it differs from its base in the store.
    changed: ChangedWords,
    hotness: Hotness,
}

struct Bank {
    store: Store,
    pages: Vec<Page>,
}

impl Bank {
    fn open(store: Store) -> Result<Bank, StoreError> {
        let page = |lba| {
            let (mut bytes, mut changed) = ([0; 4096], ChangedWords::NONE);
            store.read_changed(lba, &mut bytes, &mut changed)?;
            Ok(Page { bytes, changed, hotness: Hotness { origin: 1, ..Hotness::default() } })
        };
        let pages = (0..PAGES).map(page).collect::<Result<_, StoreError>>()?;
        Ok(Bank { store, pages })
    }

    fn add(&mut self, account: usize, sum: i64) {
        let (page, word) = (&mut self.pages[account / IN_PAGE], account % IN_PAGE);
        let balance = &mut page.bytes.as_chunks_mut::<8>().0[word];
        *balance = (i64::from_le_bytes(*balance) + sum).to_le_bytes();
        page.changed.add(word..word + 1);
        page.hotness.current.modifications = page.hotness.current.modifications.saturating_add(1);
    }

    /// Durable when it returns; after a crash before that, nothing of it is there, or all.
    fn transfer(&mut self, from: usize, to: usize, sum: i64) -> Result<(), StoreError> {
        self.add(from, -sum);
        self.add(to, sum);
        let mut lbas = vec![from / IN_PAGE, to / IN_PAGE];
        lbas.dedup();
        let write = |&lba: &usize| {
            let Page { bytes, changed, hotness } = &self.pages[lba];
            PageWrite {
                lba: lba as u32,
                page: bytes,
                hotness: Some(*hotness),
                changed: Some(changed),
            }
        };
        let writes: Vec<_> = lbas.iter().map(write).collect();
        self.store.set_mark(TRANSFERS, self.store.mark(TRANSFERS)? + 1)?;
        self.store.write_group(&writes)?;
        for lba in lbas {
            let Page { changed, hotness, .. } = &mut self.pages[lba];
            changed.note_written();
            hotness.last = std::mem::take(&mut hotness.current);
        }
        Ok(())
    }

    fn sum(&self) -> i64 {
        let balances = self.pages.iter().flat_map(|page| page.bytes.as_chunks::<8>().0);
        balances.map(|balance| i64::from_le_bytes(*balance)).sum()
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = in_memory(&Shape { bytes: 64 << 20, ..Shape::default() })?;
    let format = Format { hotness: true, ..Format::default() };
    Store::format(device.clone(), &format)?;
    let mut bank = Bank::open(Store::open(device.clone(), Open::default())?)?;
    for n in 0..2000usize {
        bank.transfer(n * 7 % 500, n * 977 % (IN_PAGE * PAGES as usize), 5)?;
    }
    println!("{} bytes for {} pages", bank.store.stats()?.written.user_bytes, 4000);
    drop(bank); // as a crash would
    let bank = Bank::open(Store::open(device, Open::default())?)?;
    println!("{} transfers, {} in all", bank.store.mark(TRANSFERS)?, bank.sum());
    Ok(())
}
