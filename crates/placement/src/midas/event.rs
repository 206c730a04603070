//! Events of the groups, for a reader.

use std::fmt::{Display, Formatter, Result};

use super::search::Division;

/// Something that happened to the groups.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum GroupEvent {
    /// An epoch ended.
    Epoch {
        /// Ages below which a quarter, a half and three quarters of the versions die; infinite if
        /// they live longer than was observed.
        quartiles: [f64; 3],
        /// Share of the versions whose end was not observed.
        endless: f64,
        /// Share of the valid pages that the model takes for frozen.
        frozen: f64,
        /// Write amplification that was measured of late.
        measured: f64,
        /// The best division, if any can be kept.
        division: Option<Box<Division>>,
        /// Measured relocations of the division that was given up last, divided by the predicted
        /// ones.
        error: f64,
        /// True if the division is applied.
        is_applied: bool,
    },
    /// More was copied than before the groups had sizes.
    Worse {
        /// Write amplification before the groups had sizes.
        before: f64,
        /// Write amplification since.
        after: f64,
    },
    /// A group held more valid pages than was predicted.
    Irregular {
        /// Its class.
        group: usize,
        /// The share of valid pages that was predicted.
        predicted: f64,
        /// The share that was measured.
        measured: f64,
    },
    /// Cleaning did not end.
    Endless {
        /// The class from which on the groups were merged.
        group: usize,
    },
}

impl Display for GroupEvent {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            GroupEvent::Epoch {
                quartiles,
                endless,
                frozen,
                measured,
                division,
                error,
                is_applied,
            } => {
                let [a, b, c] = quartiles;
                write!(f, "lifespans {a:.0} {b:.0} {c:.0}, endless {:.1} %, ", endless * 100.0)?;
                write!(f, "frozen {:.1} % of the pages, WAF {measured:.3}; ", frozen * 100.0)?;
                match division {
                    None => write!(f, "no sizes can be kept"),
                    Some(division) => write_division(f, division, *error, *is_applied),
                }
            }
            GroupEvent::Irregular { group, predicted, measured } => {
                write!(
                    f,
                    "group {group} is {measured:.3} valid when cleaned, not {predicted:.3}: "
                )?;
                write!(f, "groups from {group} on share a pool")
            }
            GroupEvent::Worse { before, after } => {
                write!(f, "WAF {after:.3}, before {before:.3}: all groups share a pool")
            }
            GroupEvent::Endless { group } => {
                write!(f, "cleaning did not end: groups from {group} on share a pool")
            }
        }
    }
}

fn write_division(
    f: &mut Formatter<'_>,
    division: &Division,
    error: f64,
    is_applied: bool,
) -> Result {
    let Division { hot, chain, prediction } = division;
    let verdict = if is_applied { "applied" } else { "not applied" };
    write!(f, "predicted {:.3}, relocations off by {error:.2}, ", prediction.waf)?;
    write!(f, "{verdict}: hot {} zones", hot.zones)?;
    write!(f, " ({:.1} % of the writes), chain", hot.share * 100.0)?;
    for (zones, valid) in chain.iter().zip(&prediction.valid) {
        write!(f, " {zones} ({valid:.2})")?;
    }
    Ok(())
}
