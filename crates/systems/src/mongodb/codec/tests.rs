use assay_model::{FailureKind, FieldValue, Fields};
use proptest::prelude::*;

use super::*;
use crate::{
    mongodb::{bson, bson::Writer, codec as new_codec},
    replay::{
        Replayed,
        pieces::{almost_replies, cuts, replay_cut, row},
        replay,
    },
};

fn codec(layout: &str) -> Box<dyn Codec> {
    new_codec(layout, Arc::new(Schema::new("t", "f", 2).with_indexes(1)))
}

const READ: Operation<'_> = Operation::Read { key: b"k", fields: Fields::All };
const SCAN: Operation<'_> = Operation::Scan { start: b"k", limit: 3, fields: Fields::All };
const DELETE: Operation<'_> = Operation::Delete { key: b"k" };
const UPDATE: Operation<'_> =
    Operation::Update { key: b"k", values: &[FieldValue { field: 1, bytes: b"v" }] };

/// A reply, numbered from 100 on, to message `answers`.
fn reply(answers: i32, fill: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut out = Vec::new();
    let start = message::begin(&mut out, 100, b"", fill);
    message::end(&mut out, start);
    out[8..12].copy_from_slice(&answers.to_le_bytes());
    out
}

/// A reply with these documents, each a key and the value of `f0`.
fn batch(answers: i32, name: &str, cursor: i64, rows: &[(&str, &str)]) -> Vec<u8> {
    reply(answers, |body| {
        body.document("cursor", |inner| {
            inner.array(name, |array| {
                for (at, (key, value)) in rows.iter().enumerate() {
                    array.document(&at.to_string(), |document| {
                        document.string("_id", key.as_bytes());
                        document.string("f0", value.as_bytes());
                    });
                }
            });
            inner.int64("id", cursor);
            inner.string("ns", b"db.t");
        });
        ok(body);
    })
}

/// `ok: 1.0`, as servers have it.
fn ok(body: &mut Writer<'_>) {
    body.elements(b"\x01ok\0\0\0\0\0\0\0\xf0\x3f");
}

fn written(count: i32) -> Vec<u8> {
    reply(1, |body| {
        body.int32("n", count);
        ok(body);
    })
}

fn error(body: &mut Writer<'_>, code: i32) {
    body.string("errmsg", b"went wrong");
    body.int32("code", code);
}

/// Replays `replies` to a new codec whole, cut in two at every byte and byte by byte.
fn replayed(layout: &str, operation: &Operation<'_>, replies: &[u8]) -> Replayed {
    let whole = replay(&mut *codec(layout), operation, replies, []);
    for cut in 0..=replies.len() {
        let split = replay(&mut *codec(layout), operation, replies, [cut]);
        assert_eq!(split, whole, "cut at {cut}");
    }
    let split = replay(&mut *codec(layout), operation, replies, 0..=replies.len());
    assert_eq!(split, whole, "byte by byte");
    whole
}

fn done(operation: &Operation<'_>, reply: &[u8]) -> Outcome {
    let replayed = replayed("document", operation, reply);
    assert!(!replayed.broken && replayed.left.is_empty(), "{replayed:?}");
    replayed.outcome.expect("the whole reply is there")
}

fn request(layout: &str, operation: &Operation<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    codec(layout).encode(operation, &mut out);
    out
}

#[test]
fn a_read_is_asked_for_and_reported() {
    let asked = request("document", &READ);
    // Message 1, OP_MSG, no flags, a body.
    let head = b"\x01\0\0\0\0\0\0\0\xdd\x07\0\0\0\0\0\0\0";
    assert_eq!(asked[4..21], *head);
    let message = message::first(&asked).unwrap().unwrap();
    let mut expected = Vec::new();
    bson::write(&mut expected, |body| {
        body.string("find", b"t");
        body.int32("limit", 1);
        body.boolean("singleBatch", true);
        body.string("$db", b"db");
        body.document("filter", |filter| filter.string("_id", b"k"));
    });
    assert_eq!(message.body, Elements::of(&expected).unwrap());

    let replayed = replayed("document", &READ, &batch(1, "firstBatch", 0, &[("k", "a")]));
    assert_eq!(replayed.outcome, Some(Outcome::Done));
    assert_eq!(replayed.rows, [row(b"k", &[(0, b"a")])]);
    assert_eq!(done(&READ, &batch(1, "firstBatch", 0, &[])), Outcome::Missing);
}

#[test]
fn a_key_that_does_not_come_first_is_found() {
    let answer = reply(1, |body| {
        body.document("cursor", |inner| {
            inner.int64("id", 0);
            inner.array("firstBatch", |array| {
                array.document("0", |document| {
                    document.string("f1", b"b");
                    document.string("_id", b"k");
                    document.elements(b"\x0aother\0");
                    document.binary("f0", b"\xff");
                });
            });
        });
        ok(body);
    });
    let replayed = replayed("binary", &READ, &answer);
    assert_eq!(replayed.rows, [row(b"k", &[(1, b"b"), (0, b"\xff")])]);
}

#[test]
fn one_field_is_projected_and_a_write_says_its_concern() {
    let field = Operation::Read { key: b"k", fields: Fields::One(1) };
    let asked = request("document", &field);
    let projection = b"\x03projection\0\x0d\0\0\0\x10f1\0\x01\0\0\0\0";
    assert!(asked.windows(projection.len()).any(|window| window == projection));

    let concern = b"\x03writeConcern\0\x10\0\0\0\x10w\0\x01\0\0\0\x08j\0\0\0";
    for (operation, sequence) in [
        (
            UPDATE,
            &b"updates\0\x35\0\0\0\x03q\0\x10\0\0\0\x02_id\0\x02\0\0\0k\0\0\
                    \x03u\0\x1a\0\0\0\x03$set\0\x0f\0\0\0\x02f1\0\x02\0\0\0v\0\0\0\0"[..],
        ),
        (
            DELETE,
            b"deletes\0\x23\0\0\0\x03q\0\x10\0\0\0\x02_id\0\x02\0\0\0k\0\0\
                   \x10limit\0\x01\0\0\0\0",
        ),
        (
            Operation::Insert { key: b"k", values: &[FieldValue { field: 0, bytes: b"" }] },
            b"documents\0\x19\0\0\0\x02_id\0\x02\0\0\0k\0\x02f0\0\x01\0\0\0\0\0",
        ),
    ] {
        let asked = request("document", &operation);
        assert!(asked.windows(concern.len()).any(|window| window == concern));
        let tail = &asked[asked.len() - sequence.len()..];
        assert_eq!(tail.escape_ascii().to_string(), sequence.escape_ascii().to_string());
    }
    let value = b"\x05f1\0\x01\0\0\0\0v\0\0\0";
    assert!(request("binary", &UPDATE).ends_with(value));
}

#[test]
fn a_batch_cut_off_is_asked_for_again() {
    let first = batch(1, "firstBatch", 77, &[("k1", "a"), ("k2", "b")]);
    let mut codec = codec("document");
    let mut input = Vec::new();
    let mut out = Vec::new();
    let mut answer = Answer::keeping();
    codec.encode(&SCAN, &mut input);
    assert_eq!(codec.decode(&first, &mut out, &mut answer), Step::More { consumed: first.len() });
    let asked = message::first(&out).unwrap().unwrap().body;
    let mut elements = asked;
    assert_eq!(elements.next(), Ok(Some((&b"getMore"[..], Value::Int64(77)))));
    assert_eq!(asked.find("batchSize"), Ok(Some(Value::Int64(2))));
    let second = batch(2, "nextBatch", 0, &[("k3", "c")]);
    let done = Step::Done { consumed: second.len(), outcome: Outcome::Done };
    assert_eq!(codec.decode(&second, &mut out, &mut answer), done);
    assert_eq!(answer.row_count(), 3);
}

#[test]
fn counts_and_errors_become_outcomes() {
    let of_write = |code| {
        reply(1, |body| {
            body.int32("n", 0);
            body.array("writeErrors", |errors| {
                errors.document("0", |inner| error(inner, code));
            });
            ok(body);
        })
    };
    let of_concern = |code| {
        reply(1, |body| {
            body.int32("n", 1);
            body.document("writeConcernError", |inner| error(inner, code));
            ok(body);
        })
    };
    let of_command = |code| {
        reply(1, |body| {
            body.int32("ok", 0);
            error(body, code);
        })
    };
    for (operation, reply, expected) in [
        (DELETE, written(0), Some(FailureKind::Missing)),
        (DELETE, written(1), None),
        (UPDATE, written(0), Some(FailureKind::Missing)),
        (UPDATE, of_write(11000), Some(FailureKind::Conflict)),
        (UPDATE, of_write(112), Some(FailureKind::Conflict)),
        (UPDATE, of_concern(64), Some(FailureKind::Timeout)),
        (UPDATE, of_concern(100), Some(FailureKind::Rejected)),
        (UPDATE, of_command(10107), Some(FailureKind::Rejected)),
        (READ, of_command(11601), Some(FailureKind::Timeout)),
        (READ, of_command(14031), Some(FailureKind::Full)),
        (SCAN, batch(1, "firstBatch", 0, &[]), None),
    ] {
        let outcome = done(&operation, &reply);
        assert_eq!(outcome.failure_kind(), expected, "{operation:?}: {outcome:?}");
    }
    let shutdown = replayed("document", &READ, &of_command(91));
    assert!(shutdown.broken, "{shutdown:?}");
    assert_eq!(shutdown.outcome.unwrap().failure_kind(), Some(FailureKind::Disconnected));
}

#[test]
fn lookups_have_their_ends_and_miss_what_is_not_there() {
    let lookup = |from, to| Operation::Lookup { field: 0, from, to, limit: 2, fields: Fields::All };
    for (operation, filter) in [
        (lookup(b"a", None), &b"\x03f0\0\x11\0\0\0\x02$gte\0\x02\0\0\0a\0\0"[..]),
        (
            lookup(b"a", Some(b"b")),
            b"\x03f0\0\x1d\0\0\0\x02$gte\0\x02\0\0\0a\0\x02$lte\0\x02\0\0\0b\0\0",
        ),
        (lookup(b"a", Some(b"a")), b"\x02f0\0\x02\0\0\0a\0"),
    ] {
        let asked = request("document", &operation);
        assert!(asked.windows(filter.len()).any(|window| window == filter), "{operation:?}");
    }
    let nothing = batch(1, "firstBatch", 0, &[]);
    assert_eq!(done(&lookup(b"a", Some(b"b")), &nothing), Outcome::Missing);
    assert_eq!(done(&lookup(b"a", None), &nothing), Outcome::Done);
}

#[test]
fn what_cannot_be_asked_takes_a_round_trip_and_is_refused() {
    let pong = reply(1, ok);
    let bad = FieldValue { field: 0, bytes: b"\xff" };
    let lookup = Operation::Lookup { field: 1, from: b"", to: None, limit: 1, fields: Fields::All };
    for operation in [
        Operation::Read { key: b"\xff", fields: Fields::All },
        Operation::Read { key: b"k", fields: Fields::One(2) },
        Operation::Insert { key: b"k", values: &[bad] },
        Operation::Update { key: b"k", values: &[FieldValue { field: 9, bytes: b"" }] },
        lookup,
    ] {
        let asked = request("document", &operation);
        let body = message::first(&asked).unwrap().unwrap().body;
        assert_eq!(body.find("ping"), Ok(Some(Value::Int32(1))), "{operation:?}");
        let outcome = done(&operation, &pong);
        assert_eq!(outcome.failure_kind(), Some(FailureKind::Rejected), "{operation:?}");
    }
    // Nothing is asked for, and a limit of 0 would be none.
    let none = Operation::Scan { start: b"", limit: 0, fields: Fields::All };
    assert_eq!(done(&none, &pong), Outcome::Done);
    // Values of any bytes are binary data.
    let insert = Operation::Insert { key: b"k", values: &[bad] };
    let stored = replayed("binary", &insert, &written(1));
    assert_eq!(stored.outcome, Some(Outcome::Done));
}

#[test]
fn a_server_that_breaks_the_protocol_is_given_up() {
    for reply in [
        batch(2, "firstBatch", 0, &[]),
        batch(1, "firstBatch", 0, &[("k", "a"), ("k", "b")]),
        reply(1, |_| {}),
        reply(1, |body| body.int32("cursor", 1)),
        reply(1, |body| {
            body.document("cursor", |inner| {
                inner.array("firstBatch", |rows| rows.elements(b"\x0a0\0"))
            });
            ok(body);
        }),
        b"HTTP/1.1 400 Bad Request\r\n".to_vec(),
    ] {
        let broken = replay(&mut *codec("document"), &READ, &reply, []);
        assert!(broken.broken, "{broken:?}");
        let kind = broken.outcome.unwrap().failure_kind();
        assert_eq!(kind, Some(FailureKind::Protocol));
    }
    for scanned in [
        batch(1, "firstBatch", 5, &[]),
        batch(1, "firstBatch", 0, &[("a", ""), ("b", ""), ("c", ""), ("d", "")]),
    ] {
        assert!(replay(&mut *codec("document"), &SCAN, &scanned, []).broken);
    }
    let mut idle = codec("document");
    let unasked = idle.decode(&written(1), &mut Vec::new(), &mut Answer::keeping());
    assert!(matches!(unasked, Step::Broken(_)), "{unasked:?}");
}

const PIECES: &[&[u8]] = &[
    b"\x33\0\0\0\x07\0\0\0\x01\0\0\0\xdd\x07\0\0\0\0\0\0\0",
    b"\x30\0\0\0\x07\0\0\0\x01\0\0\0\xdd\x07\0\0\0\0\0\0\0",
    b"\x1b\0\0\0",
    b"\x01ok\0\0\0\0\0\0\0\xf0\x3f",
    b"\x10n\0\x01\0\0\0",
    b"\x03cursor\0",
    b"\x04firstBatch\0",
    b"\x12id\0\0\0\0\0\0\0\0\0",
    b"\x02_id\0\x02\0\0\0k\0",
    b"\0",
];

proptest! {
    #[test]
    fn replies_cut_anywhere_come_to_the_same(
        replies in almost_replies(PIECES),
        cuts in cuts(),
        scan: bool,
    ) {
        let operation = if scan { SCAN } else { READ };
        replay_cut(|| codec("document"), &operation, &replies, &cuts);
    }

    #[test]
    fn a_changed_byte_never_panics(at: prop::sample::Index, byte: u8, cuts in cuts()) {
        let mut reply = batch(1, "firstBatch", 0, &[("k1", "a"), ("k2", "b")]);
        let at = at.index(reply.len());
        reply[at] = byte;
        replay_cut(|| codec("document"), &SCAN, &reply, &cuts);
    }
}
