//! The workload on the memory engine.

use super::*;
use crate::driver::{self, Report, Until};
use crate::memory::MemoryEngine;
use rows::{LinkId, ListId, count, link_key, list_key};

const NODES: u64 = 3000;

fn loaded(engine: &MemoryEngine) -> LinkBench<usize> {
    let bench = LinkBench::open(engine, LinkBenchOptions { nodes: NODES }).unwrap();
    let loading = Loading { threads: 2, seed: 1 };
    assert!(bench.load(engine, loading, &mut |_| true).unwrap().is_complete());
    bench
}

fn run(engine: &MemoryEngine, bench: &LinkBench<usize>, threads: usize, seed: u64) -> Report {
    let until = Until::Transactions(10_000);
    let options = driver::RunOptions { threads, until, seed, ..driver::RunOptions::default() };
    driver::run(engine, bench, options, |_| true).unwrap()
}

fn violated(engine: &MemoryEngine, bench: &LinkBench<usize>) -> Vec<Condition> {
    bench.check(engine).unwrap().into_iter().filter(|condition| !condition.ok).collect()
}

fn rows_of(engine: &MemoryEngine, table: &str) -> usize {
    engine.contents()[table].len()
}

#[test]
fn what_is_loaded_is_the_graph() {
    let engine = MemoryEngine::new();
    let bench = loaded(&engine);
    assert_eq!(violated(&engine, &bench), []);
    let contents = engine.contents();
    assert_eq!(contents[Tables::<()>::NODES].len() as u64, NODES);
    let links: u64 = (1..=NODES).map(degree::links_of).sum();
    assert_eq!(contents[Tables::<()>::LINKS].len() as u64, links);
    let bytes: usize = contents[Tables::<()>::NODES].values().map(Vec::len).sum();
    let average = bytes as f64 / NODES as f64 - rows::node::FIXED as f64;
    assert!((average - rows::NODE_PAYLOAD).abs() < 6.0, "{average}");
}

#[test]
fn every_list_stays_counted() {
    let engine = MemoryEngine::new();
    let bench = loaded(&engine);
    let (nodes, links) = (Tables::<()>::NODES, Tables::<()>::LINKS);
    let before = (rows_of(&engine, nodes), rows_of(&engine, links));
    let report = run(&engine, &bench, 3, 1);
    assert_eq!(report.done(), 10_000);
    assert_eq!(violated(&engine, &bench), []);
    assert!(rows_of(&engine, nodes) != before.0 && rows_of(&engine, links) > before.1);
}

#[test]
fn every_list_stays_counted_whatever_conflicts() {
    let engine = MemoryEngine::new();
    let bench = loaded(&engine);
    engine.conflict_every(17);
    let report = run(&engine, &bench, 2, 1);
    assert!(report.kinds.iter().map(|kind| kind.retries).sum::<u64>() > 100);
    assert_eq!(report.done(), 10_000);
    assert_eq!(violated(&engine, &bench), []);
}

#[test]
fn links_are_added_hidden_and_shown_again() {
    let engine = MemoryEngine::new();
    let bench = LinkBench::open(&engine, LinkBenchOptions { nodes: 10 }).unwrap();
    let list = ListId { from: 3, kind: 1 };
    let id = LinkId { list, to: 4 };
    let mut buffers = session::Buffers::default();
    let mut with = |change: &dyn Fn(&mut session::LinkBenchSession<'_, '_, MemoryEngine>)| {
        let mut transaction = engine.begin(Access::ReadWrite).unwrap();
        let mut session = session::LinkBenchSession::<MemoryEngine> {
            transaction: &mut transaction,
            tables: &bench.tables,
            buffers: &mut buffers,
        };
        change(&mut session);
        let seen = (session.links(list).unwrap(), session.get_list(list).unwrap() as u64);
        transaction.commit().unwrap();
        assert_eq!(seen.0, seen.1);
        seen.0
    };
    let content = session::TimedPayload { payload: b"payload", time: 2 };
    assert_eq!(with(&|session| session.put_link(id, content).unwrap()), 1);
    assert_eq!(with(&|session| session.put_link(id, content).unwrap()), 1);
    assert_eq!(with(&|session| session.hide_link(id, 3).unwrap()), 0);
    assert_eq!(with(&|session| session.hide_link(id, 3).unwrap()), 0);
    assert_eq!(with(&|session| session.put_link(id, content).unwrap()), 1);
    assert_eq!(with(&|session| session.hide_link(LinkId { to: 9, ..id }, 3).unwrap()), 1);
    assert_eq!(violated(&engine, &bench), []);
}

#[test]
fn a_violation_is_found() {
    let list = (1..=NODES).flat_map(loading::lists_of).find(|(_, links)| *links > 2).unwrap().0;
    let plant = |table: fn(&Tables<usize>) -> usize, key: &[u8], row: Option<&[u8]>| {
        let engine = MemoryEngine::new();
        let bench = loaded(&engine);
        let mut transaction = engine.begin(Access::ReadWrite).unwrap();
        match row {
            Some(row) => transaction.put(table(&bench.tables), key, row).unwrap(),
            None => transaction.delete(table(&bench.tables), key).unwrap(),
        }
        transaction.commit().unwrap();
        let violated = violated(&engine, &bench);
        violated.iter().map(|condition| condition.name).collect::<Vec<_>>()
    };
    let uncounted = ["every list has as many links as are counted"];
    let counts = |tables: &Tables<usize>| tables.counts;
    let links = |tables: &Tables<usize>| tables.links;
    assert_eq!(plant(counts, &list_key(list), Some(&[0; count::FIXED])), uncounted);
    assert_eq!(plant(counts, &list_key(list), None), uncounted);
    let link = link_key(loading::link_at(list, 1, NODES));
    assert_eq!(plant(links, &link, None), uncounted);
    let short = plant(|tables| tables.nodes, &rows::node_key(7), Some(b"short"));
    assert_eq!(short, ["every row has its key and its fields"]);
}

#[test]
fn the_same_seed_leads_to_the_same_content() {
    let content = |seed| {
        let engine = MemoryEngine::new();
        let bench = loaded(&engine);
        run(&engine, &bench, 1, seed);
        engine.contents()
    };
    assert!(content(1) == content(1));
    assert!(content(1) != content(2));
}

#[test]
fn new_nodes_are_numbered_on_when_it_is_opened_again() {
    let engine = MemoryEngine::new();
    let bench = loaded(&engine);
    run(&engine, &bench, 1, 1);
    let last = bench.ids.settled();
    assert!(last > NODES + 200);
    let again = LinkBench::open(&engine, LinkBenchOptions { nodes: NODES }).unwrap();
    assert_eq!(again.ids.settled(), last);
}

#[test]
fn no_nodes_are_refused() {
    assert!(LinkBench::open(&MemoryEngine::new(), LinkBenchOptions { nodes: 0 }).is_err());
}
