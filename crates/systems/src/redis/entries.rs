//! The entries of secondary indexes, which a sorted set of equal scores orders by their bytes, and the
//! ends of ranges of them as the commands of sorted sets take them.

use super::resp;
use crate::entries;

pub(super) use crate::entries::{has_value, key_of, write, written_len as length};

/// Appends the entry as a string of a request.
pub(super) fn entry(value: &[u8], key: &[u8], out: &mut Vec<u8>) {
    resp::bulk_header(entries::written_len(value, key), out);
    entries::write(value, key, out);
    out.extend_from_slice(b"\r\n");
}

/// Appends the end of a range that begins with the entries of `value`.
pub(super) fn from(value: &[u8], out: &mut Vec<u8>) {
    resp::bulk_header(1 + entries::start_len(value), out);
    out.push(b'[');
    entries::write_start(value, out);
    out.extend_from_slice(b"\r\n");
}

/// Appends the end of a range whose last entries are those of `value`.
pub(super) fn up_to(value: &[u8], out: &mut Vec<u8>) {
    resp::bulk_header(1 + entries::end_len(value), out);
    out.push(b'(');
    entries::write_end(value, out);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn each_is_one_string_of_a_request() {
        assert_eq!(string(|out| entry(b"a\0b", b"k", out)), b"a\0\xffb\0\0k");
        assert_eq!(string(|out| from(b"a\0", out)), b"[a\0\xff");
        assert_eq!(string(|out| up_to(b"a\0", out)), b"(a\0\xff\0\x01");
    }
}
