//! The upper tail of the standard normal distribution, on the scale of φ.
//!
//! The probability itself underflows beyond 38 standard deviations; one minus the distribution
//! function is nothing but rounding errors beyond 8. On the logarithmic scale neither happens: φ
//! grows like z²/2·ln 10 and is finite for every finite z.

use std::f64::consts::{LN_10, SQRT_2};

/// Beyond this many standard deviations the asymptotic series is exact to the last digits, and
/// `erfc` is still far from its underflow.
const FAR: f64 = 25.0;

/// −log₁₀ of the probability that a standard normal variable exceeds `z`. Increases with `z`.
pub(super) fn phi_of(z: f64) -> f64 {
    -ln_tail(z) / LN_10
}

/// The natural logarithm of that probability.
fn ln_tail(z: f64) -> f64 {
    if z < 0.0 {
        // Near one, what is missing from it is what counts.
        libm::log1p(-0.5 * libm::erfc(-z / SQRT_2))
    } else if z < FAR {
        libm::log(0.5 * libm::erfc(z / SQRT_2))
    } else {
        ln_far_tail(z)
    }
}

/// M. Abramowitz, I. Stegun, *Handbook of Mathematical Functions*, 26.2.12: the tail is the density
/// at z, divided by z, times 1 − 1/z² + 3/z⁴ − 15/z⁶ + 105/z⁸ − …
fn ln_far_tail(z: f64) -> f64 {
    let square = z * z;
    let y = 1.0 / square;
    let series = y * (-1.0 + y * (3.0 + y * (-15.0 + y * 105.0)));
    let ln_sqrt_two_pi = 0.5 * libm::log(std::f64::consts::TAU);
    -0.5 * square - libm::log(z) - ln_sqrt_two_pi + libm::log1p(series)
}

/// How many standard deviations it takes to reach `phi`, which is 0.5 to 1000: the least number for
/// which [`phi_of`] is not below it, by bisection to the last bit.
pub(super) fn deviations_at(phi: f64) -> f64 {
    let (mut below, mut reached) = (0.0_f64, 100.0_f64);
    loop {
        let middle = 0.5 * (below + reached);
        if middle <= below || middle >= reached {
            return reached;
        }
        if phi_of(middle) < phi { below = middle } else { reached = middle }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// −log₁₀ of the tail, computed with 50 digits.
    const EXACT: [(f64, f64); 16] = [
        (-10.0, 3.309_260_121_306_722e-24),
        (-5.0, 1.244_912_137_388_291_7e-7),
        (-1.0, 0.075_026_012_957_818_02),
        (0.0, std::f64::consts::LOG10_2),
        (0.5, 0.510_691_989_265_240_8),
        (1.0, 0.799_545_541_491_970_5),
        (2.0, 1.643_016_080_140_937),
        (5.0, 6.542_645_672_390_655),
        (8.0, 15.206_142_551_017_155),
        (20.0, 88.560_095_343_075_59),
        (24.999, 137.503_873_189_121_9),
        (25.0, 137.514_747_650_995_53),
        (26.0, 148.606_238_254_150_24),
        (40.0, 349.437_006_459_345_8),
        (1000.0, 217_150.640_041_994_4),
        (1e15, 2.171_472_409_516_259e29),
    ];

    #[test]
    fn the_tail_is_exact_to_twelve_digits_however_far() {
        for (z, exact) in EXACT {
            let off = (phi_of(z) / exact - 1.0).abs();
            assert!(off < 1e-12, "{z}: {} instead of {exact}", phi_of(z));
        }
    }

    #[test]
    fn nothing_overflows_and_nothing_is_nan() {
        assert!(phi_of(-1e150) == 0.0);
        assert!(phi_of(1e150).is_finite());
        let everywhere = (-100_000..100_000).map(|step| phi_of(f64::from(step) / 1000.0));
        assert!(everywhere.is_sorted(), "φ decreases");
    }

    #[test]
    fn deviations_are_the_inverse() {
        for (phi, exact) in [
            (0.5, 0.478_273_532_376_162_7),
            (1.0, 1.281_551_565_544_600_5),
            (8.0, 5.612_001_244_174_789),
            (12.0, 7.034_483_825_301_132),
            (100.0, 21.273_453_560_965_32),
            (1000.0, 67.785_685_596_602_62),
        ] {
            let off = (deviations_at(phi) / exact - 1.0).abs();
            assert!(off < 1e-13, "{phi}: {} instead of {exact}", deviations_at(phi));
        }
    }
}
