//! `assay compare`: the verdict, and an exit status for CI.

use crate::common::{Place, readable};

#[test]
fn a_slower_copy_is_slower_and_a_run_ties_with_itself() {
    let place = Place::new();
    place.succeeds(
        "run ycsb/c -s memory@a,memory@b+slowdown=3.0 --records 500 --operations 50000 \
         --repeats 8 --clients 1",
    );
    let slower = place.run("compare assay-results/latest --across a b");
    assert_eq!(slower.code, Some(3), "{slower}");
    assert!(slower.stdout.contains("→ 1 slower"), "{slower}");

    let faster = place.succeeds("compare assay-results/latest --across b a --json");
    let comparison = readable(faster.stdout.as_bytes());
    assert_eq!(comparison["verdict"], "faster");
    assert_eq!((&comparison["system_a"], &comparison["system_b"]), (&"b".into(), &"a".into()));
    let ratio = &comparison["throughput"];
    let bound = |name: &str| ratio[name].as_f64().unwrap();
    assert!(bound("low") > 1.0 && bound("low") <= bound("ratio"), "{ratio}");
    assert!(bound("ratio") <= bound("high"), "{ratio}");

    let tie = place.succeeds("compare assay-results/latest assay-results/latest --json");
    for line in tie.stdout.lines() {
        assert_eq!(readable(line.as_bytes())["verdict"], "tie", "{tie}");
    }
    assert_eq!(tie.stdout.lines().count(), 2, "{tie}");
}

#[test]
fn what_cannot_be_compared_is_an_error_and_no_verdict() {
    let place = Place::new();
    place.succeeds("run ycsb/c -s memory --records 50 --operations 50 --repeats 1");
    place.succeeds("run ycsb/c -s null --records 50 --operations 50 --repeats 1 --results other");
    let (a, b) = ("assay-results/latest", "other/latest");
    place.refuses(&format!("compare {a}"), &["--across"]);
    place.refuses(
        &format!("compare {a} {b}"),
        &["no trial in common", "memory", "null", "--across"],
    );
    place.refuses(
        &format!("compare {a} --across memory redis"),
        &["no system 'redis'", "it has memory"],
    );
    place.refuses(&format!("compare {a} nowhere"), &["nowhere", "no such folder"]);
    // One repeat each decides nothing, and is no reason for CI to stop.
    let undecided = place.succeeds(&format!("compare {b} {a} --across null memory"));
    assert!(undecided.stdout.contains("→ 1 undecided"), "{undecided}");
}
