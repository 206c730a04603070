//! A page of results: one HTML file with figures and their data, which needs no network.

mod charts;
mod dataset;
mod drawing;
mod sections;

use askama::Template;
use frostline_results::RunRecord;

use crate::{Error, Result};
use dataset::Dataset;
use sections::Section;

/// The page.
#[derive(Template)]
#[template(path = "page.html")]
struct Page<'a> {
    title: &'a str,
    datasets: Vec<PageDataset>,
}

/// A dataset on the page.
struct PageDataset {
    title: String,
    notes: Vec<String>,
    sections: Vec<Section>,
}

/// Makes a page from records. Runs of the same trace, zones and trigger are shown together.
///
/// # Errors
/// Never in practice: writing to memory can't fail.
pub fn page(title: &str, records: &[RunRecord]) -> Result<String> {
    let shown = |dataset: Dataset<'_>| {
        let sections = sections::all(&dataset)?;
        Ok(PageDataset { title: dataset.title(), notes: dataset.notes(), sections })
    };
    let datasets = Dataset::all(records).into_iter().map(shown).collect::<askama::Result<_>>();
    let page = datasets.and_then(|datasets| Page { title, datasets }.render());
    page.map_err(Error::writing("html"))
}

#[cfg(test)]
mod tests {
    use frostline_random::SplitMix;
    use frostline_results::{ClassReport, RunReport, WindowReport};

    use super::*;

    /// A count of any size; half of them are 0.
    fn count(random: &mut SplitMix) -> u64 {
        [0, 0, 1, u64::from(random.below(1_000_000)), random.bits()][random.below(5) as usize]
    }

    /// A figure of a run in any size that JSON can hold.
    fn figure(random: &mut SplitMix) -> f64 {
        let sizes = [0.0, 1.0, 1.0 + random.unit(), -random.unit() * 50.0, 1e-300, 1e300, f64::MAX];
        sizes[random.below(sizes.len() as u32) as usize]
    }

    fn several<T>(random: &mut SplitMix, most: u32, of: impl Fn(&mut SplitMix) -> T) -> Vec<T> {
        (0..random.below(most + 1)).map(|_| of(random)).collect()
    }

    /// A run as a file may have it: with few classes, windows, victims and writes, or none, and
    /// numbers of any size.
    fn run(random: &mut SplitMix) -> RunReport {
        let names = ["nosep", "sepbit", "2r-fifo", "oracle-plan"];
        let has = |random: &mut SplitMix| random.below(2) == 0;
        let classes = several(random, 3, |random| ClassReport {
            class: 1 + random.below(9) as usize,
            user_writes: count(random),
            relocations: count(random),
            lifespans: if has(random) { several(random, 8, count) } else { Vec::new() },
        });
        let windows = several(random, 3, |random| WindowReport {
            user_writes: count(random),
            relocations: count(random),
            waf: figure(random),
            ..WindowReport::default()
        });
        let name = names[random.below(4) as usize];
        RunReport {
            scheme: name.to_string(),
            oracle: name == "oracle-plan",
            victim: ["greedy", "cost-benefit"][random.below(2) as usize].to_string(),
            own_victim: has(random),
            user_writes: count(random),
            relocations: count(random),
            waf: figure(random),
            far: has(random).then(|| figure(random)),
            gain: has(random).then(|| figure(random)),
            possible_gain: has(random).then(|| figure(random)),
            victim_gp_histogram: several(random, 20, count),
            classes,
            windows,
            peak_bytes: count(random),
            writes_per_second: figure(random),
            ..RunReport::of(&Default::default())
        }
    }

    /// The numbers of a page's drawings that a browser refuses: `NaN`, `inf`, or none.
    fn refused(page: &str) -> Vec<&str> {
        const NUMBERS: [&str; 12] =
            ["x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "width", "height", "points", "viewBox"];
        let is_number = |number: &str| number.parse::<f64>().is_ok_and(f64::is_finite);
        let attributes = page.split("=\"").collect::<Vec<_>>();
        let with_value = attributes.windows(2).filter_map(|pair| {
            let name = pair[0].rsplit(' ').next().filter(|name| NUMBERS.contains(name))?;
            Some((name, pair[1].split('"').next().unwrap_or_default()))
        });
        let values = with_value.flat_map(|(_, value)| value.split([' ', ',']));
        values.filter(|number| !is_number(number)).collect()
    }

    #[test]
    fn no_page_has_a_coordinate_that_a_browser_refuses_whatever_the_results_hold() {
        for seed in 0..400 {
            let mut random = SplitMix::new(seed);
            let records = (0..=random.below(6)).map(|_| {
                let of = serde_json::from_value(serde_json::to_value(run(&mut random)).unwrap());
                RunRecord { workload: Some("a".to_string()), ..of.unwrap() }
            });
            let page = page("page", &records.collect::<Vec<_>>()).unwrap();
            assert_eq!(refused(&page), [""; 0], "seed {seed}");
            assert!(page.len() < 400_000, "seed {seed}: {} bytes", page.len());
        }
    }
}
