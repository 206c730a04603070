//! A description of a store, and the use of each zone of its device.

use frostline_log::ZoneImage;
use frostline_zone::{ZoneInfo, ZoneState};

use crate::format::layout::Layout;
use crate::format::{PAGE, PlacedLeaf, VERSION};
use crate::state::room::Space;
use crate::{Loss, Store, StoreError};

/// The use of a zone of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Role {
    /// Notes, leaves of the map and checkpoints.
    Meta,
    /// Pages.
    Data,
    /// Nothing: it can be written.
    Empty,
    /// Its pages are elsewhere, and it waits to be reset.
    Waiting,
    /// It can't be used.
    Dead,
}

/// A zone of the device.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ZoneStatus {
    /// Its number.
    pub zone: u32,
    /// Its use.
    pub role: Role,
    /// Its state, as the device reports it.
    #[cfg_attr(feature = "serde", serde(with = "StateName"))]
    pub state: ZoneState,
    /// Pages that it can hold, headers included.
    pub capacity: u32,
    /// Pages that were written, headers included.
    pub written: u32,
    /// Data: its class, from 1.
    pub class: Option<u32>,
    /// Data: the pages that its valid records would fill.
    pub valid: Option<u32>,
    /// Data: valid pages (or units) over those of the user that it can hold.
    pub valid_share: Option<f64>,
    /// Data: number of its opening.
    pub opening: Option<u64>,
    /// Data: it takes no more pages.
    pub sealed: Option<bool>,
}

/// The names of the states of zones, for serde.
#[cfg(feature = "serde")]
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(remote = "ZoneState", rename_all = "kebab-case")]
enum StateName {
    Empty,
    #[serde(rename = "open")]
    ImplicitOpen,
    #[serde(rename(serialize = "open", deserialize = "open-explicitly"))]
    ExplicitOpen,
    Closed,
    Full,
    ReadOnly,
    Offline,
    Conventional,
}

/// A description of a store.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct StoreInfo {
    /// Version of the format.
    pub format: u32,
    /// Bytes of a unit: pages take as many as their records need.
    pub unit: u32,
    /// Data zones for each zone of parity, if the device keeps parity.
    pub parity: Option<u32>,
    /// Number of the store, drawn when it was formatted.
    pub store: u64,
    /// Scheme, as on the command line.
    pub scheme: String,
    /// Victim policy, as on the command line.
    pub victim: String,
    /// Garbage proportion above which it is cleaned.
    pub gp: f64,
    /// Seed of the scheme and the victim policy.
    pub seed: u64,
    /// True if pages may come with hotness records.
    pub hotness: bool,
    /// Free zones below which it is cleaned.
    pub reserve: u32,
    /// Zones kept back for those that wait to be reset.
    pub spare: u32,
    /// Pages placed between two checkpoints.
    pub checkpoint_writes: u64,
    /// Pages that the store can hold.
    pub logical_pages: u64,
    /// Pages that it can hold if all are whole: fewer in a [thin](crate::Format::thin) store.
    pub whole_pages: u64,
    /// What it takes of its device.
    pub space: Space,
    /// Bytes in a page.
    pub page_bytes: u32,
    /// Pages in a chunk, its header not counted.
    pub chunk_pages: u32,
    /// Pages of the user that a zone can hold.
    pub zone_pages: u32,
    /// Pages that a zone of the device can hold.
    pub device_pages: u32,
    /// Zones of the device.
    pub device_zones: u32,
    /// Of these, for metadata.
    pub meta_zones: u32,
    /// Of these, for pages.
    pub data_zones: u32,
    /// Valid pages.
    pub valid_pages: u64,
    /// Garbage proportion.
    pub garbage_proportion: f64,
    /// Leaves of the map.
    pub map_leaves: u32,
    /// Leaves of the map in memory.
    pub resident_leaves: usize,
    /// Bytes that map, zones and scheme hold in memory now.
    pub bytes: usize,
    /// Bytes that the map of 1 TiB of pages holds with all leaves in memory, if none has a delta.
    pub map_bytes_per_tib: u64,
    /// Synced pages that were missing when the store was opened.
    pub missing: Vec<Loss>,
}

impl Store {
    /// A description of the store.
    ///
    /// # Errors
    /// A thread of the store panicked.
    pub fn info(&self) -> Result<StoreInfo, StoreError> {
        let (layout, stats) = (&self.engine.core.layout, self.stats()?);
        let fixed = &layout.fixed;
        let leaf = layout.leaf.images() + size_of::<PlacedLeaf>();
        Ok(StoreInfo {
            format: VERSION,
            unit: layout.sizes.unit(),
            parity: self.engine.core.device.geometry().parity,
            store: self.engine.core.store,
            scheme: layout.scheme.text.clone(),
            victim: layout.victim.clone(),
            gp: fixed.gp,
            seed: fixed.seed,
            hotness: layout.has_hotness(),
            reserve: fixed.reserve,
            spare: fixed.spare,
            checkpoint_writes: fixed.checkpoint_writes,
            logical_pages: fixed.logical_pages,
            whole_pages: fixed.whole_pages,
            space: stats.space,
            page_bytes: PAGE as u32,
            chunk_pages: layout.chunk_shape().pages,
            zone_pages: fixed.zone_pages,
            device_pages: fixed.device_pages,
            device_zones: fixed.device_zones,
            meta_zones: layout.meta.len() as u32,
            data_zones: layout.data.len() as u32,
            valid_pages: stats.valid_pages,
            garbage_proportion: stats.garbage_proportion,
            map_leaves: layout.leaves(),
            resident_leaves: stats.map_leaves,
            bytes: stats.bytes,
            map_bytes_per_tib: u64::from(layout.leaf.leaves_of((1 << 40) / PAGE as u64))
                * leaf as u64,
            missing: self.missing().to_vec(),
        })
    }

    /// Every zone of the device, in order.
    ///
    /// # Errors
    /// The device can't report its zones; a thread of the store panicked.
    pub fn zones(&self) -> Result<Vec<ZoneStatus>, StoreError> {
        let (device, layout) = (&self.engine.core.device, &self.engine.core.layout);
        let mut infos = device.report(0, device.geometry().zones)?;
        self.show_read_only(&mut infos)?;
        let role = |info: &ZoneInfo| match info.state {
            ZoneState::Empty => Role::Empty,
            _ => Role::Dead,
        };
        let page = |bytes: u64| (bytes / PAGE as u64) as u32;
        let view = |(zone, info): (u32, &ZoneInfo)| ZoneStatus {
            zone,
            role: role(info),
            state: info.state,
            capacity: page(info.capacity),
            written: page(info.write_pointer),
            class: None,
            valid: None,
            valid_share: None,
            opening: None,
            sealed: None,
        };
        let mut views: Vec<_> = (0..).zip(&infos).map(view).collect();
        layout.meta.iter().for_each(|&zone| views[zone as usize].role = Role::Meta);
        let state = self.engine.core.state()?;
        for zone in state.zones().pending_reset() {
            views[zone as usize].role = Role::Waiting;
        }
        for image in state.log().images() {
            let zone = state.zones().get(image.zone);
            let view = &mut views[zone.device_zone as usize];
            view.opening = Some(zone.opening);
            // The device's pointer does not count chunks on their way to it.
            view.written = zone.written;
            fill(view, &image, layout);
        }
        Ok(views)
    }

    /// Shows zones as read-only that can be written only because the store is looked into.
    fn show_read_only(&self, infos: &mut [ZoneInfo]) -> Result<(), StoreError> {
        let Some(below) = &self.below else { return Ok(()) };
        for (info, below) in infos.iter_mut().zip(below.report(0, below.geometry().zones)?) {
            if below.state == ZoneState::ReadOnly {
                info.state = below.state;
            }
        }
        Ok(())
    }
}

fn fill(view: &mut ZoneStatus, image: &ZoneImage, layout: &Layout) {
    let valid = image.valid();
    view.role = Role::Data;
    view.class = Some(image.class + 1);
    view.valid = Some(valid.div_ceil(layout.sizes.page_units()));
    view.valid_share = Some(f64::from(valid) / f64::from(layout.zone_units()));
    view.sealed = Some(image.sealed_at.is_some());
}
