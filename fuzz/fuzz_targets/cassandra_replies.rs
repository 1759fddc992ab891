//! Frames of a Cassandra server, well formed or not, to the codec of each layout.

#![no_main]

use arbitrary::Arbitrary;
use assay_fuzz::{Case, check};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Reply<'a> {
    /// How far the frame's version and number are from those that are due; 0 nearly always.
    astray: u8,
    /// Flags; 0 nearly always.
    flags: u8,
    message: Message<'a>,
}

#[derive(Arbitrary, Debug)]
enum Message<'a> {
    Void,
    Supported,
    Error {
        code: u8,
        words: &'a str,
    },
    Prepared {
        length: bool,
    },
    /// Rows of `columns` columns, described or not.
    Rows {
        described: bool,
        columns: u8,
        values: Vec<Option<&'a [u8]>>,
    },
    /// What a condition's reply tells.
    Applied(u8),
    Raw {
        opcode: u8,
        body: &'a [u8],
    },
}

const ERROR: u8 = 0x00;
const SUPPORTED: u8 = 0x06;
const RESULT: u8 = 0x08;

fn value(bytes: Option<&[u8]>, out: &mut Vec<u8>) {
    match bytes {
        Some(bytes) => {
            out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
            out.extend_from_slice(bytes);
        }
        None => out.extend_from_slice(&[0xff; 4]),
    }
}

fn rows(described: bool, columns: u8, kind: u8, values: &[Option<&[u8]>]) -> Vec<u8> {
    let flags = if described { 1 } else { 4 };
    let mut body = [2, flags, u32::from(columns)].map(u32::to_be_bytes).concat();
    if described {
        body.extend_from_slice(b"\0\x02ks\0\x01t");
        for _ in 0..columns {
            body.extend_from_slice(&[0, 1, b'c', 0, kind]);
        }
    }
    let count = values.len() as u32 / u32::from(columns.max(1));
    body.extend_from_slice(&count.to_be_bytes());
    values.iter().for_each(|one| value(*one, &mut body));
    body
}

fn message(message: &Message<'_>) -> (u8, Vec<u8>) {
    match message {
        Message::Void => (RESULT, 1_u32.to_be_bytes().to_vec()),
        Message::Supported => (SUPPORTED, vec![0, 0]),
        Message::Error { code, words } => {
            const CODES: [u32; 6] = [0x1000, 0x1001, 0x1100, 0x1200, 0x2200, 0x2500];
            let code = CODES[usize::from(*code) % CODES.len()];
            let words = &words.as_bytes()[..words.len().min(60_000)];
            let mut body = code.to_be_bytes().to_vec();
            body.extend_from_slice(&(words.len() as u16).to_be_bytes());
            body.extend_from_slice(words);
            (ERROR, body)
        }
        Message::Prepared { length } => {
            let length = if *length { 16 } else { 3 };
            let mut body = vec![0, 0, 0, 4, 0, length];
            body.resize(6 + usize::from(length), 7);
            (RESULT, body)
        }
        Message::Rows { described, columns, values } => {
            (RESULT, rows(*described, *columns, 3, values))
        }
        Message::Applied(applied) => (RESULT, rows(true, 1, 4, &[Some(&[*applied])])),
        Message::Raw { opcode, body } => (*opcode, body.to_vec()),
    }
}

fuzz_target!(|case: Case<'_, Reply<'_>>| {
    let layout = ["row", "ordered", "checked"][usize::from(case.layout) % 3];
    check("cassandra", layout, "", &case, |reply, out| {
        let (opcode, body) = message(&reply.message);
        let astray = u8::from(reply.astray > 250);
        let flags = if reply.flags < 200 { 0 } else { reply.flags };
        out.extend_from_slice(&[0x84 ^ astray, flags, 0, astray, opcode]);
        out.extend_from_slice(&(body.len() as u32).to_be_bytes());
        out.extend_from_slice(&body);
    });
});
