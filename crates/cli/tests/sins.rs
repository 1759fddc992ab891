//! The sins of the field's tools, and where it is tested that Assay does not commit them.
//!
//! | The sin                                     | Tested by |
//! |---------------------------------------------|-----------|
//! | reads of missing keys count as successes    | [`deleted_records_are_missing_and_no_successes`] here; `a_missing_key_is_not_a_success` in the recorder and for PostgreSQL; the conformance test for every driver |
//! | errors of reads are swallowed               | [`refused_reads_are_counted_and_shown`] here; `errors_are_outcomes`, `refusals_are_told_apart` in the drivers |
//! | an insert is tried three times              | [`a_retry_of_inserts_is_refused`] here; `retries_of_inserts_are_refused` in the workload |
//! | status 0 with no server listening           | `a_server_that_refuses_is_an_error_and_no_result` in `bad_input` |
//! | status 0 when every operation failed        | [`a_trial_in_which_every_operation_failed_is_no_result`] here |
//! | no seed, no run can be repeated             | [`the_seed_decides_what_is_asked_and_nothing_else_does`] here; `a_record_is_run_again_with_its_own_seed_and_plan` in `commands`; `an_operation_is_a_function_of_seed_and_number` in the workload |
//! | values are made inside the timed call       | `preparing_and_acknowledging_allocate_nothing_after_warm_up` in the workload; `*_allocate_nothing_in_the_steady_state` in the systems |
//! | latencies are cut to whole microseconds     | [`latencies_below_a_microsecond_are_told`] here; `latencies_below_a_microsecond_are_told_apart` in the recorder |
//! | a stall of a closed loop is in no percentile | [`a_server_that_stalls_under_a_closed_loop_is_said_to_have_stalled`] here; `stalls` in the runner |
//! | late slots of an open loop are skipped      | [`a_stall_delays_what_was_due_and_skips_nothing`] and the two after it here |
//! | time counts from the actual start           | the same; `response_time_starts_when_it_was_intended…` in the recorder |
//! | a growing zipfian uses the old item count   | `resizing_equals_starting_anew`, `the_newest_item_has_the_share_of_the_new_count…` in the workload's distributions |
//! | the scrambled zipfian has the wrong range   | `the_range_is_exactly_the_items` in the workload's distributions |
//! | scans come without order                    | `every_system_that_scans_scans_in_order` in `servers`; the conformance test for every driver |
//! | slow operations across the end are dropped  | [`an_operation_that_outlasts_the_measurement_is_kept`] here; `a_slow_operation_that_crosses_the_end_of_the_window_is_kept` in the recorder |
//! | a worker fails and all seems well           | [`a_client_thread_that_panics_cuts_the_phase_short_and_says_so`] here; `a_server_that_is_killed_fails_its_trial_only` in `endings` |
//! | wrong answers go unnoticed                  | [`a_record_that_was_tampered_with_is_a_wrong_answer`] and the one after it here |

use std::{collections::BTreeSet, time::Duration};

use assay_experiment::Extent;
use assay_measure::clock::Clock;
use assay_model::{Answer, Operation, Outcome};
use assay_runner::phase::{self, Clients, Order};
use assay_systems::{Session, SystemError};
use assay_workload::{Acknowledged, CoreWorkload, ValuePool};
use serde_json::{Value, json};

use crate::common::{Finished, Place, Redis, Running, await_that, calls};

/// How many operations of a record were answered as asked.
fn successes(record: &Value) -> u64 {
    let kinds = record["latency_ns"].as_object().unwrap().values();
    kinds.map(|latency| latency["count"].as_u64().unwrap()).sum()
}

fn errors(record: &Value, kind: &str) -> u64 {
    record["errors"][kind].as_u64().unwrap_or(0)
}

/// Starts a run on a Redis that was there, and waits until its clients are at work.
fn at_work(place: &Place, redis: &Redis, command: &str, words: &str) -> Running {
    redis.ask(&["CONFIG", "RESETSTAT"]);
    let mut running = place.start(&format!(
        "run -s {} --records 500 --clients 2 --repeats 1 --json {words}",
        redis.system()
    ));
    // Loading takes 500 writes.
    running.await_that(command, |_| calls(redis.port(), command) > 800);
    running
}

/// The key of some record.
fn a_record(redis: &Redis) -> String {
    let mut key = String::new();
    await_that("a record", || {
        key = redis.ask(&["RANDOMKEY"]);
        key.starts_with("user")
    });
    key
}

fn failed(finished: &Finished, named: &[&str]) {
    assert_eq!(finished.code, Some(1), "{finished}");
    finished.says(named);
}

#[test]
fn deleted_records_are_missing_and_no_successes() {
    let Some(redis) = Redis::start("") else { return };
    let place = Place::new();
    let running = at_work(&place, &redis, "hgetall", "ycsb/c --duration 2s --warmup 0");
    redis.ask(&["FLUSHALL"]);
    let finished = running.wait();
    // The store lost what it had acknowledged.
    failed(&finished, &["wrong answers", "is missing"]);
    let record = &place.records()[0];
    let (right, missing) = (successes(record), errors(record, "missing"));
    assert!(right > 0 && missing > 0, "{right} and {missing}");
    assert_eq!(record["operations"], right + missing);
    let counted = record["throughput_ops_per_s"]["median"].as_f64().unwrap()
        * record["phases"]["measure"].as_f64().unwrap();
    assert!(counted <= right as f64 + 0.5, "{counted} of {right}: only successes count");
    let line: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(line["errors"], json!({ "missing": missing }));
    let table = place.succeeds("show");
    assert!(table.stdout.contains("missing"), "{table}");
}

#[test]
fn refused_reads_are_counted_and_shown() {
    let Some(redis) = Redis::start("") else { return };
    let place = Place::new();
    let running = at_work(&place, &redis, "hgetall", "ycsb/c --duration 2s --warmup 0");
    if redis.ask(&["ACL", "SETUSER", "default", "-hgetall"]) != "OK" {
        eprintln!("skipped: this Redis has no access control to refuse a read with");
        running.wait();
        return;
    }
    std::thread::sleep(Duration::from_millis(200));
    redis.ask(&["ACL", "SETUSER", "default", "+hgetall"]);
    let finished = running.wait();
    let record = &place.records()[0];
    let refused = errors(record, "rejected");
    assert!(refused > 0, "{finished}");
    assert_eq!(record["operations"], successes(record) + refused);
    assert_eq!(record["errors_by_operation"]["read"]["rejected"], refused);
    assert!(record["error_messages"][0].as_str().unwrap().contains("NOPERM"), "{finished}");
    assert_eq!(record["failed_latency_ns"]["count"], refused, "their times are told apart");
    let table = place.succeeds("show");
    assert!(table.stdout.contains("rejected"), "{table}");
}

#[test]
fn a_trial_in_which_every_operation_failed_is_no_result() {
    let Some(redis) = Redis::start("") else { return };
    for (command, workload, failing) in [
        ("hgetall", "ycsb/c", ["FLUSHALL"].as_slice()),
        ("hset", "-p updateproportion=1 -p readproportion=0", &["CONFIG", "SET", "maxmemory", "1"]),
    ] {
        let place = Place::new();
        let words = format!("{workload} --operations 500 --warmup 3s");
        let running = at_work(&place, &redis, command, &words);
        assert_eq!(redis.ask(failing), "OK");
        let finished = running.wait();
        failed(&finished, &["redis on ", "not one of 500 operations succeeded", "first failure"]);
        assert_eq!(place.record_files().len(), 0);
        let line: Value = serde_json::from_str(&finished.stdout).unwrap();
        assert_eq!((&line["repeats"], &line["latency_ns"]), (&json!(0), &json!({})), "no figures");
        let why = line["failure"]["error"].as_str().unwrap();
        assert!(why.contains("not one of 500 operations succeeded"), "{why}");
        redis.ask(&["CONFIG", "SET", "maxmemory", "0"]);
        redis.ask(&["FLUSHALL"]);
    }
}

#[test]
fn a_record_that_was_tampered_with_is_a_wrong_answer() {
    let Some(redis) = Redis::start("") else { return };
    for verify in ["", "--verify"] {
        let place = Place::new();
        let words = format!("ycsb/c --duration 1s --warmup 0 {verify}");
        let running = at_work(&place, &redis, "hgetall", &words);
        redis.ask(&["HSET", &a_record(&redis), "field3", "somebody else's"]);
        let finished = running.wait();
        failed(&finished, &["wrong answers", "1 of 500 records", "field 3"]);
        let record = &place.records()[0];
        assert_eq!(record["answers"]["wrong"], 1);
        if verify.is_empty() {
            assert_eq!(errors(record, "wrong_answer"), 0, "nobody looked while it was measured");
        } else {
            assert_eq!(record["operations"], successes(record) + errors(record, "wrong_answer"));
        }
    }
}

#[test]
fn a_wrong_answer_that_was_right_again_when_it_ended_is_not_forgotten() {
    let Some(redis) = Redis::start("") else { return };
    let place = Place::new();
    let words = "ycsb/c --duration 2s --warmup 0 --verify";
    let running = at_work(&place, &redis, "hgetall", words);
    let key = a_record(&redis);
    let right = redis.ask(&["HGET", &key, "field3"]);
    let of_somebody_else = "x".repeat(right.len());
    let begun = calls(redis.port(), "hgetall");
    redis.ask(&["HSET", &key, "field3", &of_somebody_else]);
    await_that("reads of it", || calls(redis.port(), "hgetall") > begun + 5000);
    redis.ask(&["HSET", &key, "field3", &right]);
    let finished = running.wait();
    let record = &place.records()[0];
    assert_eq!(record["answers"]["wrong"], 0, "all is well in the end");
    let wrong = errors(record, "wrong_answer");
    assert!(wrong > 0, "{finished}");
    failed(&finished, &["wrong answers", &format!("{wrong} answers were wrong"), &key]);
}

#[test]
fn a_retry_of_inserts_is_refused() {
    let place = Place::new();
    let words = "run -p core_workload_insertion_retry_limit=3 -p recordcount=10 -s memory";
    place.refuses(words, &["core_workload_insertion_retry_limit=3", "twice"]);
    place.succeeds("plan -p core_workload_insertion_retry_limit=0 -p recordcount=10 -s memory");
}

#[test]
fn the_seed_decides_what_is_asked_and_nothing_else_does() {
    let trial = |words: &str| {
        let place = Place::new();
        place.succeeds(&format!(
            "run ycsb/a -s memory --records 300 --operations 700 --warmup 100 --repeats 1 {words}"
        ));
        let record = place.records().remove(0);
        let counts: Vec<u64> = record["latency_ns"]
            .as_object()
            .unwrap()
            .values()
            .map(|latency| latency["count"].as_u64().unwrap())
            .collect();
        (record["answers"]["sample_checksum"].clone(), counts)
    };
    let first = trial("--seed 5 --clients 1");
    assert_eq!(trial("--seed 5 --clients 1"), first);
    assert_eq!(trial("--seed 5 --clients 3"), first);
    assert_eq!(trial("--seed 5 --clients 2 --rate 20000 --arrivals poisson"), first);
    let sums: BTreeSet<String> =
        (5..9).map(|seed| trial(&format!("--seed {seed} --clients 1")).0.to_string()).collect();
    assert_eq!(sums.len(), 4, "{sums:?}");
}

#[test]
fn latencies_below_a_microsecond_are_told() {
    let place = Place::new();
    place.succeeds(
        "run ycsb/a -s null,sqlite --records 500 --operations 5000 --repeats 1 --clients 1",
    );
    let records = place.records();
    for kind in ["read", "update"] {
        let p50 = records[0]["latency_ns"][kind]["p50"].as_u64().unwrap();
        assert!((1..1000).contains(&p50), "{kind}: {p50} ns for nothing at all");
    }
    let sqlite = records[1]["latency_ns"]["read"].as_object().unwrap();
    let figures =
        ["min", "p50", "p95", "p99", "p999", "max"].map(|name| sqlite[name].as_u64().unwrap());
    assert!(figures.iter().any(|figure| figure % 1000 != 0), "whole microseconds: {figures:?}");
}

#[test]
fn a_stall_delays_what_was_due_and_skips_nothing() {
    let place = Place::new();
    place.succeeds(
        "run ycsb/c -s memory+stall=1s@5000 --rate 5000 --duration 3s --warmup 0 --records 500 \
         --repeats 1 --clients 1",
    );
    let record = &place.records()[0];
    assert_eq!(record["operations"], 15_000, "each slot that was due");
    let (response, service) =
        (&record["latency_ns"]["read"], &record["service_latency_ns"]["read"]);
    let ms = |latency: &Value, name: &str| latency[name].as_u64().unwrap() / 1_000_000;
    assert!(ms(response, "p999") >= 700, "{response}");
    // One operation in fifteen thousand was slow; five thousand came late for it.
    assert!(ms(response, "p95") >= 300, "{response}");
    assert!(ms(service, "p50") < 50 && ms(service, "max") >= 1000, "{service}");
    assert_eq!((&response["count"], &service["count"]), (&15_000.into(), &15_000.into()));
}

#[test]
fn a_stall_near_the_end_skips_nothing_either() {
    let place = Place::new();
    place.succeeds(
        "run ycsb/c -s memory+stall=1s@9000 --rate 5000 --duration 2s --warmup 0 --records 500 \
         --repeats 1 --clients 1",
    );
    let record = &place.records()[0];
    assert_eq!(record["operations"], 10_000, "each slot that was due");
    let response = &record["latency_ns"]["read"];
    assert!(response["p99"].as_u64().unwrap() >= 700_000_000, "{response}");
    let caveats = record["caveats"].as_array().unwrap();
    assert!(caveats.iter().any(|caveat| caveat["code"] == "rate_not_kept"), "{caveats:?}");
}

#[test]
fn a_server_that_stalls_near_the_end_is_sent_all_that_was_due() {
    let Some(redis) = Redis::start("") else { return };
    let place = Place::new();
    let words = "ycsb/c --rate 2000 --duration 2s --warmup 0";
    let mut running = at_work(&place, &redis, "hgetall", words);
    running.await_that("most of it", |_| calls(redis.port(), "hgetall") > 3000);
    redis.pause(Duration::from_secs(1));
    let finished = running.wait();
    assert_eq!(finished.code, Some(0), "{finished}");
    let record = &place.records()[0];
    assert_eq!(record["operations"], 4000, "each slot that was due");
    let response = &record["latency_ns"]["read"];
    assert!(response["p95"].as_u64().unwrap() >= 300_000_000, "{response}");
}

#[test]
fn a_server_that_stalls_under_a_closed_loop_is_said_to_have_stalled() {
    let Some(redis) = Redis::start("") else { return };
    let place = Place::new();
    let mut running = at_work(&place, &redis, "hgetall", "ycsb/c --duration 3s --warmup 0");
    running.await_that("some of it", |_| calls(redis.port(), "hgetall") > 3000);
    redis.pause(Duration::from_secs(1));
    let finished = running.wait();
    assert_eq!(finished.code, Some(0), "{finished}");
    let record = &place.records()[0];
    let response = &record["latency_ns"]["read"];
    assert!(response["p999"].as_u64().unwrap() < 500_000_000, "the percentiles do not: {response}");
    let caveats = record["caveats"].as_array().unwrap();
    let said = caveats.iter().find(|caveat| caveat["code"] == "stalled").unwrap();
    let text = said["text"].as_str().unwrap();
    let told: f64 = text.split_once("answered for ").unwrap().1[..4].parse().unwrap();
    assert!((0.9..2.0).contains(&told) && text.contains("--rate"), "{text}");
    let table = place.succeeds("show");
    assert!(table.stdout.contains("nothing was answered for"), "{table}");
}

#[test]
fn an_operation_that_outlasts_the_measurement_is_kept() {
    let place = Place::new();
    place.succeeds(
        "run ycsb/c -s memory+stall=1s@100 --duration 200ms --cooldown 0s --warmup 0 --records 500 \
         --repeats 1 --clients 1",
    );
    let record = &place.records()[0];
    assert_eq!(record["phases"]["measure"], 0.2);
    let slowest = record["latency_ns"]["read"]["max"].as_u64().unwrap();
    assert!(slowest >= 1_000_000_000, "{slowest} ns");
    assert_eq!(record["operations"], 100);
}

/// A client that panics at its third operation.
struct Panicking(u32);

impl Session for Panicking {
    fn execute(&mut self, _: &Operation<'_>, _: &mut Answer) -> Outcome {
        self.0 += 1;
        assert!(self.0 < 3, "the driver has a fault");
        Outcome::Done
    }
}

#[test]
fn a_client_thread_that_panics_cuts_the_phase_short_and_says_so() {
    let workload = CoreWorkload { record_count: 100, ..CoreWorkload::ycsb('c').unwrap() };
    let pool = ValuePool::of(&workload, 1);
    let acknowledged = Acknowledged::new(workload.first_inserted_key());
    let no_connection = || -> Result<_, SystemError> { unreachable!("a library has none") };
    let order = Order {
        clock: Clock::start(),
        workload: &workload,
        pool: &pool,
        acknowledged: &acknowledged,
        seed: 1,
        first: 0,
        before: Duration::ZERO,
        lead_in: Duration::ZERO,
        extent: Extent::Operations(1000),
        cooldown: Duration::ZERO,
        schedule: None,
        timeout: Duration::from_secs(1),
        verify: false,
        threads: 1,
        cores: &[],
        server: None,
        connect: &no_connection,
        why_stop: &|| None,
    };
    let report = phase::run(&order, &mut Clients::Call(vec![Box::new(Panicking(0))]));
    let why = report.cut_short.expect("it did not come to its end");
    assert!(why.contains("panicked") && why.contains("the driver has a fault"), "{why}");
}
