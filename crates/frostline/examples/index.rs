//! A secondary index: people by name, and by town. The same transactions change both, so neither
//! ever has an entry that the other lacks.
//!
//! `cargo run -p frostline --example index [DIRECTORY]`

use frostline::{Db, Options, Result, Snapshot, Typed, Update};

#[derive(Clone, Copy)]
struct People {
    /// The town of each.
    by_name: Typed<String, String>,
    /// Town and name; all that is to know is in the key.
    by_town: Typed<(String, String), ()>,
}

impl People {
    fn open(db: &Db) -> Result<People> {
        Ok(People { by_name: db.typed("people")?, by_town: db.typed("people by town")? })
    }

    /// Puts a person into a town, and out of the one before.
    fn move_to(self, tx: &mut Update<'_>, name: &str, town: &str) -> Result<()> {
        self.leave(tx, name)?;
        self.by_name.put(tx, &name, &town.to_string())?;
        self.by_town.put(tx, &(town, name), &())
    }

    fn leave(self, tx: &mut Update<'_>, name: &str) -> Result<()> {
        if let Some(town) = self.by_name.get(tx, &name)? {
            self.by_town.delete(tx, &(&town[..], name))?;
            self.by_name.delete(tx, &name)?;
        }
        Ok(())
    }

    fn of_town(self, look: &Snapshot<'_>, town: &str) -> Result<Vec<String>> {
        let entries = self.by_town.prefix(look, &(town,));
        entries.map(|entry| Ok(entry?.0.1)).collect()
    }
}

fn main() -> Result<()> {
    let directory = std::env::args().nth(1);
    let db = Options::new().bound(1 << 30).open(directory.as_deref().unwrap_or("people.frost"))?;
    let people = People::open(&db)?;
    db.update(|tx| {
        people.move_to(tx, "Ada", "London")?;
        people.move_to(tx, "Grace", "Arlington")?;
        people.move_to(tx, "Alan", "London")
    })?;
    db.update(|tx| people.move_to(tx, "Alan", "Manchester"))?;
    let look = db.read()?;
    for town in ["London", "Manchester", "Arlington"] {
        println!("{town}: {:?}", people.of_town(&look, town)?);
    }
    drop(look);
    db.close()
}
