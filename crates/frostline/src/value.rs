//! Values of typed tables.

use std::borrow::Cow;

use frostline_db::key;

/// A value of a [typed table](crate::Typed): to bytes and back.
///
/// Bytes and texts are as they are. Numbers, and tuples of what keys have, are as
/// [keys](crate::engine::key) have them. For other types it takes two functions, or the feature
/// `json` and its `Json`.
pub trait Value: Sized {
    /// The bytes of the value; none if it has none.
    fn to_bytes(&self) -> Option<Cow<'_, [u8]>>;

    /// The value of these bytes; none if they are not one.
    fn from_bytes(bytes: &[u8]) -> Option<Self>;
}

impl Value for Vec<u8> {
    fn to_bytes(&self) -> Option<Cow<'_, [u8]>> {
        Some(Cow::Borrowed(self))
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(bytes.to_vec())
    }
}

impl Value for String {
    fn to_bytes(&self) -> Option<Cow<'_, [u8]>> {
        Some(Cow::Borrowed(self.as_bytes()))
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        std::str::from_utf8(bytes).ok().map(str::to_string)
    }
}

impl Value for () {
    fn to_bytes(&self) -> Option<Cow<'_, [u8]>> {
        Some(Cow::Borrowed(&[]))
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.is_empty().then_some(())
    }
}

macro_rules! as_keys_have_them {
    ($(($($generic:ident)*) $value:ty,)*) => {$(
        impl<$($generic: key::Part<Owned = $generic>),*> Value for $value {
            fn to_bytes(&self) -> Option<Cow<'_, [u8]>> {
                Some(Cow::Owned(key::encode(self)))
            }

            fn from_bytes(bytes: &[u8]) -> Option<Self> {
                key::decode(bytes)
            }
        }
    )*};
}

as_keys_have_them! {
    () u8, () u16, () u32, () u64, () u128, () i8, () i16, () i32, () i64, () i128, () bool, () f64,
    (A) (A,), (A B) (A, B), (A B C) (A, B, C), (A B C D) (A, B, C, D),
}

/// A value that serde writes and reads, kept as JSON.
///
/// ```
/// use frostline::{Json, Options, Typed};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Order {
///     item: String,
///     number: u32,
/// }
///
/// let db = Options::new().bound(64 << 20).in_memory()?;
/// let orders: Typed<u64, Json<Order>> = db.typed("orders")?;
/// let bolts = Json(Order { item: "bolts".to_string(), number: 120 });
/// db.update(|tx| orders.put(tx, &1u64, &bolts))?;
/// assert_eq!(orders.get(&db.read()?, &1u64)?.map(|order| order.0.number), Some(120));
/// # Ok::<(), frostline::Error>(())
/// ```
#[cfg(feature = "json")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Json<T>(pub T);

#[cfg(feature = "json")]
impl<T: serde::Serialize + serde::de::DeserializeOwned> Value for Json<T> {
    fn to_bytes(&self) -> Option<Cow<'_, [u8]>> {
        serde_json::to_vec(&self.0).ok().map(Cow::Owned)
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok().map(Json)
    }
}
