//! The part of SQLite's C interface that a VFS needs, by its documentation
//! (<https://www.sqlite.org/c3ref/vfs.html>, io_methods.html). SQLite promises that it stays as it
//! is.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};

/// Result codes.
pub(crate) mod code {
    use std::ffi::c_int;

    pub(crate) const OK: c_int = 0;
    pub(crate) const ERROR: c_int = 1;
    pub(crate) const BUSY: c_int = 5;
    pub(crate) const READONLY: c_int = 8;
    pub(crate) const IOERR: c_int = 10;
    pub(crate) const CORRUPT: c_int = 11;
    pub(crate) const NOTFOUND: c_int = 12;
    pub(crate) const FULL: c_int = 13;
    pub(crate) const CANTOPEN: c_int = 14;
    pub(crate) const OK_LOAD_PERMANENTLY: c_int = 1 << 8;
    pub(crate) const IOERR_SHORT_READ: c_int = IOERR | 2 << 8;
    pub(crate) const IOERR_DELETE_NOENT: c_int = IOERR | 23 << 8;
}

/// Flags of opening a file.
pub(crate) mod open {
    use std::ffi::c_int;

    pub(crate) const READONLY: c_int = 0x1;
    pub(crate) const CREATE: c_int = 0x4;
    pub(crate) const MAIN_DB: c_int = 0x100;
    pub(crate) const MAIN_JOURNAL: c_int = 0x800;
    pub(crate) const SUPER_JOURNAL: c_int = 0x4000;
    pub(crate) const WAL: c_int = 0x80000;
}

/// Properties of a device.
pub(crate) mod device {
    use std::ffi::c_int;

    pub(crate) const ATOMIC: c_int = 0x1;
    pub(crate) const SAFE_APPEND: c_int = 0x200;
    pub(crate) const SEQUENTIAL: c_int = 0x400;
    pub(crate) const POWERSAFE_OVERWRITE: c_int = 0x1000;
}

/// Flags of locks on shared memory.
pub(crate) mod shm {
    use std::ffi::c_int;

    pub(crate) const UNLOCK: c_int = 1;
    pub(crate) const SHARED: c_int = 4;
}

/// A file control: a transaction was committed, and its locks are still held.
pub(crate) const FCNTL_COMMIT_PHASETWO: c_int = 22;

/// A file control: the level of the connection's lock is asked for.
pub(crate) const FCNTL_LOCKSTATE: c_int = 1;

/// `sqlite3_file`.
#[repr(C)]
pub(crate) struct File {
    pub methods: *const IoMethods,
}

/// `sqlite3_io_methods`, version 2.
#[repr(C)]
pub(crate) struct IoMethods {
    pub version: c_int,
    pub close: unsafe extern "C" fn(*mut File) -> c_int,
    pub read: unsafe extern "C" fn(*mut File, *mut c_void, c_int, i64) -> c_int,
    pub write: unsafe extern "C" fn(*mut File, *const c_void, c_int, i64) -> c_int,
    pub truncate: unsafe extern "C" fn(*mut File, i64) -> c_int,
    pub sync: unsafe extern "C" fn(*mut File, c_int) -> c_int,
    pub file_size: unsafe extern "C" fn(*mut File, *mut i64) -> c_int,
    pub lock: unsafe extern "C" fn(*mut File, c_int) -> c_int,
    pub unlock: unsafe extern "C" fn(*mut File, c_int) -> c_int,
    pub check_reserved_lock: unsafe extern "C" fn(*mut File, *mut c_int) -> c_int,
    pub file_control: unsafe extern "C" fn(*mut File, c_int, *mut c_void) -> c_int,
    pub sector_size: unsafe extern "C" fn(*mut File) -> c_int,
    pub device_characteristics: unsafe extern "C" fn(*mut File) -> c_int,
    pub shm_map: unsafe extern "C" fn(*mut File, c_int, c_int, c_int, *mut *mut c_void) -> c_int,
    pub shm_lock: unsafe extern "C" fn(*mut File, c_int, c_int, c_int) -> c_int,
    pub shm_barrier: unsafe extern "C" fn(*mut File),
    pub shm_unmap: unsafe extern "C" fn(*mut File, c_int) -> c_int,
}

/// A function of a loaded library.
pub(crate) type Symbol = Option<unsafe extern "C" fn()>;

/// `sqlite3_vfs`, version 2.
#[repr(C)]
pub(crate) struct Vfs {
    pub version: c_int,
    pub file_bytes: c_int,
    pub most_path: c_int,
    pub next: *mut Vfs,
    pub name: *const c_char,
    pub data: *mut c_void,
    pub open: unsafe extern "C" fn(*mut Vfs, *const c_char, *mut File, c_int, *mut c_int) -> c_int,
    pub delete: unsafe extern "C" fn(*mut Vfs, *const c_char, c_int) -> c_int,
    pub access: unsafe extern "C" fn(*mut Vfs, *const c_char, c_int, *mut c_int) -> c_int,
    pub full_pathname: unsafe extern "C" fn(*mut Vfs, *const c_char, c_int, *mut c_char) -> c_int,
    pub dl_open: unsafe extern "C" fn(*mut Vfs, *const c_char) -> *mut c_void,
    pub dl_error: unsafe extern "C" fn(*mut Vfs, c_int, *mut c_char),
    pub dl_sym: unsafe extern "C" fn(*mut Vfs, *mut c_void, *const c_char) -> Symbol,
    pub dl_close: unsafe extern "C" fn(*mut Vfs, *mut c_void),
    pub randomness: unsafe extern "C" fn(*mut Vfs, c_int, *mut c_char) -> c_int,
    pub sleep: unsafe extern "C" fn(*mut Vfs, c_int) -> c_int,
    pub current_time: unsafe extern "C" fn(*mut Vfs, *mut f64) -> c_int,
    pub get_last_error: Option<unsafe extern "C" fn(*mut Vfs, c_int, *mut c_char) -> c_int>,
    pub current_time_int64: Option<unsafe extern "C" fn(*mut Vfs, *mut i64) -> c_int>,
}

/// The functions of SQLite that are called.
#[derive(Clone, Copy)]
pub(crate) struct Api {
    /// `sqlite3_vfs_find`.
    pub vfs_find: unsafe extern "C" fn(*const c_char) -> *mut Vfs,
    /// `sqlite3_vfs_register`.
    pub vfs_register: unsafe extern "C" fn(*mut Vfs, c_int) -> c_int,
    /// `sqlite3_uri_parameter`.
    pub uri_parameter: unsafe extern "C" fn(*const c_char, *const c_char) -> *const c_char,
    /// `sqlite3_log`.
    pub log: unsafe extern "C" fn(c_int, *const c_char, ...),
}

/// `sqlite3_api_routines`, a list of functions to which SQLite only ever adds.
#[repr(C)]
pub(crate) struct Routines {
    functions: [*const c_void; 190],
}

impl Api {
    /// The functions in the list that a loaded extension is given; none if one is missing.
    pub(crate) fn of(routines: &Routines) -> Option<Api> {
        let [find, register, log, parameter] =
            [141, 142, 167, 189].map(|at| routines.functions[at]);
        if [find, register, log, parameter].iter().any(|function| function.is_null()) {
            return None;
        }
        // SAFETY: they are functions of these types, at these places of the list since SQLite 3.8.
        unsafe {
            Some(Api {
                vfs_find: std::mem::transmute::<
                    *const c_void,
                    unsafe extern "C" fn(*const c_char) -> *mut Vfs,
                >(find),
                vfs_register: std::mem::transmute::<
                    *const c_void,
                    unsafe extern "C" fn(*mut Vfs, c_int) -> c_int,
                >(register),
                uri_parameter: std::mem::transmute::<
                    *const c_void,
                    unsafe extern "C" fn(*const c_char, *const c_char) -> *const c_char,
                >(parameter),
                log: std::mem::transmute::<
                    *const c_void,
                    unsafe extern "C" fn(c_int, *const c_char, ...),
                >(log),
            })
        }
    }
}
