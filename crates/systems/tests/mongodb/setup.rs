//! Everything before and after the measured operations: creating, loading, counting, settling,
//! telling, removing.

use assay_model::{Durability, Fields, Outcome};
use assay_systems::{Opening, SystemError};

use crate::{
    LAYOUTS, in_each_layout, insert, load, open, opening, read, row, session, shared, system,
    values,
};

#[test]
fn loaded_records_are_counted_measured_and_read() {
    let Some(server) = shared() else { return };
    let records = 2_000;
    in_each_layout(&server, "loads", |system, session| {
        load(system, records).unwrap_or_else(|error| panic!("{error}"));
        system.settle().unwrap();
        assert_eq!(system.count().unwrap(), records as u64);
        assert!(system.footprint().unwrap().disk_bytes.is_some_and(|bytes| bytes > 0));
        for number in (0..records).step_by(records / 10) {
            let key = format!("user{number:06}");
            let (outcome, rows) = read(session, &key, Fields::All);
            assert_eq!(outcome, Outcome::Done);
            assert_eq!(rows[0].1[2], (2, key.as_bytes().to_vec()));
        }
    });
}

#[test]
fn a_load_that_fails_says_so() {
    let Some(server) = shared() else { return };
    in_each_layout(&server, "failing_loads", |system, _| {
        let fields = [(0, "a"), (1, "b"), (2, "c")];
        let mut loader = system.loader().unwrap();
        for _ in 0..2 {
            loader.insert(b"same", &values(&fields)).unwrap();
        }
        let error = loader.finish().unwrap_err().to_string();
        assert!(error.contains("load the records") && error.contains("11000"), "{error}");

        // A key that is none is refused before it is sent, and again until the end.
        let mut loader = system.loader().unwrap();
        let error = loader.insert(b"\xff", &values(&fields)).unwrap_err().to_string();
        assert!(error.contains("UTF-8"), "{error}");
        assert!(loader.insert(b"other", &values(&fields)).is_err());
        assert!(loader.finish().is_err());

        // A loader that is dropped holds nothing that is in the way of the next.
        system.loader().unwrap().insert(b"k", &values(&fields)).unwrap();
        load(system, 10).unwrap();
    });
}

#[test]
fn a_collection_that_is_there_is_left_alone() {
    let Some(server) = shared() else { return };
    for layout in LAYOUTS {
        let theirs = system(server.database("existing"), layout);
        theirs.prepare().unwrap();
        let fields = [(0, "a"), (1, "b"), (2, "c")];
        assert_eq!(insert(&mut session(&*theirs), "k", &fields), Outcome::Done);
        let ours = system(server.database("existing"), layout);
        match ours.prepare() {
            Err(SystemError::AlreadyThere { what, .. }) => {
                assert!(what.contains("existing.User"), "{what}");
            }
            other => panic!("{other:?}"),
        }
        ours.remove().unwrap();
        assert_eq!(read(&mut session(&*theirs), "k", Fields::All).1, [row("k", &fields)]);
        theirs.remove().unwrap();
    }
}

#[test]
fn every_level_is_asked_for_in_the_write_concern_and_told() {
    let Some(server) = shared() else { return };
    for durability in Durability::ALL {
        let endpoint = server.database("levels");
        let system = open(Opening { durability, ..opening(endpoint, "document", 3) });
        system.prepare().unwrap();
        let fields = [(0, "a"), (1, "b"), (2, "c")];
        assert_eq!(insert(&mut session(&*system), "k", &fields), Outcome::Done);
        let told = system.identity().unwrap().settings;
        let concern = told.iter().find(|(name, _)| name == "writeConcern").map(|found| &found.1);
        let expected = format!("w: 1, j: {}", durability == Durability::Synced);
        assert_eq!(concern, Some(&expected));
        system.remove().unwrap();
    }
}
