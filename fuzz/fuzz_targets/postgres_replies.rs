//! Messages of a PostgreSQL server, well formed or not, to the codec of each layout.

#![no_main]

use arbitrary::Arbitrary;
use assay_fuzz::{Case, check};
use libfuzzer_sys::fuzz_target;

const LAYOUTS: [(&str, &str); 7] = [
    ("row", "column"),
    ("hstore", "column"),
    ("hstore", "document"),
    ("jsonb", "column"),
    ("jsonb", "document"),
    ("json", "column"),
    ("json", "document"),
];

#[derive(Arbitrary, Debug)]
enum Reply<'a> {
    Bound,
    Parsed,
    Ready,
    Row(Vec<Option<Column<'a>>>),
    Completed { command: bool, rows: u8 },
    Error { severity: u8, code: [u8; 5] },
    Message { tag: u8, body: &'a [u8] },
    Raw(&'a [u8]),
}

#[derive(Arbitrary, Debug)]
enum Column<'a> {
    Bytes(&'a [u8]),
    /// A JSON object of these members, as the server prints it.
    Json(Vec<(Name<'a>, &'a str)>),
    /// A binary hstore of these members.
    Hstore(Vec<(Name<'a>, &'a [u8])>),
}

#[derive(Arbitrary, Debug)]
enum Name<'a> {
    Field(u8),
    Key,
    Other(&'a str),
}

impl Name<'_> {
    fn text(&self) -> String {
        match self {
            Name::Field(field) => format!("field{field}"),
            Name::Key => "YCSB_KEY".into(),
            Name::Other(other) => (*other).into(),
        }
    }
}

fn message(tag: u8, body: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    out.extend_from_slice(body);
}

fn counted(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    out.extend_from_slice(bytes);
}

fn column(column: &Column<'_>, out: &mut Vec<u8>) {
    match column {
        Column::Bytes(bytes) => counted(bytes, out),
        Column::Json(members) => {
            let mut object = serde_json::Map::new();
            for (name, value) in members {
                object.insert(name.text(), (*value).into());
            }
            counted(serde_json::Value::Object(object).to_string().as_bytes(), out);
        }
        Column::Hstore(members) => {
            let mut document = (members.len() as u32).to_be_bytes().to_vec();
            for (name, value) in members {
                counted(name.text().as_bytes(), &mut document);
                counted(value, &mut document);
            }
            counted(&document, out);
        }
    }
}

fn append(reply: &Reply<'_>, out: &mut Vec<u8>) {
    match reply {
        Reply::Bound => message(b'2', b"", out),
        Reply::Parsed => message(b'1', b"", out),
        Reply::Ready => message(b'Z', b"I", out),
        Reply::Row(columns) => {
            let mut body = (columns.len() as u16).to_be_bytes().to_vec();
            for value in columns {
                match value {
                    None => body.extend_from_slice(&(-1i32).to_be_bytes()),
                    Some(value) => column(value, &mut body),
                }
            }
            message(b'D', &body, out);
        }
        Reply::Completed { command, rows } => {
            let command = if *command { "SELECT" } else { "UPDATE" };
            message(b'C', format!("{command} {rows}\0").as_bytes(), out);
        }
        Reply::Error { severity, code } => {
            let severity = ["ERROR", "FATAL", "PANIC"][usize::from(*severity) % 3];
            let code: String = code.iter().map(|byte| char::from(b'0' + byte % 10)).collect();
            message(b'E', format!("V{severity}\0C{code}\0Mno\0\0").as_bytes(), out);
        }
        Reply::Message { tag, body } => message(*tag, body, out),
        Reply::Raw(bytes) => out.extend_from_slice(bytes),
    }
}

fuzz_target!(|case: Case<'_, Reply<'_>>| {
    let (layout, key) = LAYOUTS[usize::from(case.layout) % LAYOUTS.len()];
    check("postgres", layout, key, &case, append);
});
