//! When each operation is meant to start.
//!
//! In a closed loop a client sends its next operation as soon as the last was answered. In an open
//! loop the arrivals are set beforehand and do not wait for anybody: operation *n* is due at a
//! time that is a function of (seed, rate, n), and a slot that could not be kept is late, never
//! skipped, so that a stall shows in the response time of every operation it delayed (Schroeder,
//! Wierman, Harchol-Balter, "Open Versus Closed", NSDI 2006; Tene, "How NOT to Measure Latency").

use serde::{Deserialize, Serialize};

/// How operations arrive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// At equal distances.
    Uniform,
    /// At exponentially distributed distances: a Poisson process, as independent users make.
    Poisson,
}

/// The due times of an open loop, in nanoseconds after its start.
///
/// Each thread has a copy; copies with the same seed agree on every time.
#[derive(Clone, Debug)]
pub struct Schedule {
    arrivals: Arrivals,
    gap_ns: f64,
    seed: u64,
    next: u64,
    next_at_ns: f64,
}

impl Schedule {
    /// A schedule with `rate_per_s` arrivals a second on average.
    pub fn new(arrivals: Arrivals, rate_per_s: f64, seed: u64) -> Schedule {
        Schedule { arrivals, gap_ns: 1e9 / rate_per_s, seed, next: 0, next_at_ns: 0.0 }
    }

    /// When arrival `n` is due, in nanoseconds after the start. For Poisson arrivals `n` must not
    /// decrease from call to call; the cost is a few nanoseconds for each `n` passed over.
    pub fn due_ns(&mut self, n: u64) -> u64 {
        match self.arrivals {
            Arrivals::Uniform => (n as f64 * self.gap_ns) as u64,
            Arrivals::Poisson => {
                debug_assert!(n + 1 >= self.next, "Poisson arrivals are asked for in order");
                while self.next <= n {
                    // Inverse transform: -ln(U) has the exponential distribution of mean 1.
                    let gap = -unit_interval(mix(self.seed, self.next)).ln();
                    self.next_at_ns += gap * self.gap_ns;
                    self.next += 1;
                }
                self.next_at_ns as u64
            }
        }
    }

    /// How many arrivals from `n` on are due before `end_ns`: exactly if they are uniform, on
    /// average if they are Poisson. `n` goes as in [`Schedule::due_ns`].
    pub fn due_before(&mut self, end_ns: u64, n: u64) -> u64 {
        match end_ns.saturating_sub(self.due_ns(n)) {
            0 => 0,
            rest_ns => ((rest_ns as f64 / self.gap_ns).ceil() as u64).max(1),
        }
    }
}

/// A number in (0, 1] from 53 random bits.
fn unit_interval(bits: u64) -> f64 {
    ((bits >> 11) + 1) as f64 / (1u64 << 53) as f64
}

/// SplitMix64's output function (Steele, Lea, Flood, OOPSLA 2014) at position `n` of stream `seed`.
fn mix(seed: u64, n: u64) -> u64 {
    let mut z = seed.wrapping_add(n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_arrivals_keep_the_rate_exactly_over_hours() {
        let mut schedule = Schedule::new(Arrivals::Uniform, 1000.0, 0);
        assert_eq!(schedule.due_ns(0), 0);
        assert_eq!(schedule.due_ns(1), 1_000_000);
        assert_eq!(schedule.due_ns(36_000_000), 36_000_000_000_000);
    }

    #[test]
    fn poisson_arrivals_have_the_mean_and_the_spread_of_their_theory() {
        let mut schedule = Schedule::new(Arrivals::Poisson, 1e6, 7);
        let times: Vec<u64> = (0..200_000).map(|n| schedule.due_ns(n)).collect();
        let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        // Five standard errors: 5/√200000 of the mean, 5·√8/√200000 of the variance.
        assert!((mean / 1000.0 - 1.0).abs() < 0.0112, "mean {mean}");
        assert!((variance / 1e6 - 1.0).abs() < 0.032, "variance {variance}");
    }

    #[test]
    fn a_thread_that_takes_every_third_arrival_sees_the_same_times() {
        let mut all = Schedule::new(Arrivals::Poisson, 5000.0, 3);
        let times: Vec<u64> = (0..300).map(|n| all.due_ns(n)).collect();
        let mut some = Schedule::new(Arrivals::Poisson, 5000.0, 3);
        for n in (0..300).step_by(3) {
            assert_eq!(some.due_ns(n), times[n as usize]);
        }
    }

    #[test]
    fn the_arrivals_left_before_an_end_are_counted() {
        let mut uniform = Schedule::new(Arrivals::Uniform, 1000.0, 0);
        assert_eq!(uniform.due_before(2_000_000_000, 0), 2000);
        assert_eq!(uniform.due_before(2_000_000_000, 1990), 10);
        assert_eq!(uniform.due_before(2_000_000_000, 2000), 0);
        assert_eq!(uniform.due_before(2_000_000_000, 5000), 0);
        let mut poisson = Schedule::new(Arrivals::Poisson, 1e6, 7);
        let left = poisson.due_before(1_000_000_000, 500_000) as f64;
        // Five standard deviations of the sum of as many gaps.
        assert!((left / 500_000.0 - 1.0).abs() < 5.0 / 500_000f64.sqrt(), "{left}");
    }
}
