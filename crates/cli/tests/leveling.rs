//! Levelling the ground: all data on a RAM disk, and one size for every product's cache.

use std::{fs, path::PathBuf, process::Stdio};

use assay_measure::file_system;
use serde_json::Value;

use crate::{
    common::{Place, Redis, await_that, installed},
    storage::in_memory,
};

const TINY: &str = "--records 100 --operations 200 --repeats 1 --clients 1";

fn caveats(record: &Value) -> Vec<&str> {
    let caveats = record["caveats"].as_array().unwrap();
    caveats.iter().map(|caveat| caveat["code"].as_str().unwrap()).collect()
}

#[test]
fn data_lie_on_the_ram_disk_and_leave_it_however_assay_ends() {
    let Some(folder) = in_memory() else { return };
    let servers = ["redis", "postgres"].into_iter().filter(|name| installed(name));
    let systems: Vec<&str> = ["sqlite", "slik"].into_iter().chain(servers).collect();
    let run = format!("run ycsb/a -s {} --ram-disk", systems.join(","));
    for (level, is_promised) in [("none", false), ("synced", true)] {
        let place = Place::new();
        place.succeeds(&format!("{run} --durability {level} {TINY}"));
        for record in place.records() {
            assert_eq!(record["settings"]["data_folder_on"], "tmpfs", "{record}");
            assert_eq!(record["plan"]["ram_disk"], true, "{record}");
            assert_eq!(caveats(&record).contains(&"not_on_storage"), is_promised, "{record}");
        }
        let other = Place::new();
        let record: PathBuf = place.record_files().remove(0);
        other.succeeds(&format!("rerun {}", record.display()));
        assert_eq!(other.records()[0]["settings"]["data_folder_on"], "tmpfs", "as the record says");
    }
    let is_empty = || fs::read_dir(folder.path()).unwrap().count() == 0;
    let named = folder.path().display();
    let place = Place::new();
    let words = format!("{run} --data-folder {named} --records 100 --duration 60s --repeats 1");
    let mut command = place.assay(&words);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    await_that("data on the RAM disk", || !is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    await_that("the RAM disk empty", is_empty);
}

#[test]
fn what_is_no_ram_disk_or_has_no_room_is_refused_before_anything_starts() {
    let place = Place::new();
    let run = "run ycsb/a -s sqlite --ram-disk";
    if matches!(file_system::in_memory(place.path()), Ok(None)) {
        place.refuses(&format!("{run} --data-folder . {TINY}"), &["no RAM disk", "mount -t tmpfs"]);
    }
    if in_memory().is_some() {
        let words = format!("{run} --records 1e12 --operations 1");
        place.refuses(&words, &["/dev/shm", "has room for", "fewer records"]);
    }
    let attached = format!("run ycsb/a -s redis=redis://127.0.0.1:1 --ram-disk {TINY}");
    place.refuses(&attached, &["ram_disk", "leave the URL out"]);
    assert!(!place.path().join("assay-results").exists());
}

#[test]
fn one_size_of_cache_is_in_force_in_every_product() {
    // What each says of itself with the cache of 512 MiB.
    let shown = [
        ("sqlite", "cache_size", "-524288"),
        ("postgres", "shared_buffers", "512MB"),
        ("mariadb", "innodb_buffer_pool_size", "536870912"),
        ("redis", "maxmemory", "0"),
        ("duckdb", "memory_limit", "512.0 MiB"),
    ];
    let here: Vec<_> =
        shown.into_iter().filter(|(name, ..)| *name == "sqlite" || installed(name)).collect();
    let names: Vec<&str> = here.iter().map(|(name, ..)| *name).collect();
    let place = Place::new();
    place.succeeds(&format!("run ycsb/a -s {} --cache 512MiB {TINY}", names.join(",")));
    for ((name, setting, value), record) in here.into_iter().zip(place.records()) {
        assert_eq!(record["system"], name);
        let settings = &record["settings"];
        assert_eq!(settings["cache"], "512MiB", "{name}: {settings}");
        let told = settings[setting].as_str().unwrap();
        assert!(told.contains(value), "{name}: {setting} is {told}");
    }
    place.refuses(&format!("run ycsb/a -s sqlite --cache 512MB {TINY}"), &["512MB", "4GiB"]);
    let all = place.succeeds("systems sqlite redis").stdout;
    assert!(all.contains("--cache 1GiB is cache_mib=1024"), "{all}");
    assert!(all.contains("--cache changes nothing"), "{all}");
}

#[test]
fn several_servers_are_attached_by_their_addresses_and_left_empty() {
    const PASSWORD: &str = "letmein-hunter2";
    let (Some(first), Some(second)) = (Redis::start(PASSWORD), Redis::start(PASSWORD)) else {
        return;
    };
    let others = format!("redis-instances+others=127.0.0.1:{}=", second.port());
    let system = first.system().replacen("redis=", &others, 1);
    let place = Place::new();
    place.succeeds(&format!(
        "run ycsb/e -s {system} --records 500 --operations 200 --repeats 1 --verify"
    ));
    let record = &place.records()[0];
    assert_eq!(record["settings"]["instances"], "2", "{record}");
    assert_eq!(
        (&record["answers"]["wrong"], &record["errors"]),
        (&0.into(), &serde_json::json!({}))
    );
    for redis in [&first, &second] {
        assert_eq!(redis.ask(&["DBSIZE"]), "0");
    }
}

#[test]
fn several_servers_give_the_answers_of_one() {
    let several = [("redis", "redis-instances"), ("valkey", "valkey-instances+instances=2")];
    let here = several.into_iter().filter(|(one, _)| installed(one)).map(|(_, system)| system);
    let systems: Vec<&str> = ["memory"].into_iter().chain(here).collect();
    let place = Place::new();
    place.succeeds(&format!(
        "run -w ycsb/a,ycsb/e -s {} --records 1000 --operations 1500 --clients 3 --repeats 1 \
         --verify",
        systems.join(",")
    ));
    let records = place.records();
    assert_eq!(records.len(), 2 * systems.len());
    for record in &records {
        let same = records.iter().find(|other| other["workload"] == record["workload"]).unwrap();
        let sum = |record: &Value| record["answers"]["sample_checksum"].clone();
        assert_eq!(sum(record), sum(same), "{record}");
        assert_eq!(
            (&record["answers"]["wrong"], &record["errors"]),
            (&0.into(), &serde_json::json!({}))
        );
    }
}
