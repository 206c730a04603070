//! Sums of products by the vector instructions of x86-64 processors.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::{DIGITS, Digits, GateSums, Hidden, Instructions, QUAD, Quad, Quantised};
use crate::classifier::network::UNITS;

const INPUT_QUADS: usize = DIGITS / QUAD;
const GATES: usize = 3;

/// The instruction sets of this processor besides the portable one, the slowest first.
pub(super) fn available() -> impl Iterator<Item = Instructions> {
    let avx2 = is_x86_feature_detected!("avx2");
    let vnni = avx2
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vnni");
    let all = [(avx2, Instructions::Avx2), (vnni, Instructions::Vnni)];
    all.into_iter().filter(|(has, _)| *has).map(|(_, instructions)| instructions)
}

#[inline]
pub(super) fn step(
    network: &Quantised,
    instructions: Instructions,
    inputs: &Digits,
    hidden: &mut Hidden,
) -> bool {
    match instructions {
        Instructions::Portable => network.step_portable(inputs, hidden),
        // SAFETY: instructions are among `available`, so the processor has them.
        Instructions::Avx2 => unsafe { step_avx2(network, inputs, hidden) },
        // SAFETY: as above.
        Instructions::Vnni => unsafe { step_vnni(network, inputs, hidden) },
    }
}

/// The inputs in groups of four.
#[inline(always)]
fn quads(inputs: &[u8]) -> impl Iterator<Item = i32> {
    inputs.as_chunks::<QUAD>().0.iter().map(|quad| i32::from_le_bytes(*quad))
}

/// A quad's weights for reset gate, update gate and candidate.
#[inline(always)]
fn gates(quad: &Quad) -> &[[[i8; QUAD]; UNITS]; GATES] {
    quad.as_chunks().0.first_chunk().expect("the rows of all gates")
}

/// A gate's weights in parts of `UNITS_OF_PART` units.
#[inline(always)]
fn part<const UNITS_OF_PART: usize>(gate: &[[i8; QUAD]; UNITS]) -> &[[[i8; QUAD]; UNITS_OF_PART]] {
    gate.as_chunks().0
}

// No closures from here on: closures would be compiled without the vector instructions, so that
// nothing that uses these could be inlined into them.

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
fn step_vnni(network: &Quantised, inputs: &Digits, hidden: &mut Hidden) -> bool {
    const LANES: usize = 16;
    type GateVectors = [__m512i; UNITS / LANES];

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(sum: &[i32; UNITS]) -> GateVectors {
        const { assert!(size_of::<[i32; UNITS]>() == size_of::<GateVectors>()) };
        let at: *const __m512i = sum.as_ptr().cast();
        // SAFETY: 32 integers of four bytes are twice 64 bytes; they need no alignment.
        unsafe { [_mm512_loadu_si512(at), _mm512_loadu_si512(at.add(1))] }
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn store(sum: GateVectors, to: &mut [i32; UNITS]) {
        let at: *mut __m512i = to.as_mut_ptr().cast();
        // SAFETY: as above.
        unsafe {
            _mm512_storeu_si512(at, sum[0]);
            _mm512_storeu_si512(at.add(1), sum[1]);
        }
    }
    #[inline]
    #[target_feature(enable = "avx512f,avx512vnni")]
    fn add(sum: GateVectors, x: __m512i, weights: &[[i8; QUAD]; UNITS]) -> GateVectors {
        const { assert!(size_of::<[[i8; QUAD]; UNITS]>() == size_of::<GateVectors>()) };
        let at: *const __m512i = weights.as_ptr().cast();
        // SAFETY: 32 rows of four bytes are twice 64 bytes; they need no alignment.
        let weights = unsafe { [_mm512_loadu_si512(at), _mm512_loadu_si512(at.add(1))] };
        [_mm512_dpbusd_epi32(sum[0], x, weights[0]), _mm512_dpbusd_epi32(sum[1], x, weights[1])]
    }

    let [reset, update, new, old] = &network.offsets;
    let (mut reset, mut update, mut new, mut old) =
        (load(reset), load(update), load(new), load(old));
    for (quad, x) in network.weights[..INPUT_QUADS].iter().zip(quads(inputs)) {
        let x = _mm512_set1_epi32(x);
        let [of_reset, of_update, of_candidate] = gates(quad);
        reset = add(reset, x, of_reset);
        update = add(update, x, of_update);
        new = add(new, x, of_candidate);
    }
    for (quad, x) in network.weights[INPUT_QUADS..].iter().zip(quads(hidden)) {
        let x = _mm512_set1_epi32(x);
        let [of_reset, of_update, of_candidate] = gates(quad);
        reset = add(reset, x, of_reset);
        update = add(update, x, of_update);
        old = add(old, x, of_candidate);
    }
    let mut sums: GateSums = [[0; UNITS]; 4];
    store(reset, &mut sums[0]);
    store(update, &mut sums[1]);
    store(new, &mut sums[2]);
    store(old, &mut sums[3]);
    network.finish(&sums, hidden)
}

#[target_feature(enable = "avx2")]
fn step_avx2(network: &Quantised, inputs: &Digits, hidden: &mut Hidden) -> bool {
    const LANES: usize = 8;
    /// Vectors of a gate that are summed together; for all four sums they fill half the registers.
    const TOGETHER: usize = 2;
    type GateVectors = [__m256i; TOGETHER];

    #[inline]
    #[target_feature(enable = "avx2")]
    fn add(sum: GateVectors, x: __m256i, weights: &[[i8; QUAD]; LANES * TOGETHER]) -> GateVectors {
        const { assert!(size_of::<[[i8; QUAD]; LANES * TOGETHER]>() == size_of::<GateVectors>()) };
        let at: *const __m256i = weights.as_ptr().cast();
        // SAFETY: 16 rows of four bytes are twice 32 bytes; they need no alignment.
        let weights = unsafe { [_mm256_loadu_si256(at), _mm256_loadu_si256(at.add(1))] };
        [product(sum[0], x, weights[0]), product(sum[1], x, weights[1])]
    }
    #[inline]
    #[target_feature(enable = "avx2")]
    fn product(sum: __m256i, x: __m256i, weights: __m256i) -> __m256i {
        let pairs = _mm256_maddubs_epi16(x, weights);
        _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))
    }
    #[inline]
    #[target_feature(enable = "avx2")]
    fn add_to(sum: GateVectors, sums: &mut [i32; LANES * TOGETHER]) {
        const { assert!(size_of::<[i32; LANES * TOGETHER]>() == size_of::<GateVectors>()) };
        let at: *mut __m256i = sums.as_mut_ptr().cast();
        // SAFETY: 16 integers of four bytes are twice 32 bytes; they need no alignment.
        unsafe {
            _mm256_storeu_si256(at, _mm256_add_epi32(sum[0], _mm256_loadu_si256(at)));
            let at = at.add(1);
            _mm256_storeu_si256(at, _mm256_add_epi32(sum[1], _mm256_loadu_si256(at)));
        }
    }

    let mut sums: GateSums = network.offsets;
    for half in 0..UNITS / (LANES * TOGETHER) {
        let none = [_mm256_setzero_si256(); TOGETHER];
        let (mut reset, mut update, mut new, mut old) = (none, none, none, none);
        for (quad, x) in network.weights[..INPUT_QUADS].iter().zip(quads(inputs)) {
            let x = _mm256_set1_epi32(x);
            let [of_reset, of_update, of_candidate] = gates(quad);
            reset = add(reset, x, &part(of_reset)[half]);
            update = add(update, x, &part(of_update)[half]);
            new = add(new, x, &part(of_candidate)[half]);
        }
        for (quad, x) in network.weights[INPUT_QUADS..].iter().zip(quads(hidden)) {
            let x = _mm256_set1_epi32(x);
            let [of_reset, of_update, of_candidate] = gates(quad);
            reset = add(reset, x, &part(of_reset)[half]);
            update = add(update, x, &part(of_update)[half]);
            old = add(old, x, &part(of_candidate)[half]);
        }
        add_to(reset, &mut sums[0].as_chunks_mut().0[half]);
        add_to(update, &mut sums[1].as_chunks_mut().0[half]);
        add_to(new, &mut sums[2].as_chunks_mut().0[half]);
        add_to(old, &mut sums[3].as_chunks_mut().0[half]);
    }
    network.finish(&sums, hidden)
}
