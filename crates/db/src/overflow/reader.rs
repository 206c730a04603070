//! A value of a snapshot, read a part at a time.

use std::io::{self, BufRead, Read, Seek, SeekFrom};

use frostline_store::{ChangedWords, PageRead};
use frostline_zone::AlignedBuf;

use super::loading::OF_LEAF;
use super::{
    PAGE_DATA, PIECE, PageOfValue, PieceLeaves, Run, parse_overflow, piece_key, piece_number,
};
use crate::DbError;
use crate::direction::Direction;
use crate::layout::{IN_PAGES, OVERFLOW_TREE};
use crate::mvcc::Lookup;
use crate::node::PAGE_BYTES;
use crate::scan::Scan;
use crate::view::View;

/// Pages, or pieces, that are read together.
const TOGETHER: usize = 64;

/// Reads a value, however long it is, in half a megabyte of memory: see
/// [`Transaction::value_reader`](crate::Transaction::value_reader).
pub struct ValueReader<'t, 'd> {
    view: &'t View<'d>,
    kept: Kept,
    bytes: u64,
    at: u64,
    /// A part of the value, and where it begins.
    part: Vec<u8>,
    part_at: u64,
    /// Pages from a place of the value on.
    pages: Vec<u32>,
    first: u32,
}

/// Where a value is.
#[derive(Clone, Copy)]
enum Kept {
    /// In memory.
    Whole,
    /// In pieces under this number.
    Pieces(u64),
    /// In pages under this number.
    Pages(u64),
}

impl<'t, 'd> ValueReader<'t, 'd> {
    /// Of what was found for a key: a value, or the reference to one.
    pub(crate) fn new(
        view: &'t View<'d>,
        found: Lookup,
        value: Vec<u8>,
    ) -> Result<Option<Self>, DbError> {
        let (kept, bytes, part) = match found {
            Lookup::Nothing => return Ok(None),
            Lookup::Value => (Kept::Whole, value.len(), value),
            Lookup::Overflow => {
                let (number, bytes) = parse_overflow(&value)?;
                let is_in_pages = number & IN_PAGES != 0;
                let kept = if is_in_pages { Kept::Pages(number) } else { Kept::Pieces(number) };
                (kept, bytes, Vec::new())
            }
        };
        let (pages, bytes) = (Vec::new(), bytes as u64);
        Ok(Some(ValueReader { view, kept, bytes, at: 0, part, part_at: 0, pages, first: 0 }))
    }

    /// Bytes of the value.
    #[expect(clippy::len_without_is_empty, reason = "a value is not a collection")]
    pub fn len(&self) -> u64 {
        self.bytes
    }

    /// The bytes from where it is up to the end of a part; none at the end of the value.
    ///
    /// # Errors
    /// As for [`Transaction::get`](crate::Transaction::get).
    pub fn next_part(&mut self) -> Result<&[u8], DbError> {
        let part_end = self.part_at + self.part.len() as u64;
        if self.at < self.bytes && !(self.part_at..part_end).contains(&self.at) {
            self.read_part()?;
        }
        let from = self.at.saturating_sub(self.part_at).min(self.part.len() as u64);
        Ok(&self.part[from as usize..])
    }

    /// Puts all of the value into `value`, which is empty.
    pub(crate) fn read_whole(mut self, value: &mut Vec<u8>) -> Result<(), DbError> {
        while self.next_part()?.len() as u64 != self.bytes - self.at {
            value.extend_from_slice(&self.part);
            self.at += self.part.len() as u64;
        }
        match value.is_empty() {
            true => *value = self.part,
            false => value.extend_from_slice(&self.part),
        }
        Ok(())
    }

    /// Goes past bytes.
    pub fn pass(&mut self, bytes: u64) {
        self.at = self.at.saturating_add(bytes);
    }

    fn read_part(&mut self) -> Result<(), DbError> {
        self.part.clear();
        match self.kept {
            Kept::Whole => Ok(()),
            Kept::Pieces(number) => self.read_pieces(number),
            Kept::Pages(number) => self.read_pages(number),
        }
    }

    fn read_pieces(&mut self, number: u64) -> Result<(), DbError> {
        if let Some(reads) = &self.view.reads {
            // The key's record may stay as it is when the value is overwritten; this piece does not.
            reads.read(OVERFLOW_TREE, &piece_key(number, 0));
        }
        let (first, len) = ((self.at / PIECE as u64) as usize, self.bytes as usize);
        let places = first..(first + TOGETHER).min(len.div_ceil(PIECE));
        // Of a shorter value memory may have rows, and keeps some if it has not.
        if places.len() >= OF_LEAF {
            let mut leaves = PieceLeaves::at_most(self.view.trees, TOGETHER);
            leaves.add(number, places.clone(), false);
            leaves.load(self.view.trees);
        }
        let (mut piece, mut cached) = (Vec::new(), None);
        self.part_at = (first * PIECE) as u64;
        if places.len() > 1 {
            self.part.reserve((places.end * PIECE).min(len) - first * PIECE);
        }
        for n in places.clone() {
            let key = piece_key(number, n);
            let found;
            // The next one is mostly in the same leaf.
            (found, cached) = self.view.find_at(OVERFLOW_TREE, &key, cached, &mut piece)?;
            if found != Lookup::Value {
                return Err(self.wrong("a piece is missing"));
            }
            if piece.len() != (len - n * PIECE).min(PIECE) {
                return Err(self.wrong("a piece is of another value"));
            }
            match places.len() {
                1 => self.part = std::mem::take(&mut piece),
                _ => self.part.extend_from_slice(&piece),
            }
        }
        Ok(())
    }

    fn read_pages(&mut self, number: u64) -> Result<(), DbError> {
        let place = (self.at / PAGE_DATA as u64) as u32;
        let known = self.first..self.first + self.pages.len() as u32;
        if !known.contains(&place) {
            self.find_pages(number, place)?;
        }
        let index = (place - self.first) as usize;
        let space = self.view.trees.space();
        let together = &self.pages[index..(index + TOGETHER).min(self.pages.len())];
        let mut bytes = AlignedBuf::zeroed(together.len() * PAGE_BYTES);
        let read = |(&page, bytes)| PageRead {
            lba: space.first + page,
            kept: None,
            page: bytes,
            changed: ChangedWords::NONE,
        };
        let mut reads: Vec<_> =
            together.iter().zip(bytes.chunks_mut(PAGE_BYTES)).map(read).collect();
        let results = space.read_together(&mut reads);
        drop(reads);
        let begins = u64::from(place) * PAGE_DATA as u64;
        for ((result, page), expected) in
            results.into_iter().zip(bytes.chunks(PAGE_BYTES)).zip(place..)
        {
            // Pages of a value that an older snapshot sees no more may be gone.
            self.view.trees.versions.check(self.view.position())?;
            result?;
            let found = PageOfValue::parse(page);
            let is_it = |page: &PageOfValue<'_>| page.number == number && page.place == expected;
            let Some(found) = found.filter(is_it) else {
                return Err(self.wrong("a page is of another value"));
            };
            let rest = self.bytes - begins - self.part.len() as u64;
            self.part.extend_from_slice(&found.data[..rest.min(PAGE_DATA as u64) as usize]);
        }
        self.part_at = begins;
        Ok(())
    }

    /// Finds the pages of the value from a place on, or from one before it.
    fn find_pages(&mut self, number: u64, place: u32) -> Result<(), DbError> {
        // They were noted before the commit that named the value, perhaps after this snapshot was
        // taken. They do not change.
        let now = View::begin(self.view.trees, None, false);
        let key = piece_key(number, place as usize);
        let mut scan = Scan::new(&now, Ok(Some(OVERFLOW_TREE)), Some(&key), Direction::Backward);
        let found = scan.next()?;
        let first = found.and_then(|(key, runs)| {
            let (of, first) = piece_number(key)?;
            let runs = Run::parse(runs).filter(|_| of == number)?;
            self.pages.clear();
            self.pages.extend(runs.iter().flat_map(|run| run.pages()));
            Some(first as u32)
        });
        let is_in = |first: &u32| ((place - first) as usize) < self.pages.len();
        let Some(first) = first.filter(|first| *first <= place).filter(is_in) else {
            self.pages.clear();
            return Err(self.wrong("the pages of a value are not named"));
        };
        self.first = first;
        Ok(())
    }

    /// What is wrong, unless the snapshot has ended: then nothing is.
    fn wrong(&self, what: &'static str) -> DbError {
        let wrong = DbError::Page { page: OVERFLOW_TREE, what };
        self.view.trees.versions.why(self.view.position(), wrong)
    }
}

impl Read for ValueReader<'_, '_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let part = self.fill_buf()?;
        let count = part.len().min(into.len());
        into[..count].copy_from_slice(&part[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for ValueReader<'_, '_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.next_part().map_err(io::Error::other)
    }

    fn consume(&mut self, count: usize) {
        self.pass(count as u64);
    }
}

impl Seek for ValueReader<'_, '_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.bytes.checked_add_signed(by),
        };
        let before = || io::Error::new(io::ErrorKind::InvalidInput, "a place before the value");
        self.at = at.ok_or_else(before)?;
        Ok(self.at)
    }
}
