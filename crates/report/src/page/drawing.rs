//! SVG drawings with a few kinds of marks.

use askama::Template;

/// The number of colour classes.
pub(super) const COLOURS: usize = 8;

/// A place in a drawing, in pixels from the left and the top.
pub(super) type At = (Pixels, Pixels);

/// Pixels, written with one decimal digit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pixels(pub(super) f64);

impl std::fmt::Display for Pixels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", (self.0 * 10.0).round() / 10.0)
    }
}

/// The place at these pixels.
pub(super) fn at(x: f64, y: f64) -> At {
    (Pixels(x), Pixels(y))
}

/// A mark.
pub(super) enum Mark {
    Line { from: At, to: At, class: &'static str },
    Bar { at: At, size: At, class: String, told: String },
    Dot { at: At, class: String, told: String },
    Path { points: Vec<At>, class: String, told: String },
    Text { at: At, anchor: &'static str, class: &'static str, text: String },
}

impl Mark {
    /// The mark with those of its places that are finite; `None` if it can't be drawn. SVG has no
    /// other numbers.
    fn finite(self) -> Option<Mark> {
        let is_finite =
            |places: &[At]| places.iter().all(|(x, y)| x.0.is_finite() && y.0.is_finite());
        match self {
            Mark::Path { points, class, told } => {
                let points: Vec<_> =
                    points.into_iter().filter(|point| is_finite(&[*point])).collect();
                (!points.is_empty()).then_some(Mark::Path { points, class, told })
            }
            Mark::Line { from, to, .. } => is_finite(&[from, to]).then_some(self),
            Mark::Bar { at, size, .. } => is_finite(&[at, size]).then_some(self),
            Mark::Dot { at, .. } | Mark::Text { at, .. } => is_finite(&[at]).then_some(self),
        }
    }
}

/// A drawing.
#[derive(Template)]
#[template(path = "drawing.svg", escape = "html")]
pub(super) struct Drawing {
    /// `wide` or `narrow`.
    class: &'static str,
    width: Pixels,
    height: Pixels,
    /// A description of the drawing in words.
    label: String,
    marks: Vec<Mark>,
}

/// The drawings of a figure, for wide and for narrow screens.
pub(super) struct Drawings {
    pub(super) wide: String,
    pub(super) narrow: String,
}

/// Draws a figure in both widths. `marks` returns the marks for a width, and the height that they
/// need.
///
/// # Errors
/// Never in practice: writing to memory can't fail.
pub(super) fn draw(
    label: &str,
    marks: impl Fn(f64) -> (Vec<Mark>, f64),
) -> Result<Drawings, askama::Error> {
    let svg = |class, width| {
        let (marks, height) = marks(width);
        let marks = marks.into_iter().filter_map(Mark::finite).collect();
        let label = label.to_string();
        Drawing { class, width: Pixels(width), height: Pixels(height), label, marks }.render()
    };
    Ok(Drawings { wide: svg("wide", 728.0)?, narrow: svg("narrow", 328.0)? })
}

/// A text mark.
pub(super) fn text(place: At, anchor: &'static str, class: &'static str, text: &str) -> Mark {
    Mark::Text { at: place, anchor, class, text: text.to_string() }
}

/// Steps of an axis from 0 or above: round numbers, at most `most` of them and one more where the
/// axis begins. None if `most` is 0, or if the axis has no length.
pub(super) fn steps(from: f64, to: f64, most: usize) -> Vec<f64> {
    let rough = (to - from) / most as f64;
    if !rough.is_normal() || rough < 0.0 {
        return Vec::new();
    }
    let power = 10f64.powf(rough.log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].map(|n| n * power).into_iter().find(|step| *step >= rough * 0.999);
    let step = step.unwrap_or(power * 10.0);
    let (first, last) = ((from / step).ceil(), (to / step + 1e-6).floor());
    let number = (last - first).max(-1.0) as usize + 1;
    (0..number.min(most + 1)).map(|n| (first + n as f64) * step).collect()
}

/// A number in the form for axes and tables.
pub(super) fn short(value: f64) -> String {
    let digits = match value.abs() {
        large if large >= 1000.0 => 0,
        large if large >= 100.0 => 1,
        _ => 4,
    };
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}
