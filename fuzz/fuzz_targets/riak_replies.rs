//! HTTP replies of a Riak node, well formed or not, to the codec of each layout.

#![no_main]

use arbitrary::Arbitrary;
use assay_fuzz::{Case, check};
use libfuzzer_sys::fuzz_target;

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
    /// The fields of a record by number.
    Record(Vec<(u8, &'a str)>),
    Keys(Vec<&'a str>),
    Bytes(&'a [u8]),
    Chunks(Vec<&'a [u8]>),
    None,
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
            Body::Record(fields) => {
                let fields: serde_json::Map<String, serde_json::Value> = fields
                    .iter()
                    .map(|(at, text)| (format!("field{at}"), (*text).into()))
                    .collect();
                serde_json::Value::from(fields).to_string().into_bytes()
            }
            Body::Keys(keys) => serde_json::json!({ "keys": keys }).to_string().into_bytes(),
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
