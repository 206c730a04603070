//! The runs of a sweep.

use frostline_log::LogError;
use frostline_placement::SchemeSpec;
use frostline_placement::{Foresight, Semantics, victims};

use crate::{Combination, Settings, SimError, Space, midas_fast24};

/// The scheme whose gain is 0.
pub const BASELINE: &str = "nosep";

/// The scheme whose gain is 1.
pub const BOUND: &str = "oracle-rate-frozen";

/// The victim policy of the runs between which the gain of a scheme with a victim side of its own is
/// measured. It is the default, and the same whatever other policies are asked for: a figure of a run
/// must not depend on what runs beside it.
const YARDSTICK: &str = "cost-benefit";

/// The runs of a sweep.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The runs that were asked for.
    pub wanted: Vec<Combination>,
    /// Further runs without which some gain would not be known.
    pub references: Vec<Combination>,
    /// True if gains are wanted.
    pub gains: bool,
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
        let mut plan = Plan { wanted, references: Vec::new(), gains };
        if gains {
            let mut policies: Vec<String> = Vec::new();
            for policy in plan.wanted.iter().map(yardstick) {
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

    /// Finds what is wrong with the plan before a trace is read.
    ///
    /// # Errors
    /// The first run that was asked for and can't be made under these settings.
    pub fn check(&self, settings: &Settings) -> Result<(), SimError> {
        settings.check()?;
        if settings.semantics == Semantics::SepbitFast22 && !matches!(settings.space, Space::Gp(_))
        {
            return Err(SimError::SpaceInSemantics);
        }
        if settings.semantics == Semantics::MidasFast24 {
            midas_fast24::settings(settings)?;
        }
        for Combination { scheme, victim } in &self.wanted {
            let own = scheme.entry.own_victim.is_some();
            let needed = scheme.entry.chooses_victims();
            if needed && settings.semantics == Semantics::SepbitFast22 {
                return Err(SimError::NotInSemantics { scheme: scheme.text.clone() });
            }
            if !own {
                victims::build(victim, settings.seed)?;
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

/// The victim policy under which the references of a run's gain are run: the run's, or
/// [`YARDSTICK`] if it has a victim side that no other scheme can have.
pub(crate) fn yardstick(run: &Combination) -> &str {
    match run.scheme.entry.own_victim {
        Some(_) => YARDSTICK,
        None => &run.victim,
    }
}

fn same(a: &Combination, b: &Combination) -> bool {
    a.scheme.text == b.scheme.text && a.victim == b.victim
}
