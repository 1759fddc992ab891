//! A record as a line of `COPY (FORMAT csv)`: every value quoted, so that any text is data; nothing
//! between two commas is NULL.

use assay_model::{FieldValue, Schema};

use crate::framing;

/// Appends a line with the key and every field, NULL where `values` lacks it.
pub(super) fn write_record(
    out: &mut Vec<u8>,
    schema: &Schema,
    key: &[u8],
    values: &[FieldValue<'_>],
) {
    write_quoted(out, key);
    for position in 0..schema.field_count() {
        out.push(b',');
        if let Some(bytes) = framing::given(values, position) {
            write_quoted(out, bytes);
        }
    }
    out.push(b'\n');
}

fn write_quoted(out: &mut Vec<u8>, mut bytes: &[u8]) {
    out.push(b'"');
    while let Some(quote) = bytes.iter().position(|&byte| byte == b'"') {
        let (before, after) = bytes.split_at(quote + 1);
        out.extend_from_slice(before);
        out.push(b'"');
        bytes = after;
    }
    out.extend_from_slice(bytes);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_quoted_and_what_is_lacking_is_not() {
        let schema = Schema::new("t", "f", 4);
        let value = |field, bytes| FieldValue { field, bytes };
        let values = [value(3, &b"\"a\",\n\"\""[..]), value(1, b""), value(0, b"x")];
        let mut out = Vec::new();
        write_record(&mut out, &schema, b"k\"", &values);
        assert_eq!(out, b"\"k\"\"\",\"x\",\"\",,\"\"\"a\"\",\n\"\"\"\"\"\n");
    }
}
