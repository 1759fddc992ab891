//! The zipfian distribution, by the method of Gray et al., "Quickly generating billion-record
//! synthetic databases" (SIGMOD 1994), as YCSB's ZipfianGenerator uses it.

use super::Zeta;
use crate::rng::Draws;

/// Rank 0 is the most popular: rank r has a weight of about (r + 1)^-theta.
///
/// Ranks 0 and 1 have exactly their zipfian probabilities. The ranks beyond follow Gray's
/// continuous approximation: rank `n * (eta * u - eta + 1)^alpha`, rounded down, for u uniform in
/// [0, 1), alpha = 1 / (1 - theta) and eta = (1 - (2/n)^(1-theta)) / (1 - zeta(2)/zeta(n)).
#[derive(Clone, Debug)]
pub struct Zipfian {
    zeta: Zeta,
    items: u64,
    zeta_of_items: f64,
    /// 1 + 2^-theta: below it a draw is rank 0 or 1.
    first_two: f64,
    alpha: f64,
    eta: f64,
}

impl Zipfian {
    /// A zipfian choice among `items` items with constant `theta` in (0, 1).
    pub fn new(items: u64, theta: f64) -> Zipfian {
        let zeta = Zeta::new(theta);
        let mut zipfian = Zipfian {
            first_two: zeta.sum(2),
            zeta,
            items: 0,
            zeta_of_items: 0.0,
            alpha: 1.0 / (1.0 - theta),
            eta: 0.0,
        };
        zipfian.resize(items);
        zipfian
    }

    /// The number of items.
    pub fn items(&self) -> u64 {
        self.items
    }

    /// zeta(items, theta): one divided by the probability of rank 0.
    pub fn zeta_of_items(&self) -> f64 {
        self.zeta_of_items
    }

    /// Changes the number of items. Takes the same time for any number.
    pub fn resize(&mut self, items: u64) {
        self.items = items.max(1);
        self.zeta_of_items = self.zeta.sum(self.items);
        self.eta = if self.items <= 2 {
            0.0
        } else {
            let tail = (2.0 / self.items as f64).powf(1.0 - self.zeta.theta());
            (1.0 - tail) / (1.0 - self.first_two / self.zeta_of_items)
        };
    }

    /// A rank in [0, items).
    #[inline]
    pub fn choose(&self, draws: &mut Draws) -> u64 {
        self.rank(draws.unit())
    }

    /// The rank for `u` in [0, 1). Grows with `u`.
    #[inline]
    pub fn rank(&self, u: f64) -> u64 {
        let scaled = u * self.zeta_of_items;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < self.first_two {
            return 1.min(self.items - 1);
        }
        let rank = self.items as f64 * (self.eta * u - self.eta + 1.0).powf(self.alpha);
        // Rounding can lift the greatest u to `items` itself.
        (rank as u64).min(self.items - 1)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::goodness::assert_fits;

    fn zeta_by_definition(n: u64, theta: f64) -> f64 {
        (1..=n).rev().map(|i| (i as f64).powf(-theta)).sum()
    }

    /// The law of Gray's method over the first `ranks` of `n` items, from its definition: the
    /// length of the interval of u that leads to each rank.
    pub(crate) fn law_of_gray(n: u64, theta: f64, zeta_n: f64, ranks: usize) -> Vec<f64> {
        let zeta_2 = 1.0 + 0.5f64.powf(theta);
        let eta = (1.0 - (2.0 / n as f64).powf(1.0 - theta)) / (1.0 - zeta_2 / zeta_n);
        let from = |rank: usize| match rank {
            0 => 0.0,
            1 => 1.0 / zeta_n,
            2 => zeta_2 / zeta_n,
            _ => 1.0 - (1.0 - (rank as f64 / n as f64).powf(1.0 - theta)) / eta,
        };
        (0..ranks).map(|rank| from(rank + 1) - from(rank)).collect()
    }

    #[test]
    fn ranks_follow_the_law_for_any_constant() {
        for theta in [0.2, 0.5, 0.8, 0.99, 0.999] {
            for items in [3, 10, 1000] {
                let zipfian = Zipfian::new(items, theta);
                let mut counts = vec![0; items as usize];
                for n in 0..300_000 {
                    counts[zipfian.choose(&mut Draws::new(5, n, items)) as usize] += 1;
                }
                let zeta_n = zeta_by_definition(items, theta);
                let law = law_of_gray(items, theta, zeta_n, items as usize);
                assert_fits(&format!("theta {theta}, {items} items"), &counts, &law);
            }
        }
    }

    #[test]
    fn the_method_stays_near_the_true_zipfian_law() {
        for (theta, distance_limit) in [(0.2, 0.02), (0.5, 0.04), (0.99, 0.05)] {
            let items = 100_000;
            let zeta_n = zeta_by_definition(items, theta);
            let law = law_of_gray(items, theta, zeta_n, items as usize);
            let truth = |rank: usize| ((rank + 1) as f64).powf(-theta) / zeta_n;
            assert!((law[0] / truth(0) - 1.0).abs() < 1e-9);
            assert!((law[1] / truth(1) - 1.0).abs() < 1e-9);
            let distance: f64 =
                law.iter().enumerate().map(|(rank, p)| (p - truth(rank)).abs()).sum::<f64>() / 2.0;
            assert!(distance < distance_limit, "theta {theta}: total variation {distance}");
        }
    }

    #[test]
    fn every_rank_is_reachable_and_none_beyond() {
        for theta in [0.01, 0.5, 0.99, 0.999_9] {
            for items in [1, 2, 3, 4, 100] {
                let zipfian = Zipfian::new(items, theta);
                let mut seen = vec![false; items as usize];
                for step in 0..100_000 {
                    seen[zipfian.rank(f64::from(step) / 100_000.0) as usize] = true;
                }
                seen[zipfian.rank(1.0 - f64::EPSILON / 2.0) as usize] = true;
                assert!(seen.iter().all(|&seen| seen), "theta {theta}, {items} items");
            }
            for items in [1_000_000, 100_000_000, 10_000_000_000, 1 << 60] {
                let zipfian = Zipfian::new(items, theta);
                assert_eq!(zipfian.rank(0.0), 0);
                assert!(zipfian.rank(1.0 - f64::EPSILON / 2.0) < items);
            }
        }
    }

    #[test]
    fn the_constant_applies_at_ten_billion_items() {
        // A generator that kept the zeta of one constant would give the first items a wrong share
        // under every other.
        let items = 10_000_000_000;
        for theta in [0.5, 0.9, 0.99] {
            let zeta = Zeta::new(theta);
            let zipfian = Zipfian::new(items, theta);
            let mut counts = vec![0; 1001];
            for n in 0..500_000 {
                let rank = zipfian.choose(&mut Draws::new(3, n, 0));
                counts[rank.min(1000) as usize] += 1;
            }
            let mut law = law_of_gray(items, theta, zeta.sum(items), 1000);
            let head: f64 = law.iter().sum();
            law.push(1.0 - head);
            assert_fits(&format!("theta {theta}"), &counts, &law);
            let true_head = zeta.sum(1000) / zeta.sum(items);
            assert!((head / true_head - 1.0).abs() < 0.05, "theta {theta}: {head}, {true_head}");
        }
    }

    #[test]
    fn resizing_equals_starting_anew() {
        let mut grown = Zipfian::new(10, 0.99);
        for items in [11, 12, 500, 499, 1_000_000] {
            grown.resize(items);
            let fresh = Zipfian::new(items, 0.99);
            assert_eq!(grown.zeta_of_items(), fresh.zeta_of_items());
            for step in 0..1000 {
                let u = f64::from(step) / 1000.0;
                assert_eq!(grown.rank(u), fresh.rank(u));
            }
        }
    }
}
