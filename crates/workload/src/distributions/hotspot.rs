//! A hot set at the beginning of the table takes a given share of the operations.

use crate::rng::Draws;

/// The first items are hot; within the hot and within the cold set every item is equally likely.
#[derive(Clone, Debug)]
pub struct Hotspot {
    hot_items: u64,
    cold_items: u64,
    hot_operations: f64,
}

impl Hotspot {
    /// `hot_set` of the `items` items, rounded down but at least one if it is not 0, take
    /// `hot_operations` of the operations. Both are fractions in [0, 1]. A share that would go to
    /// an empty set goes to the other.
    pub fn new(items: u64, hot_set: f64, hot_operations: f64) -> Hotspot {
        let items = items.max(1);
        let mut hot_items = ((items as f64 * hot_set) as u64).min(items);
        if hot_items == 0 && hot_set > 0.0 {
            hot_items = 1;
        }
        let cold_items = items - hot_items;
        let hot_operations = match (hot_items, cold_items) {
            (0, _) => 0.0,
            (_, 0) => 1.0,
            _ => hot_operations,
        };
        Hotspot { hot_items, cold_items, hot_operations }
    }

    /// An item in [0, items).
    #[inline]
    pub fn choose(&self, draws: &mut Draws) -> u64 {
        if draws.unit() < self.hot_operations {
            draws.below(self.hot_items)
        } else {
            self.hot_items + draws.below(self.cold_items)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goodness::assert_fits;

    #[test]
    fn hot_and_cold_items_have_their_shares() {
        for (hot_set, hot_operations) in [(0.2, 0.8), (0.01, 0.5), (0.5, 0.1)] {
            let hotspot = Hotspot::new(1000, hot_set, hot_operations);
            let mut counts = vec![0; 1000];
            for n in 0..500_000 {
                counts[hotspot.choose(&mut Draws::new(31, n, 0)) as usize] += 1;
            }
            let hot = (1000.0 * hot_set) as usize;
            let law: Vec<_> = (0..1000)
                .map(|item| match item < hot {
                    true => hot_operations / hot as f64,
                    false => (1.0 - hot_operations) / (1000 - hot) as f64,
                })
                .collect();
            assert_fits(&format!("hot set {hot_set}"), &counts, &law);
            assert!(counts.iter().all(|&count| count > 0));
        }
    }

    #[test]
    fn empty_sets_take_no_operations() {
        for (items, hot_set, hot_operations) in
            [(3, 0.0, 0.8), (3, 1.0, 0.2), (1, 0.2, 0.8), (2, 0.1, 0.5), (1, 0.0, 1.0)]
        {
            let hotspot = Hotspot::new(items, hot_set, hot_operations);
            let mut seen = vec![false; items as usize];
            for n in 0..1000 {
                seen[hotspot.choose(&mut Draws::new(1, n, 0)) as usize] = true;
            }
            assert!(seen.iter().all(|&seen| seen), "{items} items, hot set {hot_set}");
        }
    }
}
