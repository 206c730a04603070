//! What was simulated is what runs: a trace replayed through the store on a device in memory, by
//! one thread that cleans inline, is placed and cleaned page for page as the simulator does it.
//!
//! The device is so large that nothing but the garbage proportion asks for cleaning, and enough
//! zones are spared that none must be reset, for which a sync would end chunks early.

use frostline_log::Counts;
use frostline_placement::ExternalScheme;
use frostline_placement::registry::Registry;
use frostline_placement::{
    Activity, BuildError, Hotness, Info, LogClass, PageState, Params, Relocation, Scheme, Setup,
    UserWrite,
};
use frostline_sim::{Combination, ReplayProgress, Settings, Space, TraceVolume, replay};
use frostline_store::{Cleaning, Format, Open, PageWrite, Store, StoreError};
use frostline_trace::{
    AccessPattern, LoadOptions, Oltp, PageWriter, Spec, Trim, Writes, generate, load, prepare,
};
use frostline_zone::{Shape, in_memory};

/// A scheme that is not in the registry of the crate: user writes by the logarithm of their number,
/// relocations to a class of their own.
struct Counted(LogClass);

#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
struct Writes32(u32);

impl PageState for Writes32 {}

impl Scheme for Counted {
    type Page = Writes32;
    const INFO: Info = Info { name: "counted", summary: "", source: "", params: &[] };

    fn build(_: &Setup<'_>, _: &mut Params) -> Result<Self, BuildError> {
        Ok(Counted(LogClass::new(2)))
    }

    fn classes(&self) -> usize {
        4
    }

    fn place_user(&mut self, _: &UserWrite, page: &mut Writes32) -> usize {
        page.0 = page.0.wrapping_add(1);
        usize::from(self.0.of(page.0))
    }

    fn place_relocation(&mut self, _: &Relocation, _: &mut Writes32) -> usize {
        3
    }
}

static OUTSIDE: [ExternalScheme; 1] = [ExternalScheme::of::<Counted>()];
const SCHEMES: Registry = Registry::with(&OUTSIDE);

const PAGES: u32 = 1 << 12;
const WRITES: u64 = 6 << 12;
const GP: f64 = 0.2;

/// Pages of a zone of the device, of which 2 are for headers.
const DEVICE_PAGES: u64 = 66;

fn trace(kind: AccessPattern) -> Writes {
    let spec = Spec { kind, pages: PAGES, writes: WRITES, fill: false, seed: 5 };
    // Every page is written, so that both sides hold as many.
    let lbas = (0..PAGES).chain(generate(&spec).unwrap()).collect();
    Writes { lbas, ..Writes::default() }
}

/// The same, with one to eight pages trimmed after every thirty writes or so; some of them twice,
/// or between two writes of another page.
fn trimmed(kind: AccessPattern) -> Writes {
    let writes = trace(kind);
    let trim = |i: u32| {
        let (at, first) = (i as usize * 31 + 7, i.wrapping_mul(2_654_435_761) % PAGES);
        Trim { at, first, last: (first + i % 8).min(PAGES - 1) }
    };
    let count = writes.lbas.len() as u32 / 31;
    Writes { trims: (0..count).map(trim).collect(), ..writes }
}

/// The same, with what an engine might tell: pages that were changed much are changed again soon.
fn told(writes: Writes) -> Writes {
    let hotness = |(i, &lba): (usize, &u32)| {
        let modifications = (lba.wrapping_mul(2_654_435_761) >> 20) as u16;
        let current = Activity { modifications, valid_bytes: i as u16, ..Activity::default() };
        Hotness { origin: lba % 3, current, ..Hotness::default() }
    };
    let hotness = Some(writes.lbas.iter().enumerate().map(hotness).collect());
    Writes { hotness, ..writes }
}

fn simulated(writes: &Writes, scheme: &str, victim: &str, zone_pages: u32) -> Counts {
    let volume = TraceVolume::new(prepare(None, writes.clone(), false).unwrap());
    // The store is given one page at a time.
    let (space, schemes, guess) = (Space::Gp(GP), SCHEMES, false);
    let settings = Settings { space, schemes, guess, ..Settings::default() };
    let combination = Combination::new(scheme, victim, &settings).unwrap();
    replay(&volume, &combination, &settings, zone_pages, &ReplayProgress::default()).unwrap().counts
}

fn stored(writes: &Writes, scheme: &str, victim: &str) -> (Counts, u32) {
    let spare = 4 * (writes.lbas.len() as u64 / (DEVICE_PAGES - 2)) as u32;
    let zones = u64::from(spare) + 2 * u64::from(PAGES) / DEVICE_PAGES + 100;
    let shape = Shape::of_zones(zones, DEVICE_PAGES * 4096);
    let device = in_memory(&shape).unwrap();
    let format = Format {
        scheme: scheme.to_string(),
        schemes: SCHEMES,
        victim: Some(victim.to_string()),
        logical_pages: Some(u64::from(PAGES)),
        gp: GP,
        spare,
        checkpoint_writes: Some(u64::MAX),
        unit: 4096,
        hotness: writes.hotness.is_some(),
        ..Format::default()
    };
    Store::format(device.clone(), &format).unwrap();
    let open = Open { cleaning: Cleaning::Inline, schemes: SCHEMES, ..Open::default() };
    let store = Store::open(device, open).unwrap();
    store.count_copies().unwrap();
    let mut page = vec![0; 4096];
    let mut mapped = vec![false; PAGES as usize];
    let mut trims = writes.trims.iter().peekable();
    for (i, &lba) in writes.lbas.iter().enumerate() {
        while let Some(trim) = trims.next_if(|trim| trim.at == i) {
            for lba in trim.lbas() {
                let had = std::mem::take(&mut mapped[lba as usize]);
                assert_eq!(store.trim(lba).unwrap(), had);
            }
        }
        page[..4].copy_from_slice(&lba.to_le_bytes());
        let hotness = writes.hotness.as_ref().map(|hotness| hotness[i]);
        store.write_batch(&[PageWrite { lba, page: &page, hotness, changed: None }]).unwrap();
        mapped[lba as usize] = true;
    }
    let stats = store.stats().unwrap();
    for (lba, mapped) in (0..PAGES).zip(mapped) {
        assert_eq!(store.read(lba, &mut page).unwrap(), mapped);
        assert!(!mapped || page[..4] == lba.to_le_bytes());
    }
    let copied = stats.copied.unwrap();
    assert_eq!(copied.pages, stats.counts.relocations);
    let victim_garbage = store.victim_garbage().unwrap();
    let counts = Counts { frozen_relocations: copied.frozen, victim_garbage, ..stats.counts };
    (counts, store.zone_pages())
}

/// The counts of both sides: a device has no inner loop.
fn known(counts: Counts) -> Counts {
    Counts { runs: 0, ..counts }
}

fn decide_alike(writes: &Writes, scheme: &str, victim: &str) {
    let (stored, zone_pages) = stored(writes, scheme, victim);
    let simulated = simulated(writes, scheme, victim, zone_pages);
    assert!(simulated.frozen_relocations > 0, "{scheme}: too little");
    assert!(simulated.zones_reclaimed > 100, "{scheme}: too little");
    assert_eq!(known(stored), known(simulated), "{scheme} with {victim}");
}

const ZIPF: AccessPattern = AccessPattern::Zipf { alpha: 0.9 };

#[test]
fn a_scheme_of_another_crate_relocates_in_the_store_what_it_does_in_the_simulator() {
    decide_alike(&trimmed(ZIPF), "counted", "cost-benefit");
    decide_alike(&trimmed(ZIPF), "frozen:counted", "greedy");
}

#[test]
fn a_store_of_a_scheme_that_the_program_does_not_have_says_so() {
    let shape = Shape { bytes: 64 << 20, zone_bytes: Some(1 << 20), ..Shape::default() };
    let device = in_memory(&shape).unwrap();
    let scheme = "counted".to_string();
    let format = Format { scheme, schemes: SCHEMES, ..Format::default() };
    Store::format(device.clone(), &format).unwrap();
    let open = |schemes| Store::open(device.clone(), Open { schemes, ..Open::default() });
    let error = open(Registry::published()).err().unwrap();
    let named = matches!(&error, StoreError::UnknownScheme { scheme, known }
        if scheme == "counted" && known.contains("sepbit"));
    assert!(named, "{error}");
    assert!(open(SCHEMES).is_ok());
}

#[test]
fn every_scheme_without_foresight_relocates_in_the_store_what_it_does_in_the_simulator() {
    let (plain, trimmed) = (trace(ZIPF), trimmed(ZIPF));
    for entry in frostline_placement::registry::SCHEMES {
        if entry.foresight == frostline_placement::Foresight::None {
            let scheme = match entry.info.name {
                // A store keeps what is known of a page in its map, and writes no pages for it.
                "phftl" => "phftl:meta=free",
                name => name,
            };
            decide_alike(&plain, scheme, "cost-benefit");
            decide_alike(&trimmed, scheme, "cost-benefit");
        }
    }
}

#[test]
fn what_an_engine_tells_is_heard_in_the_store_as_in_the_simulator() {
    let (silent, told) = (trimmed(ZIPF), told(trimmed(ZIPF)));
    decide_alike(&told, "frostline", "cost-benefit");
    let relocations = |writes| simulated(writes, "frostline", "cost-benefit", 64).relocations;
    assert_ne!(relocations(&told), relocations(&silent), "it does not listen");
}

#[test]
fn every_victim_policy_chooses_in_the_store_what_it_does_in_the_simulator() {
    let (plain, trimmed) = (trace(ZIPF), trimmed(ZIPF));
    for policy in frostline_placement::victims::POLICIES {
        decide_alike(&plain, "sepbit", policy.name);
        decide_alike(&trimmed, "sepbit", policy.name);
    }
}

#[test]
fn a_database_s_trace_is_placed_in_the_store_as_in_the_simulator() {
    decide_alike(&trace(AccessPattern::Oltp(Oltp::default())), "dac", "cost-benefit");
}

#[test]
fn a_recorded_run_is_replayed_with_the_decisions_that_it_had() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.parquet");
    let writes = trimmed(AccessPattern::Oltp(Oltp::default()));
    let mut record = PageWriter::create(&path, 4096, true).unwrap();
    let mut trims = writes.trims.iter().peekable();
    for (i, &lba) in writes.lbas.iter().enumerate() {
        while let Some(trim) = trims.next_if(|trim| trim.at == i) {
            record.trim(trim.first, trim.last - trim.first + 1).unwrap();
        }
        record.write(lba, &Hotness { origin: lba % 3, ..Hotness::default() }, 4096).unwrap();
    }
    record.finish().unwrap();
    let recorded = load(&path, &LoadOptions::default(), &mut |_| ()).unwrap().volumes.remove(0);
    let (stored, zone_pages) = stored(&writes, "sepbit", "cost-benefit");
    let simulated = simulated(&recorded, "sepbit", "cost-benefit", zone_pages);
    assert!(simulated.frozen_relocations > 0);
    assert_eq!(known(stored), known(simulated));
}
