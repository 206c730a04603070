//! Annotates writes with knowledge of the whole trace: which writes are final, and how long each
//! lives.

use std::ops::Range;

use frostline_placement::{Hotness, NEVER};

use crate::bits::Bits;
use crate::error::TraceError;
use crate::following::Following;
use crate::kinds::RecordKinds;
use crate::lifespan;
use crate::load::Writes;
use crate::merges::{MergeAt, VersionMerge, of_versions};
use crate::reads::Read;
use crate::squeeze::squeeze;
use crate::trim::{Trim, stretches};
use crate::word::FINAL;

/// A volume's writes, ready for replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// The volume's name.
    pub name: String,
    /// One entry a page write: the LBA in the low 31 bits, and [`FINAL`] if this version lives for
    /// ever.
    pub words: Vec<u32>,
    /// Trims of pages below [`Prepared::space`], in order, with their place among all writes.
    pub trims: Vec<Trim>,
    /// Reads, in order, with their place among all writes; empty if they were not loaded. They may
    /// be of pages beyond [`Prepared::space`].
    pub reads: Vec<Read>,
    /// Bit `i` is set if write `i` is the first page of its request; `None` if all are.
    pub starts: Option<Bits>,
    /// Pages of the same request that follow each write.
    pub following: Following,
    /// The writes for which `following` is a guess, as their trace has no requests: the LBAs that
    /// come next.
    pub guessed: Range<usize>,
    /// Microseconds on the trace's clock, one a page write.
    pub times: Option<Vec<u64>>,
    /// The number of writes at the beginning that belong to the preload and are not counted.
    pub measured_from: usize,
    /// Largest LBA plus one.
    pub space: u32,
    /// The number of different pages written.
    pub unique: u32,
    /// User writes until each write's page is written again or trimmed; [`NEVER`] if that does not
    /// happen.
    pub lifespans: Option<Vec<u32>>,
    /// The hotness record of each write; `None` if the trace has none or they were not loaded.
    pub hotness: Option<Vec<Hotness>>,
    /// Bytes that must be written of each page write; `None` if all pages are written whole.
    pub bytes: Option<Vec<u16>>,
    /// The kinds of the records that were written; `None` if all are images.
    pub kinds: Option<RecordKinds>,
    /// The merges of bases, deltas and tails, in the order of the pages' versions.
    pub merges: Vec<VersionMerge>,
    /// The syncs, each as the number of page writes before it, in order.
    pub syncs: Vec<usize>,
}

/// Joins a preload and a trace, and marks the writes that live for ever. If only one of them has
/// hotness records, the other's are zeroes. If only one of them has the bytes of pages, the other's
/// pages are written whole.
///
/// LBAs of 2^31 and more, and very sparse address spaces (over 2^24 pages and 16 times the used
/// pages), are renumbered in the same order; see [`Prepared::space`].
///
/// # Errors
/// [`TraceError::ManyWrites`] for 2^32 - 1 writes or more, [`TraceError::ManyPages`] for more than
/// 2^31 pages.
pub fn prepare(
    preload: Option<Writes>,
    writes: Writes,
    want_lifespans: bool,
) -> Result<Prepared, TraceError> {
    let measured_from = preload.as_ref().map_or(0, |p| p.lbas.len());
    let (following, guessed) = following_of(preload.as_ref(), &writes);
    let joined = match preload {
        Some(preload) => join(preload, writes),
        None => writes,
    };
    let Writes { name, mut lbas, mut trims, mut reads, starts, times, hotness, bytes, .. } = joined;
    let Writes { kinds, merges, syncs, .. } = joined;
    if lbas.len() >= u32::MAX as usize {
        return Err(TraceError::ManyWrites { name, writes: lbas.len() as u64 });
    }
    let merges = of_versions(&merges, &lbas);
    let (space, unique) = match squeeze(&mut lbas, &mut trims, &mut reads) {
        Ok(found) => found,
        Err(pages) => return Err(TraceError::ManyPages { name, pages }),
    };
    let lifespans = want_lifespans.then(|| lifespan::lifespans(&lbas, &trims, space));
    match &lifespans {
        Some(lifespans) => mark_never(&mut lbas, lifespans),
        None => mark_final(&mut lbas, &trims, space),
    }
    let words = lbas;
    assert_eq!(following.len(), words.len(), "each write is followed by a number of pages");
    assert!(
        starts.as_ref().is_none_or(|starts| starts.len() == words.len()),
        "a bit for each write"
    );
    assert!(measured_from <= words.len(), "a preload is part of its trace");
    Ok(Prepared {
        name,
        words,
        trims,
        reads,
        starts,
        following,
        guessed,
        times,
        measured_from,
        space,
        unique,
        lifespans,
        hotness,
        bytes,
        kinds,
        merges,
        syncs,
    })
}

/// What follows in the requests of a preload and a trace, and the range of writes for which that is
/// a guess.
fn following_of(preload: Option<&Writes>, writes: &Writes) -> (Following, Range<usize>) {
    let (mut all, mut guessed) = (Following::default(), 0..0);
    for part in preload.into_iter().chain([writes]) {
        let before = all.len();
        let known = part.following.clone().or_else(|| {
            let starts = part.starts.as_ref()?;
            Some(Following::of_starts(starts))
        });
        all.extend(&known.clone().unwrap_or_else(|| Following::guess(&part.lbas)));
        if known.is_none() {
            let from = if guessed.is_empty() { before } else { guessed.start };
            guessed = from..all.len();
        }
    }
    (all, guessed)
}

/// Joins two traces into one with the name of the second.
fn join(preload: Writes, writes: Writes) -> Writes {
    let starts = match (preload.starts, writes.starts) {
        (None, None) => None,
        (first, second) => {
            let mut bits = first.unwrap_or_else(|| Bits::ones(preload.lbas.len()));
            bits.extend(&second.unwrap_or_else(|| Bits::ones(writes.lbas.len())));
            Some(bits)
        }
    };
    let times = writes.times.map(|times| {
        let before = preload.times.unwrap_or_else(|| vec![0; preload.lbas.len()]);
        join_times(before, times)
    });
    let both = (preload.lbas.len(), writes.lbas.len());
    let hotness = join_told((preload.hotness, writes.hotness), both, Hotness::default());
    // The largest number: a whole page.
    let bytes = join_told((preload.bytes, writes.bytes), both, u16::MAX);
    let kinds = match (preload.kinds, writes.kinds) {
        (None, None) => None,
        (first, second) => {
            let mut kinds = first.unwrap_or_else(|| RecordKinds::images(both.0));
            kinds.extend(&second.unwrap_or_else(|| RecordKinds::images(both.1)));
            Some(kinds)
        }
    };
    let (mut merges, mut syncs) = (preload.merges, preload.syncs);
    merges.extend(writes.merges.iter().map(|merge| MergeAt { at: both.0 + merge.at, ..*merge }));
    syncs.extend(writes.syncs.iter().map(|at| both.0 + at));
    let (mut lbas, mut trims, mut reads) = (preload.lbas, preload.trims, preload.reads);
    trims.extend(writes.trims.iter().map(|trim| Trim { at: lbas.len() + trim.at, ..*trim }));
    reads.extend(writes.reads.iter().map(|read| Read { at: lbas.len() + read.at, ..*read }));
    lbas.extend_from_slice(&writes.lbas);
    let name = writes.name;
    let following = None;
    Writes {
        name,
        lbas,
        trims,
        reads,
        starts,
        following,
        times,
        hotness,
        bytes,
        kinds,
        merges,
        syncs,
    }
}

/// Joins two columns with these numbers of writes; `unknown` is the value for a trace without the
/// column.
fn join_told<T: Clone>(
    (first, second): (Option<Vec<T>>, Option<Vec<T>>),
    (before, after): (usize, usize),
    unknown: T,
) -> Option<Vec<T>> {
    if first.is_none() && second.is_none() {
        return None;
    }
    let fits = |column: &Option<Vec<T>>, len| column.as_ref().is_none_or(|all| all.len() == len);
    assert!(fits(&first, before) && fits(&second, after), "a column has an entry for each write");
    let mut all = first.unwrap_or_default();
    all.resize(before, unknown.clone());
    all.extend(second.unwrap_or_default());
    all.resize(before + after, unknown);
    Some(all)
}

/// Moves the first times back so that they precede the second; if there is no room, moves the
/// second.
fn join_times(mut first: Vec<u64>, mut second: Vec<u64>) -> Vec<u64> {
    let ends = first.iter().copied().max().unwrap_or(0);
    let begins = second.iter().copied().min().unwrap_or(u64::MAX);
    let excess = ends.saturating_sub(begins);
    let room = first.iter().copied().min().unwrap_or(0);
    let back = excess.min(room);
    first.iter_mut().for_each(|t| *t -= back);
    let forth = excess - back;
    if forth > 0 {
        second.iter_mut().for_each(|t| *t = t.saturating_add(forth));
    }
    first.extend_from_slice(&second);
    first
}

/// Marks the writes that live for ever.
fn mark_never(words: &mut [u32], lifespans: &[u32]) {
    assert_eq!(words.len(), lifespans.len(), "each write has a lifespan");
    for (word, &lifespan) in words.iter_mut().zip(lifespans) {
        *word |= if lifespan == NEVER { FINAL } else { 0 };
    }
}

/// Marks each write after which its LBA is neither written nor trimmed. It goes backwards with one
/// bit a page, which needs less memory than a table of last writes.
fn mark_final(words: &mut [u32], trims: &[Trim], space: u32) {
    let mut seen = Bits::zeros(space as usize);
    for (stretch, trim) in stretches(words.len(), trims).rev() {
        if let Some(trim) = trim {
            seen.fill(trim.indices(), true);
        }
        for word in words[stretch].iter_mut().rev() {
            *word |= if seen.insert(*word as usize) { 0 } else { FINAL };
        }
    }
}
