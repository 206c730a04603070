//! The parts of a device: the page store, and behind it the logs.

use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use frostline_store::{Open, Store};
use frostline_zone::{Device, Span};

use crate::DbError;
use crate::node::{PAGE_BYTES, PageBytes};
use crate::options::Create;
use crate::wal::Wal;

/// Zones of a log that are active at a time: one that is ended, one that is begun.
const LOG_ACTIVE: u32 = 2;

/// Databases that share a store at most: it keeps a mark for each.
pub(crate) const MOST_INSTANCES: u32 = 256;

/// The fewest zones of a log.
pub(crate) const FEWEST_LOG_ZONES: u32 = 4;

/// The fewest pages of a database.
const FEWEST_PAGES: u32 = 4 * FIRST_PAGES;

/// The first page of each database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Label {
    magic: [u8; 8],
    version: u32,
    /// Databases that share the store.
    pub instances: u32,
    /// Zones of each log.
    pub log_zones: u32,
    /// Pages of each database.
    pub pages: u32,
}

const MAGIC: [u8; 8] = *b"frostdb\n";
const VERSION: u32 = 1;

/// The page with the label.
pub(crate) const LABEL_PAGE: u32 = 0;
/// The root of the tree of all tables.
pub(crate) const CATALOG: u32 = 1;
/// The root of the tree of pieces of long values.
pub(crate) const OVERFLOW_TREE: u32 = 2;
/// In the number of a long value: it has pages of its own.
pub(crate) const IN_PAGES: u64 = 1 << 62;
/// Pages that every database has from the beginning.
pub(crate) const FIRST_PAGES: u32 = 3;

/// True for what the tree of pieces has of the pages of a long value: which they are, and who has
/// them. Neither conflicts nor is read for itself: the record that names the value does and is. A
/// piece is like a record of a table.
pub(crate) fn is_of_pages(tree: u32, key: &[u8]) -> bool {
    tree == OVERFLOW_TREE
        && key.first_chunk().is_some_and(|number| u64::from_be_bytes(*number) >= IN_PAGES)
}

/// A device with its store and its logs.
pub(crate) struct DatabaseLayout {
    /// The zones of the store.
    pub store: Arc<dyn Device>,
    /// The zones of each log.
    pub logs: Vec<Arc<dyn Device>>,
}

impl DatabaseLayout {
    /// The first `store_zones` zones are the store's; what is left is for the logs, and must be
    /// enough.
    pub(crate) fn new(
        device: &Arc<dyn Device>,
        store_zones: u32,
        log_zones: u32,
        instances: u32,
    ) -> Result<DatabaseLayout, DbError> {
        let geometry = device.geometry();
        let zones = u64::from(store_zones) + u64::from(log_zones) * u64::from(instances);
        if zones > u64::from(geometry.zones) {
            let what = "wants more zones for logs than there are";
            return Err(DbError::Page { page: LABEL_PAGE, what });
        }
        let for_logs = LOG_ACTIVE * instances;
        let store_limit = |limit: Option<u32>| limit.map(|all| all.saturating_sub(for_logs));
        let log_limit = |limit: Option<u32>| limit.map(|_| LOG_ACTIVE);
        let span = |first, count, open, active| {
            Span::new(device.clone(), first, count, open, active)
                .map(|span| Arc::new(span) as Arc<dyn Device>)
        };
        let (open, active) = (geometry.max_open, geometry.max_active);
        let store = span(0, store_zones, store_limit(open), store_limit(active))?;
        let logs = (0..instances).map(|n| {
            span(store_zones + n * log_zones, log_zones, log_limit(open), log_limit(active))
        });
        Ok(DatabaseLayout { store, logs: logs.collect::<Result<_, _>>()? })
    }

    /// Makes a store and logs.
    pub(crate) fn format(device: &Arc<dyn Device>, create: &Create) -> Result<(), DbError> {
        let geometry = device.geometry();
        let instances = create.instances.max(1);
        if instances > MOST_INSTANCES {
            let why = format!("{instances} are more than {MOST_INSTANCES}");
            return Err(DbError::Options { what: "databases", why });
        }
        let all = u64::from(geometry.zones) * geometry.zone_capacity;
        let wanted = create.log_bytes.unwrap_or((all / 16).min(1 << 30) / u64::from(instances));
        let log_zones = wanted.div_ceil(geometry.zone_capacity).max(u64::from(FEWEST_LOG_ZONES));
        let for_logs = log_zones.saturating_mul(u64::from(instances));
        let Some(store_zones) = u64::from(geometry.zones).checked_sub(for_logs) else {
            let why = format!(
                "{instances} logs of {log_zones} zones need more than the device's {}",
                geometry.zones
            );
            return Err(DbError::TooSmall { why });
        };
        let log_zones = log_zones as u32;
        let divided = DatabaseLayout::new(device, store_zones as u32, log_zones, instances)?;
        // Commits ask for room before they change anything.
        let thin = create.store.unit < PAGE_BYTES as u32;
        let format = frostline_store::Format { hotness: true, thin, ..create.store.clone() };
        Store::format(divided.store.clone(), &format)?;
        let cleaning = frostline_store::Cleaning::Inline;
        let open = Open { cleaning, schemes: format.schemes, ..Open::default() };
        let store = Store::open(divided.store.clone(), open)?;
        let pages = (store.pages() / u64::from(instances)) as u32;
        if pages < FEWEST_PAGES {
            let why = format!("{pages} pages for each of {instances}");
            return Err(DbError::TooSmall { why });
        }
        for (instance, log) in divided.logs.iter().enumerate() {
            Wal::format(log.clone(), log_id(&store, instance as u32)?)?;
            let label = Label { magic: MAGIC, version: VERSION, instances, log_zones, pages };
            write_first_pages(&store, instance as u32 * pages, &label)?;
        }
        store.close()?;
        Ok(())
    }
}

/// The unique number of a log.
pub(crate) fn log_id(store: &Store, instance: u32) -> Result<u64, DbError> {
    Ok(number_of_log(store.info()?.store, instance))
}

/// The unique number of a log behind the store of this number.
pub(crate) fn number_of_log(store: u64, instance: u32) -> u64 {
    store.wrapping_add(u64::from(instance) << 1)
}

fn write_first_pages(store: &Store, first: u32, label: &Label) -> Result<(), DbError> {
    use crate::node::{Fences, NodeMut};
    let mut bytes = [0; PAGE_BYTES];
    bytes[..size_of::<Label>()].copy_from_slice(bytemuck::bytes_of(label));
    store.write(first + LABEL_PAGE, &bytes)?;
    let page = PageBytes::zeroed();
    for root in [CATALOG, OVERFLOW_TREE] {
        NodeMut::format(&page, root, 0, Fences { lower: &[], upper: None });
        page.copy_to(&mut bytes);
        store.write(first + root, &bytes)?;
    }
    store.sync()?;
    Ok(())
}

/// The label of the first database of a store.
pub(crate) fn read_label(store: &Store) -> Result<Label, DbError> {
    let mut page = [0; PAGE_BYTES];
    if !store.read(LABEL_PAGE, &mut page)? {
        return Err(DbError::NotADatabase);
    }
    let label: Label = bytemuck::pod_read_unaligned(&page[..size_of::<Label>()]);
    if label.magic != MAGIC {
        return Err(DbError::NotADatabase);
    }
    if label.version != VERSION {
        let why = format!("version {}, this program knows {VERSION}", label.version);
        return Err(DbError::Options { what: "format of the database", why });
    }
    let fits = u64::from(label.pages) * u64::from(label.instances) <= store.pages();
    let enough = label.pages >= FEWEST_PAGES && label.log_zones >= FEWEST_LOG_ZONES;
    if label.instances == 0 || !enough || !fits {
        let what = "divides the device as it can't be divided";
        return Err(DbError::Page { page: LABEL_PAGE, what });
    }
    Ok(label)
}
