//! FK-kmeans: future knowledge by clusters of lifespans, the bound of SepFrozen (Tan et al.,
//! section 3): the trace is run once to find the lifespan of every write (up to the end of the
//! trace if a version is never invalidated), and pages are grouped by k-means over the lifespans.
//!
//! A version stays in the cluster of its lifespan when it is copied. The paper does not say
//! whether lifespans or their logarithms are clustered: `scale` takes either, the lifespans
//! themselves by default.

use crate::lifespan_clusters::{cluster, histogram, seen};
use crate::{
    BuildError, Foresight, Info, Param, Params, Relocation, Scheme, Setup, UserWrite, Wants,
    ZoneEvent,
};

/// Classes by k-means over lifespans.
#[derive(Clone, Debug)]
pub struct FkKmeans {
    /// Largest lifespan of every cluster but the last.
    cuts: Vec<u32>,
    /// Time of the trace's last write.
    end: u32,
}

const PARAMS: &[Param] = &[
    Param::whole("classes", 6, 2..=255, "clusters"),
    Param::word("scale", "linear", &["linear", "log"], "linear or log: what is clustered"),
];

impl Scheme for FkKmeans {
    type Page = ();
    const INFO: Info = Info {
        name: "fk-kmeans",
        summary: "future knowledge: by k-means over lifespans",
        source: "Tan et al. (SepFrozen), section 3",
        params: PARAMS,
    };
    const WANTS: Wants = Wants { foresight: Foresight::Lifespans, ..Wants::NOTHING };

    fn build(setup: &Setup<'_>, params: &mut Params) -> Result<Self, BuildError> {
        let classes = params.whole(PARAMS, "classes")?;
        let log = params.word(PARAMS, "scale")? == "log";
        let lifespans =
            setup.lifespans.ok_or(BuildError::NeedsForesight { name: Self::INFO.name })?;
        let end = lifespans.len() as u32;
        Ok(FkKmeans { cuts: cluster(&histogram(seen(lifespans), 11), classes, log), end })
    }

    fn classes(&self) -> usize {
        self.cuts.len() + 1
    }

    #[inline(always)]
    fn place_user(&mut self, write: &UserWrite, (): &mut ()) -> usize {
        let lifespan = write.lifespan.min(self.end.saturating_sub(write.now));
        self.cuts.partition_point(|&cut| lifespan > cut)
    }

    #[inline(always)]
    fn destination(&self, victim: &ZoneEvent) -> Option<usize> {
        Some(victim.class)
    }

    #[inline(always)]
    fn place_relocation(&mut self, relocation: &Relocation, (): &mut ()) -> usize {
        relocation.class
    }

    fn bytes(&self) -> usize {
        self.cuts.len() * 4
    }
}
