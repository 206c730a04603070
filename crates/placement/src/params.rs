//! Parameters of schemes and victim policies, as `name:key=value:key=value`.

use std::fmt;
use std::ops::RangeInclusive;

/// A parameter of a scheme or victim policy.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Name, as in `dac:classes=4`.
    pub key: &'static str,
    /// The published default, and the values that are accepted.
    pub value: Value,
    /// Its meaning.
    pub help: &'static str,
}

/// The value of a parameter, and the values that it may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A whole number, and its bounds.
    Whole(i64, [i64; 2]),
    /// A real number, and its bounds.
    Real(f64, [f64; 2]),
    /// One of these words.
    Word(&'static str, &'static [&'static str]),
    /// A name that the scheme looks up.
    Name(&'static str),
}

impl Param {
    /// A whole number, its default and its range.
    pub const fn whole(
        key: &'static str,
        default: i64,
        range: RangeInclusive<i64>,
        help: &'static str,
    ) -> Self {
        assert!(*range.start() <= default && default <= *range.end(), "a default is accepted");
        Param { key, value: Value::Whole(default, [*range.start(), *range.end()]), help }
    }

    /// A real number, its default and its range.
    pub const fn real(
        key: &'static str,
        default: f64,
        range: RangeInclusive<f64>,
        help: &'static str,
    ) -> Self {
        assert!(*range.start() <= default && default <= *range.end(), "a default is accepted");
        Param { key, value: Value::Real(default, [*range.start(), *range.end()]), help }
    }

    /// One of `words`, by default `default`.
    pub const fn word(
        key: &'static str,
        default: &'static str,
        words: &'static [&'static str],
        help: &'static str,
    ) -> Self {
        Param { key, value: Value::Word(default, words), help }
    }

    /// The value that `text` stands for, if the parameter accepts it.
    fn parse(&self, text: &str) -> Option<Value> {
        match self.value {
            Value::Whole(_, [from, to]) => {
                let value = text.parse().ok().filter(|value| (from..=to).contains(value))?;
                Some(Value::Whole(value, [from, to]))
            }
            Value::Real(_, [from, to]) => {
                let value = text.parse().ok().filter(|value| (from..=to).contains(value))?;
                Some(Value::Real(value, [from, to]))
            }
            Value::Word(_, words) => {
                words.iter().find(|word| **word == text).map(|word| Value::Word(word, words))
            }
            Value::Name(_) => None,
        }
    }

    /// The values that are accepted.
    pub fn accepted(&self) -> String {
        match self.value {
            Value::Whole(_, [from, to]) => format!("a number from {from} to {to}"),
            Value::Real(_, [from, to]) => format!("a number from {from} to {to}"),
            Value::Word(_, words) => format!("one of {}", words.join(" ")),
            Value::Name(_) => "a name".to_string(),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Whole(value, _) => value.fmt(f),
            Value::Real(value, _) => value.fmt(f),
            Value::Word(value, _) | Value::Name(value) => f.write_str(value),
        }
    }
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
        /// All known names.
        known: String,
    },
    /// Two schemes have this name: one of the program's own, and another.
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
        /// All keys of the scheme or policy.
        known: String,
    },
    /// A piece is not of the form `key=value`.
    #[error("\"{text}\" in \"{spec}\" is not key=value")]
    NotKeyValue {
        /// The piece.
        text: String,
        /// The whole specification.
        spec: String,
    },
    /// A parameter is given twice.
    #[error("\"{spec}\" gives {key} twice")]
    Twice {
        /// The whole specification.
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
    /// The scheme's page state is larger than the room for a scheme whose type is not known.
    #[error("{name} remembers {bytes} bytes of a page, and {most} are the most here")]
    LargeState {
        /// The scheme.
        name: String,
        /// Bytes of the scheme's page state.
        bytes: usize,
        /// The most bytes that fit.
        most: usize,
    },
    /// The scheme needs a classifier of pages, and the setup has none.
    #[error("{0} needs a classifier of pages, and there is none here")]
    NoClassifier(String),
    /// The scheme needs a forecaster of lifespans, and the setup has none.
    #[error("{0} needs a forecaster of lifespans, and there is none here")]
    NoForecaster(String),
    /// The scheme needs knowledge of the future, and the setup has none.
    #[error("{name} needs an annotated trace: it can run in the simulator only")]
    NeedsForesight {
        /// The scheme.
        name: &'static str,
    },
}

/// The given parameters, taken out one by one as the scheme is built.
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
    /// The first key that is not in `known`; the error lists the known ones.
    pub fn check(&self, known: &[Param]) -> Result<(), BuildError> {
        match self.given.iter().find(|(key, _)| known.iter().all(|p| p.key != key)) {
            None => Ok(()),
            Some((key, _)) => Err(self.unknown(key, known)),
        }
    }

    fn unknown(&self, key: &str, known: &[Param]) -> BuildError {
        BuildError::UnknownKey {
            name: self.name.clone(),
            key: key.to_string(),
            known: known.iter().map(|p| p.key).collect::<Vec<_>>().join(" "),
        }
    }

    /// The whole number `key` of `params`.
    ///
    /// # Errors
    /// The given value is not a whole number, or out of its range.
    pub fn whole<T: TryFrom<i64>>(&self, params: &[Param], key: &str) -> Result<T, BuildError> {
        self.take(params, key, |value| match value {
            Value::Whole(value, _) => T::try_from(value).ok(),
            _ => None,
        })
    }

    /// The real number `key` of `params`.
    ///
    /// # Errors
    /// The given value is not a number, or out of its range.
    pub fn real(&self, params: &[Param], key: &str) -> Result<f64, BuildError> {
        self.take(params, key, |value| match value {
            Value::Real(value, _) => Some(value),
            _ => None,
        })
    }

    /// The word `key` of `params`.
    ///
    /// # Errors
    /// The given value is not one of the words.
    pub fn word(&self, params: &[Param], key: &str) -> Result<&'static str, BuildError> {
        self.take(params, key, |value| match value {
            Value::Word(value, _) => Some(value),
            _ => None,
        })
    }

    /// The name `key`, or its default in `params`.
    pub fn name(&self, params: &[Param], key: &str) -> String {
        let default = || params.iter().find(|p| p.key == key).map(|p| p.value.to_string());
        self.given(key).map(str::to_string).or_else(default).unwrap_or_default()
    }

    /// The value of a parameter, given or the default, in one form: equal values look alike.
    pub fn shown(&self, param: &Param) -> String {
        match self.given(param.key) {
            Some(text) => param.parse(text).map_or(text.to_string(), |value| value.to_string()),
            None => param.value.to_string(),
        }
    }

    fn given(&self, key: &str) -> Option<&str> {
        self.given.iter().rev().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
    }

    /// The value of `key`, given or the default, converted by `of`. A parameter for which `of`
    /// gives nothing counts as unknown.
    fn take<T>(
        &self,
        params: &[Param],
        key: &str,
        of: impl Fn(Value) -> Option<T>,
    ) -> Result<T, BuildError> {
        let declared = params.iter().find(|p| p.key == key);
        let with_default = declared.and_then(|param| Some((param, of(param.value)?)));
        let (param, default) = with_default.ok_or_else(|| self.unknown(key, params))?;
        let Some(text) = self.given(key) else { return Ok(default) };
        param.parse(text).and_then(of).ok_or_else(|| BuildError::BadValue {
            name: self.name.clone(),
            key: param.key,
            value: text.to_string(),
            why: format!("must be {}", param.accepted()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMS: &[Param] = &[
        Param::whole("classes", 6, 2..=300, ""),
        Param::real("base", 2.0, 1.01..=1000.0, ""),
        Param::word("memory", "exact", &["exact", "fifo"], ""),
    ];

    fn given(spec: &str) -> Params {
        Params::parse(spec).unwrap().1
    }

    #[test]
    fn a_parameter_that_is_not_given_has_its_default() {
        let params = given("x");
        assert_eq!(params.whole::<u8>(PARAMS, "classes"), Ok(6));
        assert_eq!(params.real(PARAMS, "base"), Ok(2.0));
        assert_eq!(params.word(PARAMS, "memory"), Ok("exact"));
        assert_eq!(PARAMS.iter().map(|p| p.value.to_string()).collect::<String>(), "62exact");
    }

    #[test]
    fn a_given_parameter_is_read_in_its_kind_and_range() {
        let params = given("x:classes=64:base=1.5:memory=fifo");
        assert_eq!(params.whole::<usize>(PARAMS, "classes"), Ok(64));
        assert_eq!(params.real(PARAMS, "base"), Ok(1.5));
        assert_eq!(params.word(PARAMS, "memory"), Ok("fifo"));
        for refused in ["classes=1", "classes=301", "classes=6.0", "classes=-2", "classes="] {
            assert!(given(&format!("x:{refused}")).whole::<usize>(PARAMS, "classes").is_err());
        }
        let why = given("x:base=nan").real(PARAMS, "base").unwrap_err().to_string();
        assert_eq!(why, "x: base=nan: must be a number from 1.01 to 1000");
        let why = given("x:memory=none").word(PARAMS, "memory").unwrap_err().to_string();
        assert_eq!(why, "x: memory=none: must be one of exact fifo");
    }

    #[test]
    fn a_number_too_large_for_its_type_is_refused() {
        assert!(given("x:classes=300").whole::<u8>(PARAMS, "classes").is_err());
    }

    #[test]
    fn a_parameter_of_another_kind_is_unknown() {
        let unknown = given("x").real(PARAMS, "classes").unwrap_err();
        assert!(matches!(unknown, BuildError::UnknownKey { .. }), "{unknown}");
    }
}
