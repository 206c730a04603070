//! A worker: draws operations, and runs a number of them in each transaction. It may draw those of
//! several transactions ahead, so that the engine reads at once what they need.

use std::collections::VecDeque;
use std::hint::black_box;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::distribution::Chooser;
use super::mix::OperationKind;
use super::{NAME, YcsbOptions, key};
use crate::attempt::{End, attempt};
use crate::error::{Error, Result};
use crate::ids::Ids;
use crate::random::Random;
use crate::{Access, Direction, Done, Engine, Transaction, Worker};

/// The most records of a scan.
const SCAN: u32 = 100;

/// A worker of YCSB.
#[derive(Debug)]
pub struct YcsbWorker<T> {
    options: YcsbOptions,
    ids: Arc<Ids>,
    chooser: Chooser,
    random: Random,
    /// Those of transactions that are not run yet, the next ones first.
    drawn: VecDeque<YcsbOperation>,
    operations: Vec<YcsbOperation>,
    desk: Terminal<T>,
}

/// An operation, and the number of its record.
#[derive(Clone, Copy, Debug)]
struct YcsbOperation {
    kind: OperationKind,
    id: u64,
    /// The number of records to scan.
    rows: u32,
}

impl<T: Copy> YcsbWorker<T> {
    pub(super) fn new(
        table: T,
        options: YcsbOptions,
        ids: Arc<Ids>,
        random: Random,
    ) -> YcsbWorker<T> {
        YcsbWorker {
            options,
            ids,
            chooser: Chooser::new(options.distribution, options.records),
            random,
            drawn: VecDeque::new(),
            operations: Vec::with_capacity(options.operations_per_transaction as usize),
            desk: Terminal {
                table,
                loaded: options.records,
                value: vec![0; options.value_bytes],
                found: Vec::new(),
            },
        }
    }

    fn draw(&mut self) {
        let transactions = self.options.drawn_together;
        for _ in 0..transactions * self.options.operations_per_transaction {
            let kind = self.options.mix.draw(&mut self.random);
            let id = match kind {
                OperationKind::Insert => self.ids.take(),
                _ => self.chooser.choose(&mut self.random, self.ids.settled()),
            };
            let rows = if kind == OperationKind::Scan { self.random.between(1, SCAN) } else { 0 };
            self.drawn.push_back(YcsbOperation { kind, id, rows });
        }
    }

    /// The operations of the next transaction.
    fn next_operations<E: Engine<Table = T>>(&mut self, engine: &E) -> Result<(), E> {
        if self.drawn.is_empty() {
            self.draw();
            if self.options.drawn_together > 1 {
                let keys: Vec<_> = self.drawn.iter().map(|operation| key(operation.id)).collect();
                let records: Vec<_> = keys.iter().map(|key| (self.desk.table, &key[..])).collect();
                let mut transaction = engine.begin(Access::ReadOnly)?;
                transaction.prefetch(&records)?;
                transaction.commit()?;
            }
        }
        self.operations.clear();
        let operations = self.options.operations_per_transaction as usize;
        self.operations.extend(self.drawn.drain(..operations));
        Ok(())
    }

    fn access(&self) -> Access {
        let reads = |operation: &YcsbOperation| {
            matches!(operation.kind, OperationKind::Read | OperationKind::Scan)
        };
        if self.operations.iter().all(reads) { Access::ReadOnly } else { Access::ReadWrite }
    }

    fn kind(&self) -> OperationKind {
        match &self.operations[..] {
            [operation] => operation.kind,
            _ => OperationKind::Batch,
        }
    }
}

impl<T> Drop for YcsbWorker<T> {
    fn drop(&mut self) {
        let inserts = self.drawn.iter().filter(|drawn| drawn.kind == OperationKind::Insert);
        inserts.for_each(|insert| self.ids.settle(insert.id));
    }
}

impl<E: Engine> Worker<E> for YcsbWorker<E::Table> {
    fn step(&mut self, engine: &E) -> Result<Done, E> {
        self.next_operations(engine)?;
        let access = self.access();
        let YcsbWorker { random, operations, desk, .. } = self;
        let result = attempt(engine, access, |transaction| {
            for operation in operations.iter() {
                desk.run::<E>(transaction, operation, random)?;
            }
            Ok(End::Commit)
        });
        let inserts =
            self.operations.iter().filter(|operation| operation.kind == OperationKind::Insert);
        inserts.for_each(|insert| self.ids.settle(insert.id));
        let (outcome, retries) = result?;
        Ok(Done { kind: self.kind() as usize, outcome, retries })
    }
}

/// The table, and memory that is reused.
#[derive(Debug)]
struct Terminal<T> {
    table: T,
    /// Records below this number must exist.
    loaded: u64,
    /// A value to write.
    value: Vec<u8>,
    /// A value that was read.
    found: Vec<u8>,
}

impl<T: Copy> Terminal<T> {
    fn run<'e, E: Engine<Table = T> + 'e>(
        &mut self,
        transaction: &mut E::Transaction<'e>,
        operation: &YcsbOperation,
        random: &mut Random,
    ) -> Result<(), E> {
        let key = key(operation.id);
        match operation.kind {
            OperationKind::Read => self.read::<E>(transaction, operation.id),
            OperationKind::Scan => self.scan::<E>(transaction, &key, operation.rows),
            OperationKind::ReadModifyWrite => {
                self.read::<E>(transaction, operation.id)?;
                self.write::<E>(transaction, &key, random)
            }
            OperationKind::Update | OperationKind::Insert | OperationKind::Batch => {
                self.write::<E>(transaction, &key, random)
            }
        }
    }

    fn read<'e, E: Engine<Table = T> + 'e>(
        &mut self,
        transaction: &mut E::Transaction<'e>,
        id: u64,
    ) -> Result<(), E> {
        let found = transaction.get(self.table, &key(id), &mut self.found)?;
        // A record that was to be inserted may have been given up.
        if !found && id < self.loaded {
            return Err(Error::Data { table: NAME, what: "a loaded record is missing" });
        }
        black_box(&self.found);
        Ok(())
    }

    fn write<'e, E: Engine<Table = T> + 'e>(
        &mut self,
        transaction: &mut E::Transaction<'e>,
        key: &[u8],
        random: &mut Random,
    ) -> Result<(), E> {
        random.fill(&mut self.value);
        Ok(transaction.put(self.table, key, &self.value)?)
    }

    fn scan<'e, E: Engine<Table = T> + 'e>(
        &mut self,
        transaction: &mut E::Transaction<'e>,
        bound: &[u8],
        mut rows: u32,
    ) -> Result<(), E> {
        transaction.scan(self.table, bound, Direction::Forward, &mut |_, value| {
            black_box(value);
            debug_assert!(rows > 0, "a scan ends when it is told to");
            rows -= 1;
            if rows > 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(())
    }
}
