//! The entries of secondary indexes where the driver keeps them itself: a value and the key of its
//! record in one string. By bytes, entries stand in the order of their values and, among equal values,
//! of the keys.
//!
//! A zero byte of the value is written as `00 FF`, `00 00` ends the value, and the key follows as it
//! is. A byte after a zero is thus never any other, and `00 01` after a value comes behind the
//! value's last entry and before the entries of every greater value.

const ZERO: &[u8] = &[0, 0xff];
const END: &[u8] = &[0, 0];
const BEHIND: &[u8] = &[0, 1];

/// Appends the entry.
pub(crate) fn write(value: &[u8], key: &[u8], out: &mut Vec<u8>) {
    escape(value, out);
    out.extend_from_slice(END);
    out.extend_from_slice(key);
}

/// How many bytes [`write`] appends.
pub(crate) fn written_len(value: &[u8], key: &[u8]) -> usize {
    escaped_len(value) + END.len() + key.len()
}

/// Appends where the entries of `value` begin.
pub(crate) fn write_start(value: &[u8], out: &mut Vec<u8>) {
    escape(value, out);
}

/// How many bytes [`write_start`] appends.
pub(crate) fn start_len(value: &[u8]) -> usize {
    escaped_len(value)
}

/// Appends what all entries of `value` stand before, and those of every greater value after.
pub(crate) fn write_end(value: &[u8], out: &mut Vec<u8>) {
    escape(value, out);
    out.extend_from_slice(BEHIND);
}

/// How many bytes [`write_end`] appends.
pub(crate) fn end_len(value: &[u8]) -> usize {
    escaped_len(value) + BEHIND.len()
}

/// The key in an entry; `None` if it is no entry.
pub(crate) fn key_of(entry: &[u8]) -> Option<&[u8]> {
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
pub(crate) fn has_value(entry: &[u8], value: &[u8]) -> bool {
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

    use super::*;

    fn written(append: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        append(&mut out);
        out
    }

    fn entry_of(value: &[u8], key: &[u8]) -> Vec<u8> {
        let entry = written(|out| write(value, key, out));
        assert_eq!(entry.len(), written_len(value, key));
        entry
    }

    fn start_of(value: &[u8]) -> Vec<u8> {
        let start = written(|out| write_start(value, out));
        assert_eq!(start.len(), start_len(value));
        start
    }

    fn end_of(value: &[u8]) -> Vec<u8> {
        let end = written(|out| write_end(value, out));
        assert_eq!(end.len(), end_len(value));
        end
    }

    #[test]
    fn a_value_without_zeros_costs_its_end() {
        assert_eq!(entry_of(b"value", b"key"), b"value\0\0key");
        assert_eq!(entry_of(b"", b""), b"\0\0");
        assert_eq!(entry_of(b"a\0b\0", b"k\0"), b"a\0\xffb\0\xff\0\0k\0");
        assert_eq!(start_of(b"a\0"), b"a\0\xff");
        assert_eq!(end_of(b"a\0"), b"a\0\xff\0\x01");
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
            let entry = entry_of(&value, &key);
            let found = entry >= start_of(&low) && entry < end_of(&high);
            prop_assert_eq!(found, value >= low && value <= high);
        }
    }
}
