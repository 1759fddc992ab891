//! However a run ends: nothing is left of it but the results so far.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, thread, time::Duration};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::common::{
    Finished, Place, Redis, Running, await_that, calls, free_port, installed, is_running, kill,
    readable,
};

/// A workload so small a record that loading it takes time by its number alone.
const SMALL_RECORDS: &str = "-p fieldcount=1 -p fieldlength=1 -p readproportion=1";

/// What an interrupted run says and keeps, whatever it was doing.
fn was_interrupted(place: &Place, finished: &Finished, kept: &[&str]) {
    assert_eq!(finished.code, Some(130), "{finished}");
    let trials = if kept.len() == 1 { "1 trial is kept" } else { "trials are kept" };
    finished.says(&["interrupted", trials]);
    assert_eq!(place.recorded_systems(), kept);
    assert_eq!(place.status(), "interrupted");
    assert!(place.only_run().join("report.html").is_file(), "the report of what there is");
    for system in kept {
        assert!(finished.stdout.contains(system), "the results so far are shown\n{finished}");
    }
    assert_eq!(place.leftovers().len(), 0, "{finished}");
    place.await_clean();
}

/// Starts a run of `null` and then a fresh Redis, and waits until Redis has carried out `command`
/// often enough for its phase to be well under way.
fn redis_at(place: &Place, command: &str, words: &str) -> Running {
    let port = free_port();
    let mut running =
        place.start(&format!("run -s null,redis+port={port} --repeats 1 --clients 2 {words}"));
    running.await_message("null on ");
    running.await_that(command, |_| calls(port, command) > 200);
    running
}

/// A phase in which Redis is busy for a long time: the command that tells, and how to get there.
const LOADING: (&str, &str) = ("hset", "--records 5000000 --operations 500 --warmup 0");
const WARMING_UP: (&str, &str) = ("hgetall", "--records 1000 --warmup 1000000 --operations 500");
const MEASURING: (&str, &str) = ("hgetall", "--records 1000 --warmup 0 --operations 1000000");

#[test]
fn ctrl_c_while_loading_warming_up_or_measuring_keeps_what_has_ended() {
    if !installed("redis") {
        return;
    }
    for (command, words) in [LOADING, WARMING_UP, MEASURING] {
        let place = Place::new();
        let running = redis_at(&place, command, &format!("{words} {SMALL_RECORDS}"));
        running.signal_group(Signal::INT);
        was_interrupted(&place, &running.wait(), &["null"]);
    }
}

#[test]
fn other_requests_to_end_are_taken_like_ctrl_c() {
    if !installed("redis") {
        return;
    }
    for signal in [Signal::TERM, Signal::HUP] {
        let place = Place::new();
        let running = redis_at(&place, MEASURING.0, &format!("{} {SMALL_RECORDS}", MEASURING.1));
        running.signal(signal);
        was_interrupted(&place, &running.wait(), &["null"]);
    }
}

#[test]
fn ctrl_c_while_a_server_starts_keeps_what_has_ended() {
    if !installed("postgres") {
        return;
    }
    let place = Place::new();
    let mut running = place
        .start("run -s null,postgres --records 1000 --operations 1000 --repeats 1 --clients 1");
    running.await_message("null on ");
    // Its data folder is filled from the first file on, long before it answers.
    running.await_that("initdb at work", |_| {
        let begun = |folder: &Path| {
            fs::read_dir(folder.join("data")).is_ok_and(|mut files| files.next().is_some())
        };
        place.leftovers().iter().any(|folder| begun(folder))
    });
    running.signal_group(Signal::INT);
    was_interrupted(&place, &running.wait(), &["null"]);
}

#[test]
fn ctrl_c_while_the_answers_are_checked_keeps_that_trial_too() {
    let place = Place::new();
    // A session counts its operations: only the check's gets to the 600th.
    let mut running = place.start(
        "run ycsb/c -s null,memory+stall=3s@600 --records 1000 --operations 100 --warmup 0 \
         --repeats 1 --clients 1",
    );
    running.await_message("null on ");
    let mut still = 0;
    running.await_that("the stall", |running| {
        let stalls = !place.leftovers().is_empty() && running.sleeps();
        still = if stalls { still + 1 } else { 0 };
        still > 30
    });
    running.signal_group(Signal::INT);
    was_interrupted(&place, &running.wait(), &["null", "memory"]);
}

#[test]
fn ctrl_c_leaves_a_server_that_was_there_as_it_was() {
    let Some(mut redis) = Redis::start("") else { return };
    redis.ask(&["SET", "theirs", "left alone"]);
    let place = Place::new();
    let mut running = place.start(&format!(
        "run ycsb/c -s null,{} --records 1000 --warmup 0 --operations 1000000 --repeats 1",
        redis.system()
    ));
    running.await_message("null on ");
    running.await_that("reads", |_| calls(redis.port(), "hgetall") > 200);
    running.signal_group(Signal::INT);
    was_interrupted(&place, &running.wait(), &["null"]);
    assert!(redis.runs());
    assert_eq!(redis.ask(&["DBSIZE"]), "1", "its own key, and no record");
}

#[test]
fn a_second_ctrl_c_ends_a_run_that_cannot_stop_at_once() {
    // A server that never answers: its start would be waited for.
    let place = Place::new();
    let script = "#!/bin/sh\n[ \"$1\" = --version ] && { echo 'Redis server v=0.0.1 sha=0'; exit; }\n\
                  exec sleep 600\n";
    let fake = place.file("redis-server", script);
    fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command =
        place.assay("run -s null,redis --records 100 --operations 100 --repeats 1 --clients 1");
    command.env("ASSAY_REDIS_BINARY", &fake);
    let mut running = Running::start(command);
    let (server, _) = running.await_server("sleep");
    running.signal_group(Signal::INT);
    running.await_message("once more");
    running.signal_group(Signal::INT);
    let finished = running.wait();
    assert_eq!(finished.code, Some(130), "{finished}");
    place.await_clean();
    assert!(!is_running(server));
    assert_eq!(place.recorded_systems(), ["null"]);
}

#[test]
fn after_kill_9_everything_goes_and_the_results_so_far_can_be_read() {
    for system in ["redis", "postgres", "sqlite"] {
        if !installed(system) {
            continue;
        }
        let place = Place::new();
        let mut running = place.start(&format!(
            "run ycsb/a -s null,{system} --records 1000 --warmup 100 --operations 2000000 \
             --repeats 1"
        ));
        running.await_message("null on ");
        match system {
            "redis" => drop(running.await_server("redis-server")),
            "postgres" => drop(running.await_server("postgres")),
            _ => running.await_that("its folder", |_| !place.leftovers().is_empty()),
        }
        thread::sleep(Duration::from_millis(300));
        let processes = running.descendants();
        assert!(!processes.is_empty(), "{system}: a warden at least");
        running.signal(Signal::KILL);
        let finished = running.wait();
        assert_eq!(finished.signal, Some(9), "{finished}");
        place.await_clean();
        await_that("its processes gone", || !processes.iter().any(|&pid| is_running(pid)));
        assert_eq!(place.recorded_systems(), ["null"]);
        assert_eq!(place.status(), "running", "nobody was left to say how it ended");
        let shown = place.succeeds("show");
        assert!(shown.stdout.contains("null") && shown.stdout.contains("was killed"), "{shown}");
        let line = readable(place.succeeds("show --json").stdout.as_bytes());
        let told = line["caveats"].as_array().unwrap();
        assert!(told.iter().any(|caveat| caveat["code"] == "unfinished_run"), "{line}");
    }
}

#[test]
fn a_server_that_is_killed_fails_its_trial_only() {
    for (system, program) in
        [("redis", "redis-server"), ("memcached", "memcached"), ("postgres", "postgres")]
    {
        if !installed(system) {
            continue;
        }
        let place = Place::new();
        let mut running = place.start(&format!(
            "run ycsb/c -s null,{system},memory --records 1000 --warmup 0 --operations 300000 \
             --repeats 2 --clients 2"
        ));
        let (server, _) = running.await_server(program);
        thread::sleep(Duration::from_secs(2));
        kill(server, Signal::KILL);
        let finished = running.wait();
        assert_eq!(finished.code, Some(1), "{finished}");
        finished.says(&[
            &format!("{system} on ycsb/c with 2 clients"),
            "the server ended by itself",
            "SIGKILL",
            "the results so far are kept",
        ]);
        assert_eq!(place.recorded_systems(), ["null", "memory", "memory", "null"]);
        assert_eq!(place.status(), "finished");
        assert!(finished.stdout.contains("memory"), "{finished}");
        place.await_clean();
        stays_in_the_results(&place, system, "measure", "SIGKILL");
    }
}

/// Whoever looks at the only run sees that the system failed, and why.
fn stays_in_the_results(place: &Place, system: &str, phase: &str, why: &str) {
    let header = readable(&fs::read(place.only_run().join("run.json")).unwrap());
    let failures = header["failures"].as_array().unwrap();
    assert_eq!(failures.len(), 1, "{failures:?}");
    let failed = &failures[0];
    assert_eq!(failed["system"], system);
    assert_eq!(
        (&failed["failure"]["phase"], &failed["failure"]["repeat"]),
        (&json!(phase), &json!(1))
    );
    let error = failed["failure"]["error"].as_str().unwrap();
    assert!(error.contains(why), "{error}");

    let table = place.succeeds("show");
    let row = |line: &&str| line.split_whitespace().any(|word| word == system);
    let row = table.stdout.lines().find(row).unwrap();
    assert!(row.contains("failed"), "{table}");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = words(&table.stdout);
    assert!(told.contains(&format!("{system} failed w")) && told.contains(why), "{table}");

    let lines = place.succeeds("show --json");
    let cells: Vec<Value> = lines.stdout.lines().map(|line| readable(line.as_bytes())).collect();
    let cell = cells.iter().find(|cell| cell["system"] == system).unwrap();
    assert_eq!((&cell["failure"], &cell["repeats"]), (&failed["failure"], &json!(0)));

    let exported = place.succeeds("export assay-results/latest --format csv");
    assert!(exported.stderr.contains(&format!("{system} on ")), "{exported}");
    exported.says(&["it is not in what is exported"]);

    let report = readable(place.succeeds("report --json").stdout.as_bytes());
    let caveat = &report["caveats"][0];
    assert_eq!((&caveat["code"], &caveat["kind"]), (&json!("failed"), &json!("severe")));
    let named = &report["systems"][caveat["systems"][0].as_u64().unwrap() as usize];
    assert_eq!(named["name"], system);
    let page = fs::read_to_string(place.only_run().join("report.html")).unwrap();
    let row = format!("<th scope=\"row\">{system}</th><td colspan=");
    let cell = page.split_once(&row).unwrap().1.split_once('<').unwrap().0;
    assert!(cell.contains("failed w") && cell.contains(why), "{cell}");

    let other = cells.iter().find(|cell| cell["failure"].is_null()).unwrap();
    let other = other["system"].as_str().unwrap();
    let compared =
        place.run(&format!("compare assay-results/latest --across {other} {system} --json"));
    assert_eq!(compared.code, Some(3), "{compared}");
    let line = readable(compared.stdout.as_bytes());
    assert_eq!((&line["failure_b"], &line["verdict"]), (&failed["failure"], &json!("slower")));
    let compared = place.run(&format!("compare assay-results/latest --across {system} {other}"));
    assert_eq!(compared.code, Some(0), "{compared}");
    let told = words(&compared.stdout);
    assert!(told.contains(&format!("in the first run {system}")), "{compared}");
    assert!(told.contains(why), "{compared}");
}

#[test]
fn a_server_that_does_not_start_stays_in_the_results() {
    if !installed("redis") {
        return;
    }
    let place = Place::new();
    let words = "run ycsb/c -s redis+nonsense=1,memory --records 100 --operations 100 --repeats 1";
    place.fails(words, &["redis on ycsb/c with 2 clients", "nonsense"]);
    assert_eq!(place.recorded_systems(), ["memory"]);
    stays_in_the_results(&place, "redis", "start", "nonsense");
}

#[test]
fn a_run_of_which_every_trial_failed_has_a_report_that_says_so() {
    if !installed("redis") {
        return;
    }
    let place = Place::new();
    let words = "run ycsb/c -s redis+nonsense=1 --records 100 --operations 100 --repeats 1";
    let finished = place.fails(words, &["nonsense"]);
    assert!(finished.stdout.contains("failed"), "{finished}");
    let page = fs::read_to_string(place.only_run().join("report.html")).unwrap();
    assert!(page.contains("Severe: redis: failed when it was started"), "{finished}");
}

#[test]
fn a_server_that_is_killed_while_it_is_loaded_fails_its_trial_only() {
    if !installed("redis") {
        return;
    }
    let place = Place::new();
    let (command, words) = LOADING;
    let mut running = redis_at(&place, command, &format!("{words} {SMALL_RECORDS}"));
    kill(running.await_server("redis-server").0, Signal::KILL);
    let finished = running.wait();
    assert_eq!(finished.code, Some(1), "{finished}");
    finished.says(&["redis on ycsb with 2 clients", "the server ended by itself", "SIGKILL"]);
    assert_eq!(place.recorded_systems(), ["null"]);
    place.await_clean();
}

#[test]
fn an_attached_server_that_goes_away_is_given_up() {
    let Some(mut redis) = Redis::start("") else { return };
    let place = Place::new();
    let mut running = place.start(&format!(
        "run ycsb/c -s null,{} --records 1000 --warmup 0 --operations 1000000 --repeats 1 \
         --timeout 1s",
        redis.system()
    ));
    running.await_that("reads", |_| calls(redis.port(), "hgetall") > 200);
    redis.kill();
    let finished = running.wait();
    assert_eq!(finished.code, Some(1), "{finished}");
    finished.says(&["redis on ycsb/c", "Connection refused", "the results so far are kept"]);
    assert_eq!(place.recorded_systems(), ["null"]);
    place.await_clean();
}

#[test]
fn a_killed_warden_takes_its_server_along_and_fails_the_trial() {
    if !installed("redis") {
        return;
    }
    let place = Place::new();
    let mut running = redis_at(&place, MEASURING.0, &format!("{} {SMALL_RECORDS}", MEASURING.1));
    let (server, warden) = running.await_server("redis-server");
    kill(warden, Signal::KILL);
    let finished = running.wait();
    assert_eq!(finished.code, Some(1), "{finished}");
    finished.says(&["redis on ycsb with 2 clients", "warden"]);
    await_that("the server gone", || !is_running(server));
    // Its folder, which nobody was left to remove, goes with the next run's first.
    assert_eq!(place.leftovers().len(), 1);
    place.succeeds("run ycsb/c -s memory --records 10 --operations 10 --repeats 1 --results next");
    assert_eq!(place.recorded_systems(), ["null"]);
}
