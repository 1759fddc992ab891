//! HTTP replies of a Riak node, well formed or not, to the codec of each layout.

#![no_main]

use arbitrary::Arbitrary;
use assay_fuzz::{Case, check};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

const LAYOUTS: [&str; 3] = ["value", "value-noindex", "strong"];
const STATUS: [u16; 9] = [200, 201, 204, 300, 400, 404, 412, 500, 503];

#[derive(Arbitrary, Debug)]
enum Reply<'a> {
    Whole { status: u8, headers: Vec<Header<'a>>, body: Body<'a> },
    Raw(&'a [u8]),
}

#[derive(Arbitrary, Debug)]
enum Header<'a> {
    Clock(&'a str),
    Close,
    Any(&'a str, &'a str),
}

#[derive(Arbitrary, Debug)]
enum Body<'a> {
    /// The fields of a record.
    Record(Vec<&'a [u8]>),
    Keys {
        keys: Vec<&'a str>,
        continuation: Option<&'a str>,
    },
    /// Entries of an index and their keys.
    Entries {
        entries: Vec<(&'a str, &'a str)>,
        continuation: Option<&'a str>,
    },
    Bytes(&'a [u8]),
    Chunks(Vec<&'a [u8]>),
    None,
}

/// A record as the driver stores it: each field behind its length.
fn framed(fields: &[&[u8]]) -> Vec<u8> {
    let mut record = Vec::new();
    for field in fields {
        let mut length = field.len();
        while length >= 0x80 {
            record.push(length as u8 | 0x80);
            length >>= 7;
        }
        record.push(length as u8);
        record.extend_from_slice(field);
    }
    record
}

fn page(name: &str, content: Value, continuation: &Option<&str>) -> Vec<u8> {
    let mut page = json!({ name: content });
    if let Some(continuation) = continuation {
        page["continuation"] = json!(continuation);
    }
    page.to_string().into_bytes()
}

fuzz_target!(|case: Case<'_, Reply<'_>>| {
    let layout = LAYOUTS[usize::from(case.layout) % LAYOUTS.len()];
    check("riak", layout, "", &case, |reply, out| {
        let (status, headers, body) = match reply {
            Reply::Whole { status, headers, body } => (status, headers, body),
            Reply::Raw(bytes) => return out.extend_from_slice(bytes),
        };
        let status = STATUS[usize::from(*status) % STATUS.len()];
        out.extend_from_slice(format!("HTTP/1.1 {status} So\r\n").as_bytes());
        for header in headers {
            let (name, value) = match header {
                Header::Clock(clock) => ("X-Riak-Vclock", *clock),
                Header::Close => ("Connection", "close"),
                Header::Any(name, value) => (*name, *value),
            };
            let line = format!("{name}: {value}").replace(['\r', '\n'], " ");
            out.extend_from_slice(format!("{line}\r\n").as_bytes());
        }
        let whole = match body {
            Body::Record(fields) => framed(fields),
            Body::Keys { keys, continuation } => page("keys", json!(keys), continuation),
            Body::Entries { entries, continuation } => {
                let result = |(entry, key): &(&str, &str)| json!({ (*entry).to_owned(): key });
                let results: Vec<Value> = entries.iter().map(result).collect();
                page("results", json!(results), continuation)
            }
            Body::Bytes(bytes) => bytes.to_vec(),
            Body::None => return out.extend_from_slice(b"\r\n"),
            Body::Chunks(chunks) => {
                out.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
                for chunk in chunks.iter().filter(|chunk| !chunk.is_empty()) {
                    out.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                    out.extend_from_slice(chunk);
                    out.extend_from_slice(b"\r\n");
                }
                return out.extend_from_slice(b"0\r\n\r\n");
            }
        };
        out.extend_from_slice(format!("Content-Length: {}\r\n\r\n", whole.len()).as_bytes());
        out.extend_from_slice(&whole);
    });
});
