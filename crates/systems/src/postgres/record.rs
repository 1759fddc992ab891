//! A record's columns as the server takes them in binary format. A column of `COPY (FORMAT
//! binary)` and a parameter of Bind look alike: a length, then the bytes.

use assay_model::{FieldValue, Schema};

use super::{
    hstore,
    layout::{Body, Coding, Dialect, KEY_MEMBER, KeyPlace},
};
use crate::{document, framing};

/// Appends a column or parameter.
pub(super) fn write_value(out: &mut Vec<u8>, bytes: &[u8]) {
    // The whole message is checked against the protocol's limit, which is far below 2³¹.
    out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    out.extend_from_slice(bytes);
}

/// Appends a column or parameter that is NULL.
pub(super) fn write_null(out: &mut Vec<u8>) {
    out.extend_from_slice(&(-1i32).to_be_bytes());
}

/// Appends every column of a new record. A field that `values` lacks is NULL, or absent from the
/// document.
pub(super) fn write_record(
    out: &mut Vec<u8>,
    dialect: Dialect,
    schema: &Schema,
    key: &[u8],
    values: &[FieldValue<'_>],
) {
    if dialect.key == KeyPlace::Column {
        write_value(out, key);
    }
    match dialect.body {
        Body::Columns => write_columns(out, schema, values),
        Body::Document(document) => {
            let key = (dialect.key == KeyPlace::Document).then_some(key);
            write_document(out, document.stored, schema, key, values);
        }
    }
}

/// Appends every field as a column, NULL where `values` lacks it.
pub(super) fn write_columns(out: &mut Vec<u8>, schema: &Schema, values: &[FieldValue<'_>]) {
    for position in 0..schema.field_count() {
        match framing::given(values, position) {
            Some(bytes) => write_value(out, bytes),
            None => write_null(out),
        }
    }
}

/// Appends a document of `values`, and of the key if it belongs inside.
pub(super) fn write_document(
    out: &mut Vec<u8>,
    coding: Coding,
    schema: &Schema,
    key: Option<&[u8]>,
    values: &[FieldValue<'_>],
) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    let fields = values.iter().map(|value| (schema.field_name(value.field), value.bytes));
    let members = key.map(|key| (KEY_MEMBER, key)).into_iter().chain(fields);
    match coding {
        Coding::Hstore => {
            let count = values.len() + usize::from(key.is_some());
            out.extend_from_slice(&(count as u32).to_be_bytes());
            for (name, value) in members {
                hstore::write_string(out, name.as_bytes());
                hstore::write_string(out, value);
            }
        }
        Coding::Json | Coding::Jsonb => {
            if coding == Coding::Jsonb {
                out.push(1);
            }
            document::write_object(out, members);
        }
    }
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postgres::{
        flavour::POSTGRES,
        layout::{HSTORE, JSON, JSONB},
    };

    fn record(body: Body, key: KeyPlace, values: &[(u16, &[u8])]) -> Vec<u8> {
        let schema = Schema::new("t", "f", 2);
        let values: Vec<_> =
            values.iter().map(|&(field, bytes)| FieldValue { field, bytes }).collect();
        let mut out = Vec::new();
        write_record(&mut out, Dialect { flavour: &POSTGRES, body, key }, &schema, b"k", &values);
        out
    }

    #[test]
    fn columns_come_in_the_tables_order_whatever_the_order_given() {
        let expected = b"\0\0\0\x01k\0\0\0\x01a\0\0\0\0";
        let column = KeyPlace::Column;
        assert_eq!(record(Body::Columns, column, &[(0, b"a"), (1, b"")]), expected);
        assert_eq!(record(Body::Columns, column, &[(1, b""), (0, b"a")]), expected);
        let lacking = b"\0\0\0\x01k\0\0\0\x01a\xff\xff\xff\xff";
        assert_eq!(record(Body::Columns, column, &[(0, b"a")]), lacking);
    }

    #[test]
    fn documents_hold_the_key_where_it_belongs() {
        let values: &[(u16, &[u8])] = &[(0, b"a"), (1, b"\"")];
        assert_eq!(
            record(Body::Document(&JSON), KeyPlace::Column, values),
            b"\0\0\0\x01k\0\0\0\x14{\"f0\":\"a\",\"f1\":\"\\\"\"}"
        );
        assert_eq!(
            record(Body::Document(&JSONB), KeyPlace::Document, &[]),
            b"\0\0\0\x11\x01{\"YCSB_KEY\":\"k\"}"
        );
        assert_eq!(record(Body::Document(&JSON), KeyPlace::Column, &[])[5..], *b"\0\0\0\x02{}");
        assert_eq!(
            record(Body::Document(&HSTORE), KeyPlace::Column, &values[..1]),
            b"\0\0\0\x01k\0\0\0\x0f\0\0\0\x01\0\0\0\x02f0\0\0\0\x01a"
        );
    }
}
