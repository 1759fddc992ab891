//! Secondary indexes on Redis and Valkey: what the conformance test does not ask of every store.

#[allow(dead_code, reason = "these tests take a part of what others share")]
mod common;
#[allow(dead_code, reason = "these tests take a part of what others share")]
#[path = "common/server.rs"]
mod server;

use std::{sync::Arc, thread};

use assay_model::{Answer, FailureKind, FieldValue, Fields, Operation, Outcome, Row, Schema};
use assay_systems::{Session, System, SystemError};
use common::{Candidate, session};
use server::{Server, installed};

const DRIVERS: [&str; 2] = ["redis", "valkey"];

/// A table of this many fields, of which these first have indexes.
fn open(
    driver: &'static str,
    layout: &'static str,
    server: &Server,
    (fields, indexes): (usize, usize),
) -> Box<dyn System> {
    let schema = Schema::new("usertable", "field", fields).with_indexes(indexes);
    Candidate::new(driver, layout).open(server.target(), &Arc::new(schema))
}

fn record<'a>(values: &[&'a [u8]]) -> Vec<FieldValue<'a>> {
    (0..).zip(values).map(|(field, bytes)| FieldValue { field, bytes }).collect()
}

fn run(session: &mut dyn Session, operation: &Operation<'_>) -> Outcome {
    session.execute(operation, &mut Answer::counting())
}

fn insert(session: &mut dyn Session, key: &str, values: &[&[u8]]) -> Outcome {
    run(session, &Operation::Insert { key: key.as_bytes(), values: &record(values) })
}

/// How many records an index holds.
fn indexed(session: &mut dyn Session, field: u16) -> u64 {
    let mut answer = Answer::counting();
    let fields = Fields::One(field);
    let lookup = Operation::Lookup { field, from: b"", to: None, limit: 1_000_000, fields };
    assert_eq!(session.execute(&lookup, &mut answer), Outcome::Done);
    answer.row_count()
}

#[test]
fn an_index_that_another_run_left_is_left_alone() {
    let Some(program) = installed("redis") else { return };
    let server = Server::redis(&program, &[]);
    server.answers("ZADD _indices:field1 0 theirs", ":1");
    for layout in ["hash", "hash-noindex"] {
        let system = open("redis", layout, &server, (3, 2));
        let error = system.prepare().unwrap_err();
        assert!(matches!(error, SystemError::AlreadyThere { .. }), "{error}");
        system.remove().unwrap();
    }
    server.answers("ZCARD _indices:field1", ":1");
    // A table that does not index the field has nothing to do with it.
    open("redis", "hash", &server, (3, 1)).prepare().unwrap();
}

#[test]
fn the_indexes_go_with_their_table_and_nothing_else_does() {
    let Some(program) = installed("redis") else { return };
    let server = Server::redis(&program, &[]);
    server.answers("SET theirs 1", "+OK");
    let system = open("redis", "hash", &server, (2, 2));
    system.prepare().unwrap();
    let mut session = session(&*system);
    assert_eq!(insert(&mut *session, "user1", &[b"a", b"b"]), Outcome::Done);
    // The record, the keys, and two indexes.
    server.answers("DBSIZE", ":5");
    system.remove().unwrap();
    server.answers("DBSIZE", ":1");
    system.prepare().unwrap();
}

#[test]
fn indexes_are_not_counted_as_records() {
    let Some(program) = installed("redis") else { return };
    let server = Server::redis(&program, &[]);
    for layout in ["hash", "hash-noindex"] {
        let system = open("redis", layout, &server, (2, 2));
        system.prepare().unwrap();
        assert_eq!(system.count().unwrap(), 0, "{layout}");
        let mut session = session(&*system);
        for key in ["user1", "user2", "user2"] {
            assert_eq!(insert(&mut *session, key, &[b"a", b"b"]), Outcome::Done);
        }
        assert_eq!(system.count().unwrap(), 2, "{layout}");
        system.remove().unwrap();
    }
}

#[test]
fn a_full_server_has_an_entry_for_every_record() {
    for driver in DRIVERS {
        let Some(program) = installed(driver) else { continue };
        let server = Server::redis(&program, &["--maxmemory", "8mb"]);
        let system = open(driver, "hash-noindex", &server, (2, 1));
        system.prepare().unwrap();
        let mut session = session(&*system);
        let filler = vec![b'x'; 10_000];
        let mut records = 0u64;
        let refused = loop {
            let (key, value) = (format!("user{records}"), format!("value{records}"));
            match insert(&mut *session, &key, &[value.as_bytes(), &filler]) {
                Outcome::Done => records += 1,
                refused => break refused,
            }
        };
        assert_eq!(refused.failure_kind(), Some(FailureKind::Full), "{refused:?}");
        // The refused value took room itself.
        server.answers("CONFIG SET maxmemory 1mb", "+OK");
        let values = record(&[b"changed"]);
        let update = run(&mut *session, &Operation::Update { key: b"user0", values: &values });
        assert_eq!(update.failure_kind(), Some(FailureKind::Full), "{update:?}");
        let (from, to) = (&b"changed"[..], Some(&b"changed"[..]));
        let lookup = Operation::Lookup { field: 0, from, to, limit: 1, fields: Fields::All };
        assert_eq!(run(&mut *session, &lookup), Outcome::Missing);
        assert_eq!(system.count().unwrap(), records);
        assert_eq!(indexed(&mut *session, 0), records);
    }
}

#[test]
fn a_record_of_ten_thousand_fields_is_written() {
    const FIELDS: usize = 10_000;
    for driver in DRIVERS {
        let Some(program) = installed(driver) else { continue };
        let server = Server::redis(&program, &[]);
        let system = open(driver, "hash", &server, (FIELDS, 2));
        system.prepare().unwrap();
        let mut session = session(&*system);
        assert_eq!(insert(&mut *session, "user", &vec![&b"value"[..]; FIELDS]), Outcome::Done);
        let mut answer = Answer::counting();
        let read = Operation::Read { key: b"user", fields: Fields::All };
        assert_eq!(session.execute(&read, &mut answer), Outcome::Done);
        assert_eq!(answer.value_bytes(), (FIELDS * b"value".len()) as u64);
        assert_eq!(indexed(&mut *session, 1), 1);
    }
}

#[test]
fn a_client_without_its_scripts_is_refused_and_the_next_one_brings_them() {
    let Some(program) = installed("redis") else { return };
    let server = Server::redis(&program, &[]);
    let system = open("redis", "hash", &server, (1, 1));
    system.prepare().unwrap();
    let mut first = session(&*system);
    server.answers("SCRIPT FLUSH", "+OK");
    let refused = insert(&mut *first, "user1", &[b"a"]);
    assert_eq!(refused.failure_kind(), Some(FailureKind::Rejected), "{refused:?}");
    assert_eq!((indexed(&mut *first, 0), system.count().unwrap()), (0, 0));
    let mut second = session(&*system);
    for session in [&mut second, &mut first] {
        assert_eq!(insert(&mut **session, "user1", &[b"a"]), Outcome::Done);
    }
    assert_eq!((indexed(&mut *first, 0), system.count().unwrap()), (1, 1));
    // A record that could not be deleted is still listed: the table is removed by that list.
    server.answers("SCRIPT FLUSH", "+OK");
    let refused = run(&mut *first, &Operation::Delete { key: b"user1" });
    assert_eq!(refused.failure_kind(), Some(FailureKind::Rejected), "{refused:?}");
    assert_eq!((indexed(&mut *first, 0), system.count().unwrap()), (1, 1));
    system.remove().unwrap();
    server.answers("DBSIZE", ":0");
}

#[test]
fn a_cluster_is_refused_where_a_record_takes_several_keys() {
    for driver in DRIVERS {
        let Some(program) = installed(driver) else { continue };
        let server = Server::redis(&program, &["--cluster-enabled", "yes"]);
        server.answers("CLUSTER ADDSLOTSRANGE 0 16383", "+OK");
        for (layout, indexes) in [("hash", 0), ("hash", 1), ("hash-noindex", 1)] {
            let system = open(driver, layout, &server, (1, indexes));
            let message = system.prepare().unwrap_err().to_string();
            assert!(message.contains("cluster-enabled no"), "{message}");
            system.remove().unwrap();
        }
        for layout in ["hash-noindex", "string"] {
            let system = open(driver, layout, &server, (1, 0));
            system.prepare().unwrap_or_else(|error| panic!("{driver}:{layout}: {error}"));
            system.remove().unwrap();
        }
    }
}

/// Writers move records about in the index while others look up parts of it.
#[test]
fn a_lookup_among_updates_returns_what_belongs_in_its_order() {
    const RECORDS: usize = 40;
    const ROUNDS: usize = 3_000;
    let Some(program) = installed("redis") else { return };
    let server = Server::redis(&program, &[]);
    let system = open("redis", "hash", &server, (2, 1));
    system.prepare().unwrap();
    let mut first = session(&*system);
    for at in 0..RECORDS {
        assert_eq!(insert(&mut *first, &format!("user{at}"), &[b"m", b"rest"]), Outcome::Done);
    }
    let mut rows = 0;
    thread::scope(|scope| {
        let writers = [0, 1].map(|writer| {
            let mut session = session(&*system);
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let key = format!("user{}", (round * 7 + writer) % RECORDS);
                    let value = [b'a' + ((round * 5 + writer) % 26) as u8];
                    let values = record(&[&value]);
                    let update = Operation::Update { key: key.as_bytes(), values: &values };
                    assert_eq!(run(&mut *session, &update), Outcome::Done);
                }
            })
        });
        let mut answer = Answer::keeping();
        while !writers.iter().all(|writer| writer.is_finished()) {
            answer.clear();
            let (from, to) = (&b"h"[..], &b"q"[..]);
            let (fields, limit) = (Fields::All, 20);
            let lookup = Operation::Lookup { field: 0, from, to: Some(to), limit, fields };
            let outcome = first.execute(&lookup, &mut answer);
            assert_eq!(outcome, Outcome::of_lookup(Some(to), answer.row_count()));
            let value = |row: Row<'_>| row.fields().find(|field| field.0 == 0).unwrap().1.to_vec();
            let values: Vec<Vec<u8>> = answer.rows().map(value).collect();
            let within = values.iter().all(|value| **value >= *from && **value <= *to);
            assert!(values.is_sorted() && within, "{values:?}");
            rows += values.len();
        }
    });
    assert!(rows > 0);
    assert_eq!(indexed(&mut *first, 0), RECORDS as u64);
}
