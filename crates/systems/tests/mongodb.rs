//! The `mongodb` driver: as `secantusdb` against SecantusDB, which speaks MongoDB's protocol, and
//! against a real MongoDB where there is one. What is not installed is skipped by name.

#[path = "common/logins.rs"]
mod logins;
#[path = "common/paused.rs"]
mod paused;
#[path = "common/records.rs"]
mod records;
#[path = "common/written.rs"]
mod written;

#[path = "mongodb/server.rs"]
mod server;

#[path = "mongodb/login.rs"]
mod login;

#[path = "mongodb/setup.rs"]
mod setup;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use assay_model::{
    Durability, Endpoint, FailureKind, FieldValue, Fields, Operation, Outcome, Schema,
};
use assay_systems::{
    Opening, System, Target,
    blocking::Blocking,
    conformance::{self, Content, Misses, Subject, Updates},
    registry::find,
};
use records::{ask, delete, insert, kind, load, read, row, scan, session, values};
use server::{Server, Signal, shared};

const LAYOUTS: [&str; 2] = ["document", "binary"];
const FIELDS: usize = 3;

fn opening(endpoint: Endpoint, layout: &str, fields: usize) -> Opening {
    Opening {
        target: Target::Server(endpoint),
        layout: layout.into(),
        schema: Arc::new(Schema::new("User 'table'", "field", fields)),
        durability: Durability::None,
        settings: BTreeMap::new(),
        timeout: Duration::from_secs(30),
    }
}

fn open(opening: Opening) -> Box<dyn System> {
    let driver = find("secantusdb").expect("the driver is registered");
    (driver.open)(opening).unwrap_or_else(|error| panic!("{error}"))
}

fn system(endpoint: Endpoint, layout: &str) -> Box<dyn System> {
    open(opening(endpoint, layout, FIELDS))
}

/// Runs `test` with an empty collection in each layout, then removes it.
fn in_each_layout(server: &Server, database: &str, test: impl Fn(&dyn System, &mut Blocking)) {
    for layout in LAYOUTS {
        eprintln!("layout {layout}");
        let system = system(server.database(database), layout);
        system.prepare().unwrap_or_else(|error| panic!("{error}"));
        test(&*system, &mut session(&*system));
        system.remove().unwrap_or_else(|error| panic!("{error}"));
    }
}

fn conforms(name: &str, endpoint: &Endpoint, layout: &str, tables: &[(usize, usize)]) {
    let driver = find(name).expect("the driver is registered");
    for &(fields, indexes) in tables {
        let opening = opening(endpoint.clone(), layout, fields);
        let schema = Arc::new(Schema::clone(&opening.schema).with_indexes(indexes));
        let subject = Subject {
            name: &format!("{name}:{layout} ({fields} fields, {indexes} indexes)"),
            system: &*(driver.open)(Opening { schema: schema.clone(), ..opening }).unwrap(),
            capabilities: &(driver.capabilities)(layout),
            schema: &schema,
            content: Content::Text,
            updates: Updates::Isolated,
            misses: Misses::Told,
        };
        conformance::check(&subject).unwrap_or_else(|failure| panic!("{failure}"));
    }
}

#[test]
fn documents_conform() {
    let Some(server) = shared() else { return };
    conforms("secantusdb", &server.database("documents"), "document", &[(10, 0), (1, 0)]);
}

#[test]
fn documents_with_indexes_conform() {
    let Some(server) = shared() else { return };
    conforms("secantusdb", &server.database("indexes"), "document", &[(1, 1), (3, 2)]);
}

#[test]
fn documents_of_binary_data_conform() {
    let Some(server) = shared() else { return };
    // What is about the number of fields is the same as with strings.
    conforms("secantusdb", &server.database("binary"), "binary", &[(3, 0)]);
}

#[test]
fn a_real_mongodb_conforms_in_every_layout() {
    let Some(server) = Server::start_mongodb() else { return };
    let plain = [(10, 0), (1, 0)];
    conforms("mongodb", &server.endpoint(), "document", &[plain, [(1, 1), (3, 2)]].concat());
    conforms("mongodb", &server.endpoint(), "binary", &plain);
}

#[test]
fn what_is_written_is_read_in_every_layout() {
    let Some(server) = shared() else { return };
    in_each_layout(&server, "operations", written::is_read);
}

#[test]
fn keys_and_values_with_nul_bytes_are_kept() {
    let Some(server) = shared() else { return };
    in_each_layout(&server, "nul_bytes", |_, session| {
        for key in ["a\0b", "a\0", "\0"] {
            assert_eq!(insert(session, key, &[(0, key), (1, ""), (2, "\0")]), Outcome::Done);
            let expected = [row(key, &[(0, key), (1, ""), (2, "\0")])];
            assert_eq!(read(session, key, Fields::All).1, expected);
        }
        let scanned = scan(session, "", 10, Fields::One(2));
        assert_eq!(scanned, ["\0", "a\0", "a\0b"].map(|key| row(key, &[(2, "\0")])));
    });
}

#[test]
fn any_bytes_are_kept_as_binary_data_and_refused_as_text() {
    let Some(server) = shared() else { return };
    in_each_layout(&server, "any_bytes", |_, session| {
        let bytes: Vec<u8> = (0..=255).collect();
        let values = [FieldValue { field: 0, bytes: &bytes }];
        let (outcome, _) = ask(session, Operation::Insert { key: b"k", values: &values });
        let (found, rows) = read(session, "k", Fields::One(0));
        if outcome == Outcome::Done {
            assert_eq!(rows, [(b"k".to_vec(), vec![(0, bytes)])]);
        } else {
            assert_eq!(kind(&outcome), FailureKind::Rejected, "{outcome:?}");
            assert_eq!(found, Outcome::Missing);
        }
        let (outcome, _) = ask(session, Operation::Read { key: b"\xff", fields: Fields::All });
        assert_eq!(kind(&outcome), FailureKind::Rejected, "{outcome:?}");
    });
}

#[test]
fn a_scan_larger_than_a_message_is_complete() {
    let Some(server) = shared() else { return };
    let system = system(server.database("large"), "document");
    system.prepare().unwrap();
    let long = "x".repeat(1 << 20);
    let mut loader = system.loader().unwrap();
    for number in 0..20 {
        let fields = [(0, long.as_str()), (1, ""), (2, "")];
        loader.insert(format!("k{number:02}").as_bytes(), &values(&fields)).unwrap();
    }
    loader.finish().unwrap();
    let rows = scan(&mut session(&*system), "", 18, Fields::All);
    let keys: Vec<String> =
        rows.iter().map(|(key, _)| String::from_utf8_lossy(key).into_owned()).collect();
    let expected: Vec<String> = (0..18).map(|number| format!("k{number:02}")).collect();
    assert_eq!(keys, expected);
    assert!(rows.iter().all(|(_, fields)| fields[0].1.len() == 1 << 20));
    system.remove().unwrap();
}

#[test]
fn a_record_longer_than_a_document_may_be_is_refused_and_the_client_goes_on() {
    let Some(server) = shared() else { return };
    in_each_layout(&server, "too_long", |_, session| {
        let long = "x".repeat(17 << 20);
        let outcome = insert(session, "k", &[(0, &long), (1, ""), (2, "")]);
        assert_eq!(kind(&outcome), FailureKind::Rejected, "{outcome:?}");
        assert_eq!(insert(session, "k", &[(0, "a"), (1, ""), (2, "")]), Outcome::Done);
    });
}

#[test]
fn clients_connect_again_after_the_server_has_been_killed() {
    let Some(server) = Server::start(&[]) else { return };
    let system = open(Opening {
        durability: Durability::Synced,
        ..opening(server.database("restarted"), "document", FIELDS)
    });
    system.prepare().unwrap();
    let mut before = session(&*system);
    assert_eq!(insert(&mut before, "k", &[(0, "a"), (1, "b"), (2, "c")]), Outcome::Done);
    let server = server.restart(Signal::KILL, &[]);
    for _ in 0..2 {
        let (outcome, _) = read(&mut before, "k", Fields::All);
        assert_eq!(kind(&outcome), FailureKind::Disconnected, "{outcome:?}");
    }
    // What was acknowledged at level synced is there.
    let mut after = session(&*system);
    let expected = [row("k", &[(0, "a"), (1, "b"), (2, "c")])];
    assert_eq!(read(&mut after, "k", Fields::All).1, expected);
    system.remove().unwrap();
    drop(server);
}
