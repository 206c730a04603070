//! The methods of a scheme, as a list.

/// Every method of a `Scheme` that has a default and does not name a page's state, once: the trait is declared
/// from this list, and `AnyScheme` forwards what is in it, so a method that is
/// added here can't be left out there.
///
/// `asked` methods look at the scheme, `told` methods may change it.
macro_rules! methods {
    ($then:ident) => {
        $then! {
            asked {
                /// The class whose pages live longest: where a scheme around this one puts the
                /// pages that it knows to be frozen.
                fn coldest(&self) -> usize {
                    self.classes() - 1
                }

                /// The one class that every valid page of this victim goes to, if that is known
                /// beforehand and no page's state changes by the relocation. The log then skips
                /// [`place_relocation`](Scheme::place_relocation) for the whole victim.
                #[inline(always)]
                fn destination(&self, _victim: &ZoneEvent) -> Option<usize> {
                    None
                }

                /// True if open zones are sealed before they are full where they hardly fill and
                /// their garbage builds up: worth it for a scheme some of whose classes are given
                /// few pages. The published schemes wait until zones are full.
                fn seals_stale(&self) -> bool {
                    false
                }

                /// The class of short-living pages, if the scheme keeps one and can say how short that
                /// is: for the victim policies that give its zones time.
                fn short_living(&self) -> Option<ShortLiving> {
                    None
                }

                /// Pages at the tail of each zone that the scheme fills with what it remembers of
                /// the zone's pages. They count as written when the zone is sealed. A log whose
                /// driver keeps that elsewhere, as a store does, has none.
                fn meta_pages(&self) -> u32 {
                    0
                }

                /// True if the scheme counts the pages of zones by itself, so that it works only where every
                /// page takes one slot.
                fn whole_pages_only(&self) -> bool {
                    false
                }

                /// Knowledge that the scheme would otherwise have to learn again after a restart:
                /// at most [`Scheme::MOST_MEMORY`] bytes.
                fn memory(&self) -> Vec<u8> {
                    Vec::new()
                }

                /// [`Scheme::BATCHED`], of a scheme whose type is not known.
                fn is_batched(&self) -> bool {
                    Self::BATCHED
                }

                /// [`Scheme::SEES_OTHERS`], of a scheme whose type is not known.
                fn sees_others(&self) -> bool {
                    Self::SEES_OTHERS
                }

                /// Bytes the scheme holds besides the per-page state.
                fn bytes(&self) -> usize {
                    0
                }

                /// Figures of the scheme's own that a report should show (name, value).
                fn gauges(&self) -> Vec<(&'static str, f64)> {
                    Vec::new()
                }

                /// The decisions of the scheme with their reasons, a line each, in the order of time.
                fn explain(&self) -> Vec<String> {
                    Vec::new()
                }
            }
            told {
                /// The scheme's other rules for the simulator published with SepBIT, if it has
                /// any. A log on a device never asks.
                fn fast22(&mut self) -> Option<&mut dyn Fast22> {
                    None
                }

                /// A request begins.
                #[inline(always)]
                fn on_request(&mut self, _request: &Request) {}

                /// A page was trimmed.
                #[inline(always)]
                fn on_trim(&mut self, _lba: u32) {}

                /// A zone was opened for a class.
                fn on_opened(&mut self, _zone: &ZoneEvent) {}

                /// A zone was sealed: it is full, or takes no more.
                fn on_sealed(&mut self, _zone: &ZoneEvent, _zones: &ZoneView<'_>) {}

                /// A zone was chosen as a victim; its pages have not moved yet.
                fn on_victim(&mut self, _zone: &ZoneEvent, _zones: &ZoneView<'_>) {}

                /// A victim's pages have all moved and the zone is free again.
                fn on_reclaimed(&mut self, _zone: &ZoneEvent) {}

                /// Chooses victims into `choice`: the one that the policy picks, unless the scheme
                /// has an [`OWN_VICTIM`](Scheme::OWN_VICTIM) side, which does not ask the policy, or
                /// [orders cleaning](Scheme::ORDERS_CLEANING).
                fn pick(
                    &mut self,
                    zones: &ZoneView<'_>,
                    policy: &mut dyn VictimPolicy,
                    choice: &mut Choice
                ) {
                    choice.victims.extend(policy.pick(zones));
                }

                /// Takes up what [`memory`](Scheme::memory) gave, once, before the first page is
                /// placed. Bytes that it cannot make sense of are as if there were none.
                fn recall(&mut self, _memory: &[u8]) {}
            }
        }
    };
}
pub(crate) use methods;
