//! `frostline trace`: look into traces, convert them.

use std::collections::BTreeMap;

use frostline_placement::Hotness;
use frostline_trace::{
    LoadOptions, Op, Reader, ReaderOptions, Request, TraceError, TraceInfo, VolumeInfo, convert,
    hotness_columns, some_of, split,
};
use serde::Serialize;

use crate::args::{ConvertArgs, HeadArgs, InfoArgs, SplitArgs, TraceCommand};
use crate::failure::{Failure, say};
use crate::inputs::{load_options, load_with_bar, read_options, warn_of_reads};
use crate::interrupt::Interrupt;
use crate::output::{self, check_name};
use crate::progress::bar;
use crate::table;

/// Runs a `frostline trace` subcommand.
pub(crate) fn run(command: &TraceCommand) -> Result<String, Failure> {
    match command {
        TraceCommand::Info(args) => info(args),
        TraceCommand::Convert(args) => convert_file(args),
        TraceCommand::Split(args) => split_file(args),
        TraceCommand::Head(args) => head(args),
    }
}

fn info(args: &InfoArgs) -> Result<String, Failure> {
    let options = load_options(&args.loading);
    // The summary takes as much memory again as the writes and their times.
    let memory = options.memory.map(|memory| memory / 2);
    let options = LoadOptions { times: true, memory, ..options };
    let loaded = load_with_bar(&args.file, &options, args.quiet)?;
    let report = TraceInfo::of(&args.file, options.page_size, loaded)?;
    if args.json {
        return output::json("trace", &report);
    }
    let mut text =
        format!("{}: {}, pages of {} bytes", report.path, report.format, report.page_size);
    text += if report.hotness { ", with hotness records\n" } else { "\n" };
    for volume in &report.volumes {
        text += &format!("\nvolume {}\n{}", volume.name, describe(volume));
    }
    Ok(text)
}

fn describe(volume: &VolumeInfo) -> String {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let mut rows = vec![
        ("user writes", volume.writes.to_string()),
        ("requests", volume.requests.to_string()),
        ("unique pages", volume.unique_pages.to_string()),
        ("largest LBA", volume.largest_lba.to_string()),
        ("writes to the top 20 % of pages", percent(volume.top20_share)),
        ("frozen at 50 % of the trace", percent(volume.frozen_at_50)),
        ("frozen at 80 % of the trace", percent(volume.frozen_at_80)),
        ("writes never rewritten", percent(volume.never_rewritten)),
    ];
    if volume.trims > 0 {
        rows.insert(2, ("trims", volume.trims.to_string()));
    }
    if let Some(l) = volume.lifespans {
        rows.push((
            "lifespan p5 p25 p50 p75 p95",
            format!("{} {} {} {} {}", l.p5, l.p25, l.p50, l.p75, l.p95),
        ));
    }
    if let Some(span) = volume.span_us {
        rows.push(("time span", format!("{:.1} s", span as f64 / 1e6)));
    }
    rows.iter().map(|(what, value)| format!("  {what:<32} {value}\n")).collect()
}

fn convert_file(args: &ConvertArgs) -> Result<String, Failure> {
    let options = LoadOptions { limit: args.limit, ..read_options(&args.reading) };
    check_name("trace convert", &args.output)?;
    let interrupt = Interrupt::watch().map_err(|e| Failure::job("trace", &e.to_string()))?;
    output::check("trace convert", [args.output.as_path()], [&args.file])?;
    let bytes = std::fs::metadata(&args.file).map_or(0, |m| m.len());
    let bar = bar("converting", "bytes", bytes, args.quiet);
    let done = convert(&args.file, &options, &args.output, &mut |bytes| {
        interrupt.check();
        bar.set_position(bytes);
    });
    bar.finish_and_clear();
    let done = done?;
    warn_of_reads(&args.file, done.format, args.quiet);
    if !args.quiet {
        let path = args.output.display();
        say(&format!("{path}: {} requests, {} page writes", done.requests, done.pages), None);
    }
    Ok(String::new())
}

fn split_file(args: &SplitArgs) -> Result<String, Failure> {
    let options = read_options(&args.reading);
    let interrupt = Interrupt::watch().map_err(|e| Failure::job("trace", &e.to_string()))?;
    let bytes = std::fs::metadata(&args.file).map_or(0, |m| m.len());
    let bar = bar("splitting", "bytes", bytes, args.quiet);
    let done = split(&args.file, &options, &args.output, args.plain, &mut |bytes| {
        interrupt.check();
        bar.set_position(bytes);
    });
    bar.finish_and_clear();
    let volumes = done?;
    if !args.quiet {
        let (path, pages) = (args.output.display(), volumes.iter().map(|v| v.pages).sum::<u64>());
        say(&format!("{path}: {} volumes, {pages} page writes", volumes.len()), None);
    }
    Ok(String::new())
}

#[derive(Serialize)]
struct RequestRow<'a> {
    time_us: u64,
    op: &'static str,
    offset: u64,
    length: u64,
    volume: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hotness: Option<BTreeMap<&'static str, u32>>,
}

/// A request, with its hotness record if it is a write of a trace that has them.
type ShownRequest = (Request, Option<Hotness>);

impl<'a> RequestRow<'a> {
    fn new((request, hotness): &ShownRequest, names: &'a [String]) -> Self {
        let op = match request.op {
            Op::Read => "read",
            Op::Write => "write",
            Op::Trim => "trim",
            Op::Sync => "sync",
            Op::Merge => "merge",
        };
        let volume = &names[request.volume as usize];
        let Request { time_us, offset, length, .. } = *request;
        let hotness = hotness.map(|record| BTreeMap::from(hotness_columns(&record)));
        RequestRow { time_us, op, offset, length, volume, hotness }
    }

    /// Its cells in a table, with the columns of hotness records if any request has one.
    fn cells(&self, with_hotness: bool) -> Vec<String> {
        let mut cells = vec![self.volume.to_string(), self.op.to_string()];
        cells.extend([self.time_us, self.offset, self.length].map(|n| n.to_string()));
        if with_hotness {
            let value = |(name, _)| self.hotness.as_ref().map(|values| values[name].to_string());
            let columns = hotness_columns(&Hotness::default()).map(value);
            cells.extend(columns.map(|value| value.unwrap_or_else(|| "-".to_string())));
        }
        cells
    }
}

fn head(args: &HeadArgs) -> Result<String, Failure> {
    let LoadOptions { format, page_size, unit, .. } = read_options(&args.reading);
    let options = ReaderOptions { format, page_size, unit, hotness: true };
    let mut reader = Reader::open_with(&args.file, &options)?;
    let shown = first_requests(&mut reader, args)?;
    warn_of_reads(&args.file, reader.format(), false);
    let names = reader.volume_names();
    let rows: Vec<_> = shown.iter().map(|r| RequestRow::new(r, names)).collect();
    if args.json {
        return output::json("trace", &rows);
    }
    let with_hotness = reader.has_hotness();
    let mut headings = vec!["volume", "op", "time us", "offset", "length"];
    if with_hotness {
        headings.extend(hotness_columns(&Hotness::default()).map(|(name, _)| name));
    }
    let cells = rows.iter().map(|row| row.cells(with_hotness));
    Ok(table::columns(&headings, 2, cells.collect()))
}

/// The first requests; only those of the wanted volume if one is given.
fn first_requests(reader: &mut Reader, args: &HeadArgs) -> Result<Vec<ShownRequest>, Failure> {
    let wanted = args.reading.volume.as_deref();
    let (mut requests, mut shown) = (Vec::new(), Vec::new());
    while shown.len() < args.lines && reader.read(&mut requests, args.lines.min(4096))? > 0 {
        let names = reader.volume_names();
        let hotness = reader.hotness();
        let of_volume = |volume: u32| wanted.is_none_or(|wanted| names[volume as usize] == wanted);
        let record = |(i, request): (usize, Request)| {
            let records = hotness.filter(|_| request.op == Op::Write);
            (request, records.map(|records| records[i]))
        };
        let read = requests.drain(..).enumerate().map(record);
        shown.extend(read.filter(|(request, _)| of_volume(request.volume)));
    }
    shown.truncate(args.lines);
    let names = reader.volume_names();
    if let Some(name) = wanted.filter(|name| args.lines > 0 && !names.iter().any(|n| n == name)) {
        let known = some_of(names.iter().map(String::as_str));
        let (file, name) = (args.file.clone(), name.to_string());
        return Err(TraceError::UnknownVolume { file, name, known }.into());
    }
    Ok(shown)
}
