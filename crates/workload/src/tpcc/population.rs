//! Filling the tables (clause 4.3.3.1).
//!
//! The work is divided into parts, which any thread can do in any order: the items, and for each
//! warehouse its stock, and each district's customers and orders. The content of a part depends
//! only on the seed and the part.

mod customers;
mod orders;
mod places;
mod stocks;

use super::scale::{DISTRICTS, District, Scale, TpccOptions, WarehouseId};
use super::tables::Tables;
use crate::Engine;
use crate::error::Result;
use crate::filling::{self, Batches};
use crate::loading::{LoadProgress, Loading};

/// The number of parts in which items, and the stock of a warehouse, are loaded.
const SLICES: u64 = 10;

/// The rows that one part loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PopulationPart {
    /// A slice of the items.
    Items(u64),
    /// A warehouse and its districts.
    Places(WarehouseId),
    /// A slice of a warehouse's stocks.
    Stocks(WarehouseId, u64),
    /// A district's customers and their history.
    Customers(District),
    /// A district's orders.
    Orders(District),
}

/// The number of parts of one warehouse.
const OF_WAREHOUSE: u64 = 1 + SLICES + 2 * DISTRICTS as u64;

impl PopulationPart {
    /// The number of all parts.
    fn count(scale: &Scale) -> u64 {
        SLICES + OF_WAREHOUSE * u64::from(scale.warehouses)
    }

    /// PopulationPart `number`, counted from 0.
    fn numbered(number: u64) -> PopulationPart {
        if number < SLICES {
            return PopulationPart::Items(number);
        }
        let warehouse = ((number - SLICES) / OF_WAREHOUSE) as WarehouseId + 1;
        let district = |number: u64| District { warehouse, number: number as u8 + 1 };
        const DISTRICTS: u64 = super::scale::DISTRICTS as u64;
        match (number - SLICES) % OF_WAREHOUSE {
            0 => PopulationPart::Places(warehouse),
            part if part <= SLICES => PopulationPart::Stocks(warehouse, part - 1),
            part if part <= SLICES + DISTRICTS => {
                PopulationPart::Customers(district(part - SLICES - 1))
            }
            part => PopulationPart::Orders(district(part - SLICES - DISTRICTS - 1)),
        }
    }
}

/// Loads everything.
pub(super) fn load<E: Engine>(
    engine: &E,
    tables: &Tables<E::Table>,
    options: &TpccOptions,
    loading: Loading,
    observer: &mut dyn FnMut(LoadProgress) -> bool,
) -> Result<LoadProgress, E> {
    let (contents, scale) = (options.contents(), &options.scale);
    let parts = PopulationPart::count(scale);
    filling::in_parts(engine, &contents, loading, parts, observer, |number, batches| {
        PopulationPart::numbered(number).load(batches, tables, scale)
    })
}

impl PopulationPart {
    fn load<E: Engine>(
        self,
        batches: &mut Batches<'_, E>,
        tables: &Tables<E::Table>,
        scale: &Scale,
    ) -> Result<(), E> {
        match self {
            PopulationPart::Items(slice) => {
                stocks::load_items(batches, tables, slice_of(scale, slice))
            }
            PopulationPart::Places(warehouse) => places::load(batches, tables, scale, warehouse),
            PopulationPart::Stocks(warehouse, slice) => {
                stocks::load_stocks(batches, tables, warehouse, slice_of(scale, slice))
            }
            PopulationPart::Customers(district) => {
                customers::load(batches, tables, scale, district)
            }
            PopulationPart::Orders(district) => orders::load(batches, tables, scale, district),
        }
    }
}

/// The items of a slice, by number.
fn slice_of(scale: &Scale, slice: u64) -> std::ops::Range<u64> {
    assert!(slice < SLICES, "one of the slices");
    let start = |slice| u64::from(scale.items) * slice / SLICES + 1;
    start(slice)..start(slice + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_there_once() {
        let scale = Scale::standard(2);
        let parts: Vec<PopulationPart> =
            (0..PopulationPart::count(&scale)).map(PopulationPart::numbered).collect();
        assert!((1..parts.len()).all(|at| !parts[..at].contains(&parts[at])));
        assert_eq!(parts[0], PopulationPart::Items(0));
        assert_eq!(
            parts.last(),
            Some(&PopulationPart::Orders(District { warehouse: 2, number: 10 }))
        );
        let covered: u64 = (0..SLICES).map(|slice| slice_of(&scale, slice).count() as u64).sum();
        assert_eq!(covered, 100_000);
        assert_eq!(slice_of(&scale, 9).end, 100_001);
    }
}
