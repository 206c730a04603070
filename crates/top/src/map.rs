//! The zones as a map: a cell a zone, or a few zones if there is no room for more.

use frostline_store::{ClassView, Role, ZoneStatus};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

/// Colours of classes, which repeat, by number in the palette of 256.
const CLASSES: [u8; 8] = [39, 208, 42, 176, 178, 117, 141, 250];

/// Backgrounds of frozen classes, which repeat.
const FROZEN: [u8; 3] = [24, 25, 60];

/// Shades of a zone by the share of its pages that are valid, and where the next begins. Few zones
/// are less than half valid for long.
const SHADES: [(&str, f64); 4] = [("░", 0.5), ("▒", 0.75), ("▓", 0.9), ("█", f64::INFINITY)];

/// The look of a zone in the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Empty,
    Metadata,
    Waiting,
    Dead,
    /// A class, from 1, and whether one of the zones is open.
    Data(u32, bool),
}

impl Kind {
    fn of(zone: &ZoneStatus) -> Kind {
        match zone.role {
            Role::Empty => Kind::Empty,
            Role::Meta => Kind::Metadata,
            Role::Waiting => Kind::Waiting,
            Role::Dead => Kind::Dead,
            Role::Data => Kind::Data(zone.class.unwrap_or(1), zone.sealed == Some(false)),
        }
    }
}

/// The style of a class. A frozen one stands out by its background.
pub(crate) fn style(class: u32, classes: &[ClassView]) -> Style {
    let frozen = classes.iter().filter(|class| class.frozen);
    let style = Style::new();
    match frozen.map(|class| class.class).position(|frozen| frozen == class) {
        Some(place) => {
            style.fg(Color::Indexed(255)).bg(Color::Indexed(FROZEN[place % FROZEN.len()]))
        }
        None => style.fg(Color::Indexed(CLASSES[(class as usize + 7) % CLASSES.len()])),
    }
}

/// The symbols of the map, in words.
pub(crate) const KEY: &str =
    "░▒▓█ valid: 50, 75, 90 %  + open  · empty  w to reset  m metadata  x dead";

/// Zones of a cell, so that all have room.
pub(crate) fn zones_a_cell(zones: usize, room: Rect) -> usize {
    let cells = usize::from(room.width) * usize::from(room.height);
    zones.div_ceil(cells.max(1)).max(1)
}

/// Draws the zones of a device.
pub(crate) fn draw(zones: &[ZoneStatus], classes: &[ClassView], room: Rect, buffer: &mut Buffer) {
    if room.is_empty() {
        return;
    }
    let together = zones_a_cell(zones.len(), room);
    for (cell, zones) in zones.chunks(together).enumerate() {
        let (x, y) = (cell % usize::from(room.width), cell / usize::from(room.width));
        let (symbol, style) = look(zones, classes);
        let place = (room.x + x as u16, room.y + y as u16);
        if let Some(cell) = buffer.cell_mut(place) {
            cell.set_symbol(symbol).set_style(style);
        }
    }
}

/// The look of a cell: of its most frequent kind of zones.
fn look(zones: &[ZoneStatus], classes: &[ClassView]) -> (&'static str, Style) {
    let dim = Style::new().add_modifier(Modifier::DIM);
    match most_frequent(zones) {
        Kind::Empty => ("·", dim),
        Kind::Metadata => ("m", dim),
        Kind::Waiting => ("w", dim),
        Kind::Dead => ("x", Style::new().fg(Color::Indexed(196))),
        Kind::Data(class, open) => {
            let shares = || zones.iter().filter_map(|zone| zone.valid_share);
            let share = shares().sum::<f64>() / shares().count().max(1) as f64;
            let shade =
                SHADES.iter().find(|(_, end)| share < *end).map_or("█", |(shade, _)| shade);
            (if open { "+" } else { shade }, style(class, classes))
        }
    }
}

fn most_frequent(zones: &[ZoneStatus]) -> Kind {
    let mut kinds: Vec<_> = zones.iter().map(Kind::of).collect();
    kinds.sort_unstable();
    let stretches = kinds.chunk_by(|a, b| a == b);
    stretches.max_by_key(|stretch| stretch.len()).map_or(Kind::Empty, |stretch| stretch[0])
}
