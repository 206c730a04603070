//! A trace file of arbitrary bytes, read as what it is found to be and as each format.

#![no_main]

use std::io::Write;

use frostline_trace::{Format, LoadOptions, load};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, &[u8])| {
    let (which, bytes) = input;
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("room for a temporary file");
    let format = Format::ALL.get(usize::from(which) % (Format::ALL.len() + 1)).copied();
    let options = LoadOptions {
        format,
        times: true,
        hotness: true,
        limit: Some(100_000),
        ..LoadOptions::default()
    };
    match load(file.path(), &options, &mut |_| {}) {
        Ok(loaded) => {
            for volume in loaded.volumes {
                assert!(volume.lbas.len() <= 100_000);
                assert_eq!(volume.times.map(|times| times.len()), Some(volume.lbas.len()));
                assert!(volume.hotness.is_none_or(|all| all.len() == volume.lbas.len()));
            }
        }
        Err(error) => {
            let text = error.to_string();
            assert!(!text.contains(['\n', '\r', '\0', '\x1b']), "{text:?}");
        }
    }
});
