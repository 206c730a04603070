//! Files that a run depends on, identified by their content.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use frostline_results::InputFile;
use sha2::{Digest, Sha256};

use super::manifest::hexadecimal;
use crate::{Error, Result};

/// Bytes per read.
const BLOCK: usize = 1 << 18;

/// Finds the size and the digest of a file; `None` for a file that can be read only once, such as a
/// pipe.
///
/// # Errors
/// The file can't be read.
pub fn identify(path: &Path) -> Result<Option<InputFile>> {
    let failed = |source| Error::Io { what: path.display().to_string(), source };
    identified(path).map_err(failed)
}

fn identified(path: &Path) -> io::Result<Option<InputFile>> {
    if !std::fs::metadata(path)?.is_file() {
        return Ok(None);
    }
    let mut file = File::open(path)?;
    let (mut digest, mut block, mut bytes) = (Sha256::new(), vec![0; BLOCK], 0);
    loop {
        match file.read(&mut block)? {
            0 => break,
            n => {
                digest.update(&block[..n]);
                bytes += n as u64;
            }
        }
    }
    let sha256 = hexadecimal(&digest.finalize());
    Ok(Some(InputFile { path: path.display().to_string(), bytes, sha256 }))
}
