//! Aerospike: on a server of the tests' own where it is installed, on one by URL where there is one, and
//! on recorded exchanges. What is not installed is skipped by name.

#[path = "common/attached.rs"]
mod attached;
#[allow(dead_code, reason = "these tests take a part of what others share")]
mod common;
#[path = "common/paused.rs"]
mod paused;
#[path = "common/recorded.rs"]
mod recorded;
#[allow(dead_code, reason = "these tests take a part of what others share")]
#[path = "common/records.rs"]
mod records;

#[path = "aerospike/server.rs"]
mod server;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use assay_model::{
    Answer, Durability, Endpoint, FailureKind, FieldValue, Fields, Operation, Outcome, Schema,
    Secret,
};
use assay_systems::{Opening, System, SystemError, Target, registry};
use attached::attached;
use common::{Candidate, session};
use recorded::{Exchange, serve};
use server::{Server, Storage};

fn aerospike() -> Candidate {
    Candidate::new("aerospike", "bins")
}

#[test]
fn aerospike_conforms() {
    let Some(endpoint) = attached("aerospike") else { return };
    aerospike().conforms(|| Target::Server(endpoint.clone()));
}

#[test]
fn a_node_with_its_records_in_memory_conforms() {
    let Some(server) = Server::start(Storage::Memory) else { return };
    aerospike().conforms(|| server.target());
}

#[test]
fn a_node_with_its_records_in_a_file_conforms() {
    let Some(server) = Server::start(Storage::File) else { return };
    let buffered = Candidate { durability: Durability::Buffered, ..aerospike() };
    buffered.conforms(|| server.target());
}

#[test]
fn a_cluster_conforms() {
    let Some(server) = Server::cluster(3, Storage::Memory) else { return };
    aerospike().conforms(|| server.target());
}

#[test]
fn records_lie_on_all_nodes_and_are_followed_when_one_goes() {
    let Some(mut server) = Server::cluster(3, Storage::Memory) else { return };
    let schema = Arc::new(Schema::new("UserTable", "field", 3).with_indexes(1));
    let system = aerospike().open(server.target(), &schema);
    system.prepare().unwrap();
    records::load(&*system, 300).unwrap();
    assert_eq!(system.count().unwrap(), 300);
    for node in 0..3 {
        let set = server.info(node, "sets/test/UserTable");
        let objects =
            set.split([':', ';', '\t']).find_map(|pair| pair.trim().strip_prefix("objects="));
        let objects: u64 = objects.expect("it has the set").parse().unwrap();
        assert!(objects > 100, "node {node} has {objects} of 600 copies");
    }
    let identity = system.identity().unwrap();
    assert!(identity.settings.contains(&("nodes".into(), "3".into())), "{identity:?}");
    let mut client = records::session(&*system);
    let (_, before) = records::read(&mut client, "user000007", Fields::All);
    server.kill(2);
    // Until the others have noticed, operations on what it had fail; then none does.
    let end = Instant::now() + Duration::from_secs(30);
    let mut right = 0;
    while right < 300 {
        assert!(Instant::now() < end, "only {right} records are read in a row");
        let (outcome, _) = records::read(&mut client, &format!("user{right:06}"), Fields::All);
        right = if outcome == Outcome::Done { right + 1 } else { 0 };
    }
    assert_eq!(records::read(&mut client, "user000007", Fields::All).1, before);
    server.settle();
    assert_eq!(system.count().unwrap(), 300);
    let (_, fields) = &before[0];
    let value = &fields[0].1;
    let asked =
        Operation::Lookup { field: 0, from: value, to: Some(value), limit: 9, fields: Fields::All };
    let (outcome, found) = records::ask(&mut client, asked);
    assert_eq!(outcome, Outcome::Done);
    assert!(found.contains(&before[0]), "{found:?}");
    system.remove().unwrap();
    assert_eq!(system.count().unwrap(), 0);
}

#[test]
fn indexes_that_are_there_are_left_alone() {
    let Some(server) = Server::start(Storage::Memory) else { return };
    let schema = Arc::new(Schema::new("UserTable", "field", 3).with_indexes(2));
    let system = aerospike().open(server.target(), &schema);
    system.prepare().unwrap();
    assert!(server.info(0, "sindex-list:ns=test").contains("indexname=UserTable_field1"));
    let other = aerospike().open(server.target(), &schema);
    match other.prepare() {
        Err(SystemError::AlreadyThere { what, .. }) => {
            assert!(what.contains("the index 'UserTable_field"), "{what}");
        }
        refused => panic!("{refused:?}"),
    }
    other.remove().unwrap();
    assert!(server.info(0, "sindex-list:ns=test").contains("indexname=UserTable_field1"));
    system.remove().unwrap();
    assert!(!server.info(0, "sindex-list:ns=test").contains("UserTable"));
}

fn three_fields() -> Arc<Schema> {
    Arc::new(Schema::new("UserTable", "field", 3))
}

/// Opened with this time limit for an operation.
fn impatient(target: Target, timeout: Duration) -> Box<dyn System> {
    let driver = registry::find("aerospike").expect("the driver is registered");
    let opening = Opening {
        target,
        layout: "bins".into(),
        schema: three_fields(),
        durability: Durability::None,
        settings: Default::default(),
        timeout,
    };
    (driver.open)(opening).expect("it opens")
}

#[test]
fn records_that_are_there_are_left_alone() {
    let Some(server) = Server::start(Storage::Memory) else { return };
    let system = aerospike().open(server.target(), &three_fields());
    system.prepare().unwrap();
    let mut client = records::session(&*system);
    let fields = [(0, "a"), (1, "b"), (2, "c")];
    assert_eq!(records::insert(&mut client, "k", &fields), Outcome::Done);
    let other = aerospike().open(server.target(), &three_fields());
    match other.prepare() {
        Err(SystemError::AlreadyThere { what, .. }) => assert!(what.contains("1 record"), "{what}"),
        refused => panic!("{refused:?}"),
    }
    other.remove().unwrap();
    let expected = [records::row("k", &fields)];
    assert_eq!(records::read(&mut client, "k", Fields::All).1, expected);
    let synced = Candidate { durability: Durability::Synced, ..aerospike() };
    let refused = synced.open(server.target(), &three_fields()).prepare().unwrap_err();
    assert!(refused.to_string().contains("commit-to-device"), "{refused}");
    system.remove().unwrap();
}

#[test]
fn a_paused_server_runs_into_the_time_limit() {
    let Some(server) = Server::start(Storage::Memory) else { return };
    let system = impatient(server.target(), Duration::from_secs(2));
    paused::runs_into_the_time_limit(&*system, || server.pause(), || server.resume());
}

#[test]
fn clients_of_a_server_that_ended_are_told_and_new_ones_go_on() {
    let Some(mut server) = Server::start(Storage::Memory) else { return };
    let system = aerospike().open(server.target(), &three_fields());
    system.prepare().unwrap();
    let mut before = records::session(&*system);
    let fields = [(0, "a"), (1, "b"), (2, "c")];
    assert_eq!(records::insert(&mut before, "k", &fields), Outcome::Done);
    server.restart();
    for _ in 0..2 {
        let (outcome, _) = records::read(&mut before, "k", Fields::All);
        assert_eq!(records::kind(&outcome), FailureKind::Disconnected, "{outcome:?}");
    }
    // Its records were in memory.
    let (outcome, _) = records::read(&mut records::session(&*system), "k", Fields::All);
    assert_eq!(outcome, Outcome::Missing);
    system.remove().unwrap();
}

/// The length of the first request in `input`.
fn whole(input: &[u8]) -> Option<usize> {
    let (proto, rest) = input.split_first_chunk::<8>()?;
    let length = usize::from(proto[6]) * 256 + usize::from(proto[7]);
    (rest.len() >= length).then_some(8 + length)
}

fn one_field() -> Arc<Schema> {
    Arc::new(Schema::new("t", "f", 1))
}

const ALONE: Exchange = (
    b"\x02\x01\0\0\0\0\0\x0bstatistics\n",
    b"\x02\x01\0\0\0\0\0\x2bstatistics\tcluster_size=1;cluster_key=A9C2\n",
);
const NAMESPACES: Exchange =
    (b"\x02\x01\0\0\0\0\0\x0bnamespaces\n", b"\x02\x01\0\0\0\0\0\x10namespaces\ttest\n");
const IN_MEMORY: Exchange = (
    b"\x02\x01\0\0\0\0\0\x0fnamespace/test\n",
    b"\x02\x01\0\0\0\0\0\x3cnamespace/test\treplication-factor=1;storage-engine=memory\n\n\n",
);
const NO_SET: Exchange =
    (b"\x02\x01\0\0\0\0\0\x0csets/test/t\n", b"\x02\x01\0\0\0\0\0\x0dsets/test/t\t\n");

#[test]
fn a_recorded_node_is_prepared_and_asked() {
    static NODE: &[Exchange] = &[
        ALONE,
        NAMESPACES,
        IN_MEMORY,
        NO_SET,
        (b"\x02\x01\0\0\0\0\0\x06build\n", b"\x02\x01\0\0\0\0\0\x0ebuild\t8.1.1.2\n"),
        (
            b"\x02\x01\0\0\0\0\0\x08edition\n",
            b"\x02\x01\0\0\0\0\0\x24edition\tAerospike Community Edition\n",
        ),
        // Reads of one message and writes of another, told apart by the first flags.
        (
            b"\x02\x03\0\0\0\0\0\x3e\x16\x03",
            b"\x02\x03\0\0\0\0\0\x22\x16\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\x01\
              \0\0\0\x08\x01\x04\0\x02f0v0",
        ),
        (b"\x02\x03", b"\x02\x03\0\0\0\0\0\x16\x16\0\0\0\0\x05\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0"),
    ];
    let system = aerospike().open(Target::Server(serve(NODE, whole)), &one_field());
    system.prepare().unwrap();
    assert_eq!(system.count().unwrap(), 0);
    let identity = system.identity().unwrap();
    assert_eq!(identity.version, "Aerospike Community Edition 8.1.1.2");
    assert!(identity.settings.contains(&("storage-engine".into(), "memory".into())));
    let mut session = session(&*system);
    let mut answer = Answer::keeping();
    let read = Operation::Read { key: b"user1", fields: Fields::All };
    assert_eq!(session.execute(&read, &mut answer), Outcome::Done);
    let row = answer.rows().next().unwrap();
    assert_eq!((row.key(), row.fields().next()), (&b"user1"[..], Some((0, &b"v0"[..]))));
    let values = [FieldValue { field: 0, bytes: b"v0" }];
    let insert = Operation::Insert { key: b"user1", values: &values };
    let refused = session.execute(&insert, &mut answer);
    assert_eq!(refused.failure_kind(), Some(assay_model::FailureKind::Conflict));
}

#[test]
fn a_node_that_is_not_what_was_asked_for_is_refused() {
    static NODE: &[Exchange] = &[ALONE, NAMESPACES, IN_MEMORY, NO_SET];
    let at = |durability| Candidate { durability, ..aerospike() };
    for (candidate, node, namespace, word) in [
        (at(Durability::Buffered), NODE, "test", "storage-engine device"),
        (at(Durability::Synced), NODE, "test", "commit-to-device"),
        (aerospike(), NODE, "other", "no namespace 'other'"),
    ] {
        let endpoint = Endpoint { database: Some(namespace.into()), ..serve(node, whole) };
        let refused = candidate.open(Target::Server(endpoint), &one_field()).prepare();
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(word), "{refused}");
    }
}

#[test]
fn a_login_is_refused_and_no_password_shown() {
    static SECURE: &[Exchange] = &[(
        b"\x02\x01\0\0\0\0\0\x0bstatistics\n",
        b"\x02\x01\0\0\0\0\0\x1fERROR:80:not authenticated yet\n",
    )];
    let endpoint = serve(SECURE, whole);
    let password = Some(Secret::new("hunter2"));
    for endpoint in [Endpoint { user: Some("u".into()), password, ..endpoint.clone() }, endpoint] {
        let refused = aerospike().open(Target::Server(endpoint), &one_field()).prepare();
        let refused = refused.unwrap_err();
        assert!(matches!(refused, SystemError::LoginRefused { .. }), "{refused}");
        assert!(!refused.to_string().contains("hunter2"));
    }
}
