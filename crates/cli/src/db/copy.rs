//! `frostline db copy`: all tables on a new device, with other options.

use frostline_benches::{DeviceSpec, Error};
use frostline_db::{Create, Databases, DbError, Options};
use frostline_store::{Format, StoreError, StoreInfo};
use frostline_zone::can_create;

use super::open_or_not;
use crate::args::CopyArgs;
use crate::cause::{bench_failure, db_failure};
use crate::device::open_to_look;
use crate::failure::{Failure, say};

const COMMAND: &str = "db copy";

/// Copies the databases of a device.
pub(super) fn run(args: &CopyArgs) -> Result<String, Failure> {
    if args.to == "mem:" {
        return Err(Failure::usage(COMMAND, "mem: ends with the command, and the copy with it"));
    }
    let from = open_or_not(&args.uri, false)?;
    let of_source = |error: DbError| db_failure(&args.uri, error);
    let info = from.store.info().map_err(|error| of_source(error.into()))?;
    let device = open_to_look(&args.uri)?;
    let geometry = device.geometry();
    // A device that is there has a shape of its own.
    let as_it_is = can_create(&args.to).then_some(geometry);
    let all = as_it_is.map(|of| u64::from(of.zones) * of.zone_bytes);
    let create = Create {
        store: Format {
            scheme: args.scheme.clone().unwrap_or(info.scheme),
            // Another scheme has other victims.
            victim: args.victim.clone().or(args.scheme.is_none().then_some(info.victim)),
            gp: args.gp.unwrap_or(info.gp),
            unit: args.unit.unwrap_or(info.unit),
            ..Create::default().store
        },
        log_bytes: args.log.map(|size| size.0),
        instances: from.all.len() as u32,
    };
    let spec = DeviceSpec {
        uri: args.to.clone(),
        bytes: args.size.map(|size| size.0).or(all),
        zone_bytes: args.zone.map(|size| size.0).or(as_it_is.map(|of| of.zone_bytes)),
        parity: args.parity,
        ..DeviceSpec::default()
    };
    let made = spec.formatted(|device| {
        let made = Databases::create(device, &create);
        made.map_err(|error| Error::Database { uri: args.to.clone(), error })
    });
    let device = made.map_err(|error| {
        let is_taken = matches!(&error, Error::Database { error: DbError::Store(error), .. }
            if matches!(**error, StoreError::NotEmpty { .. }));
        let failure = bench_failure(COMMAND, error);
        if is_taken { failure.hint("name another place, or remove what is there") } else { failure }
    })?;
    let of_copy = |error: DbError| db_failure(&args.to, error);
    let to = Databases::open(&device, &Options::default()).map_err(of_copy)?;
    let mut records = 0;
    for (db, copy) in from.all.iter().zip(&to.all) {
        records += db.copy_to(copy).map_err(of_copy)?;
    }
    let made = to.store.info().map_err(|error| of_copy(error.into()))?;
    to.close().map_err(of_copy)?;
    if !args.quiet {
        let (to, StoreInfo { scheme, victim, unit, .. }) = (&args.to, made);
        say(
            &format!(
                "{to}: {records} records, scheme {scheme}, victims by {victim}, units of {unit} bytes"
            ),
            None,
        );
    }
    Ok(String::new())
}
