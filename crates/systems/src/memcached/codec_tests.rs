//! The codec on recorded replies.

use assay_model::{FailureKind, FieldValue, Fields, Operation, Outcome};
use proptest::prelude::*;

use super::CAS_ATTEMPTS;
use crate::{
    Codec,
    replay::{
        Replayed,
        pieces::{almost_replies, cuts, replay_cut, replay_every_split, row},
        replay,
    },
};

fn codec() -> Box<dyn Codec> {
    super::codec(2)
}

fn split(operation: Operation<'_>, replies: &[u8]) -> Replayed {
    replay_every_split(codec, &operation, replies)
}

fn values<'a>() -> [FieldValue<'a>; 2] {
    [FieldValue { field: 0, bytes: b"v0" }, FieldValue { field: 1, bytes: b"" }]
}

const READ: Operation<'_> = Operation::Read { key: b"k", fields: Fields::All };

#[test]
fn a_record_is_read_from_any_pieces() {
    let read = split(READ, b"VA 6\r\n\x02v0\x02\r\n\r\n");
    assert_eq!(read.requests, b"mg k v\r\n");
    assert_eq!(read.outcome, Some(Outcome::Done));
    assert_eq!(read.rows, [row(b"k", &[(0, b"v0"), (1, b"\r\n")])]);

    let one = Operation::Read { key: b"k", fields: Fields::One(1) };
    let read = split(one, b"VA 6\r\n\x02v0\x02v1\r\n");
    assert_eq!(read.rows, [row(b"k", &[(1, b"v1")])]);

    let read = split(READ, b"VA 3\r\nbad\r\n");
    assert_eq!(read.outcome.unwrap().failure_kind(), Some(FailureKind::WrongAnswer));
}

#[test]
fn a_miss_is_a_missing_record() {
    let update = Operation::Update { key: b"k", values: &values() };
    let some = Operation::Update { key: b"k", values: &values()[..1] };
    for (operation, reply) in [
        (READ, &b"EN\r\n"[..]),
        (update, b"NS\r\n"),
        (some, b"EN\r\n"),
        // Deleted between the read and the write.
        (some, b"VA 2 c5\r\n\0\0\r\nNF\r\n"),
        (Operation::Delete { key: b"k" }, b"NF\r\n"),
    ] {
        assert_eq!(split(operation, reply).outcome, Some(Outcome::Missing));
    }
}

#[test]
fn an_update_of_all_fields_is_one_round_trip_on_condition() {
    let updated = split(Operation::Update { key: b"k", values: &values() }, b"HD\r\n");
    assert_eq!(updated.outcome, Some(Outcome::Done));
    assert_eq!(updated.requests, b"ms k 4 MR\r\n\x02v0\0\r\n");
}

#[test]
fn an_update_of_some_fields_tries_again_when_others_were_first() {
    let update = Operation::Update { key: b"k", values: &values()[..1] };
    let replies = b"VA 4 c5\r\n\x01a\x01b\r\nEX\r\nVA 4 c6\r\n\x01a\x01c\r\nHD\r\n";
    let updated = split(update, replies);
    assert_eq!(updated.outcome, Some(Outcome::Done));
    let expected =
        b"mg k v c\r\nms k 5 C5\r\n\x02v0\x01b\r\nmg k v c\r\nms k 5 C6\r\n\x02v0\x01c\r\n";
    assert_eq!(updated.requests, expected);
}

#[test]
fn an_update_gives_way_in_the_end() {
    let update = Operation::Update { key: b"k", values: &values()[..1] };
    let replies = b"VA 4 c5\r\n\x01a\x01b\r\nEX\r\n".repeat(CAS_ATTEMPTS as usize);
    let outcome = split(update, &replies).outcome.unwrap();
    assert_eq!(outcome.failure_kind(), Some(FailureKind::Conflict));
}

#[test]
fn what_the_server_cannot_is_refused() {
    let scan = Operation::Scan { start: b"k", limit: 1, fields: Fields::All };
    let empty = Operation::Delete { key: b"" };
    for operation in [scan, empty] {
        let refused = split(operation, b"MN\r\n");
        assert_eq!(refused.requests, b"mn\r\n");
        assert_eq!(refused.outcome.unwrap().failure_kind(), Some(FailureKind::Rejected));
    }
}

#[test]
fn errors_are_outcomes() {
    let insert = Operation::Insert { key: b"k", values: &values() };
    for (operation, reply, kind, broken) in [
        (insert, &b"SERVER_ERROR out of memory storing object\r\n"[..], FailureKind::Full, false),
        (insert, b"SERVER_ERROR object too large for cache\r\n", FailureKind::Rejected, false),
        // The server takes what follows for commands, and its replies are out of step.
        (insert, b"CLIENT_ERROR bad data chunk\r\n", FailureKind::Rejected, true),
        (READ, b"CLIENT_ERROR no\r\n", FailureKind::Rejected, false),
        (READ, b"HD\r\n", FailureKind::Protocol, true),
        (READ, b"END\r\n", FailureKind::Protocol, true),
        (insert, b"VA 0\r\n\r\n", FailureKind::Protocol, true),
    ] {
        let failed = replay(&mut *codec(), &operation, reply, []);
        assert_eq!(failed.broken, broken, "{failed:?}");
        assert_eq!(failed.outcome.unwrap().failure_kind(), Some(kind));
    }
}

/// Parts of true replies.
const PIECES: &[&[u8]] =
    &[b"VA 4 c7\r\n\x01a\x01b\r\n", b"VA 2\r\n", b"EX\r\n", b"HD\r\n", b"EN\r\n", b"MN\r\n"];

proptest! {
    #[test]
    fn no_reply_makes_the_codec_panic(
        reply in almost_replies(PIECES),
        cuts in cuts(),
        operation in 0usize..4,
    ) {
        let values = values();
        let operation = [
            READ,
            Operation::Insert { key: b"k", values: &values },
            Operation::Update { key: b"k", values: &values[..1] },
            Operation::Delete { key: b"k" },
        ][operation];
        replay_cut(codec, &operation, &reply, &cuts);
    }
}
