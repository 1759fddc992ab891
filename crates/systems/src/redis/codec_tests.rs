//! The codecs on recorded replies.

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

const LAYOUTS: [&str; 3] = ["hash", "hash-noindex", "string"];

fn codec(layout: &str, fields: usize) -> Box<dyn Codec> {
    let schema = Arc::new(Schema::new("t", "field", fields));
    super::codec(layout, schema)
}

fn split(layout: &str, operation: Operation<'_>, replies: &[u8]) -> Replayed {
    replay_every_split(|| codec(layout, 2), &operation, replies)
}

fn values<'a>() -> [FieldValue<'a>; 2] {
    [FieldValue { field: 0, bytes: b"v0" }, FieldValue { field: 1, bytes: b"" }]
}

const READ: Operation<'_> = Operation::Read { key: b"k", fields: Fields::All };
const READ_ONE: Operation<'_> = Operation::Read { key: b"k", fields: Fields::One(1) };

#[test]
fn a_hash_is_read_from_any_pieces() {
    let reply = b"*4\r\n$6\r\nfield1\r\n$0\r\n\r\n$6\r\nfield0\r\n$4\r\n\r\n$1\r\n";
    let read = split("hash", READ, reply);
    assert_eq!(read.requests, b"*2\r\n$7\r\nHGETALL\r\n$1\r\nk\r\n");
    assert_eq!(read.outcome, Some(Outcome::Done));
    assert_eq!(read.rows, [row(b"k", &[(1, b""), (0, b"\r\n$1")])]);

    let read = split("hash", READ_ONE, b"$2\r\nv1\r\n");
    assert_eq!(read.requests, b"*3\r\n$4\r\nHGET\r\n$1\r\nk\r\n$6\r\nfield1\r\n");
    assert_eq!(read.rows, [row(b"k", &[(1, b"v1")])]);
}

#[test]
fn an_empty_reply_is_a_missing_record() {
    for (layout, operation, reply) in [
        ("hash", READ, &b"*0\r\n"[..]),
        ("hash", READ_ONE, b"$-1\r\n"),
        ("string", READ, b"$-1\r\n"),
        ("string", READ_ONE, b"$-1\r\n"),
    ] {
        let read = split(layout, operation, reply);
        assert_eq!((read.outcome, read.rows.len()), (Some(Outcome::Missing), 0));
    }
}

#[test]
fn an_insert_is_two_commands_in_one_write() {
    let insert = Operation::Insert { key: b"k", values: &values() };
    let inserted = split("hash", insert, b":2\r\n:1\r\n");
    assert_eq!(inserted.outcome, Some(Outcome::Done));
    let expected = b"*6\r\n$4\r\nHSET\r\n$1\r\nk\r\n$6\r\nfield0\r\n$2\r\nv0\r\n$6\r\nfield1\r\n\
        $0\r\n\r\n*4\r\n$4\r\nZADD\r\n$8\r\n_indices\r\n$1\r\n0\r\n$1\r\nk\r\n";
    assert_eq!(String::from_utf8_lossy(&inserted.requests), String::from_utf8_lossy(expected));
    assert_eq!(split("hash-noindex", insert, b":2\r\n").outcome, Some(Outcome::Done));
}

#[test]
fn an_update_that_created_a_record_is_undone_and_missing() {
    let update = Operation::Update { key: b"k", values: &values()[..1] };
    let updated = split("hash", update, b":0\r\n");
    assert_eq!(updated.outcome, Some(Outcome::Done));
    let undone = split("hash", update, b":1\r\n:1\r\n");
    assert_eq!(undone.outcome, Some(Outcome::Missing));
    let undo = &undone.requests[updated.requests.len()..];
    assert_eq!(undo, b"*3\r\n$4\r\nHDEL\r\n$1\r\nk\r\n$6\r\nfield0\r\n");
}

#[test]
fn a_scan_reads_the_range_and_then_each_record() {
    let scan = Operation::Scan { start: b"b", limit: 12, fields: Fields::All };
    // The second record was deleted between the two round trips.
    let reply = b"*3\r\n$1\r\nb\r\n$2\r\nbb\r\n$1\r\nc\r\n\
        *2\r\n$6\r\nfield0\r\n$1\r\n1\r\n*0\r\n*2\r\n$6\r\nfield1\r\n$1\r\n2\r\n";
    let scanned = split("hash", scan, reply);
    assert_eq!(scanned.outcome, Some(Outcome::Done));
    assert_eq!(scanned.rows, [row(b"b", &[(0, b"1")]), row(b"c", &[(1, b"2")])]);
    let requests = String::from_utf8(scanned.requests).unwrap();
    let range = "*8\r\n$6\r\nZRANGE\r\n$8\r\n_indices\r\n$2\r\n[b\r\n$1\r\n+\r\n$5\r\nBYLEX\r\n\
        $5\r\nLIMIT\r\n$1\r\n0\r\n$2\r\n12\r\n";
    let records = requests.strip_prefix(range).expect("the range comes first");
    assert_eq!(records.matches("HGETALL").count(), 3);

    let scan = Operation::Scan { start: b"b", limit: 1, fields: Fields::One(0) };
    let scanned = split("hash", scan, b"*1\r\n$1\r\nb\r\n$1\r\nx\r\n");
    assert_eq!(scanned.rows, [row(b"b", &[(0, b"x")])]);
    assert_eq!(split("hash", scan, b"*0\r\n").outcome, Some(Outcome::Done));
}

#[test]
fn a_scan_without_an_index_is_refused() {
    let scan = Operation::Scan { start: b"b", limit: 12, fields: Fields::All };
    for layout in ["hash-noindex", "string"] {
        let refused = split(layout, scan, b"+PONG\r\n").outcome.unwrap();
        assert_eq!(refused.failure_kind(), Some(FailureKind::Rejected));
    }
}

#[test]
fn an_error_within_a_pipeline_does_not_lose_count() {
    let insert = Operation::Insert { key: b"k", values: &values() };
    let oom = b"-OOM command not allowed\r\n-OOM command not allowed\r\n";
    let refused = split("hash", insert, oom);
    assert_eq!(refused.outcome.unwrap().failure_kind(), Some(FailureKind::Full));
    assert_eq!(refused.left, b"");

    let scan = Operation::Scan { start: b"b", limit: 2, fields: Fields::One(0) };
    let reply = b"*2\r\n$1\r\nb\r\n$1\r\nc\r\n-WRONGTYPE no hash\r\n$1\r\nx\r\n";
    let scanned = split("hash", scan, reply);
    assert_eq!(scanned.outcome.unwrap().failure_kind(), Some(FailureKind::Rejected));
    assert_eq!((scanned.rows.len(), scanned.left.len()), (1, 0));
}

#[test]
fn a_string_is_read_and_decoded_here() {
    let read = split("string", READ, b"$6\r\n\x02v0\x02v1\r\n");
    assert_eq!(read.rows, [row(b"k", &[(0, b"v0"), (1, b"v1")])]);
    let read = split("string", READ_ONE, b"$6\r\n\x02v0\x02v1\r\n");
    assert_eq!(read.rows, [row(b"k", &[(1, b"v1")])]);
    let read = split("string", READ, b"$3\r\nbad\r\n");
    assert_eq!(read.outcome.unwrap().failure_kind(), Some(FailureKind::WrongAnswer));
}

#[test]
fn a_string_is_replaced_in_one_round_trip_or_rewritten_in_two() {
    let all = Operation::Update { key: b"k", values: &values() };
    let replaced = split("string", all, b"+OK\r\n");
    assert_eq!(replaced.outcome, Some(Outcome::Done));
    let expected = b"*4\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\n\x02v0\0\r\n$2\r\nXX\r\n";
    assert_eq!(replaced.requests, expected);
    assert_eq!(split("string", all, b"$-1\r\n").outcome, Some(Outcome::Missing));

    let some = Operation::Update { key: b"k", values: &values()[..1] };
    let rewritten = split("string", some, b"$6\r\n\x02aa\x02bb\r\n+OK\r\n");
    assert_eq!(rewritten.outcome, Some(Outcome::Done));
    let expected = b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n\
        *4\r\n$3\r\nSET\r\n$1\r\nk\r\n$6\r\n\x02v0\x02bb\r\n$2\r\nXX\r\n";
    assert_eq!(rewritten.requests, expected);
    assert_eq!(split("string", some, b"$-1\r\n").outcome, Some(Outcome::Missing));
}

#[test]
fn a_delete_tells_whether_the_record_was_there() {
    let delete = Operation::Delete { key: b"k" };
    assert_eq!(split("hash", delete, b":1\r\n:1\r\n").outcome, Some(Outcome::Done));
    assert_eq!(split("hash", delete, b":0\r\n:0\r\n").outcome, Some(Outcome::Missing));
    assert_eq!(split("hash-noindex", delete, b":1\r\n").outcome, Some(Outcome::Done));
    assert_eq!(split("string", delete, b":0\r\n").outcome, Some(Outcome::Missing));
}

#[test]
fn replies_that_do_not_belong_break_the_connection() {
    let insert = Operation::Insert { key: b"k", values: &values() };
    for (layout, operation, reply) in [
        ("hash", READ, &b"+OK\r\n"[..]),
        ("hash", READ, b"*3\r\n"),
        ("hash", READ, b"*2\r\n$5\r\nother\r\n"),
        ("hash", READ, b"*2\r\n:1\r\n"),
        ("hash", READ_ONE, b"*0\r\n"),
        ("hash", insert, b"$1\r\nx\r\n"),
        ("string", insert, b":1\r\n"),
        ("string", READ, b"*0\r\n"),
        ("string", READ, b"HTTP/1.1 400 Bad Request\r\n"),
    ] {
        let whole = replay(&mut *codec(layout, 2), &operation, reply, []);
        assert!(whole.broken, "{layout}: {whole:?}");
        assert_eq!(whole.outcome.unwrap().failure_kind(), Some(FailureKind::Protocol));
    }
    let mut idle = codec("hash", 2);
    assert!(matches!(
        idle.decode(b"+OK\r\n", &mut Vec::new(), &mut Default::default()),
        crate::Step::Broken(_)
    ));
}

/// Parts of true replies.
const PIECES: &[&[u8]] = &[
    b"*2\r\n",
    b"*0\r\n",
    b"$-1\r\n",
    b"$6\r\nfield0\r\n",
    b"$6\r\n\x02aa\x02bb\r\n",
    b":1\r\n",
    b":0\r\n",
    b"+OK\r\n",
    b"-ERR no\r\n",
];

proptest! {
    #[test]
    fn no_reply_makes_a_codec_panic(
        reply in almost_replies(PIECES),
        cuts in cuts(),
        layout in prop::sample::select(&LAYOUTS[..]),
        operation in 0usize..6,
    ) {
        let values = values();
        let operation = [
            READ,
            READ_ONE,
            Operation::Insert { key: b"k", values: &values },
            Operation::Update { key: b"k", values: &values[..1] },
            Operation::Scan { start: b"a", limit: 3, fields: Fields::All },
            Operation::Delete { key: b"k" },
        ][operation];
        replay_cut(|| codec(layout, 2), &operation, &reply, &cuts);
    }
}
