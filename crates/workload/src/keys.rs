//! The bytes of a record's key: YCSB's `buildKeyName`, and back.

use crate::{CoreWorkload, InsertOrder, hash::fnv1a_64};

/// The longest a 64-bit number gets.
const MAX_DIGITS: usize = 20;

/// "00" to "99".
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
};

/// How a key number becomes a key: a prefix, then the number (or its hash) in decimal, padded with
/// zeros to a least number of digits.
///
/// The number that the digits show is the record's *key id*: the key number itself with ordered
/// inserts, its [`fnv1a_64`] with hashed ones. Values are a function of the key id, so a check
/// needs the key's bytes only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyFormat {
    prefix: Vec<u8>,
    zero_padding: usize,
    hashed: bool,
}

impl KeyFormat {
    /// The format of a workload's keys.
    pub fn of(workload: &CoreWorkload) -> KeyFormat {
        KeyFormat {
            prefix: workload.key_prefix.clone().into_bytes(),
            zero_padding: workload.zero_padding as usize,
            hashed: workload.insert_order == InsertOrder::Hashed,
        }
    }

    /// The number that the key of record `key_number` shows.
    #[inline]
    pub fn key_id(&self, key_number: u64) -> u64 {
        if self.hashed { fnv1a_64(key_number) } else { key_number }
    }

    /// Replaces what is in `key` by the key of the record `key_number`. Returns the key id.
    #[inline]
    pub fn write(&self, key_number: u64, key: &mut Vec<u8>) -> u64 {
        let key_id = self.key_id(key_number);
        let mut digits = [0; MAX_DIGITS];
        let count = write_digits(key_id, &mut digits);
        key.clear();
        key.extend_from_slice(&self.prefix);
        let mut width = count.max(self.zero_padding);
        if width > MAX_DIGITS {
            key.resize(key.len() + width - MAX_DIGITS, b'0');
            width = MAX_DIGITS;
        }
        key.extend_from_slice(&digits[MAX_DIGITS - width..]);
        key_id
    }

    /// The key id that `key` shows, or `None` if this format writes no such key.
    pub fn parse(&self, key: &[u8]) -> Option<u64> {
        let digits = key.strip_prefix(self.prefix.as_slice())?;
        let mut key_id = 0u64;
        for &digit in digits {
            if !digit.is_ascii_digit() {
                return None;
            }
            key_id = key_id.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
        }
        let significant = key_id.checked_ilog10().map_or(1, |log| log as usize + 1);
        (digits.len() == significant.max(self.zero_padding)).then_some(key_id)
    }
}

/// Writes all twenty digits of `number`, leading zeros included, and returns how many are
/// significant. The chunks are independent of each other, so the processor works on them at once.
#[inline]
fn write_digits(number: u64, digits: &mut [u8; MAX_DIGITS]) -> usize {
    const EIGHT: u64 = 100_000_000;
    let (upper, low) = (number / EIGHT, (number % EIGHT) as u32);
    let (high, middle) = ((upper / EIGHT) as u32, (upper % EIGHT) as u32);
    write_pair(high / 100, &mut digits[0..2]);
    write_pair(high % 100, &mut digits[2..4]);
    write_eight(middle, &mut digits[4..12]);
    write_eight(low, &mut digits[12..20]);
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

#[inline]
fn write_eight(number: u32, digits: &mut [u8]) {
    let (upper, lower) = (number / 10_000, number % 10_000);
    write_pair(upper / 100, &mut digits[0..2]);
    write_pair(upper % 100, &mut digits[2..4]);
    write_pair(lower / 100, &mut digits[4..6]);
    write_pair(lower % 100, &mut digits[6..8]);
}

#[inline]
fn write_pair(number: u32, digits: &mut [u8]) {
    digits.copy_from_slice(&PAIRS[number as usize]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn format(prefix: &str, zero_padding: usize, hashed: bool) -> KeyFormat {
        KeyFormat { prefix: prefix.into(), zero_padding, hashed }
    }

    fn key(format: &KeyFormat, key_number: u64) -> String {
        let mut key = b"what was there before".to_vec();
        let key_id = format.write(key_number, &mut key);
        assert_eq!(format.parse(&key), Some(key_id));
        assert_eq!(format.key_id(key_number), key_id);
        String::from_utf8(key).unwrap()
    }

    #[test]
    fn keys_are_those_of_ycsb() {
        let hashed = format("user", 1, true);
        assert_eq!(key(&hashed, 0), "user6284781860667377211");
        assert_eq!(key(&hashed, 1), "user8517097267634966620");
        let ordered = format("user", 1, false);
        assert_eq!(key(&ordered, 5), "user5");
        assert_eq!(key(&ordered, 0), "user0");
        assert_eq!(key(&format("user", 8, false), 5), "user00000005");
        assert_eq!(key(&format("user", 0, false), 0), "user0");
        assert_eq!(key(&format("", 24, false), u64::MAX), "000018446744073709551615");
        assert_eq!(key(&format("k1", 3, false), 1234), "k11234");
    }

    #[test]
    fn keys_of_another_form_are_refused() {
        let format = format("user", 4, false);
        for foreign in [
            "",
            "user",
            "user123",
            "user01234",
            "user12a4",
            "User1234",
            "user99999999999999999999",
            "1234",
            "user1234 ",
            "user-123",
        ] {
            assert_eq!(format.parse(foreign.as_bytes()), None, "{foreign}");
        }
        assert_eq!(format.parse(b"user0123"), Some(123));
        assert_eq!(format.parse(b"user12345"), Some(12345));
    }

    proptest! {
        #[test]
        fn a_key_is_the_prefix_and_the_padded_number(
            key_number: u64,
            prefix in "[a-z0-9:]{0,12}",
            zero_padding in 0usize..40,
            hashed: bool,
        ) {
            let format = format(&prefix, zero_padding, hashed);
            let shown = if hashed { fnv1a_64(key_number) } else { key_number };
            let expected = format!("{prefix}{shown:0zero_padding$}");
            prop_assert_eq!(key(&format, key_number), expected);
        }

        #[test]
        fn what_is_parsed_is_written_back(key in "user[0-9]{1,21}", zero_padding in 0usize..24) {
            let format = format("user", zero_padding, false);
            if let Some(key_id) = format.parse(key.as_bytes()) {
                let mut written = Vec::new();
                format.write(key_id, &mut written);
                prop_assert_eq!(written, key.into_bytes());
            }
        }
    }
}
