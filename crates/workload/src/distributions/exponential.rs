//! Popularity falls exponentially with age, as YCSB's ExponentialGenerator.

use crate::rng::Draws;

/// The newest item is the most popular; `percentile` percent of an unbounded exponential law fall
/// within the newest `fraction` of the items.
///
/// YCSB draws an age and draws again when it is beyond the oldest item. The law of what remains is
/// the exponential truncated to the items, and this draws from it in one step.
#[derive(Clone, Debug)]
pub struct Exponential {
    items: u64,
    /// The rate for an age of one item.
    gamma: f64,
    /// The untruncated law's mass within the items.
    mass: f64,
}

impl Exponential {
    /// A choice among `items` items. `percentile` is in (0, 100), `fraction` is greater than 0.
    pub fn new(items: u64, percentile: f64, fraction: f64) -> Exponential {
        let items = items.max(1);
        let gamma = -(1.0 - percentile / 100.0).ln() / (items as f64 * fraction);
        Exponential { items, gamma, mass: -(-gamma * items as f64).exp_m1() }
    }

    /// An item in [0, items).
    #[inline]
    pub fn choose(&self, draws: &mut Draws) -> u64 {
        let age = -(-draws.unit() * self.mass).ln_1p() / self.gamma;
        // Rounding can lift the greatest age to `items` itself.
        self.items - 1 - (age as u64).min(self.items - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goodness::assert_fits;

    #[test]
    fn items_follow_the_truncated_exponential_law() {
        for (percentile, fraction) in [(95.0, 0.857_142_857_1), (50.0, 0.1), (99.0, 0.5)] {
            let items = 1000;
            let exponential = Exponential::new(items, percentile, fraction);
            let mut counts = vec![0; items as usize];
            for n in 0..500_000 {
                counts[exponential.choose(&mut Draws::new(37, n, 0)) as usize] += 1;
            }
            let gamma = -f64::ln(1.0 - percentile / 100.0) / (items as f64 * fraction);
            let beyond = |age: u64| (-gamma * age as f64).exp();
            let mass = 1.0 - beyond(items);
            let law: Vec<_> = (0..items)
                .map(|item| items - 1 - item)
                .map(|age| (beyond(age) - beyond(age + 1)) / mass)
                .collect();
            assert_fits(&format!("{percentile} % in {fraction}"), &counts, &law);
        }
    }

    #[test]
    fn the_newest_fraction_takes_its_percentile() {
        // With one tenth holding 95 %, the truncation at the oldest item is of no account.
        let exponential = Exponential::new(10_000, 95.0, 0.1);
        let draws = 200_000;
        let newest = (0..draws)
            .filter(|&n| exponential.choose(&mut Draws::new(41, n, 0)) >= 9_000)
            .count() as f64;
        let expected = 0.95 * draws as f64;
        assert!((newest - expected).abs() < 3.9 * (expected * 0.05).sqrt(), "{newest}");
    }

    #[test]
    fn no_item_is_beyond_the_table() {
        for items in [1, 2, 3, 1 << 50] {
            for (percentile, fraction) in [(0.001, 100.0), (95.0, 0.857), (99.999, 1e-9)] {
                let exponential = Exponential::new(items, percentile, fraction);
                for n in 0..1000 {
                    assert!(exponential.choose(&mut Draws::new(1, n, 0)) < items);
                }
            }
        }
    }
}
