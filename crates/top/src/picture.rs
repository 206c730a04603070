//! The picture of a store: the map above, figures below.

use frostline_store::StoreView;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Borders, Paragraph, Widget};

use crate::figures::{self, Section};
use crate::history::History;
use crate::map;

/// Columns of a group of figures.
const GROUP: u16 = 38;

/// Lines that figures have at least, if there are so many.
const FIGURES: u16 = 12;

/// Draws the last view of a history. `title` says where it comes from, `note` is the last line.
pub(crate) fn draw(history: &History, title: &str, note: &str, area: Rect, buffer: &mut Buffer) {
    let rows = Layout::vertical([Constraint::Length(1), Constraint::Min(0), Constraint::Length(1)]);
    let [head, body, foot] = rows.areas(area);
    let dim = Style::new().add_modifier(Modifier::DIM);
    Line::styled(note.to_string(), dim).render(foot, buffer);
    let columns = (area.width / GROUP).clamp(1, 3);
    let figures = figures::all(history, usize::from(area.width / columns).saturating_sub(3));
    let (Some(now), Some(groups)) = (history.now(), figures) else {
        Line::raw(title.to_string()).render(head, buffer);
        return;
    };
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let told = format!("{title}: {}, {}, {:.0} s", now.scheme, now.victim, now.seconds);
    Line::styled(told, bold).render(head, buffer);
    let groups = columns_of(groups, columns);
    let longest = groups.iter().map(|group| lines(group).len()).max().unwrap_or(0) as u16;
    let left = body.height.saturating_sub(longest.min(FIGURES)).max(4).min(body.height);
    let above = map_height(now.zones.len(), body.width).min(left);
    let [above, below] =
        Layout::vertical([Constraint::Length(above), Constraint::Min(0)]).areas(body);
    draw_map(now, above, buffer);
    let places =
        Layout::horizontal(vec![Constraint::Fill(1); groups.len()]).spacing(2).split(below);
    for (group, place) in groups.iter().zip(places.iter()) {
        Paragraph::new(lines(group)).render(*place, buffer);
    }
}

/// Lines of a map that has a cell a zone, and of its frame.
fn map_height(zones: usize, width: u16) -> u16 {
    zones.div_ceil(usize::from(width.max(1))).clamp(1, 1000) as u16 + 2
}

/// Draws the map, with a line above and one below that has the key.
fn draw_map(now: &StoreView, area: Rect, buffer: &mut Buffer) {
    let dim = Style::new().add_modifier(Modifier::DIM);
    let block = Block::new().borders(Borders::TOP | Borders::BOTTOM).border_style(dim);
    let (room, zones) = (block.inner(area), now.zones.len());
    let block = match map::zones_a_cell(zones, room) {
        1 => block.title_top(format!(" {zones} zones ")),
        many => block.title_top(format!(" {zones} zones, {many} a cell ")),
    };
    block.title_bottom(format!(" {} ", map::KEY)).render(area, buffer);
    map::draw(&now.zones, &now.classes, room, buffer);
}

/// The groups in so many columns.
fn columns_of([work, calls, scheme]: [Vec<Section>; 3], columns: u16) -> Vec<Vec<Section>> {
    let both = |a: Vec<Section>, b: Vec<Section>| a.into_iter().chain(b).collect();
    match columns {
        1 => vec![both(both(work, calls), scheme)],
        2 => vec![both(work, calls), scheme],
        _ => vec![work, calls, scheme],
    }
}

fn lines(sections: &[Section]) -> Vec<Line<'static>> {
    let heading = Style::new().add_modifier(Modifier::UNDERLINED);
    let of = |section: &Section| {
        let title = Line::styled(section.title, heading);
        [title].into_iter().chain(section.lines.clone()).collect::<Vec<_>>()
    };
    sections.iter().flat_map(of).collect()
}

/// The picture as text, of this width and as high as it takes.
pub(crate) fn text(history: &History, title: &str, width: u16) -> String {
    let area = Rect::new(0, 0, width, 60);
    let mut buffer = Buffer::empty(area);
    draw(history, title, "", area, &mut buffer);
    let rows = buffer.content.chunks(usize::from(width));
    let rows: Vec<_> =
        rows.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>()).collect();
    let text: Vec<_> = rows.iter().map(|row| row.trim_end()).collect();
    text.join("\n").trim_end().to_string() + "\n"
}
