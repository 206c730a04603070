//! All schemes by name. To add one: write its file under `schemes`, declare it in `schemes/mod.rs`,
//! and add its line here. See docs/adding-a-scheme.md.

use crate::build::Setup;
pub use crate::entry::Entry;
use crate::entry::entry;
use crate::erased::{AnyState, MOST_WORDS};
use crate::external_scheme::ExternalScheme;
use crate::params::{BuildError, Params};
use crate::scheme::Scheme;
use crate::schemes;
use crate::visitor::Visitor;

macro_rules! registry {
    ($($module:ident :: $scheme:ident),* $(,)?) => {
        /// All schemes.
        pub const SCHEMES: &[Entry] = &[$(entry::<schemes::$module::$scheme>()),*];

        pub(crate) fn dispatch<V: Visitor>(
            name: &str,
            setup: &Setup<'_>,
            params: &mut Params,
            visitor: V,
        ) -> Result<V::Output, BuildError> {
            $(if name == <schemes::$module::$scheme as Scheme>::INFO.name {
                type S = schemes::$module::$scheme;
                params.check(<S as Scheme>::INFO.params)?;
                return Ok(visitor.visit(<S as Scheme>::build(setup, params)?));
            })*
            Err(Registry::published().unknown(name))
        }
    };
}

registry! {
    nosep::NoSep,
    sepgc::SepGc,
    sepbit::SepBit,
    uw::Uw,
    gw::Gw,
    dac::Dac,
    sfs::Sfs,
    multilog::MultiLog,
    eti::Eti,
    multiqueue::MultiQueue,
    sfr::Sfr,
    fadac::Fadac,
    warcip::Warcip,
    mida::Mida,
    midas::Midas,
    phftl::Phftl,
    dogi::Dogi,
    two_r_greedy::TwoRGreedy,
    two_r_fifo::TwoRFifo,
    fk::Fk,
    fk_kmeans::FkKmeans,
    ora::Ora,
    lifespan::Lifespan,
    oracle_death::OracleDeath,
    oracle_rate::OracleRate,
    oracle_rate_frozen::OracleRateFrozen,
    oracle_plan::OraclePlan,
    sepfrozen_bit::SepFrozenBit,
    sepfrozen_dac::SepFrozenDac,
    midas_frozen::MidasFrozen,
    survival::Survival,
    frozen::Frozen,
    frozen_perfect::FrozenPerfect,
}

const _: () = assert!(widest() <= size_of::<AnyState<MOST_WORDS>>());

/// Bytes that the schemes of the registry keep of a page at most.
const fn widest() -> usize {
    let (mut most, mut i) = (0, 0);
    while i < SCHEMES.len() {
        if SCHEMES[i].page_bytes > most {
            most = SCHEMES[i].page_bytes;
        }
        i += 1;
    }
    most
}

/// A scheme with parameters, and maybe its victim policy, fixed under a name of its own.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Name on the command line.
    pub name: &'static str,
    /// The scheme.
    pub scheme: &'static str,
    /// Its parameters.
    pub params: &'static [(&'static str, &'static str)],
    /// The victim policy, if it is fixed.
    pub victim: Option<&'static str>,
    /// Its rule, in a sentence.
    pub summary: &'static str,
    /// The paper that published it.
    pub source: &'static str,
}

/// The pairings that 2R compares with (PVLDB 13(11), 2020, sections 2.1 and 6), that MiDAS compares
/// with (FAST 2024), and what databases use.
pub const PAIRINGS: &[Preset] = &[
    Preset {
        name: "1r-greedy",
        scheme: "nosep",
        params: &[],
        victim: Some("greedy"),
        summary: "one region, greedy cleaning: the common flash translation layer",
        source: "Kang et al., PVLDB 13(11), 2020, section 2.1",
    },
    Preset {
        name: "lfs-cb",
        scheme: "nosep",
        params: &[],
        victim: Some("cost-benefit"),
        summary: "one region, cost-benefit cleaning",
        source: "Kang et al., PVLDB 13(11), 2020, section 6",
    },
    Preset {
        name: "dac-cb",
        scheme: "dac",
        params: &[("classes", "4")],
        victim: Some("cost-benefit"),
        summary: "DAC with four regions, cost-benefit cleaning",
        source: "Kang et al., PVLDB 13(11), 2020, section 6",
    },
    Preset {
        name: "cat",
        scheme: "nosep",
        params: &[],
        victim: Some("cost-age-times"),
        summary: "one region, cost-age-times cleaning",
        source: "Chiang and Chang, J. Systems and Software 1999; MiDAS, FAST 2024",
    },
    Preset {
        name: "frostline",
        scheme: "survival",
        params: &[("hints", "yes")],
        victim: None,
        summary: "survival, by what a database tells of its pages",
        source: "Frostline",
    },
];

/// The registry of schemes by name: those of this crate, and those that a program adds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Registry {
    outside: &'static [ExternalScheme],
}

impl Registry {
    /// The schemes of this crate.
    pub const fn published() -> Self {
        Registry { outside: &[] }
    }

    /// The schemes of this crate and those of `outside`.
    ///
    /// ```
    /// # use frostline_placement::{ExternalScheme, registry::Registry, schemes::nosep::NoSep};
    /// # type Recent = NoSep;
    /// static MINE: [ExternalScheme; 1] = [ExternalScheme::of::<Recent>()];
    /// const SCHEMES: Registry = Registry::with(&MINE);
    /// ```
    pub const fn with(outside: &'static [ExternalScheme]) -> Self {
        Registry { outside }
    }

    /// The names of all schemes and pairings.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        names().chain(self.outside.iter().map(|scheme| scheme.entry.info.name))
    }

    /// The scheme with this name, if it comes from another crate.
    pub(crate) fn outside(self, name: &str) -> Option<&'static ExternalScheme> {
        self.outside.iter().find(|scheme| scheme.entry.info.name == name)
    }

    /// The scheme with this name. For the name of a pairing: its scheme, and the pairing.
    pub(crate) fn find(
        self,
        name: &str,
    ) -> Result<(&'static Entry, Option<&'static Preset>), BuildError> {
        if self.names().filter(|&known| known == name).count() > 1 {
            return Err(BuildError::NameTaken { name: name.to_string() });
        }
        let pairing = PAIRINGS.iter().find(|pairing| pairing.name == name);
        let scheme = pairing.map_or(name, |pairing| pairing.scheme);
        let mut all = SCHEMES.iter().chain(self.outside.iter().map(|outside| &outside.entry));
        let entry = all.find(|entry| entry.info.name == scheme);
        Ok((entry.ok_or_else(|| self.unknown(name))?, pairing))
    }

    fn unknown(self, name: &str) -> BuildError {
        let known = self.names().collect::<Vec<_>>().join(" ");
        BuildError::UnknownName { kind: "scheme", name: name.to_string(), known }
    }
}

impl PartialEq for Registry {
    /// Registries are equal if they know the same names.
    fn eq(&self, other: &Self) -> bool {
        self.names().eq(other.names())
    }
}

/// The names of all schemes and pairings of this crate.
pub fn names() -> impl Iterator<Item = &'static str> {
    SCHEMES.iter().map(|e| e.info.name).chain(PAIRINGS.iter().map(|p| p.name))
}
