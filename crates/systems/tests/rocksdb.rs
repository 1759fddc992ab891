//! The driver `rocksdb` on the library that this machine has.

mod common;
#[allow(dead_code, reason = "these tests take a part of what others share")]
#[path = "common/installed.rs"]
mod installed;

use std::{fs, path::Path, sync::Arc, thread, time::Duration};

use assay_model::{Answer, Durability, FieldValue, Fields, Operation, Outcome, Schema};
use assay_systems::{Opening, Session, System, SystemError, Target, registry};
use common::{Candidate, session};
use installed::installed_library;

fn target(library: &Path, folder: &Path) -> Target {
    Target::Library { library: library.to_owned(), data_dir: folder.to_owned() }
}

fn open(
    library: &Path,
    folder: &Path,
    durability: Durability,
    settings: &[(&str, &str)],
) -> Result<Box<dyn System>, SystemError> {
    (registry::find("rocksdb").unwrap().open)(Opening {
        target: target(library, folder),
        layout: "record".into(),
        schema: Arc::new(Schema::new("t", "f", 2).with_indexes(1)),
        durability,
        settings: settings.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
        timeout: Duration::from_secs(30),
    })
}

fn values<'a>(first: &'a [u8], second: &'a [u8]) -> [FieldValue<'a>; 2] {
    [FieldValue { field: 0, bytes: first }, FieldValue { field: 1, bytes: second }]
}

fn run(session: &mut dyn Session, operation: Operation<'_>) -> Outcome {
    session.execute(&operation, &mut Answer::counting())
}

#[test]
fn rocksdb_conforms_at_every_durability() {
    let Some(library) = installed_library("rocksdb") else { return };
    for durability in Durability::ALL {
        let folder = tempfile::tempdir().unwrap();
        let candidate = Candidate { durability, ..Candidate::new("rocksdb", "record") };
        candidate.conforms(|| target(&library, folder.path()));
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
        assert!(left.is_empty(), "left behind: {left:?}");
    }
}

#[test]
fn rocksdb_tells_its_version_and_the_settings_in_force() {
    let Some(library) = installed_library("rocksdb") else { return };
    for (durability, log, sync) in [
        (Durability::None, "true", "false"),
        (Durability::Buffered, "false", "false"),
        (Durability::Synced, "false", "true"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let settings = [("cache_mib", "8"), ("compression", "none")];
        let system = open(&library, folder.path(), durability, &settings).unwrap();
        system.prepare().unwrap();
        let identity = system.identity().unwrap();
        let version = identity.version.strip_prefix("RocksDB ").unwrap();
        assert!(version.starts_with(|first: char| first.is_ascii_digit()), "{version}");
        for (name, value) in [
            ("block_cache", "8388608"),
            ("compression", "none"),
            ("WriteOptions.disableWAL", log),
            ("WriteOptions.sync", sync),
        ] {
            let setting = (name.to_owned(), value.to_owned());
            assert!(identity.settings.contains(&setting), "{name}={value}: {identity:?}");
        }
    }
}

#[test]
fn what_rocksdb_acknowledged_as_buffered_is_in_its_files() {
    let Some(library) = installed_library("rocksdb") else { return };
    for (durability, kept) in [(Durability::None, 0), (Durability::Buffered, 1)] {
        let folder = tempfile::tempdir().unwrap();
        let system = open(&library, folder.path(), durability, &[]).unwrap();
        system.prepare().unwrap();
        let mut client = session(&*system);
        let insert = Operation::Insert { key: b"k", values: &values(b"a", b"b") };
        assert_eq!(run(&mut *client, insert), Outcome::Done);
        // As a crash of the process would leave them: what is in the files now.
        let log: u64 = fs::read_dir(folder.path().join("rocksdb"))
            .unwrap()
            .flatten()
            .filter(|file| file.path().extension().is_some_and(|end| end == "log"))
            .map(|file| file.metadata().unwrap().len())
            .sum();
        assert_eq!(u64::from(log > 0), kept, "{log} bytes at {durability}");
    }
}

#[test]
fn writers_of_one_record_leave_one_record_and_one_entry() {
    let Some(library) = installed_library("rocksdb") else { return };
    let folder = tempfile::tempdir().unwrap();
    let system = open(&library, folder.path(), Durability::None, &[]).unwrap();
    system.prepare().unwrap();
    let insert = Operation::Insert { key: b"k", values: &values(b"0", b"0") };
    assert_eq!(run(&mut *session(&*system), insert), Outcome::Done);
    thread::scope(|scope| {
        for writer in 0..4 {
            let mut client = session(&*system);
            scope.spawn(move || {
                for round in 0..200 {
                    let new = format!("{writer} {round}").into_bytes();
                    let update = Operation::Update { key: b"k", values: &values(&new, &new) };
                    assert_eq!(run(&mut *client, update), Outcome::Done);
                }
            });
        }
    });
    assert_eq!(system.count().unwrap(), 1);
    let mut answer = Answer::keeping();
    let every = Operation::Lookup { field: 0, from: b"", to: None, limit: 10, fields: Fields::All };
    assert_eq!(session(&*system).execute(&every, &mut answer), Outcome::Done);
    assert_eq!(answer.row_count(), 1);
}

#[test]
fn a_library_that_is_not_rocksdbs_and_a_setting_that_means_nothing_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |library: &Path, settings: &[(&str, &str)]| {
        let opened = open(library, folder.path(), Durability::None, settings);
        opened.err().expect("it is refused").to_string()
    };
    let garbage = folder.path().join("librocksdb.so.7");
    fs::write(&garbage, "this is no library").unwrap();
    let why = refused(&garbage, &[]);
    assert!(why.contains("cannot be loaded") && why.contains("librocksdb.so.7"), "{why}");
    for (name, value) in [("compression", "gzip"), ("cache_mib", "lots")] {
        let why = refused(&garbage, &[(name, value)]);
        assert!(why.contains(name) && why.contains(value), "{why}");
    }
}
