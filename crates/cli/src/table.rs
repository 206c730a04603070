//! Tables for standard output: plain columns, numbers aligned right.

use std::io::stdout;

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};
use terminal_size::{Width, terminal_size_of};

/// The width of a table of texts that does not go to a terminal.
const WIDTH: u16 = 100;

/// The least width of a table of texts: in less no column has room for a word.
const LEAST_WIDTH: u16 = 60;

/// The columns that standard output has for a table of texts.
pub(crate) fn width() -> u16 {
    terminal_size_of(stdout()).map_or(WIDTH, |(Width(columns), _)| columns.max(LEAST_WIDTH))
}

/// Lays out rows under their headings. The first `left` columns are text.
pub(crate) fn columns(headings: &[&str], left: usize, rows: Vec<Vec<String>>) -> String {
    laid_out(headings, left, rows, None)
}

/// Lays out rows under their headings in so many columns of the terminal, texts wrapped.
pub(crate) fn wrapped(
    headings: &[&str],
    left: usize,
    rows: Vec<Vec<String>>,
    width: u16,
) -> String {
    laid_out(headings, left, rows, Some(width))
}

fn laid_out(headings: &[&str], left: usize, rows: Vec<Vec<String>>, width: Option<u16>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(headings.iter().copied());
    table.add_rows(rows);
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if i >= left {
            column.set_cell_alignment(CellAlignment::Right);
        }
        if i == 0 {
            // Names are looked for, so they stay in one piece.
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    if let Some(width) = width {
        // The padding of the last column is cut off.
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width + 2);
    }
    let lines = table.lines().map(|line| line.trim_end().to_string() + "\n");
    lines.collect()
}
