//! The kinds of figures: rows of dots, bars or stacked bars, and lines.

use super::drawing::{At, COLOURS, Drawings, Mark, at, draw, short, steps, text};

/// The height of a row, in pixels.
const ROW: f64 = 19.0;

/// The largest width of labels, in pixels; below, the width of a character.
const LABELS: f64 = 190.0;
const CHARACTER: f64 = 6.6;

/// A row: its label, and a value for each series; `None` if the series has none.
pub(super) struct ChartRow {
    pub(super) label: String,
    pub(super) values: Vec<Option<f64>>,
    /// True if a line is drawn above the row.
    pub(super) apart: bool,
}

/// A scale from values to pixels.
struct Axis {
    from: f64,
    to: f64,
    left: f64,
    right: f64,
}

impl Axis {
    fn x(&self, value: f64) -> f64 {
        let share = (value - self.from) / (self.to - self.from).max(1e-12);
        self.left + share.clamp(0.0, 1.0) * (self.right - self.left)
    }
}

/// The width of the rows' labels, in pixels.
fn label_width(rows: &[ChartRow], width: f64) -> f64 {
    let longest = rows.iter().map(|row| row.label.chars().count()).max().unwrap_or(0);
    (longest as f64 * CHARACTER + 8.0).min(LABELS).min(width * 0.45)
}

/// A label, cut to the width.
fn cut(label: &str, width: f64) -> String {
    let fits = ((width - 8.0) / CHARACTER) as usize;
    match label.chars().count() > fits.max(4) {
        true => label.chars().take(fits.max(4) - 1).collect::<String>() + "…",
        false => label.to_string(),
    }
}

/// Labels, rules and the axis of a figure with rows.
fn frame(rows: &[ChartRow], scale: &Axis, most: usize) -> (Vec<Mark>, f64) {
    let (mut marks, bottom) = (Vec::new(), rows.len() as f64 * ROW + 4.0);
    for step in steps(scale.from, scale.to, most) {
        let x = scale.x(step);
        marks.push(Mark::Line { from: at(x, 0.0), to: at(x, bottom), class: "" });
        marks.push(text(at(x, bottom + 14.0), "middle", "soft", &short(step)));
    }
    for (row, number) in rows.iter().zip(0..) {
        let top = f64::from(number) * ROW;
        if row.apart {
            marks.push(Mark::Line { from: at(0.0, top), to: at(scale.right, top), class: "apart" });
        }
        let place = at(0.0, top + ROW - 5.0);
        marks.push(text(place, "start", "", &cut(&row.label, scale.left)));
    }
    (marks, bottom + 20.0)
}

/// The vertical position of a row's middle.
fn middle(number: usize) -> f64 {
    number as f64 * ROW + ROW / 2.0 + 1.0
}

/// Rows of dots, each series in one colour. The axis begins at `from` and includes all dots.
pub(super) fn dots(
    label: &str,
    series: &[String],
    rows: &[ChartRow],
    from: f64,
) -> Result<Drawings, askama::Error> {
    let largest =
        rows.iter().flat_map(|row| row.values.iter().flatten()).copied().fold(from, f64::max);
    draw(label, |width| {
        let left = label_width(rows, width);
        let to = from + (largest - from).max(1e-3) * 1.02;
        let scale = Axis { from, to, left, right: width - 14.0 };
        let (mut marks, height) = frame(rows, &scale, if width < 400.0 { 4 } else { 8 });
        for (number, row) in rows.iter().enumerate() {
            for (place, value) in row.values.iter().enumerate() {
                let Some(value) = value else { continue };
                marks.push(Mark::Dot {
                    at: at(scale.x(*value), middle(number)),
                    class: format!("f{}", place % COLOURS),
                    told: format!("{} {}: {}", row.label, series[place], short(*value)),
                });
            }
        }
        (marks, height)
    })
}

/// Rows of bars from 0; the values of a row are stacked, with their sum as text at the end.
pub(super) fn bars(
    label: &str,
    series: &[String],
    rows: &[ChartRow],
    shown: impl Fn(f64) -> String,
) -> Result<Drawings, askama::Error> {
    let sum = |row: &ChartRow| row.values.iter().flatten().sum::<f64>();
    let ends = || rows.iter().map(sum);
    let (least, most) = (ends().fold(0.0, f64::min), ends().fold(1e-9, f64::max));
    draw(label, |width| {
        let left = label_width(rows, width);
        let scale = Axis { from: least, to: most, left, right: width - 66.0 };
        let (mut marks, height) = frame(rows, &scale, 0);
        for (number, row) in rows.iter().enumerate() {
            let mut begun = 0.0;
            for (place, value) in row.values.iter().enumerate() {
                let value = value.unwrap_or(0.0);
                let (a, b) = (scale.x(begun), scale.x(begun + value));
                begun += value;
                let told = match series.get(place) {
                    Some(name) => format!("{} {name}: {}", row.label, shown(value)),
                    None => format!("{}: {}", row.label, shown(value)),
                };
                marks.push(Mark::Bar {
                    at: at(a.min(b), middle(number) - 6.0),
                    size: at((b - a).abs(), 12.0),
                    class: format!("f{}", place % COLOURS),
                    told,
                });
            }
            if row.values.iter().any(Option::is_some) {
                let place = at(scale.x(begun.max(0.0)) + 4.0, middle(number) + 4.0);
                marks.push(text(place, "start", "soft", &shown(begun)));
            }
        }
        (marks, height - 16.0)
    })
}

/// Lines, each in one colour. `axis` names the horizontal axis.
pub(super) fn lines(
    label: &str,
    names: &[String],
    lines: &[Vec<(f64, f64)>],
    axis: &str,
) -> Result<Drawings, askama::Error> {
    const HEIGHT: f64 = 240.0;
    let points = || lines.iter().flatten();
    let (right, top) =
        points().fold((1e-9, 1e-9), |(x, y): (f64, f64), p| (x.max(p.0), y.max(p.1)));
    let least = points().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let floor = if least >= 1.0 { 1.0 } else { 0.0 };
    let top = top.max(floor + 1e-2);
    draw(label, |width| {
        let across = Axis { from: 0.0, to: right, left: 40.0, right: width - 14.0 };
        // The vertical axis goes upwards.
        let up = Axis { from: floor, to: top, left: HEIGHT, right: 8.0 };
        let mut marks = Vec::new();
        for step in steps(floor, top, 5) {
            let y = up.x(step);
            marks.push(Mark::Line { from: at(across.left, y), to: at(across.right, y), class: "" });
            marks.push(text(at(across.left - 6.0, y + 4.0), "end", "soft", &short(step)));
        }
        for step in steps(0.0, right, if width < 400.0 { 3 } else { 6 }) {
            let place = at(across.x(step), HEIGHT + 16.0);
            marks.push(text(place, "middle", "soft", &short(step)));
        }
        marks.push(text(at(across.right, HEIGHT + 32.0), "end", "soft", axis));
        for (number, (line, name)) in lines.iter().zip(names).enumerate() {
            let place = |&(x, y): &(f64, f64)| -> At { at(across.x(x), up.x(y)) };
            let (points, class) = (line.iter().map(place), format!("l{}", number % COLOURS));
            marks.push(Mark::Path { points: points.collect(), class, told: name.clone() });
        }
        (marks, HEIGHT + 40.0)
    })
}
