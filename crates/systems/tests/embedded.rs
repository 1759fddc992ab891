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
fn lmdb_conforms_at_every_durability() {
    conforms_at_every_durability("lmdb");
}

#[test]
fn redb_conforms_at_every_durability() {
    conforms_at_every_durability("redb");
}

#[test]
fn fjall_conforms_at_every_durability() {
    conforms_at_every_durability("fjall");
}

fn conforms_at_every_durability(driver: &'static str) {
    for durability in Durability::ALL {
        let folder = tempfile::tempdir().unwrap();
        let candidate = Candidate { durability, ..Candidate::new(driver, "record") };
        candidate.conforms(|| embedded(&folder));
        let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
        assert!(left.is_empty(), "left behind: {left:?}");
    }
}

#[test]
fn libraries_tell_the_versions_that_they_were_built_from() {
    let lock = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock"));
    let lock = lock.unwrap();
    for driver in ["redb", "fjall"] {
        let folder = tempfile::tempdir().unwrap();
        let schema = Arc::new(Schema::new("t", "f", 1));
        let system = Candidate::new(driver, "record").open(embedded(&folder), &schema);
        system.prepare().unwrap();
        let version = system.identity().unwrap().version;
        let told = version.strip_prefix(driver).unwrap().trim();
        let package = format!("name = \"{driver}\"\nversion = \"{told}\"");
        assert!(lock.contains(&package), "{package} is not what Cargo.lock has");
        system.remove().unwrap();
    }
}

#[test]
fn bad_settings_of_libraries_are_named() {
    for (driver, setting, value) in
        [("lmdb", "map_gib", "0"), ("redb", "cache_mib", "lots"), ("fjall", "cache_mib", "-1")]
    {
        let opening = Opening {
            target: Target::Embedded { data_dir: "unused".into() },
            layout: "record".into(),
            schema: Arc::new(Schema::new("t", "f", 1)),
            durability: Durability::None,
            settings: [(setting.to_owned(), value.to_owned())].into(),
            timeout: Duration::from_secs(1),
        };
        let Err(error) = (registry::find(driver).unwrap().open)(opening) else {
            panic!("{driver} took {setting}={value}");
        };
        let message = error.to_string();
        assert!(message.contains(setting) && message.contains(value), "{message}");
    }
}

#[test]
fn a_full_map_of_lmdb_is_told_with_the_setting_that_makes_it_larger() {
    let folder = tempfile::tempdir().unwrap();
    let schema = Arc::new(Schema::new("t", "f", 1));
    let opening = Opening {
        target: embedded(&folder),
        layout: "record".into(),
        schema: Arc::clone(&schema),
        durability: Durability::Buffered,
        settings: [("map_gib".to_owned(), "1".to_owned())].into(),
        timeout: Duration::from_secs(1),
    };
    let system = (registry::find("lmdb").unwrap().open)(opening).unwrap();
    system.prepare().unwrap();
    let mut session = session(&*system);
    let bytes = vec![7; 64 << 20];
    let values = [assay_model::FieldValue { field: 0, bytes: &bytes }];
    let refused = (0..32u32).find_map(|number| {
        let key = number.to_be_bytes();
        let insert = Operation::Insert { key: &key, values: &values };
        match session.execute(&insert, &mut Answer::counting()) {
            Outcome::Done => None,
            other => Some(other),
        }
    });
    let refused = refused.expect("2 GiB do not fit in a map of 1 GiB");
    assert_eq!(refused.failure_kind(), Some(FailureKind::Full));
    assert!(format!("{refused:?}").contains("map_gib"), "{refused:?}");
    // What is there is still there, and can make room.
    let delete = Operation::Delete { key: &0u32.to_be_bytes() };
    assert_eq!(session.execute(&delete, &mut Answer::counting()), Outcome::Done);
    assert_eq!(session.execute(&delete, &mut Answer::counting()), Outcome::Missing);
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
