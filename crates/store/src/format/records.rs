//! The sizes of records: each takes as many units as it needs.

use frostline_log::{Extent, Slot};
pub use frostline_placement::RecordKind;

use crate::StoreError;
use crate::format::{DELTA, Form, IMAGE, MOST, PAGE, Row, TAIL};

/// Zeroes that fill up the last unit of a record.
const ZEROES: [u8; PAGE] = [0; PAGE];

/// The sizes that the records of a store may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// Bytes of a unit.
    unit: u32,
    /// Pages of a store with deltas: the LBAs behind theirs are those of their deltas, and then of
    /// their tails.
    pages: u32,
}

impl Sizes {
    /// Records of as many units of these bytes as they need.
    pub(crate) fn new(unit: u32) -> Result<Sizes, StoreError> {
        let most = frostline_log::Options::MOST_UNITS;
        match (PAGE as u32).checked_rem(unit) {
            Some(0) if PAGE as u32 / unit <= most => Ok(Sizes { unit, pages: 0 }),
            _ => {
                let why = format!("{unit} bytes: it must divide {PAGE} bytes into {most} at most");
                Err(StoreError::Options { what: "unit", why })
            }
        }
    }

    /// The same sizes, in a store of so many pages.
    pub(crate) fn with_pages(self, pages: u64) -> Sizes {
        Sizes { pages: if self.has_deltas() { pages as u32 } else { 0 }, ..self }
    }

    /// The same sizes, to read records of a store whose number of pages is not known.
    pub(crate) fn with_unknown_pages(self) -> Sizes {
        // Any number that no page reaches does for telling deltas from images.
        self.with_pages(u32::MAX.into())
    }

    /// True if a page may have a delta and a tail: they take fewer units than an image, or there
    /// are none.
    pub(crate) fn has_deltas(self) -> bool {
        self.unit < PAGE as u32
    }

    /// LBA of the first delta; 0 if there are none.
    pub(crate) fn first_delta(self) -> u32 {
        self.pages
    }

    /// LBA of a page's record of this kind, if the store may have one.
    pub(crate) fn lba(self, page: u32, kind: RecordKind) -> Option<u64> {
        let is_possible = kind == RecordKind::Image || self.pages > 0;
        is_possible.then(|| u64::from(page) + kind as u64 * u64::from(self.pages))
    }

    /// LBA of a page's delta, in a store with deltas.
    pub(crate) fn delta_of(self, page: u32) -> Option<u64> {
        self.lba(page, RecordKind::Delta)
    }

    /// LBA of a page's tail, in a store with deltas.
    pub(crate) fn tail_of(self, page: u32) -> Option<u64> {
        self.lba(page, RecordKind::Tail)
    }

    /// The page that has a record of this LBA.
    pub(crate) fn page_of(self, lba: u64) -> u32 {
        (lba - u64::from(self.pages) * self.kind(lba) as u64) as u32
    }

    /// The kind of the record that has this LBA.
    pub(crate) fn kind(self, lba: u64) -> RecordKind {
        RecordKind::of(lba, self.pages)
    }

    /// True if a record of this LBA is a delta or a tail.
    pub(crate) fn is_delta(self, lba: u64) -> bool {
        self.pages > 0 && lba >= self.pages.into()
    }

    /// LBAs of a store of so many pages.
    pub(crate) fn lbas(self, pages: u64) -> u64 {
        pages + 2 * u64::from(self.pages)
    }

    /// Bytes of a unit, which is a slot of the volume.
    pub(crate) fn unit(self) -> u32 {
        self.unit
    }

    /// Units of a whole page.
    pub(crate) fn page_units(self) -> u32 {
        PAGE as u32 / self.unit()
    }

    /// Units of a record of so many bytes.
    pub(crate) fn units_of(self, bytes: u32) -> u32 {
        bytes.div_ceil(self.unit())
    }

    /// The sum of a record and the zeroes that fill up its last unit.
    pub(crate) fn sum(self, record: &[u8]) -> u32 {
        let sum = crc32c::crc32c(record);
        match record.len() % self.unit() as usize {
            0 => sum,
            over => crc32c::crc32c_append(sum, &ZEROES[..self.unit() as usize - over]),
        }
    }

    /// The extents of records of zone `zone` that lie one behind the other from page `first` on.
    pub(crate) fn extents<'a>(
        self,
        zone: u32,
        first: u32,
        records: impl IntoIterator<Item = &'a Record>,
    ) -> impl Iterator<Item = (Extent, &'a Record)> {
        let mut offset = first * self.page_units();
        records.into_iter().map(move |record| {
            let units = self.units_of(record.bytes.into());
            let extent = Extent { slot: Slot { zone, offset }, units };
            offset += units;
            (extent, record)
        })
    }
}

/// Bytes of a record's row and form in the header of its chunk.
pub(crate) const ROW: usize = size_of::<Row>() + size_of::<Form>();

/// The LBA of a record that does not count.
pub(crate) const NO_LBA: u64 = u64::MAX;

/// A version of a page, of its delta or its tail, as the header of its chunk describes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    /// The page's LBA, or that of its [delta](Sizes::delta_of) or [tail](Sizes::tail_of).
    pub lba: u64,
    /// CRC-32C of the record, with the zeroes that fill up its last unit.
    pub sum: u32,
    /// User writes of the store when this version was written, itself included.
    pub time: u64,
    /// Bytes of the record.
    pub bytes: u16,
    /// Of a delta the sum of its base, of a tail that of its delta. Of an image that cleaning
    /// merged, the sum of the tail that is in it, or of the delta if there was none; of another
    /// image 0.
    pub other: u32,
}

impl Record {
    /// The record of a row; none if it has a form that this program does not know.
    pub(crate) fn of(Row { lba, sum, time }: Row, form: Form, sizes: Sizes) -> Option<Record> {
        let Form { kind, bytes, other } = form;
        let kind = match kind {
            // A page beyond the store would seem to be the delta of another.
            _ if sizes.is_delta(lba.into()) => return None,
            IMAGE => RecordKind::Image,
            DELTA => RecordKind::Delta,
            TAIL => RecordKind::Tail,
            _ => return None,
        };
        let lba = sizes.lba(lba, kind)?;
        let known = (1..=PAGE).contains(&bytes.into()) && time < MOST;
        known.then_some(Record { lba, sum, time, bytes, other })
    }

    /// Its row.
    pub(crate) fn row(&self, sizes: Sizes) -> Row {
        Row { lba: sizes.page_of(self.lba), sum: self.sum, time: self.time }
    }

    /// Its form.
    pub(crate) fn form(&self, sizes: Sizes) -> Form {
        let kind = match sizes.kind(self.lba) {
            RecordKind::Image => IMAGE,
            RecordKind::Delta => DELTA,
            RecordKind::Tail => TAIL,
        };
        Form { kind, bytes: self.bytes, other: self.other }
    }
}

/// The bytes of a zone of the device that a record takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// The page where it begins.
    pub page: u32,
    /// Bytes of this page before it.
    pub skip: usize,
    /// Its bytes, in whole units.
    pub bytes: usize,
}

impl Span {
    /// Pages that it touches.
    pub(crate) fn pages(&self) -> usize {
        (self.skip + self.bytes).div_ceil(PAGE)
    }

    /// The first page behind it.
    pub(crate) fn end(&self) -> u32 {
        self.page + self.pages() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_of_16_tib_has_lbas_for_the_image_the_delta_and_the_tail_of_each_page() {
        let sizes = Sizes::new(64).unwrap().with_pages(u32::MAX.into());
        assert_eq!(sizes.lbas(u32::MAX.into()), 3 * u64::from(u32::MAX));
        for page in [0, 1, 1 << 31, u32::MAX - 1] {
            for kind in [RecordKind::Image, RecordKind::Delta, RecordKind::Tail] {
                let lba = sizes.lba(page, kind).unwrap();
                assert_eq!((sizes.page_of(lba), sizes.kind(lba)), (page, kind));
            }
        }
    }

    #[test]
    fn a_unit_divides_a_page_into_255_at_most() {
        for unit in [32, 64, 512, 2048, 4096] {
            let sizes = Sizes::new(unit).unwrap();
            assert_eq!((sizes.unit(), sizes.page_units()), (unit, 4096 / unit));
        }
        for unit in [0, 1, 16, 63, 100, 3000, 8192, u32::MAX] {
            assert!(Sizes::new(unit).is_err(), "{unit}");
        }
    }

    #[test]
    fn the_sum_of_a_record_is_that_of_its_whole_units() {
        let sizes = Sizes::new(64).unwrap();
        for bytes in [1, 63, 64, 65, 4095, 4096] {
            let mut record = vec![7; bytes];
            let sum = sizes.sum(&record);
            record.resize(bytes.next_multiple_of(64), 0);
            assert_eq!(sum, crc32c::crc32c(&record), "{bytes} bytes");
        }
    }
}
