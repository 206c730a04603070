//! The methods of a scheme, as a list.

/// All methods of `Scheme` that have a default and do not name a page's state. The trait is
/// declared from this list and `AnyScheme` forwards all of it, so a method that is added here is
/// never forgotten there.
///
/// `asked` methods look at the scheme, `told` methods may change it.
macro_rules! methods {
    ($then:ident) => {
        $then! {
            asked {
                /// The class whose pages live longest. An isolating scheme that shares its inner
                /// scheme's classes puts frozen pages there.
                fn coldest(&self) -> usize {
                    self.classes() - 1
                }

                /// True if a class is for pages that the scheme takes for frozen.
                fn holds_frozen(&self, _class: usize) -> bool {
                    false
                }

                /// The one class that all valid pages of this victim go to, if it is known
                /// beforehand and no relocation changes a page's state. The log then skips
                /// [`place_relocation`](Scheme::place_relocation) for the whole victim.
                #[inline(always)]
                fn destination(&self, _victim: &ZoneEvent) -> Option<usize> {
                    None
                }

                /// The class of short-living pages and the lifespan that counts as short, if the
                /// scheme has both. Victim policies that spare the zones of this class use it.
                fn short_living(&self) -> Option<ShortLiving> {
                    None
                }

                /// Knowledge that the scheme would have to learn again after a restart: at most
                /// [so many](Wants::most_memory) bytes.
                fn memory(&self) -> Vec<u8> {
                    Vec::new()
                }

                /// [`Scheme::WANTS`], or what of it depends on parameters and inner schemes.
                fn wants(&self) -> Wants {
                    Self::WANTS
                }

                /// Bytes the scheme holds besides the per-page state.
                fn bytes(&self) -> usize {
                    0
                }

                /// The scheme's own figures for a report (name, value).
                fn gauges(&self) -> Vec<(&'static str, f64)> {
                    Vec::new()
                }

                /// The decisions of the scheme with their reasons, one per line, in the order of
                /// time.
                fn explain(&self) -> Vec<String> {
                    Vec::new()
                }
            }
            told {
                /// The scheme's special rules for the simulator published with SepBIT, if it has
                /// any. A log on a device never uses them.
                fn fast22(&mut self) -> Option<&mut dyn Fast22> {
                    None
                }

                /// A request begins.
                #[inline(always)]
                fn on_request(&mut self, _request: &Request) {}

                /// The user reads pages. Only a replay of a trace calls it, for a scheme that
                /// [wants reads](Wants::reads).
                fn on_read(&mut self, _request: &Request) {}

                /// A zone was opened for a class.
                fn on_opened(&mut self, _zone: &ZoneEvent) {}

                /// A zone was sealed: it is full, or takes no more.
                fn on_sealed(&mut self, _zone: &ZoneEvent, _zones: &ZoneView<'_>) {}

                /// A zone was chosen as a victim; its pages have not moved yet.
                fn on_victim(&mut self, _zone: &ZoneEvent, _zones: &ZoneView<'_>) {}

                /// A victim's pages have all moved and the zone is free again.
                fn on_reclaimed(&mut self, _zone: &ZoneEvent) {}

                /// Chooses victims into `choice`: the one that the policy picks, unless the scheme
                /// has a part in the choice ([`Victims`](crate::Victims)).
                fn pick(
                    &mut self,
                    zones: &ZoneView<'_>,
                    policy: &mut dyn VictimPolicy,
                    choice: &mut Choice
                ) {
                    choice.victims.extend(policy.pick(zones));
                }

                /// Restores what [`memory`](Scheme::memory) gave. Called once, before the first
                /// page is placed. Bytes that the scheme does not understand count as no memory.
                fn recall(&mut self, _memory: &[u8]) {}
            }
        }
    };
}
pub(crate) use methods;
