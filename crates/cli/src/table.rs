//! Tables for standard output: plain columns, numbers aligned right.

use comfy_table::{CellAlignment, Table, presets};

/// Lays out rows under their headings. The first `left` columns are text.
pub fn columns(headings: &[&str], left: usize, rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(headings.iter().copied());
    table.add_rows(rows);
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if i >= left {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines = table.lines().map(|line| line.trim_end().to_string() + "\n");
    lines.collect()
}
