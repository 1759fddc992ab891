//! The objects of the study: keys of 30 bytes, values of 100, all random; each a function of its
//! number, so that no list of them takes memory beside the stores.

/// Bytes of a key.
pub const KEY_BYTES: usize = 30;
/// Bytes of a value.
pub const VALUE_BYTES: usize = 100;
/// The index that every store has.
pub const INDEX: u16 = 1;

/// A key.
pub type Key = [u8; KEY_BYTES];
/// A value.
pub type Value = [u8; VALUE_BYTES];

/// Numbers the primary keys among the roles; an index has its own number.
const PRIMARY: u16 = 0;
const VALUE: u16 = u16::MAX;

/// The primary key of object `number`.
pub fn primary(number: u32) -> Key {
    random(PRIMARY, number, 0)
}

/// The key of object `number` for index `index`, after `generation` changes of it.
pub fn secondary(index: u16, number: u32, generation: u32) -> Key {
    random(index, number, generation)
}

/// The value of object `number`, after `generation` changes of it.
pub fn value(number: u32, generation: u32) -> Value {
    random(VALUE, number, generation)
}

fn random<const BYTES: usize>(role: u16, number: u32, generation: u32) -> [u8; BYTES] {
    let named = u64::from(number) << 32 | u64::from(generation);
    let mut random = Random::new(mixed(named).wrapping_add(mixed(u64::from(role) + 1)));
    let mut bytes = [0; BYTES];
    for word in bytes.chunks_mut(8) {
        word.copy_from_slice(&random.next().to_le_bytes()[..word.len()]);
    }
    bytes
}

/// What an answer is checked by: a sum over all the bytes of an object. The bytes are random, so
/// another object, or an older one, has another digest.
#[inline]
pub fn digest(primary: &[u8], value: &[u8]) -> u64 {
    sum(primary).rotate_left(1).wrapping_add(sum(value))
}

#[inline]
fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    words
        .iter()
        .fold(u64::from_le_bytes(last), |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)))
}

/// The numbers below `objects`, shuffled: the order in which objects are asked for.
pub fn shuffled(objects: u32) -> Vec<u32> {
    let mut numbers: Vec<u32> = (0..objects).collect();
    let mut random = Random::new(u64::from(objects));
    for last in (1..numbers.len()).rev() {
        numbers.swap(last, random.below(last + 1));
    }
    numbers
}

/// splitmix64: enough for data, and the same everywhere.
pub struct Random(u64);

impl Random {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.0)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}

fn mixed(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_keys_of_objects_indexes_and_generations_are_the_same() {
        let mut keys = BTreeSet::new();
        for number in 0..1000 {
            assert!(keys.insert(primary(number)));
            for generation in 0..3 {
                assert!(keys.insert(secondary(1, number, generation)));
                assert!(keys.insert(secondary(2, number, generation)));
            }
        }
        assert_eq!(secondary(1, 7, 2), secondary(1, 7, 2));
    }

    #[test]
    fn another_byte_anywhere_gives_another_digest() {
        let (key, value) = (primary(1), value(1, 0));
        let whole = digest(&key, &value);
        for at in 0..KEY_BYTES {
            let mut changed = key;
            changed[at] ^= 1;
            assert_ne!(digest(&changed, &value), whole);
        }
        for at in 0..VALUE_BYTES {
            let mut changed = value;
            changed[at] ^= 1;
            assert_ne!(digest(&key, &changed), whole);
        }
        assert_ne!(digest(&key[..29], &value), whole);
    }

    #[test]
    fn a_shuffle_has_every_number_once_and_not_in_order() {
        let numbers = shuffled(1000);
        assert_eq!(numbers.iter().copied().collect::<BTreeSet<_>>().len(), 1000);
        let in_place = numbers.iter().enumerate().filter(|(at, n)| *at == **n as usize).count();
        assert!(in_place < 10, "{in_place} numbers stayed where they were");
        assert_eq!(shuffled(1), [0]);
    }
}
