//! A tree that is built from records in order, from its leaves up.

use super::split::between;
use crate::DbError;
use crate::node::{Fences, NodeMut, PAGE_BYTES, PageBytes, Record, SLOT, SLOTS};

/// Gets the nodes of a tree as they are built.
pub(crate) trait Place {
    /// The page that a node gets.
    fn node(&mut self, node: &PageBytes) -> Result<u32, DbError>;
    /// The last node, which is the root.
    fn root(&mut self, node: &PageBytes) -> Result<(), DbError>;
}

/// Builds the nodes of a tree.
pub(crate) struct Build {
    root: u32,
    /// Bytes of a page that may be taken.
    most: usize,
    levels: Vec<Level>,
}

/// The records of a level that are in no node yet.
#[derive(Default)]
struct Level {
    /// The smallest key that may be in the next node.
    lower: Vec<u8>,
    records: Vec<(Vec<u8>, Vec<u8>)>,
    /// Bytes of them, with slots.
    bytes: usize,
    /// Nodes were built.
    has_nodes: bool,
}

impl Level {
    /// Bytes of a node with the first records, up to an upper fence.
    fn node_bytes(&self, count: usize, upper: Option<&[u8]>) -> usize {
        let prefix = upper.map_or(0, |upper| common(&self.lower, upper));
        let fences = self.lower.len() + upper.map_or(0, <[u8]>::len);
        let left_out: usize = self.records[count..].iter().map(bytes_of).sum();
        SLOTS + self.bytes - left_out - count * prefix + fences
    }

    /// The smallest key that may be behind the first records.
    fn separator(&self, level: usize, count: usize) -> Vec<u8> {
        let next = &self.records[count].0;
        if level == 0 { between(&self.records[count - 1].0, next) } else { next.clone() }
    }
}

fn bytes_of((key, value): &(Vec<u8>, Vec<u8>)) -> usize {
    SLOT + key.len() + value.len()
}

fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

impl Build {
    /// Of a tree with this root, whose nodes are to be full to a share.
    pub(crate) fn new(root: u32, fill: f64) -> Self {
        let most = SLOTS + ((PAGE_BYTES - SLOTS) as f64 * fill.clamp(0.0, 1.0)) as usize;
        Build { root, most, levels: Vec::new() }
    }

    /// Adds a record behind all others.
    pub(crate) fn push(
        &mut self,
        key: &[u8],
        value: &[u8],
        place: &mut impl Place,
    ) -> Result<(), DbError> {
        self.push_to(0, (key.to_vec(), value.to_vec()), place)
    }

    fn push_to(
        &mut self,
        level: usize,
        record: (Vec<u8>, Vec<u8>),
        place: &mut impl Place,
    ) -> Result<(), DbError> {
        if self.levels.len() == level {
            self.levels.push(Level::default());
        }
        let of = &mut self.levels[level];
        of.bytes += bytes_of(&record);
        of.records.push(record);
        // The best that could be: all that it has in common with the last key is left out.
        let last = of.records.last().map_or(0, |(key, _)| common(&of.lower, key));
        while of_level_is_over(&self.levels[level], last, self.most) {
            self.emit(level, place)?;
            if self.levels[level].records.len() < 2 {
                break;
            }
        }
        Ok(())
    }

    /// Builds a node of the first records of a level, as many as fit.
    fn emit(&mut self, level: usize, place: &mut impl Place) -> Result<(), DbError> {
        let of = &self.levels[level];
        let fits =
            |count: &usize| of.node_bytes(*count, Some(&of.separator(level, *count))) <= self.most;
        // One fits beside any fences.
        let count = (1..of.records.len()).rev().find(fits).unwrap_or(1);
        let upper = of.separator(level, count);
        self.build(level, count, Some(upper), place)
    }

    fn build(
        &mut self,
        level: usize,
        count: usize,
        upper: Option<Vec<u8>>,
        place: &mut impl Place,
    ) -> Result<(), DbError> {
        let node = self.node(level, count, upper.as_deref())?;
        let page = place.node(&node)?;
        let of = &mut self.levels[level];
        let lower = std::mem::replace(&mut of.lower, upper.unwrap_or_default());
        of.bytes -= of.records.drain(..count).map(|record| bytes_of(&record)).sum::<usize>();
        of.has_nodes = true;
        self.push_to(level + 1, (lower, page.to_le_bytes().to_vec()), place)
    }

    fn node(&self, level: usize, count: usize, upper: Option<&[u8]>) -> Result<PageBytes, DbError> {
        let (page, of) = (PageBytes::new(), &self.levels[level]);
        let mut node = NodeMut::format(&page, self.root, level, Fences { lower: &of.lower, upper });
        for (key, value) in &of.records[..count] {
            if !node.push(key, Record { value, flags: 0 }) {
                return Err(DbError::Page {
                    page: self.root,
                    what: "a node that is built is too full",
                });
            }
        }
        node.set_all_hints();
        Ok(page)
    }

    /// Builds what is left, and the root.
    pub(crate) fn finish(mut self, place: &mut impl Place) -> Result<(), DbError> {
        if self.levels.is_empty() {
            self.levels.push(Level::default());
        }
        let mut level = 0;
        loop {
            let of = &self.levels[level];
            let count = of.records.len();
            if of.node_bytes(count, None) > PAGE_BYTES {
                self.emit(level, place)?;
            } else if of.has_nodes {
                self.build(level, count, None, place)?;
                level += 1;
            } else {
                let root = self.node(level, count, None)?;
                return place.root(&root);
            }
        }
    }
}

/// True if the records of a level surely are more than a node takes.
fn of_level_is_over(of: &Level, prefix: usize, most: usize) -> bool {
    let count = of.records.len();
    count > 1 && SLOTS + of.bytes - count * prefix + of.lower.len() > most
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::node::{LONGEST_KEY, LONGEST_RECORD, Node};

    /// The nodes by page; the root is page 0.
    struct Pages(Vec<PageBytes>);

    impl Place for Pages {
        fn node(&mut self, node: &PageBytes) -> Result<u32, DbError> {
            self.0.push(node.clone());
            Ok(self.0.len() as u32 - 1)
        }

        fn root(&mut self, node: &PageBytes) -> Result<(), DbError> {
            self.0[0] = node.clone();
            Ok(())
        }
    }

    /// The records below a page, whose fences are as its parent says.
    fn records(
        pages: &Pages,
        page: u32,
        lower: &[u8],
        upper: Option<&[u8]>,
        found: &mut Vec<(Vec<u8>, Vec<u8>)>,
    ) {
        let node = Node::of(&pages.0[page as usize]);
        assert!(node.is_sound());
        assert_eq!(node.has_fences(lower, upper), (true, true));
        let key = |index| {
            let mut key = Vec::new();
            node.key(index, &mut key);
            key
        };
        for index in 0..node.count() {
            assert_eq!(node.search(&key(index)), (index, true));
            if node.level() == 0 {
                let mut value = Vec::new();
                node.value(node.slot(index), &mut value);
                found.push((key(index), value));
                continue;
            }
            assert!(index > 0 || key(0) == lower);
            let next = (index + 1 < node.count()).then(|| key(index + 1));
            let behind = next.as_deref().or(upper);
            records(pages, node.child(index), &key(index), behind, found);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn a_built_tree_has_the_records_in_nodes_that_agree_with_their_parents(
            keys in prop::collection::btree_set(
                (0..3usize, prop::collection::vec(0..3u8, 0..12), 0..2usize), 0..400
            ),
            common in 0..250usize, size in 0..LONGEST_RECORD, fill in 0.3..1.0f64
        ) {
            let key = |(begin, middle, end): &(usize, Vec<u8>, usize)| {
                [&vec![1; common][..], &[*begin as u8], middle, &vec![9; end * 200]].concat()
            };
            let keys: std::collections::BTreeSet<_> = keys.iter().map(key).collect();
            prop_assume!(keys.iter().all(|key| key.len() <= LONGEST_KEY));
            let mut pages = Pages(vec![PageBytes::new()]);
            let mut build = Build::new(0, fill);
            let mut expected = Vec::new();
            for (n, key) in keys.into_iter().enumerate() {
                let value = vec![n as u8; (size + n * 37) % (LONGEST_RECORD - key.len() + 1)];
                build.push(&key, &value, &mut pages).unwrap();
                expected.push((key, value));
            }
            build.finish(&mut pages).unwrap();
            let mut found = Vec::new();
            records(&pages, 0, &[], None, &mut found);
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn nodes_are_full_to_the_share_that_was_asked_for() {
        // A record takes 112 bytes, of which the prefix of a leaf saves three at most.
        for fill in [1.0, 0.9, 0.7, 0.5] {
            let room = (PAGE_BYTES - SLOTS) as f64 * fill;
            let leaves =
                (10_900_000.0 / room) as usize..(11_200_000.0 / (room - 128.0)) as usize + 2;
            let mut pages = Pages(vec![PageBytes::new()]);
            let mut build = Build::new(0, fill);
            for n in 0..100_000u32 {
                build.push(&n.to_be_bytes(), &[7; 100], &mut pages).unwrap();
            }
            build.finish(&mut pages).unwrap();
            let is_leaf = |page: &&PageBytes| Node::of(page).level() == 0;
            let count = pages.0.iter().filter(is_leaf).count();
            assert!(leaves.contains(&count), "{fill}: {count} leaves");
        }
    }
}
