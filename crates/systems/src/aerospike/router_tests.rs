//! The router on recorded replies of three nodes.

use std::sync::Arc;

use assay_model::{Answer, FailureKind, Fields, Operation, Outcome, Schema};

use super::{
    codec::AerospikeCodec,
    message,
    partitions::{
        Map, Shared,
        tests::{node, partitions},
    },
    router::Router,
    table::Table,
};
use crate::{
    Codec, Step,
    bundle::{frame, frame::Frame},
};

const DONE: &[u8] = b"\x02\x03\0\0\0\0\0\x16\x16\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0";
const LAST: &[u8] = b"\x02\x03\0\0\0\0\0\x16\x16\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
/// One record of an index, without an end.
const FOUND: &[u8] = b"\x02\x03\0\0\0\0\0\x29\x16\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\x01\0\x01\
    \0\0\0\x03\x02\x04k\0\0\0\x08\x01\x04\0\x02f0v0";
const READ: Operation<'_> = Operation::Read { key: b"k", fields: Fields::All };
const LOOKUP: Operation<'_> =
    Operation::Lookup { field: 0, from: b"v0", to: Some(b"v0"), limit: 9, fields: Fields::All };

fn map(ids: [&str; 3]) -> Map {
    let found = (0..3u16).map(|at| {
        let number = usize::from(at);
        (node(ids[number], 3000 + at), partitions(move |partition| partition % 3 == at))
    });
    Map::new(&[], found.collect())
}

/// A client of three nodes, and the node that has the record `k`.
fn client() -> (Router, Arc<Shared>, u16) {
    let schema = Arc::new(Schema::new("t", "f", 2).with_indexes(1));
    let table = Table::new(schema, "test".into(), message::Action::Replace, false);
    let shared = Arc::new(Shared::new(map(["A", "B", "C"])));
    let map = shared.map();
    let id = message::id(b"t", b"k");
    let owner = map.owner(u16::from_le_bytes([id[0], id[1]]) & 0xfff).unwrap();
    (Router::new(AerospikeCodec::new(Arc::new(table)), Arc::clone(&shared), map), shared, owner)
}

/// Which nodes what was sent goes to.
fn asked(out: &[u8]) -> Vec<u16> {
    let mut nodes = Vec::new();
    let mut at = 0;
    while let Some((node, content, length)) = frame::first(&out[at..]) {
        if let Frame::Data(_) = content {
            nodes.push(node);
        }
        at += length;
    }
    nodes
}

fn encode(router: &mut Router, operation: &Operation<'_>) -> Vec<u16> {
    let mut out = Vec::new();
    router.encode(operation, &mut out);
    asked(&out)
}

/// Hands the router what came of nodes; how the operation ended, and how many rows it has.
fn decode(router: &mut Router, came: &[(u16, &[u8])], answer: &mut Answer) -> Step {
    let mut input = Vec::new();
    came.iter().for_each(|(node, bytes)| frame::data(*node, bytes, &mut input));
    router.decode(&input, &mut Vec::new(), answer)
}

fn outcome(step: Step) -> Option<Outcome> {
    match step {
        Step::Done { outcome, .. } => Some(outcome),
        Step::More { .. } => None,
        Step::Broken(outcome) => panic!("{outcome:?}"),
    }
}

#[test]
fn a_record_is_asked_for_at_its_node_alone() {
    let (mut router, _, owner) = client();
    let answer = &mut Answer::keeping();
    let operation = Operation::Delete { key: b"k" };
    assert_eq!(encode(&mut router, &operation), [owner]);
    let (start, rest) = DONE.split_at(11);
    assert_eq!(outcome(decode(&mut router, &[(owner, start)], answer)), None);
    assert_eq!(outcome(decode(&mut router, &[(owner, rest)], answer)), Some(Outcome::Done));
    // A reply that nobody asked for.
    let step = decode(&mut router, &[(owner, DONE)], answer);
    assert!(matches!(step, Step::Broken(_)), "{step:?}");
}

#[test]
fn what_comes_behind_the_end_of_an_operation_is_the_next_ones_failure() {
    let (mut router, _, owner) = client();
    let answer = &mut Answer::keeping();
    let operation = Operation::Delete { key: b"k" };
    let both = [DONE, DONE].concat();
    for came in [&[(owner, &both[..])][..], &[(owner, DONE), (owner, DONE)]] {
        encode(&mut router, &operation);
        assert_eq!(outcome(decode(&mut router, came, answer)), Some(Outcome::Done));
        encode(&mut router, &operation);
        let step = decode(&mut router, &[(owner, DONE)], answer);
        assert!(matches!(step, Step::Broken(_)), "{step:?}");
        (router, ..) = client();
    }
}

#[test]
fn a_lookup_ends_when_every_node_has_ended() {
    let (mut router, shared, _) = client();
    let answer = &mut Answer::keeping();
    assert_eq!(encode(&mut router, &LOOKUP), [0, 1, 2]);
    let (start, rest) = FOUND.split_at(20);
    let came = [(1, start), (0, LAST), (1, rest), (2, FOUND), (2, LAST)];
    assert_eq!(outcome(decode(&mut router, &came, answer)), None);
    assert_eq!(outcome(decode(&mut router, &[(1, LAST)], answer)), Some(Outcome::Done));
    assert_eq!(answer.row_count(), 2);
    assert!(!shared.take_doubt());
    // A partition that is gone has the map read again.
    encode(&mut router, &LOOKUP);
    let mut gone = LAST.to_vec();
    (gone[11], gone[13]) = (4, 11);
    let came = [(0, LAST), (1, LAST), (2, &gone), (2, LAST)];
    let failed = outcome(decode(&mut router, &came, answer)).unwrap();
    assert_eq!(failed.failure_kind(), Some(FailureKind::Rejected));
    assert!(shared.take_doubt());
}

#[test]
fn a_range_is_refused_by_any_node() {
    let (mut router, ..) = client();
    let range = Operation::Lookup { field: 0, from: b"a", to: None, limit: 1, fields: Fields::All };
    assert_eq!(encode(&mut router, &range), [0]);
    let build = b"\x02\x01\0\0\0\0\0\x0ebuild\t8.1.1.2\n";
    let refused = outcome(decode(&mut router, &[(0, build)], &mut Answer::keeping())).unwrap();
    assert_eq!(refused.failure_kind(), Some(FailureKind::Rejected));
}

#[test]
fn a_lost_node_fails_what_waits_for_it_and_late_answers_are_passed_over() {
    let (mut router, shared, owner) = client();
    let answer = &mut Answer::keeping();
    encode(&mut router, &LOOKUP);
    let other = (owner + 1) % 3;
    let mut input = Vec::new();
    frame::data(owner, FOUND, &mut input);
    frame::note(other, b"connection reset", &mut input);
    let failed = outcome(router.decode(&input, &mut Vec::new(), answer)).unwrap();
    assert_eq!(failed.failure_kind(), Some(FailureKind::Disconnected));
    assert!(shared.take_doubt());
    // The owner still owes the end of its answer, before that to the next operation.
    assert_eq!(encode(&mut router, &READ), [owner]);
    let late = [(owner, FOUND), (owner, LAST)];
    assert_eq!(outcome(decode(&mut router, &late, answer)), None);
    let mut missing = DONE.to_vec();
    missing[13] = 2;
    let found = outcome(decode(&mut router, &[(owner, &missing)], answer));
    assert_eq!(found, Some(Outcome::Missing));
}

#[test]
fn a_newer_map_is_taken_over_with_the_next_operation() {
    let (mut router, shared, owner) = client();
    let before = shared.map();
    let all = partitions(|_| true);
    shared.publish(Map::new(before.nodes(), vec![(node("D", 3009), all)]));
    let mut out = Vec::new();
    router.encode(&READ, &mut out);
    assert_ne!(owner, 3);
    assert_eq!(asked(&out), [3]);
    let (number, note, _) = frame::first(&out).unwrap();
    assert_eq!((number, note), (3, Frame::Note(b"10.0.0.1:3009")));
}
