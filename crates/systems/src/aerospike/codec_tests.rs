//! The codec on recorded replies.

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
    super::codec(Arc::new(Schema::new("t", "f", 2)))
}

fn split(operation: Operation<'_>, replies: &[u8]) -> Replayed {
    replay_every_split(codec, &operation, replies)
}

fn values<'a>() -> [FieldValue<'a>; 2] {
    [FieldValue { field: 0, bytes: b"v0" }, FieldValue { field: 1, bytes: b"" }]
}

const READ: Operation<'_> = Operation::Read { key: b"k", fields: Fields::All };

/// Result 0, two bins.
const RECORD: &[u8] = b"\x02\x03\0\0\0\0\0\x2c\x16\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\x02\
    \0\0\0\x08\x01\x04\0\x02f0v0\0\0\0\x06\x01\x04\0\x02f1";
const DONE: &[u8] = b"\x02\x03\0\0\0\0\0\x16\x16\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0";

fn code(code: u8) -> Vec<u8> {
    let mut reply = DONE.to_vec();
    reply[13] = code;
    reply
}

#[test]
fn a_record_is_read_from_any_pieces() {
    let read = split(READ, RECORD);
    assert_eq!(read.outcome, Some(Outcome::Done));
    assert_eq!(read.rows, [row(b"k", &[(0, b"v0"), (1, b"")])]);
    // Header, namespace 'test', set 't', digest.
    assert_eq!(read.requests[..10], *b"\x02\x03\0\0\0\0\0\x3e\x16\x03");
    assert_eq!(&read.requests[30..50], b"\0\0\0\x05\0test\0\0\0\x02\x01t\0\0\0\x15\x04");
    assert_eq!(read.requests.len(), 8 + 0x3e);
    let one = split(Operation::Read { key: b"k", fields: Fields::One(0) }, RECORD);
    assert_eq!(one.rows, [row(b"k", &[(0, b"v0")])]);
    assert!(one.requests.ends_with(b"\0\0\0\x06\x01\0\0\x02f0"));
}

#[test]
fn results_are_told_by_kind() {
    let values = values();
    let insert = Operation::Insert { key: b"k", values: &values };
    let update = Operation::Update { key: b"k", values: &values[..1] };
    let delete = Operation::Delete { key: b"k" };
    for operation in [insert, update, delete] {
        assert_eq!(split(operation, DONE).outcome, Some(Outcome::Done));
    }
    for operation in [READ, update, delete] {
        assert_eq!(split(operation, &code(2)).outcome, Some(Outcome::Missing));
    }
    for (result, kind) in [
        (3, FailureKind::Conflict),
        (5, FailureKind::Conflict),
        (8, FailureKind::Full),
        (9, FailureKind::Timeout),
        (13, FailureKind::Rejected),
        (99, FailureKind::Rejected),
    ] {
        let outcome = split(insert, &code(result)).outcome.unwrap();
        assert_eq!(outcome.failure_kind(), Some(kind), "{outcome:?}");
    }
    assert!(split(READ, b"HTTP/1.1 400").broken);
}

#[test]
fn what_has_no_message_is_refused() {
    let scan = Operation::Scan { start: b"k", limit: 3, fields: Fields::All };
    let refused = split(scan, b"\x02\x01\0\0\0\0\0\x0ebuild\t8.1.1.2\n");
    assert_eq!(refused.requests, b"\x02\x01\0\0\0\0\0\x06build\n");
    assert_eq!(refused.outcome.unwrap().failure_kind(), Some(FailureKind::Rejected));
}

proptest! {
    #[test]
    fn random_replies_come_to_the_same_in_pieces(
        replies in almost_replies(&[
            RECORD, DONE, b"\x02\x03\0\0\0\0\0\x2c\x16", b"\x02\x01\0\0\0\0\0\x02ok", b"\0\0\0\x02",
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
