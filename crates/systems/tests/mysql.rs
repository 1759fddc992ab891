//! The `mariadb` driver, and `mysql` which is the same but for a few values, against a real
//! MariaDB. Skipped, by name, where none is installed.

#[path = "common/logins.rs"]
mod logins;
#[path = "common/paused.rs"]
mod paused;
#[path = "common/records.rs"]
mod records;
#[path = "common/restart.rs"]
mod restart;
#[path = "common/written.rs"]
mod written;

#[path = "mysql/server.rs"]
mod server;

#[path = "mysql/login.rs"]
mod login;

#[path = "mysql/setup.rs"]
mod setup;

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    sync::Arc,
    time::Duration,
};

use assay_model::{
    Answer, Durability, Endpoint, FailureKind, FieldValue, Fields, Operation, Outcome, Schema,
};
use assay_systems::{
    Client, Opening, Step, System, Target,
    blocking::Blocking,
    conformance::{self, Content, Misses, Subject, Updates},
    registry::find,
};
use records::{Row, ask, delete, insert, kind, load, read, row, scan, session, update, values};
use server::{Server, shared};

const LAYOUTS: [&str; 2] = ["row", "json"];
const FIELDS: usize = 3;

fn opening(endpoint: Endpoint, layout: &str, fields: usize) -> Opening {
    Opening {
        target: Target::Server(endpoint),
        layout: layout.into(),
        schema: Arc::new(Schema::new("User `table'", "field", fields)),
        durability: Durability::None,
        settings: BTreeMap::new(),
        timeout: Duration::from_secs(30),
    }
}

fn open(opening: Opening) -> Box<dyn System> {
    let driver = find("mariadb").expect("the driver is registered");
    (driver.open)(opening).unwrap_or_else(|error| panic!("{error}"))
}

fn system(endpoint: Endpoint, layout: &str) -> Box<dyn System> {
    open(opening(endpoint, layout, FIELDS))
}

/// Runs `test` with an empty table in each layout, then removes it.
fn in_each_layout(server: &Server, database: &str, test: impl Fn(&dyn System, &mut Blocking)) {
    let endpoint = server.database(database);
    for layout in LAYOUTS {
        eprintln!("layout {layout}");
        let system = system(endpoint.clone(), layout);
        system.prepare().unwrap_or_else(|error| panic!("{error}"));
        test(&*system, &mut session(&*system));
        system.remove().unwrap_or_else(|error| panic!("{error}"));
    }
    assert_eq!(server.sql(&format!("SHOW TABLES IN {database}")), "", "tables left behind");
}

fn conforms(driver: &str, endpoint: &Endpoint, layout: &str) {
    let name = driver;
    let driver = find(driver).expect("the driver is registered");
    for (fields, indexes) in [(10, 0), (1, 0), (1, 1), (3, 2)] {
        let opening = opening(endpoint.clone(), layout, fields);
        let schema = Arc::new(Schema::clone(&opening.schema).with_indexes(indexes));
        let subject = Subject {
            name: &format!("{name}:{layout} ({fields} fields, {indexes} indexes)"),
            system: &*(driver.open)(Opening { schema: schema.clone(), ..opening }).unwrap(),
            capabilities: &(driver.capabilities)(layout),
            schema: &schema,
            content: if layout == "row" { Content::Bytes } else { Content::Text },
            updates: Updates::Isolated,
            misses: Misses::Told,
        };
        conformance::check(&subject).unwrap_or_else(|failure| panic!("{failure}"));
    }
}

#[test]
fn rows_conform() {
    let Some(server) = shared() else { return };
    conforms("mariadb", &server.database("conformance_rows"), "row");
}

#[test]
fn documents_conform() {
    let Some(server) = shared() else { return };
    conforms("mariadb", &server.database("conformance_documents"), "json");
}

#[test]
fn every_layout_conforms_over_a_unix_socket() {
    let Some(server) = shared() else { return };
    server.database("over_unix");
    for layout in LAYOUTS {
        conforms("mariadb", &server.unix("over_unix"), layout);
    }
}

#[test]
fn rows_of_mysql_conform_and_documents_where_it_has_them() {
    let Some(server) = Server::start_mysql() else { return };
    conforms("mysql", &server.endpoint(), "row");
    let mysql = find("mysql").expect("the driver is registered");
    let rows = (mysql.open)(opening(server.endpoint(), "row", 1)).unwrap();
    let version = rows.identity().unwrap().version;
    if version.starts_with("MySQL 5.6") {
        let documents = (mysql.open)(opening(server.endpoint(), "json", 1)).unwrap();
        let error = documents.prepare().unwrap_err().to_string();
        assert!(error.contains("JSON from 5.7 on") && error.contains("layout row"), "{error}");
    } else {
        conforms("mysql", &server.endpoint(), "json");
    }
}

#[test]
fn what_is_written_is_read_in_every_layout() {
    let Some(server) = shared() else { return };
    in_each_layout(&server, "operations", written::is_read);
}

#[test]
fn a_reply_does_not_describe_its_columns_again() {
    let Some(server) = shared() else { return };
    in_each_layout(&server, "described", |system, session| {
        assert_eq!(insert(session, "k", &[(0, "a"), (1, "b"), (2, "c")]), Outcome::Done);
        let Ok(Client::Wire(mut client)) = system.connect() else { panic!("a wire client") };
        let (mut request, mut reply) = (Vec::new(), Vec::new());
        client.codec.encode(&Operation::Read { key: b"k", fields: Fields::All }, &mut request);
        client.socket.write_all(&request).unwrap();
        let mut from = 0;
        loop {
            let mut bytes = [0; 4096];
            let count = client.socket.read(&mut bytes).unwrap();
            reply.extend_from_slice(&bytes[..count]);
            let answer = &mut Answer::counting();
            match client.codec.decode(&reply[from..], &mut Vec::new(), answer) {
                Step::More { consumed } => from += consumed,
                Step::Done { outcome, .. } => break assert_eq!(outcome, Outcome::Done),
                Step::Broken(outcome) => panic!("{outcome:?}"),
            }
        }
        // A definition has the names of the database and of the table.
        let described = reply.windows(9).any(|part| part == b"described");
        assert!(!described, "{}", reply.escape_ascii());
    });
}

#[test]
fn keys_differ_by_case_and_by_blanks_at_the_end() {
    let Some(server) = shared() else { return };
    in_each_layout(&server, "alike", |_, session| {
        let keys = ["B", "a", "a ", "a\t", "b", "é"];
        let mut sorted = keys;
        sorted.sort();
        for key in keys {
            assert_eq!(insert(session, key, &[(0, key), (1, ""), (2, "")]), Outcome::Done);
        }
        for key in keys {
            assert_eq!(read(session, key, Fields::One(0)).1, [row(key, &[(0, key)])]);
        }
        let expected: Vec<Row> = sorted.iter().map(|key| row(key, &[(0, key)])).collect();
        assert_eq!(scan(session, "", 10, Fields::One(0)), expected);
    });
}

#[test]
fn documents_refuse_what_is_not_text_and_go_on() {
    let Some(server) = shared() else { return };
    let system = system(server.database("not_text"), "json");
    system.prepare().unwrap();
    let session = &mut session(&*system);
    let fields = [(0, "a"), (1, "b"), (2, "c")];
    assert_eq!(insert(session, "k", &fields), Outcome::Done);
    for bytes in [&b"a\0b"[..], b"\xff", b"\xc3", b"\xed\xa0\x80"] {
        let others = values(&fields[1..]);
        let values = [&[FieldValue { field: 0, bytes }][..], &others].concat();
        for operation in [
            Operation::Insert { key: b"bad", values: &values },
            Operation::Update { key: b"k", values: &values },
            Operation::Update { key: b"k", values: &values[..1] },
        ] {
            let before = read(session, "k", Fields::One(0)).1;
            let (outcome, _) = ask(session, operation);
            let after = read(session, "k", Fields::One(0)).1;
            // MariaDB takes halves of surrogate pairs, and NUL where it writes the document itself.
            let lenient = matches!(bytes, [b'a', ..] | [0xed, ..]);
            match outcome {
                Outcome::Done if lenient => match operation {
                    Operation::Update { .. } => assert_eq!(after[0].1, [(0, bytes.to_vec())]),
                    _ => assert_eq!(delete(session, "bad"), Outcome::Done),
                },
                outcome => {
                    assert_eq!(kind(&outcome), FailureKind::Rejected, "{bytes:?}: {outcome:?}");
                    assert_eq!(after, before, "{bytes:?}");
                }
            }
        }
    }
    assert_eq!(system.count().unwrap(), 1);
    system.remove().unwrap();
}

#[test]
fn keys_and_indexed_values_at_the_limit_are_taken_and_longer_ones_are_not() {
    let Some(server) = shared() else { return };
    let endpoint = server.database("limits");
    for layout in LAYOUTS {
        let limit = (find("mariadb").unwrap().capabilities)(layout).max_key_bytes.unwrap() as usize;
        let opening = opening(endpoint.clone(), layout, FIELDS);
        let schema = Arc::new(Schema::clone(&opening.schema).with_indexes(1));
        let system = open(Opening { schema, ..opening });
        system.prepare().unwrap();
        let session = &mut session(&*system);
        let long = "k".repeat(limit + 1);
        for (key, value) in [(&long[..], "v"), ("k", &long[..])] {
            let outcome = insert(session, key, &[(0, value), (1, ""), (2, "")]);
            assert_eq!(kind(&outcome), FailureKind::Rejected, "{layout}: {outcome:?}");
        }
        let exact = &long[..limit];
        assert_eq!(insert(session, exact, &[(0, exact), (1, ""), (2, "")]), Outcome::Done);
        let lookup = Operation::Lookup {
            field: 0,
            from: exact.as_bytes(),
            to: Some(exact.as_bytes()),
            limit: 2,
            fields: Fields::One(0),
        };
        assert_eq!(ask(session, lookup), (Outcome::Done, vec![row(exact, &[(0, exact)])]));
        system.remove().unwrap();
    }
}

#[test]
fn records_of_several_packets_are_kept_and_longer_ones_than_the_server_takes_refused() {
    let Some(server) = Server::start(&["--max-allowed-packet=40M"]) else { return };
    let endpoint = server.database("large");
    for layout in LAYOUTS {
        let system = system(endpoint.clone(), layout);
        system.prepare().unwrap();
        let session = &mut session(&*system);
        let large = "0123456789abcdef".repeat(1 << 20);
        for (key, first, second) in [("one", &large[..], ""), ("two", &large, &large)] {
            let fields = [(0, first), (1, second), (2, "c")];
            assert_eq!(insert(session, key, &fields), Outcome::Done, "{layout}");
            assert!(read(session, key, Fields::All) == (Outcome::Done, vec![row(key, &fields)]));
        }
        let mut loader = system.loader().unwrap();
        loader.insert(b"loaded", &values(&[(0, &large), (1, ""), (2, "")])).unwrap();
        loader.finish().unwrap();
        let outcome = insert(session, "three", &[(0, &large), (1, &large), (2, &large)]);
        assert_eq!(kind(&outcome), FailureKind::Rejected);
        assert!(format!("{outcome:?}").contains("max_allowed_packet"), "{outcome:?}");
        assert_eq!(read(session, "loaded", Fields::One(2)).0, Outcome::Done);
        system.remove().unwrap();
    }
}

#[test]
fn a_lookup_goes_by_its_index_and_sorts_nothing() {
    let Some(server) = shared() else { return };
    let endpoint = server.database("lookups");
    for layout in LAYOUTS {
        let opening = opening(endpoint.clone(), layout, FIELDS);
        let schema = Arc::new(Schema::clone(&opening.schema).with_indexes(2));
        let system = open(Opening { schema, ..opening });
        system.prepare().unwrap();
        let mut loader = system.loader().unwrap();
        let value = |number: usize| format!("value{:05}", number * 7_001 % 5_000);
        for number in 0..5_000 {
            let (first, second) = (value(number), value(number + 1));
            let fields = [(0, first.as_str()), (1, &second), (2, "rest")];
            loader.insert(format!("user{number}").as_bytes(), &values(&fields)).unwrap();
        }
        loader.finish().unwrap();
        system.settle().unwrap();
        let session = &mut session(&*system);
        for field in 0..2 {
            let column = if layout == "row" {
                format!("field{field}")
            } else {
                format!("ycsb_value{field}")
            };
            for condition in [
                "= 'value00040'",
                ">= 'value00040' AND {} <= 'value~' ORDER BY {}",
                ">= '' ORDER BY {}",
            ] {
                let condition = condition.replace("{}", &column);
                let plan = server.sql(&format!(
                    "EXPLAIN SELECT ycsb_key FROM lookups.`User ``table'` \
                     WHERE {column} {condition} LIMIT 5"
                ));
                assert!(plan.contains(&column) && !plan.contains("filesort"), "{layout}: {plan}");
            }
        }
        for (to, limit, due) in [(Some("value00040"), 9, 1), (Some("value~"), 3, 3), (None, 5, 5)] {
            let (from, to) = (b"value00040", to.map(str::as_bytes));
            let fields = Fields::One(0);
            let (outcome, rows) =
                ask(session, Operation::Lookup { field: 0, from, to, limit, fields });
            assert_eq!(outcome, Outcome::Done);
            let expected = (40..40 + due).map(|at| format!("value{at:05}").into_bytes());
            assert!(rows.iter().map(|row| row.1[0].1.clone()).eq(expected), "{layout}: {rows:?}");
        }
        system.remove().unwrap();
    }
}

#[test]
fn a_killed_session_is_disconnected_and_a_lock_not_had_is_a_conflict() {
    let Some(server) = Server::start(&["--innodb-lock-wait-timeout=1"]) else { return };
    let system = system(server.database("endings"), "row");
    system.prepare().unwrap();
    let mut session = session(&*system);
    let fields = [(0, "a"), (1, "b"), (2, "c")];
    assert_eq!(insert(&mut session, "k", &fields), Outcome::Done);
    let locked = "endings.`User ``table'`";
    std::thread::scope(|scope| {
        let lock =
            format!("BEGIN; UPDATE {locked} SET field0 = 'x'; SELECT SLEEP(30) AS held; ROLLBACK");
        let server = &server;
        scope.spawn(move || server.try_sql(&lock));
        let held = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%held'";
        while server.sql(held) != "1" {
            std::thread::sleep(Duration::from_millis(10));
        }
        let outcome = update(&mut session, "k", &[(1, "new")]);
        assert_eq!(kind(&outcome), FailureKind::Conflict, "{outcome:?}");
        assert_eq!(read(&mut session, "k", Fields::All).1, [row("k", &fields)]);
        let id = "SELECT id FROM information_schema.processlist WHERE info LIKE '%held'";
        server.sql(&format!("KILL {}", server.sql(id)));
    });
    let id = "SELECT id FROM information_schema.processlist WHERE command = 'Sleep'";
    server.sql(&format!("KILL {}", server.sql(id)));
    for _ in 0..2 {
        let (outcome, _) = read(&mut session, "k", Fields::All);
        assert_eq!(kind(&outcome), FailureKind::Disconnected, "{outcome:?}");
    }
    system.remove().unwrap();
}

#[test]
fn clients_go_on_after_a_restart() {
    let Some(mut server) = Server::start(&[]) else { return };
    let endpoint = server.database("restarted");
    let system = system(endpoint, "row");
    restart::goes_on_after_a_restart(&*system, FIELDS as u16, true, || server.restart());
}
