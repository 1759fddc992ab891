//! The values that records hold: slices of a pool of random text, chosen by (seed, key, field,
//! version), so that making one costs nothing and anyone can tell what it must be.

use crate::{
    CoreWorkload, FieldLengths,
    rng::{Draws, fold, keyed, mix},
};

/// Values begin at one of this many places of the pool.
const PLACES: u64 = 1 << 20;
/// How far apart the versions of one field lie: sixteen steps do not meet within the pool.
const VERSION_STEP: u64 = 69_629;
const VERSIONS: u64 = 16;
/// How many versions updates write: 1 to 15. Version 0 is the loaded one.
pub const UPDATE_VERSIONS: u32 = VERSIONS as u32 - 1;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

const POOL_SALT: u64 = 0x706F_6F6C;
const PLACE_SALT: u64 = 0x706C_6163;
const LENGTH_SALT: u64 = 0x6C65_6E67;

/// A mebibyte and a tail of random text over `A-Z a-z 0-9 - _`: it needs no escaping in any
/// layout and does not compress below six bits a byte.
pub struct ValuePool {
    bytes: Box<[u8]>,
    place_key: u64,
    length_key: u64,
    max_value_bytes: usize,
}

impl ValuePool {
    /// The pool of `seed`, for values of up to `max_value_bytes` bytes.
    pub fn new(seed: u64, max_value_bytes: usize) -> ValuePool {
        let length = PLACES as usize + max_value_bytes;
        let mut bytes = Vec::with_capacity(length + 10);
        let mut draws = Draws::new(seed, 0, POOL_SALT);
        while bytes.len() < length {
            let mut bits = draws.next_u64();
            for _ in 0..10 {
                bytes.push(ALPHABET[(bits & 63) as usize]);
                bits >>= 6;
            }
        }
        bytes.truncate(length);
        ValuePool {
            bytes: bytes.into_boxed_slice(),
            place_key: keyed(seed, PLACE_SALT),
            length_key: keyed(seed, LENGTH_SALT),
            max_value_bytes,
        }
    }

    /// The pool that holds every value of `workload`.
    pub fn of(workload: &CoreWorkload, seed: u64) -> ValuePool {
        ValuePool::new(seed, workload.greatest_value())
    }

    /// The longest value that the pool holds, in bytes.
    pub fn max_value_bytes(&self) -> usize {
        self.max_value_bytes
    }

    /// The first `len` bytes of the value of a field. Versions count modulo 16; no two of the
    /// sixteen begin at the same place.
    ///
    /// # Panics
    /// If `len` is greater than [`max_value_bytes`](ValuePool::max_value_bytes).
    #[inline]
    pub fn value(&self, key_id: u64, field: u16, version: u32, len: usize) -> &[u8] {
        assert!(len <= self.max_value_bytes, "the pool was made for shorter values");
        let place = cell(self.place_key, key_id, field)
            .wrapping_add(u64::from(version) % VERSIONS * VERSION_STEP)
            % PLACES;
        &self.bytes[place as usize..][..len]
    }
}

/// A random number for a field of a record.
#[inline]
fn cell(key: u64, key_id: u64, field: u16) -> u64 {
    fold(key_id ^ key, mix(key ^ u64::from(field)))
}

/// A workload's values: the pool and the law of their lengths.
pub struct Values<'p> {
    pool: &'p ValuePool,
    lengths: FieldLengths,
    index_count: u16,
    index_key_length: usize,
}

impl<'p> Values<'p> {
    /// The values of `workload` in `pool`.
    ///
    /// # Panics
    /// If the pool was made for shorter values than the workload's; [`ValuePool::of`] is not.
    pub fn new(workload: &CoreWorkload, pool: &'p ValuePool) -> Values<'p> {
        let greatest = workload.greatest_value();
        assert!(
            greatest <= pool.max_value_bytes,
            "the workload's values have up to {greatest} bytes, the pool {}",
            pool.max_value_bytes
        );
        Values {
            pool,
            lengths: FieldLengths::new(&workload.field_length),
            index_count: workload.index_count as u16,
            index_key_length: workload.index_key_length as usize,
        }
    }

    /// The value of a field, of the length that it has in this version.
    #[inline]
    pub fn value(&self, key_id: u64, field: u16, version: u32) -> &'p [u8] {
        self.pool.value(key_id, field, version, self.length(key_id, field, version))
    }

    /// How long the value of a field is in this version, in bytes.
    #[inline]
    pub fn length(&self, key_id: u64, field: u16, version: u32) -> usize {
        if field < self.index_count {
            return self.index_key_length;
        }
        self.lengths.length(|| {
            let version = u64::from(version) % VERSIONS;
            mix(cell(self.pool.length_key, key_id, field).wrapping_add(version))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::{FieldLength, goodness::assert_fits};

    #[test]
    fn a_value_is_a_function_of_seed_key_field_and_version() {
        let (pool, same, other) =
            (ValuePool::new(1, 100), ValuePool::new(1, 100), ValuePool::new(2, 100));
        let value = pool.value(7, 3, 2, 100);
        assert_eq!(value, same.value(7, 3, 2, 100));
        assert_eq!(value, pool.value(7, 3, 18, 100), "versions count modulo 16");
        for different in [
            other.value(7, 3, 2, 100),
            pool.value(8, 3, 2, 100),
            pool.value(7, 4, 2, 100),
            pool.value(7, 3, 3, 100),
        ] {
            assert_ne!(value, different);
        }
        assert_eq!(&value[..10], pool.value(7, 3, 2, 10), "a shorter value is a prefix");
    }

    #[test]
    fn versions_of_a_field_never_coincide() {
        let pool = ValuePool::new(9, 16);
        for key_id in 0..20_000 {
            let versions: HashSet<_> = (0..16).map(|v| pool.value(key_id, 1, v, 16)).collect();
            assert_eq!(versions.len(), 16, "key {key_id}");
        }
    }

    #[test]
    fn values_begin_everywhere_in_the_pool() {
        let pool = ValuePool::new(3, 1);
        let start = pool.bytes.as_ptr() as usize;
        let mut counts = vec![0; 1024];
        for key_id in 0..20_000 {
            for field in 0..10 {
                let place = pool.value(key_id, field, 0, 1).as_ptr() as usize - start;
                counts[place / 1024] += 1;
            }
        }
        assert_fits("places", &counts, &vec![1.0 / 1024.0; 1024]);
    }

    #[test]
    fn the_pool_is_even_over_its_alphabet_to_the_last_byte() {
        let pool = ValuePool::new(5, 1000);
        assert_eq!(pool.bytes.len(), (1 << 20) + 1000);
        let mut counts = vec![0; 64];
        for byte in &pool.bytes {
            counts[ALPHABET.iter().position(|b| b == byte).unwrap()] += 1;
        }
        assert_fits("alphabet", &counts, &[1.0 / 64.0; 64]);
        assert_ne!(pool.bytes[..1000], pool.bytes[1 << 20..], "the tail repeats nothing");
    }

    #[test]
    fn lengths_vary_with_key_field_and_version_within_their_bounds() {
        let workload = CoreWorkload {
            field_length: FieldLength::Uniform { min: 5, max: 14 },
            ..CoreWorkload::default()
        };
        let pool = ValuePool::of(&workload, 1);
        let values = Values::new(&workload, &pool);
        let mut counts = vec![0; 10];
        for key_id in 0..2_000 {
            for field in 0..10 {
                for version in 0..3 {
                    let length = values.length(key_id, field, version);
                    assert_eq!(values.value(key_id, field, version).len(), length);
                    counts[length - 5] += 1;
                }
            }
        }
        assert_fits("lengths", &counts, &[0.1; 10]);
    }

    #[test]
    #[should_panic(expected = "the pool was made for shorter values")]
    fn a_value_longer_than_the_pool_allows_is_refused() {
        ValuePool::new(1, 10).value(0, 0, 0, 11);
    }
}
