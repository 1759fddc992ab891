//! What stands in for a product is never shown as it.

use std::fs;

use crate::common::{Place, installed};

#[test]
fn a_stand_in_says_so_in_the_terminal_in_records_and_in_the_report() {
    if !installed("secantusdb") {
        return;
    }
    let place = Place::new();
    let unix = "run ycsb/a -s secantusdb --transport unix --records 10";
    place.refuses(unix, &["SecantusDB listens on TCP alone", "leave it out"]);
    let finished = place.succeeds(
        "run ycsb/a -s secantusdb,memory --records 200 --operations 300 --clients 2 --repeats 1",
    );
    let due = "secantusdb is a stand-in for MongoDB, to test with: its speed says nothing about \
               MongoDB";
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&finished.stdout).contains(due), "{}", finished.stdout);
    for record in place.records() {
        let caveats = record["caveats"].as_array().unwrap();
        let told = caveats.iter().find(|caveat| caveat["code"] == "stand_in");
        assert_eq!(told.is_some(), record["driver"] == "secantusdb", "{record}");
        if let Some(told) = told {
            assert_eq!(told["text"], due);
            let version = record["system_version"].as_str().unwrap();
            assert!(version.starts_with("SecantusDB "), "{version}");
        }
    }
    let report = place.path().join("report.html");
    place.succeeds(&format!("report --output {}", report.display()));
    assert!(words(&fs::read_to_string(report).unwrap()).contains(due));
}
