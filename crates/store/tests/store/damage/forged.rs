//! The device of a store whose bytes are changed, and whose sums are then right all the same.

const PAGE: usize = 4096;

/// A store's device as bytes, to be changed so that every sum is right again.
#[derive(Clone)]
pub(crate) struct Forged {
    /// The bytes of each zone.
    pub zones: Vec<Vec<u8>>,
    /// The metadata zones, in the order of the ring.
    ring: Vec<usize>,
    /// Pages of a zone.
    zone_pages: usize,
}

/// Where a table has the places of leaves.
const ROOT: usize = 144;

/// The four bytes at a place, as a number.
pub(crate) fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn set_word(bytes: &mut [u8], at: usize, word: u32) {
    bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
}

impl Forged {
    /// Takes the zones of a store, of which one begins with a whole superblock.
    pub(crate) fn of(zones: Vec<Vec<u8>>) -> Forged {
        let is_super = |bytes: &&Vec<u8>| bytes.starts_with(b"FRST") && word(bytes, 8) == 1;
        let first = zones.iter().find(is_super).expect("a superblock");
        let ring = (0..word(first, 40) as usize).flat_map(|run| {
            let begin = word(first, 408 + 8 * run) as usize;
            begin..begin + word(first, 412 + 8 * run) as usize
        });
        let (ring, zone_pages) = (ring.collect(), word(first, 112) as usize);
        Forged { ring, zone_pages, zones }
    }

    /// The records of the metadata log with a payload of this kind: zone, page, pages of payload.
    pub(crate) fn records(&self, kind: u32) -> Vec<(usize, usize, usize)> {
        let mut found = Vec::new();
        for &zone in &self.ring {
            for (at, page) in self.zones[zone].chunks_exact(PAGE).enumerate() {
                let payload = word(page, 44) as usize;
                let is_it = page.starts_with(b"FRST") && word(page, 8) == kind;
                let is_it = is_it && payload > 0;
                if is_it && at + payload < self.zones[zone].len() / PAGE {
                    found.push((zone, at, payload));
                }
            }
        }
        found
    }

    /// The payload of such a record.
    pub(crate) fn payload(&mut self, (zone, at, pages): (usize, usize, usize)) -> &mut [u8] {
        &mut self.zones[zone][(at + 1) * PAGE..(at + 1 + pages) * PAGE]
    }

    /// Makes the sum of a page that describes others right.
    pub(crate) fn seal(&mut self, zone: usize, at: usize) {
        let page = &mut self.zones[zone][at * PAGE..(at + 1) * PAGE];
        let sum = crc32c::crc32c(&page[8..]);
        set_word(page, 4, sum);
    }

    /// Makes the sums of leaves right, and of everything that names them.
    pub(crate) fn seal_metadata(&mut self) {
        for record in self.records(4) {
            let leaves = word(self.payload(record), 80) as usize;
            let room = (self.payload(record).len() - ROOT) / 24;
            for leaf in 0..leaves.min(room) {
                let at = ROOT + 24 * leaf;
                let page = word(self.payload(record), at + 4) as usize;
                let pages = word(self.payload(record), at + 8) as usize;
                let (place, first) = (page / self.zone_pages, page % self.zone_pages);
                let zone = self.ring.get(place).map(|&zone| &self.zones[zone]);
                let bytes = zone.and_then(|z| {
                    z.get(first * PAGE..first.saturating_add(pages).saturating_mul(PAGE))
                });
                if let Some(sum) = bytes.filter(|_| page > 0).map(crc32c::crc32c) {
                    set_word(self.payload(record), at + 12, sum);
                }
            }
        }
        for record in self.records(3).into_iter().chain(self.records(4)) {
            let sum = crc32c::crc32c(self.payload(record));
            set_word(&mut self.zones[record.0][record.1 * PAGE..], 52, sum);
            self.seal(record.0, record.1);
        }
    }
}
