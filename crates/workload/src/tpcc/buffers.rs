//! Memory that a worker's transactions use again and again.

use super::payments::OldPayment;
use super::scale::CustomerId;

/// Buffers of one worker. Each transaction finds them in any state.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    /// A row that was read.
    pub(super) row: Vec<u8>,
    /// A row that is to be written, or a second one that was read.
    pub(super) other: Vec<u8>,
    /// Part of a row that is put together.
    pub(super) part: Vec<u8>,
    /// A last name.
    pub(super) name: Vec<u8>,
    /// Numbers of customers of one name.
    pub(super) customers: Vec<CustomerId>,
    /// Numbers that a scan found: of lines, or of items.
    pub(super) found: Vec<u32>,
    /// Rows of history that are to go.
    pub(super) payments: Vec<OldPayment>,
}
