//! A scheme as it is named, with its parameters.

use crate::any_scheme::AnyScheme;
use crate::build::{Room, Setup};
use crate::classifier::{Classified, Classifier, ClassifierSetup};
use crate::entry::Entry;
use crate::erased::{Erased, INNER_WORDS};
use crate::events::UserWrite;
use crate::forecaster::{ForecastInputs, Forecaster, TrainingSample};
use crate::params::{BuildError, Param, Params};
use crate::recogniser::{Candidates, Recogniser};
use crate::registry::{Registry, dispatch};
use crate::scheme::Scheme;
use crate::schemes;
use crate::semantics::Semantics;
use crate::visitor::Visitor;

impl Registry {
    /// Finds a scheme and checks the names of its parameters: `name`, or `name:key=value:...`.
    ///
    /// # Errors
    /// An unknown name or key (the error lists the known ones), or a name that two schemes have.
    pub fn parse(self, text: &str) -> Result<SchemeSpec, BuildError> {
        SchemeSpec::of(self, text)
    }
}

/// The policy of a log whose scheme picks the victims.
const UNUSED_POLICY: &str = "cost-benefit";

/// A scheme as the command line names it: `name` or `name:key=value:...`.
#[derive(Clone, Debug)]
pub struct SchemeSpec {
    /// The text as it was given.
    pub text: String,
    /// The victim side that comes with it, if it has its own or is a pairing.
    pub victim: Option<&'static str>,
    /// The victim policy that is used where none is asked for: that of `victim`, or the inner
    /// scheme's if one is named, or the scheme's.
    pub default_victim: &'static str,
    /// The scheme; for a pairing, the scheme that it pairs.
    pub entry: &'static Entry,
    params: Params,
    /// The inner scheme, if one is named.
    inner: Option<String>,
    registry: Registry,
}

impl SchemeSpec {
    /// Finds a scheme of this crate, see [`Registry::parse`].
    ///
    /// # Errors
    /// Those of [`Registry::parse`].
    pub fn parse(text: &str) -> Result<Self, BuildError> {
        SchemeSpec::of(Registry::published(), text)
    }

    pub(crate) fn of(registry: Registry, text: &str) -> Result<Self, BuildError> {
        let (own, inner) = split_inner(text);
        let (name, mut params) = Params::parse(&own)?;
        let (entry, pairing) = registry.find(&name)?;
        for &(key, value) in pairing.map_or(&[][..], |p| p.params) {
            params = params.or(key, value);
        }
        params.check(entry.info.params)?;
        let of_inner = inner.as_ref().map(|inner| registry.parse(inner)).transpose()?;
        let victim = pairing.and_then(|p| p.victim).or(entry.own_victim);
        let of_inner = of_inner.map(|inner| inner.default_victim);
        let default_victim = victim.or(of_inner).unwrap_or(entry.victim);
        let text = text.to_string();
        Ok(SchemeSpec { text, victim, default_victim, entry, params, inner, registry })
    }

    /// The victim policy of a log of this scheme: that of its pairing, or the one that is asked for,
    /// or its own. Where the scheme itself picks victims, the policy does nothing.
    pub fn policy<'a>(&'a self, asked: Option<&'a str>) -> &'a str {
        match (self.entry.own_victim, self.victim) {
            (Some(_), _) => asked.unwrap_or(UNUSED_POLICY),
            (None, Some(paired)) => paired,
            (None, None) => asked.unwrap_or(self.default_victim),
        }
    }

    /// Every parameter of the scheme with its value, given or the default.
    pub fn parameters(&self) -> Vec<(&'static str, String)> {
        let value = |param: &Param| match &self.inner {
            Some(inner) if param.key == "inner" => inner.clone(),
            _ => self.params.shown(param),
        };
        self.entry.info.params.iter().map(|param| (param.key, value(param))).collect()
    }

    /// The number of classes that the scheme has with this room for open zones.
    ///
    /// # Errors
    /// A parameter's value can't be used.
    pub fn classes(&self, semantics: Semantics, room: Room) -> Result<usize, BuildError> {
        struct Classes;
        impl Visitor for Classes {
            type Output = usize;
            fn visit<S: Scheme>(self, scheme: S) -> usize {
                scheme.classes()
            }
        }
        let foresight =
            Setup { mean_lifespans: Some(&[]), lifespans: Some(&[]), ..Setup::new(1024, 1024) };
        let none = |_: &str, _: &Setup<'_>| Ok(Box::new(NoRecogniser) as Box<dyn Recogniser>);
        let foresight = Setup { recogniser: Some(&none), ..foresight };
        let none = |_: &ClassifierSetup| Box::new(NoClassifier) as Box<dyn Classifier>;
        let foresight = Setup { classifier: Some(&none), ..foresight };
        let none = |_: u64| Box::new(NoForecaster) as Box<dyn Forecaster>;
        let foresight = Setup { forecaster: Some(&none), ..foresight };
        self.build(&Setup { semantics, room, ..foresight }, Classes)
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
        let inner = |setup: &Setup<'_>| build_inner(self.registry, self.inner.as_deref(), setup);
        let setup = Setup { inner: Some(&inner), ..*setup };
        let (name, mut params) = (self.entry.info.name, self.params.clone());
        match self.registry.outside(name) {
            Some(outside) => Ok(visitor.visit((outside.build)(&setup, &mut params)?)),
            None => dispatch(name, &setup, &mut params, visitor),
        }
    }

    /// Builds the scheme and forgets its type.
    ///
    /// # Errors
    /// Those of [`SchemeSpec::build`].
    pub fn build_any(&self, setup: &Setup<'_>) -> Result<AnyScheme, BuildError> {
        self.build_in_words(setup)
    }

    /// The same for a page state of any width, which must fit.
    fn build_in_words<const WORDS: usize>(
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

/// Builds an inner scheme: SepBIT if none is named.
///
/// # Errors
/// The name is unknown, [`Scheme::build`] refuses, or the scheme can't be an inner one.
pub fn build_inner(
    registry: Registry,
    named: Option<&str>,
    setup: &Setup<'_>,
) -> Result<Box<dyn Erased<INNER_WORDS>>, BuildError> {
    let spec = registry.parse(named.unwrap_or("sepbit"))?;
    let refused = |why: &str| BuildError::BadValue {
        name: "an isolating scheme".to_string(),
        key: "inner",
        value: spec.text.clone(),
        why: why.to_string(),
    };
    let scheme: AnyScheme<INNER_WORDS> = spec.build_in_words(setup)?;
    match scheme.wants().batches {
        true => Err(refused("it wants all pages of a victim at once itself")),
        false if spec.entry.chooses_victims() => {
            Err(refused("it has a part in the choice of victims"))
        }
        false => Ok(scheme.into_box()),
    }
}

/// Splits `frozen:NAME:...` into the parameters of the isolating scheme and the inner scheme:
/// `frozen:dac:classes=4:separate=no` becomes `frozen:separate=no` and `dac:classes=4`.
fn split_inner(text: &str) -> (String, Option<String>) {
    let Some((name, rest)) = text.split_once(':') else { return (text.to_string(), None) };
    let isolating = [schemes::frozen::Frozen::INFO, schemes::frozen_perfect::FrozenPerfect::INFO];
    let first = rest.split(':').next().unwrap_or_default();
    let Some(info) = isolating.iter().find(|info| info.name == name && !first.contains('=')) else {
        return (text.to_string(), None);
    };
    let is_own = |piece: &&str| {
        piece.split_once('=').is_some_and(|(key, _)| info.params.iter().any(|p| p.key == key))
    };
    let (own, inner): (Vec<&str>, Vec<&str>) = rest.split(':').partition(is_own);
    let own: String = [name].iter().chain(&own).copied().collect::<Vec<_>>().join(":");
    (own, Some(inner.join(":")))
}

/// A recogniser that recognises nothing.
#[derive(Debug)]
struct NoRecogniser;

impl Recogniser for NoRecogniser {
    fn wants_hotness(&self) -> bool {
        false
    }

    fn score(&mut self, _: &Candidates<'_>, scores: &mut [f32]) {
        scores.fill(f32::NEG_INFINITY);
    }
}

/// A classifier that takes no page for short-living.
#[derive(Debug)]
struct NoClassifier;

impl Classifier for NoClassifier {
    fn is_short_living(&mut self, _: &UserWrite, _: &mut Classified) -> bool {
        true
    }

    fn threshold(&self) -> Option<u32> {
        None
    }
}

/// A forecaster that never learns.
#[derive(Debug)]
struct NoForecaster;

impl Forecaster for NoForecaster {
    fn is_trained(&self) -> bool {
        false
    }

    fn forecast(&self, _: &ForecastInputs) -> usize {
        0
    }

    fn begin(&mut self, _: &[TrainingSample]) -> u32 {
        0
    }

    fn work(&mut self) -> bool {
        true
    }
}
