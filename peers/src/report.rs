//! The measurements as a Markdown table and as JSON.

use std::fmt::Write as _;

use serde::Serialize;

use crate::job::{Job, Load};
use crate::measure::Measured;

/// All engines' results of one workload.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The results of each; the name and the directory are those of the last.
    pub job: Job,
    /// The measurements.
    pub engines: Vec<Measured>,
}

impl Report {
    /// As a table, and below it what each engine was set to.
    pub fn markdown(&self) -> String {
        let mut text = self.conditions();
        let unit = self.unit();
        let _ = writeln!(
            text,
            "\n| engine | {unit}/s | {unit} per CPU-s | device bytes per byte updated | of these by \
             the process | as the engine counts | space x data | memory, MiB | durable points | \
             latency, us: median, p99, p99.9 | opened after a kill: ms, CPU ms |"
        );
        text.push_str("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
        self.engines.iter().for_each(|engine| text.push_str(&row(engine)));
        text.push('\n');
        for engine in &self.engines {
            let _ = writeln!(text, "* {}", engine.settings);
        }
        text
    }

    fn unit(&self) -> &'static str {
        match self.job.load {
            Load::Ycsb { .. } => "ops",
            Load::Tpcc { .. } => "tx",
        }
    }

    fn conditions(&self) -> String {
        let job = &self.job;
        let what = match &job.load {
            Load::Ycsb { records, value_bytes, mix, distribution } => {
                let of = distribution.as_ref().map_or(String::new(), |name| format!(" ({name})"));
                format!("YCSB {mix}{of}, {records} records of 8 + {value_bytes} bytes")
            }
            Load::Tpcc { warehouses } => format!("TPC-C, {warehouses} warehouses"),
        };
        let data = self.engines.iter().map(|engine| engine.data_bytes).max().unwrap_or(0);
        format!(
            "{what}: {} {} after {} to warm up, {} thread(s), a durable point every {}; memory {} \
             KiB, data {} KiB in the end.\n",
            job.operations,
            self.unit(),
            job.warm_up,
            job.threads,
            job.in_flight,
            job.memory >> 10,
            data >> 10,
        )
    }
}

fn row(engine: &Measured) -> String {
    let operations = engine.operations as f64;
    let per_byte = |bytes: u64| format!("{:.1}", ratio(bytes, engine.updated_bytes));
    let own = engine.own_bytes.values().sum();
    format!(
        "| {} | {:.0} | {:.0} | {} | {} | {} | {:.2} | {:.1} | {} | {} | {} |\n",
        engine.engine,
        operations / engine.seconds,
        operations / engine.cpu_seconds,
        engine.device_bytes.map_or("-".to_owned(), per_byte),
        per_byte(engine.process_bytes),
        if own == 0 { "-".to_owned() } else { per_byte(own) },
        ratio(engine.space_bytes, engine.data_bytes),
        engine.most_memory_bytes as f64 / f64::from(1 << 20),
        engine.durable_points,
        engine.latency_us.map(|us| us.to_string()).join(", "),
        engine.opened.map_or("-".to_owned(), |opened| {
            format!("{:.0}, {:.0}", 1e3 * opened.seconds, 1e3 * opened.cpu_seconds)
        }),
    )
}

fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Opened;

    #[test]
    fn a_row_has_what_the_head_says() {
        let engine = Measured {
            engine: "some".to_owned(),
            operations: 100,
            seconds: 2.0,
            cpu_seconds: 1.0,
            updated_bytes: 10,
            process_bytes: 25,
            device_bytes: Some(30),
            data_bytes: 100,
            space_bytes: 150,
            most_memory_bytes: 3 << 20,
            durable_points: 7,
            latency_us: [5, 60, 700],
            opened: Some(Opened { seconds: 0.25, cpu_seconds: 0.1 }),
            ..Measured::default()
        };
        assert_eq!(
            row(&engine),
            "| some | 50 | 100 | 3.0 | 2.5 | - | 1.50 | 3.0 | 7 | 5, 60, 700 | 250, 100 |\n"
        );
    }
}
