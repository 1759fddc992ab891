//! Messages of a server that speaks MongoDB's protocol, well formed or not, to the codec of each layout.

#![no_main]

use arbitrary::Arbitrary;
use assay_fuzz::{Case, check};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Reply<'a> {
    /// How far the number of the message that it answers is from the one that is due; 0 nearly always.
    astray: u8,
    /// Whether it ends in `ok: 1`; otherwise in `ok: 0`.
    ok: bool,
    content: Content<'a>,
}

#[derive(Arbitrary, Debug)]
enum Content<'a> {
    Batch {
        next: bool,
        cursor: u8,
        rows: Vec<Row<'a>>,
    },
    Written {
        count: u8,
    },
    WriteError {
        code: u16,
    },
    ConcernError {
        code: u16,
    },
    Error {
        code: u16,
    },
    /// The inside of a document.
    Elements(&'a [u8]),
    /// A message without its header.
    Raw(&'a [u8]),
}

#[derive(Arbitrary, Debug)]
struct Row<'a> {
    /// `None`: the key comes last.
    first: Option<u8>,
    key: &'a [u8],
    fields: Vec<(u8, bool, &'a [u8])>,
}

fn document(inside: &[u8]) -> Vec<u8> {
    let mut out = (inside.len() as u32 + 5).to_le_bytes().to_vec();
    out.extend_from_slice(inside);
    out.push(0);
    out
}

fn element(kind: u8, name: &str, value: &[u8]) -> Vec<u8> {
    [&[kind], name.as_bytes(), b"\0", value].concat()
}

fn string(name: &str, text: &[u8]) -> Vec<u8> {
    let length = (text.len() as u32 + 1).to_le_bytes();
    element(2, name, &[&length, text, b"\0"].concat())
}

fn field(binary: bool, name: &str, bytes: &[u8]) -> Vec<u8> {
    if !binary {
        return string(name, bytes);
    }
    let length = (bytes.len() as u32).to_le_bytes();
    element(5, name, &[&length, &b"\0"[..], bytes].concat())
}

fn row(row: &Row<'_>) -> Vec<u8> {
    let key = string("_id", row.key);
    let fields = row.fields.iter();
    let fields: Vec<u8> = fields
        .flat_map(|(at, binary, bytes)| field(*binary, &format!("field{at}"), bytes))
        .collect();
    document(&if row.first.is_some() { [key, fields].concat() } else { [fields, key].concat() })
}

fn number(name: &str, number: u32) -> Vec<u8> {
    element(0x10, name, &number.to_le_bytes())
}

fn error(code: u16) -> Vec<u8> {
    [number("code", code.into()), string("errmsg", b"no")].concat()
}

fn inside(content: &Content<'_>) -> Vec<u8> {
    match content {
        Content::Batch { next, cursor, rows } => {
            let rows = rows.iter().enumerate();
            let rows: Vec<u8> =
                rows.flat_map(|(at, one)| element(3, &at.to_string(), &row(one))).collect();
            let name = if *next { "nextBatch" } else { "firstBatch" };
            let batch = element(4, name, &document(&rows));
            let id = element(0x12, "id", &u64::from(*cursor).to_le_bytes());
            element(3, "cursor", &document(&[batch, id].concat()))
        }
        Content::Written { count } => number("n", (*count).into()),
        Content::WriteError { code } => {
            let errors = element(3, "0", &document(&error(*code)));
            [number("n", 0), element(4, "writeErrors", &document(&errors))].concat()
        }
        Content::ConcernError { code } => {
            [number("n", 1), element(3, "writeConcernError", &document(&error(*code)))].concat()
        }
        Content::Error { code } => error(*code),
        Content::Elements(bytes) | Content::Raw(bytes) => bytes.to_vec(),
    }
}

fuzz_target!(|case: Case<'_, Reply<'_>>| {
    let layout = ["document", "binary"][usize::from(case.layout) % 2];
    // Messages are numbered from 1 on.
    let answered = std::cell::Cell::new(0i32);
    check("mongodb", layout, "", &case, |reply, out| {
        answered.set(answered.get() + 1);
        let body = match &reply.content {
            Content::Raw(bytes) => bytes.to_vec(),
            content => {
                let ok = if reply.ok { 1.0f64 } else { 0.0 };
                let ok = element(1, "ok", &ok.to_le_bytes());
                let body = document(&[inside(content), ok].concat());
                [&[0; 5][..], &body].concat()
            }
        };
        out.extend_from_slice(&(body.len() as u32 + 16).to_le_bytes());
        out.extend_from_slice(&7i32.to_le_bytes());
        let number = answered.get() + i32::from(reply.astray >= 250);
        out.extend_from_slice(&number.to_le_bytes());
        out.extend_from_slice(&2013i32.to_le_bytes());
        out.extend_from_slice(&body);
    });
});
