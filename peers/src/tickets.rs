//! The durable commits of an engine, for engines that make all commits durable at once.

use std::sync::atomic::{AtomicU64, Ordering};

use frostline_workload::Ticket;

/// Numbers commits, and keeps how many of them are durable.
#[derive(Debug, Default)]
pub struct Tickets {
    committed: AtomicU64,
    durable: AtomicU64,
    points: AtomicU64,
}

impl Tickets {
    /// A commit that wrote something: durable with the next point.
    pub fn commit(&self) -> Ticket {
        Ticket(self.committed.fetch_add(1, Ordering::AcqRel) + 1)
    }

    /// The newest commit that a transaction that only read may have seen.
    pub fn newest(&self) -> Ticket {
        Ticket(self.committed.load(Ordering::Acquire))
    }

    /// All up to this are durable.
    pub fn durable(&self) -> Ticket {
        Ticket(self.durable.load(Ordering::Acquire))
    }

    /// Makes everything committed so far durable by `point`, unless `ticket` is already.
    ///
    /// # Errors
    /// Those of `point`.
    pub fn wait<E>(&self, ticket: Ticket, point: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        if self.durable() >= ticket {
            return Ok(());
        }
        let reached = self.newest();
        point()?;
        self.durable.fetch_max(reached.0, Ordering::AcqRel);
        self.points.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// The number of times that everything was made durable.
    pub fn points(&self) -> u64 {
        self.points.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_point_makes_all_commits_before_it_durable() {
        let tickets = Tickets::default();
        let first = tickets.commit();
        let second = tickets.commit();
        assert_eq!(tickets.newest(), second);
        assert!(tickets.durable() < first);
        tickets.wait(first, || Ok::<(), ()>(())).unwrap();
        tickets.wait(second, || Err(())).unwrap();
        assert_eq!((tickets.durable(), tickets.points()), (second, 1));
    }

    #[test]
    fn nothing_is_durable_after_a_point_that_failed() {
        let tickets = Tickets::default();
        let ticket = tickets.commit();
        assert!(tickets.wait(ticket, || Err(())).is_err());
        assert!(tickets.durable() < ticket);
    }
}
