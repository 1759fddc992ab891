//! The codec on replies as they were recorded, and on others.

use std::sync::Arc;

use assay_model::{FailureKind, FieldValue, Fields, Operation, Outcome, Schema};

use super::{
    codec,
    frame::{self, opcode},
};
use crate::{
    Codec,
    replay::{Replayed, replay},
};

fn codec_of(layout: &str, fields: usize) -> Box<dyn Codec> {
    codec(layout, Arc::new(Schema::new("usertable", "field", fields)))
}

/// A response.
fn response(opcode: u8, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let start = frame::begin(opcode, 0, &mut out);
    out[0] = 0x84;
    out.extend_from_slice(body);
    frame::end(start, &mut out);
    out
}

/// Rows without a description, of `columns` columns.
fn rows(columns: u32, values: &[Option<&[u8]>]) -> Vec<u8> {
    let count = values.len() as u32 / columns;
    let mut body = [2, 4, columns, count].map(u32::to_be_bytes).concat();
    for value in values {
        match value {
            Some(bytes) => frame::write_value(bytes, &mut body),
            None => body.extend_from_slice(&(-1_i32).to_be_bytes()),
        }
    }
    response(opcode::RESULT, &body)
}

fn error(code: u32, words: &str) -> Vec<u8> {
    let mut body = code.to_be_bytes().to_vec();
    frame::write_string(words.as_bytes(), &mut body);
    response(opcode::ERROR, &body)
}

const VOID: &[u8] = b"\x84\0\0\0\x08\0\0\0\x04\0\0\0\x01";
const READ: Operation<'_> = Operation::Read { key: b"k", fields: Fields::All };

/// Replays whole, and byte by byte, which must come to the same.
fn run(layout: &str, fields: usize, operation: &Operation<'_>, replies: &[u8]) -> Replayed {
    let whole = replay(&mut *codec_of(layout, fields), operation, replies, []);
    let pieces = replay(&mut *codec_of(layout, fields), operation, replies, 0..replies.len());
    assert_eq!(pieces, whole);
    whole
}

fn failure(replayed: &Replayed) -> (FailureKind, &str) {
    match &replayed.outcome {
        Some(Outcome::Failed(failure)) => (failure.kind, &failure.message),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_read_is_one_message() {
    let read = run("row", 2, &READ, &rows(2, &[Some(b"one"), Some(b"")]));
    let id = "\\x04".repeat(16);
    assert_eq!(
        read.requests.escape_ascii().to_string(),
        format!(
            "\\x04\\x00\\x00\\x00\\n\\x00\\x00\\x00\\x1c\\x00\\x10{id}\\x00\\x01\\x03\\x00\\x01\\x00\\x00\\x00\\x01k"
        )
    );
    assert_eq!(read.outcome, Some(Outcome::Done));
    assert_eq!(read.rows, [(b"k".to_vec(), vec![(0, b"one".to_vec()), (1, Vec::new())])]);
    let missing = run("row", 2, &READ, &rows(2, &[]));
    assert_eq!((missing.outcome, missing.rows.len()), (Some(Outcome::Missing), 0));
}

#[test]
fn an_update_leaves_the_other_columns_unset() {
    let values = [FieldValue { field: 1, bytes: b"new" }];
    let update = run("row", 3, &Operation::Update { key: b"k", values: &values }, VOID);
    assert_eq!(update.outcome, Some(Outcome::Done));
    let unset = (-2_i32).to_be_bytes();
    let parameters = [&unset[..], b"\0\0\0\x03new", &unset, b"\0\0\0\x01k"].concat();
    assert!(update.requests.ends_with(&parameters), "{}", update.requests.escape_ascii());
}

#[test]
fn a_condition_tells_what_was_there() {
    // As Cassandra describes the column that tells, in keyspace ks and table t.
    let told = |applied: u8| {
        let body = b"\0\0\0\x02\0\0\0\x01\0\0\0\x01\0\x02ks\0\x01t\0\x09[applied]\0\x04\0\0\0\x01\0\0\0\x01";
        response(opcode::RESULT, &[&body[..], &[applied]].concat())
    };
    let values = [FieldValue { field: 0, bytes: b"v" }];
    let update = Operation::Update { key: b"k", values: &values };
    let delete = Operation::Delete { key: b"k" };
    for operation in [update, delete] {
        assert_eq!(run("checked", 1, &operation, &told(1)).outcome, Some(Outcome::Done));
        assert_eq!(run("checked", 1, &operation, &told(0)).outcome, Some(Outcome::Missing));
    }
    let insert = Operation::Insert { key: b"k", values: &values };
    assert_eq!(run("checked", 1, &insert, &told(1)).outcome, Some(Outcome::Done));
    assert_eq!(failure(&run("checked", 1, &insert, &told(0))).0, FailureKind::Conflict);
}

#[test]
fn rows_of_a_scan_have_their_keys() {
    let scan = Operation::Scan { start: b"a", limit: 5, fields: Fields::One(1) };
    // It is prepared first: it is of one field.
    let prepared =
        response(opcode::RESULT, &[&b"\0\0\0\x04\0\x10"[..], &[9; 16], b"rest"].concat());
    let found = rows(2, &[Some(b"a"), Some(b"1"), Some(b"b"), None]);
    let scanned = run("ordered", 2, &scan, &[prepared, found].concat());
    assert_eq!(scanned.outcome, Some(Outcome::Done));
    assert_eq!(scanned.rows, [(b"a".to_vec(), vec![(1, b"1".to_vec())]), (b"b".to_vec(), vec![])]);
    let text = scanned.requests.escape_ascii().to_string();
    assert!(text.contains("LIMIT ?") && text.contains(&"\\t".repeat(16)), "{text}");
}

#[test]
fn what_needs_no_request_is_answered_all_the_same() {
    let supported = response(opcode::SUPPORTED, b"\0\0");
    let none = Operation::Scan { start: b"a", limit: 0, fields: Fields::All };
    assert_eq!(run("ordered", 1, &none, &supported).outcome, Some(Outcome::Done));
    let scan = Operation::Scan { start: b"a", limit: 1, fields: Fields::All };
    let refused = run("row", 1, &scan, &supported);
    assert!(failure(&refused).1.contains("layout 'ordered'"), "{refused:?}");
    let other = Operation::Read { key: b"k", fields: Fields::One(7) };
    assert_eq!(failure(&run("row", 1, &other, &supported)).0, FailureKind::Rejected);
}

#[test]
fn a_statement_that_was_forgotten_is_prepared_again() {
    let forgotten = error(0x2500, "Prepared query with ID 04 not found");
    let prepared = response(opcode::RESULT, &[&b"\0\0\0\x04\0\x10"[..], &[7; 16]].concat());
    let found = rows(1, &[Some(b"v")]);
    let read = run("row", 1, &READ, &[forgotten.clone(), prepared, found].concat());
    assert_eq!(read.outcome, Some(Outcome::Done));
    let text = read.requests.escape_ascii().to_string();
    assert!(text.contains("SELECT") && text.contains(&"\\x07".repeat(16)), "{text}");
    // Told again while it is being prepared, it is an error like any other.
    let twice = run("row", 1, &READ, &[forgotten.clone(), forgotten].concat());
    assert_eq!(failure(&twice).0, FailureKind::Rejected);
}

#[test]
fn errors_are_counted_by_kind_and_the_connection_goes_on() {
    for (code, kind) in [
        (0x1000, FailureKind::Rejected),
        (0x1001, FailureKind::Rejected),
        (0x1100, FailureKind::Timeout),
        (0x1200, FailureKind::Timeout),
        (0x2200, FailureKind::Rejected),
    ] {
        let failed = run("row", 1, &READ, &error(code, "no"));
        assert_eq!(failure(&failed).0, kind, "{code:x}");
        assert!(!failed.broken && failed.left.is_empty());
    }
}

#[test]
fn warnings_before_a_message_are_passed_over() {
    let mut warned = rows(1, &[Some(b"v")]);
    let warnings = b"\0\x01\0\x05beware";
    let warnings = &warnings[..9];
    warned[1] = 0x08;
    warned.splice(9..9, warnings.iter().copied());
    frame::end(0, &mut warned);
    assert_eq!(run("row", 1, &READ, &warned).outcome, Some(Outcome::Done));
}

#[test]
fn what_is_no_answer_breaks_the_connection() {
    let scan = Operation::Scan { start: b"a", limit: 5, fields: Fields::All };
    for (operation, replies) in [
        (READ, b"HTTP/1.1 400 Bad Request".to_vec()),
        (READ, VOID.to_vec()),
        (READ, rows(2, &[Some(b"a"), Some(b"b")])),
        (READ, rows(1, &[Some(b"a"), Some(b"b")])),
        (READ, response(opcode::RESULT, b"\0\0\0\x02\0\0\0\x04")),
        (READ, response(opcode::READY, b"")),
        (READ, response(opcode::ERROR, b"\0")),
        (READ, b"\x84\0\0\0\x08\xff\xff\xff\xff".to_vec()),
        (scan, rows(2, &[None, Some(b"b")])),
        (scan, rows(2, &[Some(&b"a"[..]); 12])),
        (scan, response(opcode::RESULT, &[2, 4, 2, u32::MAX].map(u32::to_be_bytes).concat())),
    ] {
        let layout = if matches!(operation, Operation::Scan { .. }) { "ordered" } else { "row" };
        let lost = run(layout, 1, &operation, &replies);
        assert!(lost.broken, "{replies:?}: {lost:?}");
        assert_eq!(failure(&lost).0, FailureKind::Protocol);
    }
}
