//! What it costs to prepare an operation: nanoseconds an operation for workloads A to F and
//! growing tables. Run it with `cargo run --release -p assay-workload --example stream_cost`.

use std::{hint::black_box, time::Instant};

use assay_workload::{Acknowledged, CoreWorkload, Prepared, Stream, ValuePool};

const OPERATIONS: u64 = 200_000;
const ROUNDS: usize = 40;

fn main() {
    println!("{:<10}{:>12}{:>10}{:>16}", "workload", "records", "clients", "ns/operation");
    let letters = std::env::args().nth(1).unwrap_or_else(|| "cabdef".to_owned());
    for letter in letters.chars() {
        for records in [1_000, 100_000, 10_000_000, 100_000_000] {
            show(letter, records, 1);
        }
    }
    for letter in ['a', 'd'] {
        for clients in [16, 256] {
            show(letter, 1_000_000, clients);
        }
    }
}

/// Prepares the operations that the first of `clients` clients gets, and prints the cost of the
/// round that was disturbed the least.
fn show(letter: char, record_count: u64, clients: usize) {
    let preset = CoreWorkload::ycsb(letter).unwrap_or_default();
    let workload = CoreWorkload { record_count, ..preset };
    let pool = ValuePool::of(&workload, 1);
    let acknowledged = Acknowledged::new(workload.first_inserted_key());
    let mut stream = Stream::new(&workload, &pool, &acknowledged, 1);
    let mut prepared = Prepared::new();
    let least = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            for n in (0..OPERATIONS * clients as u64).step_by(clients) {
                stream.prepare(n, &mut prepared);
                black_box(&prepared);
            }
            start.elapsed().as_secs_f64() * 1e9 / OPERATIONS as f64
        })
        .fold(f64::INFINITY, f64::min);
    println!("{letter:<10}{record_count:>12}{clients:>10}{least:>16.1}");
}
