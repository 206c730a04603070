//! Schemes of Python programs: compiled functions that the log calls through their addresses,
//! without Python.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use frostline::placement::registry::Registry;
use frostline::placement::{
    AnyScheme, AnyState, BuildError, Clock, ExternalScheme, INNER_WORDS, Info, Param, Params,
    Relocation, Scheme, Setup, UserWrite, Value, ZoneEvent, ZoneView,
};
use pyo3::prelude::*;

use crate::error::{Failure, Result};

/// A user write, as functions of a scheme see it.
#[repr(C)]
struct Write {
    lba: i64,
    now: i64,
    first: i64,
    class: i64,
    zone: i64,
    offset: i64,
    valid: i64,
}

/// A relocation, as functions of a scheme see it.
#[repr(C)]
struct Move {
    lba: i64,
    now: i64,
    class: i64,
    zone: i64,
}

/// A zone that was sealed or chosen as a victim, as functions of a scheme see it.
#[repr(C)]
struct Zone {
    zone: i64,
    now: i64,
    class: i64,
    opened_at: i64,
    sealed_at: i64,
    garbage: i64,
    valid: i64,
    pages: i64,
}

/// The setup that a scheme is built from.
#[repr(C)]
struct Volume {
    zone_pages: i64,
    page_bytes: i64,
    space: i64,
    seed: i64,
}

/// The answer of a function that raised an exception.
const RAISED: i64 = i64::MIN;

/// The scheme's memory, an event, the page's state; the class, or [`RAISED`].
type Place<E> = unsafe extern "C" fn(*mut u64, *const E, *mut AnyState<INNER_WORDS>) -> i64;
/// The scheme's memory, an event; [`RAISED`] or anything else.
type Told<E> = unsafe extern "C" fn(*mut u64, *const E) -> i64;

/// The functions of a scheme.
#[derive(Clone, Copy)]
struct Functions {
    place_user: Place<Write>,
    place_relocation: Place<Move>,
    start: Option<Told<Volume>>,
    on_sealed: Option<Told<Zone>>,
    on_victim: Option<Told<Zone>>,
}

/// A scheme of a Python program. It lives as long as the program: names and functions of it are in
/// the registry of every replay that it has a part in.
struct Own {
    name: &'static str,
    params: &'static [Param],
    classes: usize,
    /// Words of the scheme's memory; the parameters come first.
    words: usize,
    functions: Functions,
    failure: Mutex<Option<String>>,
    /// Keeps the functions.
    _keep: Py<PyAny>,
}

impl Own {
    fn build(
        &'static self,
        setup: &Setup<'_>,
        params: &mut Params,
    ) -> std::result::Result<Called, BuildError> {
        let mut memory = vec![0u64; self.words].into_boxed_slice();
        for (param, word) in self.params.iter().zip(&mut memory) {
            *word = match param.value {
                Value::Real(..) => params.real(self.params, param.key)?.to_bits(),
                _ => params.whole::<i64>(self.params, param.key)? as u64,
            };
        }
        let mut called = Called { own: self, memory, clock: Clock::default(), failed: false };
        let volume = Volume {
            zone_pages: setup.zone_pages.into(),
            page_bytes: setup.page_bytes.into(),
            space: setup.space.into(),
            seed: setup.seed as i64,
        };
        called.tell("start", self.functions.start, &volume);
        Ok(called)
    }
}

/// A scheme at work.
struct Called {
    own: &'static Own,
    memory: Box<[u64]>,
    clock: Clock,
    /// True once a function has failed: the replay will be stopped, and none is called meanwhile.
    failed: bool,
}

impl Called {
    #[cold]
    fn fail(&mut self, why: String) {
        self.failed = true;
        self.own.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
    }

    #[inline(always)]
    fn place<E>(
        &mut self,
        what: &str,
        place: Place<E>,
        event: &E,
        page: &mut AnyState<INNER_WORDS>,
    ) -> usize {
        if self.failed {
            return 0;
        }
        // SAFETY: the function was compiled for this signature, and for a memory and a state of a
        // page of no more bytes than these have: `OwnScheme::new` is told the sizes of both. It
        // keeps none of the addresses.
        let class = unsafe { place(self.memory.as_mut_ptr(), event, page) };
        if (class as u64) < self.own.classes as u64 {
            return class as usize;
        }
        self.fail(match class {
            RAISED => format!("{what} raised an exception"),
            _ => format!("{what} answered class {class}, and there are {}", self.own.classes),
        });
        0
    }

    fn tell<E>(&mut self, what: &str, told: Option<Told<E>>, event: &E) {
        let Some(told) = told.filter(|_| !self.failed) else { return };
        // SAFETY: as in `place`.
        if unsafe { told(self.memory.as_mut_ptr(), event) } == RAISED {
            self.fail(format!("{what} raised an exception"));
        }
    }

    fn zone(&mut self, event: &ZoneEvent, zones: &ZoneView<'_>) -> Zone {
        let now = self.clock.writes(event.now) as i64;
        let since = |then: u32| now - i64::from(event.now.wrapping_sub(then));
        Zone {
            zone: event.zone.into(),
            now,
            class: event.class as i64,
            opened_at: since(zones.opened_at(event.zone)),
            sealed_at: since(zones.sealed_at(event.zone)),
            garbage: zones.garbage(event.zone).into(),
            valid: zones.valid(event.zone).into(),
            pages: zones.zone_pages().into(),
        }
    }
}

impl Scheme for Called {
    type Page = AnyState<INNER_WORDS>;
    /// Each has its own, see [`ExternalScheme::made`].
    const INFO: Info = Info { name: "", summary: "", source: "", params: &[] };

    /// It is made by [`Own::build`].
    fn build(_: &Setup<'_>, _: &mut Params) -> std::result::Result<Self, BuildError> {
        let (name, known) = (String::new(), String::new());
        Err(BuildError::UnknownName { kind: "scheme", name, known })
    }

    fn classes(&self) -> usize {
        self.own.classes
    }

    fn place_user(&mut self, write: &UserWrite, page: &mut Self::Page) -> usize {
        let event = Write {
            lba: write.lba.into(),
            now: self.clock.writes(write.now) as i64,
            first: write.first.into(),
            class: if write.first { -1 } else { write.class as i64 },
            zone: if write.first { -1 } else { write.zone.into() },
            offset: if write.first { -1 } else { write.offset.into() },
            valid: write.valid as i64,
        };
        self.place("place_user", self.own.functions.place_user, &event, page)
    }

    fn place_relocation(&mut self, relocation: &Relocation, page: &mut Self::Page) -> usize {
        let event = Move {
            lba: relocation.lba.into(),
            now: self.clock.writes(relocation.now) as i64,
            class: relocation.class as i64,
            zone: relocation.zone.into(),
        };
        self.place("place_relocation", self.own.functions.place_relocation, &event, page)
    }

    fn on_sealed(&mut self, zone: &ZoneEvent, zones: &ZoneView<'_>) {
        if let Some(told) = self.own.functions.on_sealed {
            let event = self.zone(zone, zones);
            self.tell("on_sealed", Some(told), &event);
        }
    }

    fn on_victim(&mut self, zone: &ZoneEvent, zones: &ZoneView<'_>) {
        if let Some(told) = self.own.functions.on_victim {
            let event = self.zone(zone, zones);
            self.tell("on_victim", Some(told), &event);
        }
    }

    fn bytes(&self) -> usize {
        self.memory.len() * size_of::<u64>()
    }
}

/// A scheme of a Python program, given by the addresses of its functions.
#[pyclass(frozen, module = "frostline")]
pub struct OwnScheme {
    outside: ExternalScheme,
    own: &'static Own,
}

/// An address as a function.
fn function<F: Copy>(address: usize) -> Result<F> {
    const { assert!(size_of::<F>() == size_of::<usize>()) };
    if address == 0 {
        return Err(Failure::new("a function has no address"));
    }
    // SAFETY: the package's Python part passes addresses of functions that it has just compiled for
    // these signatures, and keeps the functions by `keep`.
    Ok(unsafe { std::mem::transmute_copy(&address) })
}

fn text(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

#[pymethods]
impl OwnScheme {
    #[new]
    #[pyo3(signature = (name, summary, *, classes, params, memory_bytes, page_bytes, place_user, place_relocation, start=None, on_sealed=None, on_victim=None, keep))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn new(
        name: String,
        summary: String,
        classes: usize,
        params: Vec<(String, String, bool)>,
        memory_bytes: usize,
        page_bytes: usize,
        place_user: usize,
        place_relocation: usize,
        start: Option<usize>,
        on_sealed: Option<usize>,
        on_victim: Option<usize>,
        keep: Py<PyAny>,
    ) -> Result<OwnScheme> {
        if !(1..=255).contains(&classes) {
            return Err(Failure::new(format!("{name}: a scheme has from 1 to 255 classes")));
        }
        if page_bytes > ExternalScheme::MOST_PAGE_BYTES {
            let most = ExternalScheme::MOST_PAGE_BYTES;
            let why =
                format!("{name} remembers {page_bytes} bytes of a page, and {most} are the most");
            return Err(Failure::new(why));
        }
        let functions = Functions {
            place_user: function(place_user)?,
            place_relocation: function(place_relocation)?,
            start: start.map(function).transpose()?,
            on_sealed: on_sealed.map(function).transpose()?,
            on_victim: on_victim.map(function).transpose()?,
        };
        let param = |(key, default, fraction): (String, String, bool)| {
            let bad = |_| Failure::new(format!("{key}={default}: not a number of 64 bits"));
            Ok(match fraction {
                true => {
                    let default = default.parse().map_err(|_| bad(()))?;
                    Param::real(text(key), default, f64::MIN..=f64::MAX, "")
                }
                false => {
                    let default = default.parse().map_err(|_| bad(()))?;
                    Param::whole(text(key), default, i64::MIN..=i64::MAX, "")
                }
            })
        };
        let params: Vec<Param> = params.into_iter().map(param).collect::<Result<_>>()?;
        let params: &'static [Param] = Box::leak(params.into_boxed_slice());
        let name = text(name);
        let own: &'static Own = Box::leak(Box::new(Own {
            name,
            params,
            classes,
            words: memory_bytes.div_ceil(size_of::<u64>()).max(params.len()),
            functions,
            failure: Mutex::new(None),
            _keep: keep,
        }));
        let info = Info { name, summary: text(summary), source: "Python", params };
        let build = move |setup: &Setup<'_>, params: &mut Params| {
            let fits = AnyScheme::of(own.build(setup, params)?);
            fits.ok_or_else(|| BuildError::LargeState {
                name: own.name.to_string(),
                bytes: size_of::<<Called as Scheme>::Page>(),
                most: ExternalScheme::MOST_PAGE_BYTES,
            })
        };
        let outside = ExternalScheme::made(info, Box::leak(Box::new(build)));
        Ok(OwnScheme { outside, own })
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        self.own.name
    }
}

/// The schemes of a replay that are not published.
#[derive(Default)]
pub struct OwnSchemes {
    schemes: Vec<(&'static Own, ExternalScheme)>,
}

impl OwnSchemes {
    /// These schemes.
    pub fn of(schemes: &[PyRef<'_, OwnScheme>]) -> Self {
        OwnSchemes { schemes: schemes.iter().map(|scheme| (scheme.own, scheme.outside)).collect() }
    }

    /// The published schemes and these. Each set of them is kept once, for ever.
    pub fn registry(&self) -> Registry {
        static SETS: OnceLock<Mutex<HashMap<Vec<usize>, &'static [ExternalScheme]>>> =
            OnceLock::new();
        let key = self.schemes.iter().map(|(own, _)| std::ptr::from_ref(*own).addr()).collect();
        let mut sets =
            SETS.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
        let all = || self.schemes.iter().map(|(_, outside)| *outside).collect();
        Registry::with(sets.entry(key).or_insert_with(|| Box::leak(all())))
    }

    /// True if one of them has failed.
    pub fn have_failed(&self) -> bool {
        let failed = |own: &Own| own.failure.lock().is_ok_and(|failure| failure.is_some());
        self.schemes.iter().any(|(own, _)| failed(own))
    }

    /// The first failure, which is then forgotten.
    pub fn take_failure(&self) -> Option<String> {
        self.schemes.iter().find_map(|(own, _)| {
            let why = own.failure.lock().unwrap_or_else(PoisonError::into_inner).take()?;
            Some(format!("{}: {why}", own.name))
        })
    }
}
