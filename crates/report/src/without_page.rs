//! Replaces the page of results in a build without the feature `page`.

use frostline_results::RunRecord;

use crate::{Error, Result};

/// Makes no page.
///
/// # Errors
/// Always: this build has no pages.
pub fn page(_title: &str, _records: &[RunRecord]) -> Result<String> {
    Err(Error::NotBuiltIn { what: "pages of results" })
}
