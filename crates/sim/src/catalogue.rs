//! All schemes and victim policies, as a table.

use frostline_placement::registry::{Entry, PAIRINGS, Registry};
use frostline_placement::victims::POLICIES;
use frostline_placement::{BuildError, Param, Room, SchemeSpec, Semantics};
use serde::Serialize;

use crate::fast22::READINGS;

/// All schemes and victim policies.
#[derive(Clone, Debug, Serialize)]
pub struct Catalogue {
    /// The schemes, and then the pairings.
    pub schemes: Vec<SchemeRow>,
    /// The victim policies.
    pub victims: Vec<PolicyRow>,
}

/// A scheme.
#[derive(Clone, Debug, Serialize)]
pub struct SchemeRow {
    /// Its name.
    pub name: &'static str,
    /// Its rule, in a sentence.
    pub summary: &'static str,
    /// Number of classes with the default parameters.
    pub classes: usize,
    /// Bytes of state per page.
    pub bytes_per_page: usize,
    /// Its own victim side, or the victim policy of a pairing; `None` otherwise.
    pub victim: Option<&'static str>,
    /// The victim policy that a replay has where none is asked for, or its own victim side.
    pub default_victim: &'static str,
    /// The paper that published it.
    pub source: &'static str,
    /// Its parameters.
    pub params: Vec<ParamRow>,
    /// Its differences under the semantics `sepbit-fast22`; empty if there are none.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub sepbit_fast22: &'static str,
}

/// A parameter.
#[derive(Clone, Debug, Serialize)]
pub struct ParamRow {
    /// Its name.
    pub key: &'static str,
    /// The published default.
    pub default: String,
    /// The values that it accepts.
    pub accepted: String,
    /// Its meaning.
    pub help: &'static str,
}

/// A victim policy.
#[derive(Clone, Debug, Serialize)]
pub struct PolicyRow {
    /// Its name.
    pub name: &'static str,
    /// The rule by which it chooses the next victim.
    pub summary: &'static str,
    /// The paper that published it.
    pub source: &'static str,
    /// Its parameters.
    pub params: Vec<ParamRow>,
}

impl Catalogue {
    /// The schemes and victim policies of this version.
    ///
    /// # Errors
    /// Never in practice: published defaults can be built.
    pub fn published() -> Result<Catalogue, BuildError> {
        Catalogue::of(Registry::published())
    }

    /// The schemes of a registry, and all victim policies.
    ///
    /// # Errors
    /// One of the program's own schemes can't be built with its defaults, or its name is taken.
    pub fn of(registry: Registry) -> Result<Catalogue, BuildError> {
        let schemes = registry.names().map(|name| scheme(registry, name));
        let victims = POLICIES.iter().map(|policy| PolicyRow {
            name: policy.name,
            summary: policy.summary,
            source: policy.source,
            params: params(policy.params),
        });
        Ok(Catalogue { schemes: schemes.collect::<Result<_, _>>()?, victims: victims.collect() })
    }
}

fn scheme(registry: Registry, name: &'static str) -> Result<SchemeRow, BuildError> {
    let spec = registry.parse(name)?;
    let base = row(&spec, name)?;
    let Some(pairing) = PAIRINGS.iter().find(|pairing| pairing.name == name) else {
        return Ok(base);
    };
    let mut params = base.params;
    for param in &mut params {
        if let Some((_, value)) = pairing.params.iter().find(|(key, _)| *key == param.key) {
            param.default = value.to_string();
        }
    }
    Ok(SchemeRow { summary: pairing.summary, source: pairing.source, params, ..base })
}

fn row(spec: &SchemeSpec, name: &'static str) -> Result<SchemeRow, BuildError> {
    let Entry { info, page_bytes, .. } = *spec.entry;
    Ok(SchemeRow {
        name,
        summary: info.summary,
        classes: spec.classes(Semantics::Published, Room::default())?,
        bytes_per_page: page_bytes,
        victim: spec.victim,
        default_victim: spec.default_victim,
        source: info.source,
        params: params(info.params),
        sepbit_fast22: reading(info.name),
    })
}

fn params(params: &'static [Param]) -> Vec<ParamRow> {
    let row = |p: &Param| ParamRow {
        key: p.key,
        default: p.value.to_string(),
        accepted: p.accepted(),
        help: p.help,
    };
    params.iter().map(row).collect()
}

/// The scheme's differences under the semantics `sepbit-fast22`; empty if there are none.
fn reading(scheme: &str) -> &'static str {
    let known = READINGS.iter().find(|(name, _)| *name == scheme);
    known.map_or("", |(_, reading)| reading)
}
