//! The functions that SQLite calls: C outside, Rust inside.

#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io::{IsTerminal, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::Relaxed;

use crate::ffi::{self, Api, IoMethods, Symbol, Vfs, code, device, open, shm};
use crate::file::OpenFile;
use crate::lock::Level;
use crate::volume::Use;
use crate::{Error, name, volumes};

/// The name by which databases ask for this VFS.
const NAME: &CStr = c"frostline";

/// SQLite's functions, once the VFS is registered.
static API: OnceLock<Api> = OnceLock::new();

/// The VFS that SQLite has anyway, for temporary files, time and chance.
static BASE: AtomicPtr<Vfs> = AtomicPtr::new(std::ptr::null_mut());

/// A file as SQLite keeps it in memory of its own.
#[repr(C)]
struct RawFile {
    base: ffi::File,
    file: *mut OpenFile,
}

/// Registers the VFS with SQLite, under the name `frostline`, unless it is. It stays as long as the
/// process.
///
/// # Safety
/// The functions are those of SQLite, and SQLite is initialised.
pub(crate) unsafe fn register(api: Api, make_default: bool) -> Result<(), c_int> {
    // SAFETY: as the caller promises.
    let base = unsafe { (api.vfs_find)(std::ptr::null()) };
    // SAFETY: SQLite gives null or a VFS that stays.
    let Some(of_base) = (unsafe { base.as_ref() }) else { return Err(code::ERROR) };
    // SAFETY: as the caller promises; the name ends with a zero.
    if !unsafe { (api.vfs_find)(NAME.as_ptr()) }.is_null() {
        return Ok(());
    }
    API.get_or_init(|| api);
    BASE.store(base, Relaxed);
    let vfs = Box::leak(Box::new(Vfs {
        version: 2,
        file_bytes: of_base.file_bytes.max(size_of::<RawFile>() as c_int),
        most_path: 1024,
        next: std::ptr::null_mut(),
        name: NAME.as_ptr(),
        data: std::ptr::null_mut(),
        open: x_open,
        delete: x_delete,
        access: x_access,
        full_pathname: x_full_pathname,
        dl_open: x_dl_open,
        dl_error: x_dl_error,
        dl_sym: x_dl_sym,
        dl_close: x_dl_close,
        randomness: x_randomness,
        sleep: x_sleep,
        current_time: x_current_time,
        get_last_error: None,
        current_time_int64: Some(x_current_time_int64),
    }));
    // SAFETY: as the caller promises; the VFS is never freed.
    match unsafe { (api.vfs_register)(vfs, c_int::from(make_default)) } {
        code::OK => Ok(()),
        error => Err(error),
    }
}

static METHODS: IoMethods = IoMethods {
    version: 2,
    close: x_close,
    read: x_read,
    write: x_write,
    truncate: x_truncate,
    sync: x_sync,
    file_size: x_file_size,
    lock: x_lock,
    unlock: x_unlock,
    check_reserved_lock: x_check_reserved_lock,
    file_control: x_file_control,
    sector_size: x_sector_size,
    device_characteristics: x_device_characteristics,
    shm_map: x_shm_map,
    shm_lock: x_shm_lock,
    shm_barrier: x_shm_barrier,
    shm_unmap: x_shm_unmap,
};

/// Runs a call. An error is logged by `sqlite3_log`, but for those that only say that one has to
/// wait.
fn answer(otherwise: c_int, call: impl FnOnce() -> Result<c_int, Error>) -> c_int {
    let result = catch_unwind(AssertUnwindSafe(call)).unwrap_or(Err(Error::Panicked));
    result.unwrap_or_else(|error| {
        let code = error.code(otherwise);
        if !matches!(error, Error::Busy) {
            log(code, &error.to_string());
        }
        code
    })
}

/// The same for opening, whose errors are also told on a terminal: SQLite has no text for them but
/// "unable to open database file", and the log of its shell is off.
fn answer_aloud(otherwise: c_int, call: impl FnOnce() -> Result<c_int, Error>) -> c_int {
    answer(otherwise, || {
        call().inspect_err(|error| {
            let mut terminal = std::io::stderr();
            if terminal.is_terminal() {
                // Without a terminal the log has it.
                let _ = writeln!(terminal, "frostline: {error}");
            }
        })
    })
}

fn log(code: c_int, what: &str) {
    if let (Some(api), Ok(what)) = (API.get(), CString::new(format!("frostline: {what}"))) {
        // SAFETY: a format for one string, and that string.
        unsafe { (api.log)(code, c"%s".as_ptr(), what.as_ptr()) };
    }
}

/// The text at an address, if there is one.
///
/// # Safety
/// The address is null, or of a text that ends with a zero and outlives the result.
unsafe fn text<'a>(at: *const c_char) -> Option<&'a str> {
    // SAFETY: as the caller promises.
    (!at.is_null()).then(|| unsafe { CStr::from_ptr(at) })?.to_str().ok()
}

/// A parameter of a URI.
///
/// # Safety
/// The name is one that SQLite gave to `xOpen` or `xFullPathname`.
unsafe fn parameter<'a>(of: *const c_char, name: &str) -> Option<&'a str> {
    let name = CString::new(name).ok()?;
    // SAFETY: as the caller promises.
    unsafe { text((API.get()?.uri_parameter)(of, name.as_ptr())) }
}

/// The names of all parameters of a URI: SQLite has each, and its value, behind the name of the
/// file, and behind the last an empty one.
///
/// # Safety
/// SQLite gave the name of a main database to `xOpen`.
unsafe fn parameter_names<'a>(of: *const c_char) -> impl Iterator<Item = &'a str> {
    // SAFETY: as the caller promises, there is a text behind each but the empty one.
    let behind = |at: *const c_char| unsafe { at.add(CStr::from_ptr(at).count_bytes() + 1) };
    let mut next = behind(of);
    std::iter::from_fn(move || {
        // SAFETY: as above.
        let name = unsafe { CStr::from_ptr(next) };
        (!name.is_empty()).then(|| {
            next = behind(behind(next));
            // A name that is no text is none that is known.
            name.to_str().unwrap_or("?")
        })
    })
}

fn base() -> *mut Vfs {
    BASE.load(Relaxed)
}

unsafe extern "C" fn x_open(
    _vfs: *mut Vfs,
    raw_name: *const c_char,
    file: *mut ffi::File,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    let stored = open::MAIN_DB | open::WAL;
    let journals = open::MAIN_JOURNAL | open::SUPER_JOURNAL;
    if raw_name.is_null() || flags & (stored | journals) == 0 {
        // SAFETY: SQLite's own VFS, with memory that is large enough for its files.
        return unsafe { ((*base()).open)(base(), raw_name, file, flags, out) };
    }
    answer_aloud(code::CANTOPEN, || {
        // SAFETY: memory for a file, which SQLite does not close unless it has methods.
        unsafe { (*file).methods = std::ptr::null() };
        // SAFETY: SQLite gave the name.
        let full = unsafe { text(raw_name) }.ok_or_else(|| Error::Name("?".to_string()))?;
        let (directory, name) = name::split(full);
        let create = flags & open::CREATE != 0;
        if flags & open::MAIN_DB != 0 {
            // SAFETY: SQLite gave the name, of a main database.
            name::check_known(unsafe { parameter_names(raw_name) })?;
        }
        // SAFETY: the name is that given to xOpen.
        let shape = create.then(|| crate::name::shape(|name| unsafe { parameter(raw_name, name) }));
        let space = match flags & open::MAIN_DB {
            0 => None,
            // SAFETY: likewise, of a main database.
            _ => name::space(|name| unsafe { parameter(raw_name, name) })?,
        };
        let volume = volumes::open(directory, shape.transpose()?.as_ref(), space)?;
        let directory: PathBuf = directory.to_owned();
        let opened = match flags & journals {
            0 => {
                let of = if flags & open::WAL != 0 { Use::Log } else { Use::Database };
                let is_read_only = flags & open::READONLY != 0;
                volume.file(name, of, create).map(|file| {
                    OpenFile::stored(directory.clone(), name, volume.clone(), file, is_read_only)
                })
            }
            _ => volume
                .journal(name)
                .map(|journal| OpenFile::journal(directory.clone(), name, volume.clone(), journal)),
        };
        match opened {
            Ok(opened) => {
                drop(volume);
                // SAFETY: as much memory as a VFS of this size is promised; `out` is null or a
                // number.
                unsafe {
                    let file = file.cast::<RawFile>();
                    (*file).file = Box::into_raw(Box::new(opened));
                    (*file).base.methods = &METHODS;
                    if !out.is_null() {
                        *out = flags;
                    }
                }
                Ok(code::OK)
            }
            Err(error) => {
                volumes::close(&directory, volume)?;
                Err(error)
            }
        }
    })
}

unsafe extern "C" fn x_delete(_vfs: *mut Vfs, full: *const c_char, _sync: c_int) -> c_int {
    answer(code::IOERR, || {
        // SAFETY: SQLite gave the name.
        let full = unsafe { text(full) }.unwrap_or_default();
        let (directory, name) = name::split(full);
        let Some(volume) = volumes::find(directory)? else { return Ok(code::IOERR_DELETE_NOENT) };
        let deleted = volume.delete(name);
        volumes::close(directory, volume)?;
        Ok(if deleted? { code::OK } else { code::IOERR_DELETE_NOENT })
    })
}

unsafe extern "C" fn x_access(
    _vfs: *mut Vfs,
    full: *const c_char,
    _flags: c_int,
    out: *mut c_int,
) -> c_int {
    answer(code::IOERR, || {
        // SAFETY: SQLite gave the name.
        let full = unsafe { text(full) }.unwrap_or_default();
        let (directory, name) = name::split(full);
        let exists = match volumes::find(directory)? {
            Some(volume) => {
                let exists = volume.exists(name);
                volumes::close(directory, volume)?;
                exists?
            }
            None => false,
        };
        // SAFETY: SQLite gave a place for the answer.
        unsafe { *out = c_int::from(exists) };
        Ok(code::OK)
    })
}

unsafe extern "C" fn x_full_pathname(
    _vfs: *mut Vfs,
    raw_name: *const c_char,
    bytes: c_int,
    out: *mut c_char,
) -> c_int {
    answer(code::CANTOPEN, || {
        // SAFETY: SQLite gave the name.
        let name = unsafe { text(raw_name) }.ok_or_else(|| Error::Name("?".to_string()))?;
        // SAFETY: the name is that given to xFullPathname.
        let full = name::full(name, unsafe { parameter(raw_name, "store") })?;
        if full.len() + 1 > bytes as usize {
            return Err(Error::Name(full));
        }
        // SAFETY: there is room for so many bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(full.as_ptr().cast(), out, full.len());
            *out.add(full.len()) = 0;
        }
        Ok(code::OK)
    })
}

unsafe extern "C" fn x_dl_open(_vfs: *mut Vfs, path: *const c_char) -> *mut c_void {
    // SAFETY: as SQLite would call it.
    unsafe { ((*base()).dl_open)(base(), path) }
}

unsafe extern "C" fn x_dl_error(_vfs: *mut Vfs, bytes: c_int, out: *mut c_char) {
    // SAFETY: as SQLite would call it.
    unsafe { ((*base()).dl_error)(base(), bytes, out) }
}

unsafe extern "C" fn x_dl_sym(
    _vfs: *mut Vfs,
    library: *mut c_void,
    symbol: *const c_char,
) -> Symbol {
    // SAFETY: as SQLite would call it.
    unsafe { ((*base()).dl_sym)(base(), library, symbol) }
}

unsafe extern "C" fn x_dl_close(_vfs: *mut Vfs, library: *mut c_void) {
    // SAFETY: as SQLite would call it.
    unsafe { ((*base()).dl_close)(base(), library) }
}

unsafe extern "C" fn x_randomness(_vfs: *mut Vfs, bytes: c_int, out: *mut c_char) -> c_int {
    // SAFETY: as SQLite would call it.
    unsafe { ((*base()).randomness)(base(), bytes, out) }
}

unsafe extern "C" fn x_sleep(_vfs: *mut Vfs, microseconds: c_int) -> c_int {
    // SAFETY: as SQLite would call it.
    unsafe { ((*base()).sleep)(base(), microseconds) }
}

unsafe extern "C" fn x_current_time(_vfs: *mut Vfs, out: *mut f64) -> c_int {
    // SAFETY: as SQLite would call it.
    unsafe { ((*base()).current_time)(base(), out) }
}

unsafe extern "C" fn x_current_time_int64(_vfs: *mut Vfs, out: *mut i64) -> c_int {
    // SAFETY: as SQLite would call it. A VFS of version 1 has no such function, and time in days.
    unsafe {
        if let Some(time) = (*base()).current_time_int64.filter(|_| (*base()).version >= 2) {
            return time(base(), out);
        }
        let mut days = 0.0;
        let result = ((*base()).current_time)(base(), &mut days);
        *out = (days * 86_400_000.0) as i64;
        result
    }
}

/// The open file of SQLite's.
///
/// # Safety
/// SQLite gave the file, and has it open; no other thread uses it meanwhile.
unsafe fn opened<'a>(file: *mut ffi::File) -> &'a mut OpenFile {
    // SAFETY: as the caller promises; `x_open` put it there.
    unsafe { &mut *(*file.cast::<RawFile>()).file }
}

unsafe extern "C" fn x_close(file: *mut ffi::File) -> c_int {
    answer(code::IOERR, || {
        // SAFETY: SQLite has it open, and uses it no more.
        let file = unsafe { Box::from_raw((*file.cast::<RawFile>()).file) };
        file.close().map(|()| code::OK)
    })
}

unsafe extern "C" fn x_read(
    file: *mut ffi::File,
    into: *mut c_void,
    bytes: c_int,
    offset: i64,
) -> c_int {
    answer(code::IOERR, || {
        // SAFETY: SQLite has room for so many bytes.
        let into = unsafe { std::slice::from_raw_parts_mut(into.cast::<u8>(), bytes as usize) };
        // SAFETY: SQLite has it open.
        let read = unsafe { opened(file) }.read(offset as u64, into)?;
        into[read..].fill(0);
        Ok(if read == into.len() { code::OK } else { code::IOERR_SHORT_READ })
    })
}

unsafe extern "C" fn x_write(
    file: *mut ffi::File,
    from: *const c_void,
    bytes: c_int,
    offset: i64,
) -> c_int {
    answer(code::IOERR, || {
        // SAFETY: SQLite has so many bytes there.
        let from = unsafe { std::slice::from_raw_parts(from.cast::<u8>(), bytes as usize) };
        // SAFETY: SQLite has it open.
        unsafe { opened(file) }.write(offset as u64, from).map(|()| code::OK)
    })
}

unsafe extern "C" fn x_truncate(file: *mut ffi::File, size: i64) -> c_int {
    // SAFETY: SQLite has it open.
    answer(code::IOERR, || unsafe { opened(file) }.truncate(size as u64).map(|()| code::OK))
}

unsafe extern "C" fn x_sync(file: *mut ffi::File, _flags: c_int) -> c_int {
    // SAFETY: SQLite has it open.
    answer(code::IOERR, || unsafe { opened(file) }.sync().map(|()| code::OK))
}

unsafe extern "C" fn x_file_size(file: *mut ffi::File, out: *mut i64) -> c_int {
    answer(code::IOERR, || {
        // SAFETY: SQLite has it open, and a place for the answer.
        unsafe { *out = opened(file).size()? as i64 };
        Ok(code::OK)
    })
}

unsafe extern "C" fn x_lock(file: *mut ffi::File, level: c_int) -> c_int {
    // SAFETY: SQLite has it open.
    answer(code::IOERR, || unsafe { opened(file) }.lock(Level::of(level)).map(|()| code::OK))
}

unsafe extern "C" fn x_unlock(file: *mut ffi::File, level: c_int) -> c_int {
    // SAFETY: SQLite has it open.
    answer(code::IOERR, || unsafe { opened(file) }.unlock(Level::of(level)).map(|()| code::OK))
}

unsafe extern "C" fn x_check_reserved_lock(file: *mut ffi::File, out: *mut c_int) -> c_int {
    answer(code::IOERR, || {
        // SAFETY: SQLite has it open, and a place for the answer.
        unsafe { *out = c_int::from(opened(file).is_reserved()?) };
        Ok(code::OK)
    })
}

unsafe extern "C" fn x_file_control(
    file: *mut ffi::File,
    control: c_int,
    argument: *mut c_void,
) -> c_int {
    match control {
        ffi::FCNTL_LOCKSTATE => {
            // SAFETY: SQLite has it open, and a place for the answer.
            unsafe { *argument.cast::<c_int>() = opened(file).level() as c_int };
            code::OK
        }
        ffi::FCNTL_COMMIT_PHASETWO => answer(code::IOERR, || {
            // SAFETY: SQLite has it open.
            unsafe { opened(file) }.transaction_ended().map(|()| code::OK)
        }),
        _ => code::NOTFOUND,
    }
}

unsafe extern "C" fn x_sector_size(_file: *mut ffi::File) -> c_int {
    crate::directory::PAGE as c_int
}

unsafe extern "C" fn x_device_characteristics(_file: *mut ffi::File) -> c_int {
    // All between two syncs is atomic, so no order within it can be seen after a crash.
    device::ATOMIC | device::SAFE_APPEND | device::SEQUENTIAL | device::POWERSAFE_OVERWRITE
}

unsafe extern "C" fn x_shm_map(
    file: *mut ffi::File,
    region: c_int,
    bytes: c_int,
    extend: c_int,
    out: *mut *mut c_void,
) -> c_int {
    answer(code::IOERR, || {
        // SAFETY: SQLite has it open, and a place for the answer.
        unsafe {
            let at = opened(file).map(region as usize, bytes as usize, extend != 0)?;
            *out = at.map_or(std::ptr::null_mut(), |at| at.cast());
        }
        Ok(code::OK)
    })
}

unsafe extern "C" fn x_shm_lock(
    file: *mut ffi::File,
    first: c_int,
    count: c_int,
    flags: c_int,
) -> c_int {
    answer(code::IOERR, || {
        let slots = first as usize..(first + count) as usize;
        let (is_unlock, shared) = (flags & shm::UNLOCK != 0, flags & shm::SHARED != 0);
        // SAFETY: SQLite has it open.
        unsafe { opened(file) }.lock_memory(slots, is_unlock, shared).map(|()| code::OK)
    })
}

unsafe extern "C" fn x_shm_barrier(_file: *mut ffi::File) {
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}

unsafe extern "C" fn x_shm_unmap(file: *mut ffi::File, _delete: c_int) -> c_int {
    // SAFETY: SQLite has it open.
    answer(code::IOERR, || unsafe { opened(file) }.unmap().map(|()| code::OK))
}
