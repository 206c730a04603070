//! The option that makes a replay lay pages out as a store does.

use std::str::FromStr;

use frostline_sim::StoreShape;
use frostline_store::chunk_shape_of;

use crate::size::Size;

/// Bytes of a page of a store.
const PAGE: u64 = 4096;

/// A store: `pages=N,whole=N,zone=SIZE,spare=N,hotness=BOOL`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoreArg {
    pages: u32,
    whole: u32,
    zone: u64,
    spare: u32,
    hotness: bool,
}

impl FromStr for StoreArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(',');
        let mut value = |key: &str| {
            let part = parts.next().and_then(|part| part.split_once('='));
            let value = part.filter(|(name, _)| *name == key).map(|(_, value)| value);
            value.ok_or("must be pages=N,whole=N,zone=SIZE,spare=N,hotness=BOOL")
        };
        let number = |key, text: &str| match text.parse() {
            Ok(number) if number < 1 << 31 => Ok(number),
            _ => Err(format!("{key}={text}: must be a number below 2^31")),
        };
        let pages = number("pages", value("pages")?)?;
        let whole = number("whole", value("whole")?)?;
        let zone = value("zone")?;
        let spare = number("spare", value("spare")?)?;
        let hotness = value("hotness")?;
        if parts.next().is_some() || whole == 0 || pages < whole {
            return Err(
                "must be pages=N,whole=N,zone=SIZE,spare=N,hotness=BOOL, of a page at least".into(),
            );
        }
        let Size(bytes) = zone.parse().map_err(|error| format!("zone={zone}: {error}"))?;
        if !bytes.is_multiple_of(PAGE) || bytes / PAGE > 1 << 30 {
            return Err(format!("zone={zone}: must be up to 2^30 pages of {PAGE} bytes"));
        }
        let hotness = hotness.parse().map_err(|_| format!("hotness={hotness}: true or false"))?;
        Ok(StoreArg { pages, whole, zone: bytes, spare, hotness })
    }
}

impl StoreArg {
    /// The store, with units of these bytes.
    pub(crate) fn shape(self, unit: u32) -> Result<StoreShape, String> {
        let StoreArg { pages, whole, zone, spare, hotness } = self;
        let chunks = chunk_shape_of((zone / PAGE) as u32, unit, hotness);
        let chunks = chunks.map_err(|error| error.to_string())?;
        Ok(StoreShape { pages, whole, spare, chunks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_read_as_it_is_printed_and_anything_else_is_refused() {
        let store: StoreArg =
            "pages=1000,whole=600,zone=256KiB,spare=4,hotness=true".parse().unwrap();
        let shape = store.shape(64).unwrap();
        assert_eq!((shape.pages, shape.spare, shape.chunks.device_pages), (1000, 4, 64));
        assert!(store.shape(100).is_err());
        for refused in [
            "",
            "pages=1000",
            "pages=0,whole=0,zone=256KiB,spare=4,hotness=true",
            "pages=4294967295,whole=9,zone=256KiB,spare=4,hotness=true",
            "pages=1000,whole=9,zone=1000,spare=4,hotness=true",
            "pages=1000,whole=9,zone=256KiB,spare=4,hotness=1",
            "pages=9,whole=10,zone=256KiB,spare=4,hotness=true",
            "pages=1000,whole=9,zone=256KiB,spare=4,hotness=true,more=1",
            "zone=256KiB,pages=1000,whole=9,spare=4,hotness=true",
        ] {
            assert!(refused.parse::<StoreArg>().is_err(), "{refused}");
        }
    }
}
