//! The codec on recorded replies.

use std::sync::Arc;

use assay_model::{FailureKind, FieldValue, Fields, Operation, Outcome, Schema};
use proptest::prelude::*;

use crate::{
    Codec,
    replay::{
        Replayed,
        pieces::{almost_replies, cuts, replay_cut, replay_every_split, row},
        replay,
    },
};

fn codec(layout: &str) -> Box<dyn Codec> {
    super::codec(layout, Arc::new(Schema::new("t", "field", 2).with_indexes(1)))
}

fn split(layout: &str, operation: Operation<'_>, replies: &[u8]) -> Replayed {
    replay_every_split(|| codec(layout), &operation, replies)
}

fn values<'a>() -> [FieldValue<'a>; 2] {
    [FieldValue { field: 0, bytes: b"v0" }, FieldValue { field: 1, bytes: b"" }]
}

/// As a node of 3.2 answered.
const RECORD: &[u8] = b"HTTP/1.1 200 OK\r\n\
    X-Riak-Vclock: a85hYGBgzGDKBVI8ypz/fs69d3UpRCiRMY+VQTWm/AlfFgA=\r\n\
    x-riak-index-i0_bin: =v0\r\n\
    Vary: Accept-Encoding\r\n\
    Server: MochiWeb/3.1.1 WebMachine/1.0.0 (greased slide to failure)\r\n\
    Link: </buckets/t>; rel=\"up\"\r\n\
    Last-Modified: Sun, 22 Nov 2026 12:29:25 GMT\r\n\
    ETag: \"1iAY5WHwr5gNVNuWVPZ9aN\"\r\n\
    Date: Sun, 22 Nov 2026 12:29:26 GMT\r\n\
    Content-Type: application/octet-stream\r\n\
    Content-Length: 6\r\n\r\n\x02v0\x02v1";
const DONE: &[u8] = b"HTTP/1.1 204 No Content\r\nVary: Accept-Encoding\r\n\
    Content-Type: application/octet-stream\r\n\r\n";
const MISSING: &[u8] = b"HTTP/1.1 404 Object Not Found\r\nContent-Type: text/plain\r\n\
    Content-Length: 10\r\n\r\nnot found\n";
const CHANGED: &[u8] = b"HTTP/1.1 412 Precondition Failed\r\nContent-Length: 6\r\n\r\n<html>";
const UNAVAILABLE: &[u8] = b"HTTP/1.1 500 Internal Server Error\r\nContent-Type: text/plain\r\n\
    Content-Length: 19\r\n\r\nError:\nunavailable\n";
const SIBLINGS: &[u8] = b"HTTP/1.1 300 Multiple Choices\r\nContent-Type: text/plain\r\n\
    Content-Length: 56\r\n\r\nSiblings:\n16vic4eU9ny46o4KPiDz1f\n4v5xOg4bVwUYZdMkqf0d6I\n";

const READ: Operation<'_> = Operation::Read { key: b"k", fields: Fields::All };
const TAIL: &str = " HTTP/1.1\r\nHost: 127.0.0.1:8098\r\n";

fn page(json: &str) -> Vec<u8> {
    let length = json.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{json}"
    )
    .into_bytes()
}

fn get(target: &str) -> String {
    format!("GET /types/default/buckets/t/{target}{TAIL}\r\n")
}

#[test]
fn a_record_is_read_from_any_pieces() {
    let read = split("value", READ, RECORD);
    assert_eq!(String::from_utf8(read.requests).unwrap(), get("keys/k"));
    assert_eq!(read.outcome, Some(Outcome::Done));
    assert_eq!(read.rows, [row(b"k", &[(0, b"v0"), (1, b"v1")])]);
    let one = Operation::Read { key: b"a b/c", fields: Fields::One(1) };
    let read = split("value", one, RECORD);
    assert_eq!(String::from_utf8(read.requests).unwrap(), get("keys/a%2120b%2fc"));
    assert_eq!(read.rows, [row(b"a b/c", &[(1, b"v1")])]);
}

#[test]
fn an_insert_carries_the_entries_of_its_indexes() {
    let insert = Operation::Insert { key: b"k", values: &values() };
    let put = |headers: &str| {
        format!(
            "PUT /types/default/buckets/t/keys/k{TAIL}Content-Type: application/octet-stream\r\n\
             Content-Length: 4\r\n{headers}\r\n\u{2}v0\0"
        )
    };
    for (layout, headers) in [("value", "x-riak-index-i0_bin: =v0\r\n"), ("value-noindex", "")] {
        let stored = split(layout, insert, DONE);
        assert_eq!(String::from_utf8(stored.requests).unwrap(), put(headers));
        assert_eq!(stored.outcome, Some(Outcome::Done));
    }
    let update = Operation::Update { key: b"k", values: &values() };
    let stored = split("value-noindex", update, DONE);
    assert_eq!(String::from_utf8(stored.requests).unwrap(), put("If-Match: *\r\n"));
}

#[test]
fn an_update_of_some_fields_writes_the_record_back_after_its_vector_clock() {
    let some = Operation::Update { key: b"k", values: &values()[..1] };
    for layout in ["value-noindex", "strong"] {
        let updated = split(layout, some, &[RECORD, DONE].concat());
        assert_eq!(updated.outcome, Some(Outcome::Done));
        let requests = String::from_utf8(updated.requests).unwrap();
        let (first, second) = requests.split_at(requests.find("PUT").unwrap());
        assert!(first.starts_with("GET ") && first.ends_with("\r\n\r\n"), "{first}");
        let clock = "X-Riak-Vclock: a85hYGBgzGDKBVI8ypz/fs69d3UpRCiRMY+VQTWm/AlfFgA=\r\n";
        assert!(second.contains(clock) && second.ends_with("\r\n\r\n\u{2}v0\u{2}v1"), "{second}");
    }
    // With strong consistency every update and delete needs the vector clock.
    let update = Operation::Update { key: b"k", values: &values() };
    for operation in [update, some, Operation::Delete { key: b"k" }] {
        let done = split("strong", operation, &[RECORD, DONE].concat());
        assert_eq!(done.outcome, Some(Outcome::Done));
        let lost = split("strong", operation, &[RECORD, CHANGED].concat());
        assert_eq!(lost.outcome.unwrap().failure_kind(), Some(FailureKind::Conflict));
    }
}

#[test]
fn a_miss_is_a_missing_record() {
    let update = Operation::Update { key: b"k", values: &values() };
    let some = Operation::Update { key: b"k", values: &values()[..1] };
    let delete = Operation::Delete { key: b"k" };
    for (layout, operation, reply) in [
        ("value", READ, MISSING),
        ("value", update, CHANGED),
        ("value", some, MISSING),
        ("value", delete, MISSING),
        ("strong", update, MISSING),
        ("strong", delete, MISSING),
    ] {
        assert_eq!(
            split(layout, operation, reply).outcome,
            Some(Outcome::Missing),
            "{operation:?}"
        );
    }
}

#[test]
fn failures_are_told_by_kind() {
    let insert = Operation::Insert { key: b"k", values: &values() };
    for (layout, operation, reply, kind) in [
        ("value", READ, UNAVAILABLE, FailureKind::Rejected),
        ("value", READ, SIBLINGS, FailureKind::Conflict),
        ("strong", insert, CHANGED, FailureKind::Conflict),
        ("value", READ, b"+PONG\r\n\r\n", FailureKind::Protocol),
        ("value", READ, DONE, FailureKind::Protocol),
    ] {
        let outcome = split(layout, operation, reply).outcome.unwrap();
        assert_eq!(outcome.failure_kind(), Some(kind), "{outcome:?}");
    }
    let closing = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    let closed = split("value", READ, closing);
    assert!(closed.broken);
    assert_eq!(closed.outcome.unwrap().failure_kind(), Some(FailureKind::Rejected));
}

#[test]
fn a_scan_reads_the_keys_and_then_their_records() {
    let scan = Operation::Scan { start: b"k", limit: 3, fields: Fields::One(0) };
    // The second of them was deleted, so one more is asked for.
    let first = page(r#"{"keys":["k1","k2","k3"],"continuation":"g20AAAACazM="}"#);
    let second = page(r#"{"keys":["k4"]}"#);
    let replies = [&first[..], RECORD, MISSING, RECORD, &second, RECORD].concat();
    let scanned = split("value", scan, &replies);
    assert_eq!(scanned.outcome, Some(Outcome::Done));
    let keys: Vec<&[u8]> = scanned.rows.iter().map(|row| &row.0[..]).collect();
    assert_eq!(keys, [b"k1", b"k3", b"k4"]);
    let query = "index/%24key/k/~~?max_results=";
    let requests = [
        get(&format!("{query}3")),
        get("keys/k1"),
        get("keys/k2"),
        get("keys/k3"),
        get(&format!("{query}1&continuation=g20AAAACazM%3d")),
        get("keys/k4"),
    ];
    assert_eq!(String::from_utf8(scanned.requests).unwrap(), requests.concat());
    for layout in ["value-noindex", "strong"] {
        let refused = split(layout, scan, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK");
        assert_eq!(refused.outcome.unwrap().failure_kind(), Some(FailureKind::Rejected));
    }
}

#[test]
fn a_lookup_leaves_out_what_has_got_another_value() {
    let lookup =
        Operation::Lookup { field: 0, from: b"", to: Some(b"v0"), limit: 2, fields: Fields::All };
    let found = page(r#"{"results":[{"=u":"k1"},{"=v0":"k2"}]}"#);
    let looked = split("value", lookup, &[&found, RECORD, RECORD].concat());
    assert_eq!(looked.outcome, Some(Outcome::Done));
    assert_eq!(looked.rows, [row(b"k2", &[(0, b"v0"), (1, b"v1")])]);
    let query = get("index/i0_bin/%3d/%3dv0?return_terms=true&max_results=2");
    let requests = [query, get("keys/k1"), get("keys/k2")].concat();
    assert_eq!(String::from_utf8(looked.requests).unwrap(), requests);
    let none = split("value", lookup, &page(r#"{"results":[]}"#));
    assert_eq!(none.outcome, Some(Outcome::Missing));
}

#[test]
fn a_failed_record_of_a_scan_is_told_when_all_have_come() {
    let scan = Operation::Scan { start: b"", limit: 3, fields: Fields::All };
    let keys = page(r#"{"keys":["k1","k2","k3"]}"#);
    let scanned = split("value", scan, &[&keys, UNAVAILABLE, RECORD, RECORD].concat());
    assert_eq!(scanned.outcome.unwrap().failure_kind(), Some(FailureKind::Rejected));
    assert!(scanned.left.is_empty());
}

proptest! {
    #[test]
    fn random_replies_come_to_the_same_in_pieces(
        replies in almost_replies(&[
            RECORD, DONE, MISSING, CHANGED, UNAVAILABLE, b"HTTP/1.1 200 OK\r\n", b"\r\n",
            b"Content-Length: 2\r\n\r\n{}", b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\n{\"keys\":[\"a\",\"b\"]}",
        ]),
        cuts in cuts(),
        which in 0usize..4,
    ) {
        let values = values();
        let operation = [
            READ,
            Operation::Update { key: b"k", values: &values[..1] },
            Operation::Scan { start: b"a", limit: 2, fields: Fields::All },
            Operation::Insert { key: b"k", values: &values },
        ][which];
        replay_cut(|| codec("value"), &operation, &replies, &cuts);
        let _ = replay(&mut *codec("strong"), &operation, &replies, []);
    }
}
