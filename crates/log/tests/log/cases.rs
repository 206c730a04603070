//! The cases for the properties: every scheme and policy of the registry, small volumes of all
//! capacities, and short traces with hot places.

use std::fmt;
use std::ops::Range;

use frostline_log::{
    Capacity, ChunkShape, Lengths, LogError, Merge, Options, PageReplay, RecordReplay, Replay,
    WORD_LAST, Writes,
};
use frostline_placement::registry::{Registry, SCHEMES};
use frostline_placement::victims::{self, POLICIES};
use frostline_placement::{
    AnyScheme, Foresight, NEVER, Params, Recogniser, Scheme, Setup, VictimPolicy,
};
use frostline_placement::{SchemeSpec, Visitor, build_inner};
use proptest::prelude::*;

/// A request of the user.
#[derive(Clone, Copy, Debug)]
struct Request {
    first: u32,
    pages: u32,
    is_trim: bool,
}

/// A trace with all that can be known about it.
#[derive(Clone)]
pub(crate) struct Trace {
    requests: Vec<Request>,
    pub words: Vec<u32>,
    /// The number of writes before each trim, and the trimmed page.
    pub trims: Vec<(usize, u32)>,
    pub starts: Vec<u64>,
    /// Pages of the same request that follow each write, four writes a byte.
    following: Vec<u8>,
    pub lifespans: Vec<u32>,
    means: Vec<f32>,
}

impl Trace {
    /// The trace of these requests, which wrap at the end of the space.
    fn new(space: u32, requests: Vec<Request>) -> Self {
        let mut words = Vec::new();
        let mut trims = Vec::new();
        let mut firsts = Vec::new();
        let mut behind = Vec::new();
        for &Request { first, pages, is_trim } in &requests {
            let lbas = (0..pages).map(|k| (first + k) % space);
            if is_trim {
                trims.extend(lbas.map(|lba| (words.len(), lba)));
            } else {
                firsts.push(words.len());
                words.extend(lbas);
                behind.extend((0..pages).rev().map(|pages| pages.min(3) as u8));
            }
        }
        let mut starts = vec![0; words.len().div_ceil(64)];
        firsts.iter().for_each(|i| starts[i / 64] |= 1 << (i % 64));
        let four = |some: &[u8]| some.iter().rev().fold(0, |byte, pages| byte << 2 | pages);
        let following = behind.chunks(4).map(four).collect();
        let written = |i: usize| words[i + 1..].iter().position(|&lba| lba == words[i]);
        let trimmed = |i: usize| trims.iter().find(|(at, lba)| *at > i && *lba == words[i]);
        let lifespan = |i| {
            let written = written(i).map_or(NEVER, |gap| gap as u32 + 1);
            written.min(trimmed(i).map_or(NEVER, |(at, _)| (at - i - 1) as u32))
        };
        let lifespans: Vec<u32> = (0..words.len()).map(lifespan).collect();
        let mean = |lba| {
            let of_lba = words.iter().zip(&lifespans).filter(|(w, l)| **w == lba && **l != NEVER);
            let (n, sum) = of_lba.fold((0, 0), |(n, sum), (_, &l)| (n + 1, sum + l));
            if n > 0 { sum as f32 / n as f32 } else { f32::INFINITY }
        };
        let means = (0..space).map(mean).collect();
        for (word, _) in words.iter_mut().zip(&lifespans).filter(|(_, l)| **l == NEVER) {
            *word |= WORD_LAST;
        }
        Trace { requests, words, trims, starts, following, lifespans, means }
    }

    /// Replays a range of the trace's writes, in the form `writes`, and makes the trims before each
    /// of them.
    pub(crate) fn replay(
        &self,
        log: &mut impl Replay,
        writes: &Writes<'_>,
        range: Range<usize>,
    ) -> Result<(), LogError> {
        let mut next = range.start;
        for &(at, lba) in self.trims.iter().filter(|(at, _)| range.contains(at)) {
            log.write(writes, next..at)?;
            log.trim(lba)?;
            next = at;
        }
        log.write(writes, next..range.end)
    }

    /// The pages that are trimmed right before write `i`.
    pub(crate) fn trims_before(&self, i: usize) -> impl Iterator<Item = u32> {
        self.trims.iter().filter(move |(at, _)| *at == i).map(|(_, lba)| *lba)
    }

    pub(crate) fn writes(&self) -> Writes<'_> {
        let (starts, lifespans) = (Some(&self.starts[..]), Some(&self.lifespans[..]));
        let following = Some(&self.following[..]);
        Writes { starts, following, lifespans, ..Writes::new(&self.words) }
    }

    /// True if write `i` begins a request.
    pub(crate) fn begins(&self, i: usize) -> bool {
        self.starts[i / 64] >> (i % 64) & 1 == 1
    }

    /// Pages of its request that follow write `i`, 3 at most.
    pub(crate) fn following(&self, i: usize) -> u8 {
        (self.request_pages(i) - 1).min(3) as u8
    }

    /// Pages from write `i` to the end of its request.
    pub(crate) fn request_pages(&self, i: usize) -> u32 {
        let more = (i + 1..self.words.len()).take_while(|&j| !self.begins(j));
        more.count() as u32 + 1
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.requests)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub scheme: &'static str,
    pub victim: &'static str,
    pub options: Options,
    pub trace: Trace,
    /// Bytes of each record, in units of [`UNIT`]; some are longer than a page.
    pub bytes: Vec<u16>,
    /// A bit for each write that is a delta or a tail.
    pub deltas: Vec<u64>,
    /// A bit for each of them that is a tail.
    pub tails: Vec<u64>,
    /// The merged images that are known.
    pub merges: Vec<Merge>,
}

/// Bytes in a unit.
const UNIT: u32 = 3;

/// A check of a case.
pub(crate) trait Check {
    /// Each call of `scheme` makes another scheme in its first state.
    fn check<S: Scheme>(self, case: &Case, scheme: &dyn Fn() -> S) -> Result<(), TestCaseError>;
}

impl Case {
    /// Checks the case without the type of its scheme, as stores know it, and the simulator if it
    /// is of records.
    pub(crate) fn check(&self, check: impl Check) -> Result<(), TestCaseError> {
        let spec = SchemeSpec::parse(self.scheme).unwrap();
        check.check(self, &|| -> AnyScheme { spec.build_any(&self.setup()).unwrap() })
    }

    /// Checks a case of whole pages with the type of its scheme, as the simulator knows it.
    pub(crate) fn check_typed(&self, check: impl Check) -> Result<(), TestCaseError> {
        let spec = SchemeSpec::parse(self.scheme).unwrap();
        spec.build(&self.setup(), Twice { case: self, check }).unwrap()
    }

    /// The trace's writes with the lengths of their records.
    pub(crate) fn writes(&self) -> Writes<'_> {
        let lengths = Some(Lengths {
            bytes: &self.bytes,
            unit: UNIT,
            deltas: Some(&self.deltas),
            tails: Some(&self.tails),
            merges: &self.merges,
        });
        Writes { lengths, ..self.trace.writes() }
    }

    /// Units of the images that merges of the version make which write `i` is.
    pub(crate) fn merged(&self, i: usize) -> Vec<u32> {
        let of_version = self.merges.iter().filter(|merge| merge.write as usize == i);
        let units = |bytes: u16| u32::from(bytes).div_ceil(UNIT).clamp(1, self.options.page_units);
        of_version.map(|merge| units(merge.bytes)).collect()
    }

    /// An empty log of whole pages.
    pub(crate) fn of_pages<S: Scheme>(&self, scheme: S) -> PageReplay<S> {
        PageReplay::new(self.options, scheme, self.policy()).unwrap()
    }

    /// An empty log of records; `None` for a scheme that places whole pages only.
    pub(crate) fn of_records<S: Scheme>(&self, scheme: S) -> Option<RecordReplay<S>> {
        match RecordReplay::new(self.options, scheme, self.policy()) {
            Err(LogError::WholePages) => None,
            log => Some(log.unwrap()),
        }
    }

    pub(crate) fn policy(&self) -> Box<dyn VictimPolicy> {
        victims::build(self.victim, 11).unwrap()
    }

    fn setup(&self) -> Setup<'_> {
        Setup {
            mean_lifespans: Some(&self.trace.means),
            lifespans: Some(&self.trace.lifespans),
            recogniser: Some(&recogniser),
            classifier: Some(&frostline_learn::classifier),
            forecaster: Some(&frostline_learn::forecaster),
            inner: Some(&|setup| build_inner(Registry::published(), None, setup)),
            ..Setup::new(self.options.zone_pages, self.options.space)
        }
    }
}

fn recogniser(by: &str, setup: &Setup<'_>) -> Result<Box<dyn Recogniser>, String> {
    frostline_learn::recogniser(by, setup, None)
}

struct Twice<'a, C> {
    case: &'a Case,
    check: C,
}

impl<C: Check> Visitor for Twice<'_, C> {
    type Output = Result<(), TestCaseError>;

    fn visit<S: Scheme>(self, _: S) -> Self::Output {
        let build = || {
            let (_, mut params) = Params::parse(self.case.scheme).unwrap();
            S::build(&self.case.setup(), &mut params).unwrap()
        };
        self.check.check(self.case, &build)
    }
}

/// Schemes that need no more knowledge of the future than `most`.
pub(crate) fn schemes(most: Foresight) -> impl Strategy<Value = &'static str> {
    let known = SCHEMES.iter().filter(|e| e.foresight <= most);
    prop::sample::select(known.map(|e| e.info.name).collect::<Vec<_>>())
}

fn policies() -> impl Strategy<Value = &'static str> {
    prop::sample::select(POLICIES.iter().map(|p| p.name).collect::<Vec<_>>())
}

fn proportion() -> impl Strategy<Value = f64> {
    (2..60u32).prop_map(|percent| f64::from(percent) / 100.0)
}

fn elastic() -> impl Strategy<Value = Capacity> {
    proportion().prop_map(|gp| Capacity::Elastic { gp })
}

/// A number of zones and a reserve. With the fewest zones that a volume may have, it is short of
/// zones all the time.
fn zones(pages: u32, zone_pages: u32) -> impl Strategy<Value = (u32, u32)> {
    // One page of each zone may belong to the scheme.
    let logical = pages.div_ceil(zone_pages - 1);
    (2..5u32, 1..8u32).prop_map(move |(reserve, more)| (logical + reserve + more, reserve))
}

fn fixed(pages: u32, zone_pages: u32) -> impl Strategy<Value = Capacity> {
    zones(pages, zone_pages).prop_map(|(zones, reserve)| Capacity::Fixed { zones, reserve })
}

fn bounded(pages: u32, zone_pages: u32) -> impl Strategy<Value = Capacity> {
    let parts = (proportion(), zones(pages, zone_pages));
    parts.prop_map(|(gp, (zones, reserve))| Capacity::Bounded { gp, zones, reserve })
}

fn volume() -> impl Strategy<Value = Options> {
    let sizes = (16..40u32, 40..300u32);
    let options = sizes.prop_flat_map(|(zone_pages, space)| {
        let fixed = (fixed(space, zone_pages), bounded(space, zone_pages));
        let capacity = prop_oneof![elastic(), fixed.0, fixed.1];
        capacity.prop_map(move |capacity| Options {
            capacity,
            ..Options::elastic(zone_pages, space, 0.5)
        })
    });
    options.boxed()
}

/// Requests: most go to a small hot part, some anywhere, and some are longer; one in ten is a trim.
fn trace(space: u32) -> impl Strategy<Value = Trace> {
    let hot = (0..space / 8, 1..3u32);
    let any = (0..space, 1..3u32);
    let long = (0..space, 3..40u32);
    let pages = prop_oneof![8 => hot, 4 => any, 1 => long];
    let request = (pages, prop::bool::weighted(0.1));
    let request = request.prop_map(|((first, pages), is_trim)| Request { first, pages, is_trim });
    let requests = prop::collection::vec(request, 1..600);
    let some = |trace: &Trace| !trace.words.is_empty();
    requests.prop_map(move |r| Trace::new(space, r)).prop_filter("writes something", some)
}

/// Cases of schemes that need no more foresight than `most`.
pub(crate) fn cases(most: Foresight) -> impl Strategy<Value = Case> {
    let case = (schemes(most), policies(), volume());
    case.prop_flat_map(|(scheme, victim, options)| {
        let bytes = Vec::new();
        trace(options.space).prop_map(move |trace| Case {
            scheme,
            victim,
            options,
            trace,
            bytes: bytes.clone(),
            deltas: Vec::new(),
            tails: Vec::new(),
            merges: Vec::new(),
        })
    })
}

/// The same cases with pages of several units, and records of any length.
pub(crate) fn record_cases(most: Foresight) -> impl Strategy<Value = Case> {
    let pages = prop_oneof![Just(0), 2..40u32];
    let header = (0..200u32, 0..3u32, 0..3u32);
    (cases(most), 2..9u32, pages, header).prop_flat_map(|(case, page_units, pages, header)| {
        let bytes = prop::collection::vec(0..=longest(page_units), case.trace.words.len());
        bytes.prop_map(move |bytes| {
            let zone_pages = case.options.zone_pages;
            let chunks = (pages > 0).then(|| chunks(zone_pages, page_units, pages, header));
            let options = Options { page_units, chunks, ..case.options };
            Case { options, bytes, ..case.clone() }
        })
    })
}

/// The most bytes of a record: more than a page.
fn longest(page_units: u32) -> u16 {
    (UNIT * (page_units + 1)) as u16
}

/// The same cases with deltas, tails and merges, and zones for them: for so many hundredths of the
/// longest.
pub(crate) fn delta_cases(
    most: Foresight,
    room: impl Strategy<Value = u32>,
) -> impl Strategy<Value = Case> {
    (record_cases(most), room).prop_flat_map(|(case, room)| {
        let writes = case.trace.words.len();
        let kind = prop_oneof![1 => Just((false, false)), 2 => Just((true, false)), 2 => Just((true, true))];
        let merge = (0..writes as u32, 0..=longest(case.options.page_units));
        let merges = prop::collection::vec(merge, 0..=writes);
        (prop::collection::vec(kind, writes), merges).prop_map(move |(kinds, mut merges)| {
            let bits = |bit: fn(&(bool, bool)) -> bool| {
                let word = |some: &[(bool, bool)]| {
                    some.iter().rev().fold(0, |word, kind| word << 1 | u64::from(bit(kind)))
                };
                kinds.chunks(64).map(word).collect()
            };
            merges.sort_by_key(|&(write, _)| write);
            let merges = merges.into_iter().map(|(write, bytes)| Merge { write, bytes });
            let (pages, capacity) = (case.options.space, case.options.capacity);
            let more = 2 * pages.div_ceil(case.options.zone_pages - 1) * room / 100;
            let capacity = match capacity {
                Capacity::Elastic { .. } => capacity,
                Capacity::Fixed { zones, reserve } => {
                    Capacity::Fixed { zones: zones + more, reserve }
                }
                Capacity::Bounded { gp, zones, reserve } => {
                    Capacity::Bounded { gp, zones: zones + more, reserve }
                }
            };
            let (first_delta, space) = (Some(pages), 3 * pages);
            let mut trace = case.trace.clone();
            trace.means = trace.means.repeat(3);
            Case {
                trace,
                deltas: bits(|kind| kind.0),
                tails: bits(|kind| kind.1),
                merges: merges.collect(),
                options: Options { first_delta, space, capacity, ..case.options },
                ..case.clone()
            }
        })
    })
}

/// Chunks of zones that hold so many pages, behind headers of a page at most: bytes of their heads,
/// of rows, and of hotness records in them.
fn chunks(
    zone_pages: u32,
    page_units: u32,
    pages: u32,
    (head, row, hotness): (u32, u32, u32),
) -> ChunkShape {
    let page = UNIT * page_units;
    let head = 1 + head % page;
    // Of pages so small few rows fit behind the head.
    let rows = (page - head).checked_div(row + hotness).unwrap_or(pages);
    let (pages, row, hotness) =
        if rows < 2 { (pages, 0, 0) } else { (pages.min(rows), row, hotness) };
    let shape = |device_pages| ChunkShape {
        device_pages,
        pages,
        page_units,
        unit: UNIT,
        head,
        row,
        hotness,
    };
    (zone_pages..).map(shape).find(|shape| shape.zone_pages() >= zone_pages).unwrap()
}
