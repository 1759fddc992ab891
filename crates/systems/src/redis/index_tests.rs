//! The codec of a table with secondary indexes, on recorded replies.

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

/// Three fields, of which the first two have indexes.
fn codec(layout: &str) -> Box<dyn Codec> {
    super::codec(layout, Arc::new(Schema::new("t", "f", 3).with_indexes(2)))
}

fn split(layout: &str, operation: Operation<'_>, replies: &[u8]) -> Replayed {
    replay_every_split(|| codec(layout), &operation, replies)
}

/// A request of these strings.
fn request(strings: &[&str]) -> String {
    let arguments: Vec<&[u8]> = strings.iter().map(|string| string.as_bytes()).collect();
    let mut out = Vec::new();
    super::resp::request(&arguments, &mut out);
    String::from_utf8(out).unwrap()
}

fn sent(replayed: &Replayed) -> String {
    String::from_utf8(replayed.requests.clone()).unwrap()
}

const VALUES: [FieldValue<'_>; 3] = [
    FieldValue { field: 0, bytes: b"v0" },
    FieldValue { field: 1, bytes: b"" },
    FieldValue { field: 2, bytes: b"v2" },
];

const LOOKUP: Operation<'_> =
    Operation::Lookup { field: 1, from: b"b", to: Some(b"d"), limit: 7, fields: Fields::All };

fn lookup_one(field: u16) -> Operation<'static> {
    Operation::Lookup { field: 1, from: b"b", to: None, limit: 7, fields: Fields::One(field) }
}

fn range(high: &str) -> String {
    request(&["ZRANGE", "_indices:f1", "[b", high, "BYLEX", "LIMIT", "0", "7"])
}

#[test]
fn an_insert_is_a_script_that_knows_the_indexes() {
    let insert = Operation::Insert { key: b"k", values: &VALUES };
    let inserted = split("hash", insert, b":1\r\n");
    assert_eq!(inserted.outcome, Some(Outcome::Done));
    let script = |sets: &[&str], mode| {
        let count = (1 + sets.len()).to_string();
        let fields = [mode, "f0", "v0", "f1", "", "f2", "v2"];
        request(&[&["EVALSHA", "write", &count, "k"], sets, &fields].concat())
    };
    let sets = ["_indices:f0", "_indices:f1", "_indices"];
    assert_eq!(sent(&inserted), script(&sets, "LIST"));
    let inserted = split("hash-noindex", insert, b":1\r\n");
    assert_eq!(sent(&inserted), script(&sets[..2], ""));
    assert_eq!(inserted.outcome, Some(Outcome::Done));
}

#[test]
fn an_update_of_an_indexed_field_is_the_script_and_of_another_is_not() {
    let values = [VALUES[2], VALUES[1]];
    let update = Operation::Update { key: b"k", values: &values };
    let updated = split("hash", update, b":1\r\n");
    assert_eq!(updated.outcome, Some(Outcome::Done));
    let expected = ["EVALSHA", "write", "2", "k", "_indices:f1", "XX", "f1", "", "f2", "v2"];
    assert_eq!(sent(&updated), request(&expected));
    assert_eq!(split("hash", update, b":0\r\n").outcome, Some(Outcome::Missing));

    let update = Operation::Update { key: b"k", values: &VALUES[2..] };
    let updated = split("hash", update, b":0\r\n");
    assert_eq!(sent(&updated), request(&["HSET", "k", "f2", "v2"]));
    assert_eq!(updated.outcome, Some(Outcome::Done));
    let undone = split("hash", update, b":1\r\n:1\r\n");
    assert!(sent(&undone).ends_with(&request(&["HDEL", "k", "f2"])));
    assert_eq!(undone.outcome, Some(Outcome::Missing));
}

#[test]
fn a_delete_takes_the_entries_away() {
    let delete = Operation::Delete { key: b"k" };
    let script = |sets: &[&str]| {
        let count = (1 + sets.len()).to_string();
        request(&[&["EVALSHA", "delete", &count, "k"], sets, &["f0", "f1"]].concat())
    };
    let sets = ["_indices:f0", "_indices:f1", "_indices"];
    for (layout, sets) in [("hash", &sets[..]), ("hash-noindex", &sets[..2])] {
        let deleted = split(layout, delete, b":1\r\n");
        assert_eq!((sent(&deleted), deleted.outcome), (script(sets), Some(Outcome::Done)));
        assert_eq!(split(layout, delete, b":0\r\n").outcome, Some(Outcome::Missing));
    }
}

#[test]
fn the_loader_adds_the_entries_of_a_record() {
    let schema = Arc::new(Schema::new("t", "f", 3).with_indexes(2));
    let table = super::table::Table::new(schema, "hash", "keys");
    let values = [FieldValue { field: 0, bytes: b"a\0b" }, VALUES[1], VALUES[2]];
    let mut out = Vec::new();
    assert_eq!(table.insert(b"k", &values, &mut out), 4);
    let expected =
        b"*8\r\n$4\r\nHSET\r\n$1\r\nk\r\n$2\r\nf0\r\n$3\r\na\0b\r\n$2\r\nf1\r\n$0\r\n\r\n\
        $2\r\nf2\r\n$2\r\nv2\r\n\
        *4\r\n$4\r\nZADD\r\n$4\r\nkeys\r\n$1\r\n0\r\n$1\r\nk\r\n\
        *4\r\n$4\r\nZADD\r\n$7\r\nkeys:f0\r\n$1\r\n0\r\n$7\r\na\0\xffb\0\0k\r\n\
        *4\r\n$4\r\nZADD\r\n$7\r\nkeys:f1\r\n$1\r\n0\r\n$3\r\n\0\0k\r\n";
    assert_eq!(out.escape_ascii().to_string(), expected.escape_ascii().to_string());
}

#[test]
fn a_lookup_reads_the_entries_and_then_each_record() {
    let reply = b"*2\r\n$5\r\nb\0\0k1\r\n$6\r\nb1\0\0k2\r\n\
        *4\r\n$2\r\nf0\r\n$1\r\nx\r\n$2\r\nf1\r\n$1\r\nb\r\n\
        *4\r\n$2\r\nf1\r\n$2\r\nb1\r\n$2\r\nf0\r\n$1\r\ny\r\n";
    let found = split("hash", LOOKUP, reply);
    assert_eq!(found.outcome, Some(Outcome::Done));
    let rows = [row(b"k1", &[(0, b"x"), (1, b"b")]), row(b"k2", &[(1, b"b1"), (0, b"y")])];
    assert_eq!(found.rows, rows);
    let records = request(&["HGETALL", "k1"]) + &request(&["HGETALL", "k2"]);
    assert_eq!(sent(&found), range("(d\0\x01") + &records);
    assert_eq!(split("hash-noindex", LOOKUP, reply), found);
}

#[test]
fn a_lookup_of_one_field_reads_the_indexed_one_with_it() {
    let reply = b"*1\r\n$4\r\nb\0\0k\r\n*2\r\n$1\r\nb\r\n$1\r\nx\r\n";
    let found = split("hash", lookup_one(2), reply);
    assert_eq!(found.rows, [row(b"k", &[(2, b"x")])]);
    assert_eq!(sent(&found), range("+") + &request(&["HMGET", "k", "f1", "f2"]));

    let reply = b"*1\r\n$4\r\nb\0\0k\r\n*1\r\n$1\r\nb\r\n";
    let found = split("hash", lookup_one(1), reply);
    assert_eq!(found.rows, [row(b"k", &[(1, b"b")])]);
    assert_eq!(sent(&found), range("+") + &request(&["HMGET", "k", "f1"]));
}

#[test]
fn records_that_changed_after_the_index_was_read_are_left_out() {
    // The first was deleted, the second has got another value, the third is as it was.
    let entries = b"*3\r\n$5\r\nb\0\0k1\r\n$5\r\nc\0\0k2\r\n$5\r\nd\0\0k3\r\n";
    let all = b"*0\r\n*2\r\n$2\r\nf1\r\n$1\r\ne\r\n*2\r\n$2\r\nf1\r\n$1\r\nd\r\n";
    let found = split("hash", LOOKUP, &[&entries[..], all].concat());
    assert_eq!(found.rows, [row(b"k3", &[(1, b"d")])]);
    assert_eq!(found.outcome, Some(Outcome::Done));

    let one = b"*2\r\n$-1\r\n$-1\r\n*2\r\n$1\r\ne\r\n$1\r\nx\r\n*2\r\n$1\r\nd\r\n$1\r\ny\r\n";
    let found = split("hash", lookup_one(0), &[&entries[..], one].concat());
    assert_eq!(found.rows, [row(b"k3", &[(0, b"y")])]);

    let found = split("hash", LOOKUP, b"*1\r\n$5\r\nb\0\0k1\r\n*0\r\n");
    assert_eq!((found.outcome, found.rows.len()), (Some(Outcome::Missing), 0));
}

#[test]
fn a_range_without_entries_is_missing_if_it_has_an_end() {
    assert_eq!(split("hash", LOOKUP, b"*0\r\n").outcome, Some(Outcome::Missing));
    assert_eq!(split("hash", lookup_one(0), b"*0\r\n").outcome, Some(Outcome::Done));
}

#[test]
fn a_lookup_without_an_index_is_refused() {
    let by =
        |field| Operation::Lookup { field, from: b"", to: None, limit: 1, fields: Fields::All };
    for (layout, field) in [("hash", 2), ("hash-noindex", 2), ("string", 0)] {
        let refused = split(layout, by(field), b"+PONG\r\n").outcome.unwrap();
        assert_eq!(refused.failure_kind(), Some(FailureKind::Rejected), "{layout}");
    }
}

#[test]
fn a_refused_script_is_told_by_its_reason() {
    let insert = Operation::Insert { key: b"k", values: &VALUES };
    let refused = split("hash", insert, b"-OOM command not allowed\r\n");
    assert_eq!(refused.outcome.unwrap().failure_kind(), Some(FailureKind::Full));
    assert_eq!(refused.left, b"");
    let update = Operation::Update { key: b"k", values: &VALUES };
    let refused = split("hash", update, b"-NOSCRIPT No matching script.\r\n");
    assert_eq!(refused.outcome.unwrap().failure_kind(), Some(FailureKind::Rejected));
}

#[test]
fn replies_that_do_not_belong_break_the_connection() {
    let update = Operation::Update { key: b"k", values: &VALUES };
    for (operation, reply) in [
        (LOOKUP, &b"*1\r\n$1\r\nk\r\n"[..]),
        (LOOKUP, b"*1\r\n$5\r\nb\0\x01k1\r\n"),
        (LOOKUP, b"*1\r\n$5\r\nb\0\0k1\r\n$1\r\nb\r\n"),
        (lookup_one(0), b"*1\r\n$5\r\nb\0\0k1\r\n*1\r\n"),
        (lookup_one(0), b"*1\r\n$5\r\nb\0\0k1\r\n$1\r\nb\r\n"),
        (lookup_one(1), b"*1\r\n$5\r\nb\0\0k1\r\n$-1\r\n"),
        (lookup_one(1), b"*1\r\n$5\r\nb\0\0k1\r\n*1\r\n:1\r\n"),
        (update, b"+OK\r\n"),
    ] {
        let whole = replay(&mut *codec("hash"), &operation, reply, []);
        assert!(whole.broken, "{whole:?}");
        assert_eq!(whole.outcome.unwrap().failure_kind(), Some(FailureKind::Protocol));
    }
}

/// Parts of true replies.
const PIECES: &[&[u8]] = &[
    b"*2\r\n",
    b"*1\r\n",
    b"*0\r\n",
    b"$-1\r\n",
    b"$2\r\nf1\r\n",
    b"$1\r\nb\r\n",
    b"$4\r\nb\0\0k\r\n",
    b":1\r\n",
    b"-ERR no\r\n",
];

proptest! {
    #[test]
    fn no_reply_makes_a_codec_panic(
        reply in almost_replies(PIECES),
        cuts in cuts(),
        operation in 0usize..6,
    ) {
        let operation = [
            LOOKUP,
            lookup_one(0),
            lookup_one(1),
            Operation::Insert { key: b"k", values: &VALUES },
            Operation::Update { key: b"k", values: &VALUES[1..] },
            Operation::Delete { key: b"k" },
        ][operation];
        replay_cut(|| codec("hash"), &operation, &reply, &cuts);
    }
}
