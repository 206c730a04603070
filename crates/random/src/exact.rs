//! Logarithm and exponential that give the same bits on every machine.
//!
//! The standard library uses the system's functions, and systems differ in the last bit. This file
//! uses only additions, multiplications and divisions of `f64`, which IEEE 754 defines exactly. The
//! results are accurate to about 1e-15, far more than sampling needs.

use std::f64::consts::LN_2;

/// The natural logarithm of a positive, normal number.
#[inline]
pub(crate) fn ln(x: f64) -> f64 {
    // x = 2^exponent * mantissa, the mantissa from sqrt(1/2) to sqrt(2).
    let bits = x.to_bits();
    let mut exponent = ((bits >> 52) & 0x7ff) as i32 - 1023;
    let mut mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa *= 0.5;
        exponent += 1;
    }
    f64::from(exponent) * LN_2 + ln_near_one(mantissa - 1.0)
}

/// The logarithm of `1 + x` for `x` from -0.3 to 0.5, without losing digits near 0.
#[inline]
fn ln_near_one(x: f64) -> f64 {
    // 2 artanh(s) = 2 (s + s^3/3 + s^5/5 + ...), where |s| is at most 0.2.
    let s = x / (2.0 + x);
    let q = s * s;
    let mut sum = 1.0 / 21.0;
    for odd in [19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0] {
        sum = sum * q + 1.0 / odd;
    }
    2.0 * s * sum
}

/// `ln(1 + x) / x`, which is 1 at 0; `x` must be above -1.
#[inline]
pub(crate) fn ln_ratio(x: f64) -> f64 {
    match x {
        0.0 => 1.0,
        _ if -0.3 < x && x < 0.5 => ln_near_one(x) / x,
        _ => ln(1.0 + x) / x,
    }
}

/// `e` to the power of `x`; an `x` beyond -700 or 700 counts as that bound.
#[inline]
pub(crate) fn exp(x: f64) -> f64 {
    // x = n ln 2 + rest, the rest at most ln(2) / 2 in size. Adding and subtracting 1.5 * 2^52
    // rounds.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let x = x.clamp(-700.0, 700.0);
    let n = (x * (1.0 / LN_2) + ROUND) - ROUND;
    let rest = x - n * LN_2;
    let power = f64::from_bits(((n as i64 + 1023) as u64) << 52);
    power * (1.0 + rest * exp_series(rest))
}

/// `(e^x - 1) / x`, which is 1 at 0.
#[inline]
pub(crate) fn exp_ratio(x: f64) -> f64 {
    if -0.4 < x && x < 0.4 { exp_series(x) } else { (exp(x) - 1.0) / x }
}

/// The sum of `x^k / (k + 1)!`, for small `x`.
#[inline]
fn exp_series(x: f64) -> f64 {
    let mut sum = 1.0;
    for k in [14.0, 13.0, 12.0, 11.0, 10.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0] {
        sum = 1.0 + sum * x * (1.0 / k);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 4e-15 * b.abs().max(1e-3)
    }

    #[test]
    fn they_agree_with_the_systems() {
        for i in 1..4000 {
            let x = f64::from(i) * 0.001;
            for x in [x, x * 1e6, x * 1e-6] {
                assert!(near(ln(x), x.ln()), "ln {x}: {} {}", ln(x), x.ln());
                assert!(near(ln_ratio(x), x.ln_1p() / x), "ln_ratio {x}");
            }
            for x in [x * 5.0, x * -5.0, x * 1e-4] {
                let (ours, systems) = (exp(x), x.exp());
                assert!((ours / systems - 1.0).abs() < 2e-14, "exp {x}: {ours} {systems}");
                let (ours, systems) = (exp_ratio(x), x.exp_m1() / x);
                assert!((ours / systems - 1.0).abs() < 2e-14, "ratio {x}: {ours} {systems}");
            }
        }
        assert_eq!((ln(1.0), exp(0.0), ln_ratio(0.0), exp_ratio(0.0)), (0.0, 1.0, 1.0, 1.0));
    }
}
