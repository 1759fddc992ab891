//! Redis over loopback TCP, 1 KB values, against `redis-benchmark` on the same server.

use std::time::Duration;

use anyhow::{Context, bail};
use assay_model::Address;

use crate::{
    peers,
    stand::{Measured, Stand, Store},
    table::{self, Promise, heading},
};

const RECORDS: u64 = 100_000;
const TIME: Duration = Duration::from_secs(3);

/// Prints the ratios.
pub fn run(stand: &Stand) -> anyhow::Result<()> {
    heading("Redis, one string of 1 KB a record, loopback TCP, client and server on a core each");
    let Some(benchmark) = peers::on_path("redis-benchmark") else {
        bail!("redis-benchmark is not on PATH: install redis-tools");
    };
    let store = stand.open(stand.cell(&format!(
        "systems = [\"redis:string\"]\nrecords = {RECORDS}\n\
         workloads = [{{ name = \"get\", base = \"ycsb/c\", with = {{ field_count = 1, \
         field_length = {{ distribution = \"constant\", bytes = 1000 }}, \
         request_distribution = {{ distribution = \"uniform\" }} }} }}]"
    ))?)?;
    let get = store.workload().clone();
    let mut set = get.clone();
    (set.read_proportion, set.update_proportion) = (0.0, 1.0);
    for clients in [4, 16] {
        for (command, workload) in [("set", &set), ("get", &get)] {
            let (ours, theirs) = peers::in_turns(
                || store.measure(workload, clients, TIME),
                || redis_benchmark(benchmark.as_os_str(), &store, command, clients),
            )?;
            let name = format!("{} {clients} clients", command.to_uppercase());
            compare(&name, &ours, &theirs, "redis-benchmark", 0.95, 1.15);
        }
    }
    Ok(())
}

/// Prints throughput and client CPU as ratios to the peer's.
pub fn compare(
    name: &str,
    ours: &[Measured],
    theirs: &[Measured],
    peer: &str,
    least_throughput: f64,
    most_cpu: f64,
) {
    let of = |values: &[Measured], of: fn(&Measured) -> f64| -> Vec<f64> {
        values.iter().map(of).collect()
    };
    table::ratio(
        &format!("{name}, ops/s, to {peer}"),
        &of(ours, |m| m.ops_per_s),
        &of(theirs, |m| m.ops_per_s),
        Promise::AtLeast(least_throughput),
    );
    table::ratio(
        &format!("{name}, client CPU ns/op"),
        &of(ours, |m| m.cpu_ns_per_op),
        &of(theirs, |m| m.cpu_ns_per_op),
        Promise::AtMost(most_cpu),
    );
}

fn redis_benchmark(
    program: &std::ffi::OsStr,
    store: &Store<'_>,
    command: &str,
    clients: u32,
) -> anyhow::Result<Measured> {
    const REQUESTS: u64 = 300_000;
    let Address::Tcp { host, port } = &store.endpoint()?.address else {
        bail!("the server was to listen on TCP");
    };
    let arguments = [
        "-h",
        host,
        "-p",
        &port.to_string(),
        "-c",
        &clients.to_string(),
        "-n",
        &REQUESTS.to_string(),
        "-d",
        "1000",
        "-r",
        &RECORDS.to_string(),
        "-t",
        command,
        "--csv",
    ]
    .map(str::to_owned);
    let finished = peers::run(program, &arguments, store.client_core())?;
    let rate = finished
        .output
        .lines()
        .find(|line| line.to_lowercase().starts_with(&format!("\"{command}")))
        .and_then(|line| line.split(',').nth(1)?.trim_matches('"').parse().ok())
        .with_context(|| format!("redis-benchmark printed no rate:\n{}", finished.output))?;
    Ok(finished.measured(rate, REQUESTS as f64))
}
