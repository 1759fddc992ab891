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

fn indexed() -> Box<dyn Codec> {
    super::codec(Arc::new(Schema::new("t", "f", 2).with_indexes(1)))
}

/// A record with its key, as the answer to a query has it.
const FOUND: &[u8] = b"\x16\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\x01\0\x01\
    \0\0\0\x03\x02\x04k\0\0\0\x08\x01\x04\0\x02f0v0";
const LAST: &[u8] = b"\x16\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

/// Replies of these messages each.
fn replies(all: &[&[&[u8]]]) -> Vec<u8> {
    let reply = |messages: &&[&[u8]]| {
        let body = messages.concat();
        [&[2, 3, 0, 0, 0, 0, 0, body.len() as u8][..], &body].concat()
    };
    all.iter().flat_map(reply).collect()
}

fn lookup<'a>(from: &'a [u8], to: Option<&'a [u8]>, limit: u32) -> Operation<'a> {
    Operation::Lookup { field: 0, from, to, limit, fields: Fields::All }
}

#[test]
fn a_lookup_of_one_value_has_the_records_of_every_reply() {
    let one = row(b"k", &[(0, b"v0")]);
    let v0 = lookup(b"v0", Some(b"v0"), 2);
    for all in [replies(&[&[FOUND, FOUND, LAST]]), replies(&[&[FOUND], &[FOUND], &[LAST]])] {
        let found = replay_every_split(indexed, &v0, &all);
        assert_eq!(found.outcome, Some(Outcome::Done));
        assert_eq!(found.rows, [one.clone(), one.clone()]);
        let fewer = lookup(b"v0", Some(b"v0"), 1);
        assert_eq!(replay_every_split(indexed, &fewer, &all).rows.len(), 1);
    }
    let none = replay_every_split(indexed, &v0, &replies(&[&[LAST]]));
    assert_eq!(none.outcome, Some(Outcome::Missing));
    // A partition that is gone fails it, and so does an index that is.
    let mut gone = LAST.to_vec();
    (gone[3], gone[5]) = (4, 11);
    let told = replay_every_split(indexed, &v0, &replies(&[&[FOUND, &gone], &[LAST]]));
    assert_eq!(told.outcome.unwrap().failure_kind(), Some(FailureKind::Rejected));
    let mut no_index = LAST.to_vec();
    (no_index[3], no_index[5]) = (0, 201);
    let told = replay_every_split(indexed, &v0, &replies(&[&[&no_index]]));
    let Some(Outcome::Failed(failure)) = told.outcome else { panic!("{told:?}") };
    assert!(failure.message.contains("no such index"), "{failure:?}");
}

#[test]
fn what_an_index_does_not_answer_is_refused() {
    let build = b"\x02\x01\0\0\0\0\0\x0ebuild\t8.1.1.2\n";
    let long = [b'x'; 2048];
    for asked in [
        lookup(b"a", None, 1),
        lookup(b"a", Some(b"b"), 1),
        lookup(&long, Some(&long), 1),
        Operation::Insert { key: b"k", values: &[FieldValue { field: 0, bytes: &long }] },
        Operation::Lookup { field: 1, from: b"a", to: Some(b"a"), limit: 1, fields: Fields::All },
    ] {
        let refused = replay_every_split(indexed, &asked, build);
        assert_eq!(refused.requests, b"\x02\x01\0\0\0\0\0\x06build\n", "{asked:?}");
        assert_eq!(refused.outcome.unwrap().failure_kind(), Some(FailureKind::Rejected));
    }
    // A field without an index takes any value.
    let values = [FieldValue { field: 1, bytes: &long }];
    let insert = Operation::Insert { key: b"k", values: &values };
    let taken = replay_every_split(indexed, &insert, DONE);
    assert_eq!(taken.outcome, Some(Outcome::Done));
    // The server is to keep the key, as a query tells no other.
    assert!(taken.requests.windows(7).any(|part| part == b"\0\0\0\x03\x02\x04k"));
}

proptest! {
    #[test]
    fn random_replies_come_to_the_same_in_pieces(
        replies in almost_replies(&[
            RECORD, DONE, b"\x02\x03\0\0\0\0\0\x2c\x16", b"\x02\x01\0\0\0\0\0\x02ok", b"\0\0\0\x02",
            b"\x02\x03\0\0\0\0\0\x16", FOUND, LAST,
        ]),
        cuts in cuts(),
        which in 0usize..4,
    ) {
        let values = values();
        let operation = [
            READ,
            Operation::Update { key: b"k", values: &values[..1] },
            Operation::Scan { start: b"a", limit: 2, fields: Fields::All },
            lookup(b"v0", Some(b"v0"), 2),
        ][which];
        replay_cut(indexed, &operation, &replies, &cuts);
    }
}
