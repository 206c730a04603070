//! Tables, as Markdown and as JSON.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// A cell of a table.
#[derive(Clone, Debug)]
pub enum Cell {
    /// A word.
    Text(String),
    /// A whole number.
    Count(u64),
    /// A number, with this many digits after the point in Markdown.
    Number(f64, usize),
    /// A share of 1, shown in percent in Markdown.
    Share(f64),
    /// No value.
    None,
}

impl Cell {
    /// A word.
    pub(super) fn text(text: impl Into<String>) -> Cell {
        Cell::Text(text.into())
    }

    /// A WAF.
    pub(super) fn waf(waf: f64) -> Cell {
        Cell::Number(waf, 3)
    }

    /// A share, or no value.
    pub(super) fn share(share: Option<f64>) -> Cell {
        share.map_or(Cell::UNKNOWN, Cell::Share)
    }

    /// A number that no run produced.
    pub(super) const UNKNOWN: Cell = Cell::Number(f64::NAN, 0);

    /// A relative change.
    pub(super) fn change(change: f64) -> Cell {
        Cell::Text(format!("{:+.1} %", change * 100.0))
    }

    /// The number in the cell; `None` if it has none.
    pub(super) fn value(&self) -> Option<f64> {
        match *self {
            Cell::Number(value, _) | Cell::Share(value) => Some(value).filter(|v| v.is_finite()),
            _ => None,
        }
    }

    fn markdown(&self) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Count(count) => count.to_string(),
            Cell::Number(value, _) | Cell::Share(value) if !value.is_finite() => "-".to_string(),
            Cell::Number(value, digits) => format!("{value:.digits$}"),
            Cell::Share(share) => format!("{:.1} %", share * 100.0),
            Cell::None => String::new(),
        }
    }

    fn is_text(&self) -> bool {
        matches!(self, Cell::Text(_))
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Cell::Text(text) => text.serialize(serializer),
            Cell::Count(count) => count.serialize(serializer),
            Cell::Number(value, _) | Cell::Share(value) => value.serialize(serializer),
            Cell::None => serializer.serialize_none(),
        }
    }
}

/// Headings of columns.
pub(super) fn headings<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    names.into_iter().map(str::to_string).collect()
}

/// A table.
#[derive(Clone, Debug)]
pub struct ReportTable {
    /// Its name in JSON.
    pub name: &'static str,
    /// Its title.
    pub title: String,
    /// An explanation for the reader.
    pub note: String,
    /// Headings.
    pub columns: Vec<String>,
    /// Rows with a cell for each column.
    pub rows: Vec<Vec<Cell>>,
}

impl ReportTable {
    /// The table as Markdown, under a heading.
    pub fn markdown(&self) -> String {
        let ReportTable { title, note, columns, rows, .. } = self;
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let is_text = |column: usize| column == 0 || rows.iter().all(|row| row[column].is_text());
        let rules = (0..columns.len()).map(|column| if is_text(column) { "---" } else { "--:" });
        let mut text = format!("## {title}\n\n");
        if !note.is_empty() {
            text += &format!("{note}\n\n");
        }
        text += &line(columns.clone());
        text += &format!("|{}|\n", rules.collect::<Vec<_>>().join("|"));
        text.extend(rows.iter().map(|row| line(row.iter().map(Cell::markdown).collect())));
        text
    }
}

impl Serialize for ReportTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(5))?;
        map.serialize_entry("name", self.name)?;
        map.serialize_entry("title", &self.title)?;
        map.serialize_entry("note", &self.note)?;
        map.serialize_entry("columns", &self.columns)?;
        let rows = self.rows.iter().map(|cells| JsonRow { columns: &self.columns, cells });
        map.serialize_entry("rows", &rows.collect::<Vec<_>>())?;
        map.end()
    }
}

/// A row as a JSON object.
struct JsonRow<'a> {
    columns: &'a [String],
    cells: &'a [Cell],
}

impl Serialize for JsonRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.columns.iter().zip(self.cells))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> ReportTable {
        ReportTable {
            name: "t",
            title: "T".to_string(),
            note: "N.".to_string(),
            columns: headings(["scheme", "WAF", "FAR", "paper"]),
            rows: vec![vec![Cell::text("a"), Cell::waf(1.5), Cell::Share(0.25), Cell::None]],
        }
    }

    #[test]
    fn markdown_has_units_and_alignment() {
        let expected = "## T\n\nN.\n\n| scheme | WAF | FAR | paper |\n|---|--:|--:|--:|\n\
                        | a | 1.500 | 25.0 % |  |\n";
        assert_eq!(table().markdown(), expected);
    }

    #[test]
    fn json_has_bare_values_by_column() {
        let json = serde_json::to_value(table()).unwrap();
        let row = serde_json::json!({"scheme": "a", "WAF": 1.5, "FAR": 0.25, "paper": null});
        assert_eq!(json["rows"][0], row);
    }
}
