//! A worker: draws transactions and runs them one after the other, without keying or think times.

use std::hint::black_box;

use super::buffers::Buffers;
use super::deck::{Deck, TransactionKind};
use super::delivery::Delivery;
use super::new_order::NewOrder;
use super::order_status::OrderStatus;
use super::payment::Payment;
use super::payments::Paid;
use super::rows::LOADED;
use super::scale::{DISTRICTS, District, Scale, TpccOptions};
use super::session::TpccSession;
use super::stock_level::StockLevel;
use super::tables::Tables;
use super::trim::RowTrim;
use crate::attempt::{End, attempt};
use crate::error::Result;
use crate::random::Random;
use crate::{Access, Done, Engine, TransactionOutcome, Worker};

/// A worker of TPC-C. It works for all warehouses: each transaction draws a warehouse and one of
/// its districts.
#[derive(Debug)]
pub struct TpccWorker<T> {
    scale: Scale,
    random: Random,
    deck: Deck,
    date: u64,
    trim: Option<RowTrim>,
    desk: Terminal<T>,
}

impl<T: Copy> TpccWorker<T> {
    pub(super) fn new(tables: Tables<T>, options: &TpccOptions, random: Random) -> TpccWorker<T> {
        TpccWorker {
            scale: options.scale,
            random,
            deck: Deck::new(),
            date: LOADED,
            trim: options.steady.then(|| RowTrim::new(&options.scale)),
            desk: Terminal { tables, buffers: Buffers::default(), scratch: Vec::new() },
        }
    }

    fn home(&mut self) -> District {
        District {
            warehouse: self.random.between(1, self.scale.warehouses),
            number: self.random.between(1, u32::from(DISTRICTS)) as u8,
        }
    }

    fn next_kind(&mut self) -> TransactionKind {
        match &self.trim {
            Some(trim) if trim.is_due() => TransactionKind::Trim,
            _ => self.deck.deal(&mut self.random),
        }
    }

    fn new_order<E: Engine<Table = T>>(
        &mut self,
        engine: &E,
    ) -> Result<(TransactionOutcome, u32), E> {
        let home = self.home();
        let input = NewOrder::draw(&mut self.random, &self.scale, home, self.date);
        let end = self.desk.run(engine, Access::ReadWrite, |session, buffers| {
            let receipt = input.run(session, buffers)?;
            Ok(if black_box(receipt).is_some() { End::Commit } else { End::RollBack })
        })?;
        if let (Some(trim), (TransactionOutcome::Committed(_), _)) = (&mut self.trim, end) {
            trim.ordered(input.district());
        }
        Ok(end)
    }

    fn payment<E: Engine<Table = T>>(
        &mut self,
        engine: &E,
    ) -> Result<(TransactionOutcome, u32), E> {
        let home = self.home();
        let input = Payment::draw(&mut self.random, &self.scale, home, self.date);
        let mut paid: Option<Paid> = None;
        let end = self.desk.run(engine, Access::ReadWrite, |session, buffers| {
            paid = Some(input.run(session, buffers)?);
            Ok(End::Commit)
        })?;
        if let (Some(trim), (TransactionOutcome::Committed(_), _), Some(paid)) =
            (&mut self.trim, end, paid)
        {
            trim.paid(paid);
        }
        Ok(end)
    }

    fn order_status<E: Engine<Table = T>>(
        &mut self,
        engine: &E,
    ) -> Result<(TransactionOutcome, u32), E> {
        let home = self.home();
        let input = OrderStatus::draw(&mut self.random, &self.scale, home);
        self.desk.run(engine, Access::ReadOnly, |session, buffers| {
            black_box(input.run(session, buffers)?);
            Ok(End::Commit)
        })
    }

    fn delivery<E: Engine<Table = T>>(
        &mut self,
        engine: &E,
    ) -> Result<(TransactionOutcome, u32), E> {
        let backlog = self.trim.as_ref().map(|_| self.scale.waiting());
        let home = self.home().warehouse;
        let input = Delivery::draw(&mut self.random, home, self.date, backlog);
        self.desk.run(engine, Access::ReadWrite, |session, buffers| {
            black_box(input.run(session, buffers)?);
            Ok(End::Commit)
        })
    }

    fn stock_level<E: Engine<Table = T>>(
        &mut self,
        engine: &E,
    ) -> Result<(TransactionOutcome, u32), E> {
        let home = self.home();
        let input = StockLevel::draw(&mut self.random, home);
        self.desk.run(engine, Access::ReadOnly, |session, buffers| {
            black_box(input.run(session, buffers)?);
            Ok(End::Commit)
        })
    }

    fn trim<E: Engine<Table = T>>(&mut self, engine: &E) -> Result<(TransactionOutcome, u32), E> {
        let Some(trim) = &mut self.trim else { return Ok((TransactionOutcome::RolledBack, 0)) };
        let end = self.desk.run(engine, Access::ReadWrite, |session, buffers| {
            trim.run(session, buffers)?;
            Ok(End::Commit)
        })?;
        // If it was given up, it becomes due again later: the next payments and orders lead to the
        // same rows.
        trim.done();
        Ok(end)
    }
}

impl<E: Engine> Worker<E> for TpccWorker<E::Table> {
    fn step(&mut self, engine: &E) -> Result<Done, E> {
        self.date += 1;
        let kind = self.next_kind();
        let (outcome, retries) = match kind {
            TransactionKind::NewOrder => self.new_order(engine),
            TransactionKind::Payment => self.payment(engine),
            TransactionKind::OrderStatus => self.order_status(engine),
            TransactionKind::Delivery => self.delivery(engine),
            TransactionKind::StockLevel => self.stock_level(engine),
            TransactionKind::Trim => self.trim(engine),
        }?;
        Ok(Done { kind: kind as usize, outcome, retries })
    }
}

/// The things that every transaction of a worker uses.
#[derive(Debug)]
struct Terminal<T> {
    tables: Tables<T>,
    buffers: Buffers,
    /// Scratch memory for the engine's patches, which happen while the buffers are in use.
    scratch: Vec<u8>,
}

impl<T: Copy> Terminal<T> {
    fn run<'e, E: Engine<Table = T>>(
        &mut self,
        engine: &'e E,
        access: Access,
        mut body: impl FnMut(&mut TpccSession<'_, 'e, E>, &mut Buffers) -> Result<End, E>,
    ) -> Result<(TransactionOutcome, u32), E> {
        let Terminal { tables, buffers, scratch } = self;
        attempt(engine, access, |transaction| {
            let mut session = TpccSession { transaction, tables, scratch };
            body(&mut session, buffers)
        })
    }
}
