use assay_model::{FieldValue, Fields};
use proptest::prelude::*;

use super::*;
use crate::{
    mysql::codec as new_codec,
    replay::{
        Replayed,
        pieces::{almost_replies, cuts, replay_cut, replay_every_split, row},
        replay,
    },
};

const LAYOUTS: [&str; 2] = ["row", "json"];

fn schema(fields: usize) -> Arc<Schema> {
    Arc::new(Schema::new("t", "f", fields))
}

fn codec(layout: &str) -> Box<dyn Codec> {
    new_codec(layout, schema(2))
}

/// Replies, numbered from 1 on, each a packet.
fn replies(payloads: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    for (number, payload) in (1..).zip(payloads) {
        let start = packet::begin(&mut out);
        out.extend_from_slice(payload);
        packet::end(&mut out, start, number);
    }
    out
}

const END: &[u8] = b"\xfe\0\0\x02\0";
const COLUMN: &[u8] = b"\x03def\0\0\0\x01a\x01a\x0c\x3f\0\0\0\0\0\xfc\0\0\0\0\0";

/// OK, with this many rows changed.
fn ok(rows: u8) -> [u8; 7] {
    [0, rows, 0, 2, 0, 0, 0]
}

fn error(code: u16) -> Vec<u8> {
    [b"\xff", &code.to_le_bytes()[..], b"#HY000went wrong"].concat()
}

/// A binary row of these columns.
fn binary(columns: &[Option<&[u8]>]) -> Vec<u8> {
    let mut out = vec![0; 1 + (columns.len() + 2).div_ceil(8)];
    for (at, column) in (2..).zip(columns) {
        match column {
            Some(bytes) => packet::write_string(&mut out, bytes),
            None => out[1 + at / 8] |= 1 << (at % 8),
        }
    }
    out
}

/// A result of rows with this many columns.
fn result(columns: u8, rows: &[Vec<u8>]) -> Vec<u8> {
    let count = [columns];
    let mut payloads: Vec<&[u8]> = vec![&count];
    payloads.extend(std::iter::repeat_n(COLUMN, columns.into()));
    payloads.push(END);
    payloads.extend(rows.iter().map(Vec::as_slice));
    payloads.push(END);
    replies(&payloads)
}

const SCAN: Operation<'_> = Operation::Scan { start: b"k", limit: 9, fields: Fields::All };
const READ: Operation<'_> = Operation::Read { key: b"k", fields: Fields::All };
const DELETE: Operation<'_> = Operation::Delete { key: b"k" };

fn scan_reply(layout: &str) -> Vec<u8> {
    let row = |key: &[u8]| match layout {
        "row" => binary(&[Some(key), Some(b"a"), None]),
        _ => binary(&[Some(key), Some(b"{\"YCSB_KEY\": \"k\", \"f0\": \"a\"}")]),
    };
    result(if layout == "row" { 3 } else { 2 }, &[row(b"k1"), row(b"k2")])
}

fn at_once(codec: &mut dyn Codec, operation: &Operation<'_>, replies: &[u8]) -> Replayed {
    replay(codec, operation, replies, [])
}

fn done(operation: &Operation<'_>, replies: &[u8]) -> Outcome {
    let replayed = replay_every_split(|| codec("row"), operation, replies);
    assert!(!replayed.broken && replayed.left.is_empty(), "{replayed:?}");
    replayed.outcome.expect("the whole reply is there")
}

#[test]
fn a_reply_split_anywhere_is_the_same_reply() {
    for layout in LAYOUTS {
        let replayed = replay_every_split(|| codec(layout), &SCAN, &scan_reply(layout));
        assert_eq!(replayed.outcome, Some(Outcome::Done), "{layout}");
        assert_eq!(replayed.rows, [row(b"k1", &[(0, b"a")]), row(b"k2", &[(0, b"a")])]);
        let read = result(1, &[binary(&[Some(b"{\"f1\": \"\\\"\"}")])]);
        let read = if layout == "row" { result(2, &[binary(&[None, Some(b"\"")])]) } else { read };
        let replayed = replay_every_split(|| codec(layout), &READ, &read);
        assert_eq!(replayed.rows, [row(b"k", &[(1, b"\"")])], "{layout}");
    }
}

#[test]
fn a_request_has_its_parameters_as_the_protocol_wants_them() {
    let mut out = Vec::new();
    let values = [FieldValue { field: 1, bytes: b"v" }];
    codec("row").encode(&Operation::Insert { key: b"key", values: &values }, &mut out);
    // Statement 3, one iteration, the second of three parameters NULL, all of them bytes.
    let expected = b"\x18\0\0\0\x17\x03\0\0\0\0\x01\0\0\0\x02\x01\xfc\0\xfc\0\xfc\0\x03key\x01v";
    assert_eq!(out.escape_ascii().to_string(), expected.escape_ascii().to_string());
    out.clear();
    codec("json").encode(&Operation::Update { key: b"k", values: &values }, &mut out);
    let content: &[u8] = b"\0\x01\xfd\0\xfd\0\xfc\0\x06$.\"f1\"\x01v\x01k";
    assert!(out.ends_with(content), "{}", out.escape_ascii());
}

#[test]
fn counts_and_errors_become_outcomes() {
    let missing = Some(FailureKind::Missing);
    for (operation, reply, expected) in [
        (READ, result(2, &[]), missing),
        (SCAN, result(3, &[]), None),
        (DELETE, replies(&[&ok(0)]), missing),
        (DELETE, replies(&[&ok(1)]), None),
        (DELETE, replies(&[&error(1213)]), Some(FailureKind::Conflict)),
        (READ, replies(&[&error(1317)]), Some(FailureKind::Timeout)),
        (DELETE, replies(&[&error(1114)]), Some(FailureKind::Full)),
        (DELETE, replies(&[&error(1406)]), Some(FailureKind::Rejected)),
    ] {
        let outcome = done(&operation, &reply);
        assert_eq!(outcome.failure_kind(), expected, "{operation:?}: {outcome:?}");
    }
}

#[test]
fn an_error_in_the_middle_of_rows_ends_the_operation_and_no_more() {
    let row = binary(&[Some(b"k1"), Some(b"a"), None]);
    let reply = replies(&[b"\x03", COLUMN, COLUMN, COLUMN, END, &row, &error(1969)]);
    let outcome = done(&SCAN, &reply);
    assert_eq!(outcome.failure_kind(), Some(FailureKind::Timeout), "{outcome:?}");
    let mut codec = codec("row");
    at_once(&mut *codec, &SCAN, &reply);
    let next = at_once(&mut *codec, &SCAN, &scan_reply("row"));
    assert_eq!((next.outcome, next.rows.len()), (Some(Outcome::Done), 2));
}

#[test]
fn an_error_with_which_the_server_closes_breaks_the_connection() {
    for (code, kind) in [
        (1053, FailureKind::Disconnected),
        (1927, FailureKind::Disconnected),
        (1153, FailureKind::Rejected),
    ] {
        let replayed = at_once(&mut *codec("row"), &READ, &replies(&[&error(code)]));
        let outcome = replayed.outcome.expect("it is over");
        assert_eq!((replayed.broken, outcome.failure_kind()), (true, Some(kind)), "{code}");
    }
}

#[test]
fn columns_that_are_not_described_again_are_those_of_the_statement() {
    let row = binary(&[Some(b"k1"), Some(b"a"), None]);
    for reply in [
        replies(&[b"\x03\0", END, &row, END]),
        replies(&[b"\x03\x01", COLUMN, COLUMN, COLUMN, END, &row, END]),
    ] {
        assert_eq!(done(&SCAN, &reply), Outcome::Done);
    }
}

/// What the server answers to preparing a statement of one parameter and one column.
const PREPARED: &[u8] = b"\0\x2a\0\0\0\x01\0\x01\0\0\0\0";

#[test]
fn a_statement_about_a_field_of_many_is_prepared_at_its_first_use() {
    let new_codec = || new_codec("row", schema(40));
    let read = Operation::Read { key: b"k", fields: Fields::One(30) };
    let prepared = replies(&[PREPARED, COLUMN, END, COLUMN, END]);
    let found = result(1, &[binary(&[Some(b"v")])]);
    let both = [&prepared[..], &found].concat();

    for cut in 0..=both.len() {
        let mut codec = new_codec();
        let first = replay(&mut *codec, &read, &both, [cut]);
        assert_eq!(first.outcome, Some(Outcome::Done), "cut at {cut}");
        assert_eq!(first.rows, [row(b"k", &[(30, b"v")])]);
        assert_eq!(first.requests[4], 0x16, "it is prepared");
        let again = at_once(&mut *codec, &read, &found);
        assert_eq!(again.requests[4..9], *b"\x17\x2a\0\0\0", "it is run by its number");
        assert!(first.requests.ends_with(&again.requests));
        assert_eq!(again.outcome, Some(Outcome::Done));
    }

    // Refused, it is prepared the next time.
    let mut codec = new_codec();
    let refused = at_once(&mut *codec, &read, &replies(&[&error(1461)]));
    let outcome = refused.outcome.expect("it is over");
    assert_eq!(outcome.failure_kind(), Some(FailureKind::Rejected));
    assert_eq!(at_once(&mut *codec, &read, &both).outcome, Some(Outcome::Done));
}

#[test]
fn a_row_of_several_packets_is_put_together() {
    for length in [LONGEST - 40, LONGEST - 7, LONGEST, LONGEST + 5] {
        let value = vec![b'v'; length];
        let mut reply = replies(&[b"\x02", COLUMN, COLUMN, END]);
        let start = packet::begin(&mut reply);
        reply.extend_from_slice(&binary(&[Some(&value), None]));
        let packets = ((reply.len() - start - 4) / LONGEST + 1) as u8;
        packet::end(&mut reply, start, 5);
        let start = packet::begin(&mut reply);
        reply.extend_from_slice(END);
        packet::end(&mut reply, start, 5 + packets);
        let replayed = replay(&mut *codec("row"), &READ, &reply, [start / 2, start]);
        assert_eq!(replayed.outcome, Some(Outcome::Done), "{length}");
        assert!(replayed.rows == [row(b"k", &[(0, &value)])], "{length}");
    }
}

#[test]
fn what_breaks_the_protocol_breaks_the_connection() {
    let two = binary(&[Some(b"a"), Some(b"b")]);
    let one_too_many = binary(&[Some(b"a"), Some(b"b"), Some(b"c")]);
    let defined: [&[u8]; 4] = [b"\x02", COLUMN, COLUMN, END];
    let after = |more: &[&[u8]]| replies(&[&defined[..], more].concat());
    let mut misnumbered = after(&[&two, END]);
    misnumbered[3] = 2;
    let in_transaction = b"\xfe\0\0\x03\0";
    let more_results = b"\xfe\0\0\x0a\0";
    for reply in [
        replies(&[&ok(1)]),
        replies(&[b""]),
        replies(&[b"\x03"]),
        replies(&[b"\x02\x02"]),
        replies(&[b"\x01\0"]),
        replies(&[b"\xfbfile"]),
        replies(&[b"\xff\x10"]),
        replies(&[b"\x02", COLUMN, COLUMN, COLUMN]),
        after(&[&two[..3]]),
        after(&[&[&two[..], b"x"].concat()]),
        after(&[&one_too_many]),
        after(&[b"\x01\0\x01a\x01b"]),
        after(&[&two, &two]),
        after(&[b"\xfe"]),
        after(&[&two, in_transaction]),
        after(&[&two, more_results]),
        misnumbered,
    ] {
        let replayed = at_once(&mut *codec("row"), &READ, &reply);
        assert!(replayed.broken, "{}: {replayed:?}", reply.escape_ascii());
        let outcome = replayed.outcome.expect("it is over");
        assert_eq!(outcome.failure_kind(), Some(FailureKind::Protocol), "{outcome:?}");
    }
    for reply in [replies(&[b"\x01", COLUMN, END, END]), replies(&[b"\0\x01"])] {
        assert!(at_once(&mut *codec("row"), &DELETE, &reply).broken);
    }
}

#[test]
fn an_unreadable_document_fails_the_operation_only() {
    let mut codec = codec("json");
    for document in [&b"{\"f0\": 1}"[..], b"", b"[]"] {
        let reply = result(2, &[binary(&[Some(b"k"), Some(document)])]);
        let replayed = at_once(&mut *codec, &SCAN, &reply);
        let outcome = replayed.outcome.expect("it is over");
        assert_eq!(
            (replayed.broken, outcome.failure_kind()),
            (false, Some(FailureKind::Protocol)),
            "{outcome:?}"
        );
        let next = at_once(&mut *codec, &SCAN, &scan_reply("json"));
        assert_eq!(next.outcome, Some(Outcome::Done));
    }
}

#[test]
fn what_the_client_refuses_is_an_outcome_after_a_ping() {
    let long = vec![b'v'; 1 << 16];
    for layout in LAYOUTS {
        let values = [FieldValue { field: 2, bytes: b"v" }];
        let too_long = [FieldValue { field: 0, bytes: &long }];
        for operation in [
            Operation::Update { key: b"k", values: &values },
            Operation::Insert { key: b"k", values: &values },
            Operation::Insert { key: b"k", values: &too_long },
            Operation::Read { key: b"k", fields: Fields::One(2) },
            Operation::Lookup { field: 0, from: b"", to: None, limit: 1, fields: Fields::All },
        ] {
            let replayed = replay_every_split(|| codec(layout), &operation, &replies(&[&ok(0)]));
            assert_eq!(replayed.requests, PING);
            let outcome = replayed.outcome.expect("it is over");
            assert_eq!(outcome.failure_kind(), Some(FailureKind::Rejected), "{outcome:?}");
        }
    }
}

const PIECES: &[&[u8]] = &[
    b"\x01\0\0\x01\x03",
    b"\x01\0\0\x01\x02",
    b"\x05\0\0\x02\x03def\0",
    b"\x05\0\0\x03\x03def\0",
    b"\x05\0\0\x04\x03def\0",
    b"\x05\0\0\x04\xfe\0\0\x02\0",
    b"\x05\0\0\x05\xfe\0\0\x02\0",
    b"\x05\0\0\x06\xfe\0\0\x02\0",
    b"\x06\0\0\x05\0\0\x01k\x01a",
    b"\x07\0\0\x06\0\0\x01k\x02{}",
    b"\x07\0\0\x01\0\x01\0\x02\0\0\0",
    b"\x04\0\0\x01\xff\x10\x04#",
];

proptest! {
    #[test]
    fn any_bytes_come_to_the_same_however_they_are_cut(
        layout in 0..LAYOUTS.len(),
        bytes in almost_replies(PIECES),
        cuts in cuts(),
    ) {
        for operation in [SCAN, READ, DELETE] {
            replay_cut(|| codec(LAYOUTS[layout]), &operation, &bytes, &cuts);
        }
    }

    #[test]
    fn a_damaged_reply_never_panics(
        layout in 0..LAYOUTS.len(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cuts in cuts(),
    ) {
        let layout = LAYOUTS[layout];
        let mut reply = scan_reply(layout);
        for (at, byte) in damage {
            let at = at.index(reply.len());
            reply[at] = byte;
        }
        replay_cut(|| codec(layout), &SCAN, &reply, &cuts);
    }
}
