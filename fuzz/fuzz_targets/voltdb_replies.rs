//! Responses of a VoltDB, well formed or not, to the codec of each layout.

#![no_main]

use arbitrary::Arbitrary;
use assay_fuzz::{Case, check};
use libfuzzer_sys::fuzz_target;

/// VARBINARY, BIGINT, INTEGER, DECIMAL, FLOAT, and none.
const TYPES: [u8; 6] = [25, 6, 5, 22, 8, 99];

#[derive(Arbitrary, Debug)]
enum Reply<'a> {
    /// A table: the number of each column's type, and rows of values.
    Table {
        types: Vec<u8>,
        rows: Vec<Vec<&'a [u8]>>,
    },
    /// Rows of VARBINARY as a table of the driver's has them.
    Records {
        columns: u8,
        values: Vec<Option<&'a [u8]>>,
    },
    Changed(u8),
    Failure {
        status: u8,
        text: &'a str,
    },
    /// A message without its length.
    Message(&'a [u8]),
    Raw(&'a [u8]),
}

fn framed(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u32).to_be_bytes()[..], bytes].concat()
}

fn table(types: &[u8], rows: &[Vec<u8>]) -> Vec<u8> {
    let mut header = vec![0x80];
    header.extend_from_slice(&(types.len() as u16).to_be_bytes());
    header.extend_from_slice(types);
    types.iter().for_each(|_| header.extend_from_slice(&framed(b"X")));
    let mut table = framed(&header);
    table.extend_from_slice(&(rows.len() as u32).to_be_bytes());
    rows.iter().for_each(|row| table.extend_from_slice(&framed(row)));
    [b"\0\0\0\0\0\0\0\0\x01\0\x01\x80\0\0\0\0\0\x01", &framed(&table)[..]].concat()
}

fn append(reply: &Reply<'_>, out: &mut Vec<u8>) {
    let message = match reply {
        Reply::Table { types, rows } => {
            let types: Vec<u8> =
                types.iter().map(|&kind| TYPES[usize::from(kind) % TYPES.len()]).collect();
            let rows: Vec<Vec<u8>> = rows.iter().map(|row| row.concat()).collect();
            table(&types, &rows)
        }
        Reply::Records { columns, values } => {
            let columns = usize::from(*columns % 12).max(1);
            let value = |value: &Option<&[u8]>| match value {
                Some(bytes) => framed(bytes),
                None => vec![0xff; 4],
            };
            let rows: Vec<Vec<u8>> = values
                .chunks_exact(columns)
                .map(|row| row.iter().flat_map(value).collect())
                .collect();
            table(&vec![25; columns], &rows)
        }
        Reply::Changed(count) => table(&[6], &[vec![0, 0, 0, 0, 0, 0, 0, *count]]),
        Reply::Failure { status, text } => {
            let head = [b"\0\0\0\0\0\0\0\0\x01\x20", &[*status][..]].concat();
            [&head[..], &framed(text.as_bytes()), b"\x80\0\0\0\0\0\0"].concat()
        }
        Reply::Message(bytes) => bytes.to_vec(),
        Reply::Raw(bytes) => return out.extend_from_slice(bytes),
    };
    out.extend_from_slice(&framed(&message));
}

fuzz_target!(|case: Case<'_, Reply<'_>>| {
    let layout = ["partitioned", "replicated"][usize::from(case.layout) % 2];
    check("voltdb", layout, "", &case, append);
});
