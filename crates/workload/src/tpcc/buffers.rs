//! Memory that a worker's transactions reuse.

use super::payments::OldPayment;
use super::scale::CustomerId;

/// Buffers of one worker. A transaction must not rely on their content.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    /// A row that was read.
    pub(super) row: Vec<u8>,
    /// A row to write, or a second row that was read.
    pub(super) other: Vec<u8>,
    /// Part of a row that is being composed.
    pub(super) part: Vec<u8>,
    /// A last name.
    pub(super) name: Vec<u8>,
    /// Numbers of the customers with one name.
    pub(super) customers: Vec<CustomerId>,
    /// Numbers that a scan found, of lines or items.
    pub(super) found: Vec<u32>,
    /// Rows of history to delete.
    pub(super) payments: Vec<OldPayment>,
}
