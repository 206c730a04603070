//! Two transactions at a time, in every order that could go wrong.

use super::{all, database, delete, get, is_conflict, set};

#[test]
fn what_is_not_committed_is_seen_by_nobody_else() {
    let (db, table) = database(false);
    set(&db, table, &[("x", "old")]);
    let mut writer = db.begin().unwrap();
    writer.put(table, b"x", b"new").unwrap();
    writer.put(table, b"y", b"new").unwrap();
    let reader = db.begin_read().unwrap();
    assert_eq!(get(&reader, table, "x").unwrap(), "old");
    assert_eq!(all(&reader, table).len(), 1);
    writer.rollback();
    assert_eq!(get(&db.begin_read().unwrap(), table, "x").unwrap(), "old");
}

#[test]
fn nobody_writes_over_what_is_not_committed() {
    let (db, table) = database(false);
    set(&db, table, &[("x", "0"), ("y", "0")]);
    let (mut a, mut b) = (db.begin().unwrap(), db.begin().unwrap());
    a.put(table, b"x", b"a").unwrap();
    b.put(table, b"x", b"b").unwrap();
    b.put(table, b"y", b"b").unwrap();
    a.put(table, b"y", b"a").unwrap();
    a.commit().unwrap();
    assert!(is_conflict(b.commit()));
    let values = all(&db.begin_read().unwrap(), table);
    assert_eq!(values, [("x".into(), "a".into()), ("y".into(), "a".into())]);
}

#[test]
fn no_update_is_lost() {
    let (db, table) = database(false);
    set(&db, table, &[("x", "10")]);
    let (mut a, mut b) = (db.begin().unwrap(), db.begin().unwrap());
    for (transaction, more) in [(&mut a, 1), (&mut b, 2)] {
        let sum: u32 = get(transaction, table, "x").unwrap().parse().unwrap();
        transaction.put(table, b"x", (sum + more).to_string().as_bytes()).unwrap();
    }
    b.commit().unwrap();
    assert!(is_conflict(a.commit()));
    assert_eq!(get(&db.begin_read().unwrap(), table, "x").unwrap(), "12");
}

#[test]
fn a_transaction_reads_as_of_its_beginning() {
    let (db, table) = database(false);
    set(&db, table, &[("x", "1"), ("y", "1")]);
    let reader = db.begin().unwrap();
    assert_eq!(get(&reader, table, "x").unwrap(), "1");
    set(&db, table, &[("x", "2"), ("y", "2")]);
    assert_eq!(get(&reader, table, "y").unwrap(), "1");
    assert_eq!(get(&reader, table, "x").unwrap(), "1");
    delete(&db, table, "y");
    assert_eq!(get(&reader, table, "y").unwrap(), "1");
    assert_eq!(get(&db.begin().unwrap(), table, "y"), None);
}

#[test]
fn of_two_that_write_a_key_the_first_to_commit_wins() {
    type Write = fn(&mut frostline_db::Transaction<'_>, frostline_db::Table);
    let put: Write = |transaction, table| transaction.put(table, b"x", b"new").unwrap();
    let as_long: Write = |transaction, table| transaction.put(table, b"x", &[b'n'; 3000]).unwrap();
    let longer: Write = |transaction, table| transaction.put(table, b"x", &[b'l'; 4000]).unwrap();
    let patch: Write = |transaction, table| transaction.patch(table, b"x", 1, b"!").unwrap();
    let last: Write = |transaction, table| transaction.patch(table, b"x", 2999, b"!").unwrap();
    let delete: Write = |transaction, table| transaction.delete(table, b"x").unwrap();
    let writes = [put, as_long, longer, patch, last, delete];
    let pairs = writes.iter().flat_map(|first| writes.iter().map(move |second| (first, second)));
    for (first, second) in pairs {
        for old in ["old".to_string(), "o".repeat(3000)] {
            let (db, table) = database(false);
            set(&db, table, &[("x", &old)]);
            let (mut a, mut b) = (db.begin().unwrap(), db.begin().unwrap());
            second(&mut b, table);
            first(&mut a, table);
            a.commit().unwrap();
            let now = all(&db.begin_read().unwrap(), table);
            assert!(is_conflict(b.commit()));
            assert_eq!(all(&db.begin_read().unwrap(), table), now);
            let mut again = db.begin().unwrap();
            second(&mut again, table);
            again.commit().unwrap();
        }
    }
}

#[test]
fn of_two_that_insert_a_key_the_first_to_commit_wins() {
    let (db, table) = database(false);
    let (mut a, mut b) = (db.begin().unwrap(), db.begin().unwrap());
    a.put(table, b"x", b"a").unwrap();
    b.put(table, b"x", b"b").unwrap();
    b.commit().unwrap();
    assert!(is_conflict(a.commit()));
    // That the key is gone again makes no difference: it was written.
    let mut late = db.begin().unwrap();
    set(&db, table, &[("y", "1")]);
    delete(&db, table, "y");
    late.put(table, b"y", b"late").unwrap();
    assert!(is_conflict(late.commit()));
}

#[test]
fn transactions_that_do_not_overlap_never_conflict() {
    let (db, table) = database(false);
    for n in 0..50 {
        set(&db, table, &[("x", &n.to_string())]);
    }
    assert_eq!(get(&db.begin_read().unwrap(), table, "x").unwrap(), "49");
}

/// Snapshot isolation allows write skew: each reads a key that the other writes, and both commit.
#[test]
fn write_skew_is_possible() {
    let (db, table) = database(false);
    set(&db, table, &[("alice", "on call"), ("bob", "on call")]);
    let (mut a, mut b) = (db.begin().unwrap(), db.begin().unwrap());
    assert_eq!(get(&a, table, "bob").unwrap(), "on call");
    assert_eq!(get(&b, table, "alice").unwrap(), "on call");
    a.put(table, b"alice", b"off").unwrap();
    b.put(table, b"bob", b"off").unwrap();
    a.commit().unwrap();
    b.commit().unwrap();
    let nobody = all(&db.begin_read().unwrap(), table);
    assert!(nobody.iter().all(|(_, state)| state == "off"));
}

#[test]
fn a_transaction_sees_its_own_writes() {
    let (db, table) = database(false);
    set(&db, table, &[("a", "1"), ("c", "3"), ("e", "5"), ("g", "7")]);
    let mut own = db.begin().unwrap();
    own.put(table, b"b", b"2").unwrap();
    own.put(table, b"c", b"three").unwrap();
    own.delete(table, b"e").unwrap();
    own.delete(table, b"nothing").unwrap();
    own.patch(table, b"g", 0, b"!").unwrap();
    own.patch(table, b"c", 1, b"H").unwrap();
    own.patch(table, b"nowhere", 0, b"x").unwrap();
    own.put(table, b"h", &[b'8'; 3000]).unwrap();
    let seen = all(&own, table);
    let short: Vec<_> = seen.iter().map(|(k, v)| (&k[..], &v[..v.len().min(5)])).collect();
    let expected = [("a", "1"), ("b", "2"), ("c", "tHree"), ("g", "!"), ("h", "88888")];
    assert_eq!(short, expected);
    for (key, value) in &seen {
        assert_eq!(get(&own, table, key).as_ref(), Some(value));
    }
    assert_eq!((get(&own, table, "e"), get(&own, table, "nowhere")), (None, None));
    own.delete(table, b"b").unwrap();
    own.put(table, b"e", b"again").unwrap();
    let changed = all(&own, table);
    assert_eq!((changed.len(), &changed[2].1[..]), (5, "again"));
    own.commit().unwrap();
    assert_eq!(all(&db.begin_read().unwrap(), table), changed);
}

#[test]
fn what_is_rolled_back_leaves_nothing() {
    let (db, table) = database(false);
    set(&db, table, &[("x", "1")]);
    let before = db.check().unwrap();
    for _ in 0..20 {
        let mut never = db.begin().unwrap();
        (0..200u32).for_each(|n| never.put(table, &n.to_be_bytes(), &[7; 100]).unwrap());
        never.delete(table, b"x").unwrap();
        never.rollback();
        let mut dropped = db.begin().unwrap();
        dropped.patch(table, b"x", 0, b"2").unwrap();
    }
    assert_eq!(all(&db.begin_read().unwrap(), table), [("x".into(), "1".into())]);
    let after = db.check().unwrap();
    assert_eq!((after.pages, after.trees[1].records), (before.pages, 1));
    set(&db, table, &[("x", "2")]);
}
