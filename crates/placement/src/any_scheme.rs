//! A scheme whose type is not known when the code is compiled, for schemes that stand around
//! another.

use crate::registry::{SchemeSpec, Visitor};
use crate::{
    BuildError, Foresight, Info, PageState, Params, Relocation, Request, Scheme, Setup, UserWrite,
    ZoneEvent, ZoneTable,
};

/// Words that every scheme's page state fits into.
const WORDS: usize = 3;

/// A page's state of a scheme whose type is not known. Its stamps are not clamped: a page that was
/// not written for 2^31 user writes may be misread as young.
#[derive(Clone, Copy, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct AnyState([u64; WORDS]);

impl PageState for AnyState {}

/// A scheme that is named in [`Setup::within`].
pub struct AnyScheme(Box<dyn Erased>);

/// [`Scheme`] without its types.
trait Erased: Send {
    fn classes(&self) -> usize;
    fn coldest(&self) -> usize;
    fn on_request(&mut self, request: &Request);
    fn place_user(&mut self, write: &UserWrite, page: &mut AnyState) -> usize;
    fn place_relocation(&mut self, relocation: &Relocation, page: &mut AnyState) -> usize;
    fn seals_stale(&self) -> bool;
    fn on_trim(&mut self, lba: u32);
    fn on_opened(&mut self, zone: &ZoneEvent);
    fn on_sealed(&mut self, zone: &ZoneEvent, zones: &ZoneTable);
    fn on_victim(&mut self, zone: &ZoneEvent, zones: &ZoneTable);
    fn on_reclaimed(&mut self, zone: &ZoneEvent);
    fn memory(&self) -> Vec<u8>;
    fn recall(&mut self, memory: &[u8]);
    fn bytes(&self) -> usize;
    fn gauges(&self) -> Vec<(&'static str, f64)>;
}

/// The state as the scheme knows it, which has been seen to fit.
#[inline(always)]
fn state<S: Scheme>(page: &mut AnyState) -> &mut S::Page {
    const { assert!(align_of::<S::Page>() <= align_of::<AnyState>()) };
    bytemuck::from_bytes_mut(&mut bytemuck::bytes_of_mut(page)[..size_of::<S::Page>()])
}

impl<S: Scheme> Erased for S {
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
    fn place_relocation(&mut self, relocation: &Relocation, page: &mut AnyState) -> usize {
        Scheme::place_relocation(self, relocation, state::<S>(page))
    }
    fn seals_stale(&self) -> bool {
        Scheme::seals_stale(self)
    }
    fn on_trim(&mut self, lba: u32) {
        Scheme::on_trim(self, lba);
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
    fn memory(&self) -> Vec<u8> {
        Scheme::memory(self)
    }
    fn recall(&mut self, memory: &[u8]) {
        Scheme::recall(self, memory);
    }
    fn bytes(&self) -> usize {
        Scheme::bytes(self)
    }
    fn gauges(&self) -> Vec<(&'static str, f64)> {
        Scheme::gauges(self)
    }
}

impl Scheme for AnyScheme {
    type Page = AnyState;
    const INFO: Info = Info { name: "", summary: "", source: "", params: &[], fast22: "" };
    const FORESIGHT: Foresight = Foresight::Lifespans;
    const PER_REQUEST: bool = true;
    const WANTS_HOTNESS: bool = true;

    fn build(setup: &Setup<'_>, _: &mut Params) -> Result<Self, BuildError> {
        struct Erase;
        impl Visitor for Erase {
            type Output = Result<Box<dyn Erased>, &'static str>;
            fn visit<S: Scheme>(self, scheme: S) -> Self::Output {
                match (size_of::<S::Page>() <= size_of::<AnyState>(), S::BATCHED) {
                    (false, _) => Err("it remembers too much of a page to stand within another"),
                    (_, true) => Err("it wants all pages of a victim at once itself"),
                    _ if S::OWN_VICTIM.is_some() => Err("it chooses its own victims"),
                    _ => Ok(Box::new(scheme)),
                }
            }
        }
        let spec = SchemeSpec::parse(setup.within.unwrap_or("sepbit"))?;
        let built = spec.build(&Setup { within: None, ..*setup }, Erase)?;
        let refused = |why: &str| BuildError::BadValue {
            name: "a scheme around another".to_string(),
            key: "within",
            value: spec.text.clone(),
            why: why.to_string(),
        };
        Ok(AnyScheme(built.map_err(refused)?))
    }

    fn classes(&self) -> usize {
        self.0.classes()
    }
    fn coldest(&self) -> usize {
        self.0.coldest()
    }
    fn on_request(&mut self, request: &Request) {
        self.0.on_request(request);
    }
    fn place_user(&mut self, write: &UserWrite, page: &mut AnyState) -> usize {
        self.0.place_user(write, page)
    }
    fn place_relocation(&mut self, relocation: &Relocation, page: &mut AnyState) -> usize {
        self.0.place_relocation(relocation, page)
    }
    fn seals_stale(&self) -> bool {
        self.0.seals_stale()
    }
    fn on_trim(&mut self, lba: u32) {
        self.0.on_trim(lba);
    }
    fn on_opened(&mut self, zone: &ZoneEvent) {
        self.0.on_opened(zone);
    }
    fn on_sealed(&mut self, zone: &ZoneEvent, zones: &ZoneTable) {
        self.0.on_sealed(zone, zones);
    }
    fn on_victim(&mut self, zone: &ZoneEvent, zones: &ZoneTable) {
        self.0.on_victim(zone, zones);
    }
    fn on_reclaimed(&mut self, zone: &ZoneEvent) {
        self.0.on_reclaimed(zone);
    }
    fn memory(&self) -> Vec<u8> {
        self.0.memory()
    }
    fn recall(&mut self, memory: &[u8]) {
        self.0.recall(memory);
    }
    fn bytes(&self) -> usize {
        self.0.bytes()
    }
    fn gauges(&self) -> Vec<(&'static str, f64)> {
        self.0.gauges()
    }
}
