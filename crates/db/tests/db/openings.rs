//! Openings of databases with several leaves of the store's map: these are not read, and the pages
//! that they leave free are found once pages are taken or freed.

use std::sync::Arc;

use frostline_db::{Create, Db, Options};
use frostline_store::{Cleaning, Open, Store};
use frostline_zone::{Counted, Device, Shape, Span, in_memory};

/// Records of a table, so many that it has more pages than a leaf of the map.
const RECORDS: u32 = 9000;

fn device() -> Arc<dyn Device> {
    let shape = Shape { bytes: 64 << 20, zone_bytes: Some(1 << 18), ..Shape::default() };
    let device: Arc<dyn Device> = in_memory(&shape).unwrap();
    Db::create(&device, &Create { log_bytes: Some(8 << 20), ..Create::default() }).unwrap();
    device
}

fn open(device: &Arc<dyn Device>) -> Db {
    let options = Options { background: false, cleaning: Cleaning::Inline, ..Options::default() };
    Db::open(device, &options).unwrap()
}

fn fill(db: &Db, name: &str) {
    let table = db.create_table(name).unwrap();
    for begin in (0..RECORDS).step_by(100) {
        let mut transaction = db.begin().unwrap();
        (begin..begin + 100).for_each(|n| {
            transaction.put(table, &n.to_be_bytes(), &[7; 500]).unwrap();
        });
        transaction.commit().unwrap();
    }
}

fn used(db: &Db) -> u32 {
    db.stats().unwrap().pages
}

fn check(db: &Db) {
    assert_eq!(db.check().unwrap().findings, []);
}

#[test]
fn beside_the_store_an_opening_reads_as_much_of_a_large_database_as_of_a_small_one() {
    let made = |tables: &[&str]| {
        let device = device();
        let db = open(&device);
        tables.iter().for_each(|name| fill(&db, name));
        let pages = used(&db);
        db.close().unwrap();
        (Arc::new(Counted::new(device)), pages)
    };
    let read = |tables: &[&str]| {
        let (counted, _) = made(tables);
        let device: Arc<dyn Device> = counted.clone();
        let zones = Store::zones_on(&*device).unwrap();
        let before = counted.counts().read_bytes;
        let span = Arc::new(Span::new(device, 0, zones, None, None).unwrap());
        let open_store = Open { cleaning: Cleaning::Inline, ..Open::default() };
        drop(Store::open(span, open_store).unwrap());
        let of_store = counted.counts().read_bytes - before;
        let (counted, pages) = made(tables);
        let device: Arc<dyn Device> = counted.clone();
        let db = open(&device);
        let read = counted.counts().read_bytes;
        assert_eq!(used(&db), pages);
        check(&db);
        (read - of_store, pages)
    };
    let ((small, few), (large, many)) = (read(&["a"]), read(&["a", "b", "c", "d"]));
    assert!(few > 1024 && many > few + 3 * 1024, "{few} and {many} pages");
    assert!(large < small + (16 << 10), "{small} and {large} bytes");
}

#[test]
fn pages_that_were_free_before_an_opening_are_used_after_it() {
    let device = device();
    let db = open(&device);
    ["a", "b", "c", "d"].iter().for_each(|name| fill(&db, name));
    let all = used(&db);
    let delete = |db: &Db, name| {
        db.delete_table(name).unwrap();
        // Its pages are freed with commits, a few steps with each.
        let other = db.table("other").unwrap_or_else(|_| db.create_table("other").unwrap());
        for n in 0..200u32 {
            let mut transaction = db.begin().unwrap();
            transaction.put(other, &n.to_be_bytes(), b"").unwrap();
            transaction.commit().unwrap();
        }
    };
    delete(&db, "b");
    let mut less = used(&db);
    assert!(less + 1024 < all, "{less} of {all} pages");
    db.close().unwrap();
    for close in [true, false] {
        let db = open(&device);
        assert_eq!(used(&db), less);
        fill(&db, "b");
        assert!(used(&db).abs_diff(all) < 20, "{} of {all} pages", used(&db));
        // Pages of parts of which none was taken.
        delete(&db, "d");
        check(&db);
        fill(&db, "d");
        delete(&db, "b");
        check(&db);
        let (before, most) = (used(&db), db.stats().unwrap().most_pages);
        assert!(before < all && all < most, "{before} and {most} pages");
        match close {
            true => db.close().unwrap(),
            false => drop(db),
        }
        let db = open(&device);
        check(&db);
        assert!(used(&db).abs_diff(less) < 20, "{} of {less} pages", used(&db));
        less = used(&db);
        db.close().unwrap();
    }
}
