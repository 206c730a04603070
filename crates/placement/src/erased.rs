//! A scheme without its types.

use crate::events::{Pages, Relocation, UserWrite, Victim};
use crate::page::PageState;
use crate::zone_scheme::ZoneScheme;

/// Words of 64 bits that an inner scheme may keep of each page.
pub const INNER_WORDS: usize = 3;

/// Words of 64 bits that the page state of every scheme of the registry fits into, as the registry
/// checks.
pub const MOST_WORDS: usize = 5;

/// The page state of a scheme whose type is not known: the bytes of the scheme's own state, then
/// zeroes. The scheme clamps its stamps, see [`Scheme::clamp`](crate::Scheme::clamp).
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct AnyState<const WORDS: usize>([u64; WORDS]);

impl<const WORDS: usize> PageState for AnyState<WORDS> {}

impl<const WORDS: usize> AnyState<WORDS> {
    /// The state in the type of its scheme, which was checked to fit.
    #[inline(always)]
    pub fn of<P: PageState>(&mut self) -> &mut P {
        const { assert!(align_of::<P>() <= align_of::<Self>()) };
        bytemuck::from_bytes_mut(&mut bytemuck::bytes_of_mut(self)[..size_of::<P>()])
    }
}

/// A [`Scheme`](crate::Scheme), callable without its type.
#[allow(missing_docs)]
pub trait Erased<const WORDS: usize>: ZoneScheme {
    fn place_user(&mut self, write: &UserWrite, page: &mut AnyState<WORDS>) -> usize;
    fn on_neighbour(&mut self, next: Option<&AnyState<WORDS>>, now: u32);
    fn on_survey(&mut self, page: &AnyState<WORDS>, now: u32);
    fn on_trim(&mut self, lba: u32, page: Option<&AnyState<WORDS>>, now: u32);
    fn place_batch(
        &mut self,
        victim: &Victim,
        pages: &Pages<'_, AnyState<WORDS>>,
        classes: &mut [Option<u8>],
    );
    fn place_relocation(&mut self, relocation: &Relocation, page: &mut AnyState<WORDS>) -> usize;
    fn clamp(&self, page: &mut AnyState<WORDS>, now: u32);
}
