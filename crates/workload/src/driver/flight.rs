//! A worker's commits in flight: those that are not known to be durable yet.

use std::collections::VecDeque;
use std::time::Instant;

use crate::Ticket;

/// A commit in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlight {
    pub(super) ticket: Ticket,
    pub(super) kind: usize,
    pub(super) started: Instant,
}

/// Commits in flight, the oldest first, in memory that does not grow.
#[derive(Debug)]
pub(super) struct Flight {
    ring: VecDeque<InFlight>,
    limit: usize,
}

impl Flight {
    /// Room for `limit` commits in flight, and one more.
    pub(super) fn new(limit: usize) -> Flight {
        Flight { ring: VecDeque::with_capacity(limit + 1), limit }
    }

    /// Adds the newest commit.
    pub(super) fn push(&mut self, commit: InFlight) {
        assert!(self.ring.len() <= self.limit, "the oldest commit is waited for first");
        self.ring.push_back(commit);
    }

    /// Takes the oldest commit, if it is durable.
    pub(super) fn pop(&mut self, durable: Ticket) -> Option<InFlight> {
        match self.ring.front() {
            Some(oldest) if oldest.ticket <= durable => self.ring.pop_front(),
            _ => None,
        }
    }

    /// The ticket to wait for, if there are more commits than the limit.
    pub(super) fn overdue(&self) -> Option<Ticket> {
        let is_full = self.ring.len() > self.limit;
        self.ring.front().filter(|_| is_full).map(|oldest| oldest.ticket)
    }

    /// The ticket that becomes durable last.
    pub(super) fn newest(&self) -> Option<Ticket> {
        self.ring.iter().map(|commit| commit.ticket).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_durable_leaves_and_no_more() {
        let mut flight = Flight::new(2);
        let started = Instant::now();
        for ticket in 1..=3 {
            assert_eq!(flight.overdue(), None);
            flight.push(InFlight { ticket: Ticket(ticket), kind: 0, started });
        }
        assert_eq!(flight.overdue(), Some(Ticket(1)));
        assert_eq!(flight.newest(), Some(Ticket(3)));
        assert!(flight.pop(Ticket(0)).is_none());
        assert!(flight.pop(Ticket(2)).is_some());
        assert!(flight.pop(Ticket(2)).is_some());
        assert!(flight.pop(Ticket(2)).is_none());
        assert_eq!(flight.overdue(), None);
    }
}
