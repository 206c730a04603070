//! Changes of tables, and transactions that only delete.

use std::collections::BTreeSet;
use std::ops::Bound;

use frostline::{Db, Error};

use super::draw::{Load, within};
use super::model::{Came, Map, Model, may_be};

/// Changes tables, beside transactions that are open.
pub(super) fn change_tables(load: &mut Load, db: &Db, model: &mut Model, came: &mut Came) {
    let names: Vec<_> = (0..6).map(|n| format!("table {n}")).collect();
    let name = &names[load.below(6)];
    match load.below(8) {
        0..=2 => match db.table(name) {
            Ok(table) => {
                if !model.tables.contains_key(name) {
                    model.tables.insert(name.clone(), (model.next_table, Map::new()));
                    model.handles.insert(model.next_table, table);
                    model.next_table += 1;
                }
            }
            Err(error) => *came.entry(may_be(&error)).or_default() += 1,
        },
        3 => {
            let to = &names[load.below(6)];
            match db.rename_table(name, to) {
                Ok(()) => {
                    let table = model.tables.remove(name).unwrap();
                    assert!(name == to || !model.tables.contains_key(to));
                    model.tables.insert(to.clone(), table);
                }
                Err(Error::Refused(_)) => {
                    assert!(!model.tables.contains_key(name) || model.tables.contains_key(to));
                }
                Err(error) => *came.entry(may_be(&error)).or_default() += 1,
            }
        }
        4 => match db.delete_table(name) {
            Ok(()) => {
                let (number, _) = model.tables.remove(name).unwrap();
                model.deleted.insert(number);
            }
            Err(Error::Refused(cause)) => {
                assert!(!model.tables.contains_key(name), "{cause:?}");
            }
            Err(error) => {
                *came.entry("delete refused").or_default() += 1;
                panic!("a table can't be deleted: {error:?}");
            }
        },
        5 => {
            let mut records: Map = (0..load.below(400))
                .map(|_| (load.key(), load.value()))
                .filter(|(key, value)| key.len() + value.len() <= 800)
                .collect();
            let made = match load.below(3) {
                0 => {
                    let at = load.below(records.len() + 1);
                    let failing = records.iter().map(Ok::<_, Error>).enumerate();
                    let failing = failing
                        .map(|(n, record)| if n == at { Err(Error::Conflict) } else { record });
                    let made = db.try_ingest(name, 0.7, failing);
                    if let Err(Error::Conflict) = made {
                        return;
                    }
                    made
                }
                _ => db.ingest(name, &records),
            };
            match made {
                Ok(table) => {
                    assert!(!model.tables.contains_key(name));
                    let number = model.next_table;
                    model.next_table += 1;
                    model.handles.insert(number, table);
                    let wrote = records.keys().map(|key| (number, key.clone())).collect();
                    model.commits.push([wrote, BTreeSet::new()]);
                    model.tables.insert(name.clone(), (number, std::mem::take(&mut records)));
                }
                Err(Error::Refused(cause)) => {
                    assert!(model.tables.contains_key(name), "{cause:?}");
                }
                Err(error) => *came.entry(may_be(&error)).or_default() += 1,
            }
        }
        6 => {
            let Some((number, map)) = model.tables.get_mut(name) else { return };
            let bounds = match load.one_in(3) {
                true => (Bound::Unbounded, Bound::Unbounded),
                false => load.bounds(),
            };
            let gone: BTreeSet<_> = map
                .keys()
                .filter(|key| within(&bounds, key))
                .map(|key| (*number, key.clone()))
                .collect();
            match db.delete_range(model.handles[number], bounds.clone()) {
                Ok(deleted) => {
                    assert_eq!(deleted, gone.len() as u64);
                    map.retain(|key, _| !within(&bounds, key));
                    model.commits.push([gone, BTreeSet::new()]);
                }
                Err(error) => panic!("a range can't be deleted: {error:?}"),
            }
        }
        _ => {
            if let Some((number, _)) = model.tables.get(name) {
                let size = db.table_size(model.handles[number]).unwrap();
                assert!(size.pages > 0, "{size:?}");
            }
        }
    }
}

/// A transaction that only deletes: there is room for it in a full database too.
pub(super) fn only_delete(load: &mut Load, db: &Db, model: &mut Model, came: &mut Came) {
    let Some((name, number)) = load.table(&model.tables) else { return };
    let map = &mut model.tables.get_mut(&name).unwrap().1;
    let (from, most) = (load.key(), load.below(60));
    let keys: Vec<_> = map.range(from..).map(|(key, _)| key.clone()).take(most).collect();
    let deleted =
        db.update(|tx| keys.iter().try_for_each(|key| tx.delete(model.handles[&number], key)));
    *came.entry("deletes").or_default() += 1;
    if let Err(error) = deleted {
        panic!("{} keys can't be deleted: {error:?}", keys.len());
    }
    keys.iter().for_each(|key| drop(map.remove(key)));
    let wrote = keys.into_iter().map(|key| (number, key)).collect();
    model.commits.push([wrote, BTreeSet::new()]);
}
