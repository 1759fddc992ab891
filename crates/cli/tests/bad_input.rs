//! What is wrong with what was asked, or with the machine: a message with the next step, an exit
//! status, the results so far, and nothing left.

use std::{fs, net::TcpListener, process::Command, thread};

use crate::common::{Place, Redis, free_port, installed, readable};

const TINY: &str = "--records 100 --operations 100 --repeats 1 --clients 1";

#[test]
fn a_malformed_experiment_names_line_and_column() {
    let place = Place::new();
    for (text, named) in [
        ("clients = ", "line 1, column 11"),
        ("seed = 1\nclinets = 3", "unknown field `clinets`, did you mean `clients`?"),
        ("systems = [{ name = \"redis\", layuot = \"hash\" }]", "layuot"),
        ("workloads = [{ name = \"x\", bass = \"ycsb/a\" }]", "`bass`, did you mean `base`?"),
        (
            "workloads = [{ name = \"x\", with = { field_cuont = 1 } }]",
            "`field_cuont`, did you mean `field_count`?",
        ),
        ("workloads = [{ name = \"x\", with = { read_proportion = -1.0 } }]", "read_proportion"),
        ("clients = -1", "clients"),
        ("duration = \"fast\"", "2s"),
        ("repeats = \"often\"", "repeats"),
        ("operations = 5\nduration = \"1s\"", "not both"),
    ] {
        place.file("exp.toml", text);
        let finished = place.refuses("run exp.toml", &[named]);
        let said = finished.stderr.matches("TOML parse error").count();
        assert!(said <= 1, "said once\n{finished}");
    }
    let malformed = place.file("exp.toml", "clients = ");
    place.refuses(
        "run exp.toml",
        &[&malformed.file_name().unwrap().to_string_lossy(), "assay schema"],
    );
    place.refuses("run gone.toml", &["gone.toml", "No such file"]);
    place.refuses("run ycsb/g", &["ycsb/g", "did you mean 'ycsb/"]);
    fs::write(place.path().join("exp.toml"), [0xff, 0xfe, 0x00]).unwrap();
    place.refuses("run exp.toml", &["exp.toml"]);
    assert!(!place.path().join("assay-results").exists(), "nothing ran");
}

#[test]
fn what_is_unknown_is_named_with_the_nearest_known() {
    let place = Place::new();
    for (words, named) in [
        ("-s reddis", ["'reddis'", "'redis'"]),
        ("-s postgres:jsonc", ["'jsonc'", "jsonb"]),
        ("-s memory,memory", ["'memory'", "memory@a"]),
        ("-s memory=redis://localhost", ["memory", "URL"]),
        ("-s memory+speed=2", ["'speed'", "slowdown"]),
        ("-s redis=localhost:6379", ["'redis=", "redis://"]),
        ("-s redis=redis://", ["redis://", "host"]),
        ("-w ycsb/q", ["'ycsb/q'", "ycsb/a"]),
        ("-s memory --durability synced", ["'synced'", "none"]),
    ] {
        place.refuses(&format!("run {words}"), &named);
    }
    for (words, named) in [
        ("--durability eternal", "eternal"),
        ("--records many", "1_000_000 or 1e6"),
        ("--records 1e99", "1e6"),
        ("--clients 1,,2", "1,16"),
        ("--rate fast", "1e6"),
        ("--clients -1", "-1"),
        ("--operations 5 --duration 1s", "--duration"),
        ("--bananas", "--bananas"),
    ] {
        let finished = place.run(&format!("run {words}"));
        assert_eq!(finished.code, Some(2), "{finished}");
        finished.says(&[named]);
    }
    assert!(!place.path().join("assay-results").exists(), "nothing ran");
}

#[test]
fn numbers_that_measure_nothing_are_refused() {
    let place = Place::new();
    for (words, named) in [
        ("--records 0", ["records", "at least 1"]),
        ("--clients 0", ["clients", "at least 1"]),
        ("--threads 0", ["threads", "at least 1"]),
        ("--timeout 0s", ["timeout", "10s"]),
        ("--repeats 0", ["repeats", "at least 1"]),
        ("--operations 0", ["operations", "measure nothing"]),
        ("--duration 0s", ["duration", "2s"]),
        ("--rate 0", ["rate", "greater than 0"]),
        ("--precision 2", ["precision", "0.02"]),
        ("--arrivals poisson", ["arrivals", "rate"]),
    ] {
        place.refuses(&format!("run -s memory {words}"), &named);
    }
    assert!(!place.path().join("assay-results").exists(), "nothing ran");
    // Inserts alone need no record before them.
    place.succeeds("run ycsb/load -s memory --records 0 --operations 100 --repeats 1");
}

#[test]
fn a_run_of_nothing_that_can_be_done_says_why() {
    let place = Place::new();
    let words = format!("run ycsb/e -s memcached,redis:string {TINY}");
    place.refuses(&words, &["nothing to run", "memcached", "redis:string", "ordered"]);
    assert!(!place.path().join("assay-results").exists(), "nothing ran");
}

#[test]
fn a_missing_server_is_named_with_the_ways_to_get_it() {
    let place = Place::new();
    let mut command = place.assay(&format!("run ycsb/a -s memory,redis {TINY}"));
    command.env("ASSAY_REDIS_BINARY", "/nonexistent/redis-server");
    let finished = place.end(command);
    assert_eq!(finished.code, Some(1), "{finished}");
    finished.says(&["ASSAY_REDIS_BINARY", "/nonexistent/redis-server", "does not exist"]);

    // Valkey is in no distribution's usual folder where it is fetched by Assay.
    let mut command = place.assay(&format!("run ycsb/a -s valkey {TINY}"));
    command.env("PATH", "").env("ASSAY_HOME", place.path().join("home"));
    let finished = place.end(command);
    if finished.code == Some(0) {
        eprintln!("skipped: valkey is in a usual folder and cannot be hidden");
    } else {
        finished.says(&["valkey is not installed", "assay fetch valkey", "ASSAY_VALKEY_BINARY"]);
        assert!(!place.path().join("assay-results").exists(), "nothing ran");
    }
}

#[test]
fn a_missing_library_is_named_with_the_ways_to_get_it() {
    let place = Place::new();
    let mut command = place.assay(&format!("run ycsb/a -s memory,duckdb {TINY}"));
    command.env("ASSAY_HOME", place.path().join("home")).env_remove("ASSAY_DUCKDB_LIBRARY");
    let finished = place.end(command);
    if finished.code == Some(0) {
        eprintln!("skipped: libduckdb is in a usual folder and cannot be hidden");
    } else {
        finished.says(&["duckdb is not installed", "assay fetch duckdb", "ASSAY_DUCKDB_LIBRARY"]);
        assert!(!place.path().join("assay-results").exists(), "nothing ran");
    }
}

#[test]
fn a_library_that_is_cut_short_is_refused_before_anything_runs() {
    let place = Place::new();
    let whole = fs::read(std::env::current_exe().unwrap()).unwrap();
    let short = place.path().join("libduckdb.so");
    // A program of this machine is a shared library to the loader: its half shows that it is one.
    fs::write(&short, &whole[..whole.len() / 2]).unwrap();
    let mut command = place.assay(&format!("run ycsb/a -s memory,duckdb {TINY}"));
    command.env("ASSAY_DUCKDB_LIBRARY", &short);
    let finished = place.end(command);
    assert_eq!(finished.code, Some(1), "{finished}");
    finished.says(&["ASSAY_DUCKDB_LIBRARY names", "libduckdb.so, which is cut short"]);
    assert!(!place.path().join("assay-results").exists(), "nothing ran");
}

#[test]
fn a_program_that_is_not_the_server_is_not_taken_for_it() {
    let place = Place::new();
    let mut command = place.assay(&format!("run ycsb/a -s redis {TINY}"));
    command.env("ASSAY_REDIS_BINARY", "/bin/ls");
    let finished = place.end(command);
    assert_eq!(finished.code, Some(1), "{finished}");
    finished.says(&["/bin/ls", "Redis", "ASSAY_REDIS_BINARY"]);
}

#[test]
fn a_port_in_use_takes_out_its_system_only() {
    if !installed("redis") {
        return;
    }
    let place = Place::new();
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let words = format!("run ycsb/a -s memory,redis+port={port},sqlite {TINY}");
    let named = ["redis", &port.to_string(), "already in use", "leave the setting 'port' out"];
    let finished = place.fails(&words, &named);
    assert_eq!(finished.stderr.matches("already in use").count(), 1, "said once\n{finished}");
    assert_eq!(place.recorded_systems(), ["memory", "sqlite"]);
    assert_eq!(place.status(), "finished");
    let quiet = place.fails(&format!("{words} --quiet --results quiet"), &named);
    assert_eq!(quiet.stderr.matches("already in use").count(), 1, "said once\n{quiet}");
}

#[test]
fn a_setting_that_the_server_refuses_comes_with_its_own_words() {
    if !installed("redis") {
        return;
    }
    let place = Place::new();
    let words = format!("run ycsb/a -s memory,redis+bananas=3 {TINY}");
    let failed = place.fails(&words, &["redis", "bananas"]);
    // In those of Redis 7, or of Redis 8.
    let own = ["Bad directive", "Unresolved Configuration"];
    assert!(own.iter().any(|words| failed.stderr.contains(words)), "{failed}");
    assert_eq!(place.recorded_systems(), ["memory"]);
    // What Assay itself decides is not open to change, and that is said before anything starts.
    place.refuses(
        &format!("run ycsb/a -s redis+appendonly=yes {TINY} --results o"),
        &["appendonly"],
    );
}

#[test]
fn a_server_that_refuses_is_an_error_and_no_result() {
    let place = Place::new();
    let closed = free_port();
    place.fails(
        &format!("run ycsb/a -s memory,redis=redis://127.0.0.1:{closed}/0 {TINY}"),
        &["redis", &closed.to_string(), "Connection refused"],
    );
    assert_eq!(place.recorded_systems(), ["memory"]);
    // Somebody who hangs up.
    let other = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = other.local_addr().unwrap().port();
    thread::spawn(move || while other.accept().is_ok() {});
    let url = format!("redis=redis://127.0.0.1:{port}/0");
    place.fails(
        &format!("run ycsb/a -s {url} {TINY} --results hung-up"),
        &["redis on ycsb/a with 1 client", "did not answer a PING"],
    );
    let Some(redis) = Redis::start("letmein") else { return };
    let wrong = redis.system().replace("letmein", "letmeout");
    let finished = place
        .fails(&format!("run ycsb/a -s {wrong} {TINY} --results wrong"), &["refused the login"]);
    assert!(!finished.stderr.contains("letmeout"), "{finished}");
    let none = format!("redis=redis://127.0.0.1:{}/0", redis.port());
    place.fails(&format!("run ycsb/a -s {none} {TINY} --results none"), &["redis", "NOAUTH"]);
}

#[test]
fn results_that_cannot_be_written_stop_the_run_before_it_starts() {
    let place = Place::new();
    let file = place.file("taken", "");
    for folder in ["taken", "taken/below", "/proc/assay-results"] {
        let named = ["cannot create", folder, "--results"];
        let finished =
            place.fails(&format!("run ycsb/a -s memory {TINY} --results {folder}"), &named);
        assert_eq!(finished.stdout, "", "{finished}");
        assert_eq!(finished.stderr.matches("(os error").count(), 1, "said once\n{finished}");
    }
    assert_eq!(fs::read(file).unwrap(), b"");
}

#[test]
fn a_data_folder_that_cannot_be_used_is_named_with_the_option() {
    let place = Place::new();
    place.file("taken", "");
    for folder in ["taken", "/nonexistent/folder"] {
        let words = format!("run ycsb/a -s sqlite {TINY} --data-folder {folder}");
        place.refuses(&words, &[folder, "--data-folder"]);
    }
    let words = format!("run ycsb/a -s sqlite {TINY} --data-folder /proc");
    place.fails(&words, &["/proc", "choose another"]);
}

#[test]
fn more_clients_than_file_descriptors_name_the_limit() {
    let place = Place::new();
    let binary = env!("CARGO_BIN_EXE_assay");
    for system in ["sqlite", "redis"] {
        if !installed(system) {
            continue;
        }
        let results = format!("results-{system}");
        let words = format!(
            "run ycsb/a -s null,{system} --clients 2,100 --records 100 --operations 100 \
             --repeats 1 --results {results}"
        );
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("ulimit -n 64; exec {binary} {words}")])
            .current_dir(place.path())
            .env("TMPDIR", place.data());
        let finished = place.end(command);
        assert_eq!(finished.code, Some(1), "{finished}");
        finished.says(&[
            &format!("{system} on ycsb/a with 100 clients"),
            "100 clients need as many file descriptors",
            "64",
            "--clients",
            "ulimit -n",
        ]);
        // With two clients it works, and that is kept.
        let shown = place.succeeds(&format!("show {results}/latest"));
        assert!(shown.stdout.contains("2 clients") && shown.stdout.contains(system), "{shown}");
    }
}

#[test]
fn settings_that_assay_decides_are_refused_before_anything_is_made() {
    let place = Place::new();
    for (system, named) in [
        ("redis+save=1", ["redis: setting 'save'", ""]),
        ("postgres+fsync=off", ["postgres: setting 'fsync'", "durability"]),
        ("valkey+port=x", ["valkey: setting 'port'", "65535"]),
        ("redis+a%b=1", ["redis: setting 'a%b'", "is no name"]),
        ("redis+maxmemory=1=redis://h", ["redis: setting 'maxmemory'", "runs already"]),
    ] {
        for command in ["plan", "run"] {
            place.refuses(&format!("{command} ycsb/a -s {system} {TINY}"), &named);
        }
    }
    assert!(!place.path().join("assay-results").exists(), "no folder was made");
    // Settings of the driver are for a server that runs already, too.
    place.succeeds(&format!("plan ycsb/a -s postgres:jsonb+key=document=postgres://h:1/d {TINY}"));
    // The name of a setting that only the server knows is the server's to refuse.
    place.succeeds(&format!("plan ycsb/a -s redis+maxclients=100 {TINY}"));
}

#[test]
fn numbers_may_be_written_short() {
    let place = Place::new();
    let words = "plan ycsb/c -s memory --records 1e6 --clients 1,1_000 --operations 2.5e3 --json";
    let finished = place.succeeds(words);
    let plan = readable(finished.stdout.as_bytes());
    assert_eq!(plan["cells"][0]["parameters"]["record_count"], 1_000_000);
    assert_eq!(plan["cells"][0]["measure"], 2500);
    assert_eq!(plan["cells"][1]["clients"], 1000);
}
