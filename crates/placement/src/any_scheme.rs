//! A scheme whose type is not known when the code is compiled, for schemes that stand around
//! another.

use crate::registry::{SchemeSpec, Visitor};
use crate::scheme::methods;
use crate::{
    BuildError, Foresight, Info, PageState, Params, Relocation, Request, Scheme, Setup, UserWrite,
    ZoneEvent, ZoneTable,
};

/// Words that the page state of every scheme that others stand around fits into.
const WORDS: usize = 3;

/// A page's state of a scheme whose type is not known: the bytes that the scheme knows, and zeroes.
/// The scheme clamps its stamps, see [`Scheme::clamp`].
#[derive(Clone, Copy, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct AnyState([u64; WORDS]);

impl PageState for AnyState {}

impl AnyState {
    /// The state as the scheme knows it, which has been seen to fit.
    #[inline(always)]
    pub(crate) fn of<S: Scheme>(&mut self) -> &mut S::Page {
        const { assert!(align_of::<S::Page>() <= align_of::<AnyState>()) };
        bytemuck::from_bytes_mut(&mut bytemuck::bytes_of_mut(self)[..size_of::<S::Page>()])
    }
}

/// A scheme that is named in [`Setup::within`].
pub struct AnyScheme(Box<dyn Erased>);

impl AnyScheme {
    /// Forgets the type of a scheme.
    ///
    /// # Errors
    /// Says why no other scheme can stand around it.
    pub(crate) fn of<S: Scheme>(scheme: S) -> Result<Self, &'static str> {
        match (size_of::<S::Page>() <= size_of::<AnyState>(), S::BATCHED) {
            (false, _) => Err("it remembers too much of a page to stand within another"),
            (_, true) => Err("it wants all pages of a victim at once itself"),
            _ if S::OWN_VICTIM.is_some() => Err("it chooses its own victims"),
            _ => Ok(AnyScheme(Box::new(scheme))),
        }
    }
}

/// Declares [`Scheme`] without its types, and forwards its methods to and from there.
macro_rules! erase {
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
        trait Erased: Send {
            fn classes(&self) -> usize;
            fn place_user(&mut self, write: &UserWrite, page: &mut AnyState) -> usize;
            fn place_relocation(&mut self, relocation: &Relocation, page: &mut AnyState) -> usize;
            fn clamp(&self, page: &mut AnyState, now: u32);
            $(fn $asked(&self $(, $a: $a_type)*) $(-> $a_out)?;)*
            $(fn $told(&mut self $(, $t: $t_type)*) $(-> $t_out)?;)*
        }

        impl<S: Scheme> Erased for S {
            fn classes(&self) -> usize {
                Scheme::classes(self)
            }
            fn place_user(&mut self, write: &UserWrite, page: &mut AnyState) -> usize {
                Scheme::place_user(self, write, page.of::<S>())
            }
            fn place_relocation(&mut self, relocation: &Relocation, page: &mut AnyState) -> usize {
                Scheme::place_relocation(self, relocation, page.of::<S>())
            }
            fn clamp(&self, page: &mut AnyState, now: u32) {
                Scheme::clamp(self, page.of::<S>(), now);
            }
            $(fn $asked(&self $(, $a: $a_type)*) $(-> $a_out)? { Scheme::$asked(self $(, $a)*) })*
            $(fn $told(&mut self $(, $t: $t_type)*) $(-> $t_out)? { Scheme::$told(self $(, $t)*) })*
        }

        impl Scheme for AnyScheme {
            type Page = AnyState;
            const INFO: Info = Info { name: "", summary: "", source: "", params: &[], fast22: "" };
            const FORESIGHT: Foresight = Foresight::Lifespans;
            const PER_REQUEST: bool = true;
            const WANTS_HOTNESS: bool = true;

            fn build(setup: &Setup<'_>, _: &mut Params) -> Result<Self, BuildError> {
                named_within(setup)
            }
            fn classes(&self) -> usize {
                self.0.classes()
            }
            fn place_user(&mut self, write: &UserWrite, page: &mut AnyState) -> usize {
                self.0.place_user(write, page)
            }
            fn place_relocation(&mut self, relocation: &Relocation, page: &mut AnyState) -> usize {
                self.0.place_relocation(relocation, page)
            }
            fn clamp(&self, page: &mut AnyState, now: u32) {
                self.0.clamp(page, now);
            }
            $(fn $asked(&self $(, $a: $a_type)*) $(-> $a_out)? { self.0.$asked($($a),*) })*
            $(fn $told(&mut self $(, $t: $t_type)*) $(-> $t_out)? { self.0.$told($($t),*) })*
        }
    };
}

methods!(erase);

/// Builds the scheme that [`Setup::within`] names.
fn named_within(setup: &Setup<'_>) -> Result<AnyScheme, BuildError> {
    struct Erase;
    impl Visitor for Erase {
        type Output = Result<AnyScheme, &'static str>;
        fn visit<S: Scheme>(self, scheme: S) -> Self::Output {
            AnyScheme::of(scheme)
        }
    }
    let spec = SchemeSpec::parse(setup.within.unwrap_or("sepbit"))?;
    let built = spec.build(&Setup { within: None, ..*setup }, Erase)?;
    built.map_err(|why| BuildError::BadValue {
        name: "a scheme around another".to_string(),
        key: "within",
        value: spec.text.clone(),
        why: why.to_string(),
    })
}
