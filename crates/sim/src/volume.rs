//! A volume of a trace, ready for replay.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use frostline_log::{Lengths, Merge, Options, WORD_LAST, Writes};
use frostline_placement::Hotness;
use frostline_trace::{Bits, FINAL, Following, Prepared, Read, Trim, VersionMerge, mean_lifespans};

// The log takes the words of a trace unchanged.
const _: () = assert!(FINAL == WORD_LAST);

/// A volume of a trace, ready for replay by any number of runs at once. Its clones share the trace.
#[derive(Clone, Debug)]
pub struct TraceVolume {
    name: String,
    prepared: Arc<Prepared>,
    merges: Arc<[Merge]>,
    means: Arc<OnceLock<Vec<f32>>>,
    /// What follows in requests, without a guess.
    known: Arc<OnceLock<Following>>,
}

impl TraceVolume {
    /// Takes an annotated trace.
    pub fn new(prepared: Prepared) -> Self {
        let writes = prepared.words.len();
        let columns = [
            prepared.lifespans.as_ref().map(Vec::len),
            prepared.hotness.as_ref().map(Vec::len),
            prepared.times.as_ref().map(Vec::len),
            prepared.bytes.as_ref().map(Vec::len),
            prepared.starts.as_ref().map(Bits::len),
        ];
        assert!(columns.into_iter().flatten().all(|len| len == writes), "columns of one trace");
        assert!(prepared.measured_from <= writes, "a preload is part of its trace");
        let name = prepared.name.clone();
        let merge = |&VersionMerge { write, bytes }| Merge { write, bytes };
        let merges = prepared.merges.iter().map(merge).collect();
        TraceVolume {
            name,
            prepared: Arc::new(prepared),
            merges,
            means: Arc::default(),
            known: Arc::default(),
        }
    }

    /// The same volume under another name.
    #[must_use]
    pub fn with_name(self, name: String) -> Self {
        TraceVolume { name, ..self }
    }

    /// The volume's name; empty if the trace has only one volume.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The annotated trace.
    pub fn prepared(&self) -> &Prepared {
        &self.prepared
    }

    /// User page writes, the preload not included.
    pub fn user_writes(&self) -> u64 {
        (self.prepared.words.len() - self.prepared.measured_from) as u64
    }

    /// User page writes, the preload included.
    pub fn all_writes(&self) -> u64 {
        self.prepared.words.len() as u64
    }

    /// User page writes of the preload.
    pub fn preload_writes(&self) -> usize {
        self.prepared.measured_from
    }

    /// Different pages written, by the preload too.
    pub fn unique_pages(&self) -> u32 {
        self.prepared.unique
    }

    /// Largest LBA + 1.
    pub fn space(&self) -> u32 {
        self.prepared.space
    }

    /// One entry a page write, the preload's first: the LBA in the low 31 bits, and [`FINAL`] if
    /// this version lives for ever.
    pub fn words(&self) -> &[u32] {
        &self.prepared.words
    }

    /// True if the trace, or the preload, has no requests, so that what follows in them is a guess.
    pub fn is_guess(&self) -> bool {
        !self.prepared.guessed.is_empty()
    }

    /// Pages of the same request that follow each write, four writes a byte, with the guess for a
    /// trace without requests or without it.
    pub(crate) fn following(&self, guess: bool) -> &[u8] {
        let Prepared { following, guessed, .. } = &*self.prepared;
        if guess || guessed.is_empty() {
            return following.bytes();
        }
        self.known.get_or_init(|| following.without(guessed.clone())).bytes()
    }

    /// Mean lifespan of every LBA, computed at the first use.
    pub(crate) fn means(&self) -> &[f32] {
        let Prepared { words, trims, space, .. } = &*self.prepared;
        self.means.get_or_init(|| mean_lifespans(words, trims, *space))
    }

    /// The same of every LBA of a log with these options, which may have more, and one for each
    /// delta and tail.
    pub(crate) fn means_of_records(&self, options: &Options) -> Cow<'_, [f32]> {
        let means = self.means();
        if options.space as usize == means.len() {
            return Cow::Borrowed(means);
        }
        let pages = options.first_delta.unwrap_or(options.space);
        let mut of_records = vec![f32::INFINITY; options.space as usize];
        for records in of_records.chunks_mut(pages as usize) {
            // A volume that is too small for the trace is refused when it is written.
            records.iter_mut().zip(means).for_each(|(record, mean)| *record = *mean);
        }
        Cow::Owned(of_records)
    }

    /// Lifespan of every write, if the trace was annotated with them.
    pub fn lifespans(&self) -> Option<&[u32]> {
        self.prepared.lifespans.as_deref()
    }

    /// The hotness record of every write; `None` if the trace has none, or was read without them.
    pub(crate) fn hotness(&self) -> Option<&[Hotness]> {
        self.prepared.hotness.as_deref()
    }

    /// The trims, in order, among all writes.
    pub fn trims(&self) -> &[Trim] {
        &self.prepared.trims
    }

    /// The reads, in order, among all writes; empty if the trace was loaded without them.
    pub fn reads(&self) -> &[Read] {
        &self.prepared.reads
    }

    /// The trace's time of every write in microseconds; `None` if the trace was read without times.
    pub fn times(&self) -> Option<&[u64]> {
        self.prepared.times.as_deref()
    }

    /// The bytes that must be written for each page write, if the trace has them.
    pub fn bytes(&self) -> Option<&[u16]> {
        self.prepared.bytes.as_deref()
    }

    /// The syncs, each as the number of page writes before it, in order, among all writes.
    pub(crate) fn syncs(&self) -> &[usize] {
        &self.prepared.syncs
    }

    /// True if the trace says which writes are deltas or tails.
    pub fn has_deltas(&self) -> bool {
        self.prepared.kinds.is_some()
    }

    /// The writes for the log, with units of `unit` bytes.
    pub(crate) fn writes(&self, unit: u32) -> Writes<'_> {
        let kinds = self.prepared.kinds.as_ref();
        Writes {
            words: self.words(),
            starts: self.prepared.starts.as_ref().map(Bits::words),
            following: None,
            lifespans: self.lifespans(),
            hotness: self.hotness(),
            lengths: self.bytes().map(|bytes| Lengths {
                bytes,
                unit,
                deltas: kinds.map(|kinds| kinds.deltas().words()),
                tails: kinds.map(|kinds| kinds.tails().words()),
                merges: &self.merges,
            }),
        }
    }
}
