//! Generators keep their promises, and give the same traces for ever.

use frostline_trace::{AccessPattern, Oltp, Spec, generate};

fn trace(kind: AccessPattern, pages: u32, writes: u64, fill: bool, seed: u64) -> Vec<u32> {
    generate(&Spec { kind, pages, writes, fill, seed }).unwrap().collect()
}

/// FNV-1a over little-endian bytes.
fn hash(lbas: &[u32]) -> u64 {
    let bytes = lbas.iter().flat_map(|lba| lba.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}

/// The share of writes that go to the most written `share` of all pages.
fn top(lbas: &[u32], pages: u32, share: f64) -> f64 {
    let mut counts = vec![0u32; pages as usize];
    lbas.iter().for_each(|&lba| counts[lba as usize] += 1);
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let n = (f64::from(pages) * share) as usize;
    f64::from(counts[..n].iter().sum::<u32>()) / lbas.len() as f64
}

#[test]
fn golden_values_never_change() {
    let golden: [(AccessPattern, [u32; 16], u64); 5] = [
        (
            AccessPattern::Uniform,
            [
                8386, 37898, 68004, 92469, 99180, 76973, 71925, 85000, 76137, 58334, 68245, 29067,
                80102, 32141, 71114, 87776,
            ],
            0x039d_8c23_a318_3407,
        ),
        (
            AccessPattern::Zipf { alpha: 0.0 },
            [
                8386, 37898, 68004, 92469, 99180, 76973, 71925, 85000, 76137, 58334, 68245, 29067,
                80102, 32141, 71114, 87776,
            ],
            0x039d_8c23_a318_3407,
        ),
        (
            AccessPattern::Zipf { alpha: 0.9 },
            [
                22659, 13130, 24220, 42574, 11900, 20820, 5870, 4303, 1735, 82385, 53509, 72514,
                99809, 99122, 49527, 22659,
            ],
            0xcd68_f92d_e028_71db,
        ),
        (
            AccessPattern::Zipf { alpha: 1.0 },
            [
                15352, 24572, 89570, 19488, 15352, 57740, 22659, 50613, 11900, 83656, 13130, 94878,
                36562, 55443, 32489, 15352,
            ],
            0x9e0e_d3d1_6df8_e4b7,
        ),
        (
            AccessPattern::Oltp(Oltp::default()),
            [
                50000, 37430, 50001, 28177, 39616, 43513, 40185, 14191, 30915, 23376, 23731, 11399,
                42985, 50002, 50002, 29344,
            ],
            0xe018_52b8_3193_dfe6,
        ),
    ];
    for (kind, first, expected) in golden {
        let lbas = trace(kind, 100_000, 1_000_000, false, 42);
        assert_eq!((&lbas[..16], hash(&lbas)), (&first[..], expected), "{kind:?}");
    }
}

#[test]
fn zipf_is_as_skewed_as_its_law() {
    let pages = 10_000;
    for alpha in [0.0, 0.5, 1.0, 1.2] {
        let lbas = trace(AccessPattern::Zipf { alpha }, pages, 2_000_000, false, 1);
        let weight = |k: u32| f64::from(k).powf(-alpha);
        let all: f64 = (1..=pages).map(weight).sum();
        let expected = (1..=pages / 5).map(weight).sum::<f64>() / all;
        let found = top(&lbas, pages, 0.2);
        // By chance, the most written of equally popular pages get some per cent more.
        assert!(
            found >= expected - 0.005 && found < expected + 0.03,
            "{alpha}: {found} {expected}"
        );
    }
}

#[test]
fn popular_pages_are_scattered() {
    let lbas = trace(AccessPattern::Zipf { alpha: 1.0 }, 1000, 100_000, false, 5);
    let low = lbas.iter().filter(|&&lba| lba < 500).count() as f64 / 100_000.0;
    assert!((0.2..0.8).contains(&low), "{low}");
}

#[test]
fn fill_writes_each_page_first_in_order() {
    let lbas = trace(AccessPattern::Uniform, 50, 10, true, 1);
    assert_eq!(lbas.len(), 60);
    assert!(lbas[..50].iter().copied().eq(0..50));
    assert_eq!(lbas[50..], trace(AccessPattern::Uniform, 50, 10, false, 1));
}

#[test]
fn seeds_differ_and_repeat() {
    let kind = AccessPattern::Zipf { alpha: 1.0 };
    assert_eq!(trace(kind, 100, 100, false, 1), trace(kind, 100, 100, false, 1));
    assert_ne!(trace(kind, 100, 100, false, 1), trace(kind, 100, 100, false, 2));
}

#[test]
fn appended_pages_of_oltp_grow_and_freeze() {
    let pages = 20_000;
    let lbas = trace(AccessPattern::Oltp(Oltp::default()), pages, 250_000, false, 3);
    let appended: Vec<u32> = lbas.iter().copied().filter(|&lba| lba >= pages / 2).collect();
    let share = appended.len() as f64 / lbas.len() as f64;
    assert!((share - 0.3).abs() < 0.01, "{share}");
    let mut newest = pages / 2;
    let mut old = 0;
    for &lba in &appended {
        assert!(lba <= newest, "pages are appended one by one");
        old += usize::from(lba + 64 < newest);
        newest = newest.max(lba + 1);
    }
    assert!(newest <= pages);
    let late = old as f64 / appended.len() as f64;
    assert!(late < 0.002, "{late}");
    let per_page = appended.len() as f64 / f64::from(newest - pages / 2);
    assert!((per_page - 9.0).abs() < 0.5, "{per_page}");
}

#[test]
fn a_full_append_area_is_left_alone() {
    let shape = {
        let mut s = Oltp::default();
        s.rewrites = 0.0;
        s
    };
    let lbas = trace(AccessPattern::Oltp(shape), 100, 10_000, false, 3);
    let appended: Vec<u32> = lbas.into_iter().filter(|&lba| lba >= 50).collect();
    assert!(appended.iter().copied().eq(50..100));
}

#[test]
fn parameters_out_of_range_are_refused() {
    let bad = |kind, pages| {
        let spec = Spec { kind, pages, writes: 1, fill: false, seed: 1 };
        generate(&spec).unwrap_err().to_string()
    };
    assert_eq!(bad(AccessPattern::Uniform, 0), "a trace needs 1 to 2147483648 pages, not 0");
    assert_eq!(bad(AccessPattern::Zipf { alpha: -1.0 }, 9), "alpha -1 is not from 0 to 100");
    assert_eq!(bad(AccessPattern::Zipf { alpha: f64::NAN }, 9), "alpha NaN is not from 0 to 100");
}
