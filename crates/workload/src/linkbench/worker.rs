//! A worker: draws operations and runs each in a transaction of its own.

use std::hint::black_box;
use std::sync::Arc;

use super::choice::Choice;
use super::degree::payload;
use super::loading::LOADED;
use super::mix::RequestKind;
use super::rows::{LINK_PAYLOAD, LinkId, ListId, NODE_PAYLOAD, NodeId};
use super::session::{Buffers, LinkBenchSession, TimedPayload};
use super::tables::Tables;
use crate::attempt::{End, attempt};
use crate::error::Result;
use crate::ids::Ids;
use crate::random::Random;
use crate::{Access, Done, Engine, Worker};

/// The most links that one operation reads.
const MULTIGET: u32 = 10;

/// A worker of the LinkBench-like workload.
#[derive(Debug)]
pub struct LinkBenchWorker<T> {
    tables: Tables<T>,
    ids: Arc<Ids>,
    choice: Choice,
    random: Random,
    time: u64,
    /// Links to be read together.
    links: Vec<LinkId>,
    payload: Vec<u8>,
    buffers: Buffers,
}

/// An operation with its arguments.
#[derive(Clone, Copy, Debug)]
enum LinkBenchOperation {
    GetNode(NodeId),
    AddNode(NodeId),
    UpdateNode(NodeId),
    DeleteNode(NodeId),
    GetLinkList(ListId),
    CountLink(ListId),
    /// Reads the links that the worker has collected.
    MultigetLink,
    /// Adds or updates a link: the paper's two operations do the same, but choose links in
    /// different ways.
    PutLink(LinkId),
    DeleteLink(LinkId),
}

impl<T: Copy> LinkBenchWorker<T> {
    pub(super) fn new(
        tables: Tables<T>,
        ids: Arc<Ids>,
        choice: Choice,
        random: Random,
    ) -> LinkBenchWorker<T> {
        let (links, payload, buffers) = (Vec::new(), Vec::new(), Buffers::default());
        LinkBenchWorker { tables, ids, choice, random, time: LOADED, links, payload, buffers }
    }

    fn draw(&mut self, kind: RequestKind) -> LinkBenchOperation {
        let LinkBenchWorker { ids, choice, random, links, .. } = self;
        match kind {
            RequestKind::GetNode => LinkBenchOperation::GetNode(choice.node_to_read(random)),
            RequestKind::AddNode => LinkBenchOperation::AddNode(ids.take()),
            RequestKind::UpdateNode => {
                LinkBenchOperation::UpdateNode(choice.node_to_update(random))
            }
            RequestKind::DeleteNode => LinkBenchOperation::DeleteNode(choice.any_node(random)),
            RequestKind::GetLinkList => {
                LinkBenchOperation::GetLinkList(choice.list_to_read(random))
            }
            RequestKind::CountLink => LinkBenchOperation::CountLink(choice.list_to_read(random)),
            RequestKind::MultigetLink => {
                let list = choice.list_to_read(random);
                let count = random.between(1, MULTIGET);
                links.clear();
                links.extend((0..count).map(|_| choice.loaded_link(random, list)));
                LinkBenchOperation::MultigetLink
            }
            RequestKind::AddLink => {
                let list = choice.list_to_write(random);
                LinkBenchOperation::PutLink(LinkId { list, to: choice.any_node(random) })
            }
            RequestKind::DeleteLink => {
                let list = choice.list_to_write(random);
                LinkBenchOperation::DeleteLink(choice.loaded_link(random, list))
            }
            RequestKind::UpdateLink => {
                let list = choice.list_to_write(random);
                LinkBenchOperation::PutLink(choice.loaded_link(random, list))
            }
        }
    }

    fn draw_payload(&mut self, operation: &LinkBenchOperation) {
        let length = match operation {
            LinkBenchOperation::AddNode(_) | LinkBenchOperation::UpdateNode(_) => {
                payload(&mut self.random, NODE_PAYLOAD)
            }
            LinkBenchOperation::PutLink(_) => payload(&mut self.random, LINK_PAYLOAD),
            _ => return,
        };
        self.payload.resize(length, 0);
        self.random.fill(&mut self.payload);
    }
}

impl<E: Engine> Worker<E> for LinkBenchWorker<E::Table> {
    fn step(&mut self, engine: &E) -> Result<Done, E> {
        self.time += 1;
        let kind = RequestKind::draw(&mut self.random);
        let operation = self.draw(kind);
        self.draw_payload(&operation);
        let LinkBenchWorker { tables, time, links, payload, buffers, .. } = self;
        let content = TimedPayload { payload, time: *time };
        let result = attempt(engine, operation.access(), |transaction| {
            operation.run(
                &mut LinkBenchSession::<E> { transaction, tables, buffers },
                links,
                content,
            )?;
            Ok(End::Commit)
        });
        if let LinkBenchOperation::AddNode(id) = operation {
            self.ids.settle(id);
        }
        let (outcome, retries) = result?;
        Ok(Done { kind: kind as usize, outcome, retries })
    }
}

impl LinkBenchOperation {
    fn access(&self) -> Access {
        match self {
            LinkBenchOperation::GetNode(_)
            | LinkBenchOperation::GetLinkList(_)
            | LinkBenchOperation::CountLink(_)
            | LinkBenchOperation::MultigetLink => Access::ReadOnly,
            _ => Access::ReadWrite,
        }
    }

    fn run<'e, E: Engine + 'e>(
        &self,
        session: &mut LinkBenchSession<'_, 'e, E>,
        links: &[LinkId],
        content: TimedPayload<'_>,
    ) -> Result<(), E> {
        match *self {
            LinkBenchOperation::GetNode(id) => _ = black_box(session.get_node(id)?),
            LinkBenchOperation::AddNode(id) => session.put_node(id, 0, content)?,
            LinkBenchOperation::UpdateNode(id) => session.update_node(id, content)?,
            LinkBenchOperation::DeleteNode(id) => session.delete_node(id)?,
            LinkBenchOperation::GetLinkList(list) => _ = black_box(session.get_list(list)?),
            LinkBenchOperation::CountLink(list) => _ = black_box(session.links(list)?),
            LinkBenchOperation::MultigetLink => {
                for id in links {
                    black_box(session.get_link(*id)?);
                }
            }
            LinkBenchOperation::PutLink(id) => session.put_link(id, content)?,
            LinkBenchOperation::DeleteLink(id) => session.hide_link(id, content.time)?,
        }
        Ok(())
    }
}
