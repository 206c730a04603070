//! A placement scheme of your own: replayed in the simulator, then running a page store.
//!
//! `cargo run --release -p frostline --example own_scheme`

use frostline::placement::ExternalScheme;
use frostline::placement::registry::Registry;
use frostline::placement::{
    BuildError, Info, Param, Params, Relocation, Scheme, Setup, Stamp, UserWrite,
};
use frostline::sim::{Settings, Trace, ZoneSize, replay};
use frostline::store::{Cleaning, Format, Open, Store};
use frostline::zone::{self, Shape};

/// Pages that were written in the last `window` writes go to class 0, all others to class 1.
struct Recent {
    window: u32,
}

impl Scheme for Recent {
    type Page = Stamp;
    const INFO: Info = Info {
        name: "recent",
        summary: "by whether the last write was recent",
        source: "an example",
        params: &[Param::whole("window", 8192, 1..=Stamp::HORIZON as i64, "user writes")],
    };

    fn build(_: &Setup<'_>, params: &mut Params) -> Result<Self, BuildError> {
        Ok(Recent { window: params.whole(Self::INFO.params, "window")? })
    }

    fn classes(&self) -> usize {
        2
    }

    fn place_user(&mut self, write: &UserWrite, page: &mut Stamp) -> usize {
        let recent = !write.first && page.age(write.now) < self.window;
        *page = Stamp::at(write.now);
        usize::from(!recent)
    }

    fn place_relocation(&mut self, relocation: &Relocation, page: &mut Stamp) -> usize {
        usize::from(page.age(relocation.now) >= self.window)
    }
}

static MINE: [ExternalScheme; 1] = [ExternalScheme::of::<Recent>()];
const SCHEMES: Registry = Registry::with(&MINE);

/// Half of the writes go to a sixteenth of the pages.
fn writes() -> Vec<u32> {
    let mixed = |i: u32| i.wrapping_mul(2_654_435_761).rotate_right(15);
    let page = |i: u32| if i.is_multiple_of(2) { mixed(i) % 256 } else { mixed(i) % 4096 };
    (0..4096).chain((0..60_000).map(page)).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let trace = Trace::of_pages(writes())?;
    let zone_size = ZoneSize::Bytes(64 * 4096);
    let settings = Settings { schemes: SCHEMES, zone_size, ..Settings::default() };
    for scheme in ["nosep", "sepbit", "recent", "recent:window=1024"] {
        let outcome = replay(&trace, scheme, "cost-benefit", &settings)?;
        println!("{scheme:18} simulated: WAF {:.3}", outcome.counts.waf());
    }

    let shape = Shape { bytes: 64 << 20, zone_bytes: Some(66 * 4096), ..Shape::default() };
    let device = zone::in_memory(&shape)?;
    let (scheme, logical_pages) = ("recent:window=1024".to_string(), Some(4096));
    let format = Format { scheme, schemes: SCHEMES, logical_pages, ..Format::default() };
    Store::format(device.clone(), &format)?;
    let open = Open { cleaning: Cleaning::Inline, schemes: SCHEMES, ..Open::default() };
    let store = Store::open(device, open)?;
    for lba in writes() {
        store.write(lba, &[lba as u8; 4096])?;
    }
    println!("{:18} in a store: WAF {:.3}", format.scheme, store.stats()?.counts.waf());
    Ok(())
}
