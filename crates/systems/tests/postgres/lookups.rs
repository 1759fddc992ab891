//! Secondary indexes, beside what the conformance test checks of them.

use std::{sync::Arc, time::Duration};

use assay_model::{FailureKind, FieldValue, Fields, Operation, Outcome, Schema};
use assay_systems::{Opening, System, blocking::Blocking, registry::find};

use crate::{
    FIELDS, LAYOUTS, Row, Server, ask, insert, kind, open, opening, row, session, shared, values,
};

const INDEXES: usize = 2;
const RECORDS: usize = 20_000;

/// Runs `test` with a table in each layout, then removes it.
fn in_each_layout(server: &Server, database: &str, schema: Schema, test: impl Fn(&dyn System)) {
    let endpoint = server.database(database);
    let schema = Arc::new(schema);
    for (layout, key) in LAYOUTS {
        eprintln!("layout {layout}, key={key}");
        let opening = opening(endpoint.clone(), layout, key, FIELDS);
        let system = open(Opening { schema: schema.clone(), ..opening });
        system.prepare().unwrap_or_else(|error| panic!("{error}"));
        test(&*system);
        system.remove().unwrap_or_else(|error| panic!("{error}"));
        let left = server.sql(database, "SELECT count(*) FROM pg_class WHERE relnamespace = 2200");
        assert_eq!(left, "0", "relations left behind");
    }
}

fn lookup(
    session: &mut Blocking,
    field: u16,
    (from, to): (&str, Option<&str>),
    limit: u32,
    fields: Fields,
) -> (Outcome, Vec<Row>) {
    let (from, to) = (from.as_bytes(), to.map(str::as_bytes));
    ask(session, Operation::Lookup { field, from, to, limit, fields })
}

/// The value of an indexed field of a record; each field has an order of its own.
fn value(field: u16, number: usize) -> String {
    let factor = [7_001, 13_007][usize::from(field)];
    format!("value{:06}", number * factor % RECORDS)
}

fn load(system: &dyn System) {
    let mut loader = system.loader().unwrap();
    for number in 0..RECORDS {
        let (first, second) = (value(0, number), value(1, number));
        let fields = [(0, first.as_str()), (1, &second), (2, "the rest")];
        loader.insert(format!("user{number:06}").as_bytes(), &values(&fields)).unwrap();
    }
    loader.finish().unwrap_or_else(|error| panic!("{error}"));
    system.settle().unwrap_or_else(|error| panic!("{error}"));
}

/// How often the table was read as a whole; then of an index how often it was used, and how many
/// entries that read.
fn counters(server: &Server, database: &str, field: u16) -> [u64; 3] {
    // A session adds to the counters as it ends.
    let others = format!("SELECT count(*) FROM pg_stat_activity WHERE datname = '{database}'");
    while server.sql(database, &others) != "1" {
        std::thread::sleep(Duration::from_millis(10));
    }
    let sql = format!(
        "SELECT seq_scan, i.idx_scan, idx_tup_read FROM pg_stat_user_tables \
         JOIN pg_stat_user_indexes i USING (relid) \
         WHERE pg_get_indexdef(indexrelid) LIKE '%field{field}%'"
    );
    let counters: Vec<u64> =
        server.sql(database, &sql).split('|').map(|number| number.parse().unwrap()).collect();
    counters.try_into().expect("one index of the field")
}

#[test]
fn a_lookup_reads_its_index_and_no_more_of_it_than_it_returns() {
    let Some(server) = shared() else { return };
    let schema = Schema::new("User \"table\"", "field", FIELDS).with_indexes(INDEXES);
    in_each_layout(&server, "lookups", schema, |system| {
        load(system);
        for field in 0..INDEXES as u16 {
            let before = counters(&server, "lookups", field);
            let mut session = session(system);
            let (mut asked, mut returned) = (0, 0);
            // Often enough that the server changes to the plan that it keeps.
            for start in (0..RECORDS - 10).step_by(RECORDS / 10) {
                let from = format!("value{start:06}");
                let to = format!("value{:06}", start + 2);
                for (to, limit, due) in [
                    (Some(from.as_str()), 4, 1),
                    (Some(to.as_str()), 100, 3),
                    (Some("value~"), 3, 3),
                    (None, 5, 5),
                ] {
                    for fields in [Fields::All, Fields::One(field)] {
                        let range = (from.as_str(), to);
                        let (outcome, rows) = lookup(&mut session, field, range, limit, fields);
                        assert_eq!(outcome, Outcome::Done);
                        let found = rows.iter().map(|row| {
                            let value = row.1.iter().find(|value| value.0 == field);
                            String::from_utf8_lossy(&value.expect("it is wanted").1).into_owned()
                        });
                        let expected = (start..start + due).map(|at| format!("value{at:06}"));
                        assert!(found.eq(expected), "{rows:?} from {range:?}");
                        asked += 1;
                        returned += due as u64;
                    }
                }
            }
            drop(session);
            let after = counters(&server, "lookups", field);
            assert_eq!(after[0], before[0], "a table scan");
            assert!(after[1] >= before[1] + asked, "{after:?} after {before:?}");
            // The planner looks at the ends of the index as well.
            let read = after[2] - before[2];
            assert!((returned..=returned + 3 * asked).contains(&read), "{read} for {returned}");
        }
    });
}

#[test]
fn odd_names_and_absent_values_do_not_matter_to_an_index() {
    let Some(server) = shared() else { return };
    let schema = Schema::new("it's \"a\" \\ table", "it's \"a\" \\ field", 200).with_indexes(16);
    in_each_layout(&server, "odd_indexes", schema, |system| {
        let session = &mut session(system);
        let values: Vec<String> = (0..200).map(|field| format!("é{field}")).collect();
        let fields: Vec<(u16, &str)> = (0..).zip(values.iter().map(String::as_str)).collect();
        assert_eq!(insert(session, "whole", &fields), Outcome::Done);
        assert_eq!(insert(session, "part", &fields[..15]), Outcome::Done);
        for wanted in [0, 15, 199] {
            let one = vec![row("whole", &[(wanted, &format!("é{wanted}"))])];
            for to in [None, Some("é15"), Some("é2")] {
                let found = lookup(session, 15, ("é15", to), 9, Fields::One(wanted));
                assert_eq!(found, (Outcome::Done, one.clone()), "{to:?}");
            }
        }
        let (outcome, rows) = lookup(session, 14, ("é14", Some("é14")), 9, Fields::All);
        let mut lengths: Vec<_> = rows.iter().map(|row| row.1.len()).collect();
        lengths.sort();
        assert_eq!((outcome, lengths), (Outcome::Done, vec![15, 200]));

        let none = lookup(session, 15, ("é15x", Some("é15y")), 9, Fields::All);
        assert_eq!(none, (Outcome::Missing, vec![]));
        assert_eq!(lookup(session, 15, ("é16", None), 9, Fields::All), (Outcome::Done, vec![]));
        let (outcome, _) = lookup(session, 16, ("é16", None), 9, Fields::All);
        assert_eq!(kind(&outcome), FailureKind::Rejected, "{outcome:?}");
        for (from, to) in [(&b"\xff"[..], None), (b"a", Some(&b"a\0b"[..]))] {
            let lookup = Operation::Lookup { field: 0, from, to, limit: 9, fields: Fields::All };
            assert_eq!(kind(&ask(session, lookup).0), FailureKind::Rejected);
        }
        let (outcome, rows) = lookup(session, 0, ("", None), 1, Fields::One(0));
        assert_eq!((outcome, &rows[0].1[..]), (Outcome::Done, &[(0, "é0".into())][..]));
    });
}

#[test]
fn an_indexed_value_is_as_long_as_a_key_at_most() {
    let Some(server) = shared() else { return };
    let limit = (find("postgres").unwrap().capabilities)("row").max_key_bytes.unwrap() as usize;
    // Letters in no order, which the index cannot compress.
    let mut state = 1u64;
    let mut letter = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        b'!' + (state >> 40) as u8 % 90
    };
    let long: Vec<u8> = (0..=limit).map(|_| letter()).collect();
    let schema = Schema::new("t", "field", FIELDS).with_indexes(1);
    in_each_layout(&server, "long_indexed", schema, |system| {
        let session = &mut session(system);
        let mut insert = |bytes| {
            let values = [FieldValue { field: 0, bytes }, FieldValue { field: 1, bytes: &long }];
            ask(session, Operation::Insert { key: b"k", values: &values }).0
        };
        let outcome = insert(&long);
        assert_eq!(kind(&outcome), FailureKind::Rejected, "{outcome:?}");
        assert_eq!(insert(&long[..limit]), Outcome::Done);
        let value = std::str::from_utf8(&long[..limit]).unwrap();
        let found = lookup(session, 0, (value, Some(value)), 9, Fields::One(0));
        assert_eq!(found, (Outcome::Done, vec![row("k", &[(0, value)])]));
    });
}
