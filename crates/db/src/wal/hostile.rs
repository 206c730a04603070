//! Devices full of batches that no log wrote, but whose sums are right.

use std::time::Duration;

use frostline_store::Compression;
use frostline_store::compression::Compressor;
use frostline_zone::{Shape, in_memory};
use proptest::prelude::*;

use super::batch::Packing;
use super::batch::{BLOCK, HEAD, Head, NONE, VERSION};
use super::chain::Chain;
use super::scan::ScannedBatch;
use super::{Flusher, Wal, WalError, WalOptions, zones};

const ZONES: u64 = 4;
const BLOCKS: u64 = 8;

/// A head whose numbers are small, so that many contradict each other a little.
fn head() -> impl Strategy<Value = Head> {
    let place = (0..ZONES as u32, 0..BLOCKS as u32, prop_oneof![0..6u32, Just(NONE)]);
    let sizes = (0..9000u32, 0..9000u32, 0..9000u32);
    let numbers = (1..4u64, 1..20u64, 1..20u64, 0..9u64, 0..9u64, 0..20u64);
    (place, sizes, numbers).prop_map(|((zone, block, next_zone), sizes, numbers)| {
        let (bytes, first, last) = sizes;
        let (epoch, epoch_first, number, offset, keep_from, durable) = numbers;
        let place = |at: u32| if at.is_multiple_of(3) { NONE } else { at % (bytes + 1) };
        let offset = offset * 1000;
        Head {
            version: VERSION,
            sum: 0,
            zone,
            block,
            next_zone,
            bytes,
            first: place(first),
            last: place(last),
            packing: Packing::Plain,
            kinds: sizes.0 % 4,
            stored: bytes,
            log: 7,
            epoch,
            epoch_first: epoch_first.min(number),
            number,
            offset,
            keep_from: (keep_from * 1000).min(offset),
            durable: durable.min(number - 1),
        }
    })
}

/// A head with another packing, and its payload: the same bytes again and again, which are
/// compressed, one of them perhaps changed or the last ones cut off.
fn packed(head: Head, fill: u8, compression: Compression, damage: u16) -> (Head, Vec<u8>) {
    let bytes = vec![fill; head.bytes as usize];
    let short = Compressor::new(compression).compress(&bytes, bytes.len());
    let packing = if short.is_some() { compression.into() } else { Packing::Plain };
    let mut payload = short.unwrap_or(bytes);
    let len = payload.len();
    match (damage % 4, packing) {
        (0, _) if len > 0 => payload[usize::from(damage) % len] ^= (damage >> 8) as u8,
        (1, Packing::Lz4 | Packing::Zstd) => payload.truncate(usize::from(damage) % len),
        _ => {}
    }
    (Head { packing, stored: payload.len() as u32, ..head }, payload)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn batches_that_contradict_each_other_never_panic(
        heads in prop::collection::vec((head(), any::<u16>()), 0..24), fill in prop_oneof![Just(0), any::<u8>()]
    ) {
        let mut pages = vec![vec![fill; (BLOCKS * BLOCK) as usize]; ZONES as usize];
        let methods = [Compression::None, Compression::Lz4, Compression::Zstd];
        for (n, (head, damage)) in heads.into_iter().enumerate() {
            let (head, payload) = packed(head, fill, methods[n % 3], damage);
            let zone = &mut pages[head.zone as usize];
            let begin = (u64::from(head.block) * BLOCK) as usize;
            let end = (begin + HEAD + payload.len()).min(zone.len());
            zone[begin + HEAD..end].copy_from_slice(&payload[..end - begin - HEAD]);
            let sum = crc32c::crc32c(&payload);
            Head { sum, ..head }.encode(&mut zone[begin..]);
        }
        let shape = Shape::of_zones(ZONES, BLOCKS * BLOCK);
        let device = in_memory(&shape).unwrap();
        for (zone, bytes) in (0..).zip(&pages) {
            // One zone can still be written.
            let written = if zone == 0 { bytes.len() / 2 } else { bytes.len() };
            device.append(zone, 0, &bytes[..written]).unwrap();
        }
        let options = WalOptions {
            flusher: Flusher::Inline,
            delay: Duration::ZERO,
            buffer_bytes: 1 << 16,
            durable: 0,
            compression: Compression::Lz4,
        };
        if let Ok(wal) = Wal::open(device, 7, &options) {
            let _ = wal.replay(&mut |_, _, _| Ok::<(), WalError>(()), &mut |_, _| ());
            let _ = wal.replay_kinds(&[1], &mut |_, _, _| Ok::<(), WalError>(()));
            for kind in 0..20 {
                let appended = wal.append(kind, &[&[kind; 3000]], |_| ());
                let _ = appended.and_then(|(lsn, ())| wal.wait(lsn));
            }
            let _ = wal.release(wal.end());
        }
    }
}

/// A zone that became read-only keeps what was cut off, as does one whose reset was undone.
#[test]
fn batches_that_an_epoch_cut_off_never_come_back() {
    let batch = |epoch, epoch_first, number, offset, durable| {
        let head = Head {
            version: VERSION,
            zone: epoch as u32,
            block: number as u32,
            next_zone: NONE,
            bytes: 100,
            stored: 100,
            first: 0,
            last: 100,
            log: 7,
            epoch,
            epoch_first,
            number,
            offset,
            durable,
            ..Head::default()
        };
        ScannedBatch { head, is_whole: true }
    };
    let torn = |found: ScannedBatch| ScannedBatch { is_whole: false, ..found };
    let shape = Shape { bytes: 1 << 20, zone_bytes: Some(1 << 18), ..Shape::default() };
    let zones = zones(&*in_memory(&shape).unwrap()).unwrap();
    let find = |found: &[ScannedBatch]| Chain::find(7, &zones, found).unwrap();
    let seen = |chain: &Chain| (chain.last.epoch, chain.last.number, chain.end, chain.epoch);

    let first = [batch(1, 1, 1, 0, 0), batch(1, 1, 2, 100, 0), batch(1, 1, 4, 300, 0)];
    assert_eq!(seen(&find(&first)), (1, 2, 200, 2));
    // The next epoch wrote a third batch. With the fourth of the first the numbers would go on.
    let second = batch(2, 3, 3, 200, 2);
    assert_eq!(seen(&find(&[&first[..], &[second]].concat())), (2, 3, 300, 3));
    // If a crash tore it they would not, but its head still shows that there was a cut.
    let fourth = batch(1, 1, 3, 200, 0);
    let found = [&first[..], &[fourth, torn(second)]].concat();
    assert_eq!(seen(&find(&found)), (1, 2, 200, 3));
}
