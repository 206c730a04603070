//! What happens while a database is open.

use frostline::engine::DbError;
use frostline::{Db, Error};

use super::compare::{left, same, same_record};
use super::draw::Load;
use super::model::{Came, Held, Model, Open, commit, may_be};
use super::tables::{change_tables, only_delete};
use super::writes::write;

/// Takes so many steps in a database.
pub(super) fn use_it(load: &mut Load, db: &Db, model: &mut Model, steps: usize, came: &mut Came) {
    let mut held: Vec<Held<'_>> = Vec::new();
    let mut open: Vec<Open<'_>> = Vec::new();
    for _ in 0..steps {
        match load.below(40) {
            0..=17 if !open.is_empty() => {
                let at = load.below(open.len());
                let one = &mut open[at];
                if let Err(error) = write(load, one, &model.handles, &model.deleted) {
                    match &error {
                        Error::Refused(cause) if matches!(**cause, DbError::TableDeleted) => {}
                        error => *came.entry(may_be(error)).or_default() += 1,
                    }
                    // Of a step of several writes it is not known which were made.
                    drop(open.remove(at).tx);
                }
            }
            18..=21 if !open.is_empty() => {
                let at = load.below(open.len());
                let one = open.remove(at);
                match load.below(6) {
                    0 => one.tx.rollback(),
                    soon => commit(one, model, came, soon == 1),
                }
            }
            22..=24 if open.len() < 3 => {
                open.push(Open::begin(db, model));
            }
            25 if held.len() < 3 => {
                let (look, tables) = (db.read().unwrap(), model.tables.clone());
                held.push(Held { look, tables });
            }
            26 if !held.is_empty() => {
                let at = load.below(held.len());
                held.swap_remove(at);
            }
            27..=29 if !held.is_empty() => {
                let at = load.below(held.len());
                let Held { look, tables } = &held[at];
                same(load, look, &model.without_deleted(tables), &model.handles);
            }
            30..=32 if !open.is_empty() => {
                let at = load.below(open.len());
                let tables = model.without_deleted(&open[at].tables);
                same(load, &open[at].tx, &tables, &model.handles);
            }
            33..=34 => change_tables(load, db, model, came),
            35 if !held.is_empty() => {
                // A range that is held while everything changes.
                let at = load.below(held.len());
                let Held { look, tables } = &held[at];
                let Some((name, number)) = load.table(tables) else { continue };
                if model.deleted.contains(&number) {
                    continue;
                }
                let bounds = load.bounds();
                let map = &tables[&name].1;
                let mut left = left(map, &bounds);
                let mut range = look.range(model.handles[&number], bounds.clone());
                while same_record(&mut range, &mut left, load.one_in(2)) {
                    match load.below(4) {
                        0 => change_tables(load, db, model, came),
                        1 => {
                            let mut one = Open::begin(db, model);
                            match write(load, &mut one, &model.handles, &model.deleted) {
                                Ok(()) => commit(one, model, came, true),
                                Err(error) => *came.entry(may_be(&error)).or_default() += 1,
                            }
                        }
                        _ => {}
                    }
                }
            }
            38 => only_delete(load, db, model, came),
            36 => {
                let look = db.read().unwrap();
                same(load, &look, &model.tables, &model.handles);
            }
            37 if load.one_in(20) => {
                let look = db.engine().check().unwrap();
                assert!(look.findings.is_empty(), "{:#?}", look.findings);
            }
            _ => {
                let mut one = Open::begin(db, model);
                let mut failed = false;
                for _ in 0..load.below(30) {
                    if let Err(error) = write(load, &mut one, &model.handles, &model.deleted) {
                        *came.entry(may_be(&error)).or_default() += 1;
                        failed = true;
                        break;
                    }
                }
                if !failed {
                    commit(one, model, came, load.one_in(3));
                }
            }
        }
    }
}
