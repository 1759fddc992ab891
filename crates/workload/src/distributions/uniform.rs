//! Every item equally likely, and every item in turn.

use crate::rng::Draws;

/// Every item equally likely.
#[derive(Clone, Debug)]
pub struct Uniform {
    items: u64,
}

impl Uniform {
    /// A choice among `items` items.
    pub fn new(items: u64) -> Uniform {
        Uniform { items }
    }

    /// An item in [0, items); 0 if there are none.
    #[inline]
    pub fn choose(&self, draws: &mut Draws) -> u64 {
        draws.below(self.items)
    }
}

/// Every item in turn, again from the first after the last.
#[derive(Clone, Debug)]
pub struct Sequential {
    items: u64,
}

impl Sequential {
    /// A walk over `items` items.
    pub fn new(items: u64) -> Sequential {
        Sequential { items: items.max(1) }
    }

    /// The item of step `step`, counted from 0.
    #[inline]
    pub fn choose(&self, step: u64) -> u64 {
        step % self.items
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goodness::assert_fits;

    #[test]
    fn uniform_reaches_every_item_equally_often_and_no_other() {
        for items in [1, 2, 3, 1000] {
            let uniform = Uniform::new(items);
            let mut counts = vec![0; items as usize];
            for n in 0..200_000 {
                counts[uniform.choose(&mut Draws::new(11, n, items)) as usize] += 1;
            }
            assert!(counts.iter().all(|&count| count > 0));
            if items > 1 {
                assert_fits("uniform", &counts, &vec![1.0 / items as f64; items as usize]);
            }
        }
    }

    #[test]
    fn sequential_visits_every_item_in_order_and_wraps() {
        let sequential = Sequential::new(5);
        let visited: Vec<_> = (0..12).map(|step| sequential.choose(step)).collect();
        assert_eq!(visited, [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1]);
        assert_eq!(sequential.choose(u64::MAX), u64::MAX % 5);
    }
}
