//! Random numbers by counter: the numbers of operation *n* are a function of (seed, n), not of
//! what was drawn before, so that operations can be made in any order by any number of clients.

/// splitmix64's increment, 2^64 divided by the golden ratio, made odd.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
/// wyrand's two constants.
const STEP: u64 = 0xA076_1D64_78BD_642F;
const TWIST: u64 = 0xE703_7ED1_A0B4_28DB;

/// The finalizer of splitmix64: a bijection of 64 bits in which every input bit changes about half
/// of the output bits.
pub(crate) fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// The full product of two words, its halves folded together by exclusive or.
pub(crate) fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

/// A seed and what it is used for, made into one key. Different salts give unrelated numbers.
pub(crate) fn keyed(seed: u64, salt: u64) -> u64 {
    mix(mix(seed.wrapping_add(GOLDEN)) ^ salt.wrapping_mul(GOLDEN))
}

/// The random numbers of one operation: a short wyrand sequence that starts where splitmix64's
/// output number `n` says.
#[derive(Clone, Debug)]
pub struct Draws {
    state: u64,
}

impl Draws {
    /// The numbers of operation `number` under `seed`; `salt` separates unrelated uses.
    pub fn new(seed: u64, number: u64, salt: u64) -> Draws {
        Draws::at(keyed(seed, salt), number)
    }

    /// The numbers of operation `number` under a key that [`keyed`] made.
    #[inline]
    pub(crate) fn at(key: u64, number: u64) -> Draws {
        Draws { state: mix(key.wrapping_add(number.wrapping_mul(GOLDEN))) }
    }

    /// The next number, uniform over 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        fold(self.state, self.state ^ TWIST)
    }

    /// The next number, uniform in [0, 1), a multiple of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        unit(self.next_u64())
    }

    /// The next number, uniform in [0, `bound`); 0 if `bound` is 0. The bias is below
    /// `bound` / 2^64.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        below(self.next_u64(), bound)
    }
}

/// 64 random bits as a number in [0, 1).
#[inline]
pub(crate) fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// 64 random bits as an integer in [0, `bound`).
#[inline]
pub(crate) fn below(bits: u64, bound: u64) -> u64 {
    ((u128::from(bits) * u128::from(bound)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goodness::assert_fits;

    #[test]
    fn numbers_depend_on_seed_operation_and_salt_only() {
        let take = |seed, n, salt| {
            let mut draws = Draws::new(seed, n, salt);
            [draws.next_u64(), draws.next_u64(), draws.next_u64()]
        };
        assert_eq!(take(1, 2, 3), take(1, 2, 3));
        let all = [take(1, 2, 3), take(2, 2, 3), take(1, 3, 3), take(1, 2, 4)];
        for (i, a) in all.iter().enumerate() {
            for b in &all[i + 1..] {
                assert!(a.iter().all(|x| !b.contains(x)));
            }
        }
    }

    #[test]
    fn first_numbers_of_successive_operations_are_uniform_and_uncorrelated() {
        const CELLS: usize = 256;
        for salt in 0..4 {
            let mut single = vec![0u64; CELLS];
            let mut pairs = vec![0u64; CELLS];
            let mut last = 0;
            for n in 0..400_000 {
                let cell = Draws::new(7, n, salt).below(CELLS as u64) as usize;
                single[cell] += 1;
                pairs[(last / 16) * 16 + cell / 16] += 1;
                last = cell;
            }
            let even = vec![1.0 / CELLS as f64; CELLS];
            assert_fits("single draws", &single, &even);
            assert_fits("pairs of successive operations", &pairs, &even);
        }
    }

    #[test]
    fn every_bit_of_the_operation_number_matters() {
        for bit in 0..64 {
            let (a, b) = (Draws::new(1, 0, 0).next_u64(), Draws::new(1, 1 << bit, 0).next_u64());
            let changed = (a ^ b).count_ones();
            assert!((10..=54).contains(&changed), "bit {bit} changes {changed} bits");
        }
    }

    #[test]
    fn bounds_hold_at_the_extremes() {
        assert_eq!(unit(0), 0.0);
        assert!(unit(u64::MAX) < 1.0);
        assert_eq!(below(u64::MAX, 10), 9);
        assert_eq!(below(u64::MAX, 1), 0);
        assert_eq!(below(u64::MAX, 0), 0);
        assert_eq!(below(u64::MAX, u64::MAX), u64::MAX - 1);
    }
}
