//! A scheme whose type its caller does not know at compile time. A store holds its scheme like
//! this, a simulator for all but runs of whole pages, and an isolating scheme its inner scheme.

use crate::build::{Info, Setup};
use crate::choice::Choice;
use crate::erased::{AnyState, Erased, MOST_WORDS};
use crate::events::{Pages, Relocation, Request, UserWrite, Victim, ZoneEvent};
use crate::fast22::Fast22;
use crate::methods::methods;
use crate::params::{BuildError, Params};
use crate::scheme::Scheme;
use crate::victims::VictimPolicy;
use crate::wants::{Foresight, Wants};
use crate::zone_scheme::ZoneScheme;
use crate::zones::{ShortLiving, ZoneView};

/// A scheme of any type whose page state fits into `WORDS` words of 64 bits.
pub struct AnyScheme<const WORDS: usize = MOST_WORDS>(Box<dyn Erased<WORDS>>);

impl<const WORDS: usize> AnyScheme<WORDS> {
    /// Forgets the type of a scheme; `None` if the scheme's page state does not fit.
    pub fn of<S: Scheme>(scheme: S) -> Option<Self> {
        let fits = size_of::<S::Page>() <= size_of::<AnyState<WORDS>>();
        fits.then(|| AnyScheme(Box::new(Typed { scheme, states: Vec::new() })))
    }

    pub(crate) fn from_box(scheme: Box<dyn Erased<WORDS>>) -> Self {
        AnyScheme(scheme)
    }

    pub(crate) fn into_box(self) -> Box<dyn Erased<WORDS>> {
        self.0
    }
}

/// A scheme of a known type, behind an interface without types.
struct Typed<S: Scheme> {
    scheme: S,
    /// The pages' states of the present batch, in the scheme's own type.
    states: Vec<S::Page>,
}

impl<S: Scheme, const WORDS: usize> Erased<WORDS> for Typed<S> {
    fn place_user(&mut self, write: &UserWrite, page: &mut AnyState<WORDS>) -> usize {
        self.scheme.place_user(write, page.of())
    }
    fn on_neighbour(&mut self, next: Option<&AnyState<WORDS>>, now: u32) {
        let next = next.map(|page| *page.clone().of::<S::Page>());
        self.scheme.on_neighbour(next.as_ref(), now);
    }
    fn on_survey(&mut self, page: &AnyState<WORDS>, now: u32) {
        self.scheme.on_survey(page.clone().of(), now);
    }
    fn on_trim(&mut self, lba: u32, page: Option<&AnyState<WORDS>>, now: u32) {
        let page = page.map(|page| *page.clone().of::<S::Page>());
        self.scheme.on_trim(lba, page.as_ref(), now);
    }
    fn place_batch(
        &mut self,
        victim: &Victim,
        pages: &Pages<'_, AnyState<WORDS>>,
        classes: &mut [Option<u8>],
    ) {
        self.states.clear();
        self.states.extend(pages.states.iter().map(|state| *state.clone().of::<S::Page>()));
        let Pages { lbas, hotness, last, .. } = *pages;
        let pages = Pages { lbas, states: &self.states, hotness, last };
        self.scheme.place_batch(victim, &pages, classes);
    }
    fn place_relocation(&mut self, relocation: &Relocation, page: &mut AnyState<WORDS>) -> usize {
        self.scheme.place_relocation(relocation, page.of())
    }
    fn clamp(&self, page: &mut AnyState<WORDS>, now: u32) {
        self.scheme.clamp(page.of(), now);
    }
}

/// Declares both sides of the erasure: `ZoneScheme` for `Typed`, and `Scheme` for `AnyScheme`.
macro_rules! forward {
    (
        asked { $(
            $(#[$a_meta:meta])*
            fn $asked:ident(&$a_self:ident $(, $a:ident: $a_type:ty)*) $(-> $a_out:ty)? $a_body:block
        )* }
        told { $(
            $(#[$t_meta:meta])*
            fn $told:ident(&mut $t_self:ident $(, $t:ident: $t_type:ty)*) $(-> $t_out:ty)? $t_body:block
        )* }
    ) => {
        impl<S: Scheme> ZoneScheme for Typed<S> {
            fn classes(&self) -> usize {
                self.scheme.classes()
            }
            $(fn $asked(&self $(, $a: $a_type)*) $(-> $a_out)? { self.scheme.$asked($($a),*) })*
            $(fn $told(&mut self $(, $t: $t_type)*) $(-> $t_out)? { self.scheme.$told($($t),*) })*
        }

        impl<const WORDS: usize> Scheme for AnyScheme<WORDS> {
            type Page = AnyState<WORDS>;
            const INFO: Info = Info { name: "", summary: "", source: "", params: &[] };
            const WANTS: Wants = Wants { foresight: Foresight::Lifespans, requests: true, batches: true, others: true, hotness: true, ..Wants::NOTHING };

            /// Never succeeds: [`AnyScheme::of`] makes an `AnyScheme` from another scheme.
            fn build(_: &Setup<'_>, _: &mut Params) -> Result<Self, BuildError> {
                let (name, known) = (String::new(), String::new());
                Err(BuildError::UnknownName { kind: "scheme", name, known })
            }
            fn classes(&self) -> usize {
                self.0.classes()
            }
            fn place_user(&mut self, write: &UserWrite, page: &mut AnyState<WORDS>) -> usize {
                self.0.place_user(write, page)
            }
            fn on_neighbour(&mut self, next: Option<&AnyState<WORDS>>, now: u32) {
                self.0.on_neighbour(next, now);
            }
            fn on_survey(&mut self, page: &AnyState<WORDS>, now: u32) {
                self.0.on_survey(page, now);
            }
            fn on_trim(&mut self, lba: u32, page: Option<&AnyState<WORDS>>, now: u32) {
                self.0.on_trim(lba, page, now);
            }
            fn place_batch(
                &mut self,
                victim: &Victim,
                pages: &Pages<'_, AnyState<WORDS>>,
                classes: &mut [Option<u8>],
            ) {
                self.0.place_batch(victim, pages, classes);
            }
            fn place_relocation(
                &mut self,
                relocation: &Relocation,
                page: &mut AnyState<WORDS>,
            ) -> usize {
                self.0.place_relocation(relocation, page)
            }
            fn clamp(&self, page: &mut AnyState<WORDS>, now: u32) {
                self.0.clamp(page, now);
            }
            $(fn $asked(&self $(, $a: $a_type)*) $(-> $a_out)? { self.0.$asked($($a),*) })*
            $(fn $told(&mut self $(, $t: $t_type)*) $(-> $t_out)? { self.0.$told($($t),*) })*
        }
    };
}

methods!(forward);
