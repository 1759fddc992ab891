//! What a user does: run, plan, show, rerun, export.

use std::{collections::BTreeSet, fs};

use serde_json::Value;

use crate::common::{Finished, Place, readable};

/// The smallest run that has everything.
const TINY: &str = "--records 500 --operations 2000 --repeats 2 --clients 1,2";

fn lines(finished: &Finished) -> Vec<Value> {
    finished.stdout.lines().map(|line| readable(line.as_bytes())).collect()
}

/// The columns of a line of CSV (RFC 4180) without line breaks in it.
fn columns(line: &str) -> Vec<String> {
    let mut columns = vec![String::new()];
    let mut quoted = false;
    for letter in line.chars() {
        match letter {
            '"' => quoted = !quoted,
            ',' if !quoted => columns.push(String::new()),
            other => columns.last_mut().unwrap().push(other),
        }
    }
    columns
}

fn names(object: &Value) -> BTreeSet<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn a_run_without_an_experiment_weighs_the_embedded_stores() {
    let place = Place::new();
    let finished = place.succeeds(&format!("run {TINY}"));
    for workload in ["ycsb/a", "ycsb/b", "ycsb/c", "ycsb/e"] {
        for clients in ["1 client", "2 clients"] {
            let heading = format!("{workload} · {clients} · 500 records");
            assert!(finished.stdout.contains(&heading), "{heading}\n{finished}");
        }
    }
    for column in ["system", "ops/s", "p50", "p95", "p99", "p99.9", "CPU/op", "mem/rec", "disk/rec"]
    {
        assert!(finished.stdout.contains(column), "{column}\n{finished}");
    }
    for system in ["null", "slik", "memory", "sqlite"] {
        assert!(finished.stdout.contains(system), "{system}\n{finished}");
    }
    // A line a trial, and where the records are.
    finished.says(&[
        "[64/64]",
        "records: ",
        &place.only_run().file_name().unwrap().to_string_lossy(),
    ]);

    let records = place.records();
    assert_eq!(records.len(), 4 * 2 * 4 * 2);
    assert_eq!(place.status(), "finished");
    for record in &records {
        assert_eq!(record["operations"], 2000);
        assert_eq!(record["errors"], serde_json::json!({}));
        if record["system"] != "null" {
            let answers = &record["answers"];
            assert_eq!(answers["wrong"], 0);
            assert_eq!(answers["record_count"], answers["expected_count"]);
        }
    }
}

#[test]
fn results_and_data_go_where_they_are_told() {
    let place = Place::new();
    fs::create_dir(place.path().join("elsewhere")).unwrap();
    let stray = format!("{}/elsewhere", place.path().display());
    // With the usual folder closed to it, a store that used it would fail.
    let mut command = place.assay(&format!(
        "run ycsb/a -q -s sqlite --records 100 --operations 100 --repeats 1 \
         --results {stray}/results --data-folder {stray}"
    ));
    command.env("TMPDIR", "/nonexistent");
    let finished = place.end(command);
    assert_eq!(finished.code, Some(0), "{finished}");
    assert_eq!(finished.stderr, "", "--quiet is quiet");
    assert!(!place.path().join("assay-results").exists());
    let left: Vec<_> = fs::read_dir(&stray).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left, [place.path().join("elsewhere/results")]);
}

#[test]
fn json_lines_have_exactly_the_documented_names_and_shapes() {
    let place = Place::new();
    let finished = place.succeeds(&format!("run ycsb/a -s null,memory,sqlite {TINY} --json"));
    let lines = lines(&finished);
    assert_eq!(lines.len(), 3 * 2, "a line a cell, whatever the repeats\n{finished}");
    for line in &lines {
        let documented = [
            "caveats",
            "client_cpu_ns_per_op",
            "clients",
            "data_bytes_per_record",
            "durability",
            "errors",
            "format_version",
            "huge_pages_bytes",
            "latency_ns",
            "records",
            "repeats",
            "server_cpu_ns_per_op",
            "server_rss_bytes",
            "system",
            "throughput_ops_per_s",
            "workload",
        ];
        assert_eq!(names(line), documented.into());
        assert_eq!((&line["workload"], &line["records"]), (&"ycsb/a".into(), &500.into()));
        assert_eq!((&line["repeats"], &line["errors"]), (&2.into(), &serde_json::json!({})));
        assert!([1, 2].iter().any(|clients| line["clients"] == *clients), "{line}");
        assert_eq!(names(&line["throughput_ops_per_s"]), ["high", "low", "median"].into());
        assert!(line["throughput_ops_per_s"]["median"].as_f64().unwrap() > 0.0, "{line}");
        assert_eq!(names(&line["latency_ns"]), ["read", "update"].into());
        let mut operations = 0;
        for latency in line["latency_ns"].as_object().unwrap().values() {
            assert_eq!(
                names(latency),
                ["count", "max", "mean", "min", "p50", "p95", "p99", "p999", "p9999"].into()
            );
            operations += latency["count"].as_u64().unwrap();
            let rising = ["min", "p50", "p95", "p99", "p999", "p9999", "max"];
            let figures: Vec<u64> =
                rising.iter().map(|name| latency[*name].as_u64().unwrap()).collect();
            assert!(figures.is_sorted() && figures[0] > 0, "{line}");
        }
        assert_eq!(operations, 2 * 2000, "{line}");
        assert_eq!(names(&line["durability"]), ["level", "setting"].into());
        assert_eq!(line["durability"]["level"], "none");
        assert_eq!(names(&line["data_bytes_per_record"]), ["disk", "memory"].into());
        assert!(line["client_cpu_ns_per_op"].as_f64().unwrap() > 0.0, "{line}");
        assert!(line["server_cpu_ns_per_op"].is_null() && line["server_rss_bytes"].is_null());
        for caveat in line["caveats"].as_array().unwrap() {
            assert_eq!(names(caveat), ["code", "text"].into());
        }
    }
    // The same names in the record, which counts its repeat where the line counts them all.
    let records = place.records();
    for name in names(&lines[0]).into_iter().filter(|name| *name != "repeats") {
        assert!(records[0].get(name).is_some(), "{name}");
    }
}

#[test]
fn json_lines_of_an_open_loop_and_of_what_is_not_supported_say_so() {
    let place = Place::new();
    let finished = place.succeeds(
        "run ycsb/e -s memory,memcached --records 200 --operations 200 --warmup 0 --repeats 1 \
         --rate 2000 --arrivals poisson --json",
    );
    let lines = lines(&finished);
    let open = serde_json::json!({"loop": "open", "rate_per_s": 2000.0, "arrivals": "poisson"});
    assert_eq!(lines.len(), 2, "{finished}");
    assert_eq!((&lines[0]["system"], &lines[0]["mode"]), (&"memory".into(), &open));
    assert_eq!((&lines[1]["system"], &lines[1]["mode"]), (&"memcached".into(), &open));
    let why = lines[1]["unsupported"].as_str().unwrap();
    assert!(why.contains("scan") && why.contains("ordered"), "{why}");
    assert!(lines[0].get("unsupported").is_none(), "{finished}");
    // Nor is it a silent gap in the table.
    let table = place.succeeds("show assay-results/latest");
    assert!(table.stdout.contains("not supported") && table.stdout.contains(why), "{table}");
    let questions = table.stdout.matches("ycsb/e · 2 clients").count();
    assert_eq!(questions, 1, "both stand in one table: {table}");
}

#[test]
fn ycsbs_result_lines_are_printed() {
    let place = Place::new();
    let finished = place
        .succeeds("run ycsb/f -s memory --records 500 --operations 2000 --repeats 1 --format ycsb");
    let figure = |section: &str, name: &str| -> f64 {
        let prefix = format!("[{section}], {name}, ");
        let line = finished.stdout.lines().find_map(|line| line.strip_prefix(&prefix));
        line.unwrap_or_else(|| panic!("{prefix}\n{finished}")).parse().unwrap()
    };
    assert!(figure("OVERALL", "RunTime(ms)") >= 0.0);
    assert!(figure("OVERALL", "Throughput(ops/sec)") > 0.0);
    let mut operations = 0.0;
    for section in ["READ", "READ-MODIFY-WRITE"] {
        assert_eq!(figure(section, "Operations"), figure(section, "Return=OK"));
        operations += figure(section, "Operations");
        assert!(figure(section, "MinLatency(us)") <= figure(section, "99thPercentileLatency(us)"));
        assert!(figure(section, "AverageLatency(us)") <= figure(section, "MaxLatency(us)"));
    }
    assert_eq!(operations, 2000.0);
    let line_of_ycsb = |line: &str| line.starts_with('[') && line.split(", ").count() == 3;
    assert!(finished.stdout.lines().all(line_of_ycsb), "{finished}");
}

#[test]
fn an_experiment_file_runs_and_the_command_line_wins() {
    let place = Place::new();
    place.file(
        "exp.toml",
        r#"
        title = "Wide rows"
        question = "Do wide rows matter?"
        systems = ["memory", { name = "sqlite", layout = "json", label = "documents" }]
        workloads = ["ycsb/c", { name = "wide", base = "ycsb/a", with = { field_count = 30 } }]
        records = 300
        clients = [1, 2]
        operations = 400
        warmup = 100
        repeats = 5
        durability = "none"
        seed = 7
        "#,
    );
    place.succeeds("run exp.toml --repeats 1 --clients 2 --verify");
    let records = place.records();
    let told: Vec<_> = records
        .iter()
        .map(|record| {
            let text = |name: &str| record[name].as_str().unwrap().to_owned();
            (text("system"), text("workload"), record["clients"].as_u64().unwrap())
        })
        .collect();
    let expected =
        [("memory", "ycsb/c"), ("documents", "ycsb/c"), ("memory", "wide"), ("documents", "wide")];
    assert_eq!(told, expected.map(|(system, workload)| (system.into(), workload.into(), 2)));
    for record in &records {
        assert_eq!((&record["seed"], &record["records"]), (&7.into(), &300.into()));
        assert!(record["answers"]["verified_reads"].as_u64().unwrap() > 0, "{record}");
    }
    assert_eq!(records[2]["workload_parameters"]["field_count"], 30);
    let header = readable(&fs::read(place.only_run().join("run.json")).unwrap());
    assert_eq!(header["plan"]["question"], "Do wide rows matter?");
    assert_eq!(header["command_line"][2], "exp.toml");
}

#[test]
fn a_plan_says_what_would_run_and_runs_nothing() {
    let place = Place::new();
    // Also of a server that is not there.
    let mut command = place.assay(
        "plan ycsb/e -s postgres:jsonb,memcached --records 500 --operations 2000 --repeats 3 \
         --clients 1,4",
    );
    command.env("ASSAY_POSTGRES_BINARY", "/nonexistent");
    let finished = place.end(command);
    assert_eq!(finished.code, Some(0), "{finished}");
    for part in [
        "1  postgres:jsonb on ycsb/e: 500 records, 1 client",
        "3  postgres:jsonb on ycsb/e: 500 records, 4 clients",
        "2000 operations after 200 of warm-up",
        "not supported: scan",
        "2 trials, 3 times each: about ",
    ] {
        assert!(finished.stdout.contains(part), "{part}\n{finished}");
    }
    let finished =
        place.succeeds("plan -s null,memory -w ycsb/a,ycsb/c --rate 100,200 --seed 9 --json");
    let plan = readable(finished.stdout.as_bytes());
    let cells = plan["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 2 * 2 * 2);
    assert_eq!(cells[0]["system"]["label"], "null");
    assert_eq!(cells[7]["mode"]["open"]["rate_per_s"], 200.0);
    assert!(cells.iter().all(|cell| cell["seed"] == 9));
    assert!(plan["repeats"]["auto"]["precision"].as_f64().unwrap() > 0.0);
    assert!(!place.path().join("assay-results").exists(), "nothing ran");
}

#[test]
fn a_plan_says_what_automatic_repeats_go_on_for() {
    let place = Place::new();
    for (systems, told) in [
        ("slik", "1 trial, 10 to 50 times each until every throughput is known"),
        // The line that stores nothing is none to compare with.
        ("slik,null", "2 trials, 10 to 50 times each until every throughput is known"),
        ("slik,memory,null", "until every system's ratio to the fastest is known"),
    ] {
        let finished = place.succeeds(&format!("plan ycsb/c -s {systems}"));
        assert!(finished.stdout.contains(told), "{told}\n{finished}");
    }
    let once = place.succeeds("plan ycsb/c -s slik --repeats 1");
    assert!(once.stdout.contains("1 trial, once each: about "), "{once}");
}

#[test]
fn a_record_is_run_again_with_its_own_seed_and_plan() {
    let place = Place::new();
    place.succeeds(
        "run ycsb/a -s memory --records 400 --operations 900 --warmup 50 --clients 2 --repeats 2 \
         --seed 20 --table other --verify",
    );
    let files = place.record_files();
    let second = readable(&fs::read(&files[1]).unwrap());
    assert_eq!(second["seed"], 21, "each repeat has a seed of its own");

    let again = format!("rerun {} --results again --json", files[1].display());
    let finished = place.succeeds(&again);
    assert_eq!(lines(&finished).len(), 1);
    let run = fs::read_dir(place.path().join("again")).unwrap().next().unwrap().unwrap().path();
    let mut files = fs::read_dir(run.join("trials")).unwrap().map(|entry| entry.unwrap().path());
    let record = files.find(|path| path.extension().unwrap() == "json").unwrap();
    let record = readable(&fs::read(record).unwrap());
    let same = [
        "seed",
        "system",
        "driver",
        "layout",
        "workload",
        "workload_parameters",
        "clients",
        "operations",
        "records",
        "mode",
        "durability",
        "answers",
        "placement",
    ];
    for name in same {
        assert_eq!(record[name], second[name], "{name}");
    }
    let plan = |record: &Value| {
        let mut plan = record["plan"].clone();
        plan["seed"] = record["seed"].clone();
        plan
    };
    assert_eq!(plan(&record), plan(&second));

    let broken = place.file("broken.json", "{\"format_version\": 1, \"tri");
    place.refuses(&format!("rerun {}", broken.display()), &["broken.json", "damaged"]);
    place.refuses("rerun gone.json", &["gone.json", "No such file"]);
}

#[test]
fn a_run_is_shown_again() {
    let place = Place::new();
    let finished = place.succeeds(
        "run ycsb/c -s memory,sqlite --records 200 --operations 500 --repeats 1 --clients 1",
    );
    let run = place.only_run();
    for words in
        ["show".into(), "show assay-results/latest".into(), format!("show {}", run.display())]
    {
        assert_eq!(place.succeeds(&words).stdout, finished.stdout, "{words}");
    }
    let as_json = lines(&place.succeeds("show --json"));
    assert_eq!(as_json.len(), 2);
    assert_eq!(as_json[1]["system"], "sqlite");
    place.refuses("show assay-results", &["name one of them", "latest"]);
    place.refuses("show nowhere", &["nowhere", "no such folder"]);
}

#[test]
fn a_run_is_exported_in_every_format() {
    let place = Place::new();
    place.succeeds(
        "run ycsb/a -s memory,sqlite --records 200 --operations 500 --repeats 2 --clients 1",
    );
    let export = |format: &str| {
        place.succeeds(&format!("export assay-results/latest --format {format}")).stdout
    };
    let records = place.records();

    let csv = export("csv");
    let mut rows: Vec<Vec<String>> = csv.lines().map(columns).collect();
    let header = rows.remove(0);
    let column = |name: &str| header.iter().position(|column| *column == name).unwrap();
    assert_eq!(rows.len(), records.len() * 2, "a line a repeat and kind\n{csv}");
    for row in &rows {
        assert_eq!(row.len(), header.len(), "{row:?}");
        assert!(["read", "update"].contains(&row[column("operation")].as_str()), "{row:?}");
        assert!(["memory", "sqlite"].contains(&row[column("system")].as_str()), "{row:?}");
    }

    let jsonl: Vec<Value> = export("jsonl").lines().map(|line| readable(line.as_bytes())).collect();
    assert_eq!(jsonl, records, "whole records");

    let log = export("hdr");
    let intervals = log.lines().filter(|line| line.starts_with("Tag="));
    let tags: BTreeSet<&str> = intervals.map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(tags.len(), records.len() * 2, "{tags:?}");

    let ycsb = export("ycsb");
    assert_eq!(ycsb.matches("[OVERALL], Throughput(ops/sec)").count(), records.len(), "{ycsb}");
    place.refuses("export assay-results --format csv", &["name one of them"]);
}

#[test]
fn systems_that_rest_take_turns_and_the_record_says_so() {
    let place = Place::new();
    let run = "run ycsb/a -s memory@a,sqlite,memory@b --records 500 --duration 300ms --warmup 20ms \
               --repeats 2";
    let turns = |place: &Place| {
        let mut turns: Vec<(String, u64)> = place
            .records()
            .iter()
            .map(|record| {
                let series = record["series"].as_array().unwrap();
                assert_eq!(series.len(), 1, "the time of the others is not in it: {series:?}");
                let in_series = series[0]["operations"].as_u64().unwrap();
                let rate = record["throughput_ops_per_s"]["median"].as_f64().unwrap();
                assert!((in_series as f64 / 0.3 / rate - 1.0).abs() < 0.01, "{in_series} {rate}");
                (record["system"].as_str().unwrap().to_owned(), record["turns"].as_u64().unwrap())
            })
            .collect();
        turns.sort();
        turns.dedup();
        turns
    };
    let expected =
        |count: u64| [("a".to_owned(), count), ("b".into(), count), ("sqlite".into(), 1)];
    place.succeeds(run);
    assert_eq!(turns(&place), expected(3));
    let place = Place::new();
    place.succeeds(&format!("{run} --turns never"));
    assert_eq!(turns(&place), expected(1));
}
