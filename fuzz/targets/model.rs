//! A model file of arbitrary bytes.

#![no_main]

use frostline_learn::Model;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(model) = Model::read(bytes) {
        let text = model.write();
        let again = Model::read(text.as_bytes()).expect("what was written is read");
        assert_eq!(again.write(), text);
    }
});
