//! Zipfian popularity, the popular items scattered over the table, as YCSB's
//! ScrambledZipfianGenerator does it.

use super::Zipfian;
use crate::{hash::fnv1a_64, rng::Draws};

/// How many ranks are drawn from, whatever the number of items: 10,000,000,000 as in YCSB.
pub const SCRAMBLED_RANKS: u64 = 10_000_000_000;

/// A zipfian rank among [`SCRAMBLED_RANKS`], hashed with FNV-1a and reduced modulo the number of
/// items. An item's popularity is the sum of those of the ranks that fall on it.
#[derive(Clone, Debug)]
pub struct ScrambledZipfian {
    ranks: Zipfian,
    items: u64,
}

impl ScrambledZipfian {
    /// A scattered zipfian choice among exactly `items` items with constant `theta` in (0, 1).
    pub fn new(items: u64, theta: f64) -> ScrambledZipfian {
        ScrambledZipfian { ranks: Zipfian::new(SCRAMBLED_RANKS, theta), items: items.max(1) }
    }

    /// An item in [0, items).
    #[inline]
    pub fn choose(&self, draws: &mut Draws) -> u64 {
        self.item_of(self.ranks.choose(draws))
    }

    /// The item on which `rank` falls.
    #[inline]
    pub fn item_of(&self, rank: u64) -> u64 {
        fnv1a_64(rank) % self.items
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        distributions::{Zeta, zipfian::tests::law_of_gray},
        goodness::assert_fits,
    };

    #[test]
    fn items_follow_the_law_for_any_constant() {
        const RANKS: usize = 1_000_000;
        const ITEMS: usize = 1000;
        for theta in [0.5, 0.8, 0.99] {
            let scrambled = ScrambledZipfian::new(ITEMS as u64, theta);
            // The first million ranks one by one; the mass beyond is spread evenly by the hash.
            let zeta_n = Zeta::new(theta).sum(SCRAMBLED_RANKS);
            let ranks = law_of_gray(SCRAMBLED_RANKS, theta, zeta_n, RANKS);
            let beyond = 1.0 - ranks.iter().sum::<f64>();
            let mut law = vec![beyond / ITEMS as f64; ITEMS];
            for (rank, probability) in ranks.iter().enumerate() {
                law[(fnv1a_64(rank as u64) % ITEMS as u64) as usize] += probability;
            }
            let mut counts = vec![0; ITEMS];
            for n in 0..500_000 {
                counts[scrambled.choose(&mut Draws::new(17, n, 0)) as usize] += 1;
            }
            assert_fits(&format!("theta {theta}"), &counts, &law);
            assert!(counts.iter().all(|&count| count > 0), "every item is reached");
        }
    }

    #[test]
    fn the_range_is_exactly_the_items() {
        for items in [1, 2, 3, 1000, 1 << 40] {
            let scrambled = ScrambledZipfian::new(items, 0.99);
            let (mut least, mut greatest) = (u64::MAX, 0);
            for n in 0..100_000 {
                let item = scrambled.choose(&mut Draws::new(1, n, 0));
                least = least.min(item);
                greatest = greatest.max(item);
            }
            assert!(greatest < items);
            if items <= 1000 {
                assert_eq!((least, greatest), (0, items - 1));
            }
        }
    }
}
