//! Replies of a Redis server, well formed or not, to the codecs of each layout.

#![no_main]

use std::io::Write;

use arbitrary::Arbitrary;
use assay_fuzz::{Case, check};
use libfuzzer_sys::fuzz_target;

const LAYOUTS: [&str; 3] = ["hash", "hash-noindex", "string"];

#[derive(Arbitrary, Debug)]
enum Reply<'a> {
    Bulk(&'a [u8]),
    /// The name of a field.
    Name(u8),
    /// A record of the layout `string`: the lengths and bytes of two fields.
    Framed([&'a [u8]; 2]),
    Integer(i64),
    Count(u8),
    Array(u8),
    HugeArray(u64),
    Null,
    Status,
    Error(&'a str),
    Raw(&'a [u8]),
}

fn append(reply: &Reply<'_>, out: &mut Vec<u8>) {
    let bulk = |bytes: &[u8], out: &mut Vec<u8>| {
        write!(out, "${}\r\n", bytes.len())?;
        out.write_all(bytes)?;
        out.write_all(b"\r\n")
    };
    match reply {
        Reply::Bulk(bytes) => bulk(bytes, out),
        Reply::Name(field) => bulk(format!("field{field}").as_bytes(), out),
        Reply::Framed(fields) => {
            let mut record = Vec::new();
            for field in fields {
                record.push(field.len() as u8 & 0x7f);
                record.extend_from_slice(field);
            }
            bulk(&record, out)
        }
        Reply::Integer(number) => write!(out, ":{number}\r\n"),
        Reply::Count(number) => write!(out, ":{number}\r\n"),
        Reply::Array(length) => write!(out, "*{length}\r\n"),
        Reply::HugeArray(length) => write!(out, "*{length}\r\n"),
        Reply::Null => out.write_all(b"$-1\r\n"),
        Reply::Status => out.write_all(b"+OK\r\n"),
        Reply::Error(text) => write!(out, "-ERR {}\r\n", text.replace(['\r', '\n'], " ")),
        Reply::Raw(bytes) => out.write_all(bytes),
    }
    .expect("a buffer takes everything");
}

fuzz_target!(|case: Case<'_, Reply<'_>>| {
    let layout = LAYOUTS[usize::from(case.layout) % LAYOUTS.len()];
    check("redis", layout, "", &case, append);
});
