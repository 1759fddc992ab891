//! YCSB's hash of a key number, by which it scatters popular records over the table.

const OFFSET_BASIS: u64 = 0xCBF2_9CE4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01B3;
/// What three octets of zero do: each multiplies by the prime.
const PRIME_3: u64 = PRIME.wrapping_mul(PRIME).wrapping_mul(PRIME);

/// FNV-1a with 64 bits over the eight octets of `number`, least significant first, read as a
/// signed number and made positive, as YCSB does it. The result is at most 2^63.
#[inline]
pub fn fnv1a_64(number: u64) -> u64 {
    let mut hash = OFFSET_BASIS;
    let mut rest = number;
    for _ in 0..5 {
        hash = (hash ^ (rest & 0xFF)).wrapping_mul(PRIME);
        rest >>= 8;
    }
    if rest == 0 {
        hash = hash.wrapping_mul(PRIME_3);
    } else {
        for _ in 0..3 {
            hash = (hash ^ (rest & 0xFF)).wrapping_mul(PRIME);
            rest >>= 8;
        }
    }
    (hash as i64).unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, octet by octet.
    fn by_definition(number: u64) -> u64 {
        let hash = number.to_le_bytes().iter().fold(0xCBF29CE484222325u64, |hash, &octet| {
            (hash ^ u64::from(octet)).wrapping_mul(1099511628211)
        });
        (hash as i64).unsigned_abs()
    }

    #[test]
    fn it_is_fnv_1a_over_eight_octets() {
        for shift in 0..64 {
            for number in [1u64 << shift, (1u64 << shift) - 1, 0xDEAD_BEEF_CAFE_F00D >> shift] {
                assert_eq!(fnv1a_64(number), by_definition(number), "{number:#x}");
            }
        }
        assert_eq!(fnv1a_64(u64::MAX), by_definition(u64::MAX));
    }

    #[test]
    fn the_first_keys_are_ycsbs() {
        // The keys that every YCSB table with hashed inserts holds.
        assert_eq!(fnv1a_64(0), 6284781860667377211);
        assert_eq!(fnv1a_64(1), 8517097267634966620);
        assert_eq!(fnv1a_64(2), 1820151046732198393);
    }
}
