//! Which kind operation *n* is, and which record it inserts if it inserts one.
//!
//! The mix is stratified: of the operations of all blocks up to and including block b, exactly
//! floor(1024 (b + 1) p) are inserts, where p is the share of inserts, and the other kinds divide
//! what is left in the same way. Within a block the kinds stand in an order shuffled by (seed, b).
//! Both are closed forms, so that any client can tell the kind of any operation, and inserts are
//! numbered without gaps however the operations are dealt to clients.

use assay_model::OperationKind;

use crate::{
    CoreWorkload,
    rng::{Draws, keyed},
};

/// Operations in a block.
const BLOCK: usize = 1024;
const BLOCK_BITS: u32 = 10;
/// Shares are resolved to this many parts of a whole.
const WHOLE: u64 = 1 << 32;
const SHUFFLE_SALT: u64 = 0x7368_7566;
const TABLE_SALT: u64 = 0x7461_626C;

/// The order in which a block's operations are dealt to the kinds. Inserts come first: their
/// number is then the floor of a product, without error carried over from another kind.
const KINDS: [OperationKind; 6] = [
    OperationKind::Insert,
    OperationKind::Read,
    OperationKind::Update,
    OperationKind::Scan,
    OperationKind::ReadModifyWrite,
    OperationKind::Lookup,
];

/// The shares of the kinds, in parts of [`WHOLE`] that sum to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mix {
    parts: [u64; KINDS.len()],
}

/// The place of an operation in the mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub kind: OperationKind,
    /// How many operations before this one insert a record.
    pub inserts_before: u64,
}

impl Mix {
    /// The mix of a workload whose proportions are valid.
    pub fn new(workload: &CoreWorkload) -> Mix {
        let shares = KINDS.map(|kind| workload.proportion(kind));
        let sum: f64 = shares.iter().sum();
        let (mut given, mut cumulative) = (0u64, 0.0);
        let parts = shares.map(|share| {
            cumulative += share;
            let end = ((cumulative / sum * WHOLE as f64).round() as u64).clamp(given, WHOLE);
            end - std::mem::replace(&mut given, end)
        });
        Mix { parts }
    }

    /// The kinds whose share is not 0 but too small to be resolved.
    pub fn unresolved(workload: &CoreWorkload) -> Vec<OperationKind> {
        let parts = Mix::new(workload).parts;
        KINDS
            .into_iter()
            .zip(parts)
            .filter(|&(kind, parts)| workload.proportion(kind) > 0.0 && parts == 0)
            .map(|(kind, _)| kind)
            .collect()
    }

    /// How many operations of each kind come before block `block`.
    fn before(&self, block: u64) -> [u64; KINDS.len()] {
        let mut operations = u128::from(block) << BLOCK_BITS;
        let mut whole = WHOLE;
        self.parts.map(|parts| {
            let dealt = match parts {
                0 => 0,
                _ if parts == whole => operations,
                _ if whole == WHOLE => (operations * u128::from(parts)) >> WHOLE.ilog2(),
                _ => operations * u128::from(parts) / u128::from(whole),
            };
            operations -= dealt;
            whole -= parts;
            dealt as u64
        })
    }

    fn only_kind(&self) -> Option<OperationKind> {
        let index = self.parts.iter().position(|&parts| parts == WHOLE)?;
        Some(KINDS[index])
    }
}

/// Looks up operations in a mix. Keeps what it worked out for the last block asked for.
#[derive(Clone, Debug)]
pub(crate) struct MixCursor {
    mix: Mix,
    only_kind: Option<OperationKind>,
    block: u64,
    shuffle: Shuffle,
    /// For each kind, where its operations end in the order before the shuffle.
    ends: [u16; KINDS.len()],
    inserts_before_block: u64,
    /// The inserts of the block, a bit an operation.
    inserts: [u64; BLOCK / 64],
    /// How many inserts of the block come before each word of `inserts`.
    inserts_before_word: [u16; BLOCK / 64],
}

impl MixCursor {
    /// A cursor over the operations that `seed` gives.
    pub fn new(mix: Mix, seed: u64) -> MixCursor {
        let mut cursor = MixCursor {
            mix,
            only_kind: mix.only_kind(),
            block: 0,
            shuffle: Shuffle::new(seed),
            ends: [0; KINDS.len()],
            inserts_before_block: 0,
            inserts: [0; BLOCK / 64],
            inserts_before_word: [0; BLOCK / 64],
        };
        cursor.enter(0);
        cursor
    }

    /// The place of operation `n`.
    #[inline]
    pub fn at(&mut self, n: u64) -> Slot {
        if let Some(kind) = self.only_kind {
            let inserts_before = if kind == OperationKind::Insert { n } else { 0 };
            return Slot { kind, inserts_before };
        }
        let block = n >> BLOCK_BITS;
        if block != self.block {
            self.enter(block);
        }
        let position = n as usize % BLOCK;
        let place = self.shuffle.place(position);
        let index = self.ends[..KINDS.len() - 1].iter().filter(|&&end| end <= place).count();
        let (word, bit) = (position / 64, position % 64);
        let earlier = self.inserts[word] & ((1u64 << bit) - 1);
        let rank = u32::from(self.inserts_before_word[word]) + earlier.count_ones();
        Slot { kind: KINDS[index], inserts_before: self.inserts_before_block + u64::from(rank) }
    }

    #[cold]
    fn enter(&mut self, block: u64) {
        let (before, after) = (self.mix.before(block), self.mix.before(block + 1));
        let mut end = 0;
        for (kind, kind_end) in self.ends.iter_mut().enumerate() {
            end += (after[kind] - before[kind]) as u16;
            *kind_end = end;
        }
        self.block = block;
        self.shuffle.enter(block);
        self.inserts_before_block = before[0];
        if self.mix.parts[0] > 0 {
            self.inserts = [0; BLOCK / 64];
            for place in 0..self.ends[0] {
                let position = self.shuffle.position(place);
                self.inserts[position / 64] |= 1 << (position % 64);
            }
            let mut rank = 0;
            for (bits, before) in self.inserts.iter().zip(&mut self.inserts_before_word) {
                *before = rank;
                rank += bits.count_ones() as u16;
            }
        }
    }
}

/// For each block a random order of its operations: one random permutation, applied three times
/// with keys of the block added in between (a small Even-Mansour cipher). An operation's place is
/// found on its own, so a client that visits few operations of a block pays for those only.
#[derive(Clone, Debug)]
struct Shuffle {
    permutation: [u16; BLOCK],
    inverse: [u16; BLOCK],
    block_key: u64,
    /// The current block's keys: one before each application and one at the end.
    keys: [u16; 4],
}

impl Shuffle {
    fn new(seed: u64) -> Shuffle {
        let mut draws = Draws::new(seed, 0, TABLE_SALT);
        let mut permutation: [u16; BLOCK] = std::array::from_fn(|index| index as u16);
        for last in (1..BLOCK).rev() {
            permutation.swap(last, draws.below(last as u64 + 1) as usize);
        }
        let mut inverse = [0; BLOCK];
        for (from, &to) in permutation.iter().enumerate() {
            inverse[usize::from(to)] = from as u16;
        }
        let block_key = keyed(seed, SHUFFLE_SALT);
        Shuffle { permutation, inverse, block_key, keys: [0; 4] }
    }

    fn enter(&mut self, block: u64) {
        let bits = Draws::at(self.block_key, block).next_u64();
        self.keys = [0, 16, 32, 48].map(|shift| (bits >> shift) as u16 % BLOCK as u16);
    }

    /// Where the operation at `position` of the block comes in the order before the shuffle.
    #[inline]
    fn place(&self, position: usize) -> u16 {
        let [a, b, c, d] = self.keys;
        let x = self.permutation[usize::from(position as u16 ^ a) % BLOCK];
        let x = self.permutation[usize::from(x ^ b) % BLOCK];
        self.permutation[usize::from(x ^ c) % BLOCK] ^ d
    }

    /// The position of the operation that comes at `place` in the order before the shuffle.
    #[inline]
    fn position(&self, place: u16) -> usize {
        let [a, b, c, d] = self.keys;
        let x = self.inverse[usize::from(place ^ d) % BLOCK] ^ c;
        let x = self.inverse[usize::from(x) % BLOCK] ^ b;
        usize::from(self.inverse[usize::from(x) % BLOCK] ^ a)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goodness::assert_fits;

    fn mix(shares: [f64; 6]) -> Mix {
        Mix::new(&CoreWorkload {
            insert_proportion: shares[0],
            read_proportion: shares[1],
            update_proportion: shares[2],
            scan_proportion: shares[3],
            read_modify_write_proportion: shares[4],
            lookup_proportion: shares[5],
            ..CoreWorkload::default()
        })
    }

    const MIXES: [[f64; 6]; 9] = [
        [0.05, 0.95, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.5, 0.5, 0.0, 0.0, 0.0],
        [0.2, 0.2, 0.2, 0.2, 0.2, 0.0],
        [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.999, 0.0, 0.0, 0.0005, 0.0005, 0.0],
        [0.0003, 0.4, 0.0002, 0.59, 0.0095, 0.0],
        [3.0, 5.0, 0.0, 2.0, 0.0, 0.0],
        [0.0, 1.0, 1e-6, 0.0, 0.0, 0.0],
        [0.1, 0.2, 0.1, 0.1, 0.1, 0.4],
    ];

    #[test]
    fn parts_sum_to_the_whole() {
        for shares in MIXES {
            assert_eq!(mix(shares).parts.iter().sum::<u64>(), WHOLE, "{shares:?}");
        }
        assert_eq!(mix([0.0, 0.5, 0.5, 0.0, 0.0, 0.0]).parts, [0, WHOLE / 2, WHOLE / 2, 0, 0, 0]);
    }

    #[test]
    fn every_block_has_its_exact_share_of_each_kind() {
        for shares in MIXES {
            let mix = mix(shares);
            let mut cursor = MixCursor::new(mix, 1);
            let sum: f64 = shares.iter().sum();
            let mut total = [0u64; 6];
            for block in 0..300u64 {
                let mut counts = [0u64; 6];
                for n in block * 1024..(block + 1) * 1024 {
                    let kind = cursor.at(n).kind;
                    counts[KINDS.iter().position(|&k| k == kind).unwrap()] += 1;
                }
                let floor = |block: u64| (block * 1024 * mix.parts[0]) >> 32;
                assert_eq!(counts[0], floor(block + 1) - floor(block), "{shares:?} {block}");
                for (kind, count) in counts.iter().enumerate() {
                    total[kind] += count;
                    let exact = (block + 1) as f64 * 1024.0 * shares[kind] / sum;
                    let error = (total[kind] as f64 - exact).abs();
                    assert!(error < 3.0, "{shares:?}, block {block}: {kind} is off by {error}");
                }
            }
        }
    }

    #[test]
    fn inserts_are_numbered_without_gaps_in_the_order_of_operations() {
        for shares in MIXES {
            let mut cursor = MixCursor::new(mix(shares), 9);
            let mut inserts = 0;
            for n in 0..50_000 {
                let slot = cursor.at(n);
                if shares[0] > 0.0 {
                    assert_eq!(slot.inserts_before, inserts, "{shares:?}, operation {n}");
                }
                inserts += u64::from(slot.kind == OperationKind::Insert);
            }
        }
    }

    #[test]
    fn an_operation_is_the_same_in_any_visiting_order() {
        for shares in MIXES {
            let operations = 20 * 1024;
            let mut forward = MixCursor::new(mix(shares), 4);
            let expected: Vec<_> = (0..operations).map(|n| forward.at(n)).collect();
            let mut other = MixCursor::new(mix(shares), 4);
            for step in 0..operations {
                let n = step * 7919 % operations;
                assert_eq!(other.at(n), expected[n as usize], "{shares:?}, operation {n}");
            }
        }
    }

    #[test]
    fn the_last_operations_that_a_number_can_name_are_exact() {
        for shares in MIXES {
            let mix = mix(shares);
            let last_block = u64::MAX >> BLOCK_BITS;
            let mut cursor = MixCursor::new(mix, 1);
            let first = cursor.at(last_block << BLOCK_BITS);
            let before = (u128::from(last_block) * 1024 * u128::from(mix.parts[0])) >> 32;
            if shares[0] > 0.0 {
                assert_eq!(u128::from(first.inserts_before), before);
            }
            let mut inserts = 0;
            for position in 0..1024 {
                let slot = cursor.at((last_block << BLOCK_BITS) + position);
                inserts += u128::from(slot.kind == OperationKind::Insert);
            }
            let after = ((u128::from(last_block) + 1) * 1024 * u128::from(mix.parts[0])) >> 32;
            assert_eq!(before + inserts, after, "{shares:?}");
        }
    }

    fn entered(seed: u64, block: u64) -> Shuffle {
        let mut shuffle = Shuffle::new(seed);
        shuffle.enter(block);
        shuffle
    }

    #[test]
    fn a_shuffle_is_a_permutation_that_differs_by_block_and_seed() {
        for (seed, block) in [(0, 0), (1, 0), (0, 1), (77, u64::MAX >> 10)] {
            let shuffle = entered(seed, block);
            let mut seen = [false; BLOCK];
            for position in 0..BLOCK {
                let place = shuffle.place(position);
                seen[usize::from(place)] = true;
                assert_eq!(shuffle.position(place), position);
            }
            assert!(seen.iter().all(|&seen| seen));
        }
        let places = |seed, block| {
            let shuffle = entered(seed, block);
            (0..16).map(|x| shuffle.place(x)).collect::<Vec<_>>()
        };
        assert_ne!(places(0, 0), places(0, 1));
        assert_ne!(places(0, 0), places(1, 0));
    }

    #[test]
    fn shuffled_places_and_their_distances_are_uniform() {
        let even = vec![1.0 / BLOCK as f64; BLOCK];
        let distances: Vec<_> =
            (0..BLOCK).map(|d| if d == 0 { 0.0 } else { 1.0 / (BLOCK - 1) as f64 }).collect();
        let mut shuffle = Shuffle::new(3);
        for (a, b) in [(0, 1), (0, 2), (5, 517), (100, 132), (511, 512), (31, 1023)] {
            let (mut place, mut distance) = (vec![0; BLOCK], vec![0; BLOCK]);
            for block in 0..200_000 {
                shuffle.enter(block);
                let (x, y) = (shuffle.place(a), shuffle.place(b));
                place[usize::from(x)] += 1;
                distance[usize::from(y.wrapping_sub(x)) % BLOCK] += 1;
            }
            assert_fits(&format!("place of {a}"), &place, &even);
            assert_fits(&format!("distance from {a} to {b}"), &distance, &distances);
        }
    }

    #[test]
    fn kinds_change_as_often_as_in_a_random_order() {
        // In a random order of n and n items the number of changes has mean n and variance
        // n (n - 1) / (2n - 1).
        let mut cursor = MixCursor::new(mix([0.0, 0.5, 0.5, 0.0, 0.0, 0.0]), 6);
        let (blocks, half) = (4000u64, 512.0);
        let (mut sum, mut squares) = (0.0, 0.0);
        for block in 0..blocks {
            let kinds: Vec<_> = (0..1024).map(|i| cursor.at(block * 1024 + i).kind).collect();
            let changes = kinds.windows(2).filter(|pair| pair[0] != pair[1]).count() as f64;
            sum += changes - half;
            squares += (changes - half).powi(2);
        }
        let variance = half * (half - 1.0) / (2.0 * half - 1.0);
        let blocks = blocks as f64;
        assert!((sum / blocks).abs() < 3.9 * (variance / blocks).sqrt(), "{}", sum / blocks);
        let ratio = squares / blocks / variance;
        assert!((ratio - 1.0).abs() < 0.10, "variance is {ratio} of a random order's");
    }
}
