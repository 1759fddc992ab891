//! Index entries: byte strings whose order is that of (secondary key, hash of the primary key).
//!
//! An entry is `esc(key) 00 00` and the hash in 8 big-endian bytes, where `esc` maps `00` to
//! `00 FF`. No escaped key holds `00 00`, and the mark is less than whatever may follow in a longer
//! key, so shorter keys come first. Bounds of key ranges are `esc(key) 00 00` and `esc(key) 00 01`:
//! before and after all entries of the key.

/// Bytes of an entry after the escaped key.
const TAIL: usize = 10;

fn push_escaped(key: &[u8], out: &mut Vec<u8>) {
    if !key.contains(&0) {
        return out.extend_from_slice(key);
    }
    let mut rest = key;
    while let Some(zero) = rest.iter().position(|&byte| byte == 0) {
        out.extend_from_slice(&rest[..=zero]);
        out.push(0xff);
        rest = &rest[zero + 1..];
    }
    out.extend_from_slice(rest);
}

/// Writes the entry of a key over `out`.
#[inline]
pub(crate) fn encode(key: &[u8], hash: u64, out: &mut Vec<u8>) {
    out.clear();
    append(key, hash, out);
}

/// Appends the entry of a key to `out`.
#[inline]
pub(crate) fn append(key: &[u8], hash: u64, out: &mut Vec<u8>) {
    push_escaped(key, out);
    out.extend_from_slice(&[0, 0]);
    out.extend_from_slice(&hash.to_be_bytes());
}

/// Writes over `out` the bound just before every entry of `key`.
#[inline]
pub(crate) fn before(key: &[u8], out: &mut Vec<u8>) {
    out.clear();
    push_escaped(key, out);
    out.extend_from_slice(&[0, 0]);
}

/// Writes over `out` the bound just after every entry of `key`.
#[inline]
pub(crate) fn after(key: &[u8], out: &mut Vec<u8>) {
    out.clear();
    push_escaped(key, out);
    out.extend_from_slice(&[0, 1]);
}

/// The hash at the end of an entry.
#[inline]
pub(crate) fn hash(entry: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&entry[entry.len() - 8..]);
    u64::from_be_bytes(bytes)
}

/// The key of an entry: a part of it where nothing was escaped, else written over `unescaped`.
#[inline]
pub(crate) fn key<'a>(entry: &'a [u8], unescaped: &'a mut Vec<u8>) -> &'a [u8] {
    let escaped = &entry[..entry.len() - TAIL];
    if !escaped.contains(&0) {
        return escaped;
    }
    unescaped.clear();
    let mut rest = escaped;
    while let Some(zero) = rest.iter().position(|&byte| byte == 0) {
        unescaped.extend_from_slice(&rest[..=zero]);
        rest = &rest[zero + 2..];
    }
    unescaped.extend_from_slice(rest);
    unescaped
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![Just(0u8), Just(1), Just(0xff), any::<u8>()];
        prop::collection::vec(byte, 0..6)
    }

    fn encoded(key: &[u8], hash: u64) -> Vec<u8> {
        let mut out = Vec::new();
        encode(key, hash, &mut out);
        out
    }

    proptest! {
        #[test]
        fn entries_compare_as_key_then_hash(
            a in bytes(), b in bytes(), x in any::<u64>(), y in any::<u64>(),
        ) {
            prop_assert_eq!(encoded(&a, x).cmp(&encoded(&b, y)), (&a, x).cmp(&(&b, y)));
        }

        #[test]
        fn bounds_enclose_the_entries_of_their_key_alone(
            a in bytes(), b in bytes(), x in any::<u64>(),
        ) {
            let (mut low, mut high) = (Vec::new(), Vec::new());
            before(&a, &mut low);
            after(&a, &mut high);
            let entry = encoded(&b, x);
            prop_assert_eq!(low <= entry, a <= b);
            prop_assert_eq!(entry < high, b <= a);
        }

        #[test]
        fn key_and_hash_come_back(a in bytes(), x in any::<u64>()) {
            let entry = encoded(&a, x);
            let mut unescaped = Vec::new();
            prop_assert_eq!(key(&entry, &mut unescaped), a.as_slice());
            prop_assert_eq!(hash(&entry), x);
        }
    }
}
