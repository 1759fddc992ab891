//! Real servers: those that Assay starts, and one that was there before.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::common::{Finished, Place, Redis, installed};

/// Every system with a server, in every layout, by the name of its driver.
const SERVERS: [(&str, &str); 11] = [
    ("redis", "redis"),
    ("redis", "redis:string"),
    ("valkey", "valkey"),
    ("memcached", "memcached"),
    ("postgres", "postgres:row"),
    ("postgres", "postgres:hstore"),
    ("postgres", "postgres:jsonb"),
    ("postgres", "postgres:json"),
    ("postgres", "postgres:jsonb@document+key=document"),
    ("mariadb", "mariadb:row"),
    ("mariadb", "mariadb:json"),
];

/// The systems that can be run on this machine, SQLite and the memory store among them.
fn systems() -> Vec<&'static str> {
    let missing: BTreeSet<&str> = ["redis", "valkey", "memcached", "postgres", "mariadb"]
        .into_iter()
        .filter(|driver| !installed(driver))
        .collect();
    let servers = SERVERS.iter().filter(|(driver, _)| !missing.contains(driver));
    servers.map(|(_, system)| *system).chain(["sqlite", "memory"]).collect()
}

/// Fails unless all records are of right answers, and of the same.
fn agree(records: &[Value]) {
    let mut checksums = BTreeSet::new();
    for record in records {
        let (answers, system) = (&record["answers"], &record["system"]);
        assert_eq!(record["errors"], serde_json::json!({}), "{system}");
        assert_eq!(record["error_messages"], serde_json::json!([]), "{system}");
        assert_eq!(answers["wrong"], 0, "{system}");
        assert_eq!(answers["record_count"], answers["expected_count"], "{system}");
        assert!(answers["verified_reads"].as_u64().unwrap() > 0, "{system}");
        checksums.insert(answers["sample_checksum"].as_str().unwrap());
        let embedded = ["sqlite", "memory"].contains(&record["driver"].as_str().unwrap());
        if embedded {
            assert!(record["server_cpu_ns_per_op"].is_null(), "{system}");
        } else {
            assert!(record["server_cpu_ns_per_op"].as_f64().unwrap() > 0.0, "{system}");
            assert!(record["server_rss_bytes"].as_u64().unwrap() > 1 << 20, "{system}");
            assert!(!record["settings"].as_object().unwrap().is_empty(), "{system}");
        }
        assert!(!record["system_version"].as_str().unwrap().is_empty(), "{system}");
        let bytes = &record["data_bytes_per_record"];
        assert!(bytes["disk"].is_number() || bytes["memory"].is_number(), "{system}: {bytes}");
    }
    assert_eq!(checksums.len(), 1, "systems disagree: {checksums:?}");
}

#[test]
fn every_system_gives_the_same_answers_over_tcp() {
    let (place, mut systems) = (Place::new(), systems());
    // Which are only there over TCP.
    let clusters = [("redis", "redis-cluster"), ("valkey", "valkey-cluster@safe+replicas=1")];
    systems
        .extend(clusters.into_iter().filter(|(one, _)| installed(one)).map(|(_, system)| system));
    place.succeeds(&format!(
        "run ycsb/a -s {} --records 2000 --operations 3000 --clients 1,4 --repeats 1 --verify",
        systems.join(",")
    ));
    let records = place.records();
    assert_eq!(records.len(), 2 * systems.len());
    // The number of clients changes nothing in what was asked, so all agree.
    agree(&records);
}

/// They look through whole tables, or lock much: apart, and with less to do.
#[test]
fn the_analytical_systems_give_the_same_answers() {
    let systems: Vec<&str> =
        ["hyper", "monetdb"].into_iter().filter(|system| installed(system)).collect();
    if systems.is_empty() {
        return;
    }
    // A second client's updates of the same record conflict in MonetDB.
    for transport in ["tcp", "unix"] {
        let place = Place::new();
        place.succeeds(&format!(
            "run -w ycsb/a,ycsb/e -s memory,{} --transport {transport} --records 300 \
             --operations 400 --clients 1 --repeats 1 --verify",
            systems.join(",")
        ));
        let records = place.records();
        assert_eq!(records.len(), 2 * (systems.len() + 1));
        for workload in ["ycsb/a", "ycsb/e"] {
            let of = |record: &&Value| record["workload"] == workload;
            agree(&records.iter().filter(of).cloned().collect::<Vec<_>>());
        }
    }
}

#[test]
fn every_system_gives_the_same_answers_over_a_unix_socket() {
    let (place, systems) = (Place::new(), systems());
    place.succeeds(&format!(
        "run ycsb/f -s {} --transport unix --records 1000 --operations 1500 --clients 3 \
         --repeats 1 --verify",
        systems.join(",")
    ));
    let records = place.records();
    assert_eq!(records.len(), systems.len());
    agree(&records);
}

#[test]
fn every_system_that_scans_scans_in_order() {
    let (place, systems) = (Place::new(), systems());
    let finished = place.succeeds(&format!(
        "run ycsb/e -s {} --records 1000 --operations 600 --clients 2 --repeats 1 --verify",
        systems.join(",")
    ));
    let (able, unable): (Vec<Value>, Vec<Value>) =
        place.records().into_iter().partition(|record| record["unsupported"].is_null());
    agree(&able);
    assert_eq!(able.len() + unable.len(), systems.len());
    for record in &unable {
        let why = record["unsupported"].as_str().unwrap();
        assert!(why.contains("scan") && finished.stdout.contains("not supported"), "{finished}");
    }
}

#[test]
fn each_level_of_durability_is_in_force_and_shown() {
    if !installed("redis") {
        return;
    }
    for (level, setting) in [("buffered", "everysec"), ("synced", "always")] {
        let place = Place::new();
        let finished = place.succeeds(&format!(
            "run ycsb/a -s redis,sqlite --records 200 --operations 200 --clients 2 --repeats 1 \
             --durability {level}"
        ));
        assert!(finished.stdout.contains(&format!("durability {level}")), "{finished}");
        let records = place.records();
        assert_eq!(records[0]["settings"]["appendfsync"], setting);
        assert_eq!(records[0]["durability"]["level"], level);
        assert!(records[0]["data_bytes_per_record"]["disk"].as_f64().unwrap() > 0.0, "its log");
    }
}

#[test]
fn duckdb_gives_the_answers_of_the_others_and_tells_what_it_took() {
    if !installed("duckdb") {
        return;
    }
    let place = Place::new();
    place.succeeds(
        "run ycsb/a -s memory,duckdb --records 200 --operations 300 --clients 1 --repeats 1 \
         --verify",
    );
    let records = place.records();
    let checksums =
        records.iter().map(|record| record["answers"]["sample_checksum"].as_str().unwrap());
    assert_eq!(checksums.collect::<BTreeSet<_>>().len(), 1, "systems disagree: {records:?}");
    let duckdb = records.iter().find(|record| record["driver"] == "duckdb").unwrap();
    assert_eq!(duckdb["errors"], serde_json::json!({}));
    assert_eq!(duckdb["answers"]["wrong"], 0);
    assert!(duckdb["system_version"].as_str().unwrap().starts_with("DuckDB 1."));
    assert_eq!(duckdb["settings"]["threads"], "1", "{}", duckdb["settings"]);
    assert!(duckdb["data_bytes_per_record"]["memory"].as_f64().unwrap() > 0.0);
    place.refuses(
        "run ycsb/a -s duckdb --durability buffered --records 10 --operations 10",
        &["duckdb", "buffered", "synced"],
    );
}

#[test]
fn all_stands_for_every_system_found() {
    let place = Place::new();
    let mut command = place.assay("plan -s all --json");
    command.env("ASSAY_REDIS_BINARY", "/nonexistent");
    let plan = place.end(command);
    assert_eq!(plan.code, Some(0), "{plan}");
    let has = |system: &str| plan.stdout.contains(&format!("\"driver\": \"{system}\""));
    assert!(has("null") && has("memory") && has("sqlite") && !has("redis"), "{plan}");
    assert_eq!(has("memcached"), installed("memcached"));
}

const PASSWORD: &str = "open-sesame-5e1f";

fn holds_no_secret(finished: &Finished) {
    for text in [&finished.stdout, &finished.stderr] {
        assert!(!text.contains("sesame"), "{finished}");
    }
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn a_server_that_was_there_keeps_its_keys_and_its_secret() {
    let Some(mut redis) = Redis::start(PASSWORD) else { return };
    redis.ask(&["SET", "theirs", "left alone"]);
    redis.ask(&["HSET", "user-of-theirs", "field0", "left alone too"]);
    let untouched = |redis: &mut Redis| {
        assert_eq!(redis.ask(&["DBSIZE"]), "2", "what Assay made is gone, and nothing else");
        assert_eq!(redis.ask(&["GET", "theirs"]), "left alone");
        assert_eq!(redis.ask(&["HGET", "user-of-theirs", "field0"]), "left alone too");
        assert!(redis.runs());
    };
    let place = Place::new();
    let tiny = "--records 300 --operations 600 --clients 2";
    let run = place
        .succeeds(&format!("run ycsb/a -s memory,{} {tiny} --repeats 2 --verify", redis.system()));
    untouched(&mut redis);
    let records = place.records();
    assert_eq!(records.len(), 4);
    for pair in records.chunks(2) {
        let sum = |record: &Value| record["answers"]["sample_checksum"].clone();
        assert_eq!(sum(&pair[0]), sum(&pair[1]));
    }
    let attached = records.iter().find(|record| record["driver"] == "redis").unwrap();
    let caveats = attached["caveats"].as_array().unwrap();
    assert!(caveats.iter().any(|caveat| caveat["code"] == "attached"), "{caveats:?}");
    assert!(attached["server_cpu_ns_per_op"].is_null(), "it is not Assay's to measure");

    // Its record can be repeated, but the password was not kept.
    let record = place
        .record_files()
        .into_iter()
        .find(|file| file.to_string_lossy().contains("redis"))
        .unwrap();
    let rerun = format!("rerun {} --results again", record.display());
    let refused = place.refuses(&rerun, &["passwords are not stored", "--url"]);
    let url = redis.system().replacen("redis=", "", 1);
    let again = place.succeeds(&format!("{rerun} --url {url}"));
    untouched(&mut redis);

    let wrong = redis.system().replace(PASSWORD, "no-sesame-at-all");
    let named = ["refused the login", "127.0.0.1"];
    let locked_out = place.fails(&format!("run ycsb/a -s {wrong} {tiny} --results out"), &named);
    untouched(&mut redis);

    let mut exports = Vec::new();
    for format in ["csv", "jsonl", "hdr", "ycsb"] {
        let words = format!("export assay-results/latest --format {format}");
        exports.push(place.succeeds(&words));
    }
    exports.push(place.succeeds("show"));
    let others = [&run, &refused, &again, &locked_out];
    others.into_iter().chain(&exports).for_each(holds_no_secret);
    let written = files(place.path());
    assert!(written.len() > 8, "{written:?}");
    for file in written {
        let text = fs::read(&file).unwrap();
        assert!(!String::from_utf8_lossy(&text).contains("sesame"), "{}", file.display());
        assert!(!file.to_string_lossy().contains("sesame"), "{}", file.display());
    }
}

#[test]
fn a_server_with_more_busy_threads_than_cores_is_said_to_lack_them() {
    if !installed("redis") {
        return;
    }
    let place = Place::new();
    // As many spinning threads as there are cores do not fit on half of them.
    let cores = std::thread::available_parallelism().unwrap().get();
    place.succeeds(&format!(
        "run ycsb/c -s redis+io-threads={},redis@one --placement split --clients 16 --records 500 \
         --duration 1s --warmup 0 --repeats 1 --turns never",
        (cores + 1).min(64)
    ));
    let records = place.records();
    let said = |record: &Value| {
        let caveats = record["caveats"].as_array().unwrap().iter();
        caveats.map(|caveat| caveat["code"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    if records[0]["placement"]["server_cpus"].as_array().unwrap().is_empty() {
        eprintln!("skipped: there is one core only");
        return;
    }
    assert!(said(&records[0]).contains(&"server_crowded".to_owned()), "{}", records[0]["caveats"]);
    let caveats = records[0]["caveats"].to_string();
    assert!(caveats.contains("--placement split"), "{caveats}");
    // One thread that fills one core is the usual case.
    assert!(
        !said(&records[1]).contains(&"server_bottleneck".to_owned()),
        "{}",
        records[1]["caveats"]
    );
}
