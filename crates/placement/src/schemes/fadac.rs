//! FADaC: pages by a count that rises with user writes and falls with relocations, compared with a
//! fading average. Kremer and Brinkmann, "FADaC: A Self-adapting Data Classifier for Flash Memory",
//! SYSTOR'19, as SepBIT (FAST'22, section 4.1) uses it, with six classes.
//!
//! A user write adds 1 to its page's count, a relocation takes 1 off, down to 0. The average f
//! starts at 0 and follows the writes: a request of l pages, with V pages valid, adds l/V - f/V.
//! A page goes to the first class k for which its count is at most f * 10^k, the last if none is;
//! to class 0 while f is 0. Class 0 is the coldest. User writes and relocations are treated alike.
//!
//! SepBIT says only that FADaC goes by recency; the constants are those of the authors' simulator.
//! That simulator adds l/V to f before it subtracts f/V. With requests of one page, f should be 1
//! from the first write on, and pages written once should be in class 0; but with that order of
//! rounding f sinks a little below 1, and they go to class 1. Here the difference is taken first,
//! which is exact where it matters, and worth about 1 % of the write amplification.

use crate::{
    BuildError, Info, PageState, Param, Params, Relocation, Request, Scheme, Semantics, Setup,
    UserWrite, Wants,
};

/// Classes by write count against a fading average.
#[derive(Debug)]
pub struct Fadac {
    average: f64,
    fast22: bool,
    /// The largest count of each class but the last.
    limits: Vec<f64>,
}

/// User writes of a page less its relocations.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct Count(u32);

impl PageState for Count {}

impl Fadac {
    #[inline(always)]
    fn class(&self, count: u32) -> usize {
        let count = f64::from(count);
        self.limits.iter().map(|&limit| usize::from(count > limit)).sum()
    }
}

impl Scheme for Fadac {
    type Page = Count;
    const INFO: Info = Info {
        name: "fadac",
        summary: "by writes less relocations of a page against a fading average",
        source: "Kremer and Brinkmann, SYSTOR 2019; SepBIT, FAST 2022, section 4.1",
        params: &[Param::whole("classes", 6, 2..=64, "classes, coldest first")],
    };
    const WANTS: Wants = Wants { requests: true, ..Wants::NOTHING };

    fn build(setup: &Setup<'_>, params: &mut Params) -> Result<Self, BuildError> {
        let classes: usize = params.whole(Self::INFO.params, "classes")?;
        // While the average is 0 all pages go to class 0.
        let fast22 = setup.semantics == Semantics::SepbitFast22;
        Ok(Fadac { average: 0.0, fast22, limits: vec![f64::INFINITY; classes - 1] })
    }

    fn classes(&self) -> usize {
        self.limits.len() + 1
    }

    fn coldest(&self) -> usize {
        0
    }

    #[inline(always)]
    fn on_request(&mut self, request: &Request) {
        if request.valid == 0 {
            return;
        }
        let valid = request.valid as i64 as f64;
        let (gain, loss) = (f64::from(request.pages) / valid, self.average / valid);
        self.average =
            if self.fast22 { self.average + gain - loss } else { self.average + (gain - loss) };
        let mut limit = self.average;
        for slot in &mut self.limits {
            *slot = limit;
            limit *= 10.0;
        }
    }

    #[inline(always)]
    fn place_user(&mut self, _: &UserWrite, page: &mut Count) -> usize {
        page.0 = page.0.saturating_add(1);
        self.class(page.0)
    }

    #[inline(always)]
    fn place_relocation(&mut self, _: &Relocation, page: &mut Count) -> usize {
        page.0 = page.0.saturating_sub(1);
        self.class(page.0)
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        vec![("average", self.average)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytemuck::Zeroable;

    fn scheme(semantics: Semantics) -> Fadac {
        let (_, mut params) = Params::parse("fadac:classes=4").unwrap();
        Fadac::build(&Setup { semantics, ..Setup::new(10, 100) }, &mut params).unwrap()
    }

    fn request(scheme: &mut Fadac, pages: u32, valid: u64) {
        scheme.on_request(&Request { lba: 0, pages, now: 0, valid });
    }

    fn write(scheme: &mut Fadac, page: &mut Count) -> usize {
        let write = UserWrite { first: false, zone: 1, ..UserWrite::first(0, 1) };
        scheme.place_user(&write, page)
    }

    #[test]
    fn everything_is_of_class_0_until_there_is_an_average() {
        let mut scheme = scheme(Semantics::Published);
        request(&mut scheme, 1, 0);
        assert_eq!(write(&mut scheme, &mut Count(1000)), 0);
    }

    #[test]
    fn the_average_gains_the_requests_share_and_fades() {
        let mut scheme = scheme(Semantics::Published);
        request(&mut scheme, 8, 16);
        assert_eq!(scheme.average, 0.5);
        request(&mut scheme, 4, 32);
        assert_eq!(scheme.average, 0.5 + 4.0 / 32.0 - 0.5 / 32.0);
    }

    #[test]
    fn classes_are_decades_of_the_average() {
        let mut scheme = scheme(Semantics::Published);
        request(&mut scheme, 2, 1);
        assert_eq!(scheme.average, 2.0);
        let of = |count: u32| write(&mut scheme, &mut Count(count - 1));
        let classes = [1, 2, 3, 20, 21, 200, 201, u32::MAX].map(of);
        assert_eq!(classes, [0, 0, 1, 1, 2, 2, 3, 3]);
    }

    #[test]
    fn a_relocation_takes_one_off_before_it_is_classed() {
        let mut scheme = scheme(Semantics::Published);
        request(&mut scheme, 2, 1);
        let relocation = Relocation { lba: 0, now: 1, zone: 1, class: 0, last: false };
        let mut page = Count(3);
        assert_eq!((scheme.place_relocation(&relocation, &mut page), page.0), (0, 2));
        let mut page = Count::zeroed();
        let coldest = scheme.coldest();
        assert_eq!((scheme.place_relocation(&relocation, &mut page), page.0), (coldest, 0));
    }

    #[test]
    fn rounding_sinks_the_average_below_1_only_in_the_simulators_order() {
        for semantics in [Semantics::Published, Semantics::SepbitFast22] {
            let mut scheme = scheme(semantics);
            (1..1000).for_each(|valid| request(&mut scheme, 1, valid));
            let fast22 = semantics == Semantics::SepbitFast22;
            assert_eq!(scheme.average < 1.0, fast22);
            assert!((scheme.average - 1.0).abs() < 1e-9);
            assert_eq!(write(&mut scheme, &mut Count(0)), usize::from(fast22));
        }
    }
}
