//! Savepoints: the writes of a part of a transaction can be undone.

use super::Transaction;
use crate::DbError;

/// A moment of a transaction, at which it had written so much. It ends by [`Transaction::undo`] or
/// [`Transaction::forget`], and with it those that were taken later.
#[derive(Debug)]
#[must_use = "until it ends, the transaction keeps what later writes replace"]
pub struct Savepoint {
    mark: usize,
    /// Tables of whose values pieces were written.
    in_place: usize,
}

impl Transaction<'_> {
    /// Notes what is written now.
    ///
    /// ```
    /// # use frostline_db::{Create, Db, Options};
    /// # use frostline_zone::{Shape, in_memory};
    /// # let device = in_memory(&Shape { bytes: 64 << 20, ..Shape::default() })?;
    /// # Db::create(&device, &Create::default())?;
    /// # let db = Db::open(&device, &Options::default())?;
    /// let stock = db.create_table("stock")?;
    /// let mut order = db.begin()?;
    /// order.put(stock, b"bolt", b"120")?;
    /// let before = order.savepoint()?;
    /// order.put(stock, b"bolt", b"119")?;
    /// order.undo(before)?;
    /// assert_eq!(order.get(stock, b"bolt")?.as_deref(), Some(&b"120"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A read-only transaction.
    pub fn savepoint(&mut self) -> Result<Savepoint, DbError> {
        Ok(Savepoint { mark: self.own()?.mark(), in_place: self.in_place.len() })
    }

    /// Undoes what was written since a savepoint of this transaction. What was read stays read: a
    /// serializable transaction relies on it.
    ///
    /// # Errors
    /// A read-only transaction; the savepoint has ended.
    pub fn undo(&mut self, savepoint: Savepoint) -> Result<(), DbError> {
        was_there(self.own()?.undo_to(savepoint.mark))?;
        self.in_place.truncate(savepoint.in_place);
        Ok(())
    }

    /// Ends a savepoint of this transaction; what was written since stays.
    ///
    /// # Errors
    /// Those of [`Transaction::undo`].
    pub fn forget(&mut self, savepoint: Savepoint) -> Result<(), DbError> {
        was_there(self.own()?.unmark(savepoint.mark))
    }
}

fn was_there(was_there: bool) -> Result<(), DbError> {
    let why = || "it ended with another that was taken before it".to_string();
    was_there.then_some(()).ok_or_else(|| DbError::Options { what: "savepoint", why: why() })
}
