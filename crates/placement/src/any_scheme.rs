//! A scheme whose type is not known, for schemes that stand around another.

use crate::registry::{SchemeSpec, Visitor};
use crate::{
    BuildError, Relocation, Request, Scheme, Setup, UserWrite, ZoneEvent, ZoneTable,
};

/// Words that every scheme's page state fits into.
const WORDS: usize = 3;

/// A page's state of a scheme whose type is not known.
#[derive(Clone, Copy, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct AnyState([u64; WORDS]);

/// A [`Scheme`] whose type is not known.
pub trait AnyScheme: Send {
    /// See [`Scheme::classes`].
    fn classes(&self) -> usize;
    /// See [`Scheme::coldest`].
    fn coldest(&self) -> usize;
    /// See [`Scheme::on_request`].
    fn on_request(&mut self, request: &Request);
    /// See [`Scheme::place_user`].
    fn place_user(&mut self, write: &UserWrite, page: &mut AnyState) -> usize;
    /// See [`Scheme::place_relocation`] and [`Scheme::destination`].
    fn place_relocation(
        &mut self,
        victim: &ZoneEvent,
        relocation: &Relocation,
        page: &mut AnyState,
    ) -> usize;
    /// See [`Scheme::on_opened`].
    fn on_opened(&mut self, zone: &ZoneEvent);
    /// See [`Scheme::on_sealed`].
    fn on_sealed(&mut self, zone: &ZoneEvent, zones: &ZoneTable);
    /// See [`Scheme::on_victim`].
    fn on_victim(&mut self, zone: &ZoneEvent, zones: &ZoneTable);
    /// See [`Scheme::on_reclaimed`].
    fn on_reclaimed(&mut self, zone: &ZoneEvent);
    /// See [`Scheme::bytes`].
    fn bytes(&self) -> usize;
    /// See [`Scheme::gauges`].
    fn gauges(&self) -> Vec<(&'static str, f64)>;
    /// See [`crate::PageState::clamp`].
    fn clamp(&self, page: &mut AnyState, now: u32);
}

/// Builds a scheme whose type is not known.
///
/// # Errors
/// As for [`SchemeSpec::build`]; a state that does not fit.
pub fn build(spec: &SchemeSpec, setup: &Setup<'_>) -> Result<Box<dyn AnyScheme>, BuildError> {
    struct Erase;
    impl Visitor for Erase {
        type Output = Box<dyn AnyScheme>;
        fn visit<S: Scheme>(self, scheme: S) -> Box<dyn AnyScheme> {
            Box::new(scheme)
        }
    }
    if spec.entry.page_bytes > size_of::<AnyState>() {
        return Err(BuildError::BadValue {
            name: spec.entry.info.name.to_string(),
            key: "within",
            value: spec.text.clone(),
            why: "it remembers too much of a page to stand within another".to_string(),
        });
    }
    spec.build(setup, Erase)
}

/// The state as the scheme knows it, which [`build`] has seen to fit.
fn state<S: Scheme>(page: &mut AnyState) -> &mut S::Page {
    const { assert!(align_of::<S::Page>() <= align_of::<AnyState>()) };
    bytemuck::from_bytes_mut(&mut bytemuck::bytes_of_mut(page)[..size_of::<S::Page>()])
}

impl<S: Scheme> AnyScheme for S {
    fn classes(&self) -> usize {
        Scheme::classes(self)
    }

    fn coldest(&self) -> usize {
        Scheme::coldest(self)
    }

    fn on_request(&mut self, request: &Request) {
        Scheme::on_request(self, request);
    }

    fn place_user(&mut self, write: &UserWrite, page: &mut AnyState) -> usize {
        Scheme::place_user(self, write, state::<S>(page))
    }

    fn place_relocation(
        &mut self,
        victim: &ZoneEvent,
        relocation: &Relocation,
        page: &mut AnyState,
    ) -> usize {
        match self.destination(victim) {
            Some(class) => class,
            None => Scheme::place_relocation(self, relocation, state::<S>(page)),
        }
    }

    fn on_opened(&mut self, zone: &ZoneEvent) {
        Scheme::on_opened(self, zone);
    }

    fn on_sealed(&mut self, zone: &ZoneEvent, zones: &ZoneTable) {
        Scheme::on_sealed(self, zone, zones);
    }

    fn on_victim(&mut self, zone: &ZoneEvent, zones: &ZoneTable) {
        Scheme::on_victim(self, zone, zones);
    }

    fn on_reclaimed(&mut self, zone: &ZoneEvent) {
        Scheme::on_reclaimed(self, zone);
    }

    fn bytes(&self) -> usize {
        Scheme::bytes(self)
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        Scheme::gauges(self)
    }

    fn clamp(&self, page: &mut AnyState, now: u32) {
        crate::PageState::clamp(state::<S>(page), now);
    }
}
