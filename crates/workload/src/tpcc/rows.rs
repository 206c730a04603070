//! Rows: fixed-width fields first, at constant places; then the strings, at their real length.
//!
//! Fields that are updated often stand together at the front, so that an update is one small patch.
//! Money is in cents, rates (taxes, discounts) in hundredths of a percent. A date is the number of
//! the transaction among those of its worker, or [`LOADED`]; 0 stands for none. The benchmark only
//! ever asks whether there is a date, and with a clock no two runs would be equal.

use crate::field::Field;

/// The date of all loaded rows.
pub(super) const LOADED: u64 = 1;

pub(super) mod warehouse {
    use super::Field;

    /// The sum of all payments made in the warehouse, in cents.
    pub(in crate::tpcc) const YTD: Field<i64> = Field::at(0);
    pub(in crate::tpcc) const TAX: Field<u16> = Field::at(8);
    const _: () = assert!(YTD.end() == TAX.start(), "fields follow each other");
    /// Bytes of fixed fields; name and address follow.
    pub(in crate::tpcc) const FIXED: usize = TAX.end();
}

pub(super) mod district {
    use super::Field;

    /// The sum of all payments made in the district, in cents.
    pub(in crate::tpcc) const YTD: Field<i64> = Field::at(0);
    pub(in crate::tpcc) const NEXT_ORDER: Field<u32> = Field::at(8);
    pub(in crate::tpcc) const TAX: Field<u16> = Field::at(12);
    const _: () = {
        assert!(YTD.end() == NEXT_ORDER.start(), "fields follow each other");
        assert!(NEXT_ORDER.end() == TAX.start(), "fields follow each other");
    };
    /// Bytes of fixed fields; name and address follow.
    pub(in crate::tpcc) const FIXED: usize = TAX.end();
}

pub(super) mod customer {
    use super::Field;

    /// Balance in cents; a negative one is a credit.
    pub(in crate::tpcc) const BALANCE: Field<i64> = Field::at(0);
    pub(in crate::tpcc) const DELIVERIES: Field<u32> = Field::at(8);
    /// Sum of payments, in cents.
    pub(in crate::tpcc) const YTD_PAYMENT: Field<i64> = Field::at(12);
    pub(in crate::tpcc) const PAYMENTS: Field<u32> = Field::at(20);
    /// A delivery changes only bytes before this one.
    pub(in crate::tpcc) const END_OF_DELIVERY: usize = DELIVERIES.end();
    /// A payment changes only bytes before this one.
    pub(in crate::tpcc) const END_OF_PAYMENT: usize = PAYMENTS.end();
    /// Credit limit in cents.
    pub(in crate::tpcc) const CREDIT_LIMIT: Field<i64> = Field::at(24);
    pub(in crate::tpcc) const SINCE: Field<u64> = Field::at(32);
    pub(in crate::tpcc) const DISCOUNT: Field<u16> = Field::at(40);
    /// 1 if the customer's credit is bad ("BC"), 0 if it is good ("GC").
    pub(in crate::tpcc) const BAD_CREDIT: Field<u8> = Field::at(42);
    const _: () = {
        assert!(BALANCE.start() == 0 && BALANCE.end() == DELIVERIES.start());
        assert!(DELIVERIES.end() == YTD_PAYMENT.start() && YTD_PAYMENT.end() == PAYMENTS.start());
        assert!(PAYMENTS.end() == CREDIT_LIMIT.start() && CREDIT_LIMIT.end() == SINCE.start());
        assert!(SINCE.end() == DISCOUNT.start() && DISCOUNT.end() == BAD_CREDIT.start());
    };
    /// Bytes of fixed fields; first, last and middle name, phone, address and data follow.
    pub(in crate::tpcc) const FIXED: usize = BAD_CREDIT.end();
    /// The index of the first name among the texts.
    pub(in crate::tpcc) const FIRST: usize = 0;
    /// The index of the last name among the texts.
    pub(in crate::tpcc) const LAST: usize = 1;
    /// The number of texts before the data.
    pub(in crate::tpcc) const TEXTS: usize = 9;
    /// The most bytes of data.
    pub(in crate::tpcc) const DATA: usize = 500;
}

pub(super) mod history {
    use super::Field;

    /// Amount in cents.
    pub(in crate::tpcc) const AMOUNT: Field<i64> = Field::at(0);
    pub(in crate::tpcc) const DATE: Field<u64> = Field::at(8);
    /// The district where the payment was made.
    pub(in crate::tpcc) const WAREHOUSE: Field<u32> = Field::at(16);
    pub(in crate::tpcc) const DISTRICT: Field<u8> = Field::at(20);
    const _: () = {
        assert!(AMOUNT.end() == DATE.start() && DATE.end() == WAREHOUSE.start());
        assert!(WAREHOUSE.end() == DISTRICT.start(), "fields follow each other");
    };
    /// Bytes of fixed fields; data follow.
    pub(in crate::tpcc) const FIXED: usize = DISTRICT.end();
}

pub(super) mod order {
    use super::Field;

    /// The carrier that delivered it, 1 to 10; 0 before delivery.
    pub(in crate::tpcc) const CARRIER: Field<u8> = Field::at(0);
    pub(in crate::tpcc) const LINES: Field<u8> = Field::at(1);
    pub(in crate::tpcc) const ALL_LOCAL: Field<u8> = Field::at(2);
    pub(in crate::tpcc) const CUSTOMER: Field<u16> = Field::at(3);
    pub(in crate::tpcc) const ENTRY_DATE: Field<u64> = Field::at(5);
    const _: () = {
        assert!(CARRIER.end() == LINES.start() && LINES.end() == ALL_LOCAL.start());
        assert!(ALL_LOCAL.end() == CUSTOMER.start() && CUSTOMER.end() == ENTRY_DATE.start());
    };
    pub(in crate::tpcc) const FIXED: usize = ENTRY_DATE.end();
}

pub(super) mod order_line {
    use super::Field;

    /// 0 if the line was not delivered yet.
    pub(in crate::tpcc) const DELIVERY_DATE: Field<u64> = Field::at(0);
    /// Amount in cents.
    pub(in crate::tpcc) const AMOUNT: Field<i64> = Field::at(8);
    pub(in crate::tpcc) const ITEM: Field<u32> = Field::at(16);
    pub(in crate::tpcc) const SUPPLY_WAREHOUSE: Field<u32> = Field::at(20);
    pub(in crate::tpcc) const QUANTITY: Field<u8> = Field::at(24);
    const _: () = {
        assert!(DELIVERY_DATE.end() == AMOUNT.start() && AMOUNT.end() == ITEM.start());
        assert!(ITEM.end() == SUPPLY_WAREHOUSE.start());
        assert!(SUPPLY_WAREHOUSE.end() == QUANTITY.start(), "fields follow each other");
    };
    /// The offset of the stock's text for the district.
    pub(in crate::tpcc) const DIST_INFO: usize = QUANTITY.end();
    pub(in crate::tpcc) const FIXED: usize = DIST_INFO + super::stock::DIST;
}

pub(super) mod item {
    use super::Field;

    /// Price in cents.
    pub(in crate::tpcc) const PRICE: Field<i64> = Field::at(0);
    pub(in crate::tpcc) const IMAGE: Field<u32> = Field::at(8);
    /// Bytes of fixed fields; name and data follow.
    pub(in crate::tpcc) const FIXED: usize = IMAGE.end();
}

pub(super) mod stock {
    use super::Field;
    use crate::tpcc::scale::DISTRICTS;

    pub(in crate::tpcc) const QUANTITY: Field<i32> = Field::at(0);
    /// The quantity sold so far.
    pub(in crate::tpcc) const YTD: Field<u32> = Field::at(4);
    pub(in crate::tpcc) const ORDERS: Field<u32> = Field::at(8);
    pub(in crate::tpcc) const REMOTE_ORDERS: Field<u32> = Field::at(12);
    const _: () = {
        assert!(QUANTITY.end() == YTD.start() && YTD.end() == ORDERS.start());
        assert!(ORDERS.end() == REMOTE_ORDERS.start(), "fields follow each other");
    };
    /// An order line changes only bytes before this one.
    pub(in crate::tpcc) const END_OF_ORDER: usize = REMOTE_ORDERS.end();
    /// Bytes of the text for one district; the texts for all districts stand side by side from
    /// [`END_OF_ORDER`] on.
    pub(in crate::tpcc) const DIST: usize = 24;
    /// Bytes of fixed fields; data follow.
    pub(in crate::tpcc) const FIXED: usize = END_OF_ORDER + DIST * DISTRICTS as usize;
}

pub(super) mod trimmed {
    use super::Field;

    /// The oldest order that is not deleted.
    pub(in crate::tpcc) const OLDEST_ORDER: Field<u32> = Field::at(0);
    /// Sum of the lines of deleted orders, in cents.
    pub(in crate::tpcc) const DELIVERED: Field<i64> = Field::at(4);
    /// Sum of deleted payments that were made in the district, in cents.
    pub(in crate::tpcc) const PAID_HERE: Field<i64> = Field::at(12);
    /// Sum of deleted payments by the district's customers, in cents.
    pub(in crate::tpcc) const PAID_BY_CUSTOMERS: Field<i64> = Field::at(20);
    const _: () = {
        assert!(OLDEST_ORDER.end() == DELIVERED.start() && DELIVERED.end() == PAID_HERE.start());
        assert!(PAID_HERE.end() == PAID_BY_CUSTOMERS.start(), "fields follow each other");
    };
    pub(in crate::tpcc) const FIXED: usize = PAID_BY_CUSTOMERS.end();
}

/// Appends a string of at most 255 bytes, after its length.
pub(super) fn push_text(row: &mut Vec<u8>, text: &[u8]) {
    assert!(text.len() <= usize::from(u8::MAX), "a text's length has eight bits");
    row.push(text.len() as u8);
    row.extend_from_slice(text);
}

/// String `number` (from 0) of those that begin at byte `at`; empty if there are fewer.
pub(super) fn text(row: &[u8], at: usize, number: usize) -> &[u8] {
    let start = after_texts(row, at, number);
    let length = row.get(start).copied().map_or(0, usize::from);
    row.get(start + 1..start + 1 + length).unwrap_or_default()
}

/// The offset behind the first `count` strings of those that begin at byte `at`: at most the row's
/// length.
pub(super) fn after_texts(row: &[u8], at: usize, count: usize) -> usize {
    (0..count).fold(at, |at, _| {
        let length = row.get(at).copied().map_or(0, usize::from);
        (at + 1 + length).min(row.len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_by_their_number() {
        let mut row = vec![9, 9];
        [b"one".as_slice(), b"", b"three"].iter().for_each(|each| push_text(&mut row, each));
        let end = row.len();
        row.extend_from_slice(b"rest");
        assert_eq!(text(&row, 2, 0), b"one");
        assert_eq!(text(&row, 2, 1), b"");
        assert_eq!(text(&row, 2, 2), b"three");
        assert_eq!(after_texts(&row, 2, 3), end);
    }

    #[test]
    fn a_row_cut_short_has_no_texts() {
        assert_eq!(text(&[200, 1], 0, 0), b"");
        assert_eq!(text(&[1], 0, 5), b"");
        assert_eq!(after_texts(&[200, 1], 0, 3), 2);
    }
}
