//! The report of runs as an HTML file.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use serde_json::Value;

use crate::common::{Place, readable};

const TINY: &str = "--records 200 --operations 500 --warmup 0 --clients 1";

/// The data in a report's file.
fn data(file: &Path) -> Value {
    let html = fs::read_to_string(file).unwrap();
    assert!(html.starts_with("<!doctype html>") && html.ends_with("</html>\n"));
    let from = html.find("id=\"report-data\">").unwrap() + "id=\"report-data\">".len();
    let length = html[from..].find("</script>").unwrap();
    readable(&html.as_bytes()[from..from + length])
}

fn names(report: &Value) -> Vec<&str> {
    let systems = report["systems"].as_array().unwrap();
    systems.iter().map(|system| system["name"].as_str().unwrap()).collect()
}

#[test]
fn a_run_leaves_its_report_and_says_where() {
    let place = Place::new();
    let finished = place.succeeds(&format!("run ycsb/c -s null,memory,sqlite {TINY} --repeats 2"));
    let file = place.only_run().join("report.html");
    let name = format!("report: assay-results/{}", place.only_run().file_name().unwrap().display());
    finished.says(&[&name]);
    let report = data(&file);
    assert_eq!(names(&report), ["memory", "sqlite", "null"]);
    assert_eq!(report["trials"].as_array().unwrap().len(), 6);
    assert_eq!(report["runs"][0]["status"], "finished");
    assert!(finished.stdout.contains("→ "), "{finished}");
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o644, "whoever may read the run may read its report");

    // Written anew by hand, it is the same.
    let before = fs::read(&file).unwrap();
    fs::remove_file(&file).unwrap();
    let written = place.succeeds("report");
    assert!(written.stdout.trim_end().ends_with("/report.html"), "{written}");
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn a_run_that_prints_json_or_nothing_leaves_its_report_in_silence() {
    for words in ["--json", "--quiet", "--format ycsb --quiet"] {
        let place = Place::new();
        let finished = place.succeeds(&format!("run ycsb/c -s memory {TINY} --repeats 1 {words}"));
        assert!(place.only_run().join("report.html").is_file(), "{finished}");
        assert!(!finished.stdout.contains("report.html"), "{finished}");
        let told = finished.stderr.contains("report: ");
        assert_eq!(told, words == "--json", "standard error is for people\n{finished}");
    }
}

#[test]
fn several_runs_make_one_report() {
    let place = Place::new();
    place.succeeds(&format!("run ycsb/c -s memory {TINY} --repeats 2 --results one"));
    place.succeeds(&format!("run ycsb/c -s memory,slik {TINY} --repeats 2 --results two"));
    place.succeeds(&format!("run ycsb/a -s sqlite {TINY} --repeats 2 --results three"));
    let runs = "one/latest two/latest three/latest";
    let written = place.succeeds(&format!("report {runs}"));
    assert_eq!(written.stdout, "assay-report.html\n");
    let report = data(&place.path().join("assay-report.html"));
    assert_eq!(names(&report), ["memory (run 1)", "memory (run 2)", "slik", "sqlite"]);
    assert_eq!(report["groups"].as_array().unwrap().len(), 2);

    place.succeeds(&format!("report {runs} --output other.html"));
    assert_eq!(data(&place.path().join("other.html")), report);
    let json = place.succeeds(&format!("report {runs} --json"));
    assert_eq!(readable(json.stdout.as_bytes()), report);
    let html = place.succeeds(&format!("report {runs} -o -")).stdout;
    assert_eq!(html.as_bytes(), fs::read(place.path().join("other.html")).unwrap());

    place.refuses("report one/latest two/latest one/latest", &["named before", "once"]);
}

#[test]
fn what_is_no_run_or_cannot_be_written_is_told() {
    let place = Place::new();
    place.refuses("report", &["there is no run in assay-results", "assay run"]);
    place.refuses("report nowhere", &["nowhere", "no such folder"]);
    place.refuses("report data", &["data", "no run.json"]);
    place.succeeds(&format!("run ycsb/c -s memory {TINY} --repeats 1 -q"));
    place.refuses("report assay-results", &["name one of them", "latest"]);
    place.fails("report -o gone/report.html", &["gone/report.html", "--output"]);
    place.fails("report -o data", &["data", "--output"]);
    assert_eq!(place.leftovers(), Vec::<std::path::PathBuf>::new());

    let run = place.only_run();
    for record in place.record_files() {
        fs::remove_file(record).unwrap();
    }
    place.refuses(&format!("report {}", run.display()), &["no trial that ended"]);
}

#[test]
fn a_run_that_is_not_over_is_reported_and_said_to_be() {
    let place = Place::new();
    place.succeeds(&format!("run ycsb/c -s memory {TINY} --repeats 1 -q"));
    let header = place.only_run().join("run.json");
    let text = fs::read_to_string(&header).unwrap();
    fs::write(&header, text.replace("\"finished\"", "\"running\"")).unwrap();
    let written = place.succeeds("report");
    written.says(&["was killed", "the trials that ended"]);
    let report = data(&place.only_run().join("report.html"));
    let told = report["caveats"].as_array().unwrap();
    let unfinished = told.iter().find(|caveat| caveat["code"] == "unfinished_run");
    let text = unfinished.unwrap_or_else(|| panic!("{told:?}"))["text"].as_str().unwrap();
    assert!(text.contains("was killed"), "the report says the same: {text}");
}

#[test]
fn the_shape_of_a_reports_data_is_told() {
    let place = Place::new();
    let schema = readable(place.succeeds("schema --report").stdout.as_bytes());
    place.succeeds(&format!("run ycsb/c -s memory {TINY} --repeats 1 -q"));
    let report = readable(place.succeeds("report --json").stdout.as_bytes());
    let required: Vec<&str> =
        schema["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    for name in report.as_object().unwrap().keys() {
        assert!(required.contains(&name.as_str()), "{name}");
    }
    assert_eq!(required.len(), report.as_object().unwrap().len());
}

#[test]
fn a_label_that_is_a_script_is_only_a_name() {
    let place = Place::new();
    let text = "systems = [{ name = \"memory\", label = \"</script><script>alert(1)</script>\" }]\n\
                workloads = [\"ycsb/c\"]\nrecords = 200\noperations = 500\nrepeats = 1\n";
    place.file("evil.toml", text);
    let finished = place.run("run evil.toml -q");
    if finished.code != Some(0) {
        // Labels may be refused; then there is nothing to harm.
        return finished.says(&["label"]);
    }
    let file = place.only_run().join("report.html");
    let html = fs::read_to_string(&file).unwrap();
    assert!(!html.contains("<script>alert"), "it stands as text");
    assert_eq!(names(&data(&file)), ["</script><script>alert(1)</script>"]);
}

#[test]
fn a_label_that_would_steer_the_terminal_is_written_out_everywhere() {
    let place = Place::new();
    let text = "systems = [{ name = \"memory\", label = \"a\\u001b[2J\\u202eb\" }]\n\
                workloads = [\"ycsb/c\"]\nrecords = 200\noperations = 500\nrepeats = 1\n";
    place.file("evil.toml", text);
    let finished = place.succeeds("run evil.toml");
    for said in [&finished.stdout, &finished.stderr] {
        assert!(!said.contains(['\u{1b}', '\u{202e}']), "{said:?}");
        assert!(said.contains("a\\u{1b}[2J\\u{202e}b"), "{said:?}");
    }
}
