//! The codec on responses that a VoltDB 10.1.1 gave.

use std::sync::Arc;

use assay_model::{FailureKind, FieldValue, Fields, Operation, Outcome, Schema};
use proptest::prelude::*;

use crate::{
    Codec,
    replay::{
        Replayed,
        pieces::{almost_replies, cuts, replay_cut, replay_every_split, row},
    },
};

fn codec() -> Box<dyn Codec> {
    super::codec("partitioned", Arc::new(Schema::new("t", "f", 2).with_indexes(1)))
}

fn split(operation: Operation<'_>, replies: &[u8]) -> Replayed {
    replay_every_split(codec, &operation, replies)
}

/// A message with its length before it.
fn framed(parts: &[&[u8]]) -> Vec<u8> {
    let message = parts.concat();
    [&(message.len() as u32).to_be_bytes()[..], &message].concat()
}

/// A response to the first call that succeeded, with one table.
fn response(types: &[u8], rows: &[&[u8]]) -> Vec<u8> {
    let names = b"\0\0\0\x01X".repeat(types.len());
    let count = (types.len() as u16).to_be_bytes();
    let header = framed(&[b"\x80", &count, types, &names]);
    let rows: Vec<Vec<u8>> = rows.iter().map(|row| framed(&[row])).collect();
    let count = (rows.len() as u32).to_be_bytes();
    let table = framed(&[&header, &count, &rows.concat()]);
    framed(&[b"\0\0\0\0\0\0\0\0\x01\0\x01\x80\0\0\0\x05\0\x01", &table])
}

fn changed(count: u8) -> Vec<u8> {
    response(&[6], &[&[0, 0, 0, 0, 0, 0, 0, count]])
}

/// A response that reports a failure.
fn failure(status: u8, text: &str) -> Vec<u8> {
    let text = framed(&[text.as_bytes()]);
    framed(&[b"\0\0\0\0\0\0\0\0\x01\x20", &[status], &text, b"\x80\0\0\0\x11\0\0"])
}

const V0: &[u8] = b"\0\0\0\x02v0";
const NULL: &[u8] = b"\xff\xff\xff\xff";
const READ: Operation<'_> = Operation::Read { key: b"k", fields: Fields::All };

fn values<'a>() -> [FieldValue<'a>; 2] {
    [FieldValue { field: 0, bytes: b"v0" }, FieldValue { field: 1, bytes: b"" }]
}

#[test]
fn a_record_is_read_from_any_pieces() {
    let record = response(&[25, 25], &[&[V0, b"\0\0\0\0"].concat()]);
    let read = split(READ, &record);
    assert_eq!(read.outcome, Some(Outcome::Done));
    assert_eq!(read.rows, [row(b"k", &[(0, b"v0"), (1, b"")])]);
    // The length, version 0, the procedure, call 1, one parameter.
    let expected =
        framed(&[b"\0\0\0\0\x0cassay_t_read\0\0\0\0\0\0\0\x01\0\x01", b"\x19\0\0\0\x01k"]);
    assert_eq!(read.requests, expected);
    // A field that was never given.
    let read = split(READ, &response(&[25, 25], &[&[V0, NULL].concat()]));
    assert_eq!(read.rows, [row(b"k", &[(0, b"v0")])]);
    let one = split(Operation::Read { key: b"k", fields: Fields::One(1) }, &response(&[25], &[V0]));
    assert_eq!(one.rows, [row(b"k", &[(1, b"v0")])]);
    assert_eq!(split(READ, &response(&[25, 25], &[])).outcome, Some(Outcome::Missing));
}

#[test]
fn writes_are_told_by_what_they_changed() {
    let values = values();
    let update = Operation::Update { key: b"k", values: &values[..1] };
    let delete = Operation::Delete { key: b"k" };
    for operation in [update, delete] {
        assert_eq!(split(operation, &changed(1)).outcome, Some(Outcome::Done));
        assert_eq!(split(operation, &changed(0)).outcome, Some(Outcome::Missing));
        assert!(split(operation, &changed(2)).broken);
    }
    let insert = split(Operation::Insert { key: b"k", values: &values }, &changed(1));
    assert_eq!(insert.outcome, Some(Outcome::Done));
    let asked = b"\0\0\0\0\x08T.insert\0\0\0\0\0\0\0\x01\0\x03\
        \x19\0\0\0\x01k\x19\0\0\0\x02v0\x19\0\0\0\0";
    assert_eq!(insert.requests, framed(&[asked]));
    // Some of several fields, out of order.
    let some = [values[1], values[0]];
    let asked = split(Operation::Update { key: b"k", values: &some }, &changed(1)).requests;
    let parameters = b"\0\x05\x03\x01\x19\0\0\0\x02v0\x03\x01\x19\0\0\0\0\x19\0\0\0\x01k";
    assert!(asked.ends_with(parameters), "{asked:?}");
}

#[test]
fn failures_are_told_by_kind_and_without_records() {
    let values = values();
    let insert = Operation::Insert { key: b"k", values: &values };
    let unique = "VOLTDB ERROR: CONSTRAINT VIOLATION Attempted violation of constraint\nConstraint \
                  Type UNIQUE, Table CatalogId T\nRelevant Tuples:\nYCSB_KEY\n6B";
    let too_long = "VOLTDB ERROR: SQL ERROR The size 300 of the value exceeds the size of the \
                    VARBINARY(250) column 'YCSB_KEY'";
    for (status, text, kind) in [
        (0xfe, unique, FailureKind::Conflict),
        (0xfe, too_long, FailureKind::Rejected),
        (0xfd, "Procedure T.insert was not found", FailureKind::Rejected),
        (0xfb, "Server is paused and is available in read-only mode", FailureKind::Full),
        (0xf9, "", FailureKind::Disconnected),
    ] {
        let failed = split(insert, &failure(status, text));
        assert!(!failed.broken);
        let Some(Outcome::Failed(failure)) = failed.outcome else { panic!("{text}") };
        assert_eq!(failure.kind, kind, "{text}");
        assert!(!failure.message.contains("Tuples"), "{}", failure.message);
    }
}

#[test]
fn rows_are_reported_with_their_keys() {
    let scan = Operation::Scan { start: b"a", limit: 2, fields: Fields::One(1) };
    let rows = response(
        &[25, 25, 25],
        &[&[b"\0\0\0\x01a", V0, V0].concat(), &[b"\0\0\0\x01b", V0, V0].concat()],
    );
    let scanned = split(scan, &rows);
    assert_eq!(scanned.rows, [row(b"a", &[(1, b"v0")]), row(b"b", &[(1, b"v0")])]);
    assert!(scanned.requests.ends_with(b"\0\x02\x19\0\0\0\x01a\x06\0\0\0\0\0\0\0\x02"));
    let short = Operation::Scan { start: b"a", limit: 1, fields: Fields::All };
    assert!(split(short, &rows).broken);
    let to: Option<&[u8]> = Some(b"v");
    let lookup = Operation::Lookup { field: 0, from: b"v", to, limit: 2, fields: Fields::All };
    let none = split(lookup, &response(&[25, 25, 25], &[]));
    assert_eq!(none.outcome, Some(Outcome::Missing));
    assert!(none.requests.windows(20).any(|name| name == b"assay_t_lookup_0_one"));
}

#[test]
fn what_makes_no_sense_breaks_the_connection() {
    for reply in [
        response(&[6], &[b"\0\0\0\0\0\0\0\x01"]),
        response(&[25], &[V0]),
        response(&[25, 25, 25], &[&V0.repeat(3)]),
        b"HTTP/1.1 400".to_vec(),
        framed(&[b"\0"]),
        framed(&[b"\0\0\0\0\0\0\0\0\x02\0\x01\x80\0\0\0\x05\0\x01"]),
    ] {
        assert!(split(READ, &reply).broken, "{reply:?}");
    }
}

#[test]
fn what_has_no_procedure_is_refused() {
    let lookup =
        Operation::Lookup { field: 1, from: b"v", to: None, limit: 2, fields: Fields::All };
    let refused = split(lookup, &response(&[6], &[b"\0\0\0\0\0\0\0\0"]));
    assert_eq!(refused.requests, framed(&[b"\0\0\0\0\x05@Ping\0\0\0\0\0\0\0\x01\0\0"]));
    assert_eq!(refused.outcome.unwrap().failure_kind(), Some(FailureKind::Rejected));
}

proptest! {
    #[test]
    fn random_replies_come_to_the_same_in_pieces(
        replies in almost_replies(&[
            response(&[25, 25], &[&[V0, NULL].concat()]).leak(),
            response(&[25, 25, 25], &[&V0.repeat(3)]).leak(),
            changed(1).leak(),
            failure(0xfe, "Constraint Type UNIQUE").leak(),
            b"\0\0\0\x20\0\0\0",
        ]),
        cuts in cuts(),
        which in 0usize..3,
    ) {
        let values = values();
        let operation = [
            READ,
            Operation::Update { key: b"k", values: &values[..1] },
            Operation::Scan { start: b"a", limit: 2, fields: Fields::All },
        ][which];
        replay_cut(codec, &operation, &replies, &cuts);
    }
}
