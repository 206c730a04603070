//! The judge of histories in which transactions append their numbers to lists.
//!
//! A list tells in which order its writers were, and a read of it after which of them it came: so
//! the dependencies between transactions are known (Kingsbury and Alvaro, Elle, VLDB 2020). A
//! history is serializable if they go round nowhere. It is one of snapshot isolation if they go
//! round only where two readers in a row were overwritten (Cerone and Gotsman, PODC 2016).

use std::collections::{BTreeMap, BTreeSet};

/// The number of a list.
pub(crate) type List = u16;

/// A transaction that was committed.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    pub number: u32,
    /// The thread that ran it, one transaction after the other.
    pub session: u32,
    /// Lists, with their content without what it had appended itself.
    pub reads: Vec<(List, Vec<u32>)>,
    pub appends: BTreeSet<List>,
}

/// The lists at the end.
pub(crate) type Lists = BTreeMap<List, Vec<u32>>;

/// Dependencies between transactions, by their places in the history.
struct Dependencies {
    transactions: usize,
    /// The second read or overwrote what the first wrote, or follows it in a session.
    direct: Vec<(usize, usize)>,
    /// The second overwrote what the first read.
    anti: Vec<(usize, usize)>,
}

/// Asserts that the reads and the writes fit together at all, and finds the dependencies.
fn dependencies(history: &[Done], lists: &Lists) -> Dependencies {
    let places: BTreeMap<u32, usize> =
        history.iter().enumerate().map(|(place, done)| (done.number, place)).collect();
    let mut direct = Vec::new();
    let mut anti = Vec::new();
    for (list, order) in lists {
        let distinct: BTreeSet<_> = order.iter().collect();
        assert_eq!(distinct.len(), order.len(), "{list} has something twice: {order:?}");
        for number in order {
            let appended = places.get(number).is_some_and(|&at| history[at].appends.contains(list));
            assert!(appended, "{list} has {number}, which was not committed");
        }
        direct.extend(order.windows(2).map(|pair| (places[&pair[0]], places[&pair[1]])));
    }
    let mut last_of_session = BTreeMap::new();
    for (place, done) in history.iter().enumerate() {
        for list in &done.appends {
            let there = lists.get(list).is_some_and(|order| order.contains(&done.number));
            assert!(there, "an append to {list} is lost: {done:?}");
        }
        for (list, read) in &done.reads {
            let order = lists.get(list).map_or(&[][..], |order| order);
            assert!(
                order.starts_with(read),
                "{list} became {order:?}, which was not read: {done:?}"
            );
            direct.extend(read.last().map(|number| (places[number], place)));
            anti.extend(order.get(read.len()).map(|number| (place, places[number])));
        }
        let before = last_of_session.insert(done.session, place);
        direct.extend(before.map(|before| (before, place)));
    }
    anti.retain(|(reader, writer)| reader != writer);
    Dependencies { transactions: history.len(), direct, anti }
}

/// The nodes from which there is no way out, as they lie on circles or lead to nothing else.
fn on_circles(nodes: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut next = vec![Vec::new(); nodes];
    let mut before = vec![0; nodes];
    for &(from, to) in edges {
        next[from].push(to);
        before[to] += 1;
    }
    let mut free: Vec<usize> = (0..nodes).filter(|&node| before[node] == 0).collect();
    while let Some(node) = free.pop() {
        for &to in &next[node] {
            before[to] -= 1;
            if before[to] == 0 {
                free.push(to);
            }
        }
    }
    (0..nodes).filter(|&node| before[node] > 0).collect()
}

/// True if the transactions could have happened one after the other.
pub(crate) fn is_serializable(history: &[Done], lists: &Lists) -> bool {
    let Dependencies { transactions, mut direct, anti } = dependencies(history, lists);
    direct.extend(anti);
    on_circles(transactions, &direct).is_empty()
}

/// Asserts that each transaction read one snapshot, and that no update was lost.
pub(crate) fn check_snapshots(history: &[Done], lists: &Lists) {
    let Dependencies { transactions, direct, anti } = dependencies(history, lists);
    // Each transaction twice: an anti-dependency leaves only where a direct one came in.
    let mut edges: Vec<_> = direct.iter().map(|&(a, b)| (a, transactions + b)).collect();
    edges.extend((0..transactions).map(|t| (transactions + t, t)));
    edges.extend(anti.iter().map(|&(a, b)| (transactions + a, b)));
    let circles = on_circles(2 * transactions, &edges);
    let few: Vec<_> = circles.iter().take(6).map(|node| &history[node % transactions]).collect();
    assert!(circles.is_empty(), "no snapshots: {few:#?}");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A history and its lists, of reads and appends in words: `1 r5:- a6` is transaction 1, which
    /// found list 5 empty and appended to list 6.
    fn history(words: &[&str], lists: &[(List, &[u32])]) -> (Vec<Done>, Lists) {
        let numbers = |text: &str| text.split(',').flat_map(str::parse).collect::<Vec<u32>>();
        let done = |(session, words): (usize, &&str)| {
            let mut words = words.split(' ');
            let number = words.next().unwrap().parse().unwrap();
            let (mut reads, mut appends) = (Vec::new(), BTreeSet::new());
            for word in words {
                match word.split_at(1) {
                    ("r", read) => {
                        let (list, content) = read.split_once(':').unwrap();
                        reads.push((list.parse().unwrap(), numbers(content)));
                    }
                    (_, list) => drop(appends.insert(list.parse().unwrap())),
                }
            }
            Done { number, session: session as u32, reads, appends }
        };
        let lists = lists.iter().map(|(list, order)| (*list, order.to_vec())).collect();
        (words.iter().enumerate().map(done).collect(), lists)
    }

    #[test]
    fn write_skew_is_of_snapshots_and_not_serializable() {
        let (skew, lists) = history(&["1 r5:- a6", "2 r6:- a5"], &[(5, &[2]), (6, &[1])]);
        check_snapshots(&skew, &lists);
        assert!(!is_serializable(&skew, &lists));
        let (one, lists) = history(&["1 r5:- a6", "2 r6:1 a5"], &[(5, &[2]), (6, &[1])]);
        assert!(is_serializable(&one, &lists));
    }

    #[test]
    fn what_a_reader_sees_of_two_that_could_be_in_one_order_only_counts() {
        let words = ["1 r5:- r6:- a6", "2 r5:- a5", "3 r5:2 r6:-"];
        let (anomaly, lists) = history(&words, &[(5, &[2]), (6, &[1])]);
        check_snapshots(&anomaly, &lists);
        assert!(!is_serializable(&anomaly, &lists));
    }

    #[test]
    #[should_panic(expected = "no snapshots")]
    fn a_lost_update_is_not_of_snapshots() {
        let (lost, lists) = history(&["1 r5:- a5 a6", "2 r5:- a5"], &[(5, &[1, 2]), (6, &[1])]);
        check_snapshots(&lost, &lists);
    }

    #[test]
    #[should_panic(expected = "no snapshots")]
    fn reads_of_two_times_are_not_of_snapshots() {
        let (skew, lists) = history(&["1 a5 a6", "2 r5:1 r6:-"], &[(5, &[1]), (6, &[1])]);
        check_snapshots(&skew, &lists);
    }

    #[test]
    #[should_panic(expected = "which was not committed")]
    fn what_was_not_committed_must_not_be_there() {
        let (dirty, lists) = history(&["1 a5"], &[(5, &[1, 2])]);
        check_snapshots(&dirty, &lists);
    }

    #[test]
    #[should_panic(expected = "is lost")]
    fn what_was_committed_must_be_there() {
        let (lost, lists) = history(&["1 a5", "2 a5"], &[(5, &[2])]);
        check_snapshots(&lost, &lists);
    }
}
