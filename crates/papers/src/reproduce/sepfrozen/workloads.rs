//! The workloads of the paper, and their page writes.

use super::paper;
use crate::reproduce::inputs::{Recorded, Workload};
use crate::reproduce::scale::zone_pages;
use crate::reproduce::tables::{Cell, ReportTable, headings};

/// All three workloads.
pub(super) const WORKLOADS: [Workload; 3] = [Workload::Tpcc, Workload::Ycsb100w, Workload::Ycsb50w];

/// The paper's number of page writes per page.
fn told(workload: Workload) -> &'static str {
    match workload {
        Workload::Tpcc => paper::TPCC_SETUP.text,
        Workload::Ycsb100w => paper::YCSB_100W_SETUP.text,
        Workload::Ycsb50w => paper::YCSB_50W_SETUP.text,
        Workload::LinkBench => "",
    }
}

/// The row of a workload that wrote `unique` pages.
pub(super) fn cells(recorded: &Recorded, unique: u32) -> Vec<Cell> {
    let Recorded { workload, command, writes, loading, pages } = recorded;
    let counted = writes.lbas.len() as u64 - loading;
    vec![
        Cell::text(workload.name()),
        Cell::Count(pages.0),
        Cell::Count(pages.1),
        Cell::Count(counted),
        Cell::Number(counted as f64 / f64::from(unique), 1),
        Cell::text(told(*workload)),
        Cell::Count(zone_pages(unique).into()),
        Cell::text(format!("`frostline {command}`")),
    ]
}

/// The table of the workloads, with [`cells`] for rows.
pub(super) fn table(rows: Vec<Vec<Cell>>) -> ReportTable {
    ReportTable {
        name: "workloads",
        title: "Workloads".to_string(),
        note: "Each is run on the engine, and its page writes are recorded and replayed; those of \
               loading do not count. With --record FILE the command writes the same trace. Memory is \
               for a tenth of the data, as in the paper; cleaning begins at a GP of 15 %. The \
               paper's zones are of 65,536 pages; writes over pages: sections 4.3 and 5.1, derived \
               from the data written and the size of the mapping tables, or of the data."
            .to_string(),
        columns: headings([
            "workload",
            "pages loaded",
            "pages in the end",
            "page writes",
            "over pages",
            "paper",
            "zone pages",
            "command",
        ]),
        rows,
    }
}
