//! Annotation agrees with a model that looks ahead write by write.

use frostline_trace::{Bits, FINAL, NEVER, Prepared, Writes, lifespans, mean_lifespans, prepare};
use proptest::prelude::*;

fn writes(lbas: &[u32]) -> Writes {
    Writes { name: "v".into(), lbas: lbas.to_vec(), ..Writes::default() }
}

fn prepared(preload: Option<Writes>, main: Writes) -> Prepared {
    prepare(preload, main, true).unwrap()
}

/// The lifespan of write `i`, looked up in the most obvious way.
fn lifespan(lbas: &[u32], i: usize) -> u32 {
    let next = lbas[i + 1..].iter().position(|lba| *lba == lbas[i]);
    next.map_or(NEVER, |after| after as u32 + 1)
}

proptest! {
    #[test]
    fn lifespans_and_final_writes_are_those_of_the_model(
        before in proptest::collection::vec(0u32..40, 0..60),
        lbas in proptest::collection::vec(0u32..40, 1..200),
    ) {
        let all = [before.clone(), lbas.clone()].concat();
        let preload = (!before.is_empty()).then(|| writes(&before));
        let with = prepare(preload.clone(), writes(&lbas), true).unwrap();
        let without = prepare(preload, writes(&lbas), false).unwrap();
        prop_assert_eq!(with.measured_from, before.len());
        prop_assert_eq!(&with.words, &without.words);
        prop_assert_eq!(with.space, all.iter().max().unwrap() + 1);
        let unique: std::collections::HashSet<_> = all.iter().collect();
        prop_assert_eq!(with.unique as usize, unique.len());
        let found = with.lifespans.unwrap();
        prop_assert_eq!(&found, &lifespans(&with.words, with.space));
        for i in 0..all.len() {
            let expected = lifespan(&all, i);
            prop_assert_eq!(found[i], expected);
            prop_assert_eq!(with.words[i] & !FINAL, all[i]);
            prop_assert_eq!(with.words[i] & FINAL != 0, expected == NEVER);
        }
        let means = mean_lifespans(&with.words, with.space);
        for lba in 0..with.space {
            let own: Vec<f64> = (0..all.len())
                .filter(|&i| all[i] == lba && found[i] != NEVER)
                .map(|i| f64::from(found[i]))
                .collect();
            let mean = own.iter().sum::<f64>() / own.len() as f64;
            let expected = if own.is_empty() { f32::INFINITY } else { mean as f32 };
            prop_assert_eq!(means[lba as usize], expected);
        }
    }

    #[test]
    fn squeezed_pages_keep_their_order_and_identity(
        lbas in proptest::collection::vec(any::<u32>(), 1..100),
        twice in any::<bool>(),
    ) {
        let lbas = if twice { [lbas.clone(), lbas].concat() } else { lbas };
        let result = prepared(None, writes(&lbas));
        prop_assert!(result.space <= FINAL);
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
