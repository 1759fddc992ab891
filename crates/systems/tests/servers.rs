//! The drivers whose stores are servers, on the binaries that this machine has.

mod common;
#[path = "common/restart.rs"]
mod restart;
#[path = "common/server.rs"]
mod server;

use std::sync::Arc;

use assay_model::{
    Address, Answer, Durability, Endpoint, FailureKind, FieldValue, Fields, Operation, Outcome,
    Schema, Secret,
};
use assay_systems::{Session, SystemError, Target, conformance::Updates};
use common::{Candidate, session};
use restart::goes_on_after_a_restart;
use server::{Server, installed};

fn redis(layout: &'static str) -> Candidate {
    let updates = if layout == "string" { Updates::MayBeLost } else { Updates::Isolated };
    Candidate { updates, ..Candidate::new("redis", layout) }
}

fn memcached() -> Candidate {
    Candidate::new("memcached", "value")
}

fn one_field() -> Arc<Schema> {
    Arc::new(Schema::new("usertable", "field", 1))
}

/// Inserts records of `bytes` bytes until one is refused.
fn fill(session: &mut dyn Session, bytes: usize) -> Outcome {
    let value = vec![b'x'; bytes];
    let values = [FieldValue { field: 0, bytes: &value }];
    for at in 0..1_000_000 {
        let key = format!("user{at}");
        let insert = Operation::Insert { key: key.as_bytes(), values: &values };
        let outcome = session.execute(&insert, &mut Answer::counting());
        if outcome != Outcome::Done {
            return outcome;
        }
    }
    panic!("the server never filled up");
}

#[test]
fn redis_conforms_in_every_layout() {
    let Some(program) = installed("redis") else { return };
    let server = Server::redis(&program, &[]);
    for layout in ["hash", "hash-noindex", "string"] {
        redis(layout).conforms(|| server.target());
    }
    server.answers("DBSIZE", ":0");
}

#[test]
fn redis_conforms_over_a_unix_socket() {
    let Some(program) = installed("redis") else { return };
    let server = Server::redis(&program, &[]);
    let endpoint = Endpoint::at(Address::Unix(server.socket()));
    redis("hash").conforms(|| Target::Server(endpoint.clone()));
}

#[test]
fn redis_conforms_with_its_log_synced() {
    let Some(program) = installed("redis") else { return };
    let server = Server::redis(&program, &["--appendonly", "yes", "--appendfsync", "always"]);
    let synced = Candidate { durability: Durability::Synced, ..redis("hash-noindex") };
    synced.conforms(|| server.target());
}

#[test]
fn valkey_conforms_in_every_layout() {
    let Some(program) = installed("valkey") else { return };
    let server = Server::redis(&program, &[]);
    for layout in ["hash", "hash-noindex", "string"] {
        let candidate = Candidate { driver: "valkey", ..redis(layout) };
        candidate.conforms(|| server.target());
    }
    let system =
        Candidate { driver: "valkey", ..redis("hash") }.open(server.target(), &one_field());
    let identity = system.identity().unwrap();
    assert!(identity.version.starts_with("Valkey "), "{identity:?}");
    assert!(identity.settings.contains(&("mode".into(), "standalone".into())), "{identity:?}");
}

#[test]
fn redis_tells_its_version_and_settings() {
    let Some(program) = installed("redis") else { return };
    let server = Server::redis(&program, &["--maxmemory", "64mb"]);
    let system = redis("hash").open(server.target(), &one_field());
    let identity = system.identity().unwrap();
    assert!(identity.version.starts_with("Redis "), "{identity:?}");
    let has = |name: &str, value: &str| {
        let setting = (name.to_owned(), value.to_owned());
        assert!(identity.settings.contains(&setting), "{name} should be {value}: {identity:?}");
    };
    has("appendonly", "no");
    has("mode", "standalone");
    has("maxmemory", "67108864");
}

#[test]
fn redis_with_less_durability_than_asked_for_is_refused() {
    let Some(program) = installed("redis") else { return };
    let server = Server::redis(&program, &[]);
    for durability in [Durability::Buffered, Durability::Synced] {
        let candidate = Candidate { durability, ..redis("hash") };
        let system = candidate.open(server.target(), &one_field());
        let message = system.prepare().unwrap_err().to_string();
        assert!(message.contains("appendonly yes"), "{message}");
    }
}

#[test]
fn redis_logs_in_and_never_shows_the_password() {
    let Some(program) = installed("redis") else { return };
    let server = Server::redis(
        &program,
        &["--requirepass", "hunter2", "--user", "bench", "on", ">trustno1", "~*", "&*", "+@all"],
    );
    let open = |user: Option<&str>, password: Option<&str>| {
        let endpoint = Endpoint {
            user: user.map(String::from),
            password: password.map(Secret::new),
            database: Some("3".into()),
            ..server.endpoint()
        };
        redis("hash").open(Target::Server(endpoint), &one_field())
    };
    open(None, Some("hunter2")).identity().unwrap();
    open(Some("bench"), Some("trustno1")).identity().unwrap();
    for (user, password) in [(None, None), (None, Some("wrong1")), (Some("bench"), Some("wrong2"))]
    {
        let system = open(user, password);
        let error = system.prepare().unwrap_err();
        assert!(matches!(error, SystemError::LoginRefused { .. }), "{error}");
        assert!(!error.to_string().contains("wrong"), "{error}");
    }
}

#[test]
fn redis_uses_the_database_of_its_address() {
    let Some(program) = installed("redis") else { return };
    let server = Server::redis(&program, &[]);
    let endpoint = Endpoint { database: Some("3".into()), ..server.endpoint() };
    let system = redis("hash").open(Target::Server(endpoint), &one_field());
    system.prepare().unwrap();
    let mut loader = system.loader().unwrap();
    loader.insert(b"user1", &[FieldValue { field: 0, bytes: b"v" }]).unwrap();
    loader.finish().unwrap();
    server.answers("DBSIZE", ":0");
    let missing = Endpoint { database: Some("99".into()), ..server.endpoint() };
    let system = redis("hash").open(Target::Server(missing), &one_field());
    assert!(system.prepare().unwrap_err().to_string().contains("select the database"));
}

#[test]
fn a_full_redis_is_told_as_full() {
    let Some(program) = installed("redis") else { return };
    for layout in ["hash", "string"] {
        let server = Server::redis(&program, &["--maxmemory", "4mb"]);
        let system = redis(layout).open(server.target(), &one_field());
        system.prepare().unwrap();
        let mut session = session(&*system);
        let outcome = fill(&mut *session, 10_000);
        assert_eq!(outcome.failure_kind(), Some(FailureKind::Full), "{outcome:?}");
        // The client goes on, and the next refusal is not mixed up with the last one's replies.
        let read = Operation::Read { key: b"user0", fields: Fields::All };
        assert_eq!(session.execute(&read, &mut Answer::counting()), Outcome::Done);
        let mut loader = system.loader().unwrap();
        let values = [FieldValue { field: 0, bytes: b"v" }];
        loader.insert(b"more", &values).unwrap();
        assert!(loader.finish().unwrap_err().to_string().contains("OOM"));
    }
}

#[test]
fn keys_of_others_on_a_redis_server_are_left_alone() {
    let Some(program) = installed("redis") else { return };
    let server = Server::redis(&program, &[]);
    server.answers("SET theirs 1", "+OK");
    server.answers("HSET user7 their field", ":1");
    // Without an index nobody could tell their keys from ours.
    for layout in ["hash-noindex", "string"] {
        let system = redis(layout).open(server.target(), &one_field());
        let error = system.prepare().unwrap_err();
        assert!(matches!(error, SystemError::AlreadyThere { .. }), "{error}");
        let told = error.to_string();
        assert!(told.contains("2 keys, ") && told.contains("another database"), "{told}");
        assert!(!told.contains("--table"), "it has no effect: {told}");
        system.remove().unwrap();
    }
    let system = redis("hash").open(server.target(), &one_field());
    system.prepare().unwrap();
    let values = [FieldValue { field: 0, bytes: b"v" }];
    let mut loader = system.loader().unwrap();
    loader.insert(b"user1", &values).unwrap();
    loader.finish().unwrap();
    assert_eq!(system.count().unwrap(), 1);
    // A record of ours may not take the place of a key of theirs.
    let mut loader = system.loader().unwrap();
    loader.insert(b"user7", &values).unwrap();
    let error = loader.finish().unwrap_err();
    assert!(matches!(error, SystemError::AlreadyThere { .. }), "{error}");
    system.remove().unwrap();
    server.answers("DBSIZE", ":2");
    server.answers("HGET user7 their", "$5\r\nfield");
}

#[test]
fn a_table_of_redis_that_another_run_made_is_left_alone() {
    let Some(program) = installed("redis") else { return };
    let server = Server::redis(&program, &[]);
    server.answers("ZADD _indices 0 user1", ":1");
    let system = redis("hash").open(server.target(), &one_field());
    let error = system.prepare().unwrap_err();
    assert!(matches!(error, SystemError::AlreadyThere { .. }), "{error}");
    let told = error.to_string();
    assert!(told.contains("'_indices'") && told.contains("another database"), "{told}");
    assert!(!told.contains("--table"), "it has no effect: {told}");
    let alone = redis("string").open(server.target(), &one_field());
    assert!(alone.prepare().unwrap_err().to_string().contains("1 key, "));
    system.remove().unwrap();
    server.answers("ZCARD _indices", ":1");
}

#[test]
fn memcached_conforms() {
    let Some(program) = installed("memcached") else { return };
    let server = Server::memcached(&program, &["-m", "256", "-I", "8m"]);
    memcached().conforms(|| server.target());
}

#[test]
fn memcached_conforms_over_a_unix_socket() {
    let Some(program) = installed("memcached") else { return };
    let server = Server::memcached_on_socket(&program, &["-m", "256", "-I", "8m"]);
    let endpoint = Endpoint::at(Address::Unix(server.socket()));
    memcached().conforms(|| Target::Server(endpoint.clone()));
}

#[test]
fn memcached_tells_its_version_and_whether_it_evicts() {
    let Some(program) = installed("memcached") else { return };
    for (arguments, evictions) in [(&[][..], "on"), (&["-M"], "off")] {
        let server = Server::memcached(&program, arguments);
        let system = memcached().open(server.target(), &one_field());
        let identity = system.identity().unwrap();
        assert!(identity.version.starts_with("Memcached 1."), "{identity:?}");
        let setting = ("evictions".to_owned(), evictions.to_owned());
        assert!(identity.settings.contains(&setting), "{identity:?}");
    }
}

#[test]
fn a_full_memcached_is_told_as_full() {
    let Some(program) = installed("memcached") else { return };
    let server = Server::memcached(&program, &["-M", "-m", "2"]);
    let system = memcached().open(server.target(), &one_field());
    system.prepare().unwrap();
    let mut session = session(&*system);
    let outcome = fill(&mut *session, 100_000);
    assert_eq!(outcome.failure_kind(), Some(FailureKind::Full), "{outcome:?}");
    let read = Operation::Read { key: b"user0", fields: Fields::All };
    assert_eq!(session.execute(&read, &mut Answer::counting()), Outcome::Done);
    let mut loader = system.loader().unwrap();
    let value = vec![b'x'; 100_000];
    let values = [FieldValue { field: 0, bytes: &value }];
    let loaded = (0..100)
        .try_for_each(|at| loader.insert(format!("more{at}").as_bytes(), &values))
        .and_then(|()| loader.finish());
    assert!(loaded.unwrap_err().to_string().contains("out of memory"));
}

#[test]
fn a_record_too_large_for_memcached_is_rejected() {
    let Some(program) = installed("memcached") else { return };
    let server = Server::memcached(&program, &[]);
    let system = memcached().open(server.target(), &one_field());
    system.prepare().unwrap();
    let mut session = session(&*system);
    let outcome = {
        let value = vec![b'x'; 2 << 20];
        let values = [FieldValue { field: 0, bytes: &value }];
        let insert = Operation::Insert { key: b"large", values: &values };
        session.execute(&insert, &mut Answer::counting())
    };
    assert_eq!(outcome.failure_kind(), Some(FailureKind::Rejected), "{outcome:?}");
    for key in [&[b'k'; 251][..], b""] {
        let read = Operation::Read { key, fields: Fields::All };
        let outcome = session.execute(&read, &mut Answer::counting());
        assert_eq!(outcome.failure_kind(), Some(FailureKind::Rejected), "{outcome:?}");
    }
    let read = Operation::Read { key: b"large", fields: Fields::All };
    assert_eq!(session.execute(&read, &mut Answer::counting()), Outcome::Missing);
}

#[test]
fn items_of_others_on_a_memcached_server_are_left_alone() {
    let Some(program) = installed("memcached") else { return };
    let server = Server::memcached(&program, &[]);
    server.answers("ms theirs 2\r\nhi", "HD");
    let system = memcached().open(server.target(), &one_field());
    let error = system.prepare().unwrap_err();
    assert!(matches!(error, SystemError::AlreadyThere { .. }), "{error}");
    let told = error.to_string();
    assert!(told.contains("1 item, ") && told.contains("flush_all"), "{told}");
    assert!(!told.contains("--table"), "it has no effect: {told}");
    system.remove().unwrap();
    server.answers("mg theirs v", "VA 2\r\nhi");
}

#[test]
fn memcached_logs_in_where_it_must() {
    let Some(program) = installed("memcached") else { return };
    let folder = tempfile::tempdir().unwrap();
    let users = folder.path().join("users");
    std::fs::write(&users, "bench:trustno1\n").unwrap();
    let server = Server::memcached(&program, &["-Y", users.to_str().unwrap()]);
    let open = |password: Option<&str>| {
        let endpoint = Endpoint {
            user: Some("bench".into()),
            password: password.map(Secret::new),
            ..server.endpoint()
        };
        memcached().open(Target::Server(endpoint), &one_field())
    };
    let system = open(Some("trustno1"));
    system.prepare().unwrap();
    assert_eq!(system.count().unwrap(), 0, "the login must not become an item");
    for password in [None, Some("wrong")] {
        let error = open(password).prepare().unwrap_err();
        assert!(matches!(error, SystemError::LoginRefused { .. }), "{error}");
    }
}

#[test]
fn a_server_that_is_not_there_is_unreachable() {
    let Some(program) = installed("redis") else { return };
    let mut server = Server::redis(&program, &[]);
    server.kill();
    for candidate in [redis("hash"), redis("string"), memcached()] {
        let system = candidate.open(server.target(), &one_field());
        let error = system.prepare().unwrap_err();
        assert!(matches!(error, SystemError::Unreachable { .. }), "{error}");
        assert!(system.connect().is_err());
    }
}

#[test]
fn a_server_that_dies_fails_the_operation_as_disconnected() {
    let Some(program) = installed("redis") else { return };
    let mut server = Server::redis(&program, &[]);
    let system = redis("hash").open(server.target(), &one_field());
    system.prepare().unwrap();
    let mut session = session(&*system);
    let read = Operation::Read { key: b"user1", fields: Fields::All };
    assert_eq!(session.execute(&read, &mut Answer::counting()), Outcome::Missing);
    server.kill();
    for _ in 0..2 {
        let outcome = session.execute(&read, &mut Answer::counting());
        assert_eq!(outcome.failure_kind(), Some(FailureKind::Disconnected), "{outcome:?}");
    }
}

#[test]
fn a_server_of_another_protocol_is_told_so() {
    let Some(redis_program) = installed("redis") else { return };
    let Some(memcached_program) = installed("memcached") else { return };
    let redis_server = Server::redis(&redis_program, &[]);
    let system = memcached().open(redis_server.target(), &one_field());
    assert!(system.prepare().is_err());
    let memcached_server = Server::memcached(&memcached_program, &[]);
    let system = redis("hash").open(memcached_server.target(), &one_field());
    let message = system.prepare().unwrap_err().to_string();
    assert!(message.contains("it sent a reply that begins with"), "{message}");
}

#[test]
fn clients_go_on_after_redis_and_memcached_restart() {
    let schema = one_field();
    for driver in ["redis", "valkey"] {
        let Some(program) = installed(driver) else { continue };
        let mut server = Server::redis(&program, &[]);
        let system = Candidate { driver, ..redis("hash") }.open(server.target(), &schema);
        goes_on_after_a_restart(&*system, 1, false, || server.restart());
    }
    let Some(program) = installed("memcached") else { return };
    let mut server = Server::memcached(&program, &[]);
    let system = memcached().open(server.target(), &schema);
    goes_on_after_a_restart(&*system, 1, false, || server.restart());
}
