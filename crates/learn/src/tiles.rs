//! The features of many pages, in the order that inference needs.

/// Pages in a tile: enough for the widest registers, few enough for their scores to stay in
/// registers.
pub const LANES: usize = 16;

/// Features in tiles of [`LANES`] pages: within a tile, the first feature of all its pages, then
/// the second, and so on. So pages lie side by side for vector instructions, and a page's features
/// lie close together.
#[derive(Clone, Copy, Debug)]
pub struct Tiles<'a> {
    width: usize,
    values: &'a [f32],
}

impl<'a> Tiles<'a> {
    /// Whole tiles of pages with `width` features.
    ///
    /// # Panics
    /// If `values` are not whole tiles.
    pub fn new(width: usize, values: &'a [f32]) -> Self {
        assert!(width > 0 && values.len().is_multiple_of(width * LANES), "a tile in part");
        Tiles { width, values }
    }

    /// The columns of each tile.
    #[inline]
    pub fn columns(self) -> impl Iterator<Item = &'a [[f32; LANES]]> {
        self.values.chunks_exact(self.width * LANES).map(|tile| tile.as_chunks().0)
    }
}

/// Makes tiles from rows with `width` features; missing pages of the last tile have zeroes.
pub fn tiled(rows: &[f32], width: usize) -> Vec<f32> {
    assert!(rows.len().is_multiple_of(width), "a row in part");
    let pages = rows.len() / width;
    let mut values = vec![0.0; pages.next_multiple_of(LANES) * width];
    for (tile, rows) in values.chunks_exact_mut(width * LANES).zip(rows.chunks(width * LANES)) {
        for (lane, row) in rows.chunks_exact(width).enumerate() {
            for (column, value) in tile.chunks_exact_mut(LANES).zip(row) {
                column[lane] = *value;
            }
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tile_has_the_columns_of_its_rows() {
        let rows: Vec<f32> = (0..17 * 3).map(|i| i as f32).collect();
        let values = tiled(&rows, 3);
        let tiles: Vec<_> = Tiles::new(3, &values).columns().collect();
        assert_eq!((tiles.len(), tiles[0].len()), (2, 3));
        assert_eq!(tiles[0][1][15], 46.0);
        assert_eq!(tiles[1][2][..2], [50.0, 0.0]);
    }
}
