//! The drivers whose stores live in this process.

mod common;

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use assay_model::{Answer, Durability, FailureKind, Fields, Operation, Outcome, Schema};
use assay_systems::{Opening, Session, Target, conformance::Content, registry};
use common::{Candidate, session};

fn embedded(folder: &tempfile::TempDir) -> Target {
    Target::Embedded { data_dir: folder.path().to_owned() }
}

#[test]
fn memory_conforms() {
    let folder = tempfile::tempdir().unwrap();
    Candidate::new("memory", "map").conforms(|| embedded(&folder));
}

#[test]
fn slik_conforms_with_an_index_of_keys_and_without_at_every_durability() {
    for layout in ["indexed", "object"] {
        for durability in Durability::ALL {
            let folder = tempfile::tempdir().unwrap();
            let candidate = Candidate { durability, ..Candidate::new("slik", layout) };
            candidate.conforms(|| embedded(&folder));
            let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
            assert!(left.is_empty(), "left behind: {left:?}");
        }
    }
}

#[test]
fn sqlite_rows_conform_at_every_durability() {
    for durability in Durability::ALL {
        let folder = tempfile::tempdir().unwrap();
        let candidate = Candidate { durability, ..sqlite("row", Content::Bytes) };
        candidate.conforms(|| embedded(&folder));
        let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
        assert!(left.is_empty(), "left behind: {left:?}");
    }
}

#[test]
fn sqlite_json_conforms_for_text() {
    let folder = tempfile::tempdir().unwrap();
    sqlite("json", Content::Text).conforms(|| embedded(&folder));
}

#[test]
fn sqlite_json_refuses_bytes_that_are_not_text() {
    let folder = tempfile::tempdir().unwrap();
    let schema = Arc::new(Schema::new("t", "f", 1));
    let system = sqlite("json", Content::Text).open(embedded(&folder), &schema);
    system.prepare().unwrap();
    let mut session = session(&*system);
    for bytes in [&b"\xff"[..], b"a\0b"] {
        let values = [assay_model::FieldValue { field: 0, bytes }];
        let insert = Operation::Insert { key: b"k", values: &values };
        let outcome = session.execute(&insert, &mut Answer::counting());
        assert_eq!(outcome.failure_kind(), Some(FailureKind::Rejected));
        let mut loader = system.loader().unwrap();
        assert!(loader.insert(b"k", &values).is_err());
    }
    assert_eq!(system.count().unwrap(), 0);
}

#[test]
fn sqlite_shows_the_durability_in_force() {
    for (durability, synchronous) in
        [(Durability::None, "OFF"), (Durability::Buffered, "NORMAL"), (Durability::Synced, "FULL")]
    {
        let folder = tempfile::tempdir().unwrap();
        let candidate = Candidate { durability, ..sqlite("row", Content::Bytes) };
        let system = candidate.open(embedded(&folder), &Arc::new(Schema::new("t", "f", 1)));
        system.prepare().unwrap();
        let identity = system.identity().unwrap();
        let has = |name: &str, value: &str| {
            assert!(
                identity.settings.contains(&(name.to_owned(), value.to_owned())),
                "{name} should be {value} in {identity:?}"
            );
        };
        has("journal_mode", "wal");
        has("synchronous", synchronous);
        has("cache_size", "-65536");
    }
}

#[test]
fn a_writer_that_waits_too_long_for_sqlite_is_a_conflict() {
    let folder = tempfile::tempdir().unwrap();
    let schema = Arc::new(Schema::new("t", "f", 1));
    let opening = Opening {
        target: embedded(&folder),
        layout: "row".into(),
        schema: Arc::clone(&schema),
        durability: Durability::None,
        settings: Default::default(),
        timeout: Duration::from_millis(20),
    };
    let system = (registry::find("sqlite").unwrap().open)(opening).unwrap();
    system.prepare().unwrap();
    let mut session = session(&*system);
    // A loader holds its transaction open.
    let mut loader = system.loader().unwrap();
    let values = [assay_model::FieldValue { field: 0, bytes: b"v" }];
    loader.insert(b"loaded", &values).unwrap();
    let insert = Operation::Insert { key: b"k", values: &values };
    let outcome = session.execute(&insert, &mut Answer::counting());
    assert_eq!(outcome.failure_kind(), Some(FailureKind::Conflict), "{outcome:?}");
    loader.finish().unwrap();
    assert_eq!(session.execute(&insert, &mut Answer::counting()), Outcome::Done);
}

#[test]
fn an_unfinished_load_of_sqlite_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let schema = Arc::new(Schema::new("t", "f", 1));
    let system = sqlite("row", Content::Bytes).open(embedded(&folder), &schema);
    system.prepare().unwrap();
    let mut loader = system.loader().unwrap();
    loader.insert(b"k", &[assay_model::FieldValue { field: 0, bytes: b"v" }]).unwrap();
    drop(loader);
    assert_eq!(system.count().unwrap(), 0);
}

fn sqlite(layout: &'static str, content: Content) -> Candidate {
    Candidate { content, ..Candidate::new("sqlite", layout) }
}

fn memory_with(name: &str, value: &str) -> Box<dyn Session> {
    let opening = Opening {
        target: Target::Embedded { data_dir: "unused".into() },
        layout: "map".into(),
        schema: Arc::new(Schema::new("t", "f", 1)),
        durability: Durability::None,
        settings: [(name.to_owned(), value.to_owned())].into(),
        timeout: Duration::from_secs(1),
    };
    let system = (registry::find("memory").unwrap().open)(opening).unwrap();
    let shown = system.identity().unwrap().settings;
    assert!(shown.contains(&(name.to_owned(), value.to_owned())), "{shown:?}");
    session(&*system)
}

fn read(session: &mut Box<dyn Session>) {
    let read = Operation::Read { key: b"k", fields: Fields::All };
    assert_eq!(session.execute(&read, &mut Answer::counting()), Outcome::Missing);
}

#[test]
fn a_stall_happens_at_its_operation() {
    let mut session = memory_with("stall", "30ms@3");
    let stalled = |session: &mut Box<dyn Session>| {
        let start = Instant::now();
        read(session);
        start.elapsed() >= Duration::from_millis(30)
    };
    read(&mut session);
    read(&mut session);
    assert!(stalled(&mut session), "a sleep cannot be shorter than it was asked for");
}

#[test]
fn a_slowdown_takes_its_fraction_of_the_loop() {
    let mut session = memory_with("slowdown", "2");
    // 32 operations are slowed down together.
    (0..32).for_each(|_| read(&mut session));
    let start = Instant::now();
    thread::sleep(Duration::from_millis(5));
    (0..32).for_each(|_| read(&mut session));
    // The loop took 5 ms at least, and the session adds twice that.
    assert!(start.elapsed() >= Duration::from_millis(15), "{:?}", start.elapsed());
}
