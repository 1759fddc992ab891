//! The normalizing constant of a zipfian distribution, in constant time.

/// How many terms are summed one by one. Beyond them the Euler-Maclaurin formula is good to about
/// 1e-11.
const HEAD: usize = 32;

/// The generalized harmonic numbers zeta(n, theta) = 1 + 2^-theta + … + n^-theta for one theta
/// in (0, 1).
///
/// The terms beyond the first 32 are summed by the Euler-Maclaurin formula: the integral of
/// x^-theta, half of the two end terms, and corrections from the first and third derivatives.
#[derive(Clone, Debug)]
pub struct Zeta {
    theta: f64,
    /// `head[n]` is zeta(n, theta).
    head: [f64; HEAD + 1],
    /// HEAD^(1 - theta).
    integral_scale: f64,
    /// The end terms and corrections at HEAD.
    lower_end: f64,
}

impl Zeta {
    /// The sums for `theta` in (0, 1).
    pub fn new(theta: f64) -> Zeta {
        let mut head = [0.0; HEAD + 1];
        for n in 1..=HEAD {
            head[n] = head[n - 1] + (n as f64).powf(-theta);
        }
        let first = HEAD as f64;
        let term = first.powf(-theta);
        Zeta {
            theta,
            head,
            integral_scale: first.powf(1.0 - theta),
            lower_end: -term / 2.0 + corrections(theta, first, term),
        }
    }

    /// The theta given to [`Zeta::new`].
    pub fn theta(&self) -> f64 {
        self.theta
    }

    /// zeta(n, theta), to a relative accuracy better than 1e-10.
    pub fn sum(&self, n: u64) -> f64 {
        if n <= HEAD as u64 {
            return self.head[n as usize];
        }
        let last = n as f64;
        let power = 1.0 - self.theta;
        // n^power - HEAD^power, divided by power, without cancellation when power is small.
        let growth = (power * (last / HEAD as f64).ln()).exp_m1();
        let integral = self.integral_scale * growth / power;
        let term = self.integral_scale * (growth + 1.0) / last;
        let upper_end = term / 2.0 - corrections(self.theta, last, term);
        self.head[HEAD] + integral + self.lower_end + upper_end
    }
}

/// The derivative terms of the formula at `x`, where `term` is x^-theta.
fn corrections(theta: f64, x: f64, term: f64) -> f64 {
    let first = theta * term / x;
    let third = first * (theta + 1.0) * (theta + 2.0) / (x * x);
    first / 12.0 - third / 720.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum term by term, smallest first so that little is lost to rounding.
    fn by_definition(n: u64, theta: f64) -> f64 {
        (1..=n).rev().map(|i| (i as f64).powf(-theta)).sum()
    }

    #[test]
    fn sums_agree_with_term_by_term_summation_to_1e_10() {
        for theta in [1e-6, 0.1, 0.5, 0.9, 0.99, 0.999_999] {
            let zeta = Zeta::new(theta);
            for n in [1, 2, 3, 10, 31, 32, 33, 34, 50, 100, 1_000, 12_345, 1_000_000] {
                let (sum, expected) = (zeta.sum(n), by_definition(n, theta));
                let error = (sum / expected - 1.0).abs();
                assert!(error < 1e-10, "theta {theta}, n {n}: {sum} but {expected}");
            }
        }
    }

    #[test]
    fn ten_billion_items_give_the_constant_that_ycsb_publishes() {
        let sum = Zeta::new(0.99).sum(10_000_000_000);
        assert!((sum / 26.469_028_201_783_02 - 1.0).abs() < 1e-9, "{sum}");
    }

    #[test]
    fn one_more_item_adds_its_term() {
        let zeta = Zeta::new(0.7);
        for n in [31, 32, 33, 1000, 1_000_000] {
            let added = zeta.sum(n + 1) - zeta.sum(n);
            let term = ((n + 1) as f64).powf(-0.7);
            assert!((added / term - 1.0).abs() < 1e-6, "n {n}: {added} but {term}");
        }
    }
}
