//! Ages and lifespans on logarithmic scales, in zones' worth of user writes.

/// Buckets of ages: below a quarter of a zone, then two for each doubling.
pub const AGES: usize = 36;

/// The start of the last bucket, in units.
const LAST: f32 = (1 << 17) as f32;

/// The scales of ages and lifespans.
#[derive(Clone, Copy, Debug)]
pub struct Ages {
    /// One over the unit of the buckets, which is a quarter of a zone's pages.
    scale: f32,
    unit: f32,
}

impl Ages {
    /// The scales of a volume with zones of `zone_pages` pages.
    pub fn new(zone_pages: u32) -> Self {
        let unit = zone_pages as f32 / 4.0;
        Ages { scale: 1.0 / unit, unit }
    }

    /// The bucket of an age: a float's exponent and the first bit of its fraction.
    #[inline(always)]
    pub fn bucket(self, age: u32) -> usize {
        // `clamp` would branch, and guess wrong often.
        let units = age as f32 * self.scale;
        let units = if units > 0.75 { units } else { 0.75 };
        let units = if units < LAST { units } else { LAST };
        (units.to_bits() >> 22) as usize - 253
    }

    /// User writes until an age leaves its bucket; the last bucket has no end.
    pub fn lasting(self, age: u32) -> u32 {
        if age as f32 >= self.start(AGES - 1) {
            return u32::MAX;
        }
        (self.start(self.bucket(age) + 1) - age as f32).max(1.0) as u32
    }

    /// The octave of lifespans in a bucket: 1 below a quarter of a zone, 15 at most.
    #[inline(always)]
    pub fn octave(bucket: usize) -> u8 {
        ((bucket as u8 + 3) >> 1).min(15)
    }

    /// The age at which a bucket begins; for [`AGES`], the age at which the last bucket ends.
    pub fn start(self, bucket: usize) -> f32 {
        match bucket {
            0 => 0.0,
            b => self.unit * (1.0 + 0.5 * ((b - 1) % 2) as f32) * (1u32 << ((b - 1) / 2)) as f32,
        }
    }

    /// The age that stands for the whole bucket; 0 for the first bucket, in which user writes are
    /// placed.
    pub fn middle(self, bucket: usize) -> f32 {
        if bucket == 0 { 0.0 } else { (self.start(bucket) + self.start(bucket + 1)) / 2.0 }
    }

    /// User writes that a page spends in a bucket.
    pub fn width(self, bucket: usize) -> f32 {
        self.start(bucket + 1) - self.start(bucket)
    }

    /// The hazard of a bucket without counts: a page is expected to live as long again.
    pub fn prior(self, bucket: usize) -> f32 {
        2.0 / (self.start(bucket) + self.start(bucket + 1))
    }

    /// The lifespan that stands for an octave other than 0.
    pub fn lifespan(self, octave: usize) -> f32 {
        self.unit * 0.75 * (1u32 << (octave.max(1) - 1)) as f32
    }
}

/// e to the power of -`x`, for `x` of 0 and more, with a relative error below one in ten thousand;
/// the same on every machine.
#[inline(always)]
pub fn decay(x: f32) -> f32 {
    let exponent = x * std::f32::consts::LOG2_E;
    let exponent = if exponent < 120.0 { exponent } else { 120.0 };
    let whole = exponent as i32;
    let part = exponent - whole as f32;
    // 2^-part by its power series.
    let cubic = -0.055_504_1 + part * (0.009_618_1 + part * (-0.001_333_4 + part * 0.000_154));
    let power = 1.0 + part * (-std::f32::consts::LN_2 + part * (0.240_226_5 + part * cubic));
    power * f32::from_bits(((127 - whole) as u32) << 23)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_and_hold_their_middles() {
        for zone_pages in [64, 1000, 1024, 16_384] {
            let ages = Ages::new(zone_pages);
            assert_eq!((ages.bucket(0), ages.bucket(u32::MAX)), (0, ages.bucket(u32::MAX - 1)));
            for bucket in 1..24 {
                assert_eq!(ages.bucket(ages.middle(bucket) as u32), bucket, "{zone_pages}");
                assert!(ages.width(bucket) > 0.0);
            }
        }
    }

    #[test]
    fn the_power_is_close() {
        for i in 0..2000 {
            let x = i as f32 / 100.0;
            assert!((decay(x) / f32::exp(-x) - 1.0).abs() < 2e-4, "{x}");
        }
        assert!(decay(1e30) < 1e-30);
    }
}
