//! `frostline gen`: options reach the generator. The generator's own tests check that its traces
//! never change.

use crate::run::Scratch;
use frostline_trace::{AccessPattern, Oltp, Spec, generate};

/// The page numbers that `gen` writes with these options.
fn pages(options: &str) -> Vec<u32> {
    let scratch = Scratch::new();
    scratch.quiet(&format!("gen {options} -q -o t.u32"));
    let bytes = std::fs::read(scratch.path("t.u32")).unwrap();
    bytes.chunks(4).map(|lba| u32::from_le_bytes(lba.try_into().unwrap())).collect()
}

/// The generator's trace with 1000 pages and 5000 writes.
fn generated(kind: AccessPattern, fill: bool, seed: u64) -> Vec<u32> {
    generate(&Spec { kind, pages: 1000, writes: 5000, fill, seed }).unwrap().collect()
}

#[test]
fn each_kind_is_the_generators_own() {
    let size = "--pages 1000 --writes 5000";
    let oltp = AccessPattern::Oltp(Oltp::default());
    assert_eq!(
        pages(&format!("zipf {size}")),
        generated(AccessPattern::Zipf { alpha: 1.0 }, false, 1)
    );
    assert_eq!(pages(&format!("uniform {size}")), generated(AccessPattern::Uniform, false, 1));
    assert_eq!(pages(&format!("oltp {size}")), generated(oltp, false, 1));
}

#[test]
fn alpha_seed_and_fill_are_obeyed() {
    let size = "--pages 1000 --writes 5000";
    let steep = AccessPattern::Zipf { alpha: 1.5 };
    assert_eq!(pages(&format!("zipf {size} --alpha 1.5")), generated(steep, false, 1));
    assert_eq!(
        pages(&format!("uniform {size} --seed 7")),
        generated(AccessPattern::Uniform, false, 7)
    );
    assert_eq!(
        pages(&format!("uniform {size} --fill")),
        generated(AccessPattern::Uniform, true, 1)
    );
    let mut shape = Oltp::default();
    shape.alpha = 0.5;
    assert_eq!(
        pages(&format!("oltp {size} --alpha 0.5")),
        generated(AccessPattern::Oltp(shape), false, 1)
    );
}

#[test]
fn fill_alone_writes_every_page_once() {
    assert_eq!(pages("zipf --pages 9 --writes 0 --fill"), (0..9).collect::<Vec<_>>());
}

#[test]
fn the_ending_of_the_file_chooses_its_format() {
    let scratch = Scratch::new();
    let begins = |name: &str| {
        scratch.quiet(&format!("gen zipf --pages 100 --writes 900 --seed 3 -q -o {name}"));
        std::fs::read(scratch.path(name)).unwrap()[..4].to_vec()
    };
    assert_eq!(begins("t.u32.zst"), [0x28, 0xb5, 0x2f, 0xfd]);
    assert_eq!(begins("t.parquet"), b"PAR1");
    let first = generate(&Spec {
        kind: AccessPattern::Zipf { alpha: 1.0 },
        pages: 100,
        writes: 1,
        fill: false,
        seed: 3,
    });
    assert_eq!(begins("t"), first.unwrap().next().unwrap().to_le_bytes());
}

#[test]
fn the_message_tells_how_to_make_the_trace_again() {
    let ran = Scratch::new().run("gen oltp --pages 10 --writes 50 --fill --seed 4 -o t.u32");
    assert_eq!((ran.status, ran.out.as_str()), (0, ""));
    assert_eq!(ran.err, "frostline: t.u32: 55 page writes, seed 4\n");
}
