//! The picture of made-up stores, and what their history tells.

use std::collections::BTreeMap;

use frostline_store::{CallView, ClassView, Role, StoreView, Written, ZoneStatus};
use frostline_zone::ZoneState;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::Rect;
use ratatui::style::Color;

use crate::history::History;
use crate::{map, picture};

fn class(class: u32, frozen: bool) -> ClassView {
    let pages = u64::from(class) * 90_000;
    ClassView { class, frozen, user_writes: pages, relocations: pages / 3 }
}

fn zone(zone: u32) -> ZoneStatus {
    let role = match zone {
        0..4 => Role::Meta,
        120 => Role::Waiting,
        121 => Role::Dead,
        122.. => Role::Empty,
        _ => Role::Data,
    };
    let is_data = role == Role::Data;
    let open = is_data && zone % 40 == 39;
    let written = if is_data { 256 } else { 0 };
    ZoneStatus {
        zone,
        role,
        state: if open { ZoneState::ImplicitOpen } else { ZoneState::Full },
        capacity: 256,
        written,
        class: is_data.then_some(zone % 3 + 1),
        valid: is_data.then_some(zone),
        valid_share: is_data.then_some(f64::from(zone) / 120.0),
        opening: is_data.then_some(u64::from(zone)),
        sealed: is_data.then_some(!open),
    }
}

/// A store with 130 zones, of which every third holds pages that are taken for frozen.
fn view(seconds: f64, user: u64, relocations: u64) -> StoreView {
    let written = Written {
        user,
        relocations,
        headers: user / 50,
        checkpoints: user / 200,
        user_bytes: user * 4096,
        relocated_bytes: relocations * 4096,
        header_bytes: user / 50 * 4096,
        padding_bytes: 0,
    };
    let call = |call: &str, calls: u64| CallView {
        call: call.to_string(),
        seconds: calls as f64 * 5e-6,
        bounds_us: vec![1, 4, 16, 64],
        counts: vec![calls / 2, calls / 4, calls / 8, calls / 16, calls / 16],
    };
    StoreView {
        frostline: "0.1.0".to_string(),
        store: 7,
        scheme: "frozen:sepgc".to_string(),
        victim: "cost-benefit".to_string(),
        gp: 0.15,
        page_bytes: 4096,
        seconds,
        written,
        opened: Written::default(),
        garbage_proportion: 0.1487,
        free_zones: 11,
        zones_reclaimed: 4321,
        mean_victim_gp: 0.615,
        stall_seconds: 1.25,
        bytes: 3_000_000,
        classes: vec![class(1, false), class(2, false), class(3, true)],
        calls: vec![call("write", user), call("read", 0)],
        gauges: BTreeMap::from([("precision".to_string(), 0.9312), ("trainings".to_string(), 6.0)]),
        zones: (0..130).map(zone).collect(),
    }
}

/// Half an hour of it, with the work of its end.
fn history() -> History {
    let mut history = History::default();
    for second in 0..40u64 {
        let user = second * 16_000;
        history.push(view(1760.0 + second as f64, user, user * (second % 8 + 4) / 16));
    }
    history
}

fn drawn(width: u16, height: u16) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let draw = |frame: &mut ratatui::Frame<'_>| {
        let area = frame.area();
        picture::draw(&history(), "frostline top a:1", "q: end", area, frame.buffer_mut());
    };
    terminal.draw(draw).unwrap();
    terminal
}

#[test]
fn the_picture_on_a_terminal_of_80_columns() {
    insta::assert_snapshot!(drawn(80, 24).backend());
}

#[test]
fn the_picture_on_a_wide_terminal() {
    insta::assert_snapshot!(drawn(140, 30).backend());
}

#[test]
fn the_picture_on_a_narrow_terminal() {
    insta::assert_snapshot!(drawn(40, 40).backend());
}

#[test]
fn no_terminal_is_too_small_to_be_drawn_on() {
    for (width, height) in
        [(0, 0), (0, 30), (90, 0), (1, 1), (3, 2), (10, 3), (20, 5), (200, 2), (2, 100)]
    {
        drawn(width, height);
    }
}

#[test]
fn a_store_that_was_not_seen_yet_is_drawn_by_its_title() {
    let mut terminal = Terminal::new(TestBackend::new(30, 3)).unwrap();
    let history = History::default();
    let draw = |frame: &mut ratatui::Frame<'_>| {
        let area = frame.area();
        picture::draw(&history, "frostline bench store", "begins", area, frame.buffer_mut());
    };
    terminal.draw(draw).unwrap();
    insta::assert_snapshot!(terminal.backend());
}

#[test]
fn zones_of_frozen_classes_have_a_background_and_others_none() {
    let view = view(10.0, 100, 10);
    let room = Rect::new(0, 0, 130, 1);
    let mut buffer = ratatui::buffer::Buffer::empty(room);
    map::draw(&view.zones, &view.classes, room, &mut buffer);
    for (zone, cell) in view.zones.iter().zip(&buffer.content) {
        let is_frozen = zone.class == Some(3);
        assert_eq!(cell.bg != Color::Reset, is_frozen, "zone {}: {cell:?}", zone.zone);
    }
}

#[test]
fn zones_that_do_not_fit_share_cells_and_the_most_frequent_is_seen() {
    let view = view(10.0, 100, 10);
    let room = Rect::new(0, 0, 13, 2);
    assert_eq!(map::zones_a_cell(view.zones.len(), room), 5);
    let mut buffer = ratatui::buffer::Buffer::empty(room);
    map::draw(&view.zones, &view.classes, room, &mut buffer);
    let symbols: String = buffer.content.iter().map(|cell| cell.symbol()).collect();
    assert_eq!(symbols.chars().next(), Some('m'));
    assert!(symbols.ends_with('·'));
}

#[test]
fn what_was_done_lately_is_the_difference_to_two_seconds_ago() {
    let mut history = History::default();
    for (tenth, user) in (0..40u64).map(|tenth| (tenth, tenth * tenth)) {
        history.push(view(tenth as f64 / 10.0, user, 0));
    }
    let lately = history.lately().unwrap();
    assert!((2.0..2.2).contains(&lately.seconds), "{}", lately.seconds);
    assert_eq!(lately.written.user, 39 * 39 - 19 * 19);
}

#[test]
fn a_store_that_was_opened_anew_has_a_history_of_its_own() {
    let mut history = history();
    history.push(view(0.5, 1000, 500));
    let lately = history.lately().unwrap();
    assert_eq!((lately.written.user, lately.seconds), (1000, 0.5));
    assert_eq!(history.wafs().count(), 0);
}
