//! The numbers of the paper: Tan et al., SepFrozen. Most of its figures are pictures; numbers that
//! could only be read off a picture are not included.

/// A figure of the paper.
#[derive(Clone, Copy, Debug)]
pub(super) struct PaperFigure {
    /// The figure in the paper's form.
    pub(super) text: &'static str,
    /// The section that has it.
    pub(super) place: &'static str,
}

const fn told(text: &'static str, place: &'static str) -> PaperFigure {
    PaperFigure { text, place }
}

/// WAF on TPC-C.
pub(super) const WAF_TPCC: &[(&str, &str)] = &[
    // 1.60 is 30.2 % below this.
    ("sepbit", "2.29, derived"),
    ("sepfrozen-bit", "1.60"),
    ("fk-kmeans", "1.49"),
];

/// FAR of the schemes of figure 4.
pub(super) const FAR: &[(&str, &str)] = &[
    ("nosep", "above 50 %"),
    ("2r-greedy", "above 50 %"),
    ("warcip", "above 50 %"),
    ("dac", "above 50 %"),
    ("sepbit", "above 50 %"),
];

/// Page writes per page, on TPC-C.
pub(super) const TPCC_SETUP: PaperFigure = told("14, derived", "sections 4.3, 5.1");
/// Page writes per page, on YCSB-100W.
pub(super) const YCSB_100W_SETUP: PaperFigure = told("51", "section 5.1");
/// Page writes per page, on YCSB-50W.
pub(super) const YCSB_50W_SETUP: PaperFigure = told("36", "section 5.1");

/// Change of the WAF from SepBIT to SepFrozenBIT.
pub(super) const WAF_BIT: PaperFigure = told("-30.2 %", "section 5.2");
/// Change of the FAR from SepBIT to SepFrozenBIT.
pub(super) const FAR_BIT: PaperFigure = told("-27.5 to -35.4 %", "section 5.2");
/// Change of the FAR from DAC to SepFrozenDAC.
pub(super) const FAR_DAC: PaperFigure = told("-27.5 to -35.4 %", "section 5.2");
/// Difference of SepBIT's WAF to that of future knowledge.
pub(super) const ABOVE_FK: PaperFigure = told("+43.3 %", "section 3");
/// Difference of SepFrozenBIT's WAF to that of future knowledge.
pub(super) const FROZEN_ABOVE_FK: PaperFigure = told("+7.4 %, derived", "section 5.2");
/// Change of the WAF over all zone sizes, for both schemes.
pub(super) const WAF_BY_ZONE: PaperFigure = told("-17.5 to -33.9 %", "section 5.2, figure 16");
/// Change of the WAF over all thresholds, for both schemes.
pub(super) const WAF_BY_GP: PaperFigure = told("-14.5 to -30.8 %", "section 5.2, figure 17");
/// Change of the throughput from SepBIT to SepFrozenBIT.
pub(super) const TPMC_BIT: PaperFigure = told("+19.5 %", "section 5.2");

/// Models, with accuracy and false positive rate.
pub(super) const MODELS: &[(&str, &str, &str)] = &[("sgd", "92 %", ""), ("2r", "", "41 %")];
/// Accuracy by the number of writes that the model looks at (figure 20).
pub(super) const HISTORY: [&str; 4] = ["78 %", "92 %", "", ""];
/// Accuracy with one more feature at a time (figure 21), and the features' correlations with being
/// frozen (section 4.1).
pub(super) const FEATURES: [(&str, &str, &str, &str); 6] = [
    ("VD", "valid-bytes", "71 %", "0.7948"),
    ("WT", "write-time", "89 %", "0.7369"),
    ("AI", "access-interval", "", "0.5021"),
    ("MI", "modification-interval", "", "0.4937"),
    ("AC", "accesses", "", "0.6374"),
    ("MC", "modifications", "92 %", "0.5695"),
];
/// The share of frozen pages among all pages written so far.
pub(super) const FROZEN_SHARE: &str = "30 to 50 %";

/// The paper's figure for a scheme; empty if it has none.
pub(super) fn of(told: &[(&'static str, &'static str)], scheme: &str) -> &'static str {
    told.iter().find(|(name, _)| *name == scheme).map_or("", |(_, text)| text)
}
