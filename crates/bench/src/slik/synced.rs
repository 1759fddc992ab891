//! Writes that are on disk when they return, by one thread and by sixteen, which can share a sync.
//!
//! A write puts a new object in. What the disk alone allows is measured in the same turns: a file
//! that gets as many bytes as slik logs for one object, or for sixteen, and is then synced.

use std::{
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use tempfile::TempDir;

use super::{
    Setting,
    disk::{Disk, SyncedFile},
    objects::{INDEX, digest, primary, secondary, value},
    on_disk::{KINDS, Kind, OnDisk, Purpose},
    turns,
};
use crate::table::{Promise, heading, median};

/// Writers that share syncs.
const WRITERS: usize = 16;
/// What slik's sixteen must write to its one.
const LEAST: f64 = 8.0;
/// What slik's sixteen must write to the best peer's.
const LEAST_TO_PEER: f64 = 1.0;
/// What slik logs for an object, near enough: keys, value, checksums, the frame of a batch.
const LOGGED_BYTES: usize = 256;
const WARM_UP: Duration = Duration::from_millis(100);
const PIECE: Duration = Duration::from_millis(400);
/// Every how manieth object is looked up in the end.
const LOOKED_AT: usize = 97;

/// Prints the figures.
pub fn run(setting: &Setting, disk: &Disk) -> anyhow::Result<()> {
    heading(&format!("Synced writes a second, one index: 1 writer and {WRITERS}"));
    println!("files are in {}", disk.place().display());
    let kinds = KINDS.iter().filter(|kind| setting.compares(kind.id));
    let mut entrants = kinds.map(|kind| Entrant::new(kind, disk)).collect::<Result<Vec<_>, _>>()?;
    let mut file = SyncedFile::new(disk)?;
    let (mut one, mut many) = (Vec::new(), Vec::new());
    let turns = entrants.len() + 1;
    for round in 0..setting.rounds {
        for turn in 0..turns {
            if let Some(entrant) = entrants.get_mut((round + turn) % turns) {
                entrant.take_turn(round, disk)?;
            } else {
                one.push(file.sync_s(LOGGED_BYTES, PIECE)?);
                many.push(file.sync_s(WRITERS * LOGGED_BYTES, PIECE)?);
            }
        }
    }
    print(&entrants);
    let allowed: Vec<f64> = turns::ratios(&one, &many).iter().map(|r| r * WRITERS as f64).collect();
    println!(
        "A sync alone takes {:.2} ms after {LOGGED_BYTES} bytes, {:.2} ms after {}, which would \
         allow 16 writers {} of what it allows one.",
        median(&one) * 1e3,
        median(&many) * 1e3,
        WRITERS * LOGGED_BYTES,
        turns::spread(&allowed)
    );
    entrants.into_iter().try_for_each(Entrant::check)
}

fn print(entrants: &[Entrant]) {
    println!(
        "{:<10} {:>10} {:>10}  {:<22} {:>21}",
        "", "1 writer", "16 writers", "16 to one", "writes a flush: 1, 16"
    );
    for entrant in entrants {
        let ratios = turns::ratios(&entrant.many.per_s, &entrant.one.per_s);
        println!(
            "{:<10} {:>10.0} {:>10.0}  {:<22} {:>14} {:>6}",
            entrant.kind.name,
            median(&entrant.one.per_s),
            median(&entrant.many.per_s),
            turns::spread(&ratios),
            entrant.one.per_flush(),
            entrant.many.per_flush()
        );
    }
    let Some((slik, peers)) = entrants.split_first() else { return };
    let ratios = turns::ratios(&slik.many.per_s, &slik.one.per_s);
    turns::line("slik: 16 writers to one", &ratios, Some(Promise::AtLeast(LEAST)));
    let rate = |peer: &&Entrant| median(&peer.many.per_s);
    if let Some(best) = peers.iter().max_by(|a, b| rate(a).total_cmp(&rate(b))) {
        let name = format!("16 writers: slik to {}, the best peer", best.kind.name);
        let ratios = turns::ratios(&slik.many.per_s, &best.many.per_s);
        turns::line(&name, &ratios, Some(Promise::AtLeast(LEAST_TO_PEER)));
    }
}

/// What some writers did in each round.
#[derive(Default)]
struct Rates {
    /// Writes a second.
    per_s: Vec<f64>,
    /// Writes for each time that the disk brought its cache onto the medium, where that is counted.
    per_flush: Vec<f64>,
}

impl Rates {
    fn per_flush(&self) -> String {
        if self.per_flush.is_empty() {
            "–".into()
        } else {
            format!("{:.1}", median(&self.per_flush))
        }
    }
}

/// A store that is written to.
struct Entrant {
    kind: &'static Kind,
    store: Box<dyn OnDisk>,
    /// The objects that it was asked to put in are those below this number.
    next: AtomicU32,
    one: Rates,
    many: Rates,
    /// Holds its files.
    folder: TempDir,
}

impl Entrant {
    fn new(kind: &'static Kind, disk: &Disk) -> anyhow::Result<Entrant> {
        let folder = disk.folder()?;
        let store = (kind.open)(folder.path(), Purpose::Write)
            .with_context(|| format!("cannot open {}", kind.name))?;
        let (one, many) = (Rates::default(), Rates::default());
        Ok(Entrant { kind, store, next: AtomicU32::new(0), one, many, folder })
    }

    /// One writer and sixteen, one after the other; who begins alternates.
    fn take_turn(&mut self, round: usize, disk: &Disk) -> anyhow::Result<()> {
        let mut pieces = [1, WRITERS];
        pieces.rotate_left(round % 2);
        for writers in pieces {
            let (per_s, per_flush) = self.write(writers, disk)?;
            let rates = if writers == 1 { &mut self.one } else { &mut self.many };
            rates.per_s.push(per_s);
            rates.per_flush.extend(per_flush);
        }
        Ok(())
    }

    /// Writes a second, and a flush.
    fn write(&self, writers: usize, disk: &Disk) -> anyhow::Result<(f64, Option<f64>)> {
        let (done, over) = (AtomicU32::new(0), AtomicBool::new(false));
        let write = || -> anyhow::Result<()> {
            while !over.load(Ordering::Relaxed) {
                let number = self.next.fetch_add(1, Ordering::Relaxed);
                self.store.write(number)?;
                done.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        };
        thread::scope(|scope| {
            let threads: Vec<_> = (0..writers).map(|_| scope.spawn(write)).collect();
            thread::sleep(WARM_UP);
            let (began, before) = (Instant::now(), (done.load(Ordering::Relaxed), disk.flushes()));
            thread::sleep(PIECE);
            let (spent, after) = (began.elapsed(), (done.load(Ordering::Relaxed), disk.flushes()));
            over.store(true, Ordering::Relaxed);
            for thread in threads {
                let written = thread.join().expect("a writer does not panic");
                written.with_context(|| format!("{} cannot write", self.kind.name))?;
            }
            let writes = f64::from(after.0 - before.0);
            ensure!(writes > 0.0, "{} has written nothing in {spent:?}", self.kind.name);
            let flushes = before.1.zip(after.1).map(|(before, after)| after - before);
            let per_flush = flushes.filter(|flushes| *flushes > 0).map(|f| writes / f as f64);
            Ok((writes / spent.as_secs_f64(), per_flush))
        })
    }

    /// What was written is there when the store is opened again.
    fn check(self) -> anyhow::Result<()> {
        let Entrant { kind, store, next, folder, .. } = self;
        store.close()?;
        let store = (kind.open)(folder.path(), Purpose::Write)?;
        for number in (0..next.into_inner()).rev().step_by(LOOKED_AT) {
            let found = store.look_up(&secondary(INDEX, number, 0))?;
            let expected = digest(&primary(number), &value(number, 0));
            ensure!(found == Some(expected), "{} has lost object {number}", kind.name);
        }
        store.close()
    }
}
