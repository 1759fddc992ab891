//! Riak KV: on a node by URL, or one of the tests' own where Riak is installed, and on recorded exchanges.
//! Without either the tests that need a node are skipped by name.

#[path = "common/attached.rs"]
mod attached;
#[allow(dead_code, reason = "these tests take a part of what others share")]
mod common;

#[path = "common/recorded.rs"]
mod recorded;
#[path = "riak/server.rs"]
mod server;

use std::{sync::Arc, time::Duration};

use assay_model::{
    Answer, Durability, Endpoint, FailureKind, FieldValue, Fields, Operation, Outcome, Schema,
    Secret,
};
use assay_systems::{Opening, SystemError, Target, conformance::Updates};
use attached::attached;
use common::{Candidate, session};
use recorded::{Exchange, serve};
use server::Server;

fn riak(layout: &'static str) -> Candidate {
    // With eventual consistency the later of two updates wins.
    let updates = if layout == "strong" { Updates::Isolated } else { Updates::MayBeLost };
    Candidate { updates, ..Candidate::new("riak", layout) }
}

fn conforms(candidate: &Candidate) {
    if let Some(endpoint) = attached("riak") {
        return candidate.conforms(|| Target::Server(endpoint.clone()));
    }
    let Some(server) = Server::start() else { return };
    candidate.conforms(|| Target::Server(server.endpoint()));
}

#[test]
fn riak_conforms_with_its_indexes() {
    conforms(&riak("value"));
}

#[test]
fn riak_conforms_without_indexes_and_synced() {
    conforms(&Candidate { durability: Durability::Synced, ..riak("value-noindex") });
}

#[test]
fn riak_conforms_with_strong_consistency() {
    conforms(&riak("strong"));
}

#[test]
fn a_paused_node_runs_into_the_time_limit() {
    let Some(server) = Server::start() else { return };
    let candidate = riak("value");
    let opened = (candidate.driver().open)(Opening {
        target: Target::Server(server.endpoint()),
        layout: candidate.layout.into(),
        schema: Arc::new(Schema::new("usertable", "field", 3)),
        durability: candidate.durability,
        settings: Default::default(),
        timeout: Duration::from_secs(2),
    });
    let system = opened.expect("the driver opens");
    system.prepare().unwrap();
    let mut session = session(&*system);
    let read = Operation::Read { key: b"user1", fields: Fields::All };
    let mut answer = Answer::keeping();
    assert_eq!(session.execute(&read, &mut answer), Outcome::Missing);
    server.pause();
    let outcome = session.execute(&read, &mut answer);
    assert_eq!(outcome.failure_kind(), Some(FailureKind::Timeout), "{outcome:?}");
    match system.connect().err().expect("it does not answer") {
        SystemError::Unreachable { why, .. } => assert!(why.contains("time limit"), "{why}"),
        other => panic!("{other}"),
    }
    server.resume();
    drop(session);
    system.remove().unwrap();
}

/// The length of the first request in `input`.
fn whole(input: &[u8]) -> Option<usize> {
    let head = input.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&input[..head]).to_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
    let end = head + length.map_or(0, |length| length.trim().parse().expect("a length"));
    (input.len() >= end).then_some(end)
}

const PING: Exchange = (
    b"GET /ping HTTP/1.1\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nOK",
);
const TYPE: Exchange = (
    b"GET /types/default/props",
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n\
      {\"props\":{\"allow_mult\":false,\"n_val\":3,\"pr\":0   }}",
);
const NO_KEYS: Exchange = (
    b"GET /types/default/buckets/usertable/index/%24bucket/_ ",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n{\"keys\":[]}\r\n0\r\n\r\n",
);
const LEVELDB: Exchange = (
    b"GET /stats",
    b"HTTP/1.1 200 OK\r\nContent-Length: 117\r\n\r\n{\"memory_total\":43699112,\
      \"storage_backend\":\"riak_kv_eleveldb_backend\",\"riak_kv_version\":\"3.2.1\",\
      \"ring_members\":[\"a\"]}",
);
const SET: Exchange =
    (b"PUT /types/default/buckets/usertable/props", b"HTTP/1.1 204 No Content\r\n\r\n");
const HAVE: Exchange = (
    b"GET /types/default/buckets/usertable/props",
    b"HTTP/1.1 200 OK\r\nContent-Length: 144\r\n\r\n{\"props\":{\"n_val\":1,\"r\":\"quorum\",\
      \"w\":\"quorum\",\"dw\":\"quorum\",\"pr\":0,\"pw\":0,\"allow_mult\":false,\"last_write_wins\":false,\
      \"sync_on_write\":\"backend\"}}",
);

fn one_field() -> Arc<Schema> {
    Arc::new(Schema::new("usertable", "field", 1))
}

#[test]
fn a_recorded_node_is_prepared_and_asked() {
    static NODE: &[Exchange] = &[
        PING,
        TYPE,
        NO_KEYS,
        LEVELDB,
        SET,
        HAVE,
        (
            b"PUT /types/default/buckets/usertable/keys/user1 HTTP/1.1\r\n",
            b"HTTP/1.1 204 No Content\r\nVary: Accept-Encoding\r\n\r\n",
        ),
        (
            b"GET /types/default/buckets/usertable/keys/user1 HTTP/1.1\r\n",
            b"HTTP/1.1 200 OK\r\nX-Riak-Vclock: a85hYGBgzGDKBVI8\r\nContent-Length: 5\r\n\r\nhello",
        ),
        (
            b"GET /types/default/buckets/usertable/keys/user2 HTTP/1.1\r\n",
            b"HTTP/1.1 404 Object Not Found\r\nContent-Length: 10\r\n\r\nnot found\n",
        ),
    ];
    let system = riak("value").open(Target::Server(serve(NODE, whole)), &one_field());
    system.prepare().unwrap();
    let identity = system.identity().unwrap();
    assert_eq!(identity.version, "Riak KV 3.2.1");
    assert!(identity.settings.contains(&("n_val".into(), "1".into())), "{identity:?}");
    let mut session = session(&*system);
    let values = [FieldValue { field: 0, bytes: b"hello" }];
    let mut answer = Answer::keeping();
    let insert = Operation::Insert { key: b"user1", values: &values };
    assert_eq!(session.execute(&insert, &mut answer), Outcome::Done);
    let read = |key| Operation::Read { key, fields: Fields::All };
    assert_eq!(session.execute(&read(b"user1"), &mut answer), Outcome::Done);
    let row = answer.rows().next().unwrap();
    assert_eq!((row.key(), row.fields().next()), (&b"user1"[..], Some((0, &b"hello"[..]))));
    assert_eq!(session.execute(&read(b"user2"), &mut answer), Outcome::Missing);
}

#[test]
fn a_node_that_promises_less_than_was_asked_for_is_refused() {
    static BITCASK: &[Exchange] = &[
        PING,
        TYPE,
        (
            b"GET /stats",
            b"HTTP/1.1 200 OK\r\nContent-Length: 46\r\n\r\n\
              {\"storage_backend\":\"riak_kv_bitcask_backend\" }",
        ),
    ];
    static NO_SYNC: &[Exchange] = &[PING, TYPE, NO_KEYS, LEVELDB, SET, HAVE];
    static NO_TYPE: &[Exchange] = &[
        PING,
        (b"GET /types/strong/props", b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
    ];
    let synced = Candidate { durability: Durability::Synced, ..riak("value") };
    for (candidate, node, word) in [
        (riak("value"), BITCASK, "'value-noindex'"),
        (synced, NO_SYNC, "sync_on_write"),
        (riak("strong"), NO_TYPE, "riak admin bucket-type create strong"),
    ] {
        let system = candidate.open(Target::Server(serve(node, whole)), &one_field());
        let refused = system.prepare().unwrap_err().to_string();
        assert!(refused.contains(word), "{refused}");
    }
}

#[test]
fn a_bucket_with_objects_is_left_alone() {
    static NODE: &[Exchange] = &[
        PING,
        TYPE,
        LEVELDB,
        (
            b"GET /types/default/buckets/usertable/index/%24bucket/_ ",
            b"HTTP/1.1 200 OK\r\nContent-Length: 19\r\n\r\n{\"keys\":[\"theirs\"]}",
        ),
        (
            b"GET /types/default/buckets/usertable/keys/theirs ",
            b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        ),
    ];
    let system = riak("value").open(Target::Server(serve(NODE, whole)), &one_field());
    let refused = system.prepare().unwrap_err();
    assert!(matches!(refused, SystemError::AlreadyThere { .. }), "{refused}");
    // Nothing is sent.
    system.remove().unwrap();
}

#[test]
fn a_password_is_refused_and_not_sent() {
    static SECURE: &[Exchange] = &[(
        b"GET /ping",
        b"HTTP/1.1 426 Upgrade Required\r\nContent-Length: 61\r\n\r\n\
          Security is enabled and Riak does not accept credentials over",
    )];
    let endpoint = serve(SECURE, whole);
    let password = Some(Secret::new("hunter2"));
    for endpoint in [Endpoint { user: Some("u".into()), password, ..endpoint.clone() }, endpoint] {
        let refused = riak("value").open(Target::Server(endpoint), &one_field()).prepare();
        let refused = refused.unwrap_err();
        assert!(matches!(refused, SystemError::LoginRefused { .. }), "{refused}");
        assert!(refused.to_string().contains("TLS") && !refused.to_string().contains("hunter2"));
    }
}
