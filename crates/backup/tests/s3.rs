//! Backups to a bucket, on a server of S3 in this process.

mod server;

use std::path::PathBuf;
use std::sync::Arc;

use frostline_backup::{BackupError, Source, Target, restore, shape};
use frostline_db::{Create, Db, Options};
use frostline_zone::{Device, Shape, in_memory};
use server::Server;
use tempfile::TempDir;

const KEY: (&str, &str) = ("operator", "a secret of the operator");
const ZONE: u64 = 1 << 20;

struct World {
    buckets: TempDir,
    server: Server,
    source: Arc<Source>,
}

impl World {
    fn new(zone: u64) -> World {
        let buckets = tempfile::tempdir().unwrap();
        std::fs::create_dir(buckets.path().join("bucket")).unwrap();
        let server = Server::start(buckets.path(), "127.0.0.1:0", KEY).unwrap();
        let shape = Shape::of_zones(32, zone);
        World { buckets, server, source: Source::new(in_memory(&shape).unwrap()) }
    }

    /// The target, as a process knows it that has made no backup.
    fn target(&self, name: &str, key: (&str, &str)) -> Target {
        Target::with_settings(name, self.server.settings(key)).unwrap()
    }

    fn at(&self) -> Target {
        self.target("s3://bucket/of/this", KEY)
    }

    fn fill(&self, number: u8) {
        for zone in 0..8 {
            let at = self.source.zone(zone).unwrap().write_pointer;
            self.source.append(zone, at, &vec![number + zone as u8; 40 << 10]).unwrap();
        }
    }

    /// The files of the objects' contents.
    fn parts(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.buckets.path().join("bucket/of/this/parts")).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    fn restored(&self) -> Result<Vec<Vec<u8>>, BackupError> {
        let target = self.at();
        let device = in_memory(&shape(&target)?)?;
        restore(&target, &*device)?;
        Ok(content(&*device))
    }
}

fn content(device: &dyn Device) -> Vec<Vec<u8>> {
    let zone = |zone| {
        let mut bytes = vec![0; device.zone(zone).unwrap().write_pointer as usize];
        device.read(zone, 0, &mut bytes).unwrap();
        bytes
    };
    (0..device.geometry().zones).map(zone).collect()
}

/// A line, as the command prints it, that says all of this.
fn says(error: &BackupError, what: &[&str]) {
    let line = error.to_string();
    assert!(!line.contains('\n') && line.len() < 200, "{line}");
    assert!(what.iter().all(|what| line.contains(what)), "{line}");
    println!("{line}");
}

#[test]
fn a_database_in_a_bucket_is_the_one_that_was_backed_up_and_only_news_are_sent() {
    let world = World::new(ZONE);
    let device: Arc<dyn Device> = world.source.clone();
    Db::create(&device, &Create { log_bytes: Some(4 << 20), ..Create::default() }).unwrap();
    let options = Options { buffer_bytes: 1 << 20, ..Options::default() };
    let db = Db::open(&device, &options).unwrap();
    let table = db.create_table("t").unwrap();
    let add = |key: u32| {
        let mut transaction = db.begin().unwrap();
        transaction.put(table, &key.to_be_bytes(), &[key as u8; 900]).unwrap();
        transaction.commit().unwrap();
    };
    (0..2000).for_each(add);
    let first = world.source.back_up(&world.at()).unwrap();
    let puts = world.server.requests()["PutObject"];
    assert_eq!((first.copied_bytes, first.bytes), (first.bytes, first.copied_bytes));
    assert_eq!(puts, first.zones as usize + 1, "each zone, and the list");
    add(2000);
    let second = world.source.back_up(&world.at()).unwrap();
    let requests = world.server.requests();
    assert!(second.copied_bytes < first.bytes / 10, "{first:?} {second:?}");
    assert!(requests["PutObject"] <= 4, "{requests:?}");
    let target = world.at();
    let again: Arc<dyn Device> = in_memory(&shape(&target).unwrap()).unwrap();
    restore(&target, &*again).unwrap();
    let db = Db::open(&again, &options).unwrap();
    assert!(db.check().unwrap().findings.is_empty());
    let (table, look) = (db.table("t").unwrap(), db.begin_read().unwrap());
    for key in 0..=2000_u32 {
        let value = look.get(table, &key.to_be_bytes()).unwrap();
        assert_eq!(value.as_deref(), Some(&[key as u8; 900][..]));
    }
}

#[test]
fn a_backup_that_is_refused_in_the_middle_leaves_the_one_before_and_is_gone_on_with() {
    let world = World::new(ZONE);
    world.fill(1);
    world.source.back_up(&world.at()).unwrap();
    let before = content(&*world.source);
    world.fill(100);
    world.server.refuse_after(Some(3));
    let refused = world.source.back_up(&world.at()).unwrap_err();
    says(&refused, &["s3://bucket/of/this/parts/", "AccessDenied", "no more for now"]);
    assert!(world.restored().unwrap() == before);
    world.server.refuse_after(None);
    world.server.requests();
    world.source.back_up(&world.at()).unwrap();
    assert_eq!(world.server.requests()["PutObject"], 8 - 3 + 1, "the others, and the list");
    assert!(world.restored().unwrap() == content(&*world.source));
    // All parts of both, and nothing else.
    assert_eq!(world.parts().len(), 16);
}

#[test]
fn parts_larger_than_a_piece_come_back_and_old_ones_are_removed() {
    let world = World::new(32 << 20);
    for step in 0..3 {
        world.source.append(0, step * (9 << 20), &vec![step as u8; 9 << 20]).unwrap();
    }
    world.source.back_up(&world.at()).unwrap();
    let requests = world.server.requests();
    assert_eq!(requests["UploadPart"], 4, "27 MiB in pieces of 8: {requests:?}");
    assert!(world.restored().unwrap() == content(&*world.source));
    world.source.reset(0).unwrap();
    world.source.append(0, 0, &[7; 4096]).unwrap();
    world.source.back_up(&world.at()).unwrap();
    assert_eq!(world.parts().len(), 1);
    assert!(world.restored().unwrap() == content(&*world.source));
}

#[test]
fn a_prefix_that_holds_other_objects_is_left_as_it_is() {
    let world = World::new(ZONE);
    let this = world.buckets.path().join("bucket/of/this");
    let like = format!("parts/000001-{}-0-4096", "0a".repeat(16));
    for round in 0..2 {
        let names =
            ["notes.txt", "parts/notes.txt", "parts/of/others", "others/backup.json", &like];
        for name in names {
            std::fs::create_dir_all(this.join(name).parent().unwrap()).unwrap();
            std::fs::write(this.join(name), "mine").unwrap();
            world.server.requests();
            let refused = world.source.back_up(&world.at()).unwrap_err();
            assert!(matches!(refused, BackupError::Foreign { .. }), "{refused}");
            says(&refused, &["s3://bucket/of/this/", name]);
            let requests = world.server.requests();
            let reads = |name: &String| ["GetObject", "ListObjectsV2"].contains(&&name[..]);
            assert!(requests.keys().all(reads), "{requests:?}");
            std::fs::remove_file(this.join(name)).unwrap();
        }
        // Others' prefixes that begin alike are nothing to this one.
        std::fs::create_dir_all(this.with_file_name("this-too")).unwrap();
        std::fs::write(this.with_file_name("this-too").join("notes.txt"), "mine").unwrap();
        world.fill(round);
        world.source.back_up(&world.at()).unwrap();
        assert!(world.restored().unwrap() == content(&*world.source));
    }
}

#[test]
fn a_damaged_object_is_named() {
    let world = World::new(ZONE);
    world.fill(1);
    world.source.back_up(&world.at()).unwrap();
    let part = world.parts().swap_remove(3);
    let name = part.file_name().unwrap().to_str().unwrap();
    let whole = std::fs::read(&part).unwrap();
    let mut flipped = whole.clone();
    flipped[5000] ^= 1;
    for damaged in [&flipped[..], &whole[..whole.len() - 1], &[]] {
        std::fs::write(&part, damaged).unwrap();
        says(&world.restored().unwrap_err(), &["s3://bucket/of/this/parts/", name]);
    }
    std::fs::remove_file(&part).unwrap();
    says(&world.restored().unwrap_err(), &["s3://bucket/of/this/parts/", name]);
    std::fs::write(&part, whole).unwrap();
    assert!(world.restored().unwrap() == content(&*world.source));
}

#[test]
fn what_is_wrong_with_a_target_is_one_line() {
    let world = World::new(ZONE);
    world.fill(1);
    let back_up = |target: &Target| world.source.back_up(target).unwrap_err();
    let missing = world.target("s3://bukcet/of/this", KEY);
    says(&back_up(&missing), &["s3://bukcet/of/this", "NoSuchBucket"]);
    says(&shape(&missing).unwrap_err(), &["s3://bukcet/of/this", "NoSuchBucket"]);
    let wrong = world.target("s3://bucket/of/this", (KEY.0, "wrong"));
    says(&back_up(&wrong), &["s3://bucket/of/this", "SignatureDoesNotMatch"]);
    let nobody = world.target("s3://bucket/of/this", ("nobody", KEY.1));
    says(&back_up(&nobody), &["s3://bucket/of/this", "NotSignedUp"]);
    let none = shape(&world.at()).unwrap_err();
    assert!(matches!(none, BackupError::NoBackup { .. }));
    says(&none, &["s3://bucket/of/this: no backup"]);
    for name in ["s3://", "gs://bucket/x", "s3:///x"] {
        let refused = Target::with_settings(name, world.server.settings(KEY));
        says(&refused.err().unwrap(), &[name.trim_end_matches('/')]);
    }
}
