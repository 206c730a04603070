//! What a placement scheme sees, and what it answers.

use bytemuck::Pod;

use crate::{BuildError, Hotness, Params, Recogniser, ZoneTable};

/// A lifespan that has no end: the page is neither written again nor trimmed.
pub const NEVER: u32 = u32::MAX;

/// Whose reading of the papers is followed where they leave room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Semantics {
    /// The papers' text.
    #[default]
    Published,
    /// The trace-replay simulator that the authors of SepBIT published with their FAST'22 paper.
    SepbitFast22,
}

/// A user write time: user page writes so far, modulo 2^32.
///
/// Ages up to 2^31 are exact; the log clamps older stamps (see [`PageState::clamp`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct Stamp(u32);

impl Stamp {
    /// Ages are clamped to this (2^30 user writes, 4 TiB of 4 KiB pages) whenever the log sweeps.
    pub const HORIZON: u32 = 1 << 30;

    /// The stamp of time `now`.
    #[inline(always)]
    pub fn at(now: u32) -> Self {
        Self(now)
    }

    /// User writes from the stamp to `now`.
    #[inline(always)]
    pub fn age(self, now: u32) -> u32 {
        now.wrapping_sub(self.0)
    }

    /// Makes the stamp no older than [`Stamp::HORIZON`], so that its age never wraps.
    pub fn clamp(&mut self, now: u32) {
        if self.age(now) > Self::HORIZON {
            self.0 = now.wrapping_sub(Self::HORIZON);
        }
    }
}

/// What a scheme remembers of each page. It lies beside the page's slot in the map, so that one
/// cache line serves both. All zeroes is the state of a page that was never written, or was trimmed. A store
/// keeps its bytes across restarts; no bytes may do worse than a bad placement.
pub trait PageState: Pod + Send + Sync {
    /// Clamps the stamps in the state, see [`Stamp::clamp`]. Called for every page about once in
    /// 2^30 user writes.
    fn clamp(&mut self, _now: u32) {}
}

impl PageState for () {}

impl PageState for Stamp {
    fn clamp(&mut self, now: u32) {
        Stamp::clamp(self, now);
    }
}

/// One request of the user, before its pages are written.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// First page.
    pub lba: u32,
    /// Pages in the request.
    pub pages: u32,
    /// User page writes before this request.
    pub now: u32,
    /// Valid pages of the volume before this request.
    pub valid: u64,
}

/// A page written by the user, about to be placed.
#[derive(Clone, Copy, Debug)]
pub struct UserWrite<'a> {
    /// The page.
    pub lba: u32,
    /// Time: user page writes so far, this one included (the first is 1), modulo 2^32.
    pub now: u32,
    /// `now`, or the trace's time in microseconds where the semantics ask for it.
    pub clock: u64,
    /// True if the page was never written before, or was trimmed since; the fields about the
    /// previous copy are void.
    pub first: bool,
    /// Zone of the previous copy (0 if there is none).
    pub zone: u32,
    /// Class of the previous copy's zone.
    pub class: usize,
    /// True if the previous copy lies in a sealed zone.
    pub sealed: bool,
    /// Valid pages of the volume, as the semantics count them.
    pub valid: u64,
    /// True if the trace neither writes nor trims the page again (only from an annotated trace).
    pub last: bool,
    /// Lifespan of the version being written, [`NEVER`] if it is frozen. Valid only for a scheme
    /// with [`Foresight::Lifespans`].
    pub lifespan: u32,
    /// What the engine tells of the page, if it does.
    pub hotness: Option<&'a Hotness>,
}

/// A valid page of a victim, about to be copied.
#[derive(Clone, Copy, Debug)]
pub struct Relocation {
    /// The page.
    pub lba: u32,
    /// Time: user page writes so far, modulo 2^32.
    pub now: u32,
    /// `now`, or the trace's time in microseconds where the semantics ask for it.
    pub clock: u64,
    /// The victim.
    pub zone: u32,
    /// Class of the victim.
    pub class: usize,
    /// Place of the page among the valid pages of this victim, from 0.
    pub index: usize,
}

/// A zone that was opened, sealed or chosen as a victim.
#[derive(Clone, Copy, Debug)]
pub struct ZoneEvent {
    /// The zone.
    pub zone: u32,
    /// Its class.
    pub class: usize,
    /// Time of the event, modulo 2^32.
    pub now: u32,
    /// `now`, or the trace's time in microseconds where the semantics ask for it.
    pub clock: u64,
}

/// How much of the future a scheme is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Foresight {
    /// Nothing: it can run on a device.
    None,
    /// The mean lifespan of each page over the whole trace, and which write of a page is its last.
    Rates,
    /// The lifespan of every single write.
    Lifespans,
}

/// A parameter of a scheme.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Name, as in `dac:classes=4`.
    pub key: &'static str,
    /// The published default.
    pub default: &'static str,
    /// What it means.
    pub help: &'static str,
}

/// What the registry says of a scheme.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Name on the command line.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub summary: &'static str,
    /// Where it was published.
    pub source: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// What the reading of SepBIT's authors' simulator does otherwise; empty if nothing.
    pub fast22: &'static str,
}

/// What a scheme may know when it is built.
#[derive(Clone, Copy)]
pub struct Setup<'a> {
    /// Pages in a zone.
    pub zone_pages: u32,
    /// Largest LBA + 1.
    pub space: u32,
    /// Whose reading is followed.
    pub semantics: Semantics,
    /// Seed of whatever chance the scheme uses.
    pub seed: u64,
    /// Mean lifespan of each LBA (infinite if written once), for [`Foresight::Rates`].
    pub mean_lifespans: Option<&'a [f32]>,
    /// Lifespan of each user write, for [`Foresight::Lifespans`].
    pub lifespans: Option<&'a [u32]>,
    /// Whether user writes and relocations come with [`Hotness`].
    pub told: bool,
    /// Makes recognisers of frozen pages, for schemes that need one.
    pub recogniser: Option<MakeRecogniser<'a>>,
    /// The scheme around which another stands, as on the command line, if it was named.
    pub within: Option<&'a str>,
}

/// Makes the recogniser of frozen pages that has a name; says why it can't.
pub type MakeRecogniser<'a> = &'a dyn Fn(&str, &Setup<'_>) -> Result<Box<dyn Recogniser>, String>;

impl Setup<'_> {
    /// A setup without foresight.
    pub fn new(zone_pages: u32, space: u32) -> Self {
        Setup {
            zone_pages,
            space,
            semantics: Semantics::Published,
            seed: 0,
            mean_lifespans: None,
            lifespans: None,
            told: false,
            recogniser: None,
            within: None,
        }
    }
}

/// The most bytes of a scheme's [`memory`](Scheme::memory).
pub const LARGEST_MEMORY: usize = 1 << 10;

/// Every method of a [`Scheme`] that has a default and does not name a page's state, once: the trait is declared
/// from this list, and [`AnyScheme`](crate::AnyScheme) forwards what is in it, so a method that is
/// added here can't be left out there.
///
/// `asked` methods look at the scheme, `told` methods may change it.
macro_rules! methods {
    ($then:ident) => {
        $then! {
            asked {
                /// The class whose pages live longest: where a scheme around this one puts the
                /// pages that it knows to be frozen.
                fn coldest(&self) -> usize {
                    self.classes() - 1
                }

                /// The one class that every valid page of this victim goes to, if that is known
                /// beforehand and no page's state changes by the relocation. The log then skips
                /// [`place_relocation`](Scheme::place_relocation) for the whole victim.
                #[inline(always)]
                fn destination(&self, _victim: &ZoneEvent) -> Option<usize> {
                    None
                }

                /// Whether a zone should be kept open for this class. Asked only under
                /// [`Semantics::SepbitFast22`](crate::Semantics), which opens the next zone at once
                /// when one is sealed; the papers' reading opens a zone at its first append.
                fn in_use(&self, _class: usize) -> bool {
                    true
                }

                /// Whether open zones are sealed before they are full where they hardly fill and
                /// their garbage builds up: worth it for a scheme some of whose classes are given
                /// few pages. The published schemes wait until zones are full.
                fn seals_stale(&self) -> bool {
                    false
                }

                /// What the scheme has learned and would not like to learn again after a restart:
                /// at most [`LARGEST_MEMORY`] bytes.
                fn memory(&self) -> Vec<u8> {
                    Vec::new()
                }

                /// Bytes the scheme holds besides the per-page state.
                fn bytes(&self) -> usize {
                    0
                }

                /// Figures of the scheme's own that a report should show (name, value).
                fn gauges(&self) -> Vec<(&'static str, f64)> {
                    Vec::new()
                }
            }
            told {
                /// A request begins.
                #[inline(always)]
                fn on_request(&mut self, _request: &Request) {}

                /// A page was trimmed.
                #[inline(always)]
                fn on_trim(&mut self, _lba: u32) {}

                /// A zone was opened for a class.
                fn on_opened(&mut self, _zone: &ZoneEvent) {}

                /// A zone was sealed: it is full, or takes no more.
                fn on_sealed(&mut self, _zone: &ZoneEvent, _zones: &ZoneTable) {}

                /// A zone was chosen as a victim; its pages have not moved yet.
                fn on_victim(&mut self, _zone: &ZoneEvent, _zones: &ZoneTable) {}

                /// A victim's pages have all moved and the zone is free again.
                fn on_reclaimed(&mut self, _zone: &ZoneEvent) {}

                /// Chooses victims into `out`, for a scheme with an
                /// [`OWN_VICTIM`](Scheme::OWN_VICTIM) side. The victims are merged: all are copied,
                /// then all are free.
                fn pick(&mut self, _zones: &ZoneTable, _now: u32, _out: &mut Vec<u32>) {}

                /// Takes up what [`memory`](Scheme::memory) gave, once, before the first page is
                /// placed. Bytes that it cannot make sense of are as if there were none.
                fn recall(&mut self, _memory: &[u8]) {}
            }
        }
    };
}
pub(crate) use methods;

macro_rules! declare {
    (
        asked { $(
            $(#[$a_meta:meta])*
            fn $asked:ident(&$a_self:ident $(, $a:ident: $a_type:ty)*) $(-> $a_out:ty)? $a_body:block
        )* }
        told { $(
            $(#[$t_meta:meta])*
            fn $told:ident(&mut $t_self:ident $(, $t:ident: $t_type:ty)*) $(-> $t_out:ty)? $t_body:block
        )* }
    ) => {
        /// How pages are given a class.
        ///
        /// The log calls, in this order: for a user write [`on_request`](Self::on_request) (at the
        /// first page of a request), [`place_user`](Self::place_user); for cleaning
        /// [`on_victim`](Self::on_victim), [`prepare`](Self::prepare) if the scheme is
        /// [`BATCHED`](Self::BATCHED), [`place_relocation`](Self::place_relocation) for every valid
        /// page in slot order, [`on_reclaimed`](Self::on_reclaimed); and around them
        /// [`on_opened`](Self::on_opened) and [`on_sealed`](Self::on_sealed) as zones change.
        pub trait Scheme: Send + Sized + 'static {
            /// What is remembered of each page; `()` costs nothing.
            type Page: PageState;
            /// Name, source and parameters.
            const INFO: Info;
            /// What the scheme must be told of the future.
            const FORESIGHT: Foresight = Foresight::None;
            /// Whether [`on_request`](Self::on_request) is wanted.
            const PER_REQUEST: bool = false;
            /// Whether [`prepare`](Self::prepare) is wanted.
            const BATCHED: bool = false;
            /// Whether it makes use of [`Hotness`] where an engine tells it.
            const WANTS_HOTNESS: bool = false;
            /// The scheme's own victim side, if [`pick`](Self::pick) replaces the victim policies:
            /// its name in tables.
            const OWN_VICTIM: Option<&'static str> = None;

            /// Builds the scheme.
            ///
            /// # Errors
            /// A parameter that is unknown, not a number or out of range.
            fn build(setup: &Setup<'_>, params: &mut Params) -> Result<Self, BuildError>;

            /// Number of classes; every answer is below it. At most 255.
            fn classes(&self) -> usize;

            /// The class of a user write. `page` is the page's state, to be brought up to date.
            fn place_user(&mut self, write: &UserWrite, page: &mut Self::Page) -> usize;

            /// All relocations of a victim at once, with the pages' states, before they are placed
            /// one by one: a model infers here over the whole batch. `hotness` has the engine's
            /// record of each, or is empty if there are none.
            fn prepare(&mut self, _batch: &[(Relocation, Self::Page)], _hotness: &[Hotness]) {}

            /// The class of a relocation.
            fn place_relocation(&mut self, relocation: &Relocation, page: &mut Self::Page) -> usize;

            /// Clamps the stamps in a page's state, see [`PageState::clamp`].
            fn clamp(&self, page: &mut Self::Page, now: u32) {
                page.clamp(now);
            }

            $($(#[$a_meta])* fn $asked(&$a_self $(, $a: $a_type)*) $(-> $a_out)? $a_body)*
            $($(#[$t_meta])* fn $told(&mut $t_self $(, $t: $t_type)*) $(-> $t_out)? $t_body)*
        }
    };
}

methods!(declare);
