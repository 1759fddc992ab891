//! Everything before and after the measured operations: creating, loading, counting, settling,
//! telling, removing.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use assay_model::{Address, Durability, Endpoint, Fields, Outcome, Schema};
use assay_systems::{Opening, SystemError, registry::find};

use crate::{
    FIELDS, LAYOUTS, Server, delete, in_each_layout, load, open, opening, read, row, scan, session,
    shared, system, update, values,
};

#[test]
fn loaded_records_are_counted_and_read_through_the_index() {
    let Some(server) = shared() else { return };
    let (records, database) = (20_000, "loads");
    in_each_layout(&server, database, |system, _| {
        load(system, records).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(system.count().unwrap(), records as u64);
        system.settle().unwrap();
        let bytes = system.footprint().unwrap().disk_bytes.unwrap();
        assert!(bytes > 100 * records as u64, "{bytes}");

        // The table's counters say how its rows were found. A session adds to them as it ends.
        let scans = || {
            let others = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'loads'";
            while server.sql("postgres", others) != "1" {
                std::thread::sleep(Duration::from_millis(10));
            }
            let sql = "SELECT seq_scan, idx_scan FROM pg_stat_user_tables";
            let counters = server.sql(database, sql);
            let (sequential, index) = counters.split_once('|').unwrap();
            (sequential.parse::<u64>().unwrap(), index.parse::<u64>().unwrap())
        };
        let before = scans();
        let mut session = session(system);
        let mut operations = 0;
        for number in (0..records).step_by(records / 10) {
            let key = format!("user{number:06}");
            let (outcome, rows) = read(&mut session, &key, Fields::All);
            assert_eq!(outcome, Outcome::Done);
            assert_eq!(rows[0].1[2], (2, key.as_bytes().to_vec()));
            let rows = scan(&mut session, &key, 5, Fields::All);
            let keys: Vec<_> = (number..number + 5)
                .map(|number| format!("user{number:06}").into_bytes())
                .collect();
            assert_eq!(rows.into_iter().map(|row| row.0).collect::<Vec<_>>(), keys);
            assert_eq!(update(&mut session, &key, &[(1, "new")]), Outcome::Done);
            assert_eq!(read(&mut session, &key, Fields::One(1)).1, [row(&key, &[(1, "new")])]);
            assert_eq!(delete(&mut session, &key), Outcome::Done);
            operations += 5;
        }
        drop(session);
        // The planner looks at the index as well.
        let after = scans();
        assert_eq!(after.0, before.0, "a table scan");
        assert!(after.1 >= before.1 + operations, "{after:?} after {before:?}");
    });
}

#[test]
fn a_load_that_fails_says_so_and_leaves_nothing() {
    let Some(server) = shared() else { return };
    in_each_layout(&server, "failing_loads", |system, _| {
        let fields = [(0, "a"), (1, "b"), (2, "c")];
        let mut loader = system.loader().unwrap();
        for _ in 0..2 {
            loader.insert(b"same", &values(&fields)).unwrap();
        }
        let error = loader.finish().unwrap_err().to_string();
        assert!(error.contains("load the records") && error.contains("23505"), "{error}");

        // In a long load the error comes up before the end.
        let mut loader = system.loader().unwrap();
        let long = "x".repeat(10_000);
        let failed = (0..100_000)
            .find_map(|_| loader.insert(b"same", &values(&[(0, &long), (1, "b"), (2, "c")])).err());
        let error = failed.expect("noticed within a gigabyte").to_string();
        assert!(error.contains("23505"), "{error}");
        assert!(loader.finish().is_err());
        assert_eq!(system.count().unwrap(), 0);

        // A loader that is dropped loads nothing either, and holds no lock.
        system.loader().unwrap().insert(b"k", &values(&fields)).unwrap();
        load(system, 10).unwrap();
        assert_eq!(system.count().unwrap(), 10);
    });
}

#[test]
fn a_table_that_is_there_is_left_alone() {
    let Some(server) = shared() else { return };
    let endpoint = server.database("existing");
    let table = "\"User \"\"table\"\"\"";
    server.sql("existing", &format!("CREATE TABLE {table} (mine int)"));
    for (layout, key) in LAYOUTS {
        let system = system(endpoint.clone(), layout, key);
        match system.prepare() {
            Err(SystemError::AlreadyThere { what, next, .. }) => {
                assert!(what.contains("User") && next.contains("--table"), "{what}; {next}");
            }
            other => panic!("{other:?}"),
        }
        system.remove().unwrap();
        server.sql("existing", &format!("SELECT mine FROM {table}"));
    }
    assert_eq!(server.sql("existing", "SELECT extname FROM pg_extension"), "plpgsql");
}

#[test]
fn an_extension_that_was_there_stays() {
    let Some(server) = shared() else { return };
    let endpoint = server.database("extension");
    server.sql("extension", "CREATE EXTENSION hstore");
    let system = system(endpoint, "hstore", "column");
    system.prepare().unwrap();
    system.remove().unwrap();
    let count = "SELECT count(*) FROM pg_extension WHERE extname = 'hstore'";
    assert_eq!(server.sql("extension", count), "1");
}

#[test]
fn durability_is_set_in_the_session_and_read_back() {
    let Some(server) = shared() else { return };
    let endpoint = server.database("durability");
    for (durability, expected) in
        [(Durability::None, "off"), (Durability::Buffered, "off"), (Durability::Synced, "on")]
    {
        let system =
            open(Opening { durability, ..opening(endpoint.clone(), "row", "column", FIELDS) });
        system.prepare().unwrap();
        let identity = system.identity().unwrap();
        assert!(identity.version.starts_with("PostgreSQL "), "{}", identity.version);
        let settings = BTreeMap::from_iter(identity.settings);
        assert_eq!(settings["synchronous_commit"], expected);
        assert_eq!(settings["fsync"], "on");
        assert_eq!(settings.len(), 10, "{settings:?}");
        system.remove().unwrap();
    }
}

#[test]
fn a_server_without_fsync_is_not_called_synced() {
    let Some(server) = Server::start(&["fsync=off"]) else { return };
    let opening = opening(server.database("unsafe"), "row", "column", FIELDS);
    let system = open(Opening { durability: Durability::Synced, ..opening });
    let error = system.prepare().unwrap_err().to_string();
    assert!(error.contains("fsync=off"), "{error}");
}

#[test]
fn bad_settings_are_named() {
    let driver = find("postgres").unwrap();
    let endpoint = Endpoint::at(Address::Unix("/nowhere".into()));
    for (layout, key) in [("row", "document"), ("jsonb", "sideways")] {
        match (driver.open)(opening(endpoint.clone(), layout, key, 1)) {
            Err(SystemError::BadSetting { setting, .. }) => assert_eq!(setting, "key"),
            _ => panic!("{layout} takes key={key}"),
        }
    }
    let long = Opening {
        schema: Arc::new(Schema::new(&"t".repeat(64), "field", 1)),
        ..opening(endpoint.clone(), "jsonb", "column", 1)
    };
    assert!(matches!((driver.open)(long), Err(SystemError::Failed { .. })));
    assert!(matches!(
        (driver.open)(opening(endpoint, "row", "column", 1600)),
        Err(SystemError::Failed { .. })
    ));
}
