//! The `hyper` driver against a real `hyperd`. Skipped, by name, where none is installed.

#[allow(dead_code, reason = "these tests take a part of what others share")]
mod common;
#[path = "common/logins.rs"]
mod logins;
#[path = "common/paused.rs"]
mod paused;
#[path = "common/records.rs"]
mod records;

#[path = "hyper/server.rs"]
mod server;

use std::{sync::Arc, time::Duration};

use assay_model::{
    Address, Durability, Endpoint, FailureKind, FieldValue, Fields, Operation, Outcome, Schema,
};
use assay_systems::{Opening, System, SystemError, Target, conformance::Content, registry::find};
use common::Candidate;
use logins::{as_user, impostor, refusal, unreachable, works};
use records::{ask, delete, insert, kind, load, read, row, scan, session, update};
use server::{OWNER, Server, free_port, shared};

/// The database that the driver makes where none is named.
const DATABASE: &str = "assay.hyper";

fn opening(endpoint: Endpoint, fields: usize) -> Opening {
    Opening {
        target: Target::Server(endpoint),
        layout: "row".into(),
        schema: Arc::new(Schema::new("User \"table\"", "field", fields)),
        durability: Durability::None,
        settings: Default::default(),
        timeout: Duration::from_secs(30),
    }
}

fn open(opening: Opening) -> Box<dyn System> {
    let driver = find("hyper").expect("the driver is registered");
    (driver.open)(opening).unwrap_or_else(|error| panic!("{error}"))
}

fn system(endpoint: Endpoint) -> Box<dyn System> {
    open(opening(endpoint, 3))
}

#[test]
fn hyper_conforms() {
    let Some(server) = Server::start(None) else { return };
    let candidate = Candidate { content: Content::Text, ..Candidate::new("hyper", "row") };
    candidate.conforms(|| Target::Server(server.endpoint()));
    assert!(!server.file(DATABASE).exists(), "the database is left behind");
}

#[test]
fn some_fields_of_many_are_updated_and_read() {
    let Some(server) = shared() else { return };
    for fields in [3u16, 200] {
        let system = open(Opening {
            schema: Arc::new(Schema::new(&format!("t{fields}"), "field", fields.into())),
            ..opening(server.endpoint(), 0)
        });
        system.prepare().unwrap();
        let session = &mut session(&*system);
        let all: Vec<(u16, &str)> = (0..fields).map(|field| (field, "old")).collect();
        assert_eq!(insert(session, "k", &all), Outcome::Done);
        for value in ["first", "second"] {
            assert_eq!(update(session, "none", &[(0, value)]), Outcome::Missing);
            assert_eq!(update(session, "k", &[(0, value)]), Outcome::Done);
            assert_eq!(update(session, "k", &[(fields - 1, value), (1, value)]), Outcome::Done);
            let expected = [row("k", &[(fields - 1, value)])];
            let last = Fields::One(fields - 1);
            assert_eq!(read(session, "k", last), (Outcome::Done, expected.to_vec()));
            // The limit is part of the statement: the same again, another, and the first again.
            for limit in [9, 9, 1, 9, 0] {
                let due = &expected[..limit.min(1) as usize];
                assert_eq!(scan(session, "", limit, last), due, "{fields} fields, limit {limit}");
            }
        }
        let (_, rows) = read(session, "k", Fields::All);
        let old = rows[0].1.iter().filter(|(_, value)| value == b"old").count();
        assert_eq!((rows[0].1.len(), old), (fields.into(), usize::from(fields) - 3));
        system.remove().unwrap();
    }
}

#[test]
fn a_duplicate_key_is_a_conflict_and_changes_nothing() {
    let Some(server) = shared() else { return };
    let system = open(Opening {
        schema: Arc::new(Schema::new("duplicates", "field", 3)),
        ..opening(server.endpoint(), 3)
    });
    system.prepare().unwrap();
    let session = &mut session(&*system);
    let fields = [(0, "a"), (1, "b"), (2, "c")];
    assert_eq!(insert(session, "k", &fields), Outcome::Done);
    let outcome = insert(session, "k", &[(0, "x"), (1, "y"), (2, "z")]);
    assert_eq!(kind(&outcome), FailureKind::Conflict, "{outcome:?}");
    assert_eq!(read(session, "k", Fields::All), (Outcome::Done, vec![row("k", &fields)]));
    assert_eq!(system.count().unwrap(), 1);
    assert_eq!(delete(session, "k"), Outcome::Done);
    assert_eq!(insert(session, "k", &fields), Outcome::Done);
    system.remove().unwrap();
}

#[test]
fn what_is_no_text_is_rejected_and_the_connection_lives() {
    let Some(server) = shared() else { return };
    let system = open(Opening {
        schema: Arc::new(Schema::new("texts", "field", 3)),
        ..opening(server.endpoint(), 3)
    });
    system.prepare().unwrap();
    let session = &mut session(&*system);
    let fields = [(0, "a"), (1, "b"), (2, "c")];
    assert_eq!(insert(session, "k", &fields), Outcome::Done);
    for bad in [&b"\xff"[..], b"\xc3", b"\xed\xa0\x80"] {
        let values = [0, 1, 2].map(|field| FieldValue { field, bytes: bad });
        for operation in [
            Operation::Insert { key: b"new", values: &values },
            Operation::Insert { key: bad, values: &[] },
            Operation::Update { key: b"k", values: &values[..1] },
            Operation::Read { key: bad, fields: Fields::All },
        ] {
            let (outcome, _) = ask(session, operation);
            assert_eq!(kind(&outcome), FailureKind::Rejected, "{operation:?}: {outcome:?}");
        }
    }
    let beyond = Operation::Read { key: b"k", fields: Fields::One(3) };
    assert_eq!(kind(&ask(session, beyond).0), FailureKind::Rejected);
    assert_eq!(scan(session, "", 10, Fields::All), [row("k", &fields)]);
    system.remove().unwrap();

    system.prepare().unwrap();
    let mut loader = system.loader().unwrap();
    let values = [FieldValue { field: 0, bytes: b"\xff" }];
    let failed = loader.insert(b"k", &values).and_then(|()| loader.finish());
    let error = failed.unwrap_err().to_string();
    assert!(error.contains("load the records"), "{error}");
    assert_eq!(system.count().unwrap(), 0);
    system.remove().unwrap();
}

#[test]
fn a_load_is_in_the_file_once_it_has_settled() {
    let Some(server) = Server::start(None) else { return };
    let system = system(server.endpoint());
    system.prepare().unwrap();
    let empty = server.file(DATABASE).metadata().unwrap().len();
    load(&*system, 20_000).unwrap();
    system.settle().unwrap();
    let bytes = server.file(DATABASE).metadata().unwrap().len();
    assert!(bytes > empty + 100_000, "{bytes} bytes, {empty} without a record");

    let identity = system.identity().unwrap();
    assert!(identity.version.starts_with("HyPer 0."), "{}", identity.version);
    for name in ["database_version", "memory_limit_bytes"] {
        let setting = identity.settings.iter().find(|setting| setting.0 == name);
        assert!(setting.is_some_and(|(_, value)| value.parse::<u64>().unwrap() > 0), "{name}");
    }
    system.remove().unwrap();
    assert!(!server.file(DATABASE).exists());
}

#[test]
fn a_database_that_is_somebodys_stays() {
    let Some(server) = Server::start(None) else { return };
    let open_in = |endpoint: Endpoint, table: &str| {
        let schema = Arc::new(Schema::new(table, "field", 3));
        open(Opening { schema, ..opening(endpoint, 3) })
    };
    // Both find the database that the first made: it goes when it is empty and its maker leaves.
    let (first, second) = (open_in(server.endpoint(), "a"), open_in(server.endpoint(), "b"));
    first.prepare().unwrap();
    second.prepare().unwrap();
    load(&*second, 10).unwrap();
    first.remove().unwrap();
    assert!(server.file(DATABASE).exists());
    assert_eq!(second.count().unwrap(), 10);

    let named = Endpoint { database: Some(DATABASE.into()), ..server.endpoint() };
    let refused = open_in(named.clone(), "b").prepare().unwrap_err();
    assert!(matches!(refused, SystemError::AlreadyThere { .. }), "{refused}");
    works(&*open_in(named, "c"));
    second.remove().unwrap();
    assert!(server.file(DATABASE).exists(), "who removes its table did not make the database");
}

#[test]
fn a_password_logs_in_and_a_wrong_one_does_not() {
    let Some(server) = Server::start(Some("pässword")) else { return };
    let endpoint = server.endpoint();
    works(&*system(as_user(endpoint.clone(), OWNER, Some("pässword"))));
    let why = refusal(&*system(as_user(endpoint.clone(), OWNER, Some("wrong"))));
    assert!(why.contains(OWNER) && !why.contains("wrong"), "{why}");
    let why = refusal(&*system(as_user(endpoint.clone(), "nobody_here", Some("x"))));
    assert!(why.contains("nobody_here"), "{why}");
    let why = refusal(&*system(endpoint));
    assert!(why.contains("none was given") && why.contains("hyper://owner:PASSWORD@"), "{why}");
}

#[test]
fn a_unix_socket_serves_as_tcp_does() {
    let Some(server) = Server::start(None) else { return };
    works(&*system(server.unix()));
    let folder = Address::Unix(server.folder().to_owned());
    works(&*system(Endpoint { address: folder, ..server.unix() }));
}

#[test]
fn what_is_not_there_is_named() {
    let Some(server) = shared() else { return };
    let nowhere = Endpoint { database: Some("/nowhere/x.hyper".into()), ..server.endpoint() };
    assert!(refusal(&*system(nowhere)).contains("nowhere"));
    let port = free_port();
    let nobody = Endpoint::at(Address::Tcp { host: "127.0.0.1".into(), port });
    assert!(unreachable(&*system(nobody)).contains("refused"));
    let (endpoint, thread) = impostor(&[b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"]);
    let why = unreachable(&*system(endpoint));
    assert!(why.contains("as HyPer does") && why.contains("check the address"), "{why}");
    thread.join().unwrap();
}

#[test]
fn a_paused_server_runs_into_the_time_limit() {
    let Some(server) = Server::start(None) else { return };
    let timeout = Duration::from_millis(300);
    let system = open(Opening { timeout, ..opening(server.endpoint(), 3) });
    paused::runs_into_the_time_limit(&*system, || server.pause(), || server.resume());
}

#[test]
fn a_server_that_dies_disconnects_and_forgets_what_was_not_in_the_file() {
    let Some(mut server) = Server::start(None) else { return };
    let system = system(server.endpoint());
    system.prepare().unwrap();
    let mut session = session(&*system);
    assert_eq!(insert(&mut session, "k", &[(0, "a"), (1, "b"), (2, "c")]), Outcome::Done);
    server.kill();
    for _ in 0..2 {
        let (outcome, _) = read(&mut session, "k", Fields::All);
        assert_eq!(kind(&outcome), FailureKind::Disconnected, "{outcome:?}");
    }
    // The only durability that the driver has, for this reason.
    let levels = (find("hyper").unwrap().capabilities)("row").durability;
    assert_eq!(levels.iter().map(|level| level.0).collect::<Vec<_>>(), [Durability::None]);
}
