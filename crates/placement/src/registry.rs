//! All schemes by name. To add one: write its file under `schemes`, declare it in `schemes/mod.rs`,
//! and add its line here. See docs/adding-a-scheme.md.

use crate::any_scheme::AnyScheme;
use crate::build::{Foresight, Info, Setup};
use crate::erased::{Erased, WITHIN};
use crate::params::{BuildError, Params};
use crate::recogniser::{Candidates, Recogniser};
use crate::scheme::Scheme;
use crate::schemes;
use crate::semantics::Semantics;
pub use crate::visitor::Visitor;

/// What is known of a scheme without building it.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name, source and parameters.
    pub info: Info,
    /// Bytes of state per page, beside the four of its slot.
    pub page_bytes: usize,
    /// What it must be told of the future.
    pub foresight: Foresight,
    /// Whether it makes use of what an engine tells of its pages.
    pub wants_hotness: bool,
    /// The name of its own victim side, if it has one.
    pub own_victim: Option<&'static str>,
}

macro_rules! registry {
    ($($module:ident :: $scheme:ident),* $(,)?) => {
        /// All schemes.
        pub const SCHEMES: &[Entry] = &[$(entry::<schemes::$module::$scheme>()),*];

        fn dispatch<V: Visitor>(
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
            Err(unknown(name))
        }
    };
}

const fn entry<S: Scheme>() -> Entry {
    Entry {
        info: S::INFO,
        page_bytes: size_of::<S::Page>(),
        foresight: S::FORESIGHT,
        wants_hotness: S::WANTS_HOTNESS,
        own_victim: S::OWN_VICTIM,
    }
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
    two_r_greedy::TwoRGreedy,
    two_r_fifo::TwoRFifo,
    fk::Fk,
    fk_kmeans::FkKmeans,
    lifespan::Lifespan,
    oracle_death::OracleDeath,
    oracle_rate::OracleRate,
    oracle_rate_frozen::OracleRateFrozen,
    sepfrozen_bit::SepFrozenBit,
    sepfrozen_dac::SepFrozenDac,
    frostline::Frostline,
    frozen::Frozen,
    frozen_perfect::FrozenPerfect,
}

/// A scheme with its parameters and its victim policy fixed, under the name a paper gave it.
#[derive(Clone, Copy, Debug)]
pub struct Pairing {
    /// Name on the command line.
    pub name: &'static str,
    /// The scheme.
    pub scheme: &'static str,
    /// Its parameters.
    pub params: &'static [(&'static str, &'static str)],
    /// The victim policy.
    pub victim: &'static str,
    /// What it does, in a sentence.
    pub summary: &'static str,
    /// Where it was published.
    pub source: &'static str,
}

/// The pairings that 2R compares with (PVLDB 13(11), 2020, sections 2.1 and 6).
pub const PAIRINGS: &[Pairing] = &[
    Pairing {
        name: "1r-greedy",
        scheme: "nosep",
        params: &[],
        victim: "greedy",
        summary: "one region, greedy cleaning: the common flash translation layer",
        source: "Kang et al., PVLDB 13(11), 2020, section 2.1",
    },
    Pairing {
        name: "lfs-cb",
        scheme: "nosep",
        params: &[],
        victim: "cost-benefit",
        summary: "one region, cost-benefit cleaning",
        source: "Kang et al., PVLDB 13(11), 2020, section 6",
    },
    Pairing {
        name: "dac-cb",
        scheme: "dac",
        params: &[("classes", "4")],
        victim: "cost-benefit",
        summary: "DAC with four regions, cost-benefit cleaning",
        source: "Kang et al., PVLDB 13(11), 2020, section 6",
    },
];

/// A scheme as the command line names it: `name` or `name:key=value:...`.
#[derive(Clone, Debug)]
pub struct SchemeSpec {
    /// As it was written.
    pub text: String,
    /// The victim side that comes with it, if it has its own or is a pairing.
    pub victim: Option<&'static str>,
    /// The scheme (of a pairing: the one it pairs).
    pub entry: &'static Entry,
    params: Params,
    /// The scheme around which it stands, if it was named.
    within: Option<String>,
}

impl SchemeSpec {
    /// Finds the scheme and checks the names of its parameters.
    ///
    /// # Errors
    /// An unknown name or key; the error lists the known ones.
    pub fn parse(text: &str) -> Result<Self, BuildError> {
        let (own, within) = split_within(text);
        let (name, mut params) = Params::parse(&own)?;
        let pairing = PAIRINGS.iter().find(|p| p.name == name);
        for &(key, value) in pairing.map_or(&[][..], |p| p.params) {
            params = params.or(key, value);
        }
        let base = pairing.map_or(name.as_str(), |p| p.scheme);
        let entry = SCHEMES.iter().find(|e| e.info.name == base).ok_or_else(|| unknown(&name))?;
        params.check(entry.info.params)?;
        if let Some(within) = &within {
            SchemeSpec::parse(within)?;
        }
        let victim = pairing.map(|p| p.victim).or(entry.own_victim);
        Ok(SchemeSpec { text: text.to_string(), victim, entry, params, within })
    }

    /// The number of classes that the scheme has.
    ///
    /// # Errors
    /// A parameter's value can't be used.
    pub fn classes(&self, semantics: Semantics) -> Result<usize, BuildError> {
        struct Classes;
        impl Visitor for Classes {
            type Output = usize;
            fn visit<S: Scheme>(self, scheme: S) -> usize {
                scheme.classes()
            }
        }
        let foresight =
            Setup { mean_lifespans: Some(&[]), lifespans: Some(&[]), ..Setup::new(1024, 1024) };
        let nobody = |_: &str, _: &Setup<'_>| Ok(Box::new(Nobody) as Box<dyn Recogniser>);
        let foresight = Setup { recogniser: Some(&nobody), ..foresight };
        self.build(&Setup { semantics, ..foresight }, Classes)
    }

    /// Builds the scheme and hands it to `visitor`.
    ///
    /// # Errors
    /// A parameter's value can't be used, or the scheme needs foresight that `setup` lacks.
    pub fn build<V: Visitor>(
        &self,
        setup: &Setup<'_>,
        visitor: V,
    ) -> Result<V::Output, BuildError> {
        let within = |setup: &Setup<'_>| build_within(self.within.as_deref(), setup);
        let setup = Setup { within: Some(&within), ..*setup };
        dispatch(self.entry.info.name, &setup, &mut self.params.clone(), visitor)
    }

    /// Builds the scheme and forgets its type.
    ///
    /// # Errors
    /// As [`SchemeSpec::build`], and if the state that it keeps of a page does not fit into `WORDS`
    /// words.
    pub fn build_any<const WORDS: usize>(
        &self,
        setup: &Setup<'_>,
    ) -> Result<AnyScheme<WORDS>, BuildError> {
        struct Erase<const WORDS: usize>;
        impl<const WORDS: usize> Visitor for Erase<WORDS> {
            type Output = Option<AnyScheme<WORDS>>;
            fn visit<S: Scheme>(self, scheme: S) -> Self::Output {
                AnyScheme::of(scheme)
            }
        }
        self.build(setup, Erase)?.ok_or_else(|| BuildError::LargeState {
            name: self.text.clone(),
            bytes: self.entry.page_bytes,
            most: WORDS * size_of::<u64>(),
        })
    }
}

/// Builds the scheme that another stands around: SepBIT if none is named.
///
/// # Errors
/// An unknown name, what [`Scheme::build`] refuses, or a scheme that can't stand within another.
pub fn build_within(
    named: Option<&str>,
    setup: &Setup<'_>,
) -> Result<Box<dyn Erased<WITHIN>>, BuildError> {
    let spec = SchemeSpec::parse(named.unwrap_or("sepbit"))?;
    let refused = |why: &str| BuildError::BadValue {
        name: "a scheme around another".to_string(),
        key: "within",
        value: spec.text.clone(),
        why: why.to_string(),
    };
    let scheme: AnyScheme<WITHIN> = spec.build_any(setup)?;
    match scheme.is_batched() {
        true => Err(refused("it wants all pages of a victim at once itself")),
        false if scheme.own_victim().is_some() => Err(refused("it chooses its own victims")),
        false => Ok(scheme.into_box()),
    }
}

/// Splits `frozen:NAME:...` into what the scheme around is told, and what the one within is told:
/// `frozen:dac:classes=4:apart=no` into `frozen:apart=no` and `dac:classes=4`.
fn split_within(text: &str) -> (String, Option<String>) {
    let Some((name, rest)) = text.split_once(':') else { return (text.to_string(), None) };
    let around = [schemes::frozen::Frozen::INFO, schemes::frozen_perfect::FrozenPerfect::INFO];
    let first = rest.split(':').next().unwrap_or_default();
    let Some(info) = around.iter().find(|info| info.name == name && !first.contains('=')) else {
        return (text.to_string(), None);
    };
    let is_own = |piece: &&str| {
        piece.split_once('=').is_some_and(|(key, _)| info.params.iter().any(|p| p.key == key))
    };
    let (own, within): (Vec<&str>, Vec<&str>) = rest.split(':').partition(is_own);
    let own: String = [name].iter().chain(&own).copied().collect::<Vec<_>>().join(":");
    (own, Some(within.join(":")))
}

/// A recogniser that recognises nothing.
#[derive(Debug)]
struct Nobody;

impl Recogniser for Nobody {
    fn wants_hotness(&self) -> bool {
        false
    }

    fn score(&mut self, _: &Candidates<'_>, scores: &mut [f32]) {
        scores.fill(f32::NEG_INFINITY);
    }
}

/// The names of all schemes and pairings.
pub fn names() -> impl Iterator<Item = &'static str> {
    SCHEMES.iter().map(|e| e.info.name).chain(PAIRINGS.iter().map(|p| p.name))
}

fn unknown(name: &str) -> BuildError {
    BuildError::UnknownName {
        kind: "scheme",
        name: name.to_string(),
        known: names().collect::<Vec<_>>().join(" "),
    }
}
