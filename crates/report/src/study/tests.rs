use assay_results::{AbsentReason, FailureKind, Interval, LatencySummary, TrialRecord, summarize};

use super::*;

fn trial(system: &str, records: u64, repeat: u32, rate: f64) -> TrialRecord {
    let mean = 4e9 / rate;
    let summary = LatencySummary { min: 1000, mean, count: 50, max: 9000, ..Default::default() };
    TrialRecord {
        system: system.into(),
        workload: "w".into(),
        records,
        repeat,
        clients: 4,
        throughput_ops_per_s: Interval::unsure(rate * (1.0 + f64::from(repeat) * 1e-4)),
        latency_ns: [(OperationKind::Read, summary), (OperationKind::Update, summary)].into(),
        operations: 100,
        ..TrialRecord::default()
    }
}

/// Five repeats of each system on two sizes.
fn cells(rates: &[(&str, f64)]) -> Vec<Cell> {
    let mut trials = Vec::new();
    for repeat in 1..=5 {
        for records in [10, 1000] {
            trials.extend(rates.iter().map(|(system, rate)| trial(system, records, repeat, *rate)));
        }
    }
    for strong in trials.iter_mut().filter(|trial| trial.system == "strong") {
        let conflicts = [(FailureKind::Conflict, 5)].into();
        strong.errors = [(FailureKind::Conflict, 5)].into();
        strong.errors_by_operation = [(OperationKind::Update, conflicts)].into();
    }
    summarize(&trials)
}

fn study() -> Study {
    let place = |name: &str, system: &str, value: Option<&str>| PublishedPlace {
        name: name.into(),
        systems: vec![system.into()],
        value: value.map(str::to_owned),
    };
    Study {
        title: "A study".into(),
        source: "A. Author\x1b[2J".into(),
        standings: vec![Standing {
            title: "All".into(),
            operation: None,
            published: vec![
                place("First", "first", Some("4.9 kops/s")),
                place("Second", "second", None),
                place("Gone", "gone", None),
            ],
        }],
        changes: vec![Change {
            title: "From strong".into(),
            from: "strong".into(),
            to: "weak".into(),
            throughput: Some("+22.6 %".into()),
            failures: Some("5 % to none".into()),
        }],
        ..Study::default()
    }
}

fn shown(absent: &[Absent], cells: &[Cell]) -> Vec<StudyTable> {
    tables(&study(), absent, cells, Sizes::Largest)
}

#[test]
fn the_published_order_stands_beside_ours_with_what_is_absent() {
    let gone =
        Absent { reason: AbsentReason::NotHere, system: "gone".into(), why: "fetch it\n".into() };
    let tables = shown(std::slice::from_ref(&gone), &cells(&[("first", 900.0), ("second", 400.0)]));
    let all = &tables[0];
    assert_eq!(all.rows[0], ["1", "first", "900/s", "1 First, 4.9 kops/s"]);
    assert_eq!(all.rows[1], ["2", "second", "400/s", "2 Second"]);
    assert_eq!(all.rows[2], ["–", "gone", "not on this machine", "3 Gone"]);
    assert!(all.notes[0].contains("over 2 loads"), "{:?}", all.notes);
    assert!(all.notes[1].contains("the order is the published one"), "{:?}", all.notes);
    assert_eq!(absence(&gone), "gone: not on this machine: fetch it\\n");
}

#[test]
fn an_order_that_differs_or_ties_is_said_not_to_be_the_published_one() {
    let told = |first: f64, second: f64| {
        let tables = shown(&[], &cells(&[("first", first), ("second", second)]));
        tables[0].notes.last().unwrap().clone()
    };
    assert_eq!(told(100.0, 400.0), "→ not as published: second is ahead of first here");
    assert!(told(100.0, 100.0).starts_with("→ not as published: "), "{}", told(100.0, 100.0));
    assert!(told(100.0, 100.0).ends_with("tie here"));
    let one = summarize(&[trial("first", 10, 1, 10.0), trial("second", 10, 1, 99.0)]);
    let notes = &shown(&[], &one)[0].notes;
    assert!(notes[1].contains("too few repeats"), "a single repeat decides nothing: {notes:?}");
}

#[test]
fn a_change_has_our_ratio_and_failures_beside_the_published() {
    let tables = shown(&[], &cells(&[("strong", 1000.0), ("weak", 1226.0)]));
    let change = &tables[1];
    assert_eq!(change.title, "From strong");
    let (ours, theirs) = (&change.rows[0][1], &change.rows[0][2]);
    assert!(ours.starts_with("+22.6 %") && theirs == "+22.6 %", "{ours}");
    assert_eq!(change.rows[1], ["failed updates", "from 9.1% to 0.0%", "5 % to none"]);
    let missing =
        [Absent { reason: AbsentReason::NotHere, system: "weak".into(), why: "w".into() }];
    let tables = shown(&missing, &cells(&[("strong", 1000.0)]));
    assert_eq!(tables[1].rows[0][1], "not on this machine");
}

#[test]
fn latencies_have_a_row_each_kind_with_its_return_codes() {
    let cells = cells(&[("strong", 1000.0)]);
    let table = |sizes| tables(&study(), &[], &cells, sizes).pop().unwrap();
    let largest = table(Sizes::Largest);
    assert_eq!(largest.title, "Latency and return codes · w · 4 clients · durability none");
    assert_eq!(largest.rows[0][..5], ["1,000", "strong", "read", "250", ""]);
    assert_eq!(largest.rows[1][..5], ["", "", "update", "250", "25 conflict"]);
    assert_eq!(largest.rows[0][5..], ["1.00µs", "4.00ms", "0ns", "0ns", "9.00µs"]);
    assert!(largest.notes[0].contains("1 smaller size"));
    let all = table(Sizes::All);
    assert_eq!((all.rows.len(), all.notes.len()), (4, 0));
}

#[test]
fn no_line_of_a_table_is_wider_than_asked_for_and_all_rows_have_all_columns() {
    let gone = Absent { reason: AbsentReason::NotHere, system: "gone".into(), why: "w".into() };
    let cells = cells(&[("first", 9.0), ("second", 4.0), ("strong", 1.0), ("weak", 2.0)]);
    for table in shown(&[gone], &cells) {
        assert!(table.rows.iter().all(|row| row.len() == table.columns.len()), "{table:?}");
        for width in [40, 80, 200] {
            let lines = drawn(&table, width, false);
            for line in &lines {
                assert!(text::width(line) <= width, "{width}: {line}");
            }
            let all = lines.join("\n");
            let is_empty = |place: usize| table.rows.iter().all(|row| row[place].is_empty());
            for (place, column) in table.columns.iter().enumerate() {
                assert!(is_empty(place) || all.contains(&column.title), "{width}: {all}");
            }
        }
    }
}

#[test]
fn the_harness_itself_has_no_place_in_an_order() {
    let mut cells = cells(&[("first", 900.0), ("null", 9e6)]);
    cells.iter_mut().filter(|cell| cell.system == "null").for_each(|cell| {
        cell.driver = NO_DB.into();
    });
    let rows = &shown(&[], &cells)[0].rows;
    assert!(!rows.iter().any(|row| row[1] == "null"), "{rows:?}");
}
