//! Replies of the nodes of a Redis Cluster, well formed or not, and the ends of their connections, to the
//! codec of a client of three.

#![no_main]

use arbitrary::Arbitrary;
use assay_fuzz::{Case, check};
use libfuzzer_sys::fuzz_target;

const LAYOUTS: [&str; 3] = ["hash", "hash-noindex", "string"];

#[derive(Arbitrary, Debug)]
struct Frame<'a> {
    node: u8,
    content: Content<'a>,
}

#[derive(Arbitrary, Debug)]
enum Content<'a> {
    Bulk(&'a [u8]),
    Integer(u8),
    Array(u8),
    Null,
    Status,
    Moved(u16, u8),
    Ask(u16, u8),
    NoScript,
    Error(&'a str),
    /// A map of slots in which one node has all.
    Map(u8),
    /// The connection is gone.
    Lost,
    Raw(&'a [u8]),
}

fn bytes(content: &Content<'_>) -> Vec<u8> {
    match content {
        Content::Bulk(bytes) => {
            [format!("${}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
        }
        Content::Integer(number) => format!(":{number}\r\n").into(),
        Content::Array(length) => format!("*{length}\r\n").into(),
        Content::Null => b"$-1\r\n".to_vec(),
        Content::Status => b"+OK\r\n".to_vec(),
        Content::Moved(slot, port) => format!("-MOVED {slot} 127.0.0.1:{port}\r\n").into(),
        Content::Ask(slot, port) => format!("-ASK {slot} 127.0.0.1:{port}\r\n").into(),
        Content::NoScript => b"-NOSCRIPT No matching script.\r\n".to_vec(),
        Content::Error(text) => format!("-ERR {}\r\n", text.replace(['\r', '\n'], " ")).into(),
        Content::Map(port) => {
            format!("*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:{port}\r\n").into()
        }
        Content::Lost => b"gone".to_vec(),
        Content::Raw(bytes) => bytes.to_vec(),
    }
}

fuzz_target!(|case: Case<'_, Frame<'_>>| {
    let layout = LAYOUTS[usize::from(case.layout) % LAYOUTS.len()];
    check("redis-cluster", layout, "", &case, |frame, out| {
        let content = bytes(&frame.content);
        out.push(u8::from(matches!(frame.content, Content::Lost)));
        out.extend_from_slice(&u16::from(frame.node % 5).to_le_bytes());
        out.extend_from_slice(&(content.len() as u32).to_le_bytes());
        out.extend_from_slice(&content);
    });
});
