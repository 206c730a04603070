//! Parameters of schemes and victim policies, as `name:key=value:key=value`.

use std::fmt::Display;
use std::str::FromStr;

/// A parameter of a scheme.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Name, as in `dac:classes=4`.
    pub key: &'static str,
    /// The published default.
    pub default: &'static str,
    /// Its meaning.
    pub help: &'static str,
}

/// An error of a scheme or victim policy that can't be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// No scheme or policy has this name.
    #[error("unknown {kind} \"{name}\" (known: {known})")]
    UnknownName {
        /// "scheme" or "victim policy".
        kind: &'static str,
        /// The name that was asked for.
        name: String,
        /// All there are.
        known: String,
    },
    /// Two schemes have this name: one that a program added, and another.
    #[error("two schemes are named \"{name}\"")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// The parameter isn't one of this scheme's.
    #[error("{name} has no parameter \"{key}\" (known: {known})")]
    UnknownKey {
        /// The scheme or policy.
        name: String,
        /// The key.
        key: String,
        /// All it has.
        known: String,
    },
    /// Not of the form `key=value`.
    #[error("\"{text}\" in \"{spec}\" is not key=value")]
    NotKeyValue {
        /// The piece.
        text: String,
        /// The whole.
        spec: String,
    },
    /// A parameter is given twice.
    #[error("\"{spec}\" gives {key} twice")]
    Twice {
        /// The whole.
        spec: String,
        /// The key.
        key: String,
    },
    /// The value can't be used.
    #[error("{name}: {key}={value}: {why}")]
    BadValue {
        /// The scheme or policy.
        name: String,
        /// The key.
        key: &'static str,
        /// The value.
        value: String,
        /// Values that are accepted.
        why: String,
    },
    /// The scheme keeps more state of each page than there is room for where its type is not known.
    #[error("{name} remembers {bytes} bytes of a page, and {most} are the most here")]
    LargeState {
        /// The scheme.
        name: String,
        /// Bytes that it keeps.
        bytes: usize,
        /// Bytes that there is room for.
        most: usize,
    },
    /// The scheme asks for a classifier of pages, and nothing makes one here.
    #[error("{0} needs a classifier of pages, and there is none here")]
    NoClassifier(String),
    /// The scheme needs knowledge of the future, and there is none.
    #[error("{name} needs an annotated trace: it can run in the simulator only")]
    NeedsForesight {
        /// The scheme.
        name: &'static str,
    },
}

/// Parameters that were asked for, taken out one by one as the scheme is built.
#[derive(Debug, Clone, Default)]
pub struct Params {
    name: String,
    given: Vec<(String, String)>,
}

impl Params {
    /// Splits `name:key=value:...` into the name and its parameters, and checks the keys.
    ///
    /// # Errors
    /// A piece that is not `key=value`, or a key that comes twice.
    pub fn parse(spec: &str) -> Result<(String, Params), BuildError> {
        let mut pieces = spec.split(':');
        let name = pieces.next().unwrap_or_default().to_string();
        let given = pieces
            .map(|text| match text.split_once('=') {
                Some((key, value)) => Ok((key.to_string(), value.to_string())),
                None => {
                    Err(BuildError::NotKeyValue { text: text.to_string(), spec: spec.to_string() })
                }
            })
            .collect::<Result<Vec<(String, String)>, _>>()?;
        let twice = |i: usize| given[..i].iter().any(|(key, _)| *key == given[i].0);
        if let Some(i) = (0..given.len()).find(|&i| twice(i)) {
            return Err(BuildError::Twice { spec: spec.to_string(), key: given[i].0.clone() });
        }
        Ok((name.clone(), Params { name, given }))
    }

    /// Adds a parameter unless it was given.
    pub fn or(mut self, key: &str, value: &str) -> Self {
        if !self.given.iter().any(|(k, _)| k == key) {
            self.given.push((key.to_string(), value.to_string()));
        }
        self
    }

    /// Checks that every key is one of `known`.
    ///
    /// # Errors
    /// Names the first that is not, and lists the known ones.
    pub fn check(&self, known: &[Param]) -> Result<(), BuildError> {
        match self.given.iter().find(|(key, _)| known.iter().all(|p| p.key != key)) {
            None => Ok(()),
            Some((key, _)) => Err(BuildError::UnknownKey {
                name: self.name.clone(),
                key: key.clone(),
                known: known.iter().map(|p| p.key).collect::<Vec<_>>().join(" "),
            }),
        }
    }

    /// The value of `key`, or the default in `params`, if it lies in `range`.
    ///
    /// # Errors
    /// The value is not of the type, or outside the range.
    pub fn take<T>(
        &mut self,
        params: &[Param],
        key: &'static str,
        range: std::ops::RangeInclusive<T>,
    ) -> Result<T, BuildError>
    where
        T: FromStr + PartialOrd + Display,
    {
        let value = self.text(params, key);
        let bad = |value: String| BuildError::BadValue {
            name: self.name.clone(),
            key,
            value,
            why: format!("must be a number from {} to {}", range.start(), range.end()),
        };
        match value.parse::<T>() {
            Ok(v) if range.contains(&v) => Ok(v),
            _ => Err(bad(value)),
        }
    }

    /// The index of the value of `key` in `choices`.
    ///
    /// # Errors
    /// The value is not one of them.
    pub fn choose(
        &mut self,
        params: &[Param],
        key: &'static str,
        choices: &[&str],
    ) -> Result<usize, BuildError> {
        let value = self.text(params, key);
        choices.iter().position(|c| *c == value).ok_or_else(|| BuildError::BadValue {
            name: self.name.clone(),
            key,
            value,
            why: format!("must be one of {}", choices.join(" ")),
        })
    }

    /// The value of `key`, or the default in `params`.
    pub fn text(&self, params: &[Param], key: &str) -> String {
        let given = self.given.iter().rev().find(|(k, _)| k == key).map(|(_, v)| v.clone());
        given.unwrap_or_else(|| {
            let param = params.iter().find(|p| p.key == key);
            param.map(|p| p.default.to_string()).unwrap_or_default()
        })
    }
}
