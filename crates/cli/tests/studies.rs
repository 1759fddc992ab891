//! Studies and the interactive start: what they run, what they show, and what is not there.

use std::{fs, process::Stdio};

use rustix::process::Signal;
use serde_json::Value;

use crate::common::{Finished, Place, Running, installed, readable};

/// Runs `assay start` with these answers.
fn start(place: &Place, answers: &str) -> Finished {
    let answers = fs::File::open(place.file("answers", answers)).unwrap();
    place.end_of(Running::start_with(place.assay("start"), answers))
}

/// The plan that a run of this place was made by.
fn plan_of_run(place: &Place) -> Value {
    let header = readable(&fs::read(place.only_run().join("run.json")).unwrap());
    header["plan"].clone()
}

#[test]
fn studies_are_listed_and_an_unknown_one_is_refused() {
    let place = Place::new();
    let listed = place.succeeds("study").stdout;
    for part in [
        "slik ",
        "kvdb2024 ",
        "nosql-postgres ",
        "VŠB-TU Ostrava",
        "workloads",
        "assay study NAME --quick",
    ] {
        assert!(listed.contains(part), "{part}\n{listed}");
    }
    place.refuses("study kvdb2025", &["kvdb2025", "kvdb2024"]);
    place.refuses("study kvdb2024 --systems memry", &["memry", "did you mean 'memory'"]);
    assert!(!place.path().join("assay-results").exists(), "nothing ran");
}

#[test]
fn the_study_of_key_value_systems_shows_its_tables_and_what_is_absent() {
    if !installed("redis") || !installed("memcached") {
        return;
    }
    let place = Place::new();
    let words = "study kvdb2024 --quick --records 50,200 --repeats 2 --systems \
                 redis,memcached,aerospike,riak:strong@riak-strong";
    let mut command = place.assay(words);
    // Whatever drivers this build has, their servers are not here.
    command.env("ASSAY_AEROSPIKE_BINARY", "/nowhere").env("ASSAY_RIAK_BINARY", "/nowhere");
    let finished = place.end(command);
    assert_eq!(finished.code, Some(0), "{finished}");
    let shown = &finished.stdout;
    for part in [
        "Throughput\n",
        "throughput in kops/s by records · ycsb/a · 4 clients",
        "throughput in kops/s by records · ycsb/load · 4 clients",
        "Redis (published)",
        "Mean latency of updates",
        "99th percentile of reads on workload A",
        "Mean throughput of all tests",
        "4.9 kops/s",
        "here: the mean of the throughputs over 8 loads",
        "Inserts\n",
        "Updates\n",
        "Reads\n",
        "Riak KV: from strong to eventual consistency",
        "+22.6 %",
        "from about 5 % to none",
        "Latency and return codes · ycsb/a · 4 clients",
        "not on this machine",
        "aerospike: not on this machine: ",
        "riak-strong: not on this machine: ",
        "TPC-H Q1",
        "source: J. Jedlička, Key-Value",
    ] {
        assert!(shown.contains(part), "{part}\n{finished}");
    }
    assert!(!shown.contains("of updates · ycsb/c"), "it has none\n{shown}");
    assert_eq!(place.succeeds("show").stdout, *shown);

    let records = place.records();
    assert_eq!(records.len(), 2 * 2 * 4 * 2, "systems, sizes, workloads, repeats");
    for record in &records {
        let inserts = record["workload"] == "ycsb/load";
        let size = record["workload_parameters"]["operation_count"].as_u64().unwrap();
        assert_eq!(record["operations"], size, "as many as records");
        assert_eq!(record["records"], if inserts { 0 } else { size }, "inserts begin with none");
        assert_eq!(record["answers"]["record_count"], record["answers"]["expected_count"]);
    }
    let plan = plan_of_run(&place);
    assert!(plan["title"].as_str().unwrap().contains("(quick: 50 to 200 records)"), "{plan}");
    assert_eq!(plan["study"]["name"], "kvdb2024");
    assert_eq!(plan["absent"].as_array().unwrap().len(), 2);

    let report = readable(place.succeeds("report --json").stdout.as_bytes());
    assert_eq!(report["figures"].as_array().unwrap().len(), 8);
    let tables = report["tables"].as_array().unwrap();
    assert_eq!(tables[0]["title"], "Mean throughput of all tests");
    assert!(report["caveats"].to_string().contains("not on this machine: aerospike: "));
    let latencies = tables.iter().find(|table| table["title"].as_str().unwrap().contains("ycsb/a"));
    let rows = latencies.unwrap()["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2 * 2 * 2, "sizes, systems, kinds: {rows:?}");
    let csv = place.succeeds("export assay-results/latest --format figure").stdout;
    assert!(csv.contains("ycsb/a,4,,Redis,yes,records,10000,throughput,,kops/s,3.90625,"), "{csv}");
}

#[test]
fn the_study_of_documents_has_its_claims_each_with_a_verdict_and_what_is_absent() {
    if !installed("postgres") {
        return;
    }
    let place = Place::new();
    let mut command = place.assay(
        "study nosql-postgres --quick --records 40 --clients 1,2 --repeats 1 --warmup 20 \
         --operations 60",
    );
    // Every workload would take a minute.
    command.args(["--workloads", "A one of 10,A uniform one of 10,E one of 200"]);
    // Whatever is on the machine, these are not here.
    for missing in ["MONGODB", "MARIADB", "MYSQL"] {
        command.env(format!("ASSAY_{missing}_BINARY"), "/nowhere");
    }
    let finished = place.end(command);
    assert_eq!(finished.code, Some(0), "{finished}");
    let shown = finished.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "throughput in kops/s by clients · A one of 10 · 40 records · durability buffered",
        "throughput in kops/s by clients · E one of 200 · 40 records · durability buffered",
        "A one of 10 · 2 clients · 40 records · durability synced",
        "Claims of the study",
        "1. “Postgres is better in all R/O workloads” (slides 54, 55)",
        "→ not decidable here: C one of 10 was not run",
        "→ not decidable here: too few repeats for an interval (n=1); F uniform one of 10 was not run",
        "postgres:jsonb: from A uniform one of 10 to A one of 10, 2 clients: undecided, wanted: 0.9 \
         at most; too few repeats for an interval (n=1)",
        "→ not decidable here: mysql:json: not on this machine; B one of 10 was not run",
        "→ not decidable here: mongodb: not on this machine; B one of 10 was not run",
        "“TOASTed json are really bad;",
        "“Postgres (synchronous_commit=on) beats Mongo if durability enabled (j1)",
        "mongodb: not on this machine: ",
        "1.5 million",
        "source: O. Bartunov, I. Panchenko, NoSQL Postgres",
    ] {
        assert!(shown.contains(part), "{part}\n{finished}");
    }
    let results = place.path().join("assay-results");
    let mut claims: Vec<usize> = fs::read_dir(&results)
        .unwrap()
        .map(|entry| entry.unwrap().path().join("run.json"))
        .filter(|header| header.exists() && !header.parent().unwrap().is_symlink())
        .map(|header| readable(&fs::read(header).unwrap()))
        .map(|header| header["plan"]["study"]["claims"].as_array().unwrap().len())
        .collect();
    claims.sort_unstable();
    assert_eq!(claims, [1, 9], "those that durability high decides, and low");

    let report = fs::read_to_string(results.join("study-nosql-postgres.html")).unwrap();
    for part in
        ["Claims of the study", "“Postgres is better in all R/O workloads”", "not decidable"]
    {
        assert!(report.contains(part), "{part}");
    }
}

#[test]
fn documents_of_two_hundred_fields_are_taken_in_every_layout_that_the_study_has() {
    let has = |system: &&str| installed(system.split(':').next().unwrap());
    let systems: Vec<&str> = [
        "postgres:jsonb+key=document",
        "postgres:json+key=document",
        "postgres:hstore+key=document",
        "postgres:row",
        "mariadb:json",
        "mariadb:row",
    ]
    .into_iter()
    .filter(has)
    .collect();
    if systems.is_empty() {
        return;
    }
    let place = Place::new();
    let experiment = place.file(
        "long.toml",
        r#"
        records = 30
        operations = 90
        repeats = 1
        durability = "buffered"
        verify = true
        [[workloads]]
        name = "every kind"
        base = "ycsb/a"
        [workloads.with]
        field_count = 200
        read_all_fields = false
        scan_proportion = 0.2
        insert_proportion = 0.2
        read_modify_write_proportion = 0.2
        "#,
    );
    let words = format!("run {} --systems {}", experiment.display(), systems.join(","));
    place.succeeds(&words);
    let records = place.records();
    assert_eq!(records.len(), systems.len());
    for record in records {
        assert_eq!(record["errors"], serde_json::json!({}), "{}", record["system"]);
        assert_eq!(record["answers"]["wrong"], 0, "{}", record["system"]);
    }
}

#[test]
fn documents_of_mysql_take_part_in_the_study_where_it_is_not_too_old_for_them() {
    if !installed("mysql") || !installed("postgres") {
        return;
    }
    let place = Place::new();
    let version = place.succeeds("systems mysql --json").stdout;
    let finished = place.succeeds(
        "study nosql-postgres --quick --records 20 --clients 1 --repeats 1 --operations 20 \
         --workloads ycsb/c --systems postgres:jsonb,mysql:json",
    );
    if version.contains("5.6.") {
        let why = "mysql:json: cannot do this: it is MySQL 5.6";
        assert!(finished.stdout.contains(why), "{finished}");
        return;
    }
    assert!(!finished.stdout.contains("cannot do this"), "{finished}");
    let systems: Vec<_> = place.records().iter().map(|record| record["system"].clone()).collect();
    assert_eq!(systems.len(), 2, "{systems:?}");
    assert!(systems.contains(&"mysql:json".into()), "{systems:?}");
}

#[test]
fn a_study_of_several_experiments_has_a_run_each_and_one_report() {
    let place = Place::new();
    place.succeeds("study slik --quick --systems slik:object --repeats 1 --operations 200");
    let results = place.path().join("assay-results");
    let runs = fs::read_dir(&results)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().is_dir())
        .count();
    assert_eq!(runs, 5);
    let report = fs::read_to_string(results.join("study-slik.html")).unwrap();
    for title in ["Lookup latency by index size", "Overwrite latency by number of indexes"] {
        assert!(report.contains(title), "{title}");
    }
    assert!(report.contains("(quick: 1 to 10000 records)"));
}

#[test]
fn where_no_system_of_a_study_is_there_it_says_how_to_get_them() {
    let place = Place::new();
    let mut command = place.assay("study kvdb2024 --systems redis,memcached");
    command.env("ASSAY_REDIS_BINARY", "/nowhere").env("ASSAY_MEMCACHED_BINARY", "/nowhere");
    let finished = place.end(command);
    assert_eq!(finished.code, Some(2), "{finished}");
    finished.says(&["redis: not on this machine", "memcached: not on this machine", "/nowhere"]);
}

#[test]
fn a_system_of_a_study_that_cannot_do_what_is_asked_is_shown_as_such() {
    if !installed("redis") {
        return;
    }
    let place = Place::new();
    let words = "study kvdb2024 --systems redis,memcached --durability synced --records 20,30 \
                 --repeats 1";
    let finished = place.succeeds(words);
    let why = "memcached: cannot do this: memcached has no durability 'synced'";
    assert!(finished.stdout.contains(why), "{finished}");
    assert_eq!(place.records().len(), 2 * 4);
}

#[test]
fn the_start_runs_what_was_answered_and_shows_the_command_of_the_same_plan() {
    let place = Place::new();
    let finished = start(&place, "memry\nmemory\nb\nno\nmany\n1e3\n2_000\n");
    assert_eq!(finished.code, Some(0), "{finished}");
    finished.says(&["unknown system 'memry'", "'many' is no whole number", "Operations [1000]"]);
    let command = "assay run --systems memory --workloads ycsb/b --records 1000 --operations 2000 \
                   --clients 4 --repeats 5";
    assert!(finished.stdout.contains("ops/s"), "{finished}");
    assert!(finished.stdout.ends_with(&format!("the same again: {command}\n")), "{finished}");
    let planned = place.succeeds(&format!("{} --json", command.replace("assay run", "plan")));
    assert_eq!(plan_of_run(&place), readable(planned.stdout.as_bytes()));
}

#[test]
fn insert_only_begins_with_an_empty_table_on_a_real_server() {
    if !installed("redis") {
        return;
    }
    let place = Place::new();
    let finished = start(&place, "redis\n\nyes\n500\n");
    assert_eq!(finished.code, Some(0), "{finished}");
    let records = place.records();
    assert_eq!(records.len(), 5);
    for record in records {
        assert_eq!((&record["records"], &record["operations"]), (&0.into(), &500.into()));
        assert_eq!(record["answers"]["record_count"], 500);
    }
    let (_, command) = finished.stdout.rsplit_once("the same again: assay run ").unwrap();
    let planned = place.succeeds(&format!("plan {} --json", command.trim()));
    assert_eq!(plan_of_run(&place), readable(planned.stdout.as_bytes()));
}

#[test]
fn a_start_without_all_answers_starts_nothing() {
    let place = Place::new();
    for answers in ["", "memory\na\nno\n"] {
        let finished = start(&place, answers);
        assert_eq!(finished.code, Some(2), "{finished}");
        finished.says(&["nothing was started", "assay run --help"]);
    }
    let mut running = Running::start_with(place.assay("start"), Stdio::piped());
    running.await_message("System (");
    running.signal(Signal::INT);
    let finished = place.end_of(running);
    assert_ne!(finished.code, Some(0), "{finished}");
    assert!(!place.path().join("assay-results").exists(), "nothing ran");
}

#[test]
fn the_commands_of_a_start_show_no_password() {
    let place = Place::new();
    // Nobody listens there: what was answered is a system all the same.
    let finished = start(&place, "redis=redis://:open-sesame@127.0.0.1:1\na\nno\n10\n10\n");
    assert_eq!(finished.code, Some(1), "{finished}");
    for text in [&finished.stdout, &finished.stderr] {
        assert!(!text.contains("sesame"), "{finished}");
    }
}
