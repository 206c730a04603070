//! Keys: the columns of each primary key (clause 1.3), big-endian, so that bytes sort like the
//! columns.

use super::scale::{Customer, District, ItemId, OrderId, WarehouseId};

/// Bytes of a name in the index by name: enough for the longest first name, and for any last name.
pub(super) const NAME: usize = 16;

/// Joins parts; together they must have `N` bytes.
fn join<const N: usize>(parts: &[&[u8]]) -> [u8; N] {
    let mut key = [0; N];
    let mut at = 0;
    for part in parts {
        key[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
    debug_assert_eq!(at, N);
    key
}

pub(super) fn warehouse(warehouse: WarehouseId) -> [u8; 4] {
    warehouse.to_be_bytes()
}

pub(super) fn district(district: District) -> [u8; 5] {
    join(&[&district.warehouse.to_be_bytes(), &[district.number]])
}

pub(super) fn customer(of: Customer) -> [u8; 7] {
    join(&[&district(of.district), &of.number.to_be_bytes()])
}

/// A payment's key has its customer and the number of that customer's payments so far. Unlike a
/// counter of the program's own, this is unique across runs.
pub(super) fn history(of: Customer, payment: u32) -> [u8; 11] {
    join(&[&customer(of), &payment.to_be_bytes()])
}

/// The key in the tables of orders and of new orders.
pub(super) fn order(of: District, order: OrderId) -> [u8; 9] {
    join(&[&district(of), &order.to_be_bytes()])
}

pub(super) fn order_line(of: District, number: OrderId, line: u8) -> [u8; 10] {
    join(&[&order(of, number), &[line]])
}

pub(super) fn item(item: ItemId) -> [u8; 4] {
    item.to_be_bytes()
}

pub(super) fn stock(warehouse: WarehouseId, item: ItemId) -> [u8; 8] {
    join(&[&warehouse.to_be_bytes(), &item.to_be_bytes()])
}

/// The prefix of the index entries of all customers with a last name.
pub(super) fn last_name(of: District, last: &[u8]) -> [u8; 5 + NAME] {
    join(&[&district(of), &padded(last)])
}

pub(super) fn customer_by_name(of: Customer, last: &[u8], first: &[u8]) -> [u8; 7 + 2 * NAME] {
    join(&[&last_name(of.district, last), &padded(first), &of.number.to_be_bytes()])
}

pub(super) fn order_by_customer(of: Customer, order: OrderId) -> [u8; 11] {
    join(&[&customer(of), &order.to_be_bytes()])
}

/// A name, cut, or extended by zeroes, which sort before any letter.
fn padded(name: &[u8]) -> [u8; NAME] {
    let mut padded = [0; NAME];
    let length = name.len().min(NAME);
    padded[..length].copy_from_slice(&name[..length]);
    padded
}

/// Reads the number at the start of a key's tail; `None` if the tail is too short.
pub(super) fn leading_u32(tail: &[u8]) -> Option<u32> {
    tail.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}

/// Reads the number at the end of a key; `None` if the key is too short.
pub(super) fn trailing_u16(key: &[u8]) -> Option<u16> {
    key.last_chunk().map(|bytes| u16::from_be_bytes(*bytes))
}

/// The district at the start of a key; `None` if the key has none.
pub(super) fn leading_district(key: &[u8]) -> Option<District> {
    let number = *key.get(4)?;
    Some(District { warehouse: leading_u32(key)?, number })
}

/// The customer at the start of a key; `None` if the key has none.
pub(super) fn leading_customer(key: &[u8]) -> Option<Customer> {
    let number = u16::from_be_bytes(*key.get(5..)?.first_chunk()?);
    Some(Customer { district: leading_district(key)?, number })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISTRICT: District = District { warehouse: 258, number: 7 };
    const CUSTOMER: Customer = Customer { district: DISTRICT, number: 515 };

    #[test]
    fn keys_sort_as_their_columns_do() {
        assert!(order(DISTRICT, 255) < order(DISTRICT, 256));
        assert!(order(DISTRICT, u32::MAX) < order(District { number: 8, ..DISTRICT }, 0));
        assert!(
            customer_by_name(CUSTOMER, b"BAR", b"zz") < customer_by_name(CUSTOMER, b"BARBAR", b"A")
        );
    }

    #[test]
    fn columns_come_out_of_keys_again() {
        assert_eq!(leading_customer(&history(CUSTOMER, 9)), Some(CUSTOMER));
        assert_eq!(leading_district(&order(DISTRICT, 3)), Some(DISTRICT));
        assert_eq!(trailing_u16(&customer_by_name(CUSTOMER, b"BAR", b"first")), Some(515));
        assert_eq!(leading_customer(&[1, 2, 3, 4, 5, 6]), None);
    }
}
