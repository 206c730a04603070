//! 2R's rule in use (figure 18 of the paper): a page that the user writes counts as normal, a page
//! that cleaning copies as frozen. How often that is right depends on when each zone is cleaned, so
//! it takes a replay to find out.

use frostline_learn::Quality;
use frostline_log::{PageReplay, Replay as _};
use frostline_placement::{
    BuildError, Info, PageState, Params, Relocation, Scheme, Setup, UserWrite, victims,
};

use super::{Evaluation, rule};
use crate::between::{Between, advance};
use crate::{Settings, SimError, TraceVolume};

/// Evaluates the rule on the versions of pages that are written after the warm-up: a version that
/// is relocated before it ends is taken for frozen. User writes and relocations go to zones of
/// their own, as in the paper, and victims are chosen by cost-benefit.
///
/// # Errors
/// The volume can't be made or is full.
pub fn evaluate_two_r(
    volume: &TraceVolume,
    settings: &Settings,
    zone_pages: u32,
) -> Result<Evaluation, SimError> {
    let failed = |error| SimError::Log { scheme: TwoR::INFO.name.to_string(), error };
    let policy = victims::build("cost-benefit", settings.seed)?;
    let from = volume.preload_writes() as u64 + settings.warmup;
    let scheme = TwoR { from: u32::try_from(from).unwrap_or(u32::MAX), ..TwoR::default() };
    let options = settings.options(volume, zone_pages);
    let mut log = PageReplay::new(options, scheme, policy).map_err(failed)?;
    let writes = volume.writes(settings.unit());
    let mut between = Between { trims: volume.trims(), syncs: &[], reads: &[] };
    advance(&mut log, &writes, &mut between, 0..writes.words.len()).map_err(failed)?;
    let TwoR { frozen, normal, .. } = log.log().scheme();
    let taken = |of: &VersionCounts| [of.relocated, of.written - of.relocated];
    Ok(rule("2r", &[], 0.0, Quality::of_counts(taken(frozen), taken(normal)), 0.0))
}

/// Two classes, and the fate of the versions of pages.
#[derive(Clone, Debug, Default)]
struct TwoR {
    /// The first version that is counted is written after this time.
    from: u32,
    frozen: VersionCounts,
    normal: VersionCounts,
}

#[derive(Clone, Copy, Debug, Default)]
struct VersionCounts {
    written: u64,
    /// Versions among these that were relocated.
    relocated: u64,
}

/// The version of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
struct Version(u8);

impl Version {
    /// The version was relocated already, or does not count.
    const DONE: Version = Version(0);
    const NORMAL: Version = Version(1);
    const FROZEN: Version = Version(2);
}

impl PageState for Version {}

impl Scheme for TwoR {
    type Page = Version;
    const INFO: Info = Info {
        name: "2r",
        summary: "user writes and relocations apart",
        source: "Kang et al., PVLDB 13(11), 2020, section 4; as SepFrozen, section 5.1, has it",
        params: &[],
    };

    fn build(_: &Setup<'_>, _: &mut Params) -> Result<Self, BuildError> {
        Ok(TwoR::default())
    }

    fn classes(&self) -> usize {
        2
    }

    fn place_user(&mut self, write: &UserWrite, page: &mut Version) -> usize {
        let (version, versions) = match write.last {
            true => (Version::FROZEN, &mut self.frozen),
            false => (Version::NORMAL, &mut self.normal),
        };
        let counts = write.now > self.from;
        *page = if counts { version } else { Version::DONE };
        versions.written += u64::from(counts);
        0
    }

    fn place_relocation(&mut self, _: &Relocation, page: &mut Version) -> usize {
        match std::mem::replace(page, Version::DONE) {
            Version::FROZEN => self.frozen.relocated += 1,
            Version::NORMAL => self.normal.relocated += 1,
            _ => {}
        }
        1
    }
}
