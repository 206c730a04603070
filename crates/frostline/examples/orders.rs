//! Orders with an index by customer, which the same transactions keep up to date.
//!
//! `cargo run -p frostline --example orders [DIRECTORY]`

use frostline::engine::key;
use frostline::{Db, Result, Table};

/// Adds an order and its entry in the index, both or neither.
fn place(db: &Db, orders: Table, by_customer: Table, customer: &str, item: &str) -> Result<u64> {
    db.update(|tx| {
        let last = tx.all(orders).next_back().transpose()?;
        let number = last.and_then(|(key, _)| key::decode::<u64>(&key)).unwrap_or(0) + 1;
        tx.put(orders, key::encode(&number), item)?;
        tx.put(by_customer, key::encode(&(customer, number)), "")?;
        Ok(number)
    })
}

fn main() -> Result<()> {
    let directory = std::env::args().nth(1);
    let db = Db::open(directory.as_deref().unwrap_or("orders.frost"))?;
    let (orders, by_customer) = (db.table("orders")?, db.table("orders by customer")?);
    for (customer, item) in [("Ada", "bolts"), ("Grace", "nuts"), ("Ada", "washers")] {
        let number = place(&db, orders, by_customer, customer, item)?;
        println!("order {number}: {item} for {customer}");
    }
    let look = db.read()?;
    for entry in look.prefix(by_customer, key::encode(&("Ada",))) {
        let (entry, _) = entry?;
        if let Some((_, number)) = key::decode::<(String, u64)>(&entry) {
            let item = look.get(orders, key::encode(&number))?.unwrap_or_default();
            println!("Ada's order {number}: {}", String::from_utf8_lossy(&item));
        }
    }
    drop(look);
    db.close()
}
