//! The numbers of the paper: Tan et al., SepFrozen. Most of its figures are pictures, and numbers
//! that can only be read off a picture are not here.

/// A figure of the paper.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    /// The figure, as the paper has it.
    pub(super) text: &'static str,
    /// The section.
    pub(super) place: &'static str,
}

const fn told(text: &'static str, place: &'static str) -> Told {
    Told { text, place }
}

/// WAF on TPC-C.
pub(super) const WAF_TPCC: &[(&str, &str)] = &[
    // 1.60 is 30.2 % less.
    ("sepbit", "2.29, derived"),
    ("sepfrozen-bit", "1.60"),
    ("fk-kmeans", "1.49"),
];

/// FAR, of the schemes of figure 4.
pub(super) const FAR: &[(&str, &str)] = &[
    ("nosep", "above 50 %"),
    ("2r-greedy", "above 50 %"),
    ("warcip", "above 50 %"),
    ("dac", "above 50 %"),
    ("sepbit", "above 50 %"),
];

/// Page writes over pages of TPC-C.
pub(super) const TPCC_SETUP: Told = told("14, derived", "sections 4.3, 5.1");
/// Page writes over pages of YCSB-100W.
pub(super) const YCSB_100W_SETUP: Told = told("51", "section 5.1");
/// Page writes over pages of YCSB-50W.
pub(super) const YCSB_50W_SETUP: Told = told("36", "section 5.1");

/// WAF of SepFrozenBIT against SepBIT's.
pub(super) const WAF_BIT: Told = told("-30.2 %", "section 5.2");
/// FAR of SepFrozenBIT against SepBIT's.
pub(super) const FAR_BIT: Told = told("-27.5 to -35.4 %", "section 5.2");
/// FAR of SepFrozenDAC against DAC's.
pub(super) const FAR_DAC: Told = told("-27.5 to -35.4 %", "section 5.2");
/// WAF of SepBIT against future knowledge's.
pub(super) const ABOVE_FK: Told = told("+43.3 %", "section 3");
/// WAF of SepFrozenBIT against future knowledge's.
pub(super) const FROZEN_ABOVE_FK: Told = told("+7.4 %, derived", "section 5.2");
/// WAF over all sizes of zones, of both schemes.
pub(super) const WAF_BY_ZONE: Told = told("-17.5 to -33.9 %", "section 5.2, figure 16");
/// WAF over all thresholds, of both schemes.
pub(super) const WAF_BY_GP: Told = told("-14.5 to -30.8 %", "section 5.2, figure 17");
/// Throughput of SepFrozenBIT against SepBIT's.
pub(super) const TPMC_BIT: Told = told("+19.5 %", "section 5.2");

/// Models: accuracy, false positives, where.
pub(super) const MODELS: &[(&str, &str, &str)] = &[("sgd", "92 %", ""), ("2r", "", "41 %")];
/// Accuracy by the writes that are looked at (figure 20).
pub(super) const HISTORY: [&str; 4] = ["78 %", "92 %", "", ""];
/// Accuracy as features are added (figure 21), and their correlations with being frozen
/// (section 4.1).
pub(super) const FEATURES: [(&str, &str, &str, &str); 6] = [
    ("VD", "valid-bytes", "71 %", "0.7948"),
    ("WT", "write-time", "89 %", "0.7369"),
    ("AI", "access-interval", "", "0.5021"),
    ("MI", "modification-interval", "", "0.4937"),
    ("AC", "accesses", "", "0.6374"),
    ("MC", "modifications", "92 %", "0.5695"),
];
/// The share of cumulative written pages that is frozen.
pub(super) const FROZEN_SHARE: &str = "30 to 50 %";

/// The paper's figure for a scheme; empty if it has none.
pub(super) fn of(told: &[(&'static str, &'static str)], scheme: &str) -> &'static str {
    told.iter().find(|(name, _)| *name == scheme).map_or("", |(_, text)| text)
}
