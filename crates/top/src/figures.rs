//! The figures beside the map, as lines of text.

use frostline_store::{CallView, ClassView, Role, StoreView, Written};
use ratatui::style::{Modifier, Style};
use ratatui::symbols::bar::NINE_LEVELS;
use ratatui::text::{Line, Span};

use crate::history::{History, Lately};
use crate::map;

/// Cells of a bar.
const BAR: usize = 8;

/// A heading and the lines below it.
pub(crate) struct Section {
    /// The heading.
    pub title: &'static str,
    /// The lines.
    pub lines: Vec<Line<'static>>,
}

/// All figures, in three groups that stay together.
pub(crate) fn all(history: &History, width: usize) -> Option<[Vec<Section>; 3]> {
    let (now, lately) = (history.now()?, history.lately()?);
    let work = vec![
        Section { title: "write amplification", lines: waf(history, now, width) },
        Section { title: "written, now and since start", lines: parts(now, &lately) },
    ];
    let calls = vec![
        Section { title: "calls, us not exceeded", lines: calls(&lately) },
        Section { title: "cleaning", lines: cleaning(now) },
    ];
    let mut scheme = vec![Section { title: "classes", lines: classes(now) }];
    if !now.gauges.is_empty() {
        scheme.push(Section { title: "the scheme of itself", lines: gauges(now) });
    }
    Some([work, calls, scheme])
}

fn waf(history: &History, now: &StoreView, width: usize) -> Vec<Line<'static>> {
    let lately = history.waf_lately().map_or("-".to_string(), |waf| format!("{waf:.3}"));
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let since = now.since_opened().waf();
    vec![
        Line::from(vec![
            Span::raw("now "),
            Span::styled(lately, bold),
            Span::raw(format!("   since start {since:.3}")),
        ]),
        Line::raw(curve(history, width)),
    ]
}

/// WAF second by second, from 1 to the highest.
fn curve(history: &History, width: usize) -> String {
    let most = history.wafs().fold(1.0, f64::max);
    let level = |waf: f64| {
        let share = (waf - 1.0) / (most - 1.0).max(1e-9);
        NINE_LEVELS_UP[((share * 7.0).round() as usize).min(7) + 1]
    };
    let last: Vec<_> = history.wafs().rev().take(width).map(level).collect();
    last.into_iter().rev().collect()
}

/// Blocks from the lowest to the highest.
const NINE_LEVELS_UP: [&str; 9] = [
    NINE_LEVELS.empty,
    NINE_LEVELS.one_eighth,
    NINE_LEVELS.one_quarter,
    NINE_LEVELS.three_eighths,
    NINE_LEVELS.half,
    NINE_LEVELS.five_eighths,
    NINE_LEVELS.three_quarters,
    NINE_LEVELS.seven_eighths,
    NINE_LEVELS.full,
];

fn parts(now: &StoreView, lately: &Lately) -> Vec<Line<'static>> {
    type WrittenPart = (&'static str, fn(&Written) -> u64);
    const PARTS: [WrittenPart; 4] = [
        ("user", |written| written.user),
        ("relocation", |written| written.relocations),
        ("header", |written| written.headers),
        ("metadata", |written| written.checkpoints),
    ];
    let since = now.since_opened();
    let all = |written: &Written| PARTS.iter().map(|(_, of)| of(written)).sum::<u64>().max(1);
    let line = |(name, of): &WrittenPart| {
        let share = of(&since) as f64 / all(&since) as f64;
        let pages = of(&lately.written) as f64 / lately.seconds.max(1e-9);
        let rate = pages * f64::from(now.page_bytes) / 1e6;
        let full = (share * BAR as f64).round() as usize;
        let bar = "█".repeat(full) + &"·".repeat(BAR - full.min(BAR));
        Line::raw(format!("{name:10} {rate:6.1} MB/s {bar} {:4.1} %", share * 100.0))
    };
    PARTS.iter().map(line).collect()
}

fn calls(lately: &Lately) -> Vec<Line<'static>> {
    let soft = Style::new().add_modifier(Modifier::DIM);
    let head = format!("{:6} {:>9} {:>6} {:>6} {:>7}", "", "a second", "p50", "p99", "p99.9");
    let line = |calls: &CallView| {
        let rate = calls.count() as f64 / lately.seconds.max(1e-9);
        let bound = |q| match calls.quantile_us(q) {
            Some(us) => us.to_string(),
            None if calls.count() == 0 => "-".to_string(),
            None => "more".to_string(),
        };
        let (p50, p99, p999) = (bound(0.5), bound(0.99), bound(0.999));
        Line::raw(format!("{:6} {rate:9.0} {p50:>6} {p99:>6} {p999:>7}", calls.call))
    };
    [Line::styled(head, soft)].into_iter().chain(lately.calls.iter().map(line)).collect()
}

fn cleaning(now: &StoreView) -> Vec<Line<'static>> {
    vec![
        Line::raw(format!("GP {:.3}, cleaned above {}", now.garbage_proportion, now.gp)),
        Line::raw(format!(
            "{} zones cleaned, {:.0} % garbage",
            now.zones_reclaimed,
            now.mean_victim_gp * 100.0
        )),
        Line::raw(format!("{} free, writers held up {:.1} s", now.free_zones, now.stall_seconds)),
    ]
}

/// A line a class that has zones, those of frozen classes last and apart.
fn classes(now: &StoreView) -> Vec<Line<'static>> {
    let soft = Style::new().add_modifier(Modifier::DIM);
    let head = format!("{:4} {:>5} {:>6} {:>9} {:>9}", "", "zones", "valid", "user", "copied");
    let mut lines = vec![Line::styled(head, soft)];
    let used = |frozen: bool| now.classes.iter().filter(move |class| class.frozen == frozen);
    lines.extend(used(false).filter_map(|class| of_class(now, class)));
    let frozen: Vec<_> = used(true).filter_map(|class| of_class(now, class)).collect();
    if !frozen.is_empty() {
        lines.push(Line::styled("taken for frozen", soft));
        lines.extend(frozen);
    }
    lines
}

fn of_class(now: &StoreView, class: &ClassView) -> Option<Line<'static>> {
    let zones = || {
        let data = now.zones.iter().filter(|zone| zone.role == Role::Data);
        data.filter(|zone| zone.class == Some(class.class))
    };
    let count = zones().count();
    if count == 0 {
        return None;
    }
    let valid = zones().filter_map(|zone| zone.valid_share).sum::<f64>() / count as f64;
    let (user, copied) = (thousands(class.user_writes), thousands(class.relocations));
    Some(Line::from(vec![
        Span::styled(format!(" {:>2} ", class.class), map::style(class.class, &now.classes)),
        Span::raw(format!(" {count:5} {:4.0} % {user:>9} {copied:>9}", valid * 100.0)),
    ]))
}

/// A count of pages, short.
fn thousands(count: u64) -> String {
    match count {
        0..100_000 => count.to_string(),
        100_000..100_000_000 => format!("{} k", count / 1000),
        _ => format!("{} M", count / 1_000_000),
    }
}

fn gauges(now: &StoreView) -> Vec<Line<'static>> {
    let line = |(name, value): (&String, &f64)| {
        let value = if value.fract() == 0.0 { format!("{value}") } else { format!("{value:.4}") };
        Line::raw(format!("{name} {value}"))
    };
    now.gauges.iter().map(line).collect()
}
