//! Annotation agrees with a model that looks ahead write by write.

use frostline_trace::{
    Bits, FINAL, NEVER, Prepared, Trim, VolumeInfo, Writes, lifespans, mean_lifespans, prepare,
};
use proptest::prelude::*;

fn writes(lbas: &[u32]) -> Writes {
    Writes { name: "v".into(), lbas: lbas.to_vec(), ..Writes::default() }
}

fn prepared(preload: Option<Writes>, main: Writes) -> Prepared {
    prepare(preload, main, true).unwrap()
}

/// The lifespan of write `i`, found in the simplest way.
fn lifespan(lbas: &[u32], trims: &[Trim], i: usize) -> u32 {
    let next = lbas[i + 1..].iter().position(|lba| *lba == lbas[i]);
    let trimmed = trims.iter().find(|trim| trim.at > i && trim.lbas().contains(&lbas[i]));
    let written = next.map_or(NEVER, |after| after as u32 + 1);
    written.min(trimmed.map_or(NEVER, |trim| (trim.at - i - 1) as u32))
}

/// Trims anywhere in a trace, including pages that it does not write.
fn trims() -> impl Strategy<Value = Vec<(proptest::sample::Index, u32, u32)>> {
    proptest::collection::vec((any::<proptest::sample::Index>(), 0u32..50, 0u32..10), 0..20)
}

fn trimmed(writes: Writes, trims: &[(proptest::sample::Index, u32, u32)]) -> Writes {
    let place = |at: proptest::sample::Index| at.index(writes.lbas.len() + 1);
    let trim = |&(at, first, more)| Trim { at: place(at), first, last: first + more };
    let mut trims: Vec<_> = trims.iter().map(trim).collect();
    trims.sort_by_key(|trim| trim.at);
    Writes { trims, ..writes }
}

/// Share of the pages valid after `cut` writes that the rest of the trace leaves alone.
fn frozen(lbas: &[u32], trims: &[Trim], cut: usize) -> f64 {
    let is_trimmed = |lba, from, to: usize| {
        trims.iter().any(|trim| (from..to).contains(&trim.at) && trim.lbas().contains(&lba))
    };
    let mut pages: Vec<u32> = (0..cut)
        .filter(|&i| !lbas[i + 1..cut].contains(&lbas[i]) && !is_trimmed(lbas[i], i + 1, cut + 1))
        .map(|i| lbas[i])
        .collect();
    let valid = pages.len();
    pages.retain(|lba| !lbas[cut..].contains(lba) && !is_trimmed(*lba, cut + 1, usize::MAX));
    if valid == 0 { 0.0 } else { pages.len() as f64 / valid as f64 }
}

proptest! {
    #[test]
    fn lifespans_and_final_writes_are_those_of_the_model(
        before in proptest::collection::vec(0u32..40, 0..60),
        lbas in proptest::collection::vec(0u32..40, 1..200),
        trims_before in trims(),
        trims in trims(),
    ) {
        let all = [before.clone(), lbas.clone()].concat();
        let preload = (!before.is_empty()).then(|| trimmed(writes(&before), &trims_before));
        let main = trimmed(writes(&lbas), &trims);
        let with = prepare(preload.clone(), main.clone(), true).unwrap();
        let without = prepare(preload.clone(), main.clone(), false).unwrap();
        prop_assert_eq!(with.measured_from, before.len());
        prop_assert_eq!(&with.words, &without.words);
        let mut trims = preload.map(|preload| preload.trims).unwrap_or_default();
        trims.extend(main.trims.iter().map(|t| Trim { at: before.len() + t.at, ..*t }));
        trims.iter_mut().for_each(|trim| trim.last = trim.last.min(with.space - 1));
        trims.retain(|trim| trim.first < with.space);
        prop_assert_eq!(&with.trims, &trims);
        prop_assert_eq!(with.space, all.iter().max().unwrap() + 1);
        let unique: std::collections::HashSet<_> = all.iter().collect();
        prop_assert_eq!(with.unique as usize, unique.len());
        let found = with.lifespans.unwrap();
        prop_assert_eq!(&found, &lifespans(&with.words, &with.trims, with.space));
        for i in 0..all.len() {
            let expected = lifespan(&all, &trims, i);
            prop_assert_eq!(found[i], expected);
            prop_assert_eq!(with.words[i] & !FINAL, all[i]);
            prop_assert_eq!(with.words[i] & FINAL != 0, expected == NEVER);
        }
        let means = mean_lifespans(&with.words, &with.trims, with.space);
        for lba in 0..with.space {
            let own: Vec<f64> = (0..all.len())
                .filter(|&i| all[i] == lba && found[i] != NEVER)
                .map(|i| f64::from(found[i]))
                .collect();
            let mean = own.iter().sum::<f64>() / own.len() as f64;
            let expected = if own.is_empty() { f32::INFINITY } else { mean as f32 };
            prop_assert_eq!(means[lba as usize], expected);
        }
        let info = VolumeInfo::of(&main).unwrap();
        prop_assert_eq!(info.trims, main.trims.len() as u64);
        prop_assert_eq!(info.frozen_at_50, frozen(&lbas, &main.trims, lbas.len() / 2));
        prop_assert_eq!(info.frozen_at_80, frozen(&lbas, &main.trims, (lbas.len() * 8).div_ceil(10)));
    }

    #[test]
    fn squeezed_pages_keep_their_order_and_identity(
        lbas in proptest::collection::vec(any::<u32>(), 1..100),
        twice in any::<bool>(),
    ) {
        let lbas = if twice { [lbas.clone(), lbas].concat() } else { lbas };
        let trims: Vec<_> = lbas.chunks_exact(2).map(|pair| Trim {
            at: lbas.len(),
            first: pair[0].min(pair[1]),
            last: pair[0].max(pair[1]),
        }).collect();
        let result = prepared(None, Writes { trims: trims.clone(), ..writes(&lbas) });
        prop_assert!(result.space <= FINAL);
        for (trim, renumbered) in trims.iter().zip(&result.trims) {
            for (lba, word) in lbas.iter().zip(&result.words) {
                let within = renumbered.lbas().contains(&(word & !FINAL));
                prop_assert_eq!(trim.lbas().contains(lba), within);
            }
        }
        for (a, x) in lbas.iter().zip(&result.words) {
            for (b, y) in lbas.iter().zip(&result.words) {
                prop_assert_eq!(a.cmp(b), (x & !FINAL).cmp(&(y & !FINAL)));
            }
        }
    }
}

#[test]
fn starts_of_preload_and_trace_are_joined() {
    let mut starts = Bits::ones(3);
    starts.set(1, false);
    let second = Writes { starts: Some(starts), ..writes(&[4, 5, 6]) };
    let joined = prepared(Some(writes(&[1, 2])), second.clone()).starts.unwrap();
    let bits: Vec<bool> = (0..joined.len()).map(|i| joined.get(i)).collect();
    assert_eq!(bits, [true, true, true, false, true]);
    assert_eq!(prepared(None, second).starts.unwrap().len(), 3);
    assert_eq!(prepared(Some(writes(&[1])), writes(&[2])).starts, None);
}

#[test]
fn what_follows_is_guessed_of_the_part_without_requests_alone() {
    let mut known = frostline_trace::Following::default();
    assert!([1, 0, 0].into_iter().all(|pages| known.push(pages)));
    let second = Writes { following: Some(known), ..writes(&[4, 5, 6]) };
    let joined = prepared(Some(writes(&[1, 2, 3])), second.clone());
    let numbers =
        |of: &frostline_trace::Following| -> Vec<u8> { (0..of.len()).map(|i| of.get(i)).collect() };
    assert_eq!(numbers(&joined.following), [2, 1, 0, 1, 0, 0]);
    assert_eq!(joined.guessed, 0..3);
    assert_eq!(numbers(&joined.following.without(joined.guessed.clone())), [0, 0, 0, 1, 0, 0]);
    assert_eq!(prepared(None, second).guessed, 0..0);
    assert_eq!(prepared(Some(writes(&[9])), writes(&[1, 2])).guessed, 0..3);
}

#[test]
fn times_of_a_preload_precede_those_of_the_trace() {
    let timed =
        |times: &[u64]| Writes { times: Some(times.to_vec()), ..writes(&vec![0; times.len()]) };
    let joined = |a, b| prepared(Some(a), b).times;
    assert_eq!(joined(timed(&[1, 2]), timed(&[5, 6])), Some(vec![1, 2, 5, 6]));
    assert_eq!(joined(timed(&[100, 103]), timed(&[50, 51])), Some(vec![47, 50, 50, 51]));
    assert_eq!(joined(timed(&[10, 100]), timed(&[50, 51])), Some(vec![0, 90, 90, 91]));
    assert_eq!(joined(writes(&[1]), timed(&[50])), Some(vec![0, 50]));
    assert_eq!(joined(timed(&[5]), writes(&[1])), None);
}

#[test]
fn a_preload_and_its_trace_share_one_numbering() {
    let far = u32::MAX - 3;
    let result = prepared(Some(writes(&[far, 9])), writes(&[9, far]));
    let lbas: Vec<u32> = result.words.iter().map(|word| word & !FINAL).collect();
    assert_eq!((lbas[0], lbas[1]), (lbas[3], lbas[2]));
    assert_eq!((result.space, result.unique), (2048 - 3, 2));
}
