//! Messages of an Aerospike node, well formed or not, to the codec.

#![no_main]

use arbitrary::Arbitrary;
use assay_fuzz::{Case, check};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
enum Reply<'a> {
    Record {
        code: u8,
        fields: Vec<&'a [u8]>,
        bins: Vec<Bin<'a>>,
        miscount: u8,
    },
    /// A message of this version and kind.
    Other(u8, u8, &'a [u8]),
    Raw(&'a [u8]),
}

#[derive(Arbitrary, Debug)]
struct Bin<'a> {
    /// The number of the field; `None` for another name.
    field: Option<u8>,
    kind: u8,
    value: &'a [u8],
}

fn sized(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u32).to_be_bytes()[..], bytes].concat()
}

fn record(code: u8, fields: &[&[u8]], bins: &[Bin<'_>], miscount: u8) -> Vec<u8> {
    let mut body = vec![22, 0, 0, 0, 0, code];
    body.extend_from_slice(&[0; 12]);
    body.extend_from_slice(&(fields.len() as u16).to_be_bytes());
    let extra = u16::from(miscount >= 250);
    body.extend_from_slice(&(bins.len() as u16 + extra).to_be_bytes());
    fields.iter().for_each(|field| body.extend(sized(field)));
    for bin in bins {
        let name = bin.field.map_or("another".to_owned(), |field| format!("field{field}"));
        let kind = if bin.kind < 200 { 4 } else { bin.kind };
        let head = [1, kind, 0, name.len() as u8];
        body.extend(sized(&[&head, name.as_bytes(), bin.value].concat()));
    }
    body
}

fuzz_target!(|case: Case<'_, Reply<'_>>| {
    check("aerospike", "bins", "", &case, |reply, out| {
        let (version, kind, body) = match reply {
            Reply::Record { code, fields, bins, miscount } => {
                // Most are of records that are there.
                let code = if *code < 128 { 0 } else { code - 128 };
                (2, 3, record(code, fields, bins, *miscount))
            }
            Reply::Other(version, kind, body) => (*version, *kind, body.to_vec()),
            Reply::Raw(bytes) => return out.extend_from_slice(bytes),
        };
        out.extend_from_slice(&[version, kind]);
        out.extend_from_slice(&(body.len() as u64).to_be_bytes()[2..]);
        out.extend_from_slice(&body);
    });
});
