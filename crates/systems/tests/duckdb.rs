//! The driver `duckdb` on the library that this machine has.

mod common;
#[allow(dead_code, reason = "these tests take a part of what others share")]
#[path = "common/installed.rs"]
mod installed;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
};

use assay_model::{
    Answer, Durability, FailureKind, FieldValue, Fields, Operation, Outcome, Schema,
};
use assay_systems::{Opening, Session, Settings, System, SystemError, Target, registry};
use common::{Candidate, session};
use installed::installed_library;

fn target(library: &Path, folder: &tempfile::TempDir) -> Target {
    Target::Library { library: library.to_owned(), data_dir: folder.path().to_owned() }
}

fn open(library: &Path, folder: &tempfile::TempDir, durability: Durability) -> Box<dyn System> {
    let candidate = Candidate { durability, ..Candidate::new("duckdb", "row") };
    candidate.open(target(library, folder), &Arc::new(Schema::new("t", "f", 1)))
}

fn open_with(
    library: &Path,
    data_dir: PathBuf,
    settings: &[(&str, &str)],
) -> Result<Box<dyn System>, SystemError> {
    let settings: Settings =
        settings.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    (registry::find("duckdb").unwrap().open)(Opening {
        target: Target::Library { library: library.to_owned(), data_dir },
        layout: "row".into(),
        schema: Arc::new(Schema::new("t", "f", 1)),
        durability: Durability::None,
        settings,
        timeout: std::time::Duration::from_secs(30),
    })
}

fn run(session: &mut dyn Session, operation: Operation<'_>) -> Outcome {
    session.execute(&operation, &mut Answer::counting())
}

fn value(bytes: &[u8]) -> [FieldValue<'_>; 1] {
    [FieldValue { field: 0, bytes }]
}

fn conforms(durability: Durability) {
    let Some(library) = installed_library("duckdb") else { return };
    let folder = tempfile::tempdir().unwrap();
    let candidate = Candidate { durability, ..Candidate::new("duckdb", "row") };
    candidate.conforms(|| target(&library, &folder));
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "left behind: {left:?}");
}

#[test]
fn duckdb_in_memory_conforms() {
    conforms(Durability::None);
}

#[test]
fn duckdb_with_its_log_synced_conforms() {
    conforms(Durability::Synced);
}

#[test]
fn duckdb_has_no_level_between_memory_and_a_synced_log() {
    let capabilities = Candidate::new("duckdb", "row").capabilities();
    assert_eq!(capabilities.durability_setting(Durability::Buffered), None);
    assert_eq!(capabilities.nearest_durability(Durability::Buffered), Durability::Synced);
}

#[test]
fn duckdb_tells_its_version_and_the_settings_in_force() {
    let Some(library) = installed_library("duckdb") else { return };
    let folder = tempfile::tempdir().unwrap();
    let settings = [("threads", "3"), ("memory_limit", "256MiB")];
    let system = open_with(&library, folder.path().to_owned(), &settings).unwrap();
    system.prepare().unwrap();
    let identity = system.identity().unwrap();
    assert!(identity.version.starts_with("DuckDB 1."), "{identity:?}");
    let has = |name: &str, value: &str| {
        let setting = (name.to_owned(), value.to_owned());
        assert!(identity.settings.contains(&setting), "{name} should be {value}: {identity:?}");
    };
    has("threads", "3");
    has("memory_limit", "256.0 MiB");
    // A database in memory spills nothing to the disk.
    has("temp_directory", "");
}

#[test]
fn what_duckdb_acknowledged_as_synced_is_in_its_files() {
    let Some(library) = installed_library("duckdb") else { return };
    let folder = tempfile::tempdir().unwrap();
    let system = open(&library, &folder, Durability::Synced);
    system.prepare().unwrap();
    let mut client = session(&*system);
    let insert = Operation::Insert { key: b"k", values: &value(b"acknowledged") };
    assert_eq!(run(&mut *client, insert), Outcome::Done);
    // As a crash would leave them: what is in the files now, while the database is open.
    let copy = tempfile::tempdir().unwrap();
    for file in fs::read_dir(folder.path()).unwrap().flatten() {
        fs::copy(file.path(), copy.path().join(file.file_name())).unwrap();
    }
    let recovered = open(&library, &copy, Durability::Synced);
    assert_eq!(recovered.count().unwrap(), 1);
    let refused = recovered.prepare().unwrap_err();
    assert!(matches!(refused, SystemError::AlreadyThere { .. }), "{refused}");
    let read = Operation::Read { key: b"k", fields: Fields::All };
    let mut answer = Answer::keeping();
    assert_eq!(session(&*recovered).execute(&read, &mut answer), Outcome::Done);
    let row = answer.rows().next().unwrap();
    assert_eq!(row.fields().next(), Some((0, &b"acknowledged"[..])));
}

#[test]
fn a_database_in_memory_makes_no_file() {
    let Some(library) = installed_library("duckdb") else { return };
    let folder = tempfile::tempdir().unwrap();
    let system = open(&library, &folder, Durability::None);
    system.prepare().unwrap();
    let mut loader = system.loader().unwrap();
    (0..1000).for_each(|at| {
        loader.insert(format!("user{at}").as_bytes(), &value(&[b'x'; 100])).unwrap();
    });
    loader.finish().unwrap();
    system.settle().unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let footprint = system.footprint().unwrap();
    assert_eq!(footprint.disk_bytes, None);
    assert!(footprint.memory_bytes.unwrap() >= 100_000, "{footprint:?}");
}

#[test]
fn an_unfinished_load_of_duckdb_leaves_nothing() {
    let Some(library) = installed_library("duckdb") else { return };
    let folder = tempfile::tempdir().unwrap();
    let system = open(&library, &folder, Durability::None);
    system.prepare().unwrap();
    let mut loader = system.loader().unwrap();
    loader.insert(b"k", &value(b"v")).unwrap();
    drop(loader);
    assert_eq!(system.count().unwrap(), 0);
}

#[test]
fn a_load_of_a_key_that_exists_fails_with_duckdbs_words() {
    let Some(library) = installed_library("duckdb") else { return };
    let folder = tempfile::tempdir().unwrap();
    let system = open(&library, &folder, Durability::None);
    system.prepare().unwrap();
    let mut loader = system.loader().unwrap();
    for _ in 0..2 {
        loader.insert(b"k", &value(b"v")).unwrap();
    }
    let refused = loader.finish().unwrap_err().to_string();
    assert!(refused.contains("load the records") && refused.contains("uplicate key"), "{refused}");
    assert_eq!(system.count().unwrap(), 0);
}

#[test]
fn a_full_duckdb_is_told_as_full() {
    let Some(library) = installed_library("duckdb") else { return };
    let folder = tempfile::tempdir().unwrap();
    let settings = [("memory_limit", "16MiB")];
    let system = open_with(&library, folder.path().to_owned(), &settings).unwrap();
    system.prepare().unwrap();
    let mut client = session(&*system);
    let large = vec![b'x'; 1 << 20];
    let values = value(&large);
    let outcome = (0..100)
        .map(|at| {
            let key = format!("user{at}");
            run(&mut *client, Operation::Insert { key: key.as_bytes(), values: &values })
        })
        .find(|outcome| *outcome != Outcome::Done)
        .expect("100 MiB do not fit into 16");
    assert_eq!(outcome.failure_kind(), Some(FailureKind::Full), "{outcome:?}");
    // The client goes on.
    let read = Operation::Read { key: b"user0", fields: Fields::All };
    assert_eq!(run(&mut *client, read), Outcome::Done);
}

#[test]
fn writers_of_one_record_conflict_or_are_all_kept() {
    let Some(library) = installed_library("duckdb") else { return };
    let folder = tempfile::tempdir().unwrap();
    let system = open(&library, &folder, Durability::None);
    system.prepare().unwrap();
    let insert = Operation::Insert { key: b"k", values: &value(b"v") };
    assert_eq!(run(&mut *session(&*system), insert), Outcome::Done);
    thread::scope(|scope| {
        for writer in 0..4 {
            let mut client = session(&*system);
            scope.spawn(move || {
                for round in 0..200 {
                    let new = format!("{writer} {round}").into_bytes();
                    let update = Operation::Update { key: b"k", values: &value(&new) };
                    let outcome = run(&mut *client, update);
                    let conflict = outcome.failure_kind() == Some(FailureKind::Conflict);
                    assert!(outcome == Outcome::Done || conflict, "{outcome:?}");
                }
            });
        }
    });
    assert_eq!(system.count().unwrap(), 1);
}

#[test]
fn a_library_that_is_not_there_or_not_duckdbs_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let garbage = folder.path().join("libduckdb.so");
    fs::write(&garbage, "this is no library").unwrap();
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let other = maps
        .lines()
        .filter_map(|line| line.split_whitespace().nth(5))
        .find(|path| path.contains("libc.so") || path.contains("libc-"))
        .expect("the test is linked with a C library");
    for (library, why) in [
        (folder.path().join("nowhere.so"), "No such file"),
        (garbage, "cannot be loaded"),
        (other.into(), "duckdb_library_version: it is not libduckdb"),
    ] {
        let Err(refused) = open_with(&library, folder.path().to_owned(), &[]) else {
            panic!("it opened {}", library.display())
        };
        let refused = refused.to_string();
        assert!(refused.contains(why), "{refused}");
        assert!(refused.contains(library.to_str().unwrap()), "{refused}");
    }
}

#[test]
fn settings_that_mean_nothing_are_refused_by_name() {
    let nowhere = Path::new("/nowhere/libduckdb.so");
    for (name, text) in
        [("threads", "0"), ("threads", "many"), ("memory_limit", "lots"), ("memory_limit", "0GB")]
    {
        let refused = open_with(nowhere, "unused".into(), &[(name, text)]).err();
        assert!(
            matches!(&refused, Some(SystemError::BadSetting { setting, .. }) if setting == name),
            "{name}={text}: {refused:?}"
        );
    }
}

#[test]
fn a_file_that_is_no_database_is_refused_with_its_name() {
    let Some(library) = installed_library("duckdb") else { return };
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("assay.duckdb"), [7; 8192]).unwrap();
    let system = open(&library, &folder, Durability::Synced);
    let refused = system.prepare().unwrap_err().to_string();
    assert!(refused.contains("assay.duckdb"), "{refused}");
    assert!(system.connect().is_err());
}
