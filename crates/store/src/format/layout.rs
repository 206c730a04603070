//! The division of a device: metadata zones and data zones; headers, pages and spare zones.

use std::collections::BTreeSet;

use frostline_log::{Capacity, ChunkShape, LogError, MAX_LBA, Options};
use frostline_placement::SchemeSpec;
use frostline_placement::registry::Registry;
use frostline_placement::{BuildError, Foresight, Hotness, Room, Semantics};
use frostline_zone::{Device, Geometry, ZoneState};

use crate::format::chunk_place::ChunkPlace;
use crate::format::head::BODY;
use crate::format::leaf::LeafShape;
use crate::format::records::{ROW, Sizes};
use crate::format::{
    BESIDE_ROWS, Note, PAGE, PlacedLeaf, SUPERBLOCKS, Super, TableHead, ZoneRow, ZoneRun,
};
use crate::{Format, StoreError};

/// The error of a store whose scheme is not in the registry, or can't be built.
fn recorded_scheme(error: BuildError) -> StoreError {
    match error {
        BuildError::UnknownName { name: scheme, known, .. } => {
            StoreError::UnknownScheme { scheme, known }
        }
        error => error.into(),
    }
}

/// Bytes that a delta, or a tail, takes beside its own, of the header and the last page of its
/// chunk.
pub(crate) const BESIDE_DELTA: usize = 128;

/// Pages of a [thin](Format::thin) store for each whole one that fits.
const THIN: u64 = 2;

/// Pages of a store, at most: a number of 32 bits, and one that stands for none.
const MOST_PAGES: u64 = u32::MAX as u64;

/// Pages of a chunk without its header, at most: 127 and the header are 512 KiB.
const CHUNK: u32 = 127;

/// The division of a device.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// The part that superblocks record.
    pub fixed: Super,
    /// Metadata zones, as zones of the device.
    pub meta: Vec<u32>,
    /// Data zones, as zones of the device; a zone of the volume has any of them.
    pub data: Vec<u32>,
    /// The scheme.
    pub scheme: SchemeSpec,
    /// The victim policy.
    pub victim: String,
    /// The rows of the map's leaves.
    pub leaf: LeafShape,
    /// The sizes of records.
    pub sizes: Sizes,
    /// Zones of the volume that may be open at once, if the device limits them.
    pub max_open: Option<usize>,
}

impl Layout {
    /// Divides a device that is to be formatted.
    pub(crate) fn divide(device: &dyn Device, format: &Format) -> Result<Layout, StoreError> {
        let scheme = format.schemes.parse(&format.scheme)?;
        check_format(format, &scheme)?;
        let usable = usable_zones(device)?;
        let geometry = device.geometry();
        let max_open = max_open(geometry);
        let open_zones = max_open.map(|zones| zones as u32);
        let room = |spare_zones| Room { spare_zones, open_zones, ..Room::default() };
        let classes = |spare_zones| scheme.classes(Semantics::Published, room(spare_zones));
        let most_classes = classes(None)?;
        if let Some(limit) = max_open.filter(|&limit| most_classes > limit) {
            return Err(LogError::TooManyClasses { classes: most_classes, limit }.into());
        }
        let victim = scheme.policy(format.victim.as_deref()).to_string();
        let mut fixed = fixed_by_zones(geometry, format, &victim)?;
        let zones = usable.len() as u32;
        let sizes = Sizes::new(format.unit)?;
        let leaf = leaf_shape(&fixed, sizes, &scheme)?;
        (fixed.place, fixed.row) = (leaf.place() as u16, leaf.row() as u16);
        fixed.leaf = leaf.pages();
        // For as many pages as are asked for, or as the store could have.
        let most = u64::from(zones) * u64::from(fixed.zone_pages);
        let most = if format.thin { most * THIN } else { most };
        let pages = format.logical_pages.unwrap_or(most).min(MOST_PAGES);
        fixed.meta_zones = meta_zones(&fixed, leaf, &scheme, pages, zones);
        let volume = zones.saturating_sub(fixed.meta_zones + fixed.spare);
        let fits = |classes: usize| {
            let for_pages = volume.saturating_sub(fixed.reserve + classes as u32 + 1);
            (f64::from(for_pages) * (1.0 - format.gp)) as u32
        };
        // A scheme that can do with fewer classes has them where there are few zones.
        let classes = classes(Some(volume - fits(most_classes)))?;
        let fits = u64::from(fits(classes)) * u64::from(sure_images(&fixed, sizes));
        let usual = if format.thin { fits * THIN } else { fits };
        fixed.logical_pages = format.logical_pages.unwrap_or(usual).min(MOST_PAGES);
        // Fewer pages than fit whole make no thin store.
        let whole = if format.thin { fits } else { fixed.logical_pages };
        fixed.whole_pages = whole.min(fixed.logical_pages);
        let sizes = sizes.with_pages(fixed.logical_pages);
        check_room(&fixed, sizes, zones, volume, classes)?;
        let usual = fixed.whole_pages.max(fixed.zone_pages.into());
        fixed.checkpoint_writes = format.checkpoint_writes.unwrap_or(usual);
        let (meta, data) = usable.split_at(fixed.meta_zones as usize);
        let (meta, data) = (meta.to_vec(), data.to_vec());
        check_runs(&meta)?;
        Ok(Layout { fixed, meta, data, scheme, victim, leaf, sizes, max_open })
    }

    /// The division that a superblock records.
    pub(crate) fn recorded(
        device: &dyn Device,
        (fixed, meta): (Super, Vec<u32>),
        schemes: Registry,
    ) -> Result<Layout, StoreError> {
        let wrong = |why: String| StoreError::Options { what: "recorded options", why };
        let geometry = device.geometry();
        let device_pages = (geometry.zone_capacity / PAGE as u64) as u32;
        if (geometry.zones, device_pages) != (fixed.device_zones, fixed.device_pages) {
            return Err(wrong(format!(
                "the store is of {} zones of {} pages, the device has {} of {device_pages}",
                fixed.device_zones, fixed.device_pages, geometry.zones
            )));
        }
        let sizes = Sizes::new(fixed.unit)?.with_pages(fixed.logical_pages);
        let shape = chunk_shape(device_pages, sizes, fixed.hotness == 1);
        let agree = fixed.zone_pages == shape.zone_pages()
            && fixed.zone_pages >= 16
            && fixed.hotness <= 1
            && meta.iter().all(|&zone| zone < geometry.zones)
            && (3..=geometry.zones).contains(&fixed.meta_zones)
            && meta.len() == fixed.meta_zones as usize
            && (1..=u64::from(geometry.zones) * u64::from(fixed.zone_pages))
                .contains(&fixed.whole_pages)
            && (fixed.whole_pages..=most_logical(&fixed, geometry.zones))
                .contains(&fixed.logical_pages);
        if !agree {
            return Err(wrong("sizes that contradict each other".to_string()));
        }
        let scheme = schemes.parse(&word(&fixed.scheme)).map_err(recorded_scheme)?;
        let leaf = leaf_shape(&fixed, sizes, &scheme)?;
        let form = (leaf.place() as u16, leaf.row() as u16, leaf.pages());
        if (fixed.place, fixed.row, fixed.leaf) != form {
            let why = "a map of another form than the device and the scheme have";
            return Err(wrong(why.to_string()));
        }
        let victim = word(&fixed.victim);
        // Zones that went offline since may still be named by the checkpoint.
        let of_meta: BTreeSet<u32> = meta.iter().copied().collect();
        let other = |zone: &u32| !of_meta.contains(zone) && !geometry.conventional.contains(zone);
        let data: Vec<u32> = (0..geometry.zones).filter(other).collect();
        let max_open = max_open(geometry);
        Ok(Layout { fixed, meta, data, scheme, victim, leaf, sizes, max_open })
    }

    /// The options of the volume.
    pub(crate) fn options(&self) -> Options {
        let Super { zone_pages, logical_pages, whole_pages, gp, reserve, .. } = self.fixed;
        let zones = self.data.len() as u32;
        Options {
            zone_pages,
            page_units: self.sizes.page_units(),
            chunks: Some(self.chunk_shape()),
            // What schemes see.
            space: self.sizes.lbas(logical_pages).min(u64::from(MAX_LBA) + 1) as u32,
            logical_pages: whole_pages,
            first_delta: Some(self.sizes.first_delta()).filter(|&first| first > 0),
            // The store withholds zones by itself.
            spare: 0,
            capacity: Capacity::Bounded { gp, zones, reserve },
            max_open: self.max_open,
            start: 0,
        }
    }

    /// How records lie in the zones of the device.
    pub(crate) fn chunk_shape(&self) -> ChunkShape {
        chunk_shape(self.fixed.device_pages, self.sizes, self.has_hotness())
    }

    /// Units of the user that a zone can hold.
    pub(crate) fn zone_units(&self) -> u32 {
        self.fixed.zone_pages * self.sizes.page_units()
    }

    /// True if headers have hotness records.
    pub(crate) fn has_hotness(&self) -> bool {
        self.fixed.hotness == 1
    }

    /// Checks that an LBA is within the store.
    pub(crate) fn check_lba(&self, lba: u32) -> Result<(), StoreError> {
        let last = (self.fixed.logical_pages - 1) as u32;
        match lba <= last {
            true => Ok(()),
            false => Err(LogError::BadLba { lba: lba.into(), last: last.into() }.into()),
        }
    }

    /// Leaves of the map.
    pub(crate) fn leaves(&self) -> u32 {
        self.leaf.leaves_of(self.fixed.logical_pages)
    }

    /// Bytes of all leaves of the map, at most.
    pub(crate) fn most_map_bytes(&self) -> usize {
        (self.leaves() as usize).saturating_mul(self.leaf.most_pages() * PAGE)
    }

    /// Pages of the metadata log below which a checkpoint writes everything anew, so that all
    /// zones before it can be reset: room for one that a crash cuts short, for another, and for
    /// what the crash leaves unused of a zone.
    pub(crate) fn meta_reserve(&self) -> u64 {
        2 * self.checkpoint_pages() + u64::from(self.fixed.device_pages)
    }

    /// Pages of a checkpoint of everything, at most.
    pub(crate) fn checkpoint_pages(&self) -> u64 {
        let zones = self.data.len() as u32;
        whole_checkpoint(&self.fixed, self.leaf, &self.scheme, self.fixed.logical_pages, zones)
    }
}

/// Refuses options that no device can have.
fn check_format(format: &Format, scheme: &SchemeSpec) -> Result<(), StoreError> {
    if !(0.0..1.0).contains(&format.gp) {
        let why = format!("{} is not from 0 to 1", format.gp);
        return Err(StoreError::Options { what: "garbage proportion", why });
    }
    if scheme.entry.foresight != Foresight::None {
        let why = format!("{} must know the future, and runs in the simulator only", scheme.text);
        return Err(StoreError::Options { what: "scheme", why });
    }
    Ok(())
}

/// The part of a superblock that options and the size of zones decide.
fn fixed_by_zones(geometry: &Geometry, format: &Format, victim: &str) -> Result<Super, StoreError> {
    let device_pages = (geometry.zone_capacity / PAGE as u64) as u32;
    let shape = chunk_shape(device_pages, Sizes::new(format.unit)?, format.hotness);
    let zone_pages = shape.zone_pages();
    if zone_pages < 16 {
        let why = format!("zones of {device_pages} pages: at least 16 must be left beside headers");
        return Err(StoreError::Options { what: "device", why });
    }
    if zone_pages > ChunkPlace::MOST_PAGES {
        let most = ChunkPlace::MOST_PAGES;
        let why = format!("zones of {device_pages} pages: a store takes {most} at most");
        return Err(StoreError::Options { what: "device", why });
    }
    Ok(Super {
        logical_pages: 0,
        whole_pages: 0,
        gp: format.gp,
        seed: format.seed,
        checkpoint_writes: 0,
        device_pages,
        zone_pages,
        unit: format.unit,
        device_zones: geometry.zones,
        reserve: format.reserve.max(2),
        spare: format.spare.max(1),
        hotness: u32::from(format.hotness),
        meta_zones: 0,
        place: 0,
        row: 0,
        leaf: 0,
        scheme: text("scheme", &format.scheme)?,
        victim: text("victim policy", victim)?,
    })
}

/// The rows of the leaves of a store whose zones are known.
fn leaf_shape(fixed: &Super, sizes: Sizes, scheme: &SchemeSpec) -> Result<LeafShape, StoreError> {
    let Super { device_zones, zone_pages, .. } = *fixed;
    let (units, state) = (sizes.page_units(), scheme.entry.page_bytes);
    let why = || "more units than 64 bits can number".to_string();
    LeafShape::new(device_zones, zone_pages * units, units, state)
        .ok_or_else(|| StoreError::Options { what: "device", why: why() })
}

/// Pages that a store of so many zones may have, thin or not.
fn most_logical(fixed: &Super, zones: u32) -> u64 {
    (2 * THIN * u64::from(zones) * u64::from(fixed.zone_pages)).min(MOST_PAGES)
}

/// Refuses more whole pages than the volume's zones can hold.
fn check_room(
    fixed: &Super,
    sizes: Sizes,
    zones: u32,
    volume: u32,
    classes: usize,
) -> Result<(), StoreError> {
    let Super { logical_pages, whole_pages, reserve, spare, meta_zones, .. } = *fixed;
    let zone_pages = sure_images(fixed, sizes);
    let most = u64::from(volume.saturating_sub(reserve + 1)) * u64::from(zone_pages);
    let fits = (whole_pages..=most_logical(fixed, zones)).contains(&logical_pages);
    let holds = match logical_pages {
        0 => "no page".to_string(),
        asked if whole_pages == 0 || whole_pages > most || !fits => {
            format!("{most} pages, and not the {asked} that are asked for,")
        }
        _ => return Ok(()),
    };
    let free = reserve + spare;
    let why = format!(
        "{zones} usable zones of {zone_pages} pages can hold {holds} with {classes} classes, {free} \
         free zones and {meta_zones} for metadata"
    );
    Err(StoreError::TooSmall { why })
}

/// Whole images that a zone holds in any case: behind shorter records its end may be too short for
/// one.
pub(crate) fn sure_images(fixed: &Super, sizes: Sizes) -> u32 {
    fixed.zone_pages - u32::from(sizes.page_units() > 1)
}

/// Records in a chunk, at most: deltas have no hotness records in its header, and several share a
/// page.
pub(crate) const MOST_RECORDS: u32 = ((BODY - BESIDE_ROWS) / ROW) as u32;

/// How a store lays records out in zones of so many pages: with units of these bytes, and headers
/// that have, or have not, room for hotness records. A simulator needs it to decide as the store
/// does.
///
/// # Errors
/// The unit is none that a store can have.
pub fn chunk_shape_of(
    device_pages: u32,
    unit: u32,
    hotness: bool,
) -> Result<ChunkShape, StoreError> {
    Ok(chunk_shape(device_pages, Sizes::new(unit)?, hotness))
}

/// How records lie in zones of so many pages, behind headers that have, or have not, room for
/// hotness records.
pub(crate) fn chunk_shape(device_pages: u32, sizes: Sizes, hotness: bool) -> ChunkShape {
    let hotness = if hotness { size_of::<Hotness>() } else { 0 };
    let rows = BODY - BESIDE_ROWS;
    ChunkShape {
        device_pages,
        pages: CHUNK.min((rows / (ROW + hotness)) as u32),
        page_units: sizes.page_units(),
        unit: sizes.unit(),
        head: (PAGE - rows) as u32,
        row: ROW as u32,
        hotness: hotness as u32,
    }
}

/// Pages of a payload in the metadata log, at most: what a record leaves of a zone because it does
/// not fit is then no more than that.
pub(crate) fn payload_pages(fixed: &Super) -> usize {
    (fixed.device_pages as usize / 8).clamp(1, 64)
}

/// Pages of a checkpoint of everything, at most.
fn whole_checkpoint(
    fixed: &Super,
    leaf: LeafShape,
    scheme: &SchemeSpec,
    logical: u64,
    zones: u32,
) -> u64 {
    let leaves = u64::from(leaf.leaves_of(logical));
    let leaf_pages = leaf.most_pages() as u64;
    let together = (payload_pages(fixed) as u64 / leaf_pages).max(1);
    let records = leaves.div_ceil(together);
    // A chunk of short records has a page.
    let chunks = u64::from(zones) * u64::from(fixed.zone_pages);
    let table = size_of::<TableHead>() as u64
        + leaves * size_of::<PlacedLeaf>() as u64
        + u64::from(zones) * size_of::<ZoneRow>() as u64
        + chunks * 4
        + scheme.entry.most_memory as u64;
    let part = payload_pages(fixed) as u64;
    let parts = table.div_ceil(PAGE as u64).div_ceil(part);
    in_zones(fixed, records, 1 + together * leaf_pages) + in_zones(fixed, parts, 1 + part) + 4
}

/// Pages of the zones that this many records of this size take.
fn in_zones(fixed: &Super, records: u64, pages: u64) -> u64 {
    let usable = u64::from(fixed.device_pages - SUPERBLOCKS);
    let in_zone = (usable / pages).max(1);
    records / in_zone * usable + records % in_zone * pages
}

/// Metadata zones: enough that after a checkpoint of everything half a zone more than
/// [`Layout::meta_reserve`] is free.
fn meta_zones(
    fixed: &Super,
    leaf: LeafShape,
    scheme: &SchemeSpec,
    logical: u64,
    zones: u32,
) -> u32 {
    let pages = whole_checkpoint(fixed, leaf, scheme, logical, zones) as f64;
    let share = pages / f64::from(fixed.device_pages - SUPERBLOCKS);
    (share.ceil() + 1.0 + (2.0 * share + 1.5).ceil()) as u32
}

/// Zones of the volume that may be open at once: a metadata zone is open beside them.
fn max_open(geometry: &Geometry) -> Option<usize> {
    let limit = geometry.max_open.into_iter().chain(geometry.max_active).min()?;
    Some(limit.saturating_sub(1) as usize)
}

/// The zones that can be written in order.
fn usable_zones(device: &dyn Device) -> Result<Vec<u32>, StoreError> {
    let geometry = device.geometry();
    let zones = device.report(0, geometry.zones)?;
    let full = geometry.zone_capacity;
    let usable = (0u32..).zip(&zones).filter(|(_, info)| {
        let dead = matches!(info.state, ZoneState::Offline | ZoneState::Conventional);
        !dead && info.capacity == full
    });
    Ok(usable.map(|(zone, _)| zone).collect())
}

fn text(what: &'static str, text: &str) -> Result<[u8; 128], StoreError> {
    let mut bytes = [0; 128];
    match bytes.get_mut(..text.len()) {
        Some(place) => place.copy_from_slice(text.as_bytes()),
        None => return Err(StoreError::Options { what, why: "longer than 128 bytes".into() }),
    }
    Ok(bytes)
}

fn word(bytes: &[u8; 128]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// Runs of metadata zones that a superblock has room for.
const MOST_RUNS: usize = (BODY - size_of::<Super>()) / size_of::<ZoneRun>();

/// Refuses metadata zones that a superblock can't name.
pub(crate) fn check_runs(meta: &[u32]) -> Result<(), StoreError> {
    let runs = ZoneRun::of(meta).len();
    match runs <= MOST_RUNS {
        true => Ok(()),
        false => {
            let why =
                format!("metadata zones lie in {runs} places, of which {MOST_RUNS} can be named");
            Err(StoreError::Options { what: "device", why })
        }
    }
}

/// Notes that fit into one page.
pub(crate) const NOTES: usize = BODY / size_of::<Note>();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_have_pages_for_whose_places_a_table_has_room() {
        let zone_bytes = (u64::from(ChunkPlace::MOST_PAGES) + (1 << 20)) * PAGE as u64;
        let shape = frostline_zone::Shape {
            bytes: 100 * zone_bytes,
            zone_bytes: Some(zone_bytes),
            ..Default::default()
        };
        let geometry = shape.geometry().unwrap();
        let refused = fixed_by_zones(&geometry, &Format::default(), "greedy").err();
        assert!(matches!(refused, Some(StoreError::Options { what: "device", .. })));
    }
}
