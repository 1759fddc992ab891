//! The newest items are the most popular, over a table that grows.

use super::Zipfian;
use crate::rng::Draws;

/// A zipfian choice counted from the newest item backwards, over as many items as there are when
/// the choice is made.
#[derive(Clone, Debug)]
pub struct Latest {
    age: Zipfian,
}

impl Latest {
    /// A choice over `items` items at first, with constant `theta` in (0, 1).
    pub fn new(items: u64, theta: f64) -> Latest {
        Latest { age: Zipfian::new(items, theta) }
    }

    /// An item in [0, `items`), where `items` is the number there is now; 0 if there are none.
    #[inline]
    pub fn choose(&mut self, items: u64, draws: &mut Draws) -> u64 {
        if items != self.age.items() {
            self.age.resize(items);
        }
        self.age.items() - 1 - self.age.choose(draws)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{distributions::zipfian::tests::law_of_gray, goodness::assert_fits};

    const THETA: f64 = 0.99;

    fn law(items: usize) -> Vec<f64> {
        let zeta_n = (1..=items).rev().map(|i| (i as f64).powf(-THETA)).sum();
        let mut law = law_of_gray(items as u64, THETA, zeta_n, items);
        law.reverse();
        law
    }

    #[test]
    fn the_law_follows_the_growth_of_the_table() {
        let mut latest = Latest::new(100, THETA);
        for items in [100usize, 101, 1000, 5000] {
            let mut counts = vec![0; items];
            for n in 0..300_000 {
                counts[latest.choose(items as u64, &mut Draws::new(23, n, 0)) as usize] += 1;
            }
            assert_fits(&format!("{items} items"), &counts, &law(items));
            assert!(counts[0] > 0 || items > 1000, "the oldest item is reachable");
        }
    }

    #[test]
    fn the_newest_item_has_the_share_of_the_new_count_while_the_table_grows() {
        // One insert every twenty draws, as in workload D.
        let mut latest = Latest::new(1000, THETA);
        let (mut hits, mut expected) = (0u64, 0.0);
        for n in 0..400_000u64 {
            let items = 1000 + n / 20;
            hits += u64::from(latest.choose(items, &mut Draws::new(29, n, 0)) == items - 1);
            expected += 1.0 / crate::distributions::Zeta::new(THETA).sum(items);
        }
        // 3.9 standard deviations of the binomial count: 1 in 10,000 on either side.
        let tolerance = 3.9 * f64::sqrt(expected);
        assert!((hits as f64 - expected).abs() < tolerance, "{hits} hits, not {expected:.0}");
    }

    #[test]
    fn a_table_that_shrinks_or_is_empty_gives_no_item_beyond_it() {
        let mut latest = Latest::new(1000, THETA);
        for items in [10, 1, 0] {
            for n in 0..1000 {
                assert!(latest.choose(items, &mut Draws::new(1, n, 0)) < items.max(1));
            }
        }
    }
}
