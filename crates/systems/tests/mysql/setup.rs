//! Everything before and after the measured operations: creating, loading, counting, settling,
//! telling, removing.

use std::{collections::BTreeMap, sync::Arc};

use assay_model::{Address, Durability, Endpoint, Fields, Outcome, Schema};
use assay_systems::{Opening, SystemError, registry::find};

use crate::{
    LAYOUTS, Server, in_each_layout, insert, load, open, opening, read, row, session, shared,
    system, values,
};

#[test]
fn loaded_records_are_counted_measured_and_read() {
    let Some(server) = shared() else { return };
    let records = 20_000;
    in_each_layout(&server, "loads", |system, session| {
        load(system, records).unwrap_or_else(|error| panic!("{error}"));
        system.settle().unwrap();
        assert_eq!(system.count().unwrap(), records as u64);
        let bytes = system.footprint().unwrap().disk_bytes.unwrap();
        assert!(bytes > 100 * records as u64, "{bytes}");
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
        assert!(error.contains("load the records") && error.contains("1062"), "{error}");
        assert_eq!(system.count().unwrap(), 0);

        // In a long load the error comes up before the end, and again until then.
        let mut loader = system.loader().unwrap();
        let long = "x".repeat(10_000);
        let fields = [(0, long.as_str()), (1, "b"), (2, "c")];
        let failed = (0..1_000).find_map(|_| loader.insert(b"same", &values(&fields)).err());
        let error = failed.expect("noticed within ten megabytes").to_string();
        assert!(error.contains("1062"), "{error}");
        assert!(loader.insert(b"other", &values(&fields)).is_err());
        assert!(loader.finish().is_err());

        // A loader that is dropped holds nothing that is in the way of the next.
        system.loader().unwrap().insert(b"k", &values(&fields)).unwrap();
        load(system, 10).unwrap();
        assert_eq!(system.count().unwrap(), 10);
    });
}

#[test]
fn a_table_that_is_there_is_left_alone() {
    let Some(server) = shared() else { return };
    let endpoint = server.database("existing");
    server.sql("CREATE TABLE existing.`User ``table'` (mine int)");
    for layout in LAYOUTS {
        let system = system(endpoint.clone(), layout);
        match system.prepare() {
            Err(SystemError::AlreadyThere { what, .. }) => assert!(what.contains("User"), "{what}"),
            other => panic!("{other:?}"),
        }
        system.remove().unwrap();
        server.sql("SELECT mine FROM existing.`User ``table'`");
    }
}

#[test]
fn a_database_that_nobody_names_comes_and_goes() {
    let Some(server) = Server::start(&[]) else { return };
    let databases = || server.sql("SHOW DATABASES LIKE 'assay'");
    for layout in LAYOUTS {
        let system = system(server.endpoint(), layout);
        system.prepare().unwrap();
        assert_eq!(databases(), "assay");
        assert_eq!(
            insert(&mut session(&*system), "k", &[(0, "a"), (1, "b"), (2, "c")]),
            Outcome::Done
        );
        system.remove().unwrap();
        assert_eq!(databases(), "");
    }
    // What others have put into it stays, and so does one that was there.
    let system = system(server.endpoint(), "row");
    system.prepare().unwrap();
    server.sql("CREATE TABLE assay.theirs (a int)");
    system.remove().unwrap();
    assert_eq!(server.sql("SHOW TABLES IN assay"), "theirs");
    server.sql("DROP TABLE assay.theirs");
    system.prepare().unwrap();
    system.remove().unwrap();
    assert_eq!(databases(), "assay");
}

#[test]
fn less_durability_than_asked_for_is_refused() {
    let refusals = |options: &[&str], due: [Option<&str>; 3]| {
        let Some(server) = Server::start(options) else { return };
        let endpoint = server.database("durability");
        for (durability, due) in Durability::ALL.into_iter().zip(due) {
            let system = open(Opening { durability, ..opening(endpoint.clone(), "row", 3) });
            let prepared = system.prepare();
            match (prepared, due) {
                (Ok(()), None) => system.remove().unwrap(),
                (Err(error), Some(due)) => {
                    let error = error.to_string();
                    assert!(error.contains(due), "{durability}: {error}");
                }
                (prepared, _) => panic!("{options:?} {durability}: {prepared:?}"),
            }
        }
    };
    let (once, on_commit) = (Some("commit=0"), Some("commit=2"));
    refusals(&["--innodb-flush-log-at-trx-commit=0"], [None, once, once]);
    refusals(&["--innodb-flush-log-at-trx-commit=2"], [None, None, on_commit]);
    refusals(&["--innodb-flush-log-at-trx-commit=1"], [None, None, None]);
    let logged = ["--innodb-flush-log-at-trx-commit=1", "--log-bin=log", "--sync-binlog=0"];
    refusals(&logged, [None, None, Some("sync_binlog=0")]);
}

#[test]
fn the_version_and_the_settings_in_force_are_told() {
    let Some(server) = Server::start(&["--innodb-buffer-pool-size=64M"]) else { return };
    let identity = system(server.endpoint(), "row").identity().unwrap();
    assert!(identity.version.starts_with("MariaDB 1"), "{}", identity.version);
    let settings = BTreeMap::from_iter(identity.settings);
    assert_eq!(settings["innodb_buffer_pool_size"], (64 << 20).to_string());
    assert_eq!(settings["innodb_flush_log_at_trx_commit"], "0");
    assert_eq!(settings["innodb_doublewrite"], "OFF");
}

#[test]
fn names_that_the_server_cannot_hold_are_refused() {
    let driver = find("mariadb").unwrap();
    let endpoint = Endpoint::at(Address::Unix("/nowhere".into()));
    for (layout, schema) in [
        ("json", Schema::new(&"t".repeat(65), "field", 1)),
        ("json", Schema::new("t ", "field", 1)),
        ("json", Schema::new("t", "fi\0eld", 1)),
        ("row", Schema::new("t", &"f".repeat(64), 1)),
        ("row", Schema::new("t", "field", 1_017)),
    ] {
        let opening =
            Opening { schema: Arc::new(schema.clone()), ..opening(endpoint.clone(), layout, 1) };
        assert!(
            matches!((driver.open)(opening), Err(SystemError::Failed { .. })),
            "{:?}",
            schema.table()
        );
    }
}

#[test]
fn many_fields_are_created_loaded_and_read() {
    let Some(server) = shared() else { return };
    let endpoint = server.database("many_fields");
    for layout in LAYOUTS {
        let system = open(opening(endpoint.clone(), layout, 200));
        system.prepare().unwrap_or_else(|error| panic!("{error}"));
        let long = "v".repeat(100);
        let fields: Vec<(u16, &str)> = (0..200).map(|field| (field, long.as_str())).collect();
        let mut loader = system.loader().unwrap();
        loader.insert(b"loaded", &values(&fields)).unwrap();
        loader.finish().unwrap_or_else(|error| panic!("{error}"));
        let session = &mut session(&*system);
        assert_eq!(insert(session, "inserted", &fields), Outcome::Done);
        for key in ["loaded", "inserted"] {
            for field in [0, 16, 199] {
                let expected = vec![row(key, &[(field, &long)])];
                assert_eq!(read(session, key, Fields::One(field)), (Outcome::Done, expected));
                assert_eq!(crate::update(session, key, &[(field, "new")]), Outcome::Done);
                let expected = vec![row(key, &[(field, "new")])];
                assert_eq!(crate::scan(session, key, 1, Fields::One(field)), expected);
            }
            assert_eq!(read(session, key, Fields::All).1[0].1.len(), 200);
        }
        system.remove().unwrap();
    }
}
