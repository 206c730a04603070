//! A page of results: one HTML file with figures and their data, which needs no network.

mod charts;
mod dataset;
mod drawing;
mod sections;

use askama::Template;

use crate::results::RunRecord;
use crate::{Error, Result};
use dataset::Dataset;
use sections::Section;

/// The page.
#[derive(Template)]
#[template(path = "page.html")]
struct Page<'a> {
    title: &'a str,
    datasets: Vec<PageDataset>,
}

/// A dataset on the page.
struct PageDataset {
    title: String,
    notes: Vec<String>,
    sections: Vec<Section>,
}

/// Makes a page from records. Runs of the same trace, zones and trigger are shown together.
///
/// # Errors
/// Never in practice: writing to memory can't fail.
pub fn page(title: &str, records: &[RunRecord]) -> Result<String> {
    let shown = |dataset: Dataset<'_>| {
        let sections = sections::all(&dataset)?;
        Ok(PageDataset { title: dataset.title(), notes: dataset.notes(), sections })
    };
    let datasets = Dataset::all(records).into_iter().map(shown).collect::<askama::Result<_>>();
    let page = datasets.and_then(|datasets| Page { title, datasets }.render());
    page.map_err(Error::writing("html"))
}
