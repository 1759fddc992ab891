//! The No-DB line: what the harness itself costs, whole and in parts, and how it grows.

use std::{hint::black_box, time::Duration};

use assay_measure::{
    clock::Clock,
    recorder::{Recorder, Times, Window},
};
use assay_model::{OperationKind, Outcome};
use assay_runner::feed::{BLOCK, Feed};
use assay_workload::{Acknowledged, CoreWorkload, Prepared, Stream, ValuePool};

use crate::{
    stand::{ROUNDS, Stand, Store},
    table::{self, Promise, heading, median},
};

const TIME: Duration = Duration::from_millis(1500);
const LEAST_PER_S: f64 = 8e6;

/// Prints the figures.
pub fn run(stand: &Stand) -> anyhow::Result<()> {
    heading("No-DB: workloads A and C with real values, 10⁶ records");
    for letter in ["a", "c"] {
        let store = open(stand, letter, 1_000_000)?;
        let (mut one, mut two) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            one.push(store.measure(store.workload(), 1, TIME)?.ops_per_s);
            two.push(store.measure(store.workload(), 2, TIME)?.ops_per_s);
        }
        let name = letter.to_uppercase();
        let millions: Vec<f64> = one.iter().map(|rate| rate / 1e6).collect();
        table::figure(
            &format!("{name}, one client ({:.0} ns an operation)", 1e9 / median(&one)),
            &millions,
            "M ops/s",
            Promise::AtLeast(LEAST_PER_S / 1e6),
        );
        table::ratio(&format!("{name}, two clients to one"), &two, &one, Promise::AtLeast(1.8));
    }
    growth(stand)?;
    parts();
    Ok(())
}

fn open<'s>(stand: &'s Stand, letter: &str, records: u64) -> anyhow::Result<Store<'s>> {
    stand.open(stand.cell(&format!(
        "systems = [\"null\"]\nworkloads = [\"ycsb/{letter}\"]\nrecords = {records}"
    ))?)
}

fn growth(stand: &Stand) -> anyhow::Result<()> {
    heading("No-DB: cost by key space, one client, ns an operation");
    let sizes: Vec<u64> = (3..=8).map(|exponent| 10u64.pow(exponent)).collect();
    for letter in ["a", "c"] {
        let stores =
            sizes.iter().map(|size| open(stand, letter, *size)).collect::<Result<Vec<_>, _>>()?;
        let mut costs = vec![Vec::new(); sizes.len()];
        for _ in 0..ROUNDS {
            for (store, costs) in stores.iter().zip(&mut costs) {
                costs.push(1e9 / store.measure(store.workload(), 1, TIME / 3)?.ops_per_s);
            }
        }
        let shown: Vec<String> = sizes
            .iter()
            .zip(&costs)
            .map(|(size, costs)| format!("{size}: {:.0}", median(costs)))
            .collect();
        println!("{} {}", letter.to_uppercase(), shown.join(", "));
        let (first, last) = (&costs[0], &costs[costs.len() - 1]);
        table::ratio("  10⁸ records to 10³", last, first, Promise::AtMost(1.3));
    }
    Ok(())
}

/// The cost of each part by itself, in a loop of its own.
fn parts() {
    heading("No-DB: the parts, each alone, ns an operation (10⁶ records)");
    let clock = Clock::start();
    let mut workload = CoreWorkload::ycsb('a').expect("there is a workload A");
    workload.record_count = 1_000_000;
    let pool = ValuePool::of(&workload, 1);
    let acknowledged = Acknowledged::new(workload.first_inserted_key());
    let mut stream = Stream::new(&workload, &pool, &acknowledged, 1);
    let mut prepared = Prepared::new();
    let mut n = 0;
    time("prepare: kind, key, value (A)", &clock, || {
        stream.prepare(n, &mut prepared);
        n += 1;
        black_box(&prepared);
    });

    let feed = Feed::new(0..u64::MAX, BLOCK);
    let mut held = 0..0;
    time("claim an operation number", &clock, || {
        black_box(feed.claim(&mut held));
    });
    time("read the clock, twice", &clock, || {
        black_box(clock.now());
        black_box(clock.now());
    });

    let window = Window { from_ns: clock.now(), until_ns: u64::MAX, before_ns: 0 };
    let mut recorder = Recorder::new(window, &[OperationKind::Read], false);
    let mut started_ns = clock.now();
    time("record", &clock, || {
        let times = Times {
            intended_ns: started_ns,
            started_ns,
            finished_ns: started_ns + 20 + (started_ns & 63),
        };
        started_ns += 110;
        recorder.record(OperationKind::Read, times, black_box(&Outcome::Done));
    });
}

fn time(name: &str, clock: &Clock, mut part: impl FnMut()) {
    const TIMES: u32 = 1_000_000;
    let costs: Vec<f64> = (0..2 * ROUNDS)
        .map(|_| {
            let began_ns = clock.now();
            for _ in 0..TIMES {
                part();
            }
            (clock.now() - began_ns) as f64 / f64::from(TIMES)
        })
        .collect();
    println!("{name:<44} {:>10.1}", median(&costs));
}
