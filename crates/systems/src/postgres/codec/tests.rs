use assay_model::FieldValue;
use proptest::prelude::*;

use super::*;
use crate::postgres::{
    flavour::POSTGRES,
    layout::{HSTORE, JSON, JSONB, KeyPlace},
};

const BODIES: [(Body, KeyPlace); 7] = [
    (Body::Columns, KeyPlace::Column),
    (Body::Document(&HSTORE), KeyPlace::Column),
    (Body::Document(&HSTORE), KeyPlace::Document),
    (Body::Document(&JSONB), KeyPlace::Column),
    (Body::Document(&JSONB), KeyPlace::Document),
    (Body::Document(&JSON), KeyPlace::Column),
    (Body::Document(&JSON), KeyPlace::Document),
];

fn codec((body, key): (Body, KeyPlace), fields: usize) -> PostgresCodec {
    let schema = Arc::new(Schema::new("t", "f", fields));
    let dialect = Dialect { flavour: &POSTGRES, body, key };
    PostgresCodec::new(Arc::new(Statements::new(dialect, &schema)), dialect, schema)
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut message = vec![tag];
    message.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    message.extend_from_slice(body);
    message
}

fn data_row(columns: &[Option<&[u8]>]) -> Vec<u8> {
    let mut body = (columns.len() as u16).to_be_bytes().to_vec();
    for column in columns {
        match column {
            Some(bytes) => record::write_value(&mut body, bytes),
            None => record::write_null(&mut body),
        }
    }
    message(b'D', &body)
}

fn bound() -> Vec<u8> {
    message(b'2', b"")
}

fn complete(tag: &str) -> Vec<u8> {
    message(b'C', format!("{tag}\0").as_bytes())
}

fn ready() -> Vec<u8> {
    message(b'Z', b"I")
}

fn error(severity: &str, code: &str) -> Vec<u8> {
    message(b'E', format!("V{severity}\0C{code}\0Mno\0\0").as_bytes())
}

/// The document `{"f0": "a", "f1": "<quote>"}` with the key `k1` if it belongs inside.
fn stored((body, key): (Body, KeyPlace)) -> Vec<u8> {
    let inside = key == KeyPlace::Document;
    match body {
        Body::Document(document) if document.name == "hstore" => {
            let mut bytes = vec![0, 0, 0, 2 + u8::from(inside)];
            let key: &[&str] = if inside { &["YCSB_KEY", "k1"] } else { &[] };
            for text in ["f0", "a", "f1", "\""].iter().chain(key) {
                crate::postgres::hstore::write_string(&mut bytes, text.as_bytes());
            }
            bytes
        }
        _ => {
            let key = if inside { ", \"YCSB_KEY\": \"k1\"" } else { "" };
            format!("{{\"f0\": \"a\", \"f1\": \"\\\"\"{key}}}").into_bytes()
        }
    }
}

/// A scan's reply of two rows, with messages in between that may come at any time.
fn scan_reply(layout: (Body, KeyPlace)) -> Vec<u8> {
    let document = stored(layout);
    let row = match layout {
        (Body::Columns, _) => data_row(&[Some(b"k1"), Some(b"a"), Some(b"\"")]),
        (_, KeyPlace::Column) => data_row(&[Some(b"k1"), Some(&document)]),
        (_, KeyPlace::Document) => data_row(&[Some(&document)]),
    };
    let notice = message(b'N', b"VNOTICE\0C00000\0Mhello\0\0");
    let setting = message(b'S', b"TimeZone\0UTC\0");
    [bound(), row.clone(), notice, row, setting, complete("SELECT 2"), ready()].concat()
}

const SCAN: Operation<'_> = Operation::Scan { start: b"k", limit: 9, fields: Fields::All };
const READ: Operation<'_> = Operation::Read { key: b"k", fields: Fields::All };
const DELETE: Operation<'_> = Operation::Delete { key: b"k" };

/// Sends `operation`, then hands over `reply` in pieces that end at `ends`, as a caller does.
fn run(
    codec: &mut PostgresCodec,
    operation: &Operation<'_>,
    reply: &[u8],
    ends: impl Iterator<Item = usize>,
) -> (Option<Outcome>, Answer) {
    let mut out = Vec::new();
    codec.encode(operation, &mut out);
    let mut answer = Answer::keeping();
    let mut taken = 0;
    for end in ends {
        match codec.decode(&reply[taken..end], &mut Vec::new(), &mut answer) {
            Step::More { consumed } => taken += consumed,
            Step::Done { consumed, outcome } => {
                assert_eq!((taken + consumed, end), (reply.len(), reply.len()));
                return (Some(outcome), answer);
            }
            Step::Broken(outcome) => return (Some(outcome), answer),
        }
    }
    (None, answer)
}

fn at_once(codec: &mut PostgresCodec, operation: &Operation<'_>, reply: &[u8]) -> Outcome {
    run(codec, operation, reply, std::iter::once(reply.len())).0.expect("the whole reply is there")
}

type Rows = Vec<(Vec<u8>, Vec<(u16, Vec<u8>)>)>;

fn rows(answer: &Answer) -> Rows {
    let fields = |row: assay_model::Row<'_>| {
        row.fields().map(|(field, value)| (field, value.to_vec())).collect()
    };
    answer.rows().map(|row| (row.key().to_vec(), fields(row))).collect()
}

#[test]
fn a_reply_split_anywhere_is_the_same_reply() {
    for layout in BODIES {
        let reply = scan_reply(layout);
        let expected: Rows =
            vec![(b"k1".to_vec(), vec![(0, b"a".to_vec()), (1, b"\"".to_vec())]); 2];
        let mut codec = codec(layout, 2);
        let (outcome, answer) = run(&mut codec, &SCAN, &reply, 1..=reply.len());
        assert_eq!((outcome, rows(&answer)), (Some(Outcome::Done), expected.clone()), "{layout:?}");
        for split in 0..=reply.len() {
            let ends = [split, reply.len()].into_iter();
            let (outcome, answer) = run(&mut codec, &SCAN, &reply, ends);
            assert_eq!((outcome, rows(&answer)), (Some(Outcome::Done), expected.clone()));
        }
    }
}

#[test]
fn a_read_is_one_bind_execute_and_sync() {
    let mut codec = codec(BODIES[0], 2);
    let mut out = b"before".to_vec();
    codec.encode(&READ, &mut out);
    let expected =
        b"beforeB\0\0\0\x15\0s0\0\0\x01\0\x01\0\x01\0\0\0\x01k\0\0E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";
    assert_eq!(out.escape_ascii().to_string(), expected.escape_ascii().to_string());
}

#[test]
fn a_statement_is_parsed_with_its_first_use_until_the_server_has_it() {
    let mut codec = codec(BODIES[0], 2);
    let scan = Operation::Scan { start: b"k", limit: 9, fields: Fields::One(1) };
    let encoded = |codec: &mut PostgresCodec| {
        let mut out = Vec::new();
        codec.encode(&scan, &mut out);
        out[0]
    };
    assert_eq!(encoded(&mut codec), b'P');
    let refused = [error("ERROR", "53200"), ready()].concat();
    assert_eq!(at_once(&mut codec, &scan, &refused).failure_kind(), Some(FailureKind::Full));
    assert_eq!(encoded(&mut codec), b'P');
    let row = data_row(&[Some(b"k"), Some(b"v")]);
    let reply = [message(b'1', b""), bound(), row, complete("SELECT 1"), ready()].concat();
    assert_eq!(at_once(&mut codec, &scan, &reply), Outcome::Done);
    assert_eq!(encoded(&mut codec), b'B');
}

#[test]
fn counts_and_errors_become_outcomes() {
    let mut codec = codec(BODIES[0], 0);
    let row = data_row(&[]);
    for (operation, reply, expected) in [
        (READ, [bound(), complete("SELECT 0")].concat(), Some(FailureKind::Missing)),
        (READ, [bound(), row.clone(), complete("SELECT 1")].concat(), None),
        (SCAN, [bound(), complete("SELECT 0")].concat(), None),
        (DELETE, [bound(), complete("DELETE 0")].concat(), Some(FailureKind::Missing)),
        (DELETE, [bound(), complete("DELETE 1")].concat(), None),
        (DELETE, error("ERROR", "40001"), Some(FailureKind::Conflict)),
        (
            READ,
            [bound(), row.clone(), error("ERROR", "57014")].concat(),
            Some(FailureKind::Timeout),
        ),
    ] {
        let outcome = at_once(&mut codec, &operation, &[reply, ready()].concat());
        assert_eq!(outcome.failure_kind(), expected, "{operation:?}: {outcome:?}");
    }
}

#[test]
fn what_breaks_the_protocol_breaks_the_connection() {
    let row = data_row(&[Some(b"a"), Some(b"b")]);
    let short = message(b'D', b"\0\x02\0\0\0\x01a");
    let long = [&row[..], b"x"].concat();
    let long = message(b'D', &long[5..]);
    for reply in [
        message(b'2', b"")[..4].iter().chain(b"\0").copied().collect(),
        b"D\x7f\xff\xff\xff".to_vec(),
        message(b'T', b"\0\0"),
        message(b'Z', b"T"),
        ready(),
        [bound(), data_row(&[Some(b"a")])].concat(),
        [bound(), data_row(&[Some(&b"a"[..]); 3])].concat(),
        [bound(), short].concat(),
        [bound(), long].concat(),
        [bound(), message(b'D', b"\0\x02\xff\xff\xff\xfe\0\0\0\0")].concat(),
        [bound(), row.clone(), complete("SELECT 2"), ready()].concat(),
        [bound(), complete("SELECT 1"), row.clone()].concat(),
        [bound(), complete("SELECT 0"), complete("SELECT 0")].concat(),
        error("FATAL", "57P01"),
        message(b'E', b"Vno end"),
    ] {
        let mut codec = codec(BODIES[0], 2);
        codec.encode(&READ, &mut Vec::new());
        let step = codec.decode(&reply, &mut Vec::new(), &mut Answer::counting());
        assert!(matches!(step, Step::Broken(_)), "{}: {step:?}", reply.escape_ascii());
    }
}

#[test]
fn an_unreadable_document_fails_the_operation_only() {
    for (layout, document) in [
        (BODIES[1], &b"\0\0\0\x01"[..]),
        (BODIES[2], b"\0\0\0\0"),
        (BODIES[3], b"{\"f0\": 1}"),
        (BODIES[4], b"{\"f0\": \"no key\"}"),
    ] {
        let mut codec = codec(layout, 2);
        let row = match layout.1 {
            KeyPlace::Column => data_row(&[Some(b"k"), Some(document)]),
            KeyPlace::Document => data_row(&[Some(document)]),
        };
        let reply = [bound(), row, complete("SELECT 1"), ready()].concat();
        let outcome = at_once(&mut codec, &SCAN, &reply);
        assert_eq!(outcome.failure_kind(), Some(FailureKind::Protocol), "{outcome:?}");
        assert_eq!(at_once(&mut codec, &SCAN, &scan_reply(layout)), Outcome::Done);
    }
}

#[test]
fn what_the_client_refuses_is_an_outcome_after_a_sync() {
    for layout in BODIES {
        let mut codec = codec(layout, 2);
        let values = [FieldValue { field: 2, bytes: b"v" }];
        for operation in [
            Operation::Update { key: b"k", values: &values },
            Operation::Insert { key: b"k", values: &values },
            Operation::Read { key: b"k", fields: Fields::One(2) },
            Operation::Lookup { field: 0, from: b"", to: None, limit: 1, fields: Fields::All },
        ] {
            let mut out = Vec::new();
            codec.encode(&operation, &mut out);
            assert_eq!(out, SYNC);
            let outcome = at_once(&mut codec, &operation, &ready());
            assert_eq!(outcome.failure_kind(), Some(FailureKind::Rejected));
        }
        assert_eq!(at_once(&mut codec, &SCAN, &scan_reply(layout)), Outcome::Done);
    }
}

#[test]
fn a_nul_in_an_update_reaches_the_server_as_it_is() {
    let mut codec = codec(BODIES[3], 2);
    let mut out = Vec::new();
    let values = [FieldValue { field: 0, bytes: b"a\0b" }];
    codec.encode(&Operation::Update { key: b"k", values: &values }, &mut out);
    assert!(out.windows(5).any(|part| part == b"\"a\0b\""), "{}", out.escape_ascii());
}

proptest! {
    #[test]
    fn random_bytes_never_panic(
        layout in 0..BODIES.len(),
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        end in 0usize..300,
    ) {
        let mut codec = codec(BODIES[layout], 2);
        let ends = [end.min(bytes.len()), bytes.len()];
        codec.encode(&SCAN, &mut Vec::new());
        let mut taken = 0;
        for end in ends {
            match codec.decode(&bytes[taken..end.max(taken)], &mut Vec::new(), &mut Answer::keeping()) {
                Step::More { consumed } => taken += consumed,
                _ => break,
            }
        }
    }

    #[test]
    fn a_damaged_reply_never_panics(
        layout in 0..BODIES.len(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let layout = BODIES[layout];
        let mut codec = codec(layout, 2);
        let mut reply = scan_reply(layout);
        for (at, byte) in damage {
            let at = at.index(reply.len());
            reply[at] = byte;
        }
        codec.encode(&SCAN, &mut Vec::new());
        codec.decode(&reply, &mut Vec::new(), &mut Answer::keeping());
    }
}
