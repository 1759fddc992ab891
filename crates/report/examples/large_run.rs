//! Makes a run folder of 1,000 trials of 60 seconds each, to see how long its report takes:
//! `cargo run --release -p assay-report --example large_run -- FOLDER`, then `assay report` on what it
//! prints. The figures are made up.

use std::{collections::BTreeMap, env, path::Path, process::ExitCode};

use assay_results::{
    Answers, DataBytes, DurabilitySetting, Interval, LatencySummary, Machine, OperationKind,
    PhaseSeconds, Placement, ResourceUse, ResultsError, RunFolder, RunHeader, RunStatus,
    SeriesPoint, TrialRecord,
};
use serde_json::json;

/// Label, driver and throughput of one client.
const SYSTEMS: [(&str, &str, f64); 5] = [
    ("redis", "redis", 21_000.0),
    ("valkey", "valkey", 22_000.0),
    ("memcached", "memcached", 19_000.0),
    ("postgres:row", "postgres", 5_200.0),
    ("postgres:jsonb", "postgres", 4_700.0),
];
const WORKLOADS: [&str; 4] = ["ycsb/a", "ycsb/b", "ycsb/c", "ycsb/f"];
const CLIENTS: [u32; 5] = [1, 2, 4, 8, 16];
const REPEATS: u32 = 10;
const SECONDS: u32 = 60;

fn main() -> ExitCode {
    let Some(folder) = env::args().nth(1) else {
        eprintln!("usage: large_run FOLDER");
        return ExitCode::FAILURE;
    };
    match make(Path::new(&folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn make(parent: &Path) -> Result<(), ResultsError> {
    let command = ["assay", "run", "-s", "all"].map(str::to_owned).to_vec();
    let header = RunHeader::starting(command, json!({"title": "A large run"}));
    let mut folder = RunFolder::create(parent, header)?;
    let mut number = 0;
    for repeat in 1..=REPEATS {
        for workload in WORKLOADS {
            for clients in CLIENTS {
                for (label, driver, rate) in SYSTEMS {
                    number += 1;
                    let load = Load { label, driver, workload, clients, repeat };
                    folder.write_trial(&trial(number, &load, rate), None)?;
                }
            }
        }
    }
    folder.finish(RunStatus::Finished)?;
    println!("{}", folder.path().display());
    Ok(())
}

struct Load {
    label: &'static str,
    driver: &'static str,
    workload: &'static str,
    clients: u32,
    repeat: u32,
}

fn trial(number: u32, load: &Load, rate: f64) -> TrialRecord {
    let scaled = rate * f64::from(load.clients).powf(0.6) * (0.97 + 0.06 * noise(number, 0));
    let p50 = 1e9 * f64::from(load.clients) / scaled;
    let latency = |factor: f64| LatencySummary {
        min: (p50 * 0.5 * factor) as u64,
        p50: (p50 * factor) as u64,
        p95: (p50 * 1.7 * factor) as u64,
        p99: (p50 * (2.6 + noise(number, 1)) * factor) as u64,
        p999: (p50 * (7.0 + noise(number, 2)) * factor) as u64,
        p9999: (p50 * (19.0 + 9.0 * noise(number, 3)) * factor) as u64,
        max: (p50 * 90.0 * factor) as u64,
        mean: p50 * 1.1 * factor,
        count: (scaled * f64::from(SECONDS) / 2.0) as u64,
    };
    let kinds: &[OperationKind] = match load.workload {
        "ycsb/a" | "ycsb/b" => &[OperationKind::Read, OperationKind::Update],
        "ycsb/f" => &[OperationKind::Read, OperationKind::ReadModifyWrite],
        _ => &[OperationKind::Read],
    };
    let series: Vec<SeriesPoint> =
        (0..SECONDS).map(|second| second_of(number, second, scaled, p50)).collect();
    let usage = ResourceUse {
        cpu_ns: 55_000_000_000,
        rss_bytes: 187_000_000,
        rss_peak_bytes: 191_000_000,
        voluntary_switches: 40_000,
        ..ResourceUse::default()
    };
    TrialRecord {
        trial: number,
        repeat: load.repeat,
        system: load.label.into(),
        driver: load.driver.into(),
        layout: load.label.split(':').nth(1).unwrap_or("hash").into(),
        system_version: format!("{} 7.2", load.driver),
        settings: settings(load.driver),
        durability: DurabilitySetting { setting: "memory only".into(), ..Default::default() },
        workload: load.workload.into(),
        workload_parameters: json!({"field_count": 10, "record_count": 100_000}),
        clients: load.clients,
        threads: 1,
        placement: Placement { policy: "split".into(), client_cpus: vec![1], server_cpus: vec![0] },
        records: 100_000,
        operations: series.iter().map(|point| point.operations).sum(),
        seed: 42 + u64::from(load.repeat),
        phases: PhaseSeconds {
            start: 0.3,
            load: 2.5,
            settle: 0.1,
            warm_up: 5.0,
            measure: f64::from(SECONDS),
            cool_down: 0.05,
            check: 0.4,
        },
        turns: 1,
        throughput_ops_per_s: Interval {
            median: scaled,
            low: Some(scaled * 0.98),
            high: Some(scaled * 1.02),
        },
        latency_ns: kinds.iter().zip([1.0, 1.2]).map(|(kind, f)| (*kind, latency(f))).collect(),
        client_cpu_ns_per_op: Some(7_100.0 + 300.0 * noise(number, 4)),
        server_cpu_ns_per_op: Some(6_200.0 + 300.0 * noise(number, 5)),
        server_rss_bytes: Some(187_000_000),
        client: usage,
        server: Some(usage),
        data_bytes_per_record: DataBytes { disk: None, memory: Some(1_240.0) },
        series,
        answers: Answers {
            sample_checksum: Some(format!("{:016x}", load.repeat)),
            record_count: Some(100_000),
            expected_count: Some(100_000),
            ..Answers::default()
        },
        machine: Machine::detect(),
        assay_version: env!("CARGO_PKG_VERSION").into(),
        ..TrialRecord::default()
    }
}

fn second_of(trial: u32, second: u32, rate: f64, p50: f64) -> SeriesPoint {
    let here = noise(trial, 100 + second);
    let operations = (rate * (0.95 + 0.1 * here)) as u64;
    SeriesPoint {
        t_s: f64::from(second),
        operations,
        p50_ns: Some((p50 * (0.98 + 0.04 * here)) as u64),
        p99_ns: Some((p50 * (2.4 + here)) as u64),
        errors: 0,
        client_cpu_ns: Some(operations * 7_100),
        server_cpu_ns: Some(operations * 6_200),
        client_rss_bytes: Some(31_000_000 + (here * 4096.0) as u64 * 4096),
        server_rss_bytes: Some(187_000_000 + (here * 4096.0) as u64 * 4096),
        client_switches: Some(operations / 3),
        server_switches: Some(operations / 4),
        server_read_bytes: Some(0),
        server_written_bytes: Some((here * 1e6) as u64),
    }
}

fn settings(driver: &str) -> BTreeMap<String, String> {
    (0..20).map(|n| (format!("{driver}-setting-{n}"), format!("{}kB", n * 1024))).collect()
}

/// Between 0 and 1, the same for the same place.
fn noise(trial: u32, place: u32) -> f64 {
    let mixed = (u64::from(trial) << 32 | u64::from(place)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (mixed >> 40) as f64 / f64::from(1u32 << 24)
}
