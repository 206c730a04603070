//! The two ways to register the VFS: by SQLite when it loads the extension, by a program that has
//! SQLite linked.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};

use crate::calls;
use crate::ffi::{Api, Routines, code};

/// Registers the VFS for the process. SQLite finds this function by the name of the library.
///
/// # Safety
/// To be called by SQLite alone, with its list of functions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sqlite3_frostlinesqlite_init(
    _db: *mut c_void,
    _error: *mut *mut c_char,
    routines: *const c_void,
) -> c_int {
    // SAFETY: as the caller promises.
    let Some(api) = (unsafe { routines.cast::<Routines>().as_ref() }).and_then(Api::of) else {
        return code::ERROR;
    };
    // SAFETY: these are SQLite's functions, and it is running.
    match unsafe { calls::register(api, false) } {
        Ok(()) => code::OK_LOAD_PERMANENTLY,
        Err(error) => error,
    }
}

/// Registers the VFS with the SQLite that is linked to the program, as the default for databases
/// without `vfs=` if that is asked for.
///
/// # Errors
/// SQLite's result code, if it refuses.
#[cfg(feature = "linked")]
pub fn register(make_default: bool) -> Result<(), c_int> {
    use crate::ffi::Vfs;

    unsafe extern "C" {
        fn sqlite3_vfs_find(name: *const c_char) -> *mut Vfs;
        fn sqlite3_vfs_register(vfs: *mut Vfs, make_default: c_int) -> c_int;
        fn sqlite3_uri_parameter(of: *const c_char, name: *const c_char) -> *const c_char;
        fn sqlite3_log(code: c_int, format: *const c_char, ...);
    }
    let api = Api {
        vfs_find: sqlite3_vfs_find,
        vfs_register: sqlite3_vfs_register,
        uri_parameter: sqlite3_uri_parameter,
        log: sqlite3_log,
    };
    // SAFETY: these are SQLite's functions; the first call initialises it.
    unsafe { calls::register(api, make_default) }
}
