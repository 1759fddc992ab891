use assay_model::Fields;

use super::*;
use crate::replay::replay;

/// What servers of version 11.41 sent.
const PREPARED: &str = "&1 2 1 1 1 735 41 35 15\n% .%2 # table_name\n% %2 # name\n% int # type\n\
    % 1 # length\n[ 7\t]\n";
const ROW: &str = "&1 8 1 3 1 757 251 159 16\n% sys.u,\tsys.u,\tsys.u # table_name\n\
    % ycsb_key,\tf0,\tf1 # name\n% clob,\tclob,\tclob # type\n% 1,\t2,\t1 # length\n\
    [ \"k\",\t\"z\\\"\\n\",\tNULL\t]\n";
const NO_ROW: &str = "&1 9 0 3 0 759 132 0 5\n% sys.u # table_name\n% f0 # name\n";
const COUNT: &str = "&1 3 1 1 1 745 10 74 9\n% .%2 # table_name\n% rowcnt # name\n% bigint # type\n\
    % 1 # length\n[ 1\t]\n";
const DUPLICATE: &str = "!40002!INSERT INTO: PRIMARY KEY constraint 'u.u_pkey' violated\n";

fn codec(quiet: bool) -> MonetCodec {
    let schema = Arc::new(Schema::new("u", "f", 2));
    MonetCodec::new(Arc::new(Statements::new(&schema)), schema, quiet)
}

fn wire(replies: &[&str]) -> Vec<u8> {
    let mut wire = Vec::new();
    replies.iter().for_each(|reply| mapi::write(&mut wire, reply.as_bytes()));
    wire
}

/// The messages in what a codec sent.
fn messages(mut wire: &[u8]) -> Vec<String> {
    let mut messages = Vec::new();
    while let Some(block) = mapi::first(wire) {
        messages.push(String::from_utf8(block.payload.to_vec()).unwrap());
        wire = &wire[block.bytes()..];
    }
    messages
}

const READ_K: Operation<'_> = Operation::Read { key: b"k", fields: Fields::All };

#[test]
fn a_statement_is_prepared_once_and_again_after_an_error() {
    let mut codec = codec(false);
    let read = replay(&mut codec, &READ_K, &wire(&[PREPARED, ROW]), []);
    assert_eq!(read.outcome, Some(Outcome::Done));
    assert_eq!(read.rows, [(b"k".to_vec(), vec![(0, b"z\"\n".to_vec())])]);
    let sent = messages(&read.requests);
    assert!(sent[0].starts_with("sPREPARE SELECT ycsb_key, \"f0\", \"f1\" FROM \"u\""), "{sent:?}");
    assert_eq!(sent[1], "sEXEC 7(E'k')\n;");

    let missing = replay(&mut codec, &READ_K, &wire(&[NO_ROW]), []);
    assert_eq!(missing.outcome, Some(Outcome::Missing));
    assert_eq!(messages(&missing.requests), ["sEXEC 7(E'k')\n;"]);

    let values = [FieldValue { field: 1, bytes: b"it's" }];
    let insert = Operation::Insert { key: b"k", values: &values };
    let refused = replay(&mut codec, &insert, &wire(&["&5 8 3 6 3\n% x # y\n", DUPLICATE]), []);
    let kind = refused.outcome.as_ref().and_then(Outcome::failure_kind);
    assert_eq!(kind, Some(assay_model::FailureKind::Conflict));
    assert_eq!(messages(&refused.requests)[1], "sEXEC 8(E'k',NULL,E'it\\'s')\n;");
    assert!(messages(&replay(&mut codec, &READ_K, b"", []).requests)[0].contains("PREPARE"));
}

#[test]
fn a_quiet_server_is_asked_how_many_rows_changed() {
    let values = [FieldValue { field: 0, bytes: b"x" }];
    let update = Operation::Update { key: b"k", values: &values };
    let changed = replay(&mut codec(true), &update, &wire(&[PREPARED, COUNT]), []);
    assert_eq!(changed.outcome, Some(Outcome::Done));
    assert_eq!(messages(&changed.requests)[1], "sEXEC 7(E'x',E'k');SELECT rowcnt\n;");
    let told = replay(&mut codec(false), &update, &wire(&[PREPARED, "&2 0 -1\n"]), []);
    assert_eq!(told.outcome, Some(Outcome::Missing));
    let silent = replay(&mut codec(false), &update, &wire(&[PREPARED, ""]), []);
    assert!(silent.broken, "{silent:?}");
}

#[test]
fn a_reply_split_anywhere_is_the_same_reply() {
    let replies = wire(&[PREPARED, ROW]);
    let whole = replay(&mut codec(false), &READ_K, &replies, []);
    for cut in 1..replies.len() {
        assert_eq!(replay(&mut codec(false), &READ_K, &replies, [cut]), whole, "cut at {cut}");
    }
}

#[test]
fn what_the_client_refuses_is_an_outcome_after_a_question_for_nothing() {
    let mut codec = codec(false);
    for key in [&b"a\0"[..], b"\xff"] {
        let operation = Operation::Read { key, fields: Fields::All };
        let refused = replay(&mut codec, &operation, &wire(&[NO_ROW]), []);
        let kind = refused.outcome.as_ref().and_then(Outcome::failure_kind);
        assert_eq!(kind, Some(assay_model::FailureKind::Rejected));
        assert_eq!(messages(&refused.requests), ["sSELECT 1 WHERE FALSE\n;"]);
    }
    let none = Operation::Scan { start: b"", limit: 0, fields: Fields::All };
    let scanned = replay(&mut codec, &none, &wire(&[NO_ROW]), []);
    assert_eq!((scanned.outcome, scanned.rows), (Some(Outcome::Done), vec![]));
}

#[test]
fn a_record_of_another_key_and_a_second_one_are_no_answer() {
    let row = |key: &str| format!("[ \"{key}\",\t\"a\",\t\"b\"\t]\n");
    for rows in [row("j"), [row("k"), row("k")].concat()] {
        let reply = format!("&1 8 {} 3 {0}\n{rows}", rows.lines().count());
        let broken = replay(&mut codec(false), &READ_K, &wire(&[PREPARED, &reply]), []);
        assert!(broken.broken, "{reply:?}: {broken:?}");
    }
}

#[test]
fn what_breaks_the_protocol_breaks_the_connection() {
    for reply in ["nonsense\n", "&1 8 2 3 2\n[ \"k\",\t\"a\",\t\"b\"\t]\n", "[ \"k\"\t]\n", ""] {
        let broken = replay(&mut codec(false), &READ_K, &wire(&[PREPARED, reply]), []);
        assert!(broken.broken, "{reply:?}: {broken:?}");
    }
}
