//! Lookups by two threads, each in indexlets of its own, to those of one thread.

use std::{
    sync::{
        Barrier,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use assay_runner::placement;
use slik::{Error, Table};

use super::{
    Setting,
    entrant::Probe,
    objects::{INDEX, Key, digest, primary, secondary, shuffled, value},
    peers::{Contender, Ours, ours},
    turns,
};
use crate::table::{Promise, heading, median};

const LEAST: f64 = 1.8;
const PIECE: Duration = Duration::from_millis(60);
/// Lookups between two looks at whether the piece is over.
const BATCH: usize = 64;

/// Prints the figures.
pub fn run(setting: &Setting) -> anyhow::Result<()> {
    heading(&format!("Two threads' lookups to one's, {} objects", setting.objects));
    let mut slik = Ours::new(&[INDEX])?;
    slik.load(setting.objects)?;
    let [lower, upper] = halves(setting.objects)?;
    // The halves meet where two indexlets do.
    let middle = upper.iter().map(|probe| probe.secondary).min().context("there are objects")?;
    match slik.table().split_indexlet(INDEX, Some(&middle)) {
        Ok(()) | Err(Error::NothingToSplit { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let cores = placement::allowed();
    ensure!(cores.len() >= 2, "two threads need two cores; allowed are {cores:?}");
    let indexlets = slik.table().stats().indexes.iter().map(|index| index.indexlets).sum::<usize>();
    println!("{indexlets} indexlets; each thread on a core of its own, in one half of the keys");

    let (mut one, mut two) = (Vec::new(), Vec::new());
    for round in 0..2 * setting.rounds {
        let alone = [&lower, &upper][round % 2];
        if round % 2 == 0 {
            one.push(rate(slik.table(), &[alone], &cores, round)?);
        }
        two.push(rate(slik.table(), &[&lower, &upper], &cores, round)?);
        if round % 2 == 1 {
            one.push(rate(slik.table(), &[alone], &cores, round)?);
        }
    }
    println!("{:<44} {:>8.2} M/s", "one thread", median(&one) / 1e6);
    println!("{:<44} {:>8.2} M/s", "two threads", median(&two) / 1e6);
    turns::line("two to one", &turns::ratios(&two, &one), Some(Promise::AtLeast(LEAST)));
    Ok(())
}

/// The probes of the lower and of the upper half of the secondary keys, each shuffled.
fn halves(objects: u32) -> anyhow::Result<[Vec<Probe>; 2]> {
    ensure!(objects >= 2, "two threads need two objects at least");
    let mut keys: Vec<Key> = (0..objects).map(|number| secondary(INDEX, number, 0)).collect();
    let (_, middle, _) = keys.select_nth_unstable(objects as usize / 2);
    let middle = *middle;
    let probes = shuffled(objects).into_iter().map(|number| Probe {
        secondary: secondary(INDEX, number, 0),
        digest: digest(&primary(number), &value(number, 0)),
    });
    let (lower, upper) = probes.partition(|probe| probe.secondary < middle);
    Ok([lower, upper])
}

/// Lookups a second of one thread for each list of probes, all together. Each round begins
/// elsewhere in its list.
fn rate(
    table: &Table,
    lists: &[&Vec<Probe>],
    cores: &[usize],
    round: usize,
) -> anyhow::Result<f64> {
    let (ready, over) = (Barrier::new(lists.len() + 1), AtomicBool::new(false));
    let look_up = |at: usize, probes: &[Probe]| -> anyhow::Result<f64> {
        // A thread alone takes the cores in turns, in case one of them is slower.
        placement::pin(cores[(round + at) % 2]);
        let start = round * probes.len() / 7 % probes.len();
        let mut next = probes.iter().cycle().skip(start);
        let (mut done, mut wrong) = (0, 0);
        ready.wait();
        let began = Instant::now();
        while !over.load(Ordering::Relaxed) {
            for probe in next.by_ref().take(BATCH) {
                wrong += usize::from(ours::lookup(table, &probe.secondary)? != Some(probe.digest));
            }
            done += BATCH;
        }
        let spent = began.elapsed();
        ensure!(wrong == 0, "{wrong} of {done} lookups were answered wrongly");
        Ok(done as f64 / spent.as_secs_f64())
    };
    thread::scope(|scope| {
        let look_up = &look_up;
        let lists = lists.iter().enumerate();
        let threads: Vec<_> =
            lists.map(|(at, list)| scope.spawn(move || look_up(at, list))).collect();
        ready.wait();
        thread::sleep(PIECE);
        over.store(true, Ordering::Relaxed);
        threads.into_iter().map(|thread| thread.join().expect("a lookup does not panic")).sum()
    })
}
