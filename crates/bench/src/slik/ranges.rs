//! Lookups of ranges of one to a thousand objects, of 1,000 (all of which caches hold, as in the
//! study) and of many, beside the maps of the standard library.

use std::{hash::RandomState, hint::black_box, time::Instant};

use anyhow::ensure;
use assay_measure::huge_pages;

use super::{
    Setting,
    objects::{INDEX, Key, Random, digest, primary, secondary, value},
    peers::{Contender, Maps, Ours, ours},
    turns::{self, Piece},
};
use crate::table::{heading, median};

/// The smaller table, and the longest range.
const FEW: u32 = 1000;

/// A range to be looked up, and what must come.
struct Probe {
    from: Key,
    to: Key,
    objects: usize,
    sum: u64,
}

/// Prints the figures.
pub fn run(setting: &Setting) -> anyhow::Result<()> {
    of_table(FEW, setting.rounds)?;
    of_table(setting.objects.max(FEW), setting.rounds)
}

fn of_table(objects: u32, rounds: usize) -> anyhow::Result<()> {
    heading(&format!("Lookup of ranges of {objects} objects, ns an object"));
    let mut slik = Ours::new(&[INDEX])?;
    slik.load(objects)?;
    let mut maps = Maps::<RandomState>::default();
    maps.load(objects)?;
    huge_pages::collapse();
    let sorted = Sorted::new(objects);
    println!("{:>8} {:>8} {:>20}  times as long as slik", "range", "slik", "BTreeMap + HashMap");
    let lengths = (0..10).map(|exponent| 1 << exponent).chain([FEW as usize]);
    for length in lengths {
        let costs = turns::take(rounds, 2, |contender, piece| {
            let probes = sorted.probes(length, piece);
            if contender == 0 {
                time(piece, &probes, |probe| ours::range(slik.table(), &probe.from, &probe.to))
            } else {
                time(piece, &probes, |probe| maps.range(&probe.from, &probe.to))
            }
        })?;
        let each = |costs: &[f64]| median(costs) / length as f64;
        println!(
            "{length:>8} {:>8.1} {:>20.1}  {}",
            each(&costs[0]),
            each(&costs[1]),
            turns::spread(&turns::ratios(&costs[1], &costs[0]))
        );
    }
    Ok(())
}

/// Nanoseconds a lookup.
fn time(
    piece: Piece,
    probes: &[Probe],
    mut range: impl FnMut(&Probe) -> anyhow::Result<(usize, u64)>,
) -> anyhow::Result<f64> {
    let mut run = |probes: &[Probe]| -> anyhow::Result<usize> {
        let (mut wrong, mut at) = (0, 0);
        while let Some(probe) = probes.get(at) {
            let (objects, sum) = range(probe)?;
            let differs = ((objects ^ probe.objects) as u64 | (sum ^ probe.sum)).min(1) as usize;
            wrong += differs;
            // As with point lookups, the next one begins when this one has ended.
            at += black_box(1 + differs);
        }
        Ok(wrong)
    };
    let (warm, timed) = probes.split_at(piece.warm_up);
    let warm_wrong = run(warm)?;
    let began = Instant::now();
    let wrong = black_box(run(black_box(timed))?);
    let spent = began.elapsed();
    ensure!(warm_wrong + wrong == 0, "{} ranges were answered wrongly", warm_wrong + wrong);
    Ok(spent.as_secs_f64() * 1e9 / timed.len() as f64)
}

/// The secondary keys in order, and before each the sum of the digests so far.
struct Sorted {
    keys: Vec<Key>,
    sums: Vec<u64>,
}

impl Sorted {
    fn new(objects: u32) -> Sorted {
        let mut objects: Vec<(Key, u64)> = (0..objects)
            .map(|number| {
                (secondary(INDEX, number, 0), digest(&primary(number), &value(number, 0)))
            })
            .collect();
        objects.sort_unstable();
        let mut sums = vec![0u64];
        for (_, digest) in &objects {
            sums.push(sums[sums.len() - 1].wrapping_add(*digest));
        }
        Sorted { keys: objects.into_iter().map(|(key, _)| key).collect(), sums }
    }

    fn probes(&self, length: usize, piece: Piece) -> Vec<Probe> {
        let mut random = Random::new(piece.first as u64);
        (0..piece.warm_up + piece.timed)
            .map(|_| {
                let first = random.below(self.keys.len() - length + 1);
                let end = first + length;
                Probe {
                    from: self.keys[first],
                    to: self.keys[end - 1],
                    objects: length,
                    sum: self.sums[end].wrapping_sub(self.sums[first]),
                }
            })
            .collect()
    }
}
