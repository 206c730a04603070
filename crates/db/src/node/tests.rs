//! A node against an ordered map.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Put(Vec<u8>, Vec<u8>),
    Bury(Vec<u8>),
    Remove(Vec<u8>),
    Patch(Vec<u8>, usize, Vec<u8>),
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(97..101u8, 0..6),
        (0..200u32).prop_map(|n| n.to_be_bytes().to_vec()),
        proptest::collection::vec(any::<u8>(), 0..40),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let value = || proptest::collection::vec(any::<u8>(), 0..120);
    prop_oneof![
        6 => (key(), value()).prop_map(|(k, v)| Step::Put(k, v)),
        1 => key().prop_map(Step::Bury),
        2 => key().prop_map(Step::Remove),
        1 => (key(), 0..100usize, value()).prop_map(|(k, at, v)| Step::Patch(k, at, v)),
    ]
}

fn content(node: Node<'_>) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    let records = (0..node.count()).map(|index| {
        let (mut key, mut value) = (Vec::new(), Vec::new());
        node.key(index, &mut key);
        let slot = node.slot(index);
        node.value(slot, &mut value);
        (key, (!slot.is_ghost()).then_some(value))
    });
    records.collect()
}

/// Each record of a node, and how long it is.
fn lengths(node: Node<'_>) -> BTreeMap<Vec<u8>, usize> {
    let records = content(node).into_iter();
    records.map(|(key, value)| (key, value.map_or(0, |value| value.len()))).collect()
}

/// Few cases and no file of failures under Miri, which is slow and sees no files.
pub(super) fn config() -> ProptestConfig {
    match cfg!(miri) {
        true => ProptestConfig { cases: 2, failure_persistence: None, ..ProptestConfig::default() },
        false => ProptestConfig::default(),
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_node_holds_what_an_ordered_map_holds(
        prefix in proptest::collection::vec(any::<u8>(), 0..20),
        steps in proptest::collection::vec(step(), 0..if cfg!(miri) { 30 } else { 300 }),
        cut in any::<prop::sample::Index>(),
    ) {
        let page = PageBytes::zeroed();
        let upper = [&prefix[..], &[0xff; 41]].concat();
        let fences = Fences { lower: &prefix, upper: Some(&upper) };
        let mut node = NodeMut::format(&page, 9, 0, fences);
        let mut map: BTreeMap<Vec<u8>, Option<Vec<u8>>> = BTreeMap::new();
        let mut older = BTreeMap::new();
        for step in &steps {
            let (Step::Put(key, _) | Step::Bury(key) | Step::Remove(key) | Step::Patch(key, ..)) = step;
            let key = [&prefix[..], key].concat();
            let (index, found) = node.node().search(&key);
            prop_assert_eq!(found, map.contains_key(&key));
            match step {
                Step::Put(_, value) => {
                    let record = Record { value, flags: 0 };
                    let done = match found {
                        true => node.set_value(index, &key, record),
                        false => node.insert(index, &key, record),
                    };
                    if done {
                        map.insert(key, Some(value.clone()));
                    } else {
                        let old = map.get(&key).and_then(Option::as_ref).map_or(0, Vec::len);
                        let slot = if found { 0 } else { SLOT + key.len() - node.node().prefix_len() };
                        prop_assert!(node.node().room() + old < value.len() + slot);
                    }
                }
                Step::Bury(_) if found => {
                    node.bury(index);
                    map.insert(key, None);
                }
                Step::Remove(_) if found => {
                    node.remove(index);
                    map.remove(&key);
                }
                Step::Patch(_, at, bytes) if found => {
                    node.patch(index, *at, bytes);
                    if let Some(Some(value)) = map.get_mut(&key) {
                        for (byte, &new) in value.iter_mut().skip(*at).zip(bytes) {
                            *byte = new;
                        }
                    }
                }
                _ => {}
            }
            prop_assert!(node.node().is_sound());
            let now = lengths(node.node());
            let only_grew = older.iter().all(|(key, len)| now.get(key) >= Some(len));
            prop_assert!(only_grew || node.node().has_shrunk());
            older = now;
        }
        let expected: Vec<_> = map.into_iter().collect();
        prop_assert_eq!(&content(node.node()), &expected);

        node.include(5);
        let mut image = Vec::new();
        append_image(&page, &mut image);
        let mut copy = [0; PAGE_BYTES];
        page.copy_to(&mut copy);
        prop_assert!(image.len() <= PAGE_BYTES - middle(&copy).len());
        image.push(7);
        let restored = PageBytes::zeroed();
        prop_assert_eq!(restore_image(&image, &restored), Some(&[7][..]));
        let restored = Node::of(&restored);
        prop_assert_eq!(&content(restored), &expected);
        prop_assert_eq!(restored.has_fences(&prefix, Some(&upper)), (true, true));
        prop_assert_eq!((restored.tree(), restored.level(), restored.included()), (9, 0, 5));
        let cut = cut.index(image.len() - 1);
        prop_assert_eq!(restore_image(&image[..cut], &PageBytes::zeroed()), None);

        let whole = PageBytes::zeroed();
        let mut all = NodeMut::format(&whole, 9, 0, Fences { lower: &[], upper: None });
        if all.push_all(Node::of(&page), 0, expected.len(), true) {
            prop_assert_eq!(&content(all.node()), &expected);
            prop_assert!(all.node().is_sound());
            for (index, (key, _)) in expected.iter().enumerate() {
                prop_assert_eq!(all.node().search(key), (index, true));
            }
        }
    }

    #[test]
    fn no_page_of_any_bytes_is_read_beyond_its_end(
        head in proptest::collection::vec(any::<u8>(), 256),
        fill in any::<u8>(),
        key in proptest::collection::vec(any::<u8>(), 0..30),
    ) {
        let page = PageBytes::zeroed();
        let mut bytes = [fill; PAGE_BYTES];
        bytes[..256].copy_from_slice(&head);
        page.write(0, &bytes);
        let node = Node::of(&page);
        let (index, _) = node.search(&key);
        let mut out = Vec::new();
        node.key(index, &mut out);
        node.value(node.slot(index), &mut out);
        let _ = (node.child(node.child_index(&key)), node.upper(&mut out), node.is_sound(), node.valid_bytes());
        let _ = Expected::of_child(node, node.child_index(&key)).contradiction(node);
        let _ = restore_image(&bytes, &PageBytes::zeroed());
    }
}

#[test]
fn what_a_node_includes_stays_while_its_position_rises() {
    let page = PageBytes::zeroed();
    let mut node = NodeMut::format(&page, 1, 0, Fences { lower: &[], upper: None });
    node.raise_position(100);
    assert_eq!((node.node().position(), node.node().included()), (100, 0));
    node.include(70);
    node.include(60);
    node.raise_position(120);
    assert_eq!((node.node().position(), node.node().included()), (120, 70));
    node.include(200);
    assert_eq!((node.node().position(), node.node().included()), (200, 200));
    node.raise_position(1 << 40);
    assert_eq!((node.node().position(), node.node().included()), (1 << 40, 0));
}

#[test]
fn records_that_come_in_order_are_noticed() {
    let page = PageBytes::zeroed();
    let mut node = NodeMut::format(&page, 1, 0, Fences { lower: &[], upper: None });
    let record = Record { value: &[], flags: 0 };
    node.insert(0, b"z", record);
    for (index, key) in [b"a", b"b", b"c", b"d"].iter().enumerate() {
        node.insert(index, *key, record);
    }
    assert_eq!((node.ascending(4), node.ascending(2)), (3, 0));
}
