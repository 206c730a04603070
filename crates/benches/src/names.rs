//! Names of settings, in reports and on the command line.

use frostline_db::Replacement;
use frostline_store::Cleaning;

/// The name of the thread that cleans.
pub fn cleaning_name(cleaning: Cleaning) -> &'static str {
    match cleaning {
        Cleaning::Background => "background",
        Cleaning::Inline => "inline",
    }
}

/// The name of the rule by which pages leave memory.
pub fn replacement_name(replacement: Replacement) -> &'static str {
    match replacement {
        Replacement::Watt => "watt",
        Replacement::Clock => "clock",
    }
}
