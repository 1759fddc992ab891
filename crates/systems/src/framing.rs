//! How a record stands in one string, for the stores whose values have no fields.
//!
//! A table of one field holds the field's bytes as they are. Otherwise the string is the fields in
//! order of position, each its length as an unsigned LEB128 number followed by its bytes; a field
//! that was not given is empty.

use std::ops::Range;

use assay_model::FieldValue;
use prefetch_index::prefetch_index;

/// A string that does not follow the framing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadFraming;

/// What a driver says of such a string.
pub(crate) const BAD_FRAMING: &str = "the stored record does not have the fields of the table";

/// Whether `values` replaces every one of `field_count` fields, so that the old record need not be
/// read. It recognizes values in order of position, as workloads give them.
pub(crate) fn covers_all(values: &[FieldValue<'_>], field_count: u16) -> bool {
    values.len() == usize::from(field_count)
        && values.iter().enumerate().all(|(position, value)| usize::from(value.field) == position)
}

/// Appends the record that `values` makes up to `out`.
pub(crate) fn write(values: &[FieldValue<'_>], field_count: u16, out: &mut Vec<u8>) {
    write_with(|position| given(values, position).unwrap_or_default(), field_count, out);
}

/// Appends the record whose fields `field` gives by their positions to `out`.
pub(crate) fn write_with<'a>(field: impl Fn(u16) -> &'a [u8], field_count: u16, out: &mut Vec<u8>) {
    for position in 0..field_count {
        write_field(field(position), field_count, out);
    }
}

/// How many bytes [`write`] appends.
pub(crate) fn written_len(values: &[FieldValue<'_>], field_count: u16) -> usize {
    let length = |position| {
        let bytes = given(values, position).unwrap_or_default().len();
        let digits = 1 + bytes.checked_ilog2().unwrap_or(0) as usize / 7;
        bytes + if field_count > 1 { digits } else { 0 }
    };
    (0..field_count).map(length).sum()
}

/// Appends `record` with the fields of `values` replaced to `out`.
pub(crate) fn write_merged<'a>(
    record: &'a [u8],
    changed: impl Fn(u16) -> Option<&'a [u8]>,
    field_count: u16,
    out: &mut Vec<u8>,
) -> Result<(), BadFraming> {
    read(record, field_count, |position, old| {
        write_field(changed(position).unwrap_or(old), field_count, out);
    })
}

/// The fields that an update of some of them sets, while the old record is being fetched.
#[derive(Default)]
pub(crate) struct Changes {
    fields: Vec<(u16, Range<usize>)>,
    bytes: Vec<u8>,
}

impl Changes {
    /// Takes over the fields of an update, in place of those before.
    pub(crate) fn set(&mut self, values: &[FieldValue<'_>]) {
        self.fields.clear();
        self.bytes.clear();
        for value in values {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(value.bytes);
            self.fields.push((value.field, start..self.bytes.len()));
        }
    }

    /// Appends `record` with the fields replaced to `out`.
    pub(crate) fn merge(
        &self,
        record: &[u8],
        field_count: u16,
        out: &mut Vec<u8>,
    ) -> Result<(), BadFraming> {
        let changed = |position| {
            let found = self.fields.iter().rev().find(|(field, _)| *field == position);
            found.map(|(_, range)| &self.bytes[range.clone()])
        };
        write_merged(record, changed, field_count, out)
    }
}

/// Calls `each` with the position and the bytes of every field of `record`, in order.
pub(crate) fn read<'a>(
    mut record: &'a [u8],
    field_count: u16,
    mut each: impl FnMut(u16, &'a [u8]),
) -> Result<(), BadFraming> {
    if field_count == 1 {
        each(0, record);
        return Ok(());
    }
    fetch_ahead(record);
    for position in 0..field_count {
        let (length, digits) = read_length(record).ok_or(BadFraming)?;
        let end = digits.checked_add(length).ok_or(BadFraming)?;
        each(position, record.get(digits..end).ok_or(BadFraming)?);
        record = &record[end..];
    }
    if record.is_empty() { Ok(()) } else { Err(BadFraming) }
}

/// Bytes beyond are fetched while those before are read.
const MOST_AHEAD: usize = 2048;

/// Asks for the record's bytes all at once: one length says where the next one stands, and in a store's
/// own memory each step would wait for its line.
#[inline]
fn fetch_ahead(record: &[u8]) {
    const LINE: usize = 64;
    for line in (LINE..record.len().min(MOST_AHEAD)).step_by(LINE) {
        prefetch_index(record, line);
    }
}

/// The bytes given for the field at `position`.
pub(crate) fn given<'a>(values: &[FieldValue<'a>], position: u16) -> Option<&'a [u8]> {
    match values.get(usize::from(position)) {
        Some(value) if value.field == position => Some(value.bytes),
        _ => values.iter().find(|value| value.field == position).map(|value| value.bytes),
    }
}

fn write_field(bytes: &[u8], field_count: u16, out: &mut Vec<u8>) {
    if field_count > 1 {
        let mut rest = bytes.len();
        while rest >= 0x80 {
            out.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        out.push(rest as u8);
    }
    out.extend_from_slice(bytes);
}

/// A LEB128 number of at most five bytes, and how many bytes it took.
fn read_length(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut length = 0u64;
    for (index, &byte) in bytes.iter().take(5).enumerate() {
        length |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some((usize::try_from(length).ok()?, index + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn values<'a>(fields: &'a [Vec<u8>]) -> Vec<FieldValue<'a>> {
        let positions = 0..fields.len() as u16;
        positions.zip(fields).map(|(field, bytes)| FieldValue { field, bytes }).collect()
    }

    fn fields(record: &[u8], count: u16) -> Result<Vec<Vec<u8>>, BadFraming> {
        let mut found = Vec::new();
        read(record, count, |_, bytes| found.push(bytes.to_vec())).map(|()| found)
    }

    #[test]
    fn one_field_is_stored_as_it_is() {
        let mut out = Vec::new();
        write(&[FieldValue { field: 0, bytes: b"plain" }], 1, &mut out);
        assert_eq!(out, b"plain");
    }

    #[test]
    fn values_in_any_order_are_stored_by_position() {
        let mut out = Vec::new();
        let values = [FieldValue { field: 1, bytes: b"b" }, FieldValue { field: 0, bytes: b"a" }];
        assert!(!covers_all(&values, 2));
        write(&values, 2, &mut out);
        assert_eq!(out, b"\x01a\x01b");
    }

    #[test]
    fn a_string_cut_short_or_too_long_is_refused() {
        let mut out = Vec::new();
        write(&values(&[vec![7; 200], vec![8; 3]]), 2, &mut out);
        for end in 0..out.len() {
            assert_eq!(fields(&out[..end], 2), Err(BadFraming), "cut at {end}");
        }
        out.push(0);
        assert_eq!(fields(&out, 2), Err(BadFraming));
        assert_eq!(fields(&[0xff; 9], 2), Err(BadFraming));
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(
            record in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 1..6),
            change in prop::collection::vec(any::<u8>(), 0..300),
            which in 0usize..6,
        ) {
            let count = record.len() as u16;
            let mut out = Vec::new();
            write(&values(&record), count, &mut out);
            prop_assert_eq!(out.len(), written_len(&values(&record), count));
            prop_assert_eq!(fields(&out, count).unwrap(), record.clone());

            let which = which % record.len();
            let mut merged = Vec::new();
            let changed = |position| (usize::from(position) == which).then_some(&change[..]);
            write_merged(&out, changed, count, &mut merged).unwrap();
            let mut expected = record.clone();
            expected[which] = change.clone();
            prop_assert_eq!(fields(&merged, count).unwrap(), expected);
        }

        #[test]
        fn random_bytes_never_panic(bytes: Vec<u8>, count in 0u16..9) {
            let _ = fields(&bytes, count);
        }
    }
}
