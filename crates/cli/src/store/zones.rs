//! `frostline store zones`: draws the zones.

use frostline_store::{Role, ZoneStatus};
use frostline_zone::ZoneState;

use crate::args::LookArgs;
use crate::cause::store_failure;
use crate::device::open_store;
use crate::failure::Failure;
use crate::output::json;
use crate::table;

/// Characters in a bar.
const CELLS: usize = 24;

/// Draws the zones, one per line.
pub(super) fn run(args: &LookArgs) -> Result<String, Failure> {
    let views = open_store(&args.uri)?.zones();
    let views = views.map_err(|error| store_failure(&args.uri, error))?;
    if args.json {
        return json("store zones", &views);
    }
    let lines = views.iter().map(line).collect();
    let headings = ["use", "state", "valid", "zone", "class", "pages", "share", "opening"];
    let roles = [Role::Meta, Role::Data, Role::Empty, Role::Waiting, Role::Dead].map(|role| {
        let zones = views.iter().filter(|view| view.role == role).count();
        (zones > 0).then(|| format!("{zones} {}", name(role)))
    });
    let roles = roles.into_iter().flatten().collect::<Vec<_>>().join(", ");
    Ok(format!(
        "{}: {} zones: {roles}\n\n{}",
        args.uri,
        views.len(),
        table::columns(&headings, 3, lines)
    ))
}

fn line(view: &ZoneStatus) -> Vec<String> {
    let some = |value: Option<String>| value.unwrap_or_default();
    vec![
        name(view.role).to_string(),
        state(view.state).to_string(),
        bar(view),
        view.zone.to_string(),
        some(view.class.map(|class| class.to_string())),
        view.written.to_string(),
        some(view.valid_share.map(|share| format!("{:.0} %", share * 100.0))),
        some(view.opening.map(|opening| opening.to_string())),
    ]
}

/// A bar: valid pages as full characters, garbage as light ones, unwritten pages as dots.
fn bar(view: &ZoneStatus) -> String {
    let cells = |pages: f64| (pages * CELLS as f64).round() as usize;
    let written = cells(f64::from(view.written) / f64::from(view.capacity.max(1))).min(CELLS);
    let valid = view.valid_share.map_or(0, cells).min(written);
    let rest = if view.role == Role::Meta { "▒" } else { "░" };
    "█".repeat(valid) + &rest.repeat(written - valid) + &"·".repeat(CELLS - written)
}

fn name(role: Role) -> &'static str {
    match role {
        Role::Meta => "meta",
        Role::Data => "data",
        Role::Empty => "empty",
        Role::Waiting => "waiting",
        Role::Dead => "dead",
    }
}

fn state(state: ZoneState) -> &'static str {
    match state {
        ZoneState::Empty => "empty",
        ZoneState::ImplicitOpen | ZoneState::ExplicitOpen => "open",
        ZoneState::Closed => "closed",
        ZoneState::Full => "full",
        ZoneState::ReadOnly => "read-only",
        ZoneState::Offline => "offline",
        ZoneState::Conventional => "conventional",
    }
}
