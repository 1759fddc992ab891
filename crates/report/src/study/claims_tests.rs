use assay_results::{AbsentReason, Interval, TrialRecord, summarize};

use super::{
    claims::{lines, table},
    *,
};
use crate::page::escaped;

fn study() -> Study {
    let study = serde_json::json!({
        "title": "t",
        "source": "s",
        "called": [
            { "name": "First", "system": "first" },
            { "name": "Second", "system": "second", "in_place": "third" },
        ],
        "claims": [
            {
                "text": "First is <b>better</b>\u{1b}[2J in all of a rather long sentence that no \
                         narrow terminal has room for in one line",
                "source": "slide 1",
                "reading": "on both",
                "checks": [
                    { "is": "ahead", "system": "First", "of": ["Second"], "workloads": ["c"] },
                ],
            },
            {
                "text": "First grows",
                "source": "slide 2",
                "checks": [{ "is": "grows", "systems": ["First"], "workloads": ["c"], "by": 2.0 }],
            },
        ],
    });
    serde_json::from_value(study).unwrap()
}

fn cells(rates: &[(&str, u32, f64)]) -> Vec<Cell> {
    let trial = |(system, clients, rate): &(&str, u32, f64), repeat: u32| TrialRecord {
        system: (*system).into(),
        driver: (*system).into(),
        workload: "c".into(),
        clients: *clients,
        repeat,
        throughput_ops_per_s: Interval::unsure(rate * (1.0 + 0.01 * f64::from(repeat % 3))),
        operations: 100,
        ..TrialRecord::default()
    };
    let trials: Vec<TrialRecord> =
        rates.iter().flat_map(|rate| (1..=5).map(move |repeat| trial(rate, repeat))).collect();
    summarize(&trials)
}

fn several() -> Vec<Cell> {
    let mut rates = vec![("third", 64, 900.0)];
    rates.extend([1, 2, 3, 4, 8, 16, 32, 64].map(|clients| ("first", clients, 300.0)));
    rates.extend([1, 2, 3, 4, 8, 16, 32].map(|clients| ("third", clients, 100.0)));
    cells(&rates)
}

#[test]
fn each_claim_has_its_verdict_its_figures_and_why() {
    let pair = cells(&[
        ("first", 1, 300.0),
        ("second", 1, 100.0),
        ("first", 8, 300.0),
        ("second", 8, 100.0),
    ]);
    let table = table(&study(), &[], &pair).unwrap();
    assert_eq!(table.title, "Claims of the study");
    let told: Vec<(&str, &str)> =
        table.rows.iter().map(|row| (row[1].as_str(), row[3].as_str())).collect();
    assert_eq!(
        told,
        [
            ("confirmed", "read as: on both"),
            ("holds", "first over second on c, 1 client"),
            ("holds", "first over second on c, 8 clients"),
            ("refuted", ""),
            ("does not hold", "first: c from 1 to 8 clients"),
        ]
    );
    assert_eq!(table.rows[1][2], "3.00×");
    assert_eq!(table.rows[4][4], "wanted: over 2");
    assert_eq!(table.notes, ["1 confirmed, 1 refuted, 0 not decidable here"]);
    assert!(table.rows.iter().all(|row| row.len() == table.columns.len()));
    assert!(super::claims::table(&Study::default(), &[], &pair).is_none());
    assert!(lines(&Study::default(), &[], &pair, 80, false).is_empty());
}

#[test]
fn a_terminal_has_the_verdict_and_what_stands_in_an_absent_systems_place() {
    let gone = [Absent { system: "second".into(), reason: AbsentReason::NotHere, why: "w".into() }];
    let cells = several();
    for width in [40, 80, 200] {
        let lines = lines(&study(), &gone, &cells, width, false);
        for line in &lines {
            assert!(text::width(line) <= width, "{width}: {line}");
        }
        let flat = lines.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "1. “First is <b>better</b>\\u{1b}[2J in all of",
            "→ not decidable here: second: not on this machine",
            "read as: on both",
            "first over third on c, 64 clients: does not hold, wanted: over 1.01; in Second's \
             place, which decides nothing",
            "2 more in the report",
            "→ refuted",
            "0 confirmed, 1 refuted, 1 not decidable here",
        ] {
            assert!(flat.contains(part), "{width}: {part}\n{flat}");
        }
    }
}

#[test]
fn a_page_has_the_claims_first_and_their_texts_escaped() {
    let tables = page_tables(&study(), &[], &several());
    assert_eq!(tables[0].title, "Claims of the study");
    let text = &tables[0].rows[0][0];
    assert!(!text.contains('\u{1b}') && text.ends_with("(slide 1)"), "{text}");
    assert!(escaped(text).contains("&lt;b&gt;better&lt;/b&gt;"));
}
