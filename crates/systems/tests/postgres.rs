//! The `postgres` driver against a real server. Skipped, by name, where none is installed.

#[path = "common/logins.rs"]
mod logins;
#[path = "common/records.rs"]
mod records;
#[path = "common/restart.rs"]
mod restart;

#[path = "postgres/server.rs"]
mod server;

#[path = "postgres/login.rs"]
mod login;

#[path = "postgres/lookups.rs"]
mod lookups;

#[path = "postgres/setup.rs"]
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
use records::{Row, ask, delete, insert, kind, load, read, row, scan, session, update, values};
use server::{Server, shared};

/// Every layout with every place that it has for the key.
const LAYOUTS: [(&str, &str); 7] = [
    ("row", "column"),
    ("hstore", "column"),
    ("hstore", "document"),
    ("jsonb", "column"),
    ("jsonb", "document"),
    ("json", "column"),
    ("json", "document"),
];

const FIELDS: usize = 3;

fn opening(endpoint: Endpoint, layout: &str, key: &str, fields: usize) -> Opening {
    Opening {
        target: Target::Server(endpoint),
        layout: layout.into(),
        schema: Arc::new(Schema::new("User \"table\"", "field", fields)),
        durability: Durability::None,
        settings: BTreeMap::from([("key".to_owned(), key.to_owned())]),
        timeout: Duration::from_secs(30),
    }
}

fn open(opening: Opening) -> Box<dyn System> {
    let driver = find("postgres").expect("the driver is registered");
    (driver.open)(opening).unwrap_or_else(|error| panic!("{error}"))
}

fn system(endpoint: Endpoint, layout: &str, key: &str) -> Box<dyn System> {
    open(opening(endpoint, layout, key, FIELDS))
}

/// Runs `test` with an empty table in each layout, then removes it.
fn in_each_layout(server: &Server, database: &str, test: impl Fn(&dyn System, &mut Blocking)) {
    let endpoint = server.database(database);
    for (layout, key) in LAYOUTS {
        eprintln!("layout {layout}, key={key}");
        let system = system(endpoint.clone(), layout, key);
        system.prepare().unwrap_or_else(|error| panic!("{error}"));
        test(&*system, &mut session(&*system));
        system.remove().unwrap_or_else(|error| panic!("{error}"));
    }
    let left = server.sql(database, "SELECT count(*) FROM pg_class WHERE relnamespace = 2200");
    assert_eq!(left, "0", "relations left behind");
    let extensions = server.sql(database, "SELECT extname FROM pg_extension ORDER BY 1");
    assert_eq!(extensions, "plpgsql", "the hstore extension is left behind");
}

#[test]
fn every_layout_conforms() {
    let Some(server) = shared() else { return };
    let endpoint = server.database("conformance");
    let driver = find("postgres").expect("the driver is registered");
    for (layout, key) in LAYOUTS {
        for (fields, indexes) in [(10, 0), (1, 1), (3, 2)] {
            let opening = opening(endpoint.clone(), layout, key, fields);
            let schema = Arc::new(Schema::clone(&opening.schema).with_indexes(indexes));
            let subject = Subject {
                name: &format!("postgres:{layout}+key={key} ({indexes} indexes)"),
                system: &*open(Opening { schema: schema.clone(), ..opening }),
                capabilities: &(driver.capabilities)(layout),
                schema: &schema,
                content: Content::Text,
                updates: Updates::Isolated,
                misses: Misses::Told,
            };
            conformance::check(&subject).unwrap_or_else(|failure| panic!("{failure}"));
        }
    }
}

#[test]
fn what_is_written_is_read_in_every_layout() {
    let Some(server) = shared() else { return };
    in_each_layout(&server, "operations", |_, session| {
        assert_eq!(insert(session, "k1", &[(0, "a"), (1, "b"), (2, "c")]), Outcome::Done);
        // The order given does not matter.
        assert_eq!(insert(session, "k2", &[(2, "z"), (0, "x"), (1, "y")]), Outcome::Done);
        for _ in 0..8 {
            // Often enough that the server changes to the plan that it keeps.
            let (outcome, rows) = read(session, "k1", Fields::All);
            assert_eq!(outcome, Outcome::Done);
            assert_eq!(rows, [row("k1", &[(0, "a"), (1, "b"), (2, "c")])]);
        }
        assert_eq!(
            read(session, "k2", Fields::One(2)),
            (Outcome::Done, vec![row("k2", &[(2, "z")])])
        );

        assert_eq!(update(session, "k1", &[(1, "one")]), Outcome::Done);
        assert_eq!(update(session, "k2", &[(2, "two"), (0, "nil")]), Outcome::Done);
        assert_eq!(
            read(session, "k1", Fields::All).1,
            [row("k1", &[(0, "a"), (1, "one"), (2, "c")])]
        );
        assert_eq!(
            read(session, "k2", Fields::All).1,
            [row("k2", &[(0, "nil"), (1, "y"), (2, "two")])]
        );
        assert_eq!(update(session, "k1", &[(0, "A"), (1, "B"), (2, "C")]), Outcome::Done);
        assert_eq!(
            read(session, "k1", Fields::All).1,
            [row("k1", &[(0, "A"), (1, "B"), (2, "C")])]
        );

        assert_eq!(delete(session, "k1"), Outcome::Done);
        assert_eq!(scan(session, "", 10, Fields::One(1)), [row("k2", &[(1, "y")])]);
    });
}

#[test]
fn a_missing_key_is_not_a_success() {
    let Some(server) = shared() else { return };
    in_each_layout(&server, "missing", |_, session| {
        assert_eq!(read(session, "none", Fields::All), (Outcome::Missing, vec![]));
        assert_eq!(read(session, "none", Fields::One(1)), (Outcome::Missing, vec![]));
        assert_eq!(update(session, "none", &[(0, "a")]), Outcome::Missing);
        assert_eq!(update(session, "none", &[(0, "a"), (1, "b")]), Outcome::Missing);
        assert_eq!(update(session, "none", &[(0, "a"), (1, "b"), (2, "c")]), Outcome::Missing);
        assert_eq!(delete(session, "none"), Outcome::Missing);
        assert_eq!(scan(session, "", 10, Fields::All), []);
    });
}

#[test]
fn a_duplicate_key_is_a_conflict_and_changes_nothing() {
    let Some(server) = shared() else { return };
    in_each_layout(&server, "duplicates", |system, session| {
        let fields = [(0, "a"), (1, "b"), (2, "c")];
        assert_eq!(insert(session, "k", &fields), Outcome::Done);
        let outcome = insert(session, "k", &[(0, "x"), (1, "y"), (2, "z")]);
        assert_eq!(kind(&outcome), FailureKind::Conflict, "{outcome:?}");
        assert_eq!(read(session, "k", Fields::All), (Outcome::Done, vec![row("k", &fields)]));
        assert_eq!(system.count().unwrap(), 1);
    });
}

#[test]
fn odd_values_come_back_as_they_went() {
    let Some(server) = shared() else { return };
    let large = "0123456789abcdef".repeat(65_536);
    let quoted = "\"'\\/{}[]=>,:\\u0041\\\\\"".repeat(40);
    let control: String = (1u8..0x20).map(char::from).collect();
    in_each_layout(&server, "odd_values", |_, session| {
        for odd in ["", " ", "NULL", "null", "\\N", "é😀\u{7f}\u{2028}", &quoted, &control, &large]
        {
            let fields = [(0, odd), (1, "b"), (2, odd)];
            assert_eq!(insert(session, "k", &fields), Outcome::Done);
            assert!(read(session, "k", Fields::All) == (Outcome::Done, vec![row("k", &fields)]));
            assert_eq!(update(session, "k", &[(1, odd)]), Outcome::Done);
            let expected = [row("k", &[(1, odd)])];
            assert!(read(session, "k", Fields::One(1)).1 == expected);
            assert!(scan(session, "k", 1, Fields::One(1)) == expected);
            let expected = [row("k", &[(0, odd), (1, odd), (2, odd)])];
            assert!(scan(session, "k", 1, Fields::All) == expected);
            assert_eq!(delete(session, "k"), Outcome::Done);
        }
        for odd in ["é😀 \"quoted\"", "a\\b", "it's", "\u{1}\n"] {
            let fields = [(0, "a"), (1, "b"), (2, "c")];
            assert_eq!(insert(session, odd, &fields), Outcome::Done);
            assert_eq!(read(session, odd, Fields::All), (Outcome::Done, vec![row(odd, &fields)]));
            assert_eq!(scan(session, odd, 1, Fields::All), [row(odd, &fields)]);
            assert_eq!(delete(session, odd), Outcome::Done);
        }
    });
}

#[test]
fn what_text_cannot_hold_is_rejected_and_the_connection_lives() {
    let Some(server) = shared() else { return };
    in_each_layout(&server, "not_text", |_, session| {
        let fields = [(0, "a"), (1, "b"), (2, "c")];
        assert_eq!(insert(session, "k", &fields), Outcome::Done);
        for bad in [&b"a\0b"[..], b"\xff", b"\xc3", b"\xed\xa0\x80"] {
            let values = [
                FieldValue { field: 0, bytes: bad },
                FieldValue { field: 1, bytes: b"b" },
                FieldValue { field: 2, bytes: b"c" },
            ];
            for operation in [
                Operation::Insert { key: b"new", values: &values },
                Operation::Insert { key: bad, values: &values[1..] },
                Operation::Update { key: b"k", values: &values[..1] },
                Operation::Update { key: b"k", values: &values[..2] },
                Operation::Read { key: bad, fields: Fields::All },
            ] {
                let (outcome, rows) = ask(session, operation);
                assert_eq!(kind(&outcome), FailureKind::Rejected, "{operation:?}: {outcome:?}");
                assert_eq!(rows, []);
            }
        }
        assert_eq!(scan(session, "", 10, Fields::All), [row("k", &fields)]);
        let beyond = Operation::Read { key: b"k", fields: Fields::One(FIELDS as u16) };
        assert_eq!(kind(&ask(session, beyond).0), FailureKind::Rejected);
        assert_eq!(read(session, "k", Fields::One(0)).1, [row("k", &[(0, "a")])]);
    });
}

#[test]
fn scans_are_in_byte_order_whatever_the_locale() {
    let Some(server) = shared() else { return };
    // Where the server has ICU, a database whose own order is another one.
    let icu = "CREATE DATABASE scans TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'";
    if let Err(why) = server.try_sql("postgres", icu) {
        eprintln!("the database has the C locale: {why}");
        server.database("scans");
    }
    for (layout, key) in LAYOUTS {
        let system = system(server.tcp("scans"), layout, key);
        system.prepare().unwrap();
        let session = &mut session(&*system);
        let mut keys = ["b", "a", "B", "user10", "user9", "é", "a-b", "ab", "_"];
        for key in keys {
            assert_eq!(insert(session, key, &[(0, key), (1, "b"), (2, "c")]), Outcome::Done);
        }
        keys.sort();
        let expected: Vec<Row> =
            keys.iter().map(|key| row(key, &[(0, key), (1, "b"), (2, "c")])).collect();
        assert_eq!(scan(session, "", 100, Fields::All), expected, "{layout} {key}");
        assert_eq!(scan(session, "a-", 3, Fields::All), expected[3..6], "{layout} {key}");
        assert_eq!(scan(session, "zz", 1, Fields::One(0)), [row("é", &[(0, "é")])]);
        assert_eq!(scan(session, "a", 0, Fields::All), []);
        system.remove().unwrap();
    }
}

#[test]
fn many_fields_are_read_and_updated_one_by_one() {
    let Some(server) = shared() else { return };
    let endpoint = server.database("many_fields");
    for (layout, key) in LAYOUTS {
        let system = open(opening(endpoint.clone(), layout, key, 200));
        system.prepare().unwrap();
        let session = &mut session(&*system);
        let fields: Vec<(u16, &str)> = (0..200).map(|field| (field, "value")).collect();
        assert_eq!(insert(session, "k", &fields), Outcome::Done);
        for field in [0, 64, 199] {
            for value in ["first", "second"] {
                // A failure before the first success: it must not spoil the statement.
                assert_eq!(update(session, "none", &[(field, value)]), Outcome::Missing);
                assert_eq!(update(session, "k", &[(field, value)]), Outcome::Done);
                let expected = vec![row("k", &[(field, value)])];
                assert_eq!(
                    read(session, "k", Fields::One(field)),
                    (Outcome::Done, expected.clone())
                );
                assert_eq!(scan(session, "k", 9, Fields::One(field)), expected);
            }
        }
        let (_, rows) = read(session, "k", Fields::All);
        let changed: Vec<u16> = rows[0]
            .1
            .iter()
            .filter(|(_, value)| value == b"second")
            .map(|(field, _)| *field)
            .collect();
        assert_eq!((rows[0].1.len(), changed), (200, vec![0, 64, 199]), "{layout} {key}");
        system.remove().unwrap();
    }
}

#[test]
fn a_key_at_the_declared_limit_is_taken_and_a_longer_one_is_not() {
    let Some(server) = shared() else { return };
    let driver = find("postgres").unwrap();
    in_each_layout(&server, "long_keys", |_, session| {
        let limit = (driver.capabilities)("row").max_key_bytes.unwrap() as usize;
        // Letters in no order, which the index cannot compress.
        let mut state = 1u64;
        let mut letter = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            char::from(b'!' + (state >> 40) as u8 % 90)
        };
        let key: String = (0..=limit).map(|_| letter()).collect();
        let fields = [(0, "a"), (1, "b"), (2, "c")];
        let outcome = insert(session, &key, &fields);
        assert_eq!(kind(&outcome), FailureKind::Rejected, "{outcome:?}");
        assert_eq!(insert(session, &key[..limit], &fields), Outcome::Done);
        assert_eq!(read(session, &key[..limit], Fields::One(0)).0, Outcome::Done);
    });
}

#[test]
fn a_terminated_session_is_disconnected_and_a_canceled_statement_timed_out() {
    let Some(server) = shared() else { return };
    let endpoint = server.database("endings");
    let system = system(endpoint, "jsonb", "column");
    system.prepare().unwrap();
    let mut first = session(&*system);
    let fields = [(0, "a"), (1, "b"), (2, "c")];
    assert_eq!(insert(&mut first, "k", &fields), Outcome::Done);
    server.sql("endings", "ALTER DATABASE endings SET lock_timeout = '50ms'");
    let mut impatient = session(&*system);
    server.sql("endings", "ALTER DATABASE endings RESET lock_timeout");
    server.sql("endings", "ALTER DATABASE endings SET statement_timeout = '50ms'");
    let mut timed = session(&*system);
    server.sql("endings", "ALTER DATABASE endings RESET statement_timeout");

    let lock = "SELECT pg_advisory_lock(1); LOCK TABLE \"User \"\"table\"\"\"; SELECT pg_sleep(30)";
    std::thread::scope(|scope| {
        scope.spawn(|| server.try_sql("endings", lock));
        let held = "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted \
                    AND relation = '\"User \"\"table\"\"\"'::regclass";
        while server.sql("endings", held) != "1" {
            std::thread::sleep(Duration::from_millis(10));
        }
        let (outcome, _) = read(&mut impatient, "k", Fields::All);
        assert_eq!(kind(&outcome), FailureKind::Conflict, "{outcome:?}");
        let (outcome, _) = read(&mut timed, "k", Fields::All);
        assert_eq!(kind(&outcome), FailureKind::Timeout, "{outcome:?}");
        let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                   WHERE datname = 'endings' AND pid <> pg_backend_pid() AND query ~ ";
        assert_eq!(server.sql("endings", &format!("{end} 'pg_sleep'")), "1");
    });
    assert_eq!(read(&mut timed, "k", Fields::All).1, [row("k", &fields)]);

    let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
               WHERE application_name = 'assay' AND datname = 'endings'";
    server.sql("endings", end);
    for _ in 0..2 {
        let (outcome, _) = read(&mut first, "k", Fields::All);
        assert_eq!(kind(&outcome), FailureKind::Disconnected, "{outcome:?}");
    }
    system.remove().unwrap();
}

#[test]
fn clients_go_on_after_a_restart() {
    let Some(mut server) = Server::start(&[]) else { return };
    let endpoint = server.database("restarted");
    let system = open(opening(endpoint, "row", "column", FIELDS));
    restart::goes_on_after_a_restart(&*system, FIELDS as u16, true, || server.restart());
}
