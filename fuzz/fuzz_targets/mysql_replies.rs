//! Packets of a MariaDB or MySQL server, well formed or not, to the codec of each layout.

#![no_main]

use arbitrary::Arbitrary;
use assay_fuzz::{Case, check};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Reply<'a> {
    /// How far the packet's number is from the one that is due; 0 nearly always.
    astray: u8,
    payload: Payload<'a>,
}

#[derive(Arbitrary, Debug)]
enum Payload<'a> {
    Ok { rows: u8, status: u8 },
    End { status: u8 },
    Error { code: u16 },
    Prepared { columns: u8, parameters: u8 },
    Count(u8),
    Definition,
    Row(Vec<Option<Column<'a>>>),
    Raw(&'a [u8]),
}

#[derive(Arbitrary, Debug)]
enum Column<'a> {
    Bytes(&'a [u8]),
    /// A JSON object of these members, as the server prints it.
    Json(Vec<(u8, &'a str)>),
}

fn string(bytes: &[u8], out: &mut Vec<u8>) {
    if bytes.len() > 250 {
        out.push(0xfe);
        out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    } else {
        out.push(bytes.len() as u8);
    }
    out.extend_from_slice(bytes);
}

fn column(column: &Column<'_>, out: &mut Vec<u8>) {
    match column {
        Column::Bytes(bytes) => string(bytes, out),
        Column::Json(members) => {
            let members = members
                .iter()
                .map(|(field, value)| (format!("field{field}"), serde_json::Value::from(*value)));
            let object: serde_json::Map<_, _> = members.collect();
            string(serde_json::Value::Object(object).to_string().as_bytes(), out);
        }
    }
}

fn content(payload: &Payload<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    match payload {
        Payload::Ok { rows, status } => out.extend_from_slice(&[0, *rows, 0, *status, 0, 0, 0]),
        Payload::End { status } => out.extend_from_slice(&[0xfe, 0, 0, *status, 0]),
        Payload::Error { code } => {
            out.push(0xff);
            out.extend_from_slice(&code.to_le_bytes());
            out.extend_from_slice(b"#HY000no");
        }
        Payload::Prepared { columns, parameters } => {
            out.extend_from_slice(&[0, 7, 0, 0, 0, *columns, 0, *parameters, 0, 0, 0, 0]);
        }
        Payload::Count(count) => out.push(*count),
        Payload::Definition => out.extend_from_slice(b"\x03def\0\0\0\x01a\x01a\x0c"),
        Payload::Row(columns) => {
            out.resize(1 + (columns.len() + 2).div_ceil(8), 0);
            for (at, value) in (2..).zip(columns) {
                match value {
                    None => out[1 + at / 8] |= 1 << (at % 8),
                    Some(value) => column(value, &mut out),
                }
            }
        }
        Payload::Raw(bytes) => out.extend_from_slice(bytes),
    }
    out
}

fuzz_target!(|case: Case<'_, Reply<'_>>| {
    let layout = ["row", "json"][usize::from(case.layout) % 2];
    // Packets are numbered from 1 on.
    let number = std::cell::Cell::new(0u8);
    check("mariadb", layout, "", &case, |reply, out| {
        number.set(number.get().wrapping_add(1));
        let payload = content(&reply.payload);
        out.extend_from_slice(&(payload.len() as u32).to_le_bytes()[..3]);
        out.push(number.get().wrapping_add(if reply.astray < 250 { 0 } else { 1 }));
        out.extend_from_slice(&payload);
    });
});
