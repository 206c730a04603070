//! Loads a trace into memory: one entry a page write, volume by volume.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use frostline_placement::{FOLLOWING_MOST, Hotness};

use crate::bits::Bits;
use crate::error::{TraceError, some_of};
use crate::following::Following;
use crate::format::Format;
use crate::formats::u32::PageNumbers;
use crate::kinds::{RecordKind, RecordKinds};
use crate::merges::MergeAt;
use crate::reader::{Reader, ReaderOptions};
use crate::reads::Read;
use crate::request::{Op, Request};
use crate::trim::Trim;

/// Requests that are decoded in one step; few enough to stay in a core's cache.
const BATCH: usize = 4096;

/// Options of loading a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadOptions {
    /// The format; `None` to find it by content.
    pub format: Option<Format>,
    /// Bytes in a page, a power of two from 512 up.
    pub page_size: u32,
    /// The only volume to load; `None` for all.
    pub volume: Option<String>,
    /// True to keep the time of each page write.
    pub times: bool,
    /// True to keep trims.
    pub trims: bool,
    /// True to keep reads.
    pub reads: bool,
    /// True to keep the hotness records that the file may have.
    pub hotness: bool,
    /// Stop after this many page writes, of all volumes loaded together.
    pub limit: Option<u64>,
    /// Bytes in the unit of `oracle-general`'s object numbers, see [`ReaderOptions::unit`].
    pub unit: Option<NonZeroU32>,
    /// Refuse a trace that would take more bytes of memory than this, before it does.
    pub memory: Option<u64>,
}

impl LoadOptions {
    /// The options of the reader for these options.
    pub(crate) fn reader(&self) -> ReaderOptions {
        let LoadOptions { format, page_size, unit, hotness, .. } = *self;
        ReaderOptions { format, page_size, unit, hotness }
    }
}

impl Default for LoadOptions {
    fn default() -> LoadOptions {
        LoadOptions {
            format: None,
            page_size: 4096,
            volume: None,
            times: false,
            trims: true,
            reads: false,
            hotness: false,
            limit: None,
            unit: None,
            memory: None,
        }
    }
}

/// The page writes of one volume.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Writes {
    /// The volume's name.
    pub name: String,
    /// The LBA of each page write, in order; a request gives one for each page it overlaps.
    pub lbas: Vec<u32>,
    /// The trims that cover whole pages, in order.
    pub trims: Vec<Trim>,
    /// The reads, in order; empty unless asked for.
    pub reads: Vec<Read>,
    /// Bit `i` is set if write `i` is the first page of its request; `None` if all are.
    pub starts: Option<Bits>,
    /// Pages of the same request that follow each page write; `None` if the trace has no requests.
    pub following: Option<Following>,
    /// Microseconds on the trace's clock, one a page write; `None` unless asked for.
    pub times: Option<Vec<u64>>,
    /// Hotness records, one a page write; `None` unless asked for and in the file. All pages of a
    /// request have the same record.
    pub hotness: Option<Vec<Hotness>>,
    /// Bytes that must be written of each page write; `None` if the file does not say, then they
    /// are whole pages. All pages of a request have the same number.
    pub bytes: Option<Vec<u16>>,
    /// The kinds of the records that were written; `None` if the file does not say, then they are
    /// images. All pages of a request have the same.
    pub kinds: Option<RecordKinds>,
    /// The merges of bases, deltas and tails, in order.
    pub merges: Vec<MergeAt>,
    /// The syncs, each as the number of page writes before it, in order.
    pub syncs: Vec<usize>,
}

/// A trace in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// The format that it was read as.
    pub format: Format,
    /// True if the file has hotness records, kept or not.
    pub has_hotness: bool,
    /// The volumes that have page writes, in the order of their first page write.
    pub volumes: Vec<Writes>,
}

impl Loaded {
    /// Bytes of memory that the trace takes, without the bit a write for request starts.
    pub fn bytes(&self) -> u64 {
        let of_volume = |volume: &Writes| {
            let (times, hotness) = (volume.times.is_some(), volume.hotness.is_some());
            volume.lbas.len() as u64 * bytes_per_write(times, hotness, volume.bytes.is_some())
                + volume.trims.len() as u64 * TRIM_BYTES
                + volume.reads.len() as u64 * READ_BYTES
                + volume.merges.len() as u64 * MERGE_BYTES
                + volume.syncs.len() as u64 * SYNC_BYTES
        };
        self.volumes.iter().map(of_volume).sum()
    }
}

/// Bytes that a trim takes.
const TRIM_BYTES: u64 = size_of::<Trim>() as u64;

/// Bytes that a read takes.
const READ_BYTES: u64 = size_of::<Read>() as u64;

/// Bytes that a merge takes.
const MERGE_BYTES: u64 = size_of::<MergeAt>() as u64;

/// Bytes that a sync takes.
const SYNC_BYTES: u64 = size_of::<usize>() as u64;

/// Bytes that a page write takes.
fn bytes_per_write(times: bool, hotness: bool, bytes: bool) -> u64 {
    let times = if times { size_of::<u64>() } else { 0 };
    let hotness = if hotness { size_of::<Hotness>() } else { 0 };
    let bytes = if bytes { size_of::<u16>() } else { 0 };
    (size_of::<u32>() + times + hotness + bytes) as u64
}

/// The optional columns that are read of a file.
#[derive(Clone, Copy, Default)]
struct Columns {
    hotness: bool,
    bytes: bool,
    kinds: bool,
    following: bool,
}

/// What a file says of a request besides.
#[derive(Clone, Copy)]
struct Told<'a> {
    hotness: Option<&'a Hotness>,
    bytes: Option<u16>,
    kind: Option<RecordKind>,
    /// Pages of the same request in later rows.
    following: u8,
}

/// The memory that a trace may take, and the rest of it.
struct Budget {
    file: PathBuf,
    limit: u64,
    left: u64,
    per_write: u64,
}

impl Budget {
    fn new(file: &Path, options: &LoadOptions, told: Columns) -> Budget {
        let limit = options.memory.unwrap_or(u64::MAX);
        let per_write = bytes_per_write(options.times, told.hotness, told.bytes);
        Budget { file: file.to_owned(), limit, left: limit, per_write }
    }

    /// Reserves the memory that `writes` page writes need.
    #[inline]
    fn take(&mut self, writes: u64) -> Result<(), TraceError> {
        self.take_bytes(writes.saturating_mul(self.per_write))
    }

    #[inline]
    fn take_bytes(&mut self, bytes: u64) -> Result<(), TraceError> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| self.exceeded())?;
        Ok(())
    }

    #[cold]
    fn exceeded(&self) -> TraceError {
        TraceError::Memory { file: self.file.clone(), limit: self.limit }
    }
}

/// Loads the page writes of a trace, reading the file once.
///
/// Requests of no bytes and trims that cover no whole page are skipped, and reads unless they are
/// asked for. From time to time
/// `on_bytes` is called with the number of bytes of the file that were read so far.
///
/// # Errors
/// Errors of [`TraceError`] about a file; [`TraceError::NoWrites`] if nothing was loaded.
pub fn load(
    path: &Path,
    options: &LoadOptions,
    on_bytes: &mut dyn FnMut(u64),
) -> Result<Loaded, TraceError> {
    let mut reader = Reader::open_with(path, &options.reader())?;
    let limit = options.limit.unwrap_or(u64::MAX);
    let wanted = |name: &str| options.volume.as_deref().is_none_or(|volume| volume == name);
    let volumes = match reader.pages() {
        Some(pages) => {
            let writes = load_pages(pages, limit, options, on_bytes)?;
            let name = reader.volume_names().first().cloned().unwrap_or_default();
            if wanted(&name) { vec![Writes { name, ..writes }] } else { Vec::new() }
        }
        None => {
            let told = Columns {
                hotness: reader.hotness().is_some(),
                bytes: reader.bytes().is_some(),
                kinds: reader.kinds().is_some(),
                following: reader.has_requests(),
            };
            let mut split = PageSplitter::new(path, options, limit, told);
            split.read_all(&mut reader, &wanted, on_bytes)?;
            split.volumes
        }
    };
    if volumes.iter().all(|volume| volume.lbas.is_empty()) {
        return Err(nothing(&reader, options.volume.as_deref()));
    }
    Ok(Loaded { format: reader.format(), has_hotness: reader.has_hotness(), volumes })
}

/// The error for a trace that was read to its end and had no wanted page write.
pub(crate) fn nothing(reader: &Reader, volume: Option<&str>) -> TraceError {
    let file = reader.file().to_owned();
    let names = reader.volume_names();
    match volume {
        Some(name) if !names.iter().any(|n| n == name) => {
            let known = some_of(names.iter().map(String::as_str));
            TraceError::UnknownVolume { file, name: name.to_owned(), known }
        }
        _ => TraceError::NoWrites { file, format: reader.format() },
    }
}

/// Loads a file of page numbers directly.
fn load_pages(
    pages: &mut PageNumbers,
    limit: u64,
    options: &LoadOptions,
    on_bytes: &mut dyn FnMut(u64),
) -> Result<Writes, TraceError> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut lbas = Vec::new();
    let mut budget = Budget::new(pages.source().file(), options, Columns::default());
    let name = pages.source().file().display().to_string();
    let too_many = |writes: usize| TraceError::ManyWrites { name, writes: writes as u64 };
    let expected = pages.expected().min(limit);
    if (expected as u64).saturating_mul(budget.per_write) > budget.limit {
        return Err(budget.exceeded());
    }
    if lbas.try_reserve_exact(expected).is_err() {
        return Err(too_many(expected));
    }
    while lbas.len() < limit {
        let chunk = pages.lbas(limit - lbas.len())?;
        if chunk.is_empty() {
            break;
        }
        budget.take(chunk.len() as u64)?;
        if lbas.try_reserve(chunk.len()).is_err() {
            return Err(too_many(lbas.len()));
        }
        lbas.extend_from_slice(chunk);
        on_bytes(pages.source().consumed());
    }
    let times = options.times.then(|| (1..=lbas.len() as u64).collect());
    Ok(Writes { lbas, times, ..Writes::default() })
}

/// The state of a volume during loading.
enum VolumeLoad {
    Unwanted,
    /// No page write so far. Its trims are kept, as they may be of pages that a preload writes, and
    /// so are its reads.
    NoWriteYet(Box<Writes>),
    Loaded(usize),
}

/// Splits requests into pages.
struct PageSplitter {
    page_shift: u32,
    room: u64,
    times: bool,
    trims: bool,
    reads: bool,
    told: Columns,
    budget: Budget,
    places: Vec<VolumeLoad>,
    volumes: Vec<Writes>,
}

impl PageSplitter {
    fn new(file: &Path, options: &LoadOptions, room: u64, told: Columns) -> PageSplitter {
        let LoadOptions { times, trims, reads, .. } = *options;
        let page_shift = options.page_size.trailing_zeros();
        let budget = Budget::new(file, options, told);
        let (places, volumes) = (Vec::new(), Vec::new());
        PageSplitter { page_shift, room, times, trims, reads, told, budget, places, volumes }
    }

    fn read_all(
        &mut self,
        reader: &mut Reader,
        wanted: &dyn Fn(&str) -> bool,
        on_bytes: &mut dyn FnMut(u64),
    ) -> Result<(), TraceError> {
        let mut batch = Vec::with_capacity(BATCH);
        while self.room > 0 {
            batch.clear();
            if reader.read(&mut batch, BATCH)? == 0 {
                break;
            }
            let names = reader.volume_names();
            for name in &names[self.places.len()..] {
                let place =
                    if wanted(name) { VolumeLoad::NoWriteYet } else { |_| VolumeLoad::Unwanted };
                self.places.push(place(Box::default()));
            }
            let (hotness, bytes, kinds) = (reader.hotness(), reader.bytes(), reader.kinds());
            let following = reader.following();
            for (i, request) in batch.iter().enumerate() {
                let told = Told {
                    hotness: hotness.map(|records| &records[i]),
                    bytes: bytes.map(|bytes| bytes[i]),
                    kind: kinds.map(|kinds| kinds[i]),
                    following: following.map_or(0, |following| following[i]),
                };
                self.add(request, names, told)?;
            }
            on_bytes(reader.bytes_consumed());
        }
        Ok(())
    }

    #[inline]
    fn add(
        &mut self,
        request: &Request,
        names: &[String],
        told: Told<'_>,
    ) -> Result<(), TraceError> {
        if request.op != Op::Write {
            return self.add_between(request, told.bytes);
        }
        if request.length == 0 || self.room == 0 {
            return Ok(());
        }
        let index = match &mut self.places[request.volume as usize] {
            VolumeLoad::Unwanted => return Ok(()),
            VolumeLoad::Loaded(index) => *index,
            VolumeLoad::NoWriteYet(before) => {
                let before = std::mem::take(before);
                self.begin(request.volume as usize, names, *before)
            }
        };
        let writes = &mut self.volumes[index];
        let (first, pages) = request.extent(self.page_shift);
        let pages = pages.min(self.room);
        self.room -= pages;
        self.budget.take(pages)?;
        let pages = pages as usize;
        if push_pages(writes, first, pages, request.time_us)
            && push_following(&mut writes.following, pages, told.following)
            && told.hotness.is_none_or(|record| push_each(&mut writes.hotness, pages, record))
            && told.bytes.is_none_or(|bytes| push_each(&mut writes.bytes, pages, &bytes))
        {
            if let (Some(kinds), Some(kind)) = (&mut writes.kinds, told.kind) {
                (0..pages).for_each(|_| kinds.push(kind));
            }
            return Ok(());
        }
        Err(TraceError::ManyWrites {
            name: format!("volume {:?}", writes.name),
            writes: writes.lbas.len() as u64,
        })
    }

    /// Adds a trim or a read, if these are wanted, a merge or a sync.
    fn add_between(&mut self, request: &Request, bytes: Option<u16>) -> Result<(), TraceError> {
        let writes = match &mut self.places[request.volume as usize] {
            VolumeLoad::Unwanted => return Ok(()),
            VolumeLoad::NoWriteYet(writes) => writes,
            VolumeLoad::Loaded(index) => &mut self.volumes[*index],
        };
        let at = writes.lbas.len();
        if request.op == Op::Trim && self.trims {
            let Some((first, last)) = request.whole_pages(self.page_shift) else { return Ok(()) };
            self.budget.take_bytes(TRIM_BYTES)?;
            writes.trims.push(Trim { at, first, last });
        }
        if request.op == Op::Read && self.reads && request.length > 0 {
            let (first, pages) = request.extent(self.page_shift);
            self.budget.take_bytes(READ_BYTES)?;
            writes.reads.push(Read { at, first, pages: pages as u32 });
        }
        if let (Op::Merge, Some(bytes)) = (request.op, bytes) {
            self.budget.take_bytes(MERGE_BYTES)?;
            writes.merges.push(MergeAt { at, lba: request.extent(self.page_shift).0, bytes });
        }
        if request.op == Op::Sync {
            self.budget.take_bytes(SYNC_BYTES)?;
            writes.syncs.push(at);
        }
        Ok(())
    }

    fn begin(&mut self, volume: usize, names: &[String], before: Writes) -> usize {
        let index = self.volumes.len();
        let times = self.times.then(Vec::new);
        let name = names[volume].clone();
        let Columns { hotness, bytes, kinds, following } = self.told;
        let following = following.then(Following::default);
        let (hotness, bytes) = (hotness.then(Vec::new), bytes.then(Vec::new));
        let kinds = kinds.then(RecordKinds::default);
        self.volumes.push(Writes { name, times, hotness, bytes, kinds, following, ..before });
        self.places[volume] = VolumeLoad::Loaded(index);
        index
    }
}

/// Appends the record of a request once for each page; false if memory does not suffice.
fn push_each<T: Clone>(column: &mut Option<Vec<T>>, pages: usize, record: &T) -> bool {
    let Some(all) = column else { return true };
    let room = all.try_reserve(pages).is_ok();
    if room {
        all.extend(std::iter::repeat_n(record.clone(), pages));
    }
    room
}

/// Appends the numbers of pages that follow those of a request, of which `more` are in later rows;
/// false if memory does not suffice.
fn push_following(column: &mut Option<Following>, pages: usize, more: u8) -> bool {
    let most = usize::from(FOLLOWING_MOST);
    let number = |behind: usize| (behind.min(most) + usize::from(more)).min(most) as u8;
    column.as_mut().is_none_or(|all| (0..pages).rev().all(|behind| all.push(number(behind))))
}

/// Appends the pages of one request; false if memory does not suffice.
#[inline]
fn push_pages(writes: &mut Writes, first: u32, pages: usize, time_us: u64) -> bool {
    assert!(pages > 0, "a request that writes has pages");
    debug_assert!(
        writes.starts.as_ref().is_none_or(|starts| starts.len() == writes.lbas.len()),
        "each write has a bit"
    );
    let before = writes.lbas.len();
    if writes.lbas.try_reserve(pages).is_err() {
        return false;
    }
    // One by one, because the end of the range may be 2^32.
    writes.lbas.extend((0..pages).map(|i| first.wrapping_add(i as u32)));
    if let Some(times) = &mut writes.times {
        if times.try_reserve(pages).is_err() {
            return false;
        }
        times.extend(std::iter::repeat_n(time_us, pages));
    }
    if pages > 1 || writes.starts.is_some() {
        let starts = writes.starts.get_or_insert_with(|| Bits::ones(before));
        starts.push(true);
        starts.push_zeros(pages - 1);
    }
    true
}
