//! Where the chunks of a zone lie, in memory and in the table of a checkpoint.

/// The place of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkPlace {
    /// Offset of its first page among the pages of the volume's zone.
    pub first: u32,
    /// Page of the device's zone where its header begins.
    pub start: u32,
    /// Units of its header.
    pub header: u32,
}

/// In a table, the bits of a chunk's [`ChunkPlace::first`]; above them is one less than the units
/// of its header.
const FIRST_BITS: u32 = 24;

/// In a table: the chunk before has no more pages on the device than in the volume, as its header
/// took no page.
const SHARED: u32 = 1 << 31;

impl ChunkPlace {
    /// Pages that a zone may have, so that a table has room for the place of each chunk.
    pub(crate) const MOST_PAGES: u32 = 1 << FIRST_BITS;

    /// The chunks of a zone as a table has them.
    pub(crate) fn encode(chunks: &[ChunkPlace]) -> Vec<u32> {
        let mut before = None;
        let of = |&chunk: &ChunkPlace| {
            let ChunkPlace { first, start, header } = chunk;
            let shares = before
                .replace(chunk)
                .is_some_and(|before: ChunkPlace| start - before.start == first - before.first);
            first | (header - 1) << FIRST_BITS | if shares { SHARED } else { 0 }
        };
        chunks.iter().map(of).collect()
    }

    /// The chunks that a table has of a zone.
    pub(crate) fn decode(chunks: &[u32]) -> Vec<ChunkPlace> {
        let mut before: Option<ChunkPlace> = None;
        let of = |&chunk: &u32| {
            let first = chunk & (ChunkPlace::MOST_PAGES - 1);
            let (header, shares) = (((chunk & !SHARED) >> FIRST_BITS) + 1, chunk & SHARED > 0);
            let start = before.map_or(0, |before| {
                let pages = first.saturating_sub(before.first) + u32::from(!shares);
                before.start.saturating_add(pages)
            });
            let place = ChunkPlace { first, start, header };
            before = Some(place);
            place
        };
        chunks.iter().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_the_places_of_chunks() {
        let place = |first, start, header| ChunkPlace { first, start, header };
        // The second chunk takes no page more on the device than in the volume, the others one.
        let chunks = [place(0, 0, 64), place(7, 8, 5), place(9, 10, 1), place(10, 12, 30)];
        assert_eq!(ChunkPlace::decode(&ChunkPlace::encode(&chunks)), chunks);
    }
}
