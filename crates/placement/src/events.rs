//! The events that a scheme sees as a volume is written and cleaned.

use crate::hotness::Hotness;
use crate::page::NEVER;

/// The largest number of pages of a request that a scheme is told to follow.
pub const FOLLOWING_MOST: u8 = 3;

/// The part of its page that a record of a store with deltas has. Its number is that in the column
/// `delta` of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecordKind {
    /// All of it: the page's base, if others are there.
    #[default]
    Image,
    /// The words that changed since the base.
    Delta,
    /// The words that changed since the delta.
    Tail,
}

impl RecordKind {
    /// The kind of the record that has this LBA. Deltas have the LBAs from `first_delta` on, tails
    /// those from twice that on; 0 if there are only images.
    pub fn of(lba: u64, first_delta: u32) -> RecordKind {
        match lba.checked_div(first_delta.into()) {
            None | Some(0) => RecordKind::Image,
            Some(1) => RecordKind::Delta,
            Some(_) => RecordKind::Tail,
        }
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
    /// True if the page was never written before, or was trimmed since; the fields about the
    /// previous copy are void.
    pub first: bool,
    /// Zone of the previous copy (0 if there is none).
    pub zone: u32,
    /// Page of that zone in which the previous copy lies, from 0.
    pub offset: u32,
    /// Class of the previous copy's zone.
    pub class: usize,
    /// Valid pages of the volume, as the semantics count them.
    pub valid: u64,
    /// True if the trace neither writes nor trims the page again (known only from an annotated
    /// trace).
    pub last: bool,
    /// Lifespan of the version being written, [`NEVER`] if it is frozen. Valid only for a scheme
    /// with [`Foresight::Lifespans`](crate::Foresight).
    pub lifespan: u32,
    /// Pages of the same request that follow this one, at most [`FOLLOWING_MOST`].
    pub following: u8,
    /// The part of the page that is written.
    pub kind: RecordKind,
    /// The engine's record of the page, if it hands one down.
    pub hotness: Option<&'a Hotness>,
}

impl UserWrite<'_> {
    /// The first write of a page; all other fields are empty.
    pub fn first(lba: u32, now: u32) -> Self {
        UserWrite {
            lba,
            now,
            first: true,
            zone: 0,
            offset: 0,
            class: 0,
            valid: 0,
            last: false,
            lifespan: NEVER,
            following: 0,
            kind: RecordKind::Image,
            hotness: None,
        }
    }
}

/// A valid page of a victim, about to be copied.
#[derive(Clone, Copy, Debug)]
pub struct Relocation {
    /// The page.
    pub lba: u32,
    /// Time: user page writes so far, modulo 2^32.
    pub now: u32,
    /// The victim.
    pub zone: u32,
    /// Class of the victim.
    pub class: usize,
    /// True if the trace neither writes nor trims the page again, see [`UserWrite::last`].
    pub last: bool,
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
}

/// A victim whose valid pages are about to be copied.
#[derive(Clone, Copy, Debug)]
pub struct Victim {
    /// The zone.
    pub zone: u32,
    /// Its class.
    pub class: usize,
    /// Time: user page writes so far, modulo 2^32.
    pub now: u32,
    /// Valid pages of the volume.
    pub valid: u64,
}

/// The valid pages of a victim in slot order, one entry a page in each slice.
#[derive(Clone, Copy, Debug)]
pub struct Pages<'a, P> {
    /// The pages.
    pub lbas: &'a [u32],
    /// The scheme's state of each.
    pub states: &'a [P],
    /// The hotness record of each page's last write, if the engine hands them down.
    pub hotness: Option<&'a [Hotness]>,
    /// True for each page that the trace neither writes nor trims again; empty if there is no
    /// trace.
    pub last: &'a [bool],
}
