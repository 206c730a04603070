//! The metrics are in Prometheus's text exposition, and agree with the statistics.

use std::collections::BTreeMap;

use frostline_store::{Cleaning, Format, Open, Store, StoreView};
use frostline_zone::{Shape, in_memory};

/// Samples by name and labels. Every line must be a sample or a comment of its family.
fn parse(text: &str) -> BTreeMap<String, f64> {
    let (mut family, mut kind) = (String::new(), String::new());
    let mut samples = BTreeMap::new();
    assert!(text.ends_with('\n'));
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            family = help.split_once(' ').expect(line).0.to_string();
        } else if let Some(of) = line.strip_prefix("# TYPE ") {
            let (name, of) = of.split_once(' ').expect(line);
            assert_eq!(name, family, "{line}");
            assert!(["counter", "gauge", "histogram"].contains(&of), "{line}");
            assert!(name.ends_with("_total") == (of == "counter"), "{line}");
            kind = of.to_string();
        } else {
            let (name, value) = line.rsplit_once(' ').expect(line);
            let bare = name.split('{').next().unwrap();
            let suffix = bare.strip_prefix(&family).expect(line);
            let suffixes: &[&str] = match kind.as_str() {
                "histogram" => &["_bucket", "_sum", "_count"],
                _ => &[""],
            };
            assert!(suffixes.contains(&suffix), "{line}");
            let before = samples.insert(name.to_string(), value.parse::<f64>().expect(line));
            assert_eq!(before, None, "{line} comes twice");
        }
    }
    samples
}

#[test]
fn metrics_parse_line_by_line_and_agree_with_the_statistics() {
    let device = in_memory(&Shape { bytes: 32 << 20, ..Shape::default() }).unwrap();
    let format = Format { scheme: "sepbit".to_string(), unit: 4096, ..Format::default() };
    Store::format(device.clone(), &format).unwrap();
    let open = Open { cleaning: Cleaning::Inline, ..Open::default() };
    let store = Store::open(device.clone(), open).unwrap();
    let (pages, mut page) = (store.pages() as u32, vec![1; 4096]);
    let lbas = |from: u32| (0..pages).map(move |i| i.wrapping_mul(2_654_435_761 + from) % pages);
    lbas(0).chain(lbas(2)).for_each(|lba| store.write(lba, &page).unwrap());
    store.read(1, &mut page).unwrap();
    store.sync().unwrap();
    let (samples, stats) = (parse(&store.metrics().unwrap()), store.stats().unwrap());
    let sample = |name: &str| samples[&format!("frostline_{name}")];
    assert_eq!(sample("pages_written_total{by=\"user\"}"), f64::from(2 * pages));
    assert_eq!(sample("pages_written_total{by=\"relocation\"}"), stats.written.relocations as f64);
    assert_eq!(sample("waf{since=\"format\"}"), stats.written.waf());
    assert!(sample("waf{since=\"open\"}") <= sample("waf{since=\"format\"}"));
    assert_eq!(sample("valid_pages"), stats.valid_pages as f64);
    assert_eq!(sample("free_zones"), stats.free_zones as f64);
    let buckets = samples.iter().filter(|(name, _)| name.contains("_bucket{call=\"write\""));
    assert_eq!(buckets.clone().count(), 13);
    let most = buckets.map(|(_, &count)| count).fold(0.0, f64::max);
    assert_eq!(most, f64::from(2 * pages));
    assert_eq!(sample("call_seconds_count{call=\"write\"}"), f64::from(2 * pages));
    assert_eq!(sample("call_seconds_count{call=\"sync\"}"), 1.0);
    store.close().unwrap();

    let store = Store::open(device, open).unwrap();
    let samples = parse(&store.metrics().unwrap());
    assert_eq!(samples["frostline_pages_written_total{by=\"user\"}"], f64::from(2 * pages));
    assert_eq!(samples["frostline_waf{since=\"open\"}"], 1.0);
}

#[test]
fn a_view_agrees_with_statistics_and_zones_and_comes_back_from_json() {
    let device = in_memory(&Shape { bytes: 32 << 20, ..Shape::default() }).unwrap();
    let format =
        Format { scheme: "frozen:sepbit:tiers=2".to_string(), unit: 4096, ..Format::default() };
    Store::format(device.clone(), &format).unwrap();
    let open = Open { cleaning: Cleaning::Inline, ..Open::default() };
    let store = Store::open(device, open).unwrap();
    let (pages, page) = (store.pages() as u32, vec![1; 4096]);
    (0..3 * pages).for_each(|i| store.write(i * i % pages, &page).unwrap());
    let (view, stats) = (store.view().unwrap(), store.stats().unwrap());
    assert_eq!(view.written, stats.written);
    assert_eq!(view.since_opened().user, u64::from(3 * pages));
    assert_eq!(view.zones, store.zones().unwrap());
    assert_eq!(view.garbage_proportion, stats.garbage_proportion);
    let writes: u64 = view.classes.iter().map(|class| class.user_writes).sum();
    assert_eq!(writes, u64::from(3 * pages));
    let frozen = view.classes.iter().filter(|class| class.frozen).map(|class| class.class);
    assert_eq!(frozen.collect::<Vec<_>>(), [7, 8]);
    let writes = view.calls.iter().find(|calls| calls.call == "write").unwrap();
    assert_eq!(writes.count(), u64::from(3 * pages));
    assert!(view.gauges.contains_key("precision"), "{:?}", view.gauges);
    let text = serde_json::to_string(&view).unwrap();
    assert_eq!(serde_json::from_str::<StoreView>(&text).unwrap(), view);
}
