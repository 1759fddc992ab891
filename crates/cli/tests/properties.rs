//! YCSB's users come with what they have: property files and properties.

use serde_json::{Value, json};

use crate::common::{Place, readable};

/// A workload file as YCSB ships them.
const WORKLOAD_A: &str = "\
# Yahoo! Cloud System Benchmark
recordcount=1000
operationcount=1000
workload=site.ycsb.workloads.CoreWorkload

readallfields=true

readproportion=0.5
updateproportion=0.5
scanproportion=0
insertproportion=0

requestdistribution=zipfian
";

fn cells(place: &Place, words: &str) -> Vec<Value> {
    let plan = readable(place.succeeds(&format!("plan {words} --json")).stdout.as_bytes());
    plan["cells"].as_array().unwrap().clone()
}

#[test]
fn a_property_file_is_run_and_a_given_property_wins() {
    let place = Place::new();
    place.file("workloada", WORKLOAD_A);
    let finished = place.succeeds(
        "run -P workloada -p recordcount=600 -p fieldcount=3 -s memory --repeats 1 --format ycsb",
    );
    assert!(finished.stdout.contains("[READ], Return=OK, "), "{finished}");
    let record = &place.records()[0];
    assert_eq!(record["workload"], "workloada");
    assert_eq!((&record["records"], &record["operations"]), (&600.into(), &1000.into()));
    let parameters = &record["workload_parameters"];
    assert_eq!(parameters["field_count"], 3);
    assert_eq!(
        (&parameters["read_proportion"], &parameters["update_proportion"]),
        (&json!(0.5), &json!(0.5))
    );
    assert_eq!(parameters["request_distribution"]["distribution"], "zipfian");
}

#[test]
fn later_files_win_over_earlier_ones_and_options_over_all() {
    let place = Place::new();
    place.file("workloada", WORKLOAD_A);
    place.file("more", "recordcount=2000\nthreadcount=3\ntarget=5000\n");
    let ycsb = "-P workloada -P more -s memory";

    let cell = &cells(&place, ycsb)[0];
    assert_eq!(cell["parameters"]["record_count"], 2000);
    assert_eq!((&cell["clients"], &cell["measure"]), (&3.into(), &1000.into()));
    assert_eq!(cell["mode"]["open"]["rate_per_s"], 5000.0);

    let given = cells(&place, &format!("{ycsb} -p threadcount=5 -p operationcount=70 -p target=9"));
    assert_eq!((&given[0]["clients"], &given[0]["measure"]), (&5.into(), &70.into()));
    assert_eq!(given[0]["mode"]["open"]["rate_per_s"], 9.0);

    let options = "--clients 1,2 --duration 3s --rate 100 --records 50";
    let won = cells(&place, &format!("{ycsb} -p operationcount=70 {options}"));
    assert_eq!(won.len(), 2);
    assert_eq!((&won[1]["clients"], &won[1]["measure"]), (&2.into(), &"3s".into()));
    assert_eq!(won[1]["mode"]["open"]["rate_per_s"], 100.0);
    assert_eq!(won[1]["parameters"]["record_count"], 50);
}

#[test]
fn without_an_operation_count_the_time_counts() {
    let place = Place::new();
    let timed = &cells(&place, "-p recordcount=10 -p maxexecutiontime=4 -s memory")[0];
    assert_eq!(timed["measure"], "4s");
    assert_eq!(timed["mode"], "closed");
}

#[test]
fn an_unknown_property_is_named_with_its_place_and_the_nearest_known() {
    let place = Place::new();
    place.file("typo", "recordcount=10\nreadpropotion=1\n");
    place.refuses("run -P typo", &["typo", "2", "'readpropotion'", "'readproportion'"]);
    place.refuses("run -p recordcont=10", &["'recordcont'", "'recordcount'"]);
    place.refuses("run -p recordcount=many", &["recordcount", "many"]);
    place.refuses("run -p recordcount", &["recordcount", "="]);
    place.refuses("run -P nowhere", &["nowhere", "No such file"]);
    assert!(!place.path().join("assay-results").exists(), "nothing ran");
}

#[test]
fn a_property_without_effect_is_said_to_have_none() {
    let place = Place::new();
    let words = "run -p recordcount=50 -p operationcount=50 -p measurementtype=timeseries \
                 -s memory --repeats 1";
    place.succeeds(words).says(&["measurementtype"]);
}

#[test]
fn without_transactions_the_load_itself_is_measured() {
    let place = Place::new();
    place.file("workloada", WORKLOAD_A);
    place.succeeds(
        "run -P workloada -p recordcount=600 -p dotransactions=false -s memory --repeats 1 \
         --warmup 0 --quiet",
    );
    let record = &place.records()[0];
    assert_eq!((&record["records"], &record["operations"]), (&0.into(), &600.into()));
    assert_eq!(record["answers"]["record_count"], 600);
}
