//! Fresh databases on a device, which is made if it is not there.

use std::sync::Arc;

use frostline_db::{Create, Instances, Observer, Options};
use frostline_store::Format;
use frostline_zone::{Device, can_create};

use super::benchmark::Benchmark;
use super::room::{Room, Sizes};
use crate::args::{DatabaseArgs, OWN_DEVICE, PlacementArgs, ShapeArgs};
use crate::device::{
    db_failure, describe, formatted, made_anew, nothing_to_keep, placement, slowed,
};
use crate::failure::Failure;
use crate::size::Size;

/// Seconds that a bench takes unless told otherwise.
const SECONDS: u64 = 30;

/// When the runs end, in seconds, if time ends them.
pub fn seconds(args: &DatabaseArgs) -> Option<u64> {
    args.seconds.or(args.transactions.is_none().then_some(SECONDS))
}

/// The device, with fresh databases on it unless those that are there are to be kept. `is_ours` if
/// what it holds is from this very command.
pub fn device<B: Benchmark>(
    args: &DatabaseArgs,
    bench: &B,
    scheme: &str,
    is_ours: bool,
) -> Result<Arc<dyn Device>, Failure> {
    let sizes = room(args, bench).device();
    let is_anew = args.device == OWN_DEVICE && !args.keep && !is_ours;
    let is_made = is_anew || can_create(&args.device);
    let create = create(B::COMMAND, args, scheme, sizes, is_ours, is_made)?;
    let shape = match is_made {
        true => made(B::COMMAND, args, sizes)?,
        false if is_ours => ShapeArgs::default(),
        false => found(B::COMMAND, args)?,
    };
    let format = |device: &Arc<dyn Device>| {
        if !is_ours {
            check_room(B::COMMAND, args, sizes, &**device)?;
        }
        let device = slowed(B::COMMAND, device.clone(), &args.speed)?;
        if args.keep {
            return Ok(());
        }
        Instances::create(&device, &create).map_err(|e| db_failure(&args.device, e))
    };
    let device = match is_anew {
        true => made_anew(B::COMMAND, &args.device, &shape, format),
        false => formatted(B::COMMAND, &args.device, &shape, format),
    }?;
    slowed(B::COMMAND, device, &args.speed)
}

fn create(
    what: &str,
    args: &DatabaseArgs,
    scheme: &str,
    sizes: Sizes,
    is_ours: bool,
    is_made: bool,
) -> Result<Create, Failure> {
    let placed = PlacementArgs {
        scheme: scheme.to_string(),
        victim: args.victim.clone(),
        gp: args.gp,
        seed: args.seed,
    };
    let store =
        Format { spare: args.spare, force: args.force || is_ours, ..placement(what, &placed)? };
    // Whoever names a size, or a drive, gets the usual share of it.
    let is_sized_here = args.size.is_none() && (is_ours || is_made);
    let log_bytes = args.log.map(|size| size.0).or(is_sized_here.then_some(sizes.log));
    Ok(Create { store, log_bytes, instances: args.tenants })
}

/// The shape of a new device.
fn made(what: &str, args: &DatabaseArgs, sizes: Sizes) -> Result<ShapeArgs, Failure> {
    if args.keep {
        return Err(nothing_to_keep(what, &args.device));
    }
    let zone = args.zone.or(args.size.is_none().then_some(Size(sizes.zone)));
    let size = args.size.or(Some(Size(sizes.device)));
    Ok(ShapeArgs { size, zone, capacity: None })
}

/// The shape that a device that is there must have.
fn found(what: &str, args: &DatabaseArgs) -> Result<ShapeArgs, Failure> {
    if args.size.is_none() && args.zone.is_some() {
        let why = format!("{} is there already, with zones of its own", args.device);
        return Err(Failure::usage(what, &why).hint("leave out --zone"));
    }
    Ok(ShapeArgs { size: args.size, zone: args.zone, capacity: None })
}

/// Refuses a device that may be left from a smaller bench.
fn check_room(
    what: &str,
    args: &DatabaseArgs,
    sizes: Sizes,
    device: &dyn Device,
) -> Result<(), Failure> {
    let geometry = device.geometry();
    let has = u64::from(geometry.zones) * geometry.zone_capacity;
    // Of another bench, perhaps a smaller one; whoever names a size, or a drive, knows what it is.
    let is_doubtful = args.force && args.size.is_none() && args.device.starts_with("file:");
    if !is_doubtful || has >= sizes.device {
        return Ok(());
    }
    let wanted = sizes.device.div_ceil(1 << 20);
    let has = describe(device);
    let why = format!("{} is there already, with {has}: {wanted} MiB are wanted", args.device);
    Err(Failure::usage(what, &why).hint("remove it, or name another --device"))
}

fn room<B: Benchmark>(args: &DatabaseArgs, bench: &B) -> Room {
    Room {
        tenants: u64::from(args.tenants),
        loaded: bench.loaded_bytes(),
        grown: bench.grown_bytes(),
        rate: B::RATE,
        transactions: args.transactions,
        seconds: seconds(args),
        threads: u64::from(args.threads),
        gp: args.gp,
        zone: args.zone.map(|size| size.0),
        log: args.log.map(|size| size.0),
    }
}

/// Opens the databases of a device.
pub fn open(
    args: &DatabaseArgs,
    device: &Arc<dyn Device>,
    observer: Option<Arc<dyn Observer>>,
) -> Result<Instances, Failure> {
    let options = Options {
        buffer_bytes: args.buffer.0 as usize,
        replacement: args.replacement.into(),
        hotness: !args.no_hotness,
        background: !args.in_order,
        cleaning: args.cleaning.into(),
        accept_loss: args.accept_loss,
        observer,
        ..Options::default()
    };
    Instances::open(device, &options).map_err(|e| db_failure(&args.device, e))
}
