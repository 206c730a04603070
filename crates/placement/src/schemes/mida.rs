//! MiDA: pages by how often they were relocated, which stands for their age. "Lightweight Data
//! Lifetime Classification Using Migration Counts to Improve Performance and Lifetime of
//! Flash-Based SSDs", APSys'21, as MiDAS (FAST'24) compares with it, with eight classes.
//!
//! User writes go to class 0; a relocation goes one class on, and stays in the last. So a page
//! that was relocated i times since it was written lies in class i, as far as the classes reach.
//! That count is the class of the zone the page lies in, so no state is kept.
//!
//! The text of the APSys paper was not at hand. MiDAS's description of it leaves the victim side
//! open: here it is crossed with every victim policy, as the others are. A page that had to go to
//! another class for want of a free zone counts on from there. MiDAS itself, which gives each class
//! a size and sets hot pages apart, is another scheme.

use crate::{BuildError, Info, Param, Params, Relocation, Scheme, Setup, UserWrite, ZoneEvent};

/// User writes go to class 0, each relocation one class further.
#[derive(Clone, Copy, Debug)]
pub struct Mida {
    last: usize,
}

impl Mida {
    #[inline(always)]
    fn after(&self, class: usize) -> usize {
        (class + 1).min(self.last)
    }
}

impl Scheme for Mida {
    type Page = ();
    const INFO: Info = Info {
        name: "mida",
        summary: "by the number of relocations since the page was written",
        source: "MiDA, APSys 2021; MiDAS, FAST 2024",
        params: &[Param::whole("classes", 8, 2..=64, "one for user writes, the rest by age")],
    };

    fn build(_: &Setup<'_>, params: &mut Params) -> Result<Self, BuildError> {
        Ok(Mida { last: params.whole::<usize>(Self::INFO.params, "classes")? - 1 })
    }

    fn classes(&self) -> usize {
        self.last + 1
    }

    #[inline(always)]
    fn place_user(&mut self, _: &UserWrite, (): &mut ()) -> usize {
        0
    }

    #[inline(always)]
    fn destination(&self, victim: &ZoneEvent) -> Option<usize> {
        Some(self.after(victim.class))
    }

    #[inline(always)]
    fn place_relocation(&mut self, relocation: &Relocation, (): &mut ()) -> usize {
        self.after(relocation.class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scheme(spec: &str) -> Result<Mida, BuildError> {
        let (_, mut params) = Params::parse(spec)?;
        Mida::build(&Setup::new(16, 100), &mut params)
    }

    fn user_write(class: usize) -> UserWrite<'static> {
        UserWrite { first: false, zone: 1, class, ..UserWrite::first(0, 9) }
    }

    fn relocated(scheme: &mut Mida, class: usize) -> usize {
        let relocation = Relocation { lba: 0, now: 9, zone: 1, class, last: false };
        scheme.place_relocation(&relocation, &mut ())
    }

    #[test]
    fn a_page_relocated_i_times_lies_in_class_i_up_to_the_last() {
        let mut scheme = scheme("mida:classes=4").unwrap();
        let mut class = scheme.place_user(&user_write(3), &mut ());
        let classes: Vec<_> = (0..6)
            .map(|_| {
                let before = class;
                class = relocated(&mut scheme, class);
                before
            })
            .collect();
        assert_eq!(classes, [0, 1, 2, 3, 3, 3]);
    }

    #[test]
    fn a_user_write_starts_over_wherever_the_previous_copy_lay() {
        let mut scheme = scheme("mida").unwrap();
        for class in 0..8 {
            assert_eq!(scheme.place_user(&user_write(class), &mut ()), 0);
        }
    }

    #[test]
    fn a_victim_as_a_whole_goes_where_its_pages_would_go_one_by_one() {
        let mut scheme = scheme("mida").unwrap();
        for class in 0..8 {
            let victim = ZoneEvent { zone: 1, class, now: 9 };
            assert_eq!(scheme.destination(&victim), Some(relocated(&mut scheme, class)));
        }
    }

    #[test]
    fn eight_classes_unless_others_are_asked_for_and_at_least_two() {
        assert_eq!(scheme("mida").unwrap().classes(), 8);
        assert_eq!(scheme("mida:classes=2").unwrap().classes(), 2);
        assert!(matches!(scheme("mida:classes=1"), Err(BuildError::BadValue { .. })));
    }
}
