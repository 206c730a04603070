//! Errors of devices, and of the stores and databases on them.

use std::io::ErrorKind;

use frostline_db::DbError;
use frostline_db::wal::WalError;
use frostline_log::LogError;
use frostline_store::StoreError;
use frostline_zone::DeviceError;

use super::sim::scheme_hint;
use crate::failure::Failure;

/// The failure for a device's error.
pub(crate) fn device_failure(uri: &str, error: &DeviceError) -> Failure {
    use DeviceError::{
        Cut, Exists, Foreign, InUse, NoStreams, NotADevice, NotPlain, Open, Shape, TooManyFiles,
        TooSmall, Uri,
    };
    let why = error.to_string();
    match error {
        Shape { .. } => Failure::usage(uri, &why),
        Open { source, .. } if source.kind() == ErrorKind::PermissionDenied => {
            Failure::usage_line(why).hint("this user must be allowed to read and write there")
        }
        Open { source, .. } if source.kind() == ErrorKind::NotFound => {
            Failure::usage_line(why).hint("is the name right? frostline store format makes a store")
        }
        Uri { .. } if !uri.contains(':') => Failure::usage_line(why)
            .hint(format!("file:{uri} names a store in one file")),
        // These errors begin with the name of the file or device.
        Open { .. } | NotADevice { .. } | NotPlain { .. } | Exists { .. } | Uri { .. } => {
            Failure::usage_line(why)
        }
        Foreign { .. } => Failure::usage_line(why)
            .hint("store format --force makes a store in its place, and what it holds is lost"),
        NoStreams { .. } => Failure::usage_line(why).hint("block: uses the drive without them"),
        TooSmall { .. } => {
            Failure::usage_line(why).hint("a smaller --size, or smaller zones: --zone 16MiB")
        }
        InUse { .. } => Failure::usage_line(why)
            .hint("begun with --metrics ADDR, it can be looked at by frostline top ADDR"),
        Cut { .. } => Failure::job_line(why).hint(
            "restore a backup; --accept-loss of store rebuild, serve and bench goes on with what is left",
        ),
        TooManyFiles { .. } => Failure::job(uri, &why).hint(MORE_FILES),
        _ => Failure::job(uri, &why),
    }
}

/// The hint for too many open files.
const MORE_FILES: &str = "ulimit -n 65536, or another number, permits more of them";

/// The failure for a store's error.
pub(crate) fn store_failure(uri: &str, error: StoreError) -> Failure {
    let why = error.to_string();
    match error {
        StoreError::NotEmpty { .. } => Failure::usage(uri, &why)
            .hint("--force formats it nevertheless, and what it holds is lost"),
        StoreError::NotAStore => Failure::usage(uri, &why).hint("frostline store format makes one"),
        StoreError::Damaged { .. } | StoreError::NoSuperblock { .. } => Failure::job(uri, &why)
            .hint("frostline store rebuild makes the metadata anew from the headers of the pages"),
        StoreError::Missing(_) => Failure::job(uri, &why).hint(
            "put the zones back as they were, or --accept-loss goes on without these pages for good",
        ),
        StoreError::Device(ref error) if matches!(**error, DeviceError::TooManyFiles { .. }) => {
            Failure::job(uri, &why).hint(MORE_FILES)
        }
        StoreError::Newer { .. } => Failure::usage(uri, &why).hint("a newer frostline reads it"),
        StoreError::UnknownScheme { .. } => Failure::usage(uri, &why)
            .hint("the program that made the store has it in its registry, and opens the store"),
        StoreError::Build(ref error) => Failure::usage(uri, &why).hint(scheme_hint(error)),
        StoreError::TooSmall { .. } => {
            Failure::usage(uri, &why).hint("a larger --size, or smaller zones (--zone)")
        }
        StoreError::Log(LogError::Full { .. }) => Failure::job(uri, &why),
        StoreError::Log(LogError::WholePages) => {
            Failure::usage(uri, &why).hint("--unit 4096 makes a store of whole pages")
        }
        StoreError::Options { .. } | StoreError::Log(_) => Failure::usage(uri, &why),
        _ => Failure::job(uri, &why),
    }
}

/// The failure for a database's error.
pub(crate) fn db_failure(uri: &str, error: DbError) -> Failure {
    let why = error.to_string();
    match error {
        DbError::Store(error) => match &*error {
            StoreError::Log(LogError::Full { .. }) => Failure::job(uri, &why).hint(LARGER),
            error => store_failure(uri, error.clone()),
        },
        DbError::Full { .. } => Failure::job(uri, &why).hint(LARGER),
        DbError::TooLarge { .. } => Failure::job(uri, &why).hint("a larger --log"),
        DbError::NotADatabase => Failure::usage(uri, &why)
            .hint("frostline bench tpcc makes one, frostline store info tells of other stores"),
        DbError::NoTable { .. } => {
            Failure::usage(uri, &why).hint("frostline db stats lists the tables")
        }
        DbError::TooSmall { .. } => Failure::usage(uri, &why)
            .hint("a larger --size, smaller zones (--zone) or a smaller --log"),
        DbError::Options { .. } => Failure::usage(uri, &why),
        DbError::Wal(WalError::Unsuitable { .. }) => {
            Failure::usage(uri, &why).hint("a larger --log, or smaller zones (--zone)")
        }
        DbError::Wal(WalError::TooLarge { .. } | WalError::Full { .. }) => {
            Failure::job(uri, &why).hint("a larger --log")
        }
        _ => Failure::job(uri, &why),
    }
}

/// The hint for a full database.
const LARGER: &str = "a larger --size";
