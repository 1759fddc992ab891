//! Replies of a Memcached server, well formed or not, to its codec.

#![no_main]

use std::io::Write;

use arbitrary::Arbitrary;
use assay_fuzz::{Case, check};
use libfuzzer_sys::fuzz_target;

const LINES: [&str; 8] =
    ["HD", "EN", "NF", "NS", "EX", "MN", "SERVER_ERROR out of memory", "CLIENT_ERROR bad data"];

#[derive(Arbitrary, Debug)]
enum Reply<'a> {
    /// A record: the bytes of each field.
    Record {
        fields: Vec<&'a [u8]>,
        cas: Option<u64>,
    },
    Value {
        bytes: &'a [u8],
        cas: Option<u64>,
    },
    Line(u8),
    Raw(&'a [u8]),
}

fn append(reply: &Reply<'_>, out: &mut Vec<u8>) {
    let mut record = Vec::new();
    let (bytes, cas) = match reply {
        Reply::Line(line) => {
            out.extend_from_slice(LINES[usize::from(*line) % LINES.len()].as_bytes());
            return out.extend_from_slice(b"\r\n");
        }
        Reply::Raw(bytes) => return out.extend_from_slice(bytes),
        Reply::Value { bytes, cas } => (*bytes, cas),
        Reply::Record { fields, cas } => {
            for field in fields {
                if field.len() >= 0x80 {
                    record.push(field.len() as u8 | 0x80);
                }
                record.push((field.len() >> if field.len() >= 0x80 { 7 } else { 0 }) as u8 & 0x7f);
                record.extend_from_slice(field);
            }
            (&record[..], cas)
        }
    };
    write!(out, "VA {}", bytes.len()).expect("a buffer takes everything");
    if let Some(cas) = cas {
        write!(out, " c{cas}").expect("a buffer takes everything");
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

fuzz_target!(|case: Case<'_, Reply<'_>>| check("memcached", "value", "", &case, append));
