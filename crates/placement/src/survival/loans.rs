//! Idle open zones, lent to clusters.
//!
//! A stream that ended leaves an open zone that is partly free, and so does a cluster that was
//! given up. With a fixed capacity these pages are missing as spare room. So a cluster whose zone
//! is full fills such a zone before it opens another, if pages like its own lie there.

use super::clusters::MOST_CLASSES;

/// The most classes, those of streams included.
const MOST: usize = u64::BITS as usize;

/// The classes whose open zones the clusters fill.
#[derive(Clone, Debug)]
pub struct Loans {
    /// The class of each cluster: its own, or the one that lends it a zone.
    classes: [u8; MOST_CLASSES],
    /// The cluster whose pages are like those of each class.
    kin: [u8; MOST],
    /// A bit for each class with an open zone; below, for each that lends it.
    open: u64,
    lent: u64,
}

impl Default for Loans {
    /// Nothing is open or lent.
    fn default() -> Self {
        Loans {
            classes: std::array::from_fn(|class| class as u8),
            kin: std::array::from_fn(|class| class as u8),
            open: 0,
            lent: 0,
        }
    }
}

impl Loans {
    /// The class in whose zone a cluster's pages go.
    #[inline(always)]
    pub fn class(&self, cluster: usize) -> usize {
        usize::from(self.classes[cluster])
    }

    /// A page of the cluster `kin` goes to a class of a stream, which takes its zone back.
    #[inline(always)]
    pub fn used(&mut self, class: usize, kin: usize) {
        self.kin[class] = kin as u8;
        self.take_back(class);
    }

    /// Pages of a cluster that has no class any more now belong to the cluster `kin`.
    pub fn given_up(&mut self, cluster: usize, kin: usize) {
        let fills = self.class(cluster);
        if fills != cluster {
            self.take_back(fills);
        }
        self.kin[cluster] = kin as u8;
    }

    /// No cluster fills the zone of another class any more.
    #[inline(always)]
    pub fn take_back(&mut self, class: usize) {
        if self.lent >> class & 1 == 1 {
            self.end(class);
        }
    }

    #[cold]
    fn end(&mut self, class: usize) {
        self.lent &= !(1 << class);
        for (cluster, filled) in self.classes.iter_mut().enumerate() {
            if usize::from(*filled) == class {
                *filled = cluster as u8;
            }
        }
    }

    /// A class has an open zone.
    pub fn opened(&mut self, class: usize) {
        self.open |= 1 << class;
    }

    /// The open zone of a class is sealed. The cluster that filled it goes on with that of an
    /// `idle` class if it can.
    pub fn sealed(&mut self, class: usize, idle: impl Fn(usize) -> bool) {
        self.open &= !(1 << class);
        let is_lent = self.lent >> class & 1 == 1;
        let fills =
            |&cluster: &usize| self.class(cluster) == class && (cluster != class) == is_lent;
        let filler = (0..MOST_CLASSES).find(fills);
        self.take_back(class);
        let Some(cluster) = filler else { return };
        let free = self.open & !self.lent & !(1 << cluster);
        let kin = |other: usize| usize::from(self.kin[other]);
        let fits = |&other: &usize| free >> other & 1 == 1 && kin(other) == cluster;
        if let Some(other) = (0..MOST).filter(fits).find(|&other| idle(other)) {
            self.classes[cluster] = other as u8;
            self.lent |= 1 << other;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_zone_is_filled_before_another_is_opened() {
        let mut loans = Loans::default();
        loans.opened(2);
        loans.opened(9);
        loans.used(9, 2);
        assert_eq!(loans.class(2), 2, "its own zone first");
        loans.sealed(2, |class| class == 9);
        assert_eq!((loans.class(2), loans.class(1)), (9, 1));
        loans.sealed(9, |_| true);
        assert_eq!(loans.class(2), 2);
    }

    #[test]
    fn a_zone_is_lent_only_to_the_cluster_whose_pages_are_like_those_in_it_and_only_while_idle() {
        let mut loans = Loans::default();
        (0..10).for_each(|class| loans.opened(class));
        loans.used(9, 2);
        loans.sealed(1, |_| true);
        loans.sealed(2, |_| false);
        assert_eq!((loans.class(1), loans.class(2)), (1, 2));
    }

    #[test]
    fn a_class_that_is_used_again_takes_its_zone_back() {
        let mut loans = Loans::default();
        loans.opened(9);
        loans.used(9, 2);
        loans.sealed(2, |_| true);
        assert_eq!(loans.class(2), 9);
        loans.used(9, 3);
        assert_eq!(loans.class(2), 2);
        loans.given_up(4, 2);
        loans.opened(4);
        loans.sealed(2, |class| class == 4);
        assert_eq!(loans.class(2), 4);
    }
}
