//! The report of an evaluation, in tables.

use serde::Serialize;

use super::tables::ReportTable;

/// A paper's evaluation: a table for each of its figures.
#[derive(Clone, Debug, Serialize)]
pub struct PaperReport {
    /// Version of the program.
    pub frostline: &'static str,
    /// The paper.
    pub paper: &'static str,
    /// The scale.
    pub scale: f64,
    /// Seed of all random choices.
    pub seed: u64,
    /// The tables.
    pub tables: Vec<ReportTable>,
}

impl PaperReport {
    /// All tables, as Markdown.
    pub fn markdown(&self) -> String {
        let tables = self.tables.iter().map(|table| "\n".to_string() + &table.markdown());
        let title = format!("# {}, scale {}, seed {}\n", self.paper, self.scale, self.seed);
        title + &tables.collect::<String>()
    }
}
