//! The entries of secondary indexes: a value and the key of its record in one string. By bytes,
//! which is how a sorted set of equal scores orders its members, entries stand in the order of their
//! values and, among equal values, of the keys.
//!
//! A zero byte of the value is written as `00 FF`, `00 00` ends the value, and the key follows as it
//! is. A byte after a zero is thus never any other, and `00 01` after a value comes behind the
//! value's last entry and before the entries of every greater value.

use super::resp;

const ZERO: &[u8] = &[0, 0xff];
const END: &[u8] = &[0, 0];
const BEHIND: &[u8] = &[0, 1];

/// Appends the entry as a string of a request.
pub(super) fn entry(value: &[u8], key: &[u8], out: &mut Vec<u8>) {
    resp::bulk_header(escaped_len(value) + END.len() + key.len(), out);
    escape(value, out);
    out.extend_from_slice(END);
    out.extend_from_slice(key);
    out.extend_from_slice(b"\r\n");
}

/// Appends the end of a range that begins with the entries of `value`.
pub(super) fn from(value: &[u8], out: &mut Vec<u8>) {
    resp::bulk_header(1 + escaped_len(value), out);
    out.push(b'[');
    escape(value, out);
    out.extend_from_slice(b"\r\n");
}

/// Appends the end of a range whose last entries are those of `value`.
pub(super) fn up_to(value: &[u8], out: &mut Vec<u8>) {
    resp::bulk_header(1 + escaped_len(value) + BEHIND.len(), out);
    out.push(b'(');
    escape(value, out);
    out.extend_from_slice(BEHIND);
    out.extend_from_slice(b"\r\n");
}

/// The key in an entry; `None` if it is no entry.
pub(super) fn key_of(entry: &[u8]) -> Option<&[u8]> {
    let mut start = 0;
    loop {
        let zero = start + memchr::memchr(0, &entry[start..])?;
        start = zero + 2;
        match entry.get(zero..start)? {
            END => return Some(&entry[start..]),
            ZERO => {}
            _ => return None,
        }
    }
}

/// Whether the entry is one of `value`.
pub(super) fn has_value(entry: &[u8], value: &[u8]) -> bool {
    let mut rest = Some(entry);
    for (at, part) in value.split(|byte| *byte == 0).enumerate() {
        if at > 0 {
            rest = rest.and_then(|rest| rest.strip_prefix(ZERO));
        }
        rest = rest.and_then(|rest| rest.strip_prefix(part));
    }
    rest.is_some_and(|rest| rest.starts_with(END))
}

fn escaped_len(value: &[u8]) -> usize {
    value.len() + memchr::memchr_iter(0, value).count()
}

fn escape(value: &[u8], out: &mut Vec<u8>) {
    let mut start = 0;
    for zero in memchr::memchr_iter(0, value) {
        out.extend_from_slice(&value[start..zero]);
        out.extend_from_slice(ZERO);
        start = zero + 1;
    }
    out.extend_from_slice(&value[start..]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::resp::Item, *};

    /// The string that was appended to a request.
    fn string(append: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        append(&mut out);
        match resp::item(&out) {
            Ok(Some((Item::Bulk(bytes), length))) if length == out.len() => bytes.to_vec(),
            other => panic!("{other:?}"),
        }
    }

    fn entry_of(value: &[u8], key: &[u8]) -> Vec<u8> {
        string(|out| entry(value, key, out))
    }

    /// Whether Redis finds the entry between the ends.
    fn found(entry: &[u8], low: &[u8], high: &[u8]) -> bool {
        assert_eq!((low[0], high[0]), (b'[', b'('));
        entry >= &low[1..] && entry < &high[1..]
    }

    #[test]
    fn a_value_without_zeros_costs_its_end() {
        assert_eq!(entry_of(b"value", b"key"), b"value\0\0key");
        assert_eq!(entry_of(b"", b""), b"\0\0");
        assert_eq!(entry_of(b"a\0b\0", b"k\0"), b"a\0\xffb\0\xff\0\0k\0");
        assert_eq!(string(|out| from(b"a\0", out)), b"[a\0\xff");
        assert_eq!(string(|out| up_to(b"a\0", out)), b"(a\0\xff\0\x01");
    }

    #[test]
    fn what_is_no_entry_has_no_key() {
        for other in [&b""[..], b"value", b"value\0", b"value\0\x01key", b"a\0\xff\0"] {
            assert_eq!(key_of(other), None, "{other:?}");
        }
    }

    /// Few bytes, so that values are often the beginnings of others.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(prop::sample::select(&[0, 1, 2, 0xfe, 0xff][..]), 0..6)
    }

    proptest! {
        #[test]
        fn entries_are_ordered_by_value_and_key(
            a in (bytes(), bytes()),
            b in (bytes(), bytes()),
        ) {
            let (first, second) = (entry_of(&a.0, &a.1), entry_of(&b.0, &b.1));
            prop_assert_eq!(first.cmp(&second), a.cmp(&b));
            prop_assert_eq!(key_of(&first), Some(&a.1[..]));
            prop_assert_eq!(has_value(&first, &b.0), a.0 == b.0);
        }

        #[test]
        fn a_range_holds_the_values_between_its_ends(
            value in bytes(),
            key in bytes(),
            low in bytes(),
            high in bytes(),
        ) {
            let (start, end) = (string(|out| from(&low, out)), string(|out| up_to(&high, out)));
            let between = value >= low && value <= high;
            prop_assert_eq!(found(&entry_of(&value, &key), &start, &end), between);
        }
    }
}
