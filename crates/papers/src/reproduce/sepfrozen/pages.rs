//! The lives of pages: the paper's figures 1 and 2.

use frostline_trace::{FINAL, NEVER, Prepared};

use super::paper;
use crate::reproduce::tables::{Cell, ReportTable, headings};

/// Stretches of LBAs.
const STRETCHES: usize = 16;
/// Points in time.
const POINTS: u64 = 10;

/// How lifespans mix over LBAs, for the writes after loading.
pub(super) fn mixing(volume: &Prepared, loading: u64) -> ReportTable {
    let each = (volume.space as usize).div_ceil(STRETCHES).max(1);
    let mut stretches = vec![Stretch::default(); STRETCHES];
    let lifespans = volume.lifespans.iter().flatten();
    for (&word, &lifespan) in volume.words.iter().zip(lifespans).skip(loading as usize) {
        let stretch = &mut stretches[(word & !FINAL) as usize / each];
        match lifespan {
            NEVER => stretch.frozen += 1,
            _ => stretch.lifespans.push(lifespan),
        }
    }
    let pages = f64::from(volume.unique);
    let row = |(i, stretch): (usize, &mut Stretch)| {
        let from = i as f64 / STRETCHES as f64;
        let mut row = vec![Cell::text(format!("{:.2} %", from * 100.0))];
        row.extend(stretch.cells(pages));
        row
    };
    ReportTable {
        name: "mixing",
        title: "Mixing of lifespans over LBAs (figure 1)".to_string(),
        note: "TPC-C, writes after loading, by sixteenths of the address space. Quartiles of the \
               lifespans of the writes that end, in volumes: 1 is as many user writes as there are \
               pages. Frozen: the share of the writes that never end. The paper's figure shows two \
               levels, short and long, at the same LBAs."
            .to_string(),
        columns: headings(["LBAs from", "writes", "p25", "p50", "p75", "frozen"]),
        rows: stretches.iter_mut().enumerate().map(row).collect(),
    }
}

/// The writes to a stretch of LBAs.
#[derive(Clone, Default)]
struct Stretch {
    frozen: u64,
    lifespans: Vec<u32>,
}

impl Stretch {
    fn cells(&mut self, pages: f64) -> Vec<Cell> {
        self.lifespans.sort_unstable();
        let ended = self.lifespans.len();
        let writes = ended as u64 + self.frozen;
        let quartile = |n: usize| match self.lifespans.get(ended * n / 4) {
            Some(&lifespan) => Cell::Number(f64::from(lifespan) / pages, 3),
            None => Cell::None,
        };
        let frozen = self.frozen as f64 / writes as f64;
        vec![Cell::Count(writes), quartile(1), quartile(2), quartile(3), Cell::Share(frozen)]
    }
}

/// The share of frozen pages over time.
pub(super) fn frozen_share(volume: &Prepared, loading: u64) -> ReportTable {
    let counted = volume.words.len() as u64 - loading;
    let mut valid = Valid { pages: vec![false; volume.space as usize], count: 0 };
    let (mut frozen, mut rows, mut trims) = (0u64, Vec::new(), volume.trims.iter().peekable());
    for (i, &word) in volume.words.iter().enumerate() {
        while let Some(trim) = trims.next_if(|trim| trim.at <= i) {
            trim.lbas().for_each(|lba| valid.set(lba, false));
        }
        valid.set(word & !FINAL, true);
        frozen += u64::from(word & FINAL != 0);
        // With few writes, one write may be at several points.
        for point in rows.len() as u64 + 1..=POINTS {
            if (i as u64 + 1) < loading + counted * point / POINTS {
                break;
            }
            let time = format!("{:.1}", point as f64 / POINTS as f64);
            let share = frozen as f64 / valid.count as f64;
            rows.push(vec![
                Cell::text(time),
                Cell::Count(valid.count),
                Cell::Share(share),
                Cell::text(paper::FROZEN_SHARE),
            ]);
        }
    }
    ReportTable {
        name: "frozen-share",
        title: "Frozen pages over time (figure 2)".to_string(),
        note: "TPC-C: the share of the valid pages that are never written again, up to the end of \
               the run; there all are, whatever the workload. The paper: of cumulative written \
               pages, section 3."
            .to_string(),
        columns: headings(["time", "valid pages", "frozen", "paper"]),
        rows,
    }
}

/// The valid pages.
struct Valid {
    pages: Vec<bool>,
    count: u64,
}

impl Valid {
    fn set(&mut self, lba: u32, valid: bool) {
        let was = std::mem::replace(&mut self.pages[lba as usize], valid);
        self.count = self.count + u64::from(valid) - u64::from(was);
    }
}

#[cfg(test)]
mod tests {
    use frostline_trace::{Trim, Writes, prepare};

    use super::*;

    /// Page 0 is written twice and then frozen, page 1 is trimmed, page 2 is frozen.
    fn volume() -> Prepared {
        let trims = vec![Trim { at: 3, first: 1, last: 1 }];
        let writes = Writes { lbas: vec![0, 1, 0, 2], trims, ..Writes::default() };
        prepare(None, writes, true).unwrap()
    }

    #[test]
    fn what_is_trimmed_is_neither_valid_nor_frozen() {
        let rows = frozen_share(&volume(), 0).rows;
        assert_eq!(rows.len(), 10);
        let shares: Vec<_> = rows.iter().map(|row| format!("{:?}", &row[1..3])).collect();
        assert_eq!(shares[4], "[Count(2), Share(0.0)]");
        assert_eq!(shares[9], "[Count(2), Share(1.0)]");
    }

    #[test]
    fn lifespans_are_sorted_by_stretch() {
        let rows = mixing(&volume(), 0).rows;
        let row = format!("{:?}", rows[0]);
        assert_eq!(
            row,
            "[Text(\"0.00 %\"), Count(2), Number(0.6666666666666666, 3), \
             Number(0.6666666666666666, 3), Number(0.6666666666666666, 3), Share(0.5)]"
        );
    }
}
