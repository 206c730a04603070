//! Classes are clusters of survival curves, found by k-means. The centres stay from one fit to the
//! next, so that a class keeps its meaning. Each class has a price that it must be worth.

use std::hint::select_unpredictable;

use super::hazards::HORIZONS;

/// The most classes. A fit keeps its sums of all classes on the stack: an epoch allocates nothing.
pub const MOST_CLASSES: usize = 32;
/// Coordinates of a point: survival to each horizon, and one that sets relocations apart.
pub const COORDINATES: usize = HORIZONS + 1;
/// Centres to which distances are computed at once.
const LANES: usize = 8;
/// Rounds of a fit.
const ROUNDS: usize = 4;
/// Centres with a squared distance below this are merged.
const NEAR: f32 = 0.01;
/// The last coordinate of a relocation's point.
const RELOCATION: f32 = 0.35;

/// A survival curve as a point.
pub type CurvePoint = [f32; COORDINATES];

/// The point of a survival curve. The cube gives weight to differences among pages that live
/// long, as these are the ones that are copied.
pub fn point(survival: &[f32; HORIZONS], relocation: bool) -> CurvePoint {
    let mut point = [0.0; COORDINATES];
    point.iter_mut().zip(survival).for_each(|(x, s)| *x = s * s * s);
    point[HORIZONS] = if relocation { RELOCATION } else { 0.0 };
    point
}

/// The probability to live on that a coordinate stands for.
pub fn probability(coordinate: f32) -> f32 {
    coordinate.max(0.0).cbrt()
}

/// A point and how much it counts.
#[derive(Clone, Copy, Debug)]
pub struct Weighted {
    /// The point.
    pub point: CurvePoint,
    /// Pages that were placed by this point.
    pub weight: f32,
}

/// The centres of the classes; `None` for a class that is not used.
#[derive(Clone, Debug)]
pub struct Clusters {
    centres: Vec<Option<CurvePoint>>,
    /// The coordinates of the centres, each of all centres side by side for vector instructions;
    /// infinite for a class that is not used.
    columns: [[f32; MOST_CLASSES]; COORDINATES],
}

impl Clusters {
    /// Clusters with these centres.
    pub fn new(centres: Vec<Option<CurvePoint>>) -> Self {
        let columns = [[f32::INFINITY; MOST_CLASSES]; COORDINATES];
        let mut clusters = Clusters { centres, columns };
        (0..clusters.centres.len()).for_each(|class| clusters.set(class, clusters.centres[class]));
        clusters
    }

    fn set(&mut self, class: usize, centre: Option<CurvePoint>) {
        self.centres[class] = centre;
        let coordinates = centre.unwrap_or([f32::INFINITY; COORDINATES]);
        self.columns.iter_mut().zip(coordinates).for_each(|(column, x)| column[class] = x);
    }

    /// Clusters whose centres are the means of the points of each class, as `class` divides them.
    pub fn of(classes: usize, points: &[Weighted], class: impl Fn(usize) -> usize) -> Self {
        let mut sums = [CurveSum::default(); MOST_CLASSES];
        points.iter().enumerate().for_each(|(i, point)| sums[class(i)].add(point));
        Clusters::new(sums[..classes].iter().map(CurveSum::mean).collect())
    }

    /// The centre of each class that is used.
    pub fn centres(&self) -> &[Option<CurvePoint>] {
        &self.centres
    }

    /// True if no class is used.
    pub fn is_empty(&self) -> bool {
        self.centres.iter().all(Option::is_none)
    }

    /// The class whose centre is nearest.
    #[inline]
    pub fn nearest(&self, point: &CurvePoint) -> usize {
        self.two_nearest(point).0
    }

    /// The nearest class, its squared distance, and that of the second nearest; the distances are
    /// infinite if there are none.
    #[inline]
    fn two_nearest(&self, point: &CurvePoint) -> (usize, f32, f32) {
        let (mut class, mut first, mut second) = (0, f32::INFINITY, f32::INFINITY);
        for from in (0..self.centres.len()).step_by(LANES) {
            let mut distances = [0.0; LANES];
            for (column, y) in self.columns.iter().zip(point) {
                let column = &column[from..from + LANES];
                distances.iter_mut().zip(column).for_each(|(d, x)| *d += (x - y) * (x - y));
            }
            for (lane, distance) in distances.into_iter().enumerate() {
                let nearer = distance < first;
                let other = if distance < second { distance } else { second };
                second = select_unpredictable(nearer, first, other);
                class = select_unpredictable(nearer, from + lane, class);
                first = if nearer { distance } else { first };
            }
        }
        (class, first, second)
    }

    /// Moves the centres to the points. A class costs `price`: it stays only if the mean squared
    /// distance of all points would grow by more without it.
    pub fn fit(&mut self, points: &[Weighted], price: f32) {
        self.revive(points);
        for _ in 0..ROUNDS {
            let mut sums = [CurveSum::default(); MOST_CLASSES];
            points.iter().for_each(|p| sums[self.nearest(&p.point)].add(p));
            (0..self.centres.len()).for_each(|class| self.set(class, sums[class].mean()));
        }
        self.merge();
        while self.drop_cheapest(points, price) {}
    }

    /// Gives a free class the point with the largest error as its centre.
    fn revive(&mut self, points: &[Weighted]) {
        let Some(free) = self.centres.iter().position(Option::is_none) else { return };
        let error = |p: &Weighted| self.two_nearest(&p.point).1 * p.weight;
        let errors = points.iter().map(|p| (error(p), &p.point));
        let worst =
            errors.fold(
                (0.0, None),
                |worst, (error, point)| {
                    if error > worst.0 { (error, Some(point)) } else { worst }
                },
            );
        self.set(free, worst.1.copied());
    }

    /// Merges centres that are near each other.
    fn merge(&mut self) {
        for i in 0..self.centres.len() {
            for j in i + 1..self.centres.len() {
                if let (Some(a), Some(b)) = (&self.centres[i], &self.centres[j])
                    && distance(a, b) < NEAR
                {
                    self.set(j, None);
                }
            }
        }
    }

    /// Gives up the class that would be missed least, if it is not worth its price. Returns false
    /// if it is.
    fn drop_cheapest(&mut self, points: &[Weighted], price: f32) -> bool {
        let mut missed = [0.0; MOST_CLASSES];
        let mut weight = 0.0;
        for p in points {
            let (class, first, second) = self.two_nearest(&p.point);
            missed[class] += p.weight * (second - first);
            weight += p.weight;
        }
        let used = (0..self.centres.len()).filter(|&class| self.centres[class].is_some());
        let least = used.min_by(|&i, &j| missed[i].total_cmp(&missed[j]));
        let cheapest = least.filter(|&class| missed[class] < price * weight);
        cheapest.is_some_and(|class| {
            self.set(class, None);
            true
        })
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct CurveSum {
    sum: CurvePoint,
    weight: f32,
}

impl CurveSum {
    fn add(&mut self, point: &Weighted) {
        self.sum.iter_mut().zip(&point.point).for_each(|(s, x)| *s += x * point.weight);
        self.weight += point.weight;
    }

    fn mean(&self) -> Option<CurvePoint> {
        (self.weight > 0.0).then(|| self.sum.map(|x| x / self.weight))
    }
}

#[inline(always)]
fn distance(a: &CurvePoint, b: &CurvePoint) -> f32 {
    a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points() -> Vec<Weighted> {
        let curve = |s: f32| point(&[s; HORIZONS], false);
        [(0.1, 5.0), (0.12, 5.0), (0.9, 4.0), (0.89, 6.0)]
            .map(|(s, weight)| Weighted { point: curve(s), weight })
            .to_vec()
    }

    #[test]
    fn curves_that_differ_have_classes_of_their_own() {
        let points = points();
        let mut clusters = Clusters::of(6, &points, |_| 0);
        (0..8).for_each(|_| clusters.fit(&points, 0.001));
        let classes: Vec<_> = points.iter().map(|p| clusters.nearest(&p.point)).collect();
        assert!(classes[0] == classes[1] && classes[2] == classes[3] && classes[0] != classes[2]);
        assert_eq!(clusters.centres().iter().flatten().count(), 2, "and no more");
    }

    #[test]
    fn a_class_that_is_not_worth_its_price_is_given_up() {
        let points = points();
        let mut clusters = Clusters::of(2, &points, |i| i / 2);
        clusters.fit(&points, 100.0);
        assert_eq!(clusters.centres().iter().flatten().count(), 1);
    }

    #[test]
    fn relocations_lie_apart_from_user_writes() {
        let same = [0.5; HORIZONS];
        assert!(distance(&point(&same, true), &point(&same, false)) > NEAR);
    }
}
