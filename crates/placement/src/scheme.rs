//! The trait of placement schemes.

use crate::build::{Info, Setup};
use crate::choice::Choice;
use crate::events::{Pages, Relocation, Request, UserWrite, Victim, ZoneEvent};
use crate::fast22::Fast22;
use crate::methods::methods;
use crate::page::PageState;
use crate::params::{BuildError, Params};
use crate::victims::VictimPolicy;
use crate::wants::Wants;
use crate::zone_scheme::ZoneScheme;
use crate::zones::{ShortLiving, ZoneView};

macro_rules! declare {
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
        /// A rule that gives pages a class.
        ///
        /// The log calls, in this order: for a user write [`on_request`](Self::on_request) (at the
        /// first page of a request), [`place_user`](Self::place_user); for cleaning
        /// [`on_victim`](Self::on_victim), [`destination`](Self::destination), or else
        /// [`place_batch`](Self::place_batch) if the scheme [wants batches](Wants::batches) and
        /// [`place_relocation`](Self::place_relocation) for every valid page in slot order that has
        /// no class yet, [`on_reclaimed`](Self::on_reclaimed); and around them
        /// [`on_opened`](Self::on_opened) and [`on_sealed`](Self::on_sealed) as zones change.
        pub trait Scheme: Send + Sized + 'static {
            /// The state that is kept of each page; `()` costs nothing.
            type Page: PageState;
            /// Name, source and parameters.
            const INFO: Info;
            /// What the scheme is told, asked and given besides.
            const WANTS: Wants = Wants::NOTHING;

            /// Builds the scheme.
            ///
            /// # Errors
            /// A parameter that is unknown, not a number or out of range.
            fn build(setup: &Setup<'_>, params: &mut Params) -> Result<Self, BuildError>;

            /// Number of classes; every answer is below it. At most 255.
            fn classes(&self) -> usize;

            /// The class of a user write. Brings `page`, the page's state, up to date.
            fn place_user(&mut self, write: &UserWrite, page: &mut Self::Page) -> usize;

            /// The class of a relocation.
            fn place_relocation(&mut self, relocation: &Relocation, page: &mut Self::Page) -> usize;

            // All that follows has a default.

            /// The page will soon be placed: a scheme that then looks into a large table of its own
            /// may prefetch the entry, see [`prefetch`](crate::prefetch).
            fn fetch(&self, _lba: u32) {}

            /// Shows the state of the page at LBA + 1, if it is valid, before the page at LBA is
            /// placed.
            fn on_neighbour(&mut self, _next: Option<&Self::Page>, _now: u32) {}

            /// Shows the state of a valid page. At every user write the volume looks at one LBA,
            /// all as often and in no order, and shows its page if it is valid.
            fn on_survey(&mut self, _page: &Self::Page, _now: u32) {}

            /// A page was trimmed. Shows the state that it had, if it was valid.
            #[inline(always)]
            fn on_trim(&mut self, _lba: u32, _page: Option<&Self::Page>, _now: u32) {}

            /// Gives classes to all valid pages of a victim at once: a model infers here over the
            /// whole batch. A page whose class stays unset is given one by
            /// [`place_relocation`](Self::place_relocation) later.
            fn place_batch(
                &mut self,
                _victim: &Victim,
                _pages: &Pages<'_, Self::Page>,
                _classes: &mut [Option<u8>],
            ) {
            }

            /// Clamps the stamps in a page's state, see [`PageState::clamp`].
            fn clamp(&self, page: &mut Self::Page, now: u32) {
                page.clamp(now);
            }

            $($(#[$a_meta])* fn $asked(&$a_self $(, $a: $a_type)*) $(-> $a_out)? $a_body)*
            $($(#[$t_meta])* fn $told(&mut $t_self $(, $t: $t_type)*) $(-> $t_out)? $t_body)*
        }

        impl<S: Scheme> ZoneScheme for S {
            fn classes(&self) -> usize {
                Scheme::classes(self)
            }
            $(fn $asked(&self $(, $a: $a_type)*) $(-> $a_out)? { Scheme::$asked(self $(, $a)*) })*
            $(fn $told(&mut self $(, $t: $t_type)*) $(-> $t_out)? { Scheme::$told(self $(, $t)*) })*
        }
    };
}

methods!(declare);
