//! Memcached over loopback TCP: the client's CPU an operation. No registry has a peer;
//! `memtier_benchmark` joins when it is on PATH.

use std::time::Duration;

use anyhow::{Context, bail};
use assay_model::Address;

use crate::{
    peers,
    redis::compare,
    stand::{Measured, ROUNDS, Stand, Store},
    table::{self, Promise, heading},
};

const RECORDS: u64 = 100_000;
const TIME: Duration = Duration::from_secs(3);
const MOST_CPU_US: f64 = 8.0;

/// Prints the figures.
pub fn run(stand: &Stand) -> anyhow::Result<()> {
    heading("Memcached, records of ten 100-byte fields, loopback TCP");
    let store = stand.open(stand.cell(&format!(
        "systems = [\"memcached\"]\nrecords = {RECORDS}\nworkloads = [\"ycsb/c\"]"
    ))?)?;
    let read = store.workload().clone();
    let mut mixed = read.clone();
    (mixed.read_proportion, mixed.update_proportion) = (0.5, 0.5);
    // As YCSB's own binding does: one `set` of the whole record.
    mixed.write_all_fields = true;
    let memtier = peers::on_path("memtier_benchmark");
    for clients in [4, 16] {
        for (name, workload) in [("reads", &read), ("half updates of all fields", &mixed)] {
            let measure = || store.measure(workload, clients, TIME);
            let (ours, theirs) = match (&memtier, name) {
                (Some(program), "reads") => peers::in_turns(measure, || {
                    memtier_benchmark(program.as_os_str(), &store, clients)
                })?,
                _ => ((0..ROUNDS).map(|_| measure()).collect::<Result<_, _>>()?, Vec::new()),
            };
            let cpu_us: Vec<f64> = ours.iter().map(|m| m.cpu_ns_per_op / 1000.0).collect();
            let rates: Vec<f64> = ours.iter().map(|m| m.ops_per_s).collect();
            table::figure(
                &format!("{clients} clients, {name} ({:.0}/s)", table::median(&rates)),
                &cpu_us,
                "µs client CPU/op",
                Promise::AtMost(MOST_CPU_US),
            );
            if !theirs.is_empty() {
                compare(
                    &format!("{clients} clients, {name}"),
                    &ours,
                    &theirs,
                    "memtier_benchmark",
                    0.95,
                    1.15,
                );
            }
        }
    }
    Ok(())
}

fn memtier_benchmark(
    program: &std::ffi::OsStr,
    store: &Store<'_>,
    clients: u32,
) -> anyhow::Result<Measured> {
    const REQUESTS_PER_CLIENT: u64 = 20_000;
    let Address::Tcp { host, port } = &store.endpoint()?.address else {
        bail!("the server was to listen on TCP");
    };
    let arguments = [
        "--server",
        host,
        "--port",
        &port.to_string(),
        "--protocol",
        "memcache_text",
        "--threads",
        "1",
        "--clients",
        &clients.to_string(),
        "--requests",
        &REQUESTS_PER_CLIENT.to_string(),
        "--ratio",
        "1:10",
        "--data-size",
        "1000",
        "--key-maximum",
        &RECORDS.to_string(),
        "--hide-histogram",
    ]
    .map(str::to_owned);
    let finished = peers::run(program, &arguments, store.client_core())?;
    let rate = finished
        .output
        .lines()
        .find(|line| line.starts_with("Totals"))
        .and_then(|line| line.split_whitespace().nth(1)?.parse().ok())
        .with_context(|| format!("memtier_benchmark printed no totals:\n{}", finished.output))?;
    Ok(finished.measured(rate, (REQUESTS_PER_CLIENT * u64::from(clients)) as f64))
}
