//! The part of a scheme that does not name a page's state.

use crate::choice::Choice;
use crate::events::{Request, ZoneEvent};
use crate::fast22::Fast22;
use crate::methods::methods;
use crate::victims::VictimPolicy;
use crate::wants::Wants;
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
        /// What zones and victims need of a [`Scheme`](crate::Scheme), whatever it keeps of a page.
        /// What a log does with zones goes through this, so it is compiled once for all schemes.
        /// The methods are those of [`Scheme`](crate::Scheme).
        #[allow(missing_docs)]
        pub trait ZoneScheme: Send {
            fn classes(&self) -> usize;
            $(fn $asked(&self $(, $a: $a_type)*) $(-> $a_out)?;)*
            $(fn $told(&mut self $(, $t: $t_type)*) $(-> $t_out)?;)*
        }
    };
}

methods!(declare);
