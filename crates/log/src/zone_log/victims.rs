//! Victims: choosing them, and freeing them.

use frostline_placement::{Choice, VictimPolicy, Watch, ZoneView};

use super::{Padding, ZoneLog};

impl ZoneLog {
    /// Chooses victims into `self.choice`, and changes the class of zones as the scheme wants. If
    /// no zone is free, only victims whose pages fit into the open zones are kept.
    pub(super) fn choose_victims(&mut self) {
        self.counts.cleanings += 1;
        self.choice.clear();
        // The end of a zone may be too short for a record, and is then garbage of less than a page.
        // A victim with no more garbage than that could be copied for ever.
        let zones = self.zones.view(self.now).with_short_living(self.scheme.short_living());
        let zones = zones.with_least_garbage(self.options.page_units);
        let mut watching = Watching { policy: &mut *self.policy, watch: &mut self.watch };
        self.scheme.pick(&zones, &mut watching, &mut self.choice);
        if self.choice.victims.is_empty() && self.trigger.lacks_zones(self.free.len()) {
            let (page, classes) = (self.options.page_units, self.open.len());
            self.choice.victims.extend(most_padded(&zones, &self.padding, classes, page));
        }
        let can_open = self.can_open();
        let Choice { victims, relabelled } = &mut self.choice;
        assert!(victims.iter().all(|&zone| zones.is_sealed(zone)), "a victim is sealed");
        if !can_open {
            // The end of a zone may be too short for a record, and so may that of a chunk.
            let rest = u64::from(self.options.page_units - 1);
            let chunk = self.options.chunks.map_or(0, |shape| u64::from(shape.pages));
            let ends = if chunk > 0 { 2 } else { 1 };
            let usable = |units: u32| u64::from(units).saturating_sub(ends * rest);
            let mut room: u64 = self.open.iter().map(|cursor| usable(cursor.left())).sum();
            let emptied = usable(self.zone_units);
            victims.retain(|&z| {
                let valid = u64::from(zones.valid(z) - self.padding[z as usize].units);
                let valid = valid + valid.checked_div(chunk).unwrap_or(0) * rest;
                let fits = valid <= room;
                room = if fits { room - valid + emptied } else { room };
                fits
            });
        }
        debug_assert!(
            (1..victims.len()).all(|i| !victims[..i].contains(&victims[i])),
            "a victim is chosen once"
        );
        for &zone in victims.iter() {
            self.counts.add_victim(self.zones.garbage(zone), self.zone_units);
        }
        for (zone, class) in relabelled.drain(..) {
            self.zones.relabel(zone, class);
        }
    }

    /// Chooses victims, if cleaning is due and there are any. The driver must place their valid
    /// pages ([`Steps::place_relocation`](crate::Steps::place_relocation)), and then release each
    /// victim.
    pub fn begin_cleaning(&mut self) -> Vec<u32> {
        if !self.cleaning_due() {
            return Vec::new();
        }
        self.choose_victims();
        for i in 0..self.choice.victims.len() {
            self.show_victim(self.choice.victims[i]);
        }
        if self.choice.victims.is_empty() {
            self.counts.stalls += 1;
        }
        self.choice.victims.clone()
    }

    /// Shows the scheme a victim before its pages are placed.
    pub(super) fn show_victim(&mut self, zone: u32) {
        assert!(self.zones.is_sealed(zone), "zone {zone} is no victim");
        let victim = self.event(zone);
        self.scheme.on_victim(&victim, &self.zones.view(self.now));
    }

    /// The pages of a victim are about to be copied, and those that an engine had newer were
    /// written.
    pub fn copying_begins(&mut self, zone: u32) {
        self.policy.copying_begins(&self.zones.view(self.now), zone);
    }

    /// Frees a victim whose pages are all copied. False, without effect, while it holds a valid
    /// page.
    pub fn release(&mut self, zone: u32) -> bool {
        let emptied = self.valid_in(zone) == 0 && self.zones.is_sealed(zone);
        if emptied {
            self.reclaim(zone);
            self.check_totals();
        }
        emptied
    }

    /// Frees a victim whose valid pages are all copied.
    pub(super) fn reclaim(&mut self, zone: u32) {
        assert!(!self.open_zones.contains(&zone), "the open zone {zone} is freed");
        debug_assert!(!self.free.contains(&zone), "zone {zone} is freed twice");
        let victim = self.event(zone);
        self.counts.zones_reclaimed += 1;
        let padding = std::mem::take(&mut self.padding[zone as usize]);
        let garbage = u64::from(self.zones.garbage(zone));
        let written = u64::from(self.zone_units - padding.units);
        assert!(garbage <= self.garbage && written <= self.written, "zone {zone} is in the totals");
        self.garbage -= garbage;
        self.written -= written;
        self.zones.free(zone);
        self.free.push(zone);
        self.scheme.on_reclaimed(&victim);
    }
}

/// A policy that is told of the zones, as a scheme asks it.
struct Watching<'a> {
    policy: &'a mut dyn VictimPolicy,
    watch: &'a mut Watch,
}

impl VictimPolicy for Watching<'_> {
    fn pick(&mut self, zones: &ZoneView<'_>) -> Option<u32> {
        match zones.is_partial() {
            true => self.policy.pick(zones),
            false => self.policy.pick_watched(zones, self.watch),
        }
    }
}

/// The sealed zone with the most garbage and padding of chunks that were ended early, if cleaning
/// it makes room: until its copies are durable, a page may be left behind in each class.
/// Pages of one unit have no padding.
fn most_padded(
    zones: &ZoneView<'_>,
    padding: &[Padding],
    classes: usize,
    page: u32,
) -> Option<u32> {
    if page == 1 {
        return None;
    }
    let least = (zones.zone_pages() / 4).max((classes as u32 + 2) * page);
    let sealed = (1..padding.len() as u32).filter(|&zone| zones.is_sealed(zone));
    let by_gain = sealed.map(|zone| (zones.garbage(zone) + padding[zone as usize].early, zone));
    by_gain.max().filter(|&(gain, _)| gain >= least).map(|(_, zone)| zone)
}
