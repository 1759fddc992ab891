//! The `monetdb` driver against MonetDB's library, hosted as a server. Skipped, by name, where there is
//! none.

#[allow(dead_code, reason = "these tests take a part of what others share")]
mod common;
#[path = "common/logins.rs"]
mod logins;
#[path = "common/paused.rs"]
mod paused;
#[path = "common/records.rs"]
mod records;

#[path = "monetdb/server.rs"]
mod server;

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use assay_model::{
    Address, Durability, Endpoint, FailureKind, FieldValue, Fields, Operation, Outcome, Schema,
};
use assay_systems::{
    Opening, System, Target,
    conformance::{Content, Updates},
    registry::find,
};
use common::Candidate;
use logins::{as_user, impostor, refusal, unreachable, works};
use records::{ask, delete, insert, kind, load, read, row, scan, session, update};
use server::Server;

/// Does nothing as a test: the other tests start this program with it alone, as their server.
#[test]
fn host() {
    server::host();
}

fn opening(endpoint: Endpoint, fields: usize) -> Opening {
    Opening {
        target: Target::Server(endpoint),
        layout: "row".into(),
        schema: Arc::new(Schema::new("User \"table's\"", "field", fields)),
        durability: Durability::None,
        settings: Default::default(),
        timeout: Duration::from_secs(30),
    }
}

fn open(opening: Opening) -> Box<dyn System> {
    let driver = find("monetdb").expect("the driver is registered");
    (driver.open)(opening).unwrap_or_else(|error| panic!("{error}"))
}

fn system(endpoint: Endpoint) -> Box<dyn System> {
    open(opening(endpoint, 3))
}

/// A server that serves.
fn start(in_memory: bool) -> Option<Server> {
    let server = Server::start(in_memory)?;
    let begun = Instant::now();
    while let Err(error) = system(server.endpoint()).identity() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it does not come up: {error}");
        thread::sleep(Duration::from_millis(50));
    }
    Some(server)
}

#[test]
fn monetdb_conforms() {
    let Some(server) = start(true) else { return };
    let candidate = Candidate {
        content: Content::Text,
        updates: Updates::MayBeTorn,
        ..Candidate::new("monetdb", "row")
    };
    candidate.conforms(|| Target::Server(server.endpoint()));
}

#[test]
fn monetdb_conforms_with_a_database_on_the_disk() {
    let Some(server) = start(false) else { return };
    let candidate = Candidate {
        content: Content::Text,
        durability: Durability::Synced,
        updates: Updates::MayBeTorn,
        ..Candidate::new("monetdb", "row")
    };
    candidate.conforms(|| Target::Server(server.endpoint()));
}

#[test]
fn a_database_in_memory_promises_nothing() {
    let Some(server) = start(true) else { return };
    let synced = Opening { durability: Durability::Synced, ..opening(server.endpoint(), 3) };
    let refused = open(synced).prepare().unwrap_err().to_string();
    assert!(refused.contains("'synced'") && refused.contains("in memory"), "{refused}");
}

#[test]
fn errors_leave_a_session_that_works() {
    let Some(server) = start(true) else { return };
    let system = system(server.endpoint());
    system.prepare().unwrap();
    let session = &mut session(&*system);
    let fields = [(0, "a\\'\"\r\n\t\u{1}"), (1, ""), (2, "é😀")];
    assert_eq!(insert(session, "k", &fields), Outcome::Done);
    for _ in 0..2 {
        let outcome = insert(session, "k", &[(0, "x"), (1, "y"), (2, "z")]);
        assert_eq!(kind(&outcome), FailureKind::Conflict, "{outcome:?}");
        assert_eq!(read(session, "k", Fields::All), (Outcome::Done, vec![row("k", &fields)]));
        assert_eq!(update(session, "none", &[(0, "a")]), Outcome::Missing);
        assert_eq!(update(session, "k", &[(2, "new"), (1, "")]), Outcome::Done);
        assert_eq!(update(session, "k", &[(2, "é😀")]), Outcome::Done);
    }
    for bad in [&b"a\0b"[..], b"\xff"] {
        let values = [FieldValue { field: 0, bytes: bad }];
        let outcome = ask(session, Operation::Insert { key: b"n", values: &values }).0;
        assert_eq!(kind(&outcome), FailureKind::Rejected, "{outcome:?}");
    }
    let values = [FieldValue { field: 1, bytes: b"only" }];
    assert_eq!(ask(session, Operation::Insert { key: b"n", values: &values }).0, Outcome::Done);
    assert_eq!(read(session, "n", Fields::All).1, [row("n", &[(1, "only")])]);
    assert_eq!(scan(session, "", 0, Fields::All), []);
    assert_eq!(scan(session, "l", 9, Fields::One(1)), [row("n", &[(1, "only")])]);
    assert_eq!(delete(session, "k"), Outcome::Done);
    assert_eq!(delete(session, "k"), Outcome::Missing);
    assert_eq!(system.count().unwrap(), 1);
    system.remove().unwrap();
}

#[test]
fn a_load_is_counted_measured_and_described() {
    let Some(server) = start(false) else { return };
    let synced = Opening { durability: Durability::Synced, ..opening(server.endpoint(), 3) };
    let system = open(synced);
    system.prepare().unwrap();
    load(&*system, 20_000).unwrap();
    system.settle().unwrap();
    assert_eq!(system.count().unwrap(), 20_000);
    let bytes = system.footprint().unwrap().disk_bytes.unwrap();
    assert!(bytes > 1_000_000, "{bytes}");
    let identity = system.identity().unwrap();
    assert!(identity.version.starts_with("MonetDB "), "{}", identity.version);
    assert!(identity.settings.iter().any(|setting| setting.0 == "sql_optimizer"));
    let (outcome, rows) = read(&mut session(&*system), "user000077", Fields::One(2));
    assert_eq!((outcome, rows), (Outcome::Done, vec![row("user000077", &[(2, "user000077")])]));
    // A key that exists: the batch is refused as a whole.
    let failed = load(&*system, 1).unwrap_err().to_string();
    assert!(failed.contains("load the records") && failed.contains("40002"), "{failed}");
    assert_eq!(system.count().unwrap(), 20_000);
    system.remove().unwrap();
}

#[test]
fn a_wrong_password_is_refused() {
    let Some(server) = start(true) else { return };
    for (user, password) in [("monetdb", Some("s3cret")), ("nobody_here", None)] {
        let why = refusal(&*system(as_user(server.endpoint(), user, password)));
        assert!(why.contains(user) && !why.contains("s3cret"), "{why}");
    }
    let why = refusal(&*system(as_user(server.endpoint(), "a:b", None)));
    assert!(why.contains("colon"), "{why}");
}

#[test]
fn a_unix_socket_serves_as_tcp_does() {
    let Some(server) = start(true) else { return };
    works(&*system(server.unix()));
}

#[test]
fn nothing_or_something_else_listening_is_told_apart() {
    let nobody = Endpoint::at(Address::Tcp { host: "127.0.0.1".into(), port: 1 });
    assert!(unreachable(&*system(nobody)).contains("refused"));
    for reply in [&b"\x21\0HTTP/1.1 400 Bad"[..], b"\x03\0x"] {
        let (endpoint, thread) = impostor(&[reply, b""]);
        let why = unreachable(&*system(endpoint));
        assert!(why.contains("as MonetDB does") && why.contains("check the address"), "{why}");
        thread.join().unwrap();
    }
}

#[test]
fn a_server_that_hands_its_clients_on_is_followed_or_named() {
    // What a monetdbd sends, as MonetDB documents it: a challenge, then where the client shall go.
    let challenge = b"salt:merovingian:9:SHA512,SHA256:LIT:SHA512:sql=6:";
    let elsewhere = b"^mapi:monetdb://10.0.0.7:50001/demo\n";
    let (endpoint, thread) = impostor(&[block(challenge), block(elsewhere)]);
    let why = refusal(&*system(endpoint));
    assert!(why.contains("mapi:monetdb://10.0.0.7:50001/demo"), "{why}");
    assert!(String::from_utf8_lossy(&thread.join().unwrap()).contains("LIT:monetdb:{SHA512}"));
}

/// A message of one block.
fn block(message: &[u8]) -> &'static [u8] {
    let mut block = ((message.len() as u16) << 1 | 1).to_le_bytes().to_vec();
    block.extend_from_slice(message);
    block.leak()
}

#[test]
fn a_paused_server_runs_into_the_time_limit() {
    let Some(server) = start(true) else { return };
    let timeout = Duration::from_millis(300);
    let system = open(Opening { timeout, ..opening(server.endpoint(), 3) });
    paused::runs_into_the_time_limit(&*system, || server.pause(), || server.resume());
}

#[test]
fn a_server_that_dies_disconnects() {
    let Some(mut server) = start(true) else { return };
    let system = system(server.endpoint());
    system.prepare().unwrap();
    let mut session = session(&*system);
    assert_eq!(insert(&mut session, "k", &[(0, "a"), (1, "b"), (2, "c")]), Outcome::Done);
    server.kill();
    for _ in 0..2 {
        let (outcome, _) = read(&mut session, "k", Fields::All);
        assert_eq!(kind(&outcome), FailureKind::Disconnected, "{outcome:?}");
    }
}
