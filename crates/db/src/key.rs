//! Keys of several parts whose bytes order as the parts do.
//!
//! ```
//! use frostline_db::key;
//!
//! let key = key::encode(&("warehouse", 7u32, -1i64));
//! assert_eq!(key::decode(&key), Some(("warehouse".to_string(), 7u32, -1i64)));
//! assert!(key < key::encode(&("warehouse", 7u32, 0i64)));
//! // All keys that begin with these parts begin with these bytes.
//! assert!(key.starts_with(&key::encode(&("warehouse", 7u32))));
//! ```
//!
//! Numbers are big-endian, signed ones with their sign flipped; floating-point numbers order as
//! `total_cmp` does. In texts and bytes a zero is followed by 255, and two zeroes end them: so no
//! part runs into the next. An option is a zero, or a one and the part.

/// A part of a key.
pub trait Part: Sized {
    /// The decoded type.
    type Owned;

    /// Appends the part to a key.
    fn append_to(&self, key: &mut Vec<u8>);

    /// Takes the part off the front of a key; none if it is not there.
    fn take_from(key: &mut &[u8]) -> Option<Self::Owned>;
}

/// One part, or a tuple of them.
pub trait Parts: Sized {
    /// The decoded types.
    type Owned;

    /// Appends the parts to a key.
    fn append_all(&self, key: &mut Vec<u8>);

    /// Takes the parts off the front of a key.
    fn take_all(key: &mut &[u8]) -> Option<Self::Owned>;
}

/// The key of these parts.
pub fn encode(parts: &impl Parts) -> Vec<u8> {
    let mut key = Vec::new();
    parts.append_all(&mut key);
    key
}

/// As [`encode`], into memory that is there; its content is lost.
pub fn encode_into(parts: &impl Parts, key: &mut Vec<u8>) {
    key.clear();
    parts.append_all(key);
}

/// The parts of a key; none if it is not of such parts, or longer.
pub fn decode<P: Parts<Owned = P>>(mut key: &[u8]) -> Option<P> {
    let parts = P::take_all(&mut key)?;
    key.is_empty().then_some(parts)
}

fn take<const N: usize>(key: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = key.split_first_chunk::<N>()?;
    *key = rest;
    Some(*taken)
}

macro_rules! unsigned {
    ($($number:ty),*) => {$(
        impl Part for $number {
            type Owned = $number;

            fn append_to(&self, key: &mut Vec<u8>) {
                key.extend_from_slice(&self.to_be_bytes());
            }

            fn take_from(key: &mut &[u8]) -> Option<$number> {
                take(key).map(<$number>::from_be_bytes)
            }
        }
    )*};
}

macro_rules! signed {
    ($($number:ty),*) => {$(
        impl Part for $number {
            type Owned = $number;

            fn append_to(&self, key: &mut Vec<u8>) {
                key.extend_from_slice(&(self ^ <$number>::MIN).to_be_bytes());
            }

            fn take_from(key: &mut &[u8]) -> Option<$number> {
                take(key).map(|bytes| <$number>::from_be_bytes(bytes) ^ <$number>::MIN)
            }
        }
    )*};
}

unsigned!(u8, u16, u32, u64, u128);
signed!(i8, i16, i32, i64, i128);

impl Part for bool {
    type Owned = bool;

    fn append_to(&self, key: &mut Vec<u8>) {
        key.push(u8::from(*self));
    }

    fn take_from(key: &mut &[u8]) -> Option<bool> {
        match take(key)? {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }
}

impl Part for f64 {
    type Owned = f64;

    fn append_to(&self, key: &mut Vec<u8>) {
        let bits = self.to_bits();
        // Negative numbers order the other way round.
        let mask = if bits >> 63 == 1 { u64::MAX } else { 1 << 63 };
        (bits ^ mask).append_to(key);
    }

    fn take_from(key: &mut &[u8]) -> Option<f64> {
        let bits = u64::take_from(key)?;
        let mask = if bits >> 63 == 0 { u64::MAX } else { 1 << 63 };
        Some(f64::from_bits(bits ^ mask))
    }
}

impl Part for &[u8] {
    type Owned = Vec<u8>;

    fn append_to(&self, key: &mut Vec<u8>) {
        for &byte in *self {
            key.push(byte);
            if byte == 0 {
                key.push(255);
            }
        }
        key.extend_from_slice(&[0, 0]);
    }

    fn take_from(key: &mut &[u8]) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        loop {
            let [byte] = take(key)?;
            if byte == 0 {
                match take(key)? {
                    [0] => return Some(bytes),
                    [255] => {}
                    _ => return None,
                }
            }
            bytes.push(byte);
        }
    }
}

impl Part for Vec<u8> {
    type Owned = Vec<u8>;

    fn append_to(&self, key: &mut Vec<u8>) {
        (&self[..]).append_to(key);
    }

    fn take_from(key: &mut &[u8]) -> Option<Vec<u8>> {
        <&[u8]>::take_from(key)
    }
}

impl Part for &str {
    type Owned = String;

    fn append_to(&self, key: &mut Vec<u8>) {
        self.as_bytes().append_to(key);
    }

    fn take_from(key: &mut &[u8]) -> Option<String> {
        String::from_utf8(<&[u8]>::take_from(key)?).ok()
    }
}

impl Part for String {
    type Owned = String;

    fn append_to(&self, key: &mut Vec<u8>) {
        self.as_bytes().append_to(key);
    }

    fn take_from(key: &mut &[u8]) -> Option<String> {
        <&str>::take_from(key)
    }
}

impl<P: Part> Part for Option<P> {
    type Owned = Option<P::Owned>;

    fn append_to(&self, key: &mut Vec<u8>) {
        self.is_some().append_to(key);
        if let Some(part) = self {
            part.append_to(key);
        }
    }

    fn take_from(key: &mut &[u8]) -> Option<Option<P::Owned>> {
        match bool::take_from(key)? {
            true => P::take_from(key).map(Some),
            false => Some(None),
        }
    }
}

impl<P: Part> Parts for P {
    type Owned = P::Owned;

    fn append_all(&self, key: &mut Vec<u8>) {
        self.append_to(key);
    }

    fn take_all(key: &mut &[u8]) -> Option<P::Owned> {
        P::take_from(key)
    }
}

macro_rules! tuples {
    ($(($($part:ident)*))*) => {$(
        impl<$($part: Part),*> Parts for ($($part,)*) {
            type Owned = ($($part::Owned,)*);

            fn append_all(&self, key: &mut Vec<u8>) {
                #[expect(non_snake_case, reason = "a variable for each type")]
                let ($($part,)*) = self;
                $($part.append_to(key);)*
            }

            fn take_all(key: &mut &[u8]) -> Option<Self::Owned> {
                Some(($($part::take_from(key)?,)*))
            }
        }
    )*};
}

tuples!((A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F));

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn keys_order_as_their_parts_and_read_as_they_were_written(
            a in any::<(Vec<u8>, i32, String, Option<u16>, bool, i128)>(),
            b in any::<(Vec<u8>, i32, String, Option<u16>, bool, i128)>(),
            same in 0..6usize,
        ) {
            let mut b = b;
            // Otherwise only the first parts would ever be compared.
            if same > 0 { b.0.clone_from(&a.0); }
            if same > 1 { b.1 = a.1; }
            if same > 2 { b.2.clone_from(&a.2); }
            if same > 3 { b.3 = a.3; }
            if same > 4 { b.4 = a.4; }
            prop_assert_eq!(encode(&a).cmp(&encode(&b)), a.cmp(&b));
            type Key = (Vec<u8>, i32, String, Option<u16>, bool, i128);
            prop_assert_eq!(decode::<Key>(&encode(&a)), Some(a));
        }

        #[test]
        fn floating_point_numbers_order_totally(a in any::<f64>(), b in any::<f64>()) {
            prop_assert_eq!(encode(&a).cmp(&encode(&b)), a.total_cmp(&b));
            prop_assert_eq!(decode::<f64>(&encode(&a)).map(f64::to_bits), Some(a.to_bits()));
        }

        #[test]
        fn texts_order_before_what_they_begin(a in any::<Vec<u8>>(), more in any::<Vec<u8>>()) {
            prop_assume!(!more.is_empty());
            let longer = [&a[..], &more].concat();
            prop_assert!(encode(&(a, 9u8)) < encode(&(longer, 0u8)));
        }

        #[test]
        fn bytes_that_are_no_key_are_refused(bytes in any::<Vec<u8>>()) {
            if let Some(parts) = decode::<(u8, String, Option<bool>)>(&bytes) {
                prop_assert_eq!(encode(&parts), bytes);
            }
        }
    }
}
