//! The runs of a sweep.

use frostline_log::LogError;
use frostline_placement::SchemeSpec;
use frostline_placement::victims::{self, POLICIES};
use frostline_placement::{Foresight, Room, Semantics};

use crate::{Combination, Settings, SimError, Space, midas_fast24};

/// The scheme whose gain is 0.
pub const BASELINE: &str = "nosep";

/// The scheme whose gain is 1.
pub const BOUND: &str = "oracle-rate-frozen";

/// The scheme that reaches all of the possible gain.
pub(crate) const PLANNED: &str = "oracle-plan";

/// The victim policy of the runs that measure the gain of a scheme with its own victim side, and
/// the only default of the simulator published with SepBIT. It is the same whatever other policies
/// are asked for: the figures of a run must not depend on the runs beside it.
pub(crate) const YARDSTICK: &str = "cost-benefit";

/// The runs of a sweep.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The runs that were asked for.
    pub wanted: Vec<Combination>,
    /// Further runs, which some gains are measured against.
    pub references: Vec<Combination>,
    /// True if gains are wanted.
    pub gains: bool,
}

impl Plan {
    /// The runs of these schemes with these victim policies, each once, or with the default of each
    /// scheme if no policy is given; with `gains` also the runs that their gain is measured
    /// against.
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

    /// The runs of schemes and victim policies by name, maybe with parameters. `all` stands for all
    /// that exist under these settings. Without a victim policy each scheme has its default.
    ///
    /// # Errors
    /// A name or parameter is unknown, or [`Plan::check`] finds a run that can't be made.
    pub fn named(
        schemes: &[impl AsRef<str>],
        victims: &[impl AsRef<str>],
        gains: bool,
        settings: &Settings,
    ) -> Result<Plan, SimError> {
        let mut specs = Vec::new();
        for name in schemes.iter().map(|name| name.as_ref().trim()) {
            match name {
                "all" => specs.extend(all(settings)?),
                _ => specs.push(settings.schemes.parse(name)?),
            }
        }
        let mut policies = Vec::new();
        for name in victims.iter().map(|name| name.as_ref().trim()) {
            match name {
                "all" => policies.extend(POLICIES.iter().map(|policy| policy.name.to_string())),
                _ => policies.push(name.to_string()),
            }
        }
        if policies.is_empty() && settings.semantics == Semantics::SepbitFast22 {
            policies.push(YARDSTICK.to_string());
        }
        let mut plan = Plan::new(&specs, &policies, gains)?;
        if schemes.iter().any(|name| name.as_ref().trim() == "all") {
            let named =
                |run: &Combination| schemes.iter().any(|s| s.as_ref().trim() == run.scheme.text);
            plan.leave_out_other_names(named);
        }
        // Policies that no run uses are checked, too: a given name must exist.
        for policy in &policies {
            victims::build(policy, settings.seed)?;
        }
        plan.check(settings)?;
        Ok(plan)
    }

    /// Leaves out runs that equal another run under a second name, as `lfs-cb` equals `nosep`,
    /// unless the second name was given.
    fn leave_out_other_names(&mut self, named: impl Fn(&Combination) -> bool) {
        let mut kept: Vec<Combination> = Vec::new();
        for run in self.wanted.drain(..) {
            if named(&run) || !kept.iter().any(|other| other.is_same_run(&run)) {
                kept.push(run);
            }
        }
        self.wanted = kept;
    }

    /// All runs, those that were asked for first.
    pub fn runs(&self) -> impl Iterator<Item = &Combination> {
        self.wanted.iter().chain(&self.references)
    }

    /// True if a run needs the lifespan of every write.
    pub fn needs_lifespans(&self) -> bool {
        self.runs().any(|c| c.scheme.entry.foresight == Foresight::Lifespans)
    }

    /// True if a run uses an engine's hotness records.
    pub fn wants_hotness(&self) -> bool {
        self.runs().any(|c| c.scheme.entry.wants_hotness)
    }

    /// True if a run uses a trace's reads.
    pub fn wants_reads(&self) -> bool {
        self.runs().any(|c| c.scheme.entry.wants_reads)
    }

    /// Checks the plan before a trace is read.
    ///
    /// # Errors
    /// The first run that was asked for and can't be made under these settings, with its reason.
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
            let open_zones = settings.max_open.map(|zones| zones as u32);
            let room = Room { open_zones, ..Room::default() };
            let classes = scheme.classes(settings.semantics, room)?;
            if let Some(limit) = settings.max_open.filter(|&limit| classes > limit) {
                let error = LogError::TooManyClasses { classes, limit };
                return Err(SimError::Log { scheme: scheme.text.clone(), error });
            }
        }
        Ok(())
    }
}

/// The victim policy of the runs that a run's gain is measured against: the run's own policy, or
/// [`YARDSTICK`] if the run's victim side belongs to its scheme alone.
pub(crate) fn yardstick(run: &Combination) -> &str {
    match run.scheme.entry.own_victim {
        Some(_) => YARDSTICK,
        None => &run.victim,
    }
}

/// All schemes that exist under these settings. The semantics of SepBIT's authors have no pairings,
/// and no scheme that takes part in the choice of victims.
fn all(settings: &Settings) -> Result<Vec<SchemeSpec>, SimError> {
    let known = settings.schemes.names().map(|name| settings.schemes.parse(name));
    let mut known = known.collect::<Result<Vec<_>, _>>()?;
    if settings.semantics == Semantics::SepbitFast22 {
        known.retain(|s| s.text == s.entry.info.name && !s.entry.chooses_victims());
    }
    Ok(known)
}

fn same(a: &Combination, b: &Combination) -> bool {
    a.scheme.text == b.scheme.text && a.victim == b.victim
}
