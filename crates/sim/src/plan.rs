//! What a sweep runs.

use frostline_log::LogError;
use frostline_placement::registry::SchemeSpec;
use frostline_placement::{Foresight, Semantics, victims};

use crate::{Combination, Settings, SimError};

/// The scheme whose gain is 0.
pub const BASELINE: &str = "nosep";

/// The scheme whose gain is 1.
pub const BOUND: &str = "oracle-rate-frozen";

/// The runs of a sweep.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What was asked for.
    pub wanted: Vec<Combination>,
    /// What else must be run so that every gain is known.
    pub references: Vec<Combination>,
    /// Whether gains are wanted.
    pub gains: bool,
    /// The policy under which the gain of a scheme with a victim side of its own is measured.
    first_victim: Option<String>,
}

impl Plan {
    /// The runs of these schemes with these victim policies, each once; with `gains` also the
    /// runs against which their gain is measured.
    ///
    /// # Errors
    /// Never in practice: the references are in the registry.
    pub fn new(schemes: &[SchemeSpec], victims: &[String], gains: bool) -> Result<Plan, SimError> {
        let mut wanted: Vec<Combination> = Vec::new();
        for combination in Combination::cross(schemes, victims) {
            if !wanted.iter().any(|w| same(w, &combination)) {
                wanted.push(combination);
            }
        }
        let first_victim = victims.first().cloned();
        let mut plan = Plan { wanted, references: Vec::new(), gains, first_victim };
        if gains {
            let mut policies: Vec<String> = Vec::new();
            for policy in plan.wanted.iter().filter_map(|c| plan.yardstick(c)) {
                if !policies.iter().any(|p| p == policy) {
                    policies.push(policy.to_string());
                }
            }
            let references = [SchemeSpec::parse(BASELINE)?, SchemeSpec::parse(BOUND)?];
            plan.references = Combination::cross(&references, &policies);
            plan.references.retain(|r| plan.wanted.iter().all(|w| !same(w, r)));
        }
        Ok(plan)
    }

    /// All runs, those that were asked for first.
    pub fn runs(&self) -> impl Iterator<Item = &Combination> {
        self.wanted.iter().chain(&self.references)
    }

    /// True if a run needs the lifespan of every write.
    pub fn needs_lifespans(&self) -> bool {
        self.runs().any(|c| c.scheme.entry.foresight == Foresight::Lifespans)
    }

    /// True if a run makes use of what an engine tells of its pages.
    pub fn wants_hotness(&self) -> bool {
        self.runs().any(|c| c.scheme.entry.wants_hotness)
    }

    /// The victim policy under which the references of a run's gain are run: its own, or the
    /// first of all if it brings a victim side that others can't have.
    pub(crate) fn yardstick<'a>(&'a self, run: &'a Combination) -> Option<&'a str> {
        match run.scheme.entry.own_victim {
            Some(_) => self.first_victim.as_deref(),
            None => Some(&run.victim),
        }
    }

    /// Finds what is wrong with the plan before a trace is read.
    ///
    /// # Errors
    /// The first run that was asked for and can't be made under these settings.
    pub fn check(&self, settings: &Settings) -> Result<(), SimError> {
        settings.check()?;
        for Combination { scheme, victim } in &self.wanted {
            let own = scheme.entry.own_victim.is_some();
            if own && settings.semantics == Semantics::SepbitFast22 {
                return Err(SimError::NotInSemantics { scheme: scheme.text.clone() });
            }
            if !own {
                victims::build(victim, settings.semantics, settings.seed)?;
            }
            let classes = scheme.classes(settings.semantics)?;
            if let Some(limit) = settings.max_open.filter(|&limit| classes > limit) {
                let error = LogError::TooManyClasses { classes, limit };
                return Err(SimError::Log { scheme: scheme.text.clone(), error });
            }
        }
        Ok(())
    }
}

fn same(a: &Combination, b: &Combination) -> bool {
    a.scheme.text == b.scheme.text && a.victim == b.victim
}
