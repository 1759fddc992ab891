//! Output that nobody reads any more, as behind `| head`: it stops nothing and is no failure.

use std::{
    io::pipe,
    process::{Command, Stdio},
};

use crate::common::{Place, readable};

/// A pipe whose reader is gone.
fn closed() -> Stdio {
    let (_, writer) = pipe().unwrap();
    writer.into()
}

/// Runs `assay` with its standard output closed and returns its status and what it said.
fn unread(place: &Place, words: &str) -> (Option<i32>, String) {
    let ended = place.assay(words).stdout(closed()).stderr(Stdio::piped()).output().unwrap();
    (ended.status.code(), String::from_utf8(ended.stderr).unwrap())
}

#[test]
fn a_run_goes_on_when_nobody_reads_its_progress() {
    let place = Place::new();
    let words = "run ycsb/c -s memory,null --records 100 --operations 100 --repeats 2 --clients 1";
    let ended = place.assay(words).stdout(closed()).stderr(closed()).status().unwrap();
    assert_eq!(ended.code(), Some(0));
    assert_eq!(place.status(), "finished");
    assert_eq!(place.records().len(), 4);
    assert!(place.only_run().join("report.html").is_file());
    // Nor does one of which only the failure would be said.
    let ended = place.assay("run -s redsi").stderr(closed()).status().unwrap();
    assert_eq!(ended.code(), Some(2));
}

#[test]
fn what_is_printed_ends_quietly_when_nobody_reads_it() {
    let place = Place::new();
    place.succeeds("run ycsb/c -q -s memory --records 100 --operations 100 --repeats 2");
    let run = "assay-results/latest";
    for words in [
        "schema",
        "schema --report",
        "completions bash",
        "man",
        "systems",
        "systems memory --json",
        "plan",
        "plan --json",
        "show",
        "show --json",
        "report",
        "report --json",
        "report -o -",
        &format!("export {run} --format csv"),
        &format!("export {run} --format jsonl"),
        &format!("export {run} --format hdr"),
        &format!("export {run} --format ycsb"),
    ] {
        assert_eq!(unread(&place, words), (Some(0), String::new()), "{words}");
    }
}

#[test]
fn the_verdict_of_a_comparison_is_in_its_status_even_if_nobody_reads_it() {
    let place = Place::new();
    place.succeeds(
        "run ycsb/c -q -s memory,memory@slow+slowdown=20 --records 100 --duration 20ms \
         --warmup 0 --repeats 6",
    );
    let words = "compare assay-results/latest --across memory slow";
    assert_eq!(place.run(words).code, Some(3));
    assert_eq!(unread(&place, words), (Some(3), String::new()));
}

#[test]
fn a_table_that_cannot_be_printed_fails_the_command_and_leaves_the_report() {
    let place = Place::new();
    let binary = env!("CARGO_BIN_EXE_assay");
    let words = "run ycsb/c -q -s memory --records 100 --operations 100 --repeats 1";
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("exec {binary} {words} > /dev/full")])
        .current_dir(place.path())
        .env("TMPDIR", place.data());
    let finished = place.end(command);
    assert_eq!(finished.code, Some(1), "{finished}");
    finished.says(&["No space left"]);
    assert!(place.only_run().join("report.html").is_file());
    let header = readable(&std::fs::read(place.only_run().join("run.json")).unwrap());
    assert_eq!(header["status"], "finished");
}
